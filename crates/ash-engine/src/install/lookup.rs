//! Finds programs on `PATH` that a scanned repository cannot have planted there.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    time::Duration,
};

use ash_model::path::printable;
use ash_sandbox::TrustedCall;

use super::{
    Installer, Outcome, certificates,
    failure::Failure,
    runner::{Ran, Step},
};
use crate::tools::is_executable_file;

/// Variables that change what Python, pip or uv do, or where they put it. None of them may reach a step: an environment has to come
/// out the same whoever makes it, with its bytecode compiled.
const STRIPPED: &[&str] = &[
    "CONDA_PREFIX",
    "PIP_PREFIX",
    "PIP_REQUIRE_VIRTUALENV",
    "PIP_ROOT",
    "PIP_TARGET",
    "PIP_USER",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTHONPLATLIBDIR",
    "PYTHONPYCACHEPREFIX",
    "PYTHONSAFEPATH",
    "PYTHONSTARTUP",
    "UV_BREAK_SYSTEM_PACKAGES",
    "UV_PROJECT",
    "UV_PROJECT_ENVIRONMENT",
    "UV_PYTHON",
    "UV_SYSTEM_PYTHON",
    "UV_TARGET",
    "UV_WORKING_DIR",
    "VIRTUAL_ENV",
];

/// How long a program may take to say its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(60);

impl Installer<'_> {
    /// A variable of the operator's environment.
    pub(super) fn variable(&self, name: &str) -> Option<&OsStr> {
        self.environment
            .iter()
            .rev()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_os_str())
    }

    /// The environment of a step: the operator's, without what would change the outcome.
    pub(super) fn step_environment(&self, extra: &[(&str, &OsStr)]) -> Vec<(OsString, OsString)> {
        let replaced = |key: &OsStr| {
            STRIPPED.iter().any(|name| key == *name) || extra.iter().any(|(name, _)| key == *name)
        };
        let kept = self.environment.iter().filter(|(key, _)| !replaced(key)).cloned();
        let kept = kept.chain(certificates::additions(self.environment));
        kept.chain(extra.iter().map(|(name, value)| (OsString::from(name), value.to_os_string())))
            .collect()
    }

    /// The directories of `PATH`, without relative entries and those in an unreviewed tree.
    pub(super) fn search_path(&self) -> Vec<PathBuf> {
        let path = self.variable("PATH").unwrap_or_default();
        std::env::split_paths(path)
            .filter(|dir| dir.is_absolute() && !self.is_untrusted(dir))
            .collect()
    }

    /// The first program of this name on `PATH` that is outside the unreviewed trees.
    pub(super) fn find_program(&self, name: &str) -> Option<PathBuf> {
        self.search_path().iter().find_map(|dir| self.program_in(dir, name))
    }

    /// A program of this name in this directory, if it may be started.
    pub(super) fn program_in(&self, dir: &Path, name: &str) -> Option<PathBuf> {
        let path = dir.join(name);
        (is_executable_file(&path) && !self.is_untrusted(&path)).then_some(path)
    }

    /// Whether a path, as spelled or as resolved, lies in a tree that nobody has reviewed.
    fn is_untrusted(&self, path: &Path) -> bool {
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        self.untrusted.iter().any(|tree| {
            let real_tree = tree.canonicalize().unwrap_or_else(|_| tree.clone());
            path.starts_with(tree) || real.starts_with(real_tree)
        })
    }

    /// Asks a program for its version. `None`: it could not be started or failed.
    pub(super) fn version_of(&self, program: &Path) -> Option<String> {
        let call = TrustedCall::ToolVersion { installer: program.to_owned() };
        let step = Step { call, env: self.step_environment(&[]), timeout: VERSION_TIMEOUT };
        let ran = self.runner.run(&step).ok().filter(Ran::succeeded)?;
        ran.stdout.text().lines().next().map(|line| line.trim().to_owned())
    }
}

/// A tool that the system's own package manager provides.
pub(super) fn system_tool(
    installer: &Installer<'_>,
    program: &str,
    hint: &str,
) -> Result<Outcome, Failure> {
    let path = installer.find_program(program).ok_or_else(|| {
        Failure::new(format!("`{program}` is not on `PATH`, and ash does not install it"))
            .hint(hint)
    })?;
    let version = installer
        .version_of(&path)
        .ok_or_else(|| Failure::new(format!("`{} --version` failed", path.display())).hint(hint))?;
    if !version.trim_start_matches('v').starts_with(|first: char| first.is_ascii_digit()) {
        let said = printable(version.chars().take(60).collect::<String>().as_ref());
        return Err(Failure::new(format!(
            "`{} --version` says `{said}`, which is no version",
            path.display()
        ))
        .hint(hint));
    }
    Ok(Outcome::Found { version: printable(version.as_ref()), path })
}
