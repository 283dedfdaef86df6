//! The one place that reads the process environment, and the variables ash knows.

use std::{
    ffi::{OsStr, OsString},
    path::PathBuf,
};

/// The caller's environment, read once.
#[derive(Debug, Clone)]
pub(crate) struct Environment(Vec<(OsString, OsString)>);

impl Environment {
    /// Reads it.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that reads the environment"
    )]
    pub(crate) fn read() -> Self {
        Self(std::env::vars_os().collect())
    }

    /// A variable's value.
    pub(crate) fn get(&self, name: &str) -> Option<&OsStr> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_os_str())
    }

    /// `ASH_OFFLINE`.
    pub(crate) fn offline(&self) -> bool {
        self.is_yes("ASH_OFFLINE")
    }

    /// Whether a variable is YES, TRUE or 1 in any letter case.
    pub(crate) fn is_yes(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| {
            ["yes", "true", "1"].iter().any(|yes| value.eq_ignore_ascii_case(yes))
        })
    }

    /// Whether this runs in a CI job.
    pub(crate) fn is_ci(&self) -> bool {
        self.get("CI").is_some_and(|value| !value.is_empty() && value != "false" && value != "0")
    }

    /// `NO_COLOR`, set and not empty.
    pub(crate) fn no_color(&self) -> bool {
        self.get("NO_COLOR").is_some_and(|value| !value.is_empty())
    }

    /// The directories of `PATH`, as spelled.
    pub(crate) fn search_path(&self) -> Vec<PathBuf> {
        self.get("PATH").map(|path| std::env::split_paths(path).collect()).unwrap_or_default()
    }

    /// Where temporary directories are made: `TMPDIR` if it is absolute, else `/tmp`.
    pub(crate) fn temp(&self) -> PathBuf {
        self.get("TMPDIR")
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
            .unwrap_or_else(|| PathBuf::from("/tmp"))
    }

    /// All of it.
    pub(crate) fn all(&self) -> &[(OsString, OsString)] {
        &self.0
    }
}
