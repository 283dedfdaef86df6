//! The only place that starts a process (besides the supervisor and the last stage in `confine/`).

use std::path::PathBuf;

use ash_model::evidence::SandboxEvidence;

use crate::wire::SupervisorSpec;

/// A command that a backend has wrapped. Only this crate can make one.
///
/// ```compile_fail
/// let prepared = ash_sandbox::Prepared { supervisor: todo!(), setup: vec![], cleanup: vec![], evidence: todo!() };
/// ```
#[derive(Debug, Clone)]
pub struct Prepared {
    /// What the supervisor is told.
    pub(crate) supervisor: SupervisorSpec,
    /// What must exist before it starts, in order. Made by the launcher, mode 0700, never through a link.
    pub(crate) setup: Vec<Setup>,
    /// Directories removed after the tree is gone, whatever happened.
    pub(crate) cleanup: Vec<PathBuf>,
    /// What the backend was told to allow; the launcher adds what the stage measured.
    pub(crate) evidence: SandboxEvidence,
}

/// One preparation step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Setup {
    /// A fresh directory (its parents are made too).
    Dir(PathBuf),
    /// A symbolic link `at` with this text.
    Link { at: PathBuf, text: PathBuf },
}
