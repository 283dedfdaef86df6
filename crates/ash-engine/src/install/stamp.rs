//! `.ash-tool.json`: what an environment holds. Written last, so its presence says that the install came to its end.

use std::{io, path::Path};

use serde::{Deserialize, Serialize};

/// The stamp's file name.
pub(super) const FILE: &str = ".ash-tool.json";

/// What an environment holds, and how it came to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Stamp {
    /// The format of this file.
    pub(super) format: u32,
    /// The pinned version of the tool.
    pub(super) version: String,
    /// The requirement that was asked for.
    pub(super) requirement: String,
    /// Further requirements of the same environment.
    pub(super) with: Vec<String>,
    /// The interpreter it was made with; empty where the environment has none.
    pub(super) python: String,
    /// What installed it, such as `uv 0.13.9`.
    pub(super) installer: String,
    /// When, RFC 3339.
    pub(super) installed_at: String,
}

impl Stamp {
    /// The format this code writes, and the only one it believes.
    pub(super) const FORMAT: u32 = 1;

    /// The stamp of an environment, unless it is absent, unreadable or of another format: then the environment is not whole.
    pub(super) fn read(environment: &Path) -> Option<Self> {
        let bytes = std::fs::read(environment.join(FILE)).ok()?;
        serde_json::from_slice::<Self>(&bytes).ok().filter(|stamp| stamp.format == Self::FORMAT)
    }

    /// Declares an environment whole, in one step.
    pub(super) fn write(&self, environment: &Path) -> io::Result<()> {
        let partial = environment.join(".ash-tool.json.partial");
        std::fs::write(&partial, serde_json::to_vec_pretty(self)?)?;
        std::fs::rename(&partial, environment.join(FILE))
    }
}
