//! The one question this module asks of the outside: run this and say what came of it.

use std::{ffi::OsString, path::Path, time::Duration};

use ash_model::tool::{Captured, Exit};
use ash_sandbox::{Cancel, Captures, Finished, Launcher, TrustedCall};

/// Runs a step and waits for it.
pub trait Runner {
    /// Runs one step to its end.
    ///
    /// # Errors
    /// The reason, when it could not be started at all.
    fn run(&self, step: &Step) -> Result<Ran, String>;
}

/// One program to run. Everything it gets is in here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The program and its arguments: one of the few calls ash makes outside a scanner's sandbox.
    pub call: TrustedCall,
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
        let mut line = self.call.program().display().to_string();
        for arg in self.call.arguments().iter().filter(|arg| *arg != "--") {
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

/// Runs steps for real, through the one door.
#[derive(Debug, Clone, Copy)]
pub struct Launched<'a> {
    launcher: &'a Launcher,
    cancel: &'a Cancel,
}

impl<'a> Launched<'a> {
    /// A runner that ends what it runs when it is cancelled.
    pub const fn new(launcher: &'a Launcher, cancel: &'a Cancel) -> Self {
        Self { launcher, cancel }
    }
}

impl Runner for Launched<'_> {
    fn run(&self, step: &Step) -> Result<Ran, String> {
        let cwd = Path::new(Step::CWD);
        let timeout = Some(step.timeout);
        let finished = self.launcher.trusted(
            &step.call,
            step.env.clone(),
            cwd,
            Captures::default(),
            timeout,
            self.cancel,
            &mut |_| {},
        );
        let Finished { exit, stdout, stderr, timed_out, cancelled, .. } =
            finished.map_err(|error| error.to_string())?;
        if cancelled {
            Err("interrupted".to_owned())
        } else {
            Ok(Ran { exit, timed_out, stdout, stderr })
        }
    }
}
