//! A program to run, and what came of it.

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf, time::Duration};

use crate::path::RelPath;

/// What a scanner wants run. Building one runs nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// The program.
    pub program: Program,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Where it starts.
    pub cwd: Cwd,
    /// Variables set after the environment allowlist, in order.
    pub env: Vec<(String, OsString)>,
    /// Files ash writes into the results directory first.
    pub inputs: Vec<(RelPath, Vec<u8>)>,
    /// Files of the results directory to read back when it has ended.
    pub outputs: Vec<RelPath>,
    /// Exit codes that are not an error by themselves.
    pub accepts: Vec<i32>,
    /// Base name of its stream logs (`<log>.stdout.log`), unique among one scanner's calls.
    pub log: String,
}

impl ToolCall {
    /// A call with no arguments, started in the source, for which only exit code 0 is success.
    pub fn new(program: Program, log: &str) -> Self {
        Self {
            program,
            args: vec![],
            cwd: Cwd::Source,
            env: vec![],
            inputs: vec![],
            outputs: vec![],
            accepts: vec![0],
            log: log.to_owned(),
        }
    }

    /// Appends arguments.
    #[must_use]
    pub fn args<I: IntoIterator<Item = S>, S: Into<OsString>>(mut self, args: I) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }
}

/// How a [`ToolCall`] names its program. ash turns it into an absolute path outside the scanned tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Program {
    /// A tool by its bare name: ash's tool directory first, then `PATH`.
    Tool(&'static str),
    /// The Python interpreter that belongs to a tool's environment.
    PythonOf(&'static str),
    /// An absolute path the operator named.
    Path(PathBuf),
}

/// Where a tool starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cwd {
    /// The scanned directory.
    Source,
    /// The results directory.
    Results,
    /// `/`: for tools that would read configuration of the scanned tree from their working directory.
    Root,
    /// A directory of the scanned tree.
    Within(RelPath),
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

impl Exit {
    /// The shell's number: the code, or 128 plus the signal.
    pub const fn shell_code(self) -> i32 {
        match self {
            Self::Code(code) => code,
            Self::Signal(signal) => 128 + signal,
        }
    }
}

/// One captured stream, cut at a limit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    /// The beginning of what was written.
    pub bytes: Vec<u8>,
    /// How many bytes were written in all.
    pub total: u64,
}

impl Captured {
    /// Whether bytes were thrown away.
    pub fn is_cut(&self) -> bool {
        self.total > self.bytes.len() as u64
    }

    /// As text, with replacement characters for what is not UTF-8.
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.bytes)
    }
}

/// What a finished [`ToolCall`] left behind. Hostile data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolOutput {
    /// How it ended.
    pub exit: Exit,
    /// Standard output.
    pub stdout: Captured,
    /// Standard error.
    pub stderr: Captured,
    /// The files of [`ToolCall::outputs`] that exist, are regular and within the limits.
    pub files: BTreeMap<RelPath, Vec<u8>>,
    /// How long it ran.
    pub duration: Duration,
}
