//! `ash config`: one file per subcommand.

mod dependencies;
mod diff;
mod file;
mod get;
mod init;
mod lint;
mod schema;
mod unused;
mod update;
mod validate;
mod wizard;

use std::process::ExitCode;

use crate::{args::config::ConfigCommand, environment::Environment, error::CommandError};

/// Runs one of the subcommands.
pub(crate) fn config(
    command: &ConfigCommand,
    environment: &Environment,
) -> Result<ExitCode, CommandError> {
    match command {
        ConfigCommand::Init(args) => init::init(args, environment),
        ConfigCommand::Get(args) => get::get(args, environment),
        ConfigCommand::Update(args) => update::update(args, environment),
        ConfigCommand::Validate(args) => validate::validate(args, environment),
        ConfigCommand::ValidatePluginDependencies(args) => {
            dependencies::validate_dependencies(args, environment)
        }
        ConfigCommand::Schema => schema::schema(),
        ConfigCommand::Lint(args) => lint::lint(args, environment),
        ConfigCommand::Wizard(args) => wizard::wizard(args, environment),
    }
}
