//! `ash dependencies install`.

use std::process::ExitCode;

use ash_engine::install::{
    Installed, Installer, Launched, Outcome, Progress, Wanted, install as install_tools,
};
use ash_sandbox::{Cancel, Launcher};
use ash_scanners::SCANNERS;

use super::shared::{checkout_around_here, tools};
use crate::{environment::Environment, error::CommandError, exit, ui};

/// Installs the scanners that were named, or all.
pub(crate) fn install(
    names: &[String],
    quiet: bool,
    json: bool,
    environment: &Environment,
) -> Result<ExitCode, CommandError> {
    let wanted = wanted(names)?;
    let tools = tools(environment)?;
    let launcher = Launcher::new().map_err(CommandError::failed)?;
    let cancel = Cancel::new();
    ui::cancel_on_signals(&cancel)?;
    let untrusted = checkout_around_here(environment)?;
    let silent = quiet || json;
    let progress = |progress: Progress<'_>| {
        if !silent {
            say(&progress);
        }
    };
    let runner = Launched::new(&launcher, &cancel);
    let installer = Installer {
        tools: &tools,
        environment: environment.all(),
        untrusted: &untrusted,
        runner: &runner,
        progress: &progress,
    };
    let results = install_tools(&installer, &wanted).map_err(CommandError::failed)?;
    let failed: Vec<&Installed> =
        results.iter().filter(|result| !result.outcome.is_usable()).collect();
    if json {
        ui::json(&results.iter().map(as_json).collect::<Vec<_>>())?;
    } else if quiet {
        failed.iter().for_each(|failure| ui::error(&format!("error: {failure}")));
    } else {
        ui::error(&format!(
            "{} of {} usable, in {}",
            results.len() - failed.len(),
            results.len(),
            tools.dir().display()
        ));
    }
    Ok(ExitCode::from(if failed.is_empty() { 0 } else { exit::INCOMPLETE }))
}

fn wanted(names: &[String]) -> Result<Vec<Wanted>, CommandError> {
    let all: Vec<Wanted> = SCANNERS.iter().map(|scanner| Wanted::of(*scanner)).collect();
    if let Some(unknown) = names.iter().find(|name| !all.iter().any(|tool| tool.is_named(name))) {
        let known: Vec<&str> = all.iter().map(|tool| tool.scanner.as_str()).collect();
        let error = CommandError::usage(format!(
            "no tool is named `{unknown}` (known: {})",
            known.join(", ")
        ));
        return Err(match ash_engine::select::closest(unknown, known.into_iter()) {
            Some(guess) => error.hint(format!("did you mean `--tool {guess}`?")),
            None => error,
        });
    }
    Ok(all
        .into_iter()
        .filter(|tool| names.is_empty() || names.iter().any(|name| tool.is_named(name)))
        .collect())
}

fn say(progress: &Progress<'_>) {
    match progress {
        Progress::Waiting => ui::error("waiting for another `ash dependencies install` to end"),
        Progress::Note(note) => ui::error(note),
        Progress::Started { tool, what } => ui::error(&format!("{tool}: installing {what} …")),
        Progress::Finished(result) => ui::error(&result.to_string()),
    }
}

fn as_json(result: &Installed) -> serde_json::Value {
    let (status, version, detail) = match &result.outcome {
        Outcome::Installed { version } => ("installed", Some(version), None),
        Outcome::Already { version } => ("already-installed", Some(version), None),
        Outcome::Found { version, path } => {
            ("found", Some(version), Some(path.display().to_string()))
        }
        Outcome::Failed(failure) => ("failed", None, Some(failure.to_string())),
    };
    serde_json::json!({"scanner": result.scanner, "program": result.program, "status": status, "version": version, "detail": detail})
}
