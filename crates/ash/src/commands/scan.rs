//! `ash scan`.

use std::process::ExitCode;

use ash_engine::{
    gate::Gate,
    scan::{Request, ScanError, default_output, scan as run_scan},
    select::Selection,
};
use ash_sandbox::{Cancel, Launcher};

use super::absent;
use super::shared::{Loaded, absolute, load, lookup, mode_of, site, tools};
use crate::{
    args::{ScanArgs, ShowArgs, Strategy},
    environment::Environment,
    error::CommandError,
    exit, ui,
};

/// Scans, shows the summary, and says by its exit code what came of it.
pub(crate) fn scan(args: &ScanArgs, environment: &Environment) -> Result<ExitCode, CommandError> {
    let show = Show::new(&args.show, environment);
    ui::log_to_stderr(args.show.verbose, args.show.debug);
    let in_vain = environment.offline_in_vain().filter(|_| !args.confine.offline);
    for note in absent::check(environment)?.iter().chain(&in_vain).filter(|_| !show.quiet) {
        ui::notice(note);
    }
    let source = source(args)?;
    let offline = (args.confine.offline || environment.offline()) && !args.confine.no_offline;
    let Loaded { settings, notices, tree, used } =
        load(&args.place, args.confine.sandbox, &source, None, environment)?;
    let mode = mode_of(&settings)?;
    let output = match &args.place.output_dir {
        Some(output) => absolute(output)?,
        None => default_output(&source),
    };
    let (output, moved) =
        if output == source { (default_output(&source), true) } else { (output, false) };
    let output_is_default = output == default_output(&source);
    let gate = Gate {
        on_findings: wanted(args.gate.fail_on_findings, args.gate.no_fail_on_findings)
            .unwrap_or(settings.fail_on_findings),
        on_incomplete: wanted(
            args.gate.fail_on_incomplete_scanners,
            args.gate.no_fail_on_incomplete_scanners,
        )
        .unwrap_or(settings.fail_on_incomplete),
        incomplete_rule_in_tree: settings.incomplete_rule_is_in_tree
            && !args.gate.no_fail_on_incomplete_scanners,
    };
    let tools = tools(environment)?;
    let request = Request {
        judgement: ash_engine::suppress::judgement(&settings, args.gate.ignore_suppressions),
        lookup: lookup(environment, &tools, &tree),
        site: site(environment, &tools)?.scanning(tree.roots()),
        temp: environment.temp(),
        selection: Selection {
            only: lower(&args.choice.scanners),
            exclude: lower(&args.choice.exclude_scanners),
        },
        sequential: args.choice.strategy == Strategy::Sequential,
        environment: environment.all().to_vec(),
        source,
        output,
        output_is_default,
        settings,
        notices,
        mode,
        offline,
        gate,
    };
    let launcher = Launcher::new().map_err(CommandError::failed)?.with_standby();
    let cancel = Cancel::new();
    ui::cancel_on_signals(&cancel)?;
    if moved && !show.quiet {
        ui::notice(&format!(
            "--output-dir is the source directory itself; results go to {}",
            request.output.display()
        ));
    }
    if let (Some(used), false) = (&used, show.quiet) {
        ui::notice(&format!("configuration: {}", ash_model::path::printable(used.as_os_str())));
    }
    let mut progress = show.progress(environment);
    let outcome =
        run_scan(&request, &launcher, &cancel, progress.as_mut()).map_err(|error| match error {
            ScanError::Unknown(unknown) => CommandError::usage(unknown),
            other => CommandError::failed(other),
        })?;
    drop(progress);
    if !show.quiet && !args.show.no_show_summary {
        ui::summary(&outcome, show.colour);
    } else if outcome.verdict.code() == exit::INCOMPLETE {
        ui::error(&format!("error: {}", outcome.verdict.line()));
    }
    Ok(ExitCode::from(outcome.verdict.code()))
}

/// The directory to scan, absolute, spelled as given.
fn source(args: &ScanArgs) -> Result<std::path::PathBuf, CommandError> {
    let given = args.dir.as_ref().or(args.place.source_dir.as_ref());
    let source = match given {
        Some(given) => absolute(given)?,
        None => std::env::current_dir().map_err(|error| {
            CommandError::failed(format!("cannot tell the current directory: {error}"))
        })?,
    };
    match std::fs::metadata(&source) {
        Ok(meta) if meta.is_dir() => Ok(source),
        Ok(_) => Err(CommandError::failed(format!("`{}` is not a directory", source.display()))
            .hint("ash scans directories; name the one that holds the file")),
        Err(error) => {
            let typed = given.map(|given| given.to_string_lossy().into_owned()).unwrap_or_default();
            if let Some(absent) = absent::command(&typed) {
                return Err(absent);
            }
            let refused =
                CommandError::failed(format!("cannot scan `{}`: {error}", source.display()));
            let guess = ash_engine::select::closest(&typed, crate::args::COMMANDS.into_iter());
            Err(match guess {
                Some(guess) if !typed.contains('/') => {
                    refused.hint(format!("if you meant a command: `ash {guess}`"))
                }
                _ => refused,
            })
        }
    }
}

fn wanted(yes: bool, no: bool) -> Option<bool> {
    (yes || no).then_some(yes)
}

fn lower(names: &[String]) -> Vec<String> {
    names
        .iter()
        .map(|name| name.trim().to_ascii_lowercase())
        .filter(|name| !name.is_empty())
        .collect()
}

/// How much is shown, and in what dress.
struct Show {
    quiet: bool,
    progress: Option<bool>,
    colour: bool,
}

impl Show {
    fn new(args: &ShowArgs, environment: &Environment) -> Self {
        let colour = wanted(args.color, args.no_color)
            .unwrap_or_else(|| !environment.no_color() && ui::stdout_is_terminal());
        Self { quiet: args.quiet, progress: wanted(args.progress, args.no_progress), colour }
    }

    fn progress(&self, environment: &Environment) -> Box<dyn ash_engine::event::Sink> {
        if self.quiet || self.progress == Some(false) {
            return Box::new(());
        }
        ui::progress(ui::stderr_is_terminal() && !environment.is_ci())
    }
}
