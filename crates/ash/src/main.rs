//! The `ash` program: arguments, terminal, exit codes. What it does is in the other crates.
#![forbid(clippy::disallowed_types)]

mod args;
mod commands;
mod environment;
mod error;
mod exit;
mod ui;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    ash_sandbox::confine::intercept();
    let environment = environment::Environment::read();
    let words = args::with_default_command(std::env::args_os().collect());
    let cli = match args::Cli::try_parse_from(words) {
        Ok(cli) => cli,
        Err(error) => return ui::usage(&error),
    };
    match commands::run(cli, &environment) {
        Ok(code) => code,
        Err(error) => {
            if !error.is_shown() {
                ui::error(&error.render());
            }
            ExitCode::from(error.code)
        }
    }
}
