//! Things worth saying that are not findings.

use serde::{Deserialize, Serialize};

/// A setting that was dropped, a backend that was passed over, a limit that could not be set: what, where from, why, and what to type.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Notice {
    /// The setting or subject, such as `sandbox.network_scanners` or `firejail`.
    pub key: String,
    /// The file it came from, if any.
    pub file: Option<String>,
    /// Why.
    pub reason: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Notice {
    /// A notice without a file or a hint.
    pub fn new(key: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { key: key.into(), file: None, reason: reason.into(), hint: None }
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// One line for people.
    pub fn line(&self) -> String {
        let file = self.file.as_ref().map(|file| format!(" from {file}")).unwrap_or_default();
        let hint = self.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
        format!("{}{file}: {}{hint}", self.key, self.reason)
    }
}
