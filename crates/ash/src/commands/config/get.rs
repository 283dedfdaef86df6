//! `ash config get`.

use std::process::ExitCode;

use ash_config::edit::to_yaml;
use ash_model::path::printable;
use serde_json::Value;

use super::file::{load, shown};
use crate::{args::config::GetArgs, environment::Environment, error::CommandError, ui};

/// Shows the settings a scan here would use; on stderr where they come from and what was left out.
pub(super) fn get(args: &GetArgs, environment: &Environment) -> Result<ExitCode, CommandError> {
    let loaded = load(args.path.as_deref(), &args.config_overrides, environment)?;
    let styled = ui::stderr_is_terminal() && !environment.no_color();
    let loaded = loaded.map_err(|errors| CommandError::config(errors.render(styled)))?;
    match &loaded.used {
        Some(used) => ui::notice(&format!("from `{}`", shown(used))),
        None => ui::notice("no configuration file; these are the defaults"),
    }
    for notice in &loaded.notices {
        ui::notice(&printable(notice.line().as_ref()));
    }
    let resolved = Value::Object(loaded.settings.resolved);
    if args.json {
        ui::json(&resolved)?;
    } else {
        ui::out(&to_yaml(&resolved));
    }
    Ok(ExitCode::SUCCESS)
}
