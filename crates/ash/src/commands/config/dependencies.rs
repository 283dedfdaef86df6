//! `ash config validate-plugin-dependencies`.

use std::process::ExitCode;

use ash_config::Settings;
use ash_engine::tools::Lookup;
use ash_model::{path::printable, tool::Program};
use ash_scanners::{Install, SCANNERS, Scanner, Tool};

use super::file::{load, shown};
use crate::{
    args::config::ValidateArgs,
    commands::shared::{lookup, tools},
    environment::Environment,
    error::CommandError,
    exit, ui,
};

/// Looks for the programs of every scanner that a scan here would run. Nothing is started.
pub(super) fn validate_dependencies(
    args: &ValidateArgs,
    environment: &Environment,
) -> Result<ExitCode, CommandError> {
    let loaded = load(args.config.as_deref(), &[], environment)?;
    let styled = ui::stderr_is_terminal() && !environment.no_color();
    let loaded = loaded.map_err(|errors| CommandError::config(errors.render(styled)))?;
    if let Some(used) = &loaded.used {
        ui::notice(&format!("from `{}`", shown(used)));
    }
    for notice in &loaded.notices {
        ui::notice(&printable(notice.line().as_ref()));
    }
    let lookup = lookup(environment, &tools(environment)?, &loaded.tree);
    let mut missing = 0;
    for scanner in SCANNERS.iter().filter(|scanner| runs(**scanner, &loaded.settings)) {
        match programs(&scanner.tool(), &lookup) {
            Ok(found) => ui::out(&format!("{}: {}\n", scanner.id(), found.join(", "))),
            Err(reason) => {
                missing += 1;
                let install = how_to_install(*scanner);
                ui::out(&format!("{}: missing: {reason}; {install}\n", scanner.id()));
            }
        }
    }
    if missing == 0 {
        return Ok(ExitCode::SUCCESS);
    }
    let many = if missing == 1 { "scanner" } else { "scanners" };
    ui::error(&format!("{missing} {many} would be MISSING in a scan"));
    Ok(ExitCode::from(exit::INCOMPLETE))
}

fn runs(scanner: &dyn Scanner, settings: &Settings) -> bool {
    let own = settings.scanners.get(scanner.id().as_str());
    own.and_then(|own| own.enabled) != Some(false)
}

/// Where each program of a tool is, or which one is nowhere.
fn programs(tool: &Tool, lookup: &Lookup) -> Result<Vec<String>, String> {
    let names = std::iter::once(tool.program).chain(tool.companions.iter().copied());
    let locate = |name| {
        let located = lookup.locate(&Program::Tool(name)).map_err(|error| error.to_string())?;
        Ok(printable(located.path.as_os_str()))
    };
    names.map(locate).collect()
}

fn how_to_install(scanner: &dyn Scanner) -> String {
    match scanner.tool().install {
        Install::Uv { .. } => {
            format!("`ash dependencies install --tool {}` installs it", scanner.id())
        }
        Install::System { hint } => hint.to_owned(),
    }
}
