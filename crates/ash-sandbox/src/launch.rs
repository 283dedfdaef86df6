//! The only place that starts a process (besides the supervisor and the last stage in `confine/`).
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "every process of ash starts here"
)]

mod cancel;
mod capture;
mod pass_on;
mod setup;
#[cfg(target_os = "linux")]
mod standby;
#[cfg(target_os = "linux")]
mod supervised;
#[cfg(any(not(target_os = "linux"), test))]
mod unsupervised;

use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use ash_model::{
    evidence::{Enforced, SandboxEvidence, Tier},
    notice::Notice,
    tool::{Captured, Exit},
};

pub use cancel::Cancel;
pub use capture::{Captures, Stdio};
pub(crate) use setup::remove_tree;

#[cfg(unix)]
use crate::wire::StageReport;
use crate::wire::{Applied, End, Rlimit, SupervisorSpec};

/// A command that a backend has wrapped. Only this crate can make one.
///
/// ```compile_fail
/// let prepared = ash_sandbox::Prepared { supervisor: unreachable!(), setup: vec![], evidence: unreachable!() };
/// ```
#[derive(Debug, Clone)]
pub struct Prepared {
    /// What the supervisor is told.
    pub(crate) supervisor: SupervisorSpec,
    /// What must exist before it starts, in order. Made by the launcher, mode 0700, never through a link.
    pub(crate) setup: Vec<Setup>,
    /// What the backend was told to allow; the launcher adds what the stage measured.
    pub(crate) evidence: SandboxEvidence,
}

/// One preparation step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Setup {
    /// A fresh directory (its parents are made too).
    Dir(PathBuf),
    /// A file of these lines.
    File { at: PathBuf, lines: Vec<Vec<u8>> },
    /// A symbolic link `at` with this text.
    Link { at: PathBuf, text: PathBuf },
}

/// What came of a command. No process of it is left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// How it ended.
    pub exit: Exit,
    /// Standard output; empty when it was passed on.
    pub stdout: Captured,
    /// Standard error; empty when it was passed on.
    pub stderr: Captured,
    /// It ran longer than it may and was ended.
    pub timed_out: bool,
    /// [`Cancel::cancel`] ended it.
    pub cancelled: bool,
    /// It printed more than [`Captures::total`] and was ended.
    pub overflowed: bool,
    /// Processes it left behind, which were killed.
    pub leftovers: u32,
    /// Its output was passed on, and what it wrote to standard error ended within a line: whoever writes there next begins a new one.
    pub midline: bool,
    /// How long it ran.
    pub duration: Duration,
    /// What was really applied.
    pub evidence: SandboxEvidence,
}

/// Why a command did not run. Nothing of it is left, and nothing of it ran outside its sandbox.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// A directory it needs cannot be made.
    #[error("cannot prepare `{path}`: {reason}")]
    Setup {
        /// The path.
        path: String,
        /// The system's words.
        reason: String,
    },
    /// The supervisor cannot be started.
    #[error("cannot start the supervisor `{program}`: {reason}")]
    Supervisor {
        /// ash's own executable.
        program: String,
        /// The system's words.
        reason: String,
    },
    /// The supervisor could not start the command.
    #[error("{reason}")]
    CannotStart {
        /// Why.
        reason: String,
    },
    /// The backend ended before the last stage ran: it could not make the sandbox.
    #[error("the sandbox ended before the tool started ({}){}", ended(*.exit), said(.words))]
    NoSandbox {
        /// How the backend ended.
        exit: Exit,
        /// The last line it printed, if that was captured.
        words: String,
    },
    /// A restriction could not be applied.
    #[error("cannot apply the restriction `{step}`: {reason}")]
    Restriction {
        /// Which one.
        step: String,
        /// Why.
        reason: String,
    },
    /// Everything was in force, but the tool does not exist or cannot be executed.
    #[error("{reason}")]
    CannotExec {
        /// 127 or 126, as in a shell.
        code: i32,
        /// Why.
        reason: String,
    },
    /// What the command printed is lost, at least in part.
    #[error("cannot pass on what the command prints: {reason}")]
    Output {
        /// The system's words.
        reason: String,
    },
    /// The supervisor died, or did not answer. What it had started was ended.
    #[error(
        "the supervisor ended unexpectedly or did not answer; whatever it had started was ended"
    )]
    SupervisorLost,
    /// [`Cancel::cancel`] came first.
    #[error("interrupted before it started")]
    Cancelled,
    /// This platform cannot do it.
    #[error("{reason}")]
    Unsupported {
        /// What, and why.
        reason: String,
    },
}

impl LaunchError {
    /// The exit code of `ash sandbox run` for it.
    pub const fn exit_code(&self) -> i32 {
        match self {
            Self::CannotExec { code, .. } => *code,
            Self::Restriction { .. } => crate::confine::FAILED,
            _ => 125,
        }
    }
}

fn ended(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("exit code {code}"),
        Exit::Signal(signal) => format!("signal {signal}"),
    }
}

fn said(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!(": {words}") }
}

/// Starts commands. Cheap to share between threads.
#[derive(Debug, Clone)]
pub struct Launcher {
    exe: PathBuf,
    #[cfg(target_os = "linux")]
    standby: standby::Standby,
}

impl Launcher {
    /// A launcher that uses this program's own executable for the stages; its `main` must call [`crate::confine::intercept`] first.
    pub fn new() -> io::Result<Self> {
        std::env::current_exe().map(Self::with_executable)
    }

    /// A launcher that uses another executable, which must call [`crate::confine::intercept`] first.
    pub fn with_executable(exe: PathBuf) -> Self {
        Self {
            exe,
            #[cfg(target_os = "linux")]
            standby: standby::Standby::default(),
        }
    }

    /// Has one supervisor loaded ahead of the command it will be for, and another whenever that one is used: for programs that run several
    /// commands. Where supervisors are slow to load, commands start sooner; the work is the same. On other systems than Linux it does nothing.
    #[must_use]
    pub fn with_standby(self) -> Self {
        #[cfg(target_os = "linux")]
        return Self { standby: standby::Standby::begin(&self.exe), exe: self.exe };
        #[cfg(not(target_os = "linux"))]
        self
    }

    /// The executable of the stages.
    pub fn executable(&self) -> &Path {
        &self.exe
    }

    /// Runs a command to the end of its whole process tree.
    ///
    /// On Linux every descriptor of this process but the three standard ones is marked to be closed on exec: what whoever started it left
    /// open is for no command.
    pub fn run(
        &self,
        prepared: Prepared,
        stdio: Stdio,
        timeout: Option<Duration>,
        cancel: &Cancel,
    ) -> Result<Finished, LaunchError> {
        self.run_with(prepared, stdio, timeout, cancel, None)
    }

    /// The same, handing on each line as it arrives, of both streams.
    pub(crate) fn run_with(
        &self,
        prepared: Prepared,
        stdio: Stdio,
        timeout: Option<Duration>,
        cancel: &Cancel,
        mut on_line: capture::OnLine<'_>,
    ) -> Result<Finished, LaunchError> {
        let Prepared { supervisor, setup, evidence } = prepared;
        // The supervisor removes them, unless it is never started, or dies.
        let mut cleanup =
            setup::Cleanup::new(supervisor.cleanup.iter().map(PathBuf::from).collect());
        if cancel.is_cancelled() {
            return Err(LaunchError::Cancelled);
        }
        let started = Instant::now();
        let expects_stage = supervisor.stage.is_some();
        let request = Request { stdio, timeout, cancel };
        // Unless it was loaded before, it loads itself while the directories are made.
        #[cfg(target_os = "linux")]
        let waiting = match self.standby.take(stdio) {
            Some(waiting) => waiting,
            None => supervised::Waiting::start(&self.exe, stdio)?,
        };
        setup::perform(&setup)?;
        cleanup.hold();
        #[cfg(target_os = "linux")]
        let outcome = {
            let attended = waiting.tell(&supervisor, &self.exe)?;
            // While the backend is at work.
            self.standby.replace(&self.exe);
            attended.finish(&request, &mut on_line)
        };
        #[cfg(not(target_os = "linux"))]
        let outcome = unsupervised::run(&self.exe, &supervisor, &request, &mut on_line)?;
        outcome.finish(expects_stage, evidence, started.elapsed())
    }
}

/// How a command is to be run.
struct Request<'a> {
    stdio: Stdio,
    timeout: Option<Duration>,
    cancel: &'a Cancel,
}

impl Request<'_> {
    /// How much of the command's output is kept, if it is captured.
    fn captures(&self) -> Captures {
        match self.stdio {
            Stdio::Capture(captures) => captures,
            Stdio::PassOn => Captures::default(),
        }
    }
}

/// What the platform's way of running says happened.
#[derive(Debug, Default)]
struct Outcome {
    /// How the command ended; `None` if it was never started.
    end: Option<End>,
    /// How the tool ended, by the word of the stage around it.
    tool_end: Option<End>,
    applied: Option<Applied>,
    /// What the stage or the supervisor could not do.
    error: Option<LaunchError>,
    stdout: Captured,
    stderr: Captured,
    timed_out: bool,
    cancelled: bool,
    overflowed: bool,
    leftovers: u32,
    /// What was passed on to standard error ended within a line.
    midline: bool,
}

impl Outcome {
    #[cfg(unix)]
    fn take_stage(&mut self, report: StageReport) {
        match report {
            StageReport::Applied(applied) => self.applied = Some(applied),
            StageReport::Failed { step, reason } => {
                self.error = Some(LaunchError::Restriction { step, reason })
            }
            StageReport::CannotExec { code, reason } => {
                self.error = Some(LaunchError::CannotExec { code, reason })
            }
            StageReport::Ended(end) => self.tool_end = Some(end),
        }
    }

    /// Waits for what is passed on, if it is.
    fn await_passed_on(&mut self, passed_on: Option<pass_on::PassOn>, cancel: &Cancel) {
        let stopped = self.timed_out || self.cancelled || self.error.is_some();
        match passed_on.map_or(Ok(false), |passed_on| passed_on.finish(stopped, cancel)) {
            Ok(midline) => self.midline = midline,
            Err(error) => {
                self.error.get_or_insert(LaunchError::Output { reason: error.to_string() });
            }
        }
    }

    fn finish(
        self,
        expects_stage: bool,
        evidence: SandboxEvidence,
        duration: Duration,
    ) -> Result<Finished, LaunchError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let Some(end) = self.end else { return Err(LaunchError::SupervisorLost) };
        let stopped = self.timed_out || self.cancelled || self.overflowed;
        if expects_stage && self.applied.is_none() && !stopped {
            return Err(LaunchError::NoSandbox {
                exit: exit_of(end),
                words: last_line(&self.stderr),
            });
        }
        let evidence = match &self.applied {
            Some(applied) => measured(evidence, applied),
            None => evidence,
        };
        Ok(Finished {
            exit: exit_of(self.tool_end.unwrap_or(end)),
            stdout: self.stdout,
            stderr: self.stderr,
            timed_out: self.timed_out,
            cancelled: self.cancelled,
            overflowed: self.overflowed,
            leftovers: self.leftovers,
            midline: self.midline,
            duration,
            evidence,
        })
    }
}

const fn exit_of(end: End) -> Exit {
    match end {
        End::Code(code) => Exit::Code(code),
        End::Signal(signal) => Exit::Signal(signal),
    }
}

fn last_line(stream: &Captured) -> String {
    stream
        .text()
        .lines()
        .rev()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default()
        .to_owned()
}

/// Puts what the stage measured in the place of what the backend hoped for.
fn measured(mut evidence: SandboxEvidence, applied: &Applied) -> SandboxEvidence {
    let has_landlock =
        applied.landlock.as_ref().is_some_and(|landlock| landlock.enforced != Enforced::None);
    if evidence.tier == Tier::NamespacesLandlock && !has_landlock {
        evidence.tier = Tier::Namespaces;
    }
    let details = evidence.details.get_or_insert_default();
    details.spawns = 1;
    details.landlock.clone_from(&applied.landlock);
    for (name, value) in &applied.rlimits {
        let name = match name {
            Rlimit::Core => "core",
            Rlimit::FileSize => "file_size",
            Rlimit::Processes => "processes",
        };
        details.limits.insert(name.to_owned(), Some(*value));
    }
    details.notices.extend(applied.notes.iter().map(|note| {
        let (subject, words) = note.split_once(": ").unwrap_or(("sandbox", note));
        Notice::new(subject, words)
    }));
    evidence
}

/// Replaces this process with a command: environment, descriptors, session and standard input unchanged. The control of `ash sandbox run`.
///
/// Returns only if that fails.
pub fn exec_unconfined(argv: &[OsString]) -> io::Error {
    let Some((program, arguments)) = argv.split_first() else {
        return io::Error::new(io::ErrorKind::InvalidInput, "there is no command");
    };
    let mut command = std::process::Command::new(program);
    command.args(arguments);
    replace(command)
}

/// The standard library gives the command the default SIGPIPE back, which it ignores in Rust programs.
#[cfg(unix)]
fn replace(mut command: std::process::Command) -> io::Error {
    std::os::unix::process::CommandExt::exec(&mut command)
}

/// Elsewhere a process cannot be replaced: it is started, and its exit code becomes ours.
#[cfg(not(unix))]
fn replace(mut command: std::process::Command) -> io::Error {
    match command.status() {
        #[expect(clippy::exit, reason = "stands in for exec")]
        Ok(status) => std::process::exit(status.code().unwrap_or(1)),
        Err(error) => error,
    }
}
