//! `ash config schema`.

use std::process::ExitCode;

use crate::{error::CommandError, ui};

/// Prints the JSON Schema of a configuration.
pub(super) fn schema() -> Result<ExitCode, CommandError> {
    ui::json(&ash_config::json_schema())?;
    Ok(ExitCode::SUCCESS)
}
