//! Why a tool is not in place, and how to go on.

use ash_model::path::printable;

use super::runner::{Ran, Step};

/// How many lines of a failed program's own words are worth repeating.
const LINES: usize = 12;

/// What failed, in words for the operator.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Failure {
    /// What failed, and the reason.
    pub what: String,
    /// What the failed program itself said: at most a few lines, harmless for a terminal.
    pub output: Vec<String>,
    /// What to type or install next.
    pub hints: Vec<String>,
}

impl Failure {
    /// A failure without a hint.
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), output: Vec::new(), hints: Vec::new() }
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// All of it, in several lines: what failed, what the program said, what to do.
    pub fn in_full(&self) -> String {
        let output = self.output.iter().map(|line| format!("\n  | {line}"));
        let hints = self.hints.iter().map(|hint| format!("\n  hint: {hint}"));
        std::iter::once(self.what.clone()).chain(output).chain(hints).collect()
    }

    /// A step that ended badly.
    pub(super) fn of_step(what: &str, step: &Step, ran: &Ran) -> Self {
        let how = if ran.timed_out {
            format!("took longer than {} s", step.timeout.as_secs())
        } else {
            match ran.exit {
                ash_model::tool::Exit::Code(code) => format!("exit code {code}"),
                ash_model::tool::Exit::Signal(signal) => format!("ended by signal {signal}"),
            }
        };
        let mut failure = Self::new(format!("{what}: `{}` failed ({how})", step.command_line()));
        failure.output = last_lines(&ran.stderr.text(), &ran.stdout.text());
        failure
    }
}

/// The end of what a program said: standard error, or standard output when there was none.
fn last_lines(stderr: &str, stdout: &str) -> Vec<String> {
    let lines = |text: &str| -> Vec<String> {
        text.lines()
            .map(str::trim_end)
            .filter(|line| !line.is_empty())
            .map(|line| printable(line.as_ref()))
            .collect()
    };
    let mut said = lines(stderr);
    if said.is_empty() {
        said = lines(stdout);
    }
    said.split_off(said.len().saturating_sub(LINES))
}
