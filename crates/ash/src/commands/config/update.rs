//! `ash config update`.

use std::process::ExitCode;

use ash_config::edit::{self, UpdateError};

use super::{
    diff,
    file::{explained, needed, open, relative, scanners, shown},
};
use crate::{args::config::UpdateArgs, environment::Environment, error::CommandError, exit, ui};

/// Sets values in the configuration file.
pub(super) fn update(
    args: &UpdateArgs,
    environment: &Environment,
) -> Result<ExitCode, CommandError> {
    let path = needed(args.path.as_ref(), environment)?;
    let file = open(&path, false)?;
    let original = file.read().map_err(explained)?;
    let text = updated(&path, &original.text, &args.set, environment)?;
    if text == original.text {
        ui::error("nothing to change");
        return Ok(ExitCode::SUCCESS);
    }
    ui::out(&diff::lines(&original.text, &text));
    if args.dry_run {
        ui::error(&format!("nothing was written to `{}`", shown(&path)));
        return Ok(ExitCode::SUCCESS);
    }
    file.replace(&original, &text).map_err(explained)?;
    ui::error(&format!("wrote `{}`", shown(&path)));
    Ok(ExitCode::SUCCESS)
}

/// The text with the values set.
pub(super) fn updated(
    path: &std::path::Path,
    text: &str,
    sets: &[String],
    environment: &Environment,
) -> Result<String, CommandError> {
    let known = scanners();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    edit::update(&relative(path), text, sets, &known).map_err(|error| match error {
        UpdateError::Wrong(errors) => {
            let styled = ui::stderr_is_terminal() && !environment.no_color();
            CommandError::config(errors.render(styled))
                .code(exit::INCOMPLETE)
                .hint("nothing was written")
        }
        UpdateError::Toml(_) => {
            CommandError::failed(error).hint("change it in an editor; `ash config validate` checks it")
        }
        UpdateError::Composed { .. } => CommandError::failed(error).hint(
            "change the file that should hold the value in an editor; `ash config get` shows what comes of it",
        ),
        UpdateError::Set { .. } => CommandError::failed(error).hint("nothing was written"),
    })
}
