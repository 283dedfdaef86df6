//! One file per command.

mod absent;
mod config;
mod dependencies;
pub(crate) mod explain;
mod run;
mod scan;
mod shared;
pub(crate) mod status;
mod workspace;

use std::process::ExitCode;

use crate::{
    args::{Cli, Command, DependenciesCommand, SandboxCommand},
    environment::Environment,
    error::CommandError,
};

/// Runs the command that was typed.
pub(crate) fn run(cli: Cli, environment: &Environment) -> Result<ExitCode, CommandError> {
    match cli.command {
        Command::Scan(args) => scan::scan(&args, environment),
        Command::Sandbox(SandboxCommand::Status { json }) => status::status(json, environment),
        Command::Sandbox(SandboxCommand::Explain(args)) => explain::explain(&args, environment),
        Command::Sandbox(SandboxCommand::Run(args)) => run::run(*args, environment),
        Command::Dependencies(DependenciesCommand::Install { tool, quiet, json }) => {
            dependencies::install(&tool, quiet, json, environment)
        }
        Command::Config(command) => config::config(&command, environment),
    }
}
