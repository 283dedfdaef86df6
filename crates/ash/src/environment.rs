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

    /// What to say of an `ASH_OFFLINE` that somebody may think takes the network away.
    pub(crate) fn offline_in_vain(&self) -> Option<String> {
        let value = self.get("ASH_OFFLINE").filter(|_| !self.offline())?;
        let no = ["", "no", "false", "0", "n", "off"];
        (!no.iter().any(|no| value.eq_ignore_ascii_case(no))).then(|| {
            let shown = ash_model::path::printable(value);
            format!("ASH_OFFLINE is `{shown}`, which is none of YES, TRUE and 1, so it takes no network away")
        })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_does_not_mean_offline_is_said_unless_it_means_online() {
        let said = |value: &str| {
            let environment = Environment(vec![("ASH_OFFLINE".into(), value.into())]);
            (environment.offline(), environment.offline_in_vain().is_some())
        };
        for (value, expected) in [
            ("YES", (true, false)),
            ("true", (true, false)),
            ("1", (true, false)),
            ("on", (false, true)),
            ("2", (false, true)),
            (" yes", (false, true)),
            ("no", (false, false)),
            ("", (false, false)),
        ] {
            assert_eq!(said(value), expected, "{value}");
        }
        assert_eq!(Environment(vec![]).offline_in_vain(), None);
    }
}
