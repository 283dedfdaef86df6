//! The `ash` program: arguments, terminal, exit codes. What it does is in the other crates.
//!
//! The fence against starting processes is `forbid` in every module but two: clap's derive writes `allow(clippy::style)` into `args`,
//! and `environment` is the one reader of the environment.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod args;
#[forbid(clippy::disallowed_methods, clippy::disallowed_types)]
mod commands;
mod environment;
#[forbid(clippy::disallowed_methods, clippy::disallowed_types)]
mod error;
#[forbid(clippy::disallowed_methods, clippy::disallowed_types)]
mod exit;
#[forbid(clippy::disallowed_methods, clippy::disallowed_types)]
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
