//! `ash sandbox run`: one command under the policy a scanner with these needs gets. With `--sandbox off` it is the control.

use std::{
    borrow::Cow,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use ash_config::Tree;
use ash_model::{
    evidence::SandboxEvidence, notice::Notice, path::printable, requirements::Requirements,
    tool::Exit,
};
use ash_sandbox::{
    Cancel, Command, Confinement, Finished, Grants, Ground, Launcher, Mode, Policy, ReadLimits,
    ResultsDir, Site, Stdio, refuse_output, refuse_results,
};
use ash_scanners::SCANNERS;

use super::shared::{absolute, directory, site, tools, tree};
use crate::{args::RunArgs, environment::Environment, error::CommandError, exit, ui};

/// What `--json` ends stderr with.
#[derive(serde::Serialize)]
struct Ended<'a> {
    exit: Option<i32>,
    signal: Option<i32>,
    timed_out: bool,
    refused: Option<String>,
    sandbox: &'a SandboxEvidence,
}

/// Runs the command and passes its exit status on.
pub(crate) fn run(args: RunArgs, environment: &Environment) -> Result<ExitCode, CommandError> {
    if args.sandbox == Mode::Off {
        requirements(&args)?;
        return Err(unconfined(&args));
    }
    let json = args.json;
    let mode = args.sandbox.to_string();
    confined(args, environment).map_err(|error| {
        if json {
            let nothing = SandboxEvidence { mode, ..SandboxEvidence::off() };
            let refused = Some(error.message().to_owned());
            ui::error(&error.render());
            ui::json_line(&Ended {
                exit: None,
                signal: None,
                timed_out: false,
                refused,
                sandbox: &nothing,
            });
            return error.shown();
        }
        error
    })
}

/// Becomes the command: environment, descriptors, session and standard input stay as they are.
fn unconfined(args: &RunArgs) -> CommandError {
    if let Some(cwd) = args.cwd.as_ref().or(args.source_dir.as_ref())
        && let Err(error) = std::env::set_current_dir(cwd)
    {
        return CommandError::failed(format!("cannot start in `{}`: {error}", cwd.display()))
            .code(exit::REFUSED);
    }
    let error = ash_sandbox::exec_unconfined(&args.command);
    let code = if error.kind() == std::io::ErrorKind::NotFound {
        exit::NOT_FOUND
    } else {
        exit::NOT_APPLIED
    };
    CommandError::failed(format!("cannot start `{}`: {error}", program(args).to_string_lossy()))
        .code(code)
}

fn program(args: &RunArgs) -> &OsStr {
    args.command.first().map_or(OsStr::new(""), OsString::as_os_str)
}

fn confined(args: RunArgs, environment: &Environment) -> Result<ExitCode, CommandError> {
    let source = directory(args.source_dir.as_ref()).map_err(|error| error.code(exit::REFUSED))?;
    let requirements = requirements(&args)?;
    let results = results(&args, &source, environment)?;
    ui::error(&format!("results: {}", results.path().display()));
    with_results(args, environment, source, &requirements, &results)
}

fn with_results(
    args: RunArgs,
    environment: &Environment,
    source: PathBuf,
    requirements: &Requirements,
    results: &ResultsDir,
) -> Result<ExitCode, CommandError> {
    let refused = |error: &dyn std::fmt::Display| CommandError::failed(error).code(exit::REFUSED);
    let tools = tools(environment)?;
    let tree = tree(&source, environment)?;
    let site = site(environment, &tools)?.scanning(tree.roots());
    if let Some(said) = environment.offline_in_vain().filter(|_| !args.offline) {
        ui::notice(&said);
    }
    let offline = args.offline || environment.offline();
    let output = args.output_dir.as_deref().map(absolute).transpose()?;
    if let Some(output) = &output {
        refuse_output(&source, output).map_err(|linked| refused(&linked))?;
    }
    let ground = Ground {
        cwd: args.cwd.as_deref().map_or_else(|| Ok(source.clone()), absolute)?,
        output,
        targets: vec![],
        results: results.path().to_owned(),
        source: source.clone(),
    };
    let grants = Grants {
        network: (args.network || requirements.network) && !offline,
        offline,
        extra_read_paths: vec![],
    };
    let program = locate(program(&args), &site, &tree, &ground.cwd)?;
    let launcher = Launcher::new().map_err(|error| refused(&error))?;
    let chosen =
        Confinement::choose(args.sandbox, &site, &launcher).map_err(|refusal| refused(&refusal))?;
    let mut policy = Policy::resolve(
        args.as_scanner.as_deref().unwrap_or("command"),
        requirements,
        &site,
        &ground,
        &grants,
        &program,
        &[],
    )
    .map_err(|error| refused(&error))?;
    for path in args.read.iter().chain(&args.cache).filter(|path| !path.exists()) {
        let shown = printable(path.as_os_str());
        let reason = format!("`{shown}` does not exist, so it is not granted");
        policy.notices.push(Notice::new("read_paths", reason));
    }
    for notice in &policy.notices {
        ui::notice(&said(notice));
    }
    let command = Command { program, args: args.command.into_iter().skip(1).collect() };
    let prepared =
        chosen.confinement.prepare(&policy, &command).map_err(|error| refused(&error))?;

    let cancel = Cancel::new();
    ui::cancel_on_signals(&cancel)?;
    let timeout = args.timeout.map(Duration::from_secs_f64);
    let finished = launcher.run(prepared, Stdio::PassOn, timeout, &cancel);
    let swept = results.sweep(&ReadLimits::default()).map_err(|error| refused(&error))?.removed;
    let mut finished = finished.map_err(|error| {
        CommandError::failed(&error).code(u8::try_from(error.exit_code()).unwrap_or(exit::REFUSED))
    })?;
    if let Some(details) = &mut finished.evidence.details {
        details.swept = swept;
        details.notices.extend(chosen.notices);
    }
    Ok(report(&finished, args.json))
}

/// What was not granted, and what to ask for in its place.
fn said(notice: &Notice) -> String {
    let hint = notice.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
    format!("{}{hint}", notice.reason)
}

fn report(finished: &Finished, json: bool) -> ExitCode {
    let (code, signal) = match finished.exit {
        Exit::Code(code) => (Some(code), None),
        Exit::Signal(signal) => (None, Some(signal)),
    };
    if finished.midline && (json || finished.timed_out) {
        ui::error("");
    }
    if finished.timed_out {
        ui::error("error: it ran longer than `--timeout` allows and was ended");
    }
    if json {
        ui::json_line(&Ended {
            exit: code,
            signal,
            timed_out: finished.timed_out,
            refused: None,
            sandbox: &finished.evidence,
        });
    }
    if finished.timed_out {
        return ExitCode::from(exit::TIMED_OUT);
    }
    exit::code(finished.exit.shell_code())
}

/// The needs on the command line, on top of a scanner's declared ones.
fn requirements(args: &RunArgs) -> Result<Requirements, CommandError> {
    let mut requirements = match &args.as_scanner {
        None => Requirements::NONE,
        Some(name) => match SCANNERS.iter().find(|scanner| scanner.id().as_str() == name) {
            Some(scanner) => scanner.requirements(),
            None => return Err(CommandError::usage(format!("no scanner is named `{name}`"))),
        },
    };
    let paths = |paths: &[PathBuf]| -> Result<Vec<Cow<'static, str>>, CommandError> {
        paths.iter().map(|path| text(&absolute(path)?)).collect()
    };
    requirements.read_paths.extend(paths(&args.read)?);
    requirements.cache_paths.extend(paths(&args.cache)?);
    requirements.env_names.extend(args.env.iter().cloned().map(Cow::Owned));
    requirements.env_prefixes.extend(args.env_prefix.iter().cloned().map(Cow::Owned));
    Ok(requirements)
}

/// Declared paths are texts in which `$` begins a variable.
fn text(path: &Path) -> Result<Cow<'static, str>, CommandError> {
    match path.to_str() {
        Some(text) if !text.contains('$') => Ok(Cow::Owned(text.to_owned())),
        _ => Err(CommandError::usage(format!(
            "`{}` cannot be granted: the path is not UTF-8 or holds `$`",
            printable(path.as_os_str())
        ))),
    }
}

fn results(
    args: &RunArgs,
    source: &Path,
    environment: &Environment,
) -> Result<ResultsDir, CommandError> {
    let refused = |error: &dyn std::fmt::Display| CommandError::failed(error).code(exit::REFUSED);
    match &args.results_dir {
        None => ResultsDir::fresh(&environment.temp())
            .map_err(|error| refused(&format!("cannot make a results directory: {error}"))),
        Some(given) => {
            let path = absolute(given)?;
            fits(&path, source, environment)?;
            std::fs::create_dir_all(&path)
                .map_err(|error| refused(&format!("cannot make `{}`: {error}", path.display())))?;
            ResultsDir::open(&path).map_err(|error| unfit(&path, &error))
        }
    }
}

/// The results directory is writable inside and swept afterwards: it cannot be, or hold, what must stay as it is.
fn fits(path: &Path, source: &Path, environment: &Environment) -> Result<(), CommandError> {
    let home = environment.get("HOME").map(Path::new).filter(|home| home.is_absolute());
    let kept: Vec<(&str, &Path)> = [("the scanned directory", source)]
        .into_iter()
        .chain(home.map(|home| ("the home directory", home)))
        .collect();
    refuse_results(path, &kept, &environment.temp()).map_err(|error| unfit(path, &error))
}

fn unfit(path: &Path, why: &dyn std::fmt::Display) -> CommandError {
    let shown = printable(path.as_os_str());
    CommandError::failed(format!("the results directory `{shown}` is refused: {why}"))
        .hint("give a directory of its own, or none")
        .code(exit::REFUSED)
}

/// A bare name is looked up on the cleaned `PATH`; a name with a slash is taken as it is, also inside the source.
fn locate(program: &OsStr, site: &Site, tree: &Tree, cwd: &Path) -> Result<PathBuf, CommandError> {
    let path = Path::new(program);
    if path.components().count() > 1
        || path.is_absolute()
        || program.as_encoded_bytes().contains(&b'/')
    {
        return Ok(cwd.join(path));
    }
    site.look_up(program, |directory| tree.holds(directory)).ok_or_else(|| {
        CommandError::failed(format!("`{}` is not on PATH (relative directories and those inside the scanned tree do not count)", printable(program))).code(exit::NOT_FOUND)
    })
}
