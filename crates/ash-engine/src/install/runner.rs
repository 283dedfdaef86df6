//! The one question this module asks of the outside: run this and say what came of it.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use ash_model::tool::{Captured, Exit};

/// Starts a step and waits for it.
pub trait Runner {
    /// Runs one step to its end.
    ///
    /// # Errors
    /// The reason, when it could not be started at all.
    fn run(&self, step: &Step) -> Result<Ran, String>;
}

/// Why a step runs outside a scanner's sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Asks an interpreter, uv or a system tool for its version.
    Version,
    /// Fetches uv with the Python that is there.
    BootstrapUv,
    /// uv makes an environment, or fills it.
    Uv,
}

/// One program to run. Everything it gets is in here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What for.
    pub purpose: Purpose,
    /// The program, absolute.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// How long it may take.
    pub timeout: Duration,
}

impl Step {
    /// Where every step starts: no repository's `pyproject.toml`, `uv.toml` or module is found from there.
    pub const CWD: &'static str = "/";

    /// The command as a person would type it, for messages.
    pub fn command_line(&self) -> String {
        let mut line = self.program.display().to_string();
        for arg in &self.args {
            line.push(' ');
            line.push_str(&arg.to_string_lossy());
        }
        line
    }
}

/// How a step ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// How it ended.
    pub exit: Exit,
    /// Whether it was ended because its time was up.
    pub timed_out: bool,
    /// Standard output.
    pub stdout: Captured,
    /// Standard error.
    pub stderr: Captured,
}

impl Ran {
    /// Whether it did what it was asked.
    pub fn succeeded(&self) -> bool {
        self.exit == Exit::Code(0) && !self.timed_out
    }
}
