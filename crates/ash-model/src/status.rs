//! How a scanner's part of a scan ended.

use serde::Serialize;

/// A scanner's result. Whatever is not a verdict carries its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// Ran; nothing at or above the threshold.
    Passed,
    /// Ran; findings at or above the threshold.
    Failed,
    /// Not run on purpose: not selected, or nothing for it to look at.
    Skipped(String),
    /// Could not run: the tool is missing, or the sandbox that was asked for cannot be had.
    Missing(Missing),
    /// Ran and failed, or its results cannot be trusted to be whole.
    Error(String),
}

/// Why a scanner is MISSING.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// The reason, with what to type next.
    pub reason: String,
    /// Whether the sandbox is the reason: then no setting of the scanned tree can make the scan count as complete.
    pub by_sandbox: bool,
}

impl Status {
    /// The upper-case name used in results and tables.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Passed => "PASSED",
            Self::Failed => "FAILED",
            Self::Skipped(_) => "SKIPPED",
            Self::Missing(_) => "MISSING",
            Self::Error(_) => "ERROR",
        }
    }

    /// The reason, where there is one.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Passed | Self::Failed => None,
            Self::Skipped(reason) | Self::Error(reason) => Some(reason),
            Self::Missing(missing) => Some(&missing.reason),
        }
    }

    /// Whether the scan is incomplete because of it.
    pub const fn is_incomplete(&self) -> bool {
        matches!(self, Self::Missing(_) | Self::Error(_))
    }
}

impl Serialize for Status {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
