//! Finds uv, or fetches it with the Python that is there.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    time::Duration,
};

use ash_model::path::printable;
use ash_sandbox::{Package, TrustedCall};

use super::{
    Installer, Progress,
    failure::Failure,
    python::{self, Python},
    runner::Step,
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
    let said = installer.version_of(&path)?;
    let version = said.strip_prefix("uv ")?.split_whitespace().next()?.to_owned();
    let mut numbers = version.split('.').map(|part| part.parse::<u32>().ok());
    let parsed = (numbers.next()??, numbers.next()??, numbers.next()??);
    (parsed >= OLDEST).then_some(Uv { path, version })
}

/// One way to get uv out of a Python. Distributions split Python into pieces: Debian's `python3` has neither `venv` nor `pip` until their
/// packages are installed. Each way needs only one of them, and both put the program at `<dir>/bin/uv`.
#[derive(Debug, Clone, Copy)]
enum Way {
    /// An environment, and its own pip.
    Venv,
    /// The interpreter's pip, into a plain directory.
    Pip,
}

impl Way {
    const ALL: [Self; 2] = [Self::Venv, Self::Pip];

    const fn name(self) -> &'static str {
        match self {
            Self::Venv => "with venv",
            Self::Pip => "with pip",
        }
    }

    fn steps(
        self,
        installer: &Installer<'_>,
        python: &Path,
        dir: &Path,
    ) -> Result<Vec<Step>, Failure> {
        let package = package(REQUIREMENT)?;
        let pip = |python: PathBuf, extra: &[(&str, &OsStr)]| {
            // Only wheels: building uv from source would run for half an hour and need a Rust toolchain.
            let fixed =
                [("PIP_ONLY_BINARY", OsStr::new(":all:")), ("PIP_NO_INPUT", OsStr::new("1"))];
            let env = installer.step_environment(&[&fixed, extra].concat());
            Step {
                call: TrustedCall::PipInstallUv { python, package: package.clone() },
                env,
                timeout: TIMEOUT,
            }
        };
        Ok(match self {
            Self::Venv => {
                let call = TrustedCall::PythonVenv {
                    python: python.to_owned(),
                    environment: dir.to_owned(),
                };
                vec![
                    Step { call, env: installer.step_environment(&[]), timeout: TIMEOUT },
                    pip(dir.join("bin/python"), &[]),
                ]
            }
            Self::Pip => vec![pip(python.to_owned(), &[("PIP_TARGET", dir.as_os_str())])],
        })
    }
}

/// A requirement, checked.
pub(super) fn package(requirement: &str) -> Result<Package, Failure> {
    Package::new(requirement).map_err(|error| Failure::new(error.to_string()))
}

fn bootstrap(installer: &Installer<'_>) -> Result<Uv, Failure> {
    let mut attempts = Vec::new();
    let mut any = false;
    for python in python::candidates(installer) {
        any = true;
        for way in Way::ALL {
            match attempt(installer, &python, way) {
                Ok(uv) => return Ok(uv),
                Err(failure) => attempts.push(failure),
            }
        }
    }
    Err(if any { no_way(&attempts) } else { python::absent() })
}

fn attempt(installer: &Installer<'_>, python: &Python, way: Way) -> Result<Uv, Failure> {
    let dir = installer.tools.environment("uv");
    remove(&dir)?;
    for step in way.steps(installer, &python.path, &dir)? {
        let cannot = |reason| {
            Failure::new(format!(
                "{}: cannot start `{}`: {reason}",
                way.name(),
                step.call.program().display()
            ))
        };
        let ran = installer.runner.run(&step).map_err(cannot)?;
        if !ran.succeeded() {
            return Err(Failure::of_step(way.name(), &step, &ran));
        }
    }
    let path = dir.join("bin/uv");
    let uv = ask(installer, path.clone()).ok_or_else(|| {
        Failure::new(format!("{}: `{}` does not run", way.name(), path.display()))
    })?;
    if REQUIREMENT.split_once("==").is_none_or(|(_, pinned)| pinned != uv.version) {
        return Err(Failure::new(format!(
            "{}: `{}` is uv {}, not `{REQUIREMENT}`",
            way.name(),
            path.display(),
            printable(uv.version.as_ref())
        )));
    }
    let stamp = Stamp {
        format: Stamp::FORMAT,
        version: uv.version.clone(),
        requirement: REQUIREMENT.to_owned(),
        with: vec![],
        python: python.path.display().to_string(),
        installer: way.name().to_owned(),
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
            .extend(attempt.output.iter().rev().take(6).rev().map(|line| format!("  {line}")));
    }
    failure
        .hint("install uv so that `uv` is on `PATH`: `pipx install uv`, `brew install uv`, or your distribution's package")
        .hint("or give Python what it lacks, on Debian and Ubuntu with `apt install python3-venv`, and run this again")
        .hint("behind a proxy or a mirror, set `HTTPS_PROXY` or `PIP_INDEX_URL` (and `UV_DEFAULT_INDEX` for the tools)")
}
