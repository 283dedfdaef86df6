//! Errors as people read them: what, why, and what to type next; and the exit code each one means.

use std::fmt;

use crate::exit;

/// An error that ends a command.
#[derive(Debug)]
pub(crate) struct CommandError {
    /// The exit code.
    pub(crate) code: u8,
    /// What went wrong.
    message: String,
    /// What to do about it.
    hints: Vec<String>,
    /// The message is already laid out (a rendered diagnostic): no `error:` in front.
    rendered: bool,
    /// It has been shown already.
    shown: bool,
}

impl CommandError {
    /// The command was refused or failed.
    pub(crate) fn failed(error: impl fmt::Display) -> Self {
        Self {
            code: exit::INCOMPLETE,
            message: error.to_string(),
            hints: vec![],
            rendered: false,
            shown: false,
        }
    }

    /// The command line cannot mean what it says.
    pub(crate) fn usage(error: impl fmt::Display) -> Self {
        Self { code: exit::USAGE, ..Self::failed(error) }
    }

    /// The configuration does not load; the text is laid out already.
    pub(crate) fn config(rendered: impl fmt::Display) -> Self {
        Self { code: exit::CONFIG, rendered: true, ..Self::failed(rendered) }
    }

    /// With another exit code.
    pub(crate) fn code(mut self, code: u8) -> Self {
        self.code = code;
        self
    }

    /// Adds a hint.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// What went wrong, without hints.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Marks it as shown: only its exit code is left to be used.
    pub(crate) fn shown(mut self) -> Self {
        self.shown = true;
        self
    }

    /// Whether somebody has shown it.
    pub(crate) const fn is_shown(&self) -> bool {
        self.shown
    }

    /// The lines for stderr.
    pub(crate) fn render(&self) -> String {
        let head =
            if self.rendered { self.message.clone() } else { format!("error: {}", self.message) };
        self.hints.iter().fold(head, |text, hint| format!("{text}\nhint: {hint}"))
    }
}
