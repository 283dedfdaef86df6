//! `ash config validate`.

use std::process::ExitCode;

use ash_engine::suppress::not_judged;
use ash_model::path::printable;

use super::file::{load, shown};
use crate::{args::config::ValidateArgs, environment::Environment, error::CommandError, exit, ui};

/// Checks the configuration a scan here would use.
pub(super) fn validate(
    args: &ValidateArgs,
    environment: &Environment,
) -> Result<ExitCode, CommandError> {
    let loaded = load(args.config.as_deref(), &[], environment)?;
    let styled = ui::stderr_is_terminal() && !environment.no_color();
    let loaded = loaded.map_err(|errors| {
        CommandError::config(errors.render(styled))
            .code(exit::INCOMPLETE)
            .hint("`ash config lint` says more, and `ash config lint --fix` fixes some of it")
    })?;
    for notice in loaded.notices.iter().chain(&not_judged(&loaded.settings)) {
        ui::notice(&printable(notice.line().as_ref()));
    }
    match loaded.files.split_first() {
        None => ui::out("valid: no configuration file; the defaults apply\n"),
        Some((file, bases)) => {
            ui::out(&format!("valid: {}\n", shown(file)));
            for base in bases {
                ui::out(&format!("  extends {}\n", shown(base)));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}
