//! One tool in an environment of its own.

use std::{
    ffi::OsStr,
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use ash_sandbox::TrustedCall;

use super::{
    Installer, Tools,
    failure::Failure,
    python,
    runner::Step,
    stamp::Stamp,
    uv::{Uv, package},
};
use crate::tools::is_executable_file;

/// How long making an environment may take, downloads included.
const TIMEOUT: Duration = Duration::from_secs(1800);

/// The Python that uv fetches when the operator allows it and the system has none.
const DOWNLOADED_PYTHON: &str = "3.12";

/// An environment as a scanner declares it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Environment<'a> {
    /// The tool's program, and the directory's name.
    pub(super) name: &'a str,
    /// The tool with its pinned version.
    pub(super) requirement: &'a str,
    /// What else belongs in it.
    pub(super) with: &'a [&'a str],
}

impl Environment<'_> {
    /// The installed version, if what is there is exactly what is declared, and still runs.
    pub(super) fn whole(&self, tools: &Tools) -> Option<String> {
        let stamp = Stamp::read(&tools.environment(self.name))?;
        let same = stamp.requirement == self.requirement && stamp.with == self.with;
        (same && self.lacks(&tools.environment(self.name)).is_none()).then_some(stamp.version)
    }

    /// Makes the environment, or puts the previous one back.
    pub(super) fn install(&self, installer: &Installer<'_>, uv: &Uv) -> Result<String, Failure> {
        let dir = installer.tools.environment(self.name);
        let previous = installer.tools.dir().join(format!("{}.previous", self.name));
        let in_the_way = |error: io::Error| {
            Failure::new(format!("cannot make room for `{}`: {error}", dir.display()))
                .hint(format!("remove `{}` and run this again", dir.display()))
        };
        set_aside(&dir, &previous).map_err(in_the_way)?;
        let made = self.make(installer, uv, &dir);
        if made.is_err() {
            // What was there before still works; half of the new one does not.
            remove(&dir).map_err(in_the_way)?;
            if previous.exists() {
                std::fs::rename(&previous, &dir).map_err(in_the_way)?;
            }
        } else {
            // Space, not correctness: the next install of this tool tries again.
            remove(&previous).unwrap_or_default();
        }
        made
    }

    fn make(&self, installer: &Installer<'_>, uv: &Uv, dir: &Path) -> Result<String, Failure> {
        let (python, download) = interpreter(installer)?;
        let packages = std::iter::once(&self.requirement)
            .chain(self.with)
            .map(|requirement| package(requirement))
            .collect::<Result<_, _>>()?;
        let managed = installer.tools.dir().join("python");
        let on = OsStr::new("1");
        // Compiled bytecode halves the start of every scan; in a sandbox the environment is read-only, so it cannot come later.
        let mut extra = vec![
            ("UV_COMPILE_BYTECODE", on),
            ("UV_NO_PROGRESS", on),
            ("UV_PYTHON_INSTALL_DIR", managed.as_os_str()),
        ];
        if !download {
            extra.push(("UV_PYTHON_DOWNLOADS", OsStr::new("never")));
        }
        let env = installer.step_environment(&extra);
        let run = |what: &str, call: TrustedCall| -> Result<(), Failure> {
            let step = Step { call, env: env.clone(), timeout: TIMEOUT };
            let cannot =
                |reason| Failure::new(format!("cannot start `{}`: {reason}", uv.path.display()));
            let ran = installer.runner.run(&step).map_err(cannot)?;
            if ran.succeeded() {
                Ok(())
            } else {
                Err(self.explain(Failure::of_step(what, &step, &ran)))
            }
        };
        let venv = TrustedCall::UvVenv {
            uv: uv.path.clone(),
            environment: dir.to_owned(),
            python: Some(python.clone()),
        };
        run("cannot make its Python environment", venv)?;
        let fill = TrustedCall::UvPipInstall {
            uv: uv.path.clone(),
            python: dir.join("bin/python"),
            packages,
        };
        run(&format!("cannot install `{}`", self.requirement), fill)?;
        if let Some(lacking) = self.lacks(dir) {
            // Whatever answered as uv did not do what it was asked.
            return Err(Failure::new(format!(
                "`{}` said that it installed `{}`, but there is no {lacking} in `{}`",
                uv.path.display(),
                self.requirement,
                dir.display()
            ))
            .hint("look what that `uv` is, or take it off `PATH`: ash then fetches its own")
            .hint(format!("then run `ash dependencies install --tool {}`", self.name)));
        }
        let version = pinned_version(self.requirement).to_owned();
        let stamp = Stamp {
            format: Stamp::FORMAT,
            version: version.clone(),
            requirement: self.requirement.to_owned(),
            with: self.with.iter().map(ToString::to_string).collect(),
            python,
            installer: format!("uv {}", uv.version),
            installed_at: jiff::Timestamp::now().to_string(),
        };
        stamp.write(dir).map_err(|error| {
            Failure::new(format!("cannot write to `{}`: {error}", dir.display()))
        })?;
        Ok(version)
    }

    /// What of the declared environment is not there: an exit code of 0 alone proves nothing.
    fn lacks(&self, dir: &Path) -> Option<String> {
        // An upgrade of the system's Python leaves a link to nowhere.
        let programs = ["python", self.name].map(|name| dir.join("bin").join(name));
        if let Some(program) = programs.iter().find(|program| !is_executable_file(program)) {
            return Some(format!("program `{}`", program.display()));
        }
        let mut pinned = std::iter::once(&self.requirement).chain(self.with);
        let absent = pinned.find(|requirement| !has_package(dir, requirement))?;
        Some(format!("package `{}`", absent.replace("==", " ")))
    }

    /// Adds what to do, from what uv is known to say.
    fn explain(&self, failure: Failure) -> Failure {
        let said = failure.output.join("\n").to_lowercase();
        let again = format!("then run `ash dependencies install --tool {}`", self.name);
        let cause = if said.contains("no space left") {
            "free some disk space, or set `ASH_TOOLS_DIR` to a larger disk"
        } else if said.contains("certificate") {
            "name your company's certificates with `SSL_CERT_FILE`"
        } else if said.contains("failed to fetch")
            || said.contains("connect")
            || said.contains("dns")
            || said.contains("timed out")
        {
            "check the network; behind a proxy or a mirror set `HTTPS_PROXY` or `UV_DEFAULT_INDEX`"
        } else if said.contains("no solution found") || said.contains("no matching distribution") {
            "another Python may have packages for it: name one with `UV_PYTHON=/absolute/path/to/python3`"
        } else if said.contains("permission denied") {
            "set `ASH_TOOLS_DIR` to a directory you can write to"
        } else {
            "put right what uv reports above"
        };
        failure.hint(cause).hint(again)
    }
}

/// What to give to `uv venv --python`, and whether uv may download it.
fn interpreter(installer: &Installer<'_>) -> Result<(String, bool), Failure> {
    let allowed = installer
        .variable("UV_PYTHON_DOWNLOADS")
        .is_some_and(|value| value == "automatic" || value == "manual");
    match python::find(installer) {
        Ok(python) => {
            let path = python.path.into_os_string().into_string();
            path.map(|path| (path, false)).map_err(|path| {
                Failure::new(format!("the path of Python, `{}`, is not UTF-8", path.display()))
            })
        }
        Err(_) if allowed => Ok((DOWNLOADED_PYTHON.to_owned(), true)),
        Err(failure) => Err(failure),
    }
}

/// Makes the place free. A whole environment is kept until its successor is whole; what a killed install left is removed.
fn set_aside(dir: &Path, previous: &PathBuf) -> io::Result<()> {
    if Stamp::read(dir).is_some() {
        remove(previous)?;
        return std::fs::rename(dir, previous);
    }
    remove(dir)
}

/// Whether a package is installed in exactly the pinned version, by the directory each installer writes its record into:
/// `lib/python3.11/site-packages/cfn_lint-1.58.0.dist-info`.
fn has_package(dir: &Path, requirement: &str) -> bool {
    let Some((name, version)) = requirement.split_once("==") else { return false };
    let name = name.split('[').next().unwrap_or_default().trim();
    let name = name.to_lowercase().replace(['-', '.'], "_");
    let record = format!("site-packages/{name}-{}.dist-info/METADATA", version.trim());
    let libraries = std::fs::read_dir(dir.join("lib")).into_iter().flatten().flatten();
    libraries.into_iter().any(|library| library.path().join(&record).is_file())
}

fn remove(dir: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// The version in `name[extra]==version`; a requirement without a pin is shown as it is.
fn pinned_version(requirement: &str) -> &str {
    requirement.split_once("==").map_or(requirement, |(_, version)| version.trim())
}
