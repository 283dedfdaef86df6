//! `ash config lint`.

use std::{
    io::{BufRead, IsTerminal},
    path::Path,
    process::ExitCode,
};

use ash_config::{
    Mistake,
    edit::{self, Fixed, Level, Lint, LintFinding, Remedy},
};

use super::{
    diff,
    file::{explained, load, needed, open, relative, scanners, shown},
    unused::{Unused, unused},
};
use crate::{
    args::config::LintArgs,
    commands::shared::{absolute, current_dir},
    environment::Environment,
    error::CommandError,
    exit, ui,
};

/// Says what could be better, and fixes what it is told to.
pub(super) fn lint(args: &LintArgs, environment: &Environment) -> Result<ExitCode, CommandError> {
    let writes = args.fix || args.fix_unused;
    if args.output.is_some() && !writes {
        return Err(CommandError::usage("`--output` needs `--fix` or `--fix-unused`"));
    }
    let path = needed(args.config.as_ref(), environment)?;
    let file = open(&path, false)?;
    let original = file.read().map_err(explained)?;
    let known = scanners();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let Unused { ids, warning } = unused(original.modified, environment)?;
    if let Some(warning) = warning.filter(|_| args.fix_unused || !ids.is_empty()) {
        ui::notice(&warning);
    }
    let root = current_dir()?;
    let is_directory = |path: &str| {
        let relative = Path::new(path);
        relative.is_relative() && root.join(relative).is_dir()
    };
    let name = relative(&path);
    let options = Lint {
        file: &name,
        known_scanners: &known,
        today: &ash_engine::clock::today(),
        is_directory: &is_directory,
        unused: &ids,
    };
    if !writes {
        let left = edit::lint(&original.text, &options);
        let more = loading(&path, &left, environment)?;
        return Ok(report(&path, &[], &left, &more));
    }
    let Fixed { text, fixed, left } =
        edit::fix(&original.text, &options, args.fix, args.fix_unused);
    if text != original.text && agreed(args, &path, &original.text, &text)? {
        match &args.output {
            None => file.replace(&original, &text).map_err(explained)?,
            Some(output) => {
                let output = absolute(output)?;
                let hint = "`--yes` replaces it";
                open(&output, false)?.create(&text, args.yes).map_err(|error| match error {
                    edit::FileError::Exists(_) => explained(error).hint(hint),
                    error => explained(error),
                })?;
            }
        }
        let written = args.output.as_ref().unwrap_or(&path);
        ui::error(&format!("wrote `{}`", shown(written)));
        let more =
            if args.output.is_some() { Vec::new() } else { loading(&path, &left, environment)? };
        return Ok(report(written, &fixed, &left, &more));
    }
    let left = if fixed.is_empty() { left } else { edit::lint(&original.text, &options) };
    let more = loading(&path, &left, environment)?;
    Ok(report(&path, &[], &left, &more))
}

/// On a terminal the changes are shown and asked about.
fn agreed(args: &LintArgs, path: &Path, old: &str, new: &str) -> Result<bool, CommandError> {
    if args.yes || !std::io::stdin().is_terminal() {
        return Ok(true);
    }
    ui::error(diff::lines(old, new).trim_end());
    let target = args.output.as_deref().unwrap_or(path);
    ui::error(&format!("write this to `{}`? (y/n) [n]", shown(target)));
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).map_err(CommandError::failed)?;
    Ok(["y", "yes"].contains(&answer.trim().to_ascii_lowercase().as_str()))
}

/// Prints what was found; the exit code is about what is left.
fn report(path: &Path, fixed: &[LintFinding], left: &[LintFinding], more: &[Mistake]) -> ExitCode {
    for finding in fixed {
        ui::out(&format!("{}\n", line(&finding.mistake, "fixed", finding.rule, "")));
    }
    for finding in left {
        let remedy = match finding.remedy {
            Remedy::ByHand => "",
            Remedy::Fix => ", --fix",
            Remedy::FixUnused => ", --fix-unused",
        };
        ui::out(&format!(
            "{}\n",
            line(&finding.mistake, word(finding.level), finding.rule, remedy)
        ));
    }
    for mistake in more {
        ui::out(&format!("{}\n", line(mistake, "error", "invalid", "")));
    }
    let count = |level| left.iter().filter(|finding| finding.level == level).count();
    let (errors, warnings) = (count(Level::Error) + more.len(), count(Level::Warning));
    let fixable = left.iter().filter(|finding| finding.remedy == Remedy::Fix).count();
    ui::error(&summary(path, fixed.len(), errors, warnings, fixable));
    if errors == 0 { ExitCode::SUCCESS } else { ExitCode::from(exit::INCOMPLETE) }
}

fn word(level: Level) -> &'static str {
    match level {
        Level::Error => "error",
        Level::Warning => "warning",
    }
}

/// `file:line:column: error: message; hint [rule, --fix]`.
fn line(mistake: &Mistake, level: &str, rule: &str, remedy: &str) -> String {
    let place = mistake.place.as_deref().map_or_else(String::new, |place| {
        let position = place.position.map(|(line, column)| format!(":{line}:{column}"));
        format!("{}{}: ", place.file, position.unwrap_or_default())
    });
    let hint = mistake.hint.as_ref().filter(|_| level != "fixed");
    let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
    format!("{place}{level}: {}{hint} [{rule}{remedy}]", mistake.message)
}

/// What only loading finds: bases, patches, variables, paths.
fn loading(
    path: &Path,
    left: &[LintFinding],
    environment: &Environment,
) -> Result<Vec<Mistake>, CommandError> {
    let stops_loading =
        |finding: &&LintFinding| ["syntax", "duplicate-key"].contains(&finding.rule);
    if left.iter().any(|finding| stops_loading(&finding)) {
        return Ok(Vec::new());
    }
    let Err(errors) = load(Some(path), &[], environment)? else { return Ok(Vec::new()) };
    let own = path.display().to_string();
    let is_known = |mistake: &Mistake| {
        left.iter().any(|finding| {
            mistake.place.as_ref().is_some_and(|place| {
                place.file == own
                    && place.position.is_some()
                    && place.position == finding.position()
            })
        })
    };
    Ok(errors.0.into_iter().filter(|mistake| !is_known(mistake)).collect())
}

fn summary(path: &Path, fixed: usize, errors: usize, warnings: usize, fixable: usize) -> String {
    let count =
        |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let mut text = format!("{}: ", shown(path));
    if fixed > 0 {
        text.push_str(&format!("{fixed} fixed, "));
    }
    if errors + warnings == 0 {
        text.push_str("nothing is left to do");
        return text;
    }
    text.push_str(&format!("{}, {}", count(errors, "error"), count(warnings, "warning")));
    if fixable > 0 {
        text.push_str(&format!("; `ash config lint --fix` fixes {fixable}"));
    }
    text
}
