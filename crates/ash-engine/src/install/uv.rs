//! Finds uv, or fetches it with the Python that is there.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{
    Installer, Progress,
    failure::Failure,
    python::{self, Python},
    runner::{Purpose, Step},
    stamp::Stamp,
};

/// The uv that is fetched when there is none.
const REQUIREMENT: &str = "uv==0.13.9";

/// The oldest uv whose options are all known to it.
const OLDEST: (u32, u32, u32) = (0, 5, 0);

/// How long one step of the bootstrap may take.
const TIMEOUT: Duration = Duration::from_secs(600);

/// A uv that works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Uv {
    /// The program, absolute.
    pub(super) path: PathBuf,
    /// Its version.
    pub(super) version: String,
}

/// uv from `PATH`, else from the tool directory, else fetched now.
pub(super) fn find_or_bootstrap(installer: &Installer<'_>) -> Result<Uv, Failure> {
    if let Some(uv) = installer.find_program("uv").and_then(|path| ask(installer, path)) {
        (installer.progress)(Progress::Note(format!(
            "using uv {} at {}",
            uv.version,
            uv.path.display()
        )));
        return Ok(uv);
    }
    if let Some(uv) = installer.tools.locate("uv").and_then(|path| ask(installer, path)) {
        return Ok(uv);
    }
    (installer.progress)(Progress::Started { tool: "uv", what: REQUIREMENT });
    bootstrap(installer)
}

/// The uv at this path, if it answers and is not too old.
fn ask(installer: &Installer<'_>, path: PathBuf) -> Option<Uv> {
    let ran = installer.ask(&path, &["--version"])?;
    let said = ran.stdout.text();
    let version = said.strip_prefix("uv ")?.split_whitespace().next()?.to_owned();
    let mut numbers = version.split('.').map(|part| part.parse::<u32>().ok());
    let parsed = (numbers.next()??, numbers.next()??, numbers.next()??);
    (parsed >= OLDEST).then_some(Uv { path, version })
}

/// One way to get uv out of a Python.
struct Way {
    /// Name for messages.
    name: &'static str,
    /// The commands, given the interpreter and the directory to fill.
    commands: fn(&Path, &Path) -> Vec<Vec<OsString>>,
}

/// Distributions split Python into pieces: Debian's `python3` has neither `venv` nor `pip` until their packages are installed. Each way
/// needs only one of them, and all put the program at `<dir>/bin/uv`.
const WAYS: &[Way] = &[
    Way {
        name: "venv",
        commands: |python, dir| {
            vec![
                words(&[python, Path::new("-m"), Path::new("venv"), dir]),
                pip(&dir.join("bin/python"), &[]),
            ]
        },
    },
    Way {
        name: "pip --target",
        commands: |python, dir| vec![pip(python, &[OsString::from("--target"), dir.into()])],
    },
];

fn words(parts: &[&Path]) -> Vec<OsString> {
    parts.iter().map(OsString::from).collect()
}

fn pip(python: &Path, extra: &[OsString]) -> Vec<OsString> {
    // Only wheels: building uv from source would run code for half an hour and need a Rust toolchain.
    let fixed = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-input",
        "--only-binary",
        ":all:",
    ];
    let mut command = vec![OsString::from(python)];
    command.extend(fixed.iter().map(OsString::from));
    command.extend_from_slice(extra);
    command.push(REQUIREMENT.into());
    command
}

fn bootstrap(installer: &Installer<'_>) -> Result<Uv, Failure> {
    let mut pythons = python::candidates(installer).peekable();
    if pythons.peek().is_none() {
        return python::find(installer).and(Err(Failure::new("no usable Python")));
    }
    let mut attempts = Vec::new();
    for python in pythons {
        for way in WAYS {
            match attempt(installer, &python, way) {
                Ok(uv) => return Ok(uv),
                Err(failure) => attempts.push(failure),
            }
        }
    }
    Err(no_way(&attempts))
}

fn attempt(installer: &Installer<'_>, python: &Python, way: &Way) -> Result<Uv, Failure> {
    let dir = installer.tools.environment("uv");
    remove(&dir)?;
    for command in (way.commands)(&python.path, &dir) {
        let (program, args) = command.split_first().ok_or_else(|| Failure::new("empty command"))?;
        let step = Step {
            purpose: Purpose::BootstrapUv,
            program: program.into(),
            args: args.to_vec(),
            env: installer.step_environment(&[]),
            timeout: TIMEOUT,
        };
        let ran = installer.runner.run(&step).map_err(|reason| {
            Failure::new(format!(
                "{}: cannot start `{}`: {reason}",
                way.name,
                step.program.display()
            ))
        })?;
        if !ran.succeeded() {
            return Err(Failure::of_step(way.name, &step, &ran));
        }
    }
    let uv = ask(installer, dir.join("bin/uv")).ok_or_else(|| {
        Failure::new(format!("{}: `{}` does not run", way.name, dir.join("bin/uv").display()))
    })?;
    let stamp = Stamp {
        format: Stamp::FORMAT,
        version: uv.version.clone(),
        requirement: REQUIREMENT.to_owned(),
        with: vec![],
        python: python.path.display().to_string(),
        installer: way.name.to_owned(),
        installed_at: jiff::Timestamp::now().to_string(),
    };
    stamp
        .write(&dir)
        .map_err(|error| Failure::new(format!("cannot write to `{}`: {error}", dir.display())))?;
    Ok(uv)
}

fn remove(dir: &Path) -> Result<(), Failure> {
    match std::fs::remove_dir_all(dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Failure::new(format!("cannot remove the unfinished `{}`: {error}", dir.display())))
        }
        _ => Ok(()),
    }
}

/// Every way was tried and none led to uv: say each, then what would make one of them work.
fn no_way(attempts: &[Failure]) -> Failure {
    let mut failure = Failure::new("uv is not on `PATH` and could not be fetched");
    for attempt in attempts {
        failure.output.push(attempt.what.clone());
        failure
            .output
            .extend(attempt.output.iter().rev().take(3).rev().map(|line| format!("  {line}")));
    }
    failure
        .hint("install uv so that `uv` is on `PATH`: `pipx install uv`, `brew install uv`, or your distribution's package")
        .hint("or give Python what it lacks, on Debian and Ubuntu with `apt install python3-venv`, and run this again")
        .hint("behind a proxy or a mirror, set `HTTPS_PROXY` or `PIP_INDEX_URL` (and `UV_DEFAULT_INDEX` for the tools)")
}
