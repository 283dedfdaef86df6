//! Exit codes, in one place.

use std::process::ExitCode;

/// The command was understood and refused, crashed, or is incomplete.
pub(crate) const INCOMPLETE: u8 = 1;
/// Wrong words on the command line.
pub(crate) const USAGE: u8 = 2;
/// Configuration does not load.
pub(crate) const CONFIG: u8 = 3;
/// A workspace definition cannot be used.
pub(crate) const WORKSPACE: u8 = 4;

/// `ash sandbox run`: the command timed out.
pub(crate) const TIMED_OUT: u8 = 124;
/// `ash sandbox run`: there is no sandbox, so nothing ran.
pub(crate) const REFUSED: u8 = 125;
/// `ash sandbox run`: a restriction could not be applied, or the command cannot be executed.
pub(crate) const NOT_APPLIED: u8 = 126;
/// `ash sandbox run`: no such command.
pub(crate) const NOT_FOUND: u8 = 127;

/// The process exit code for a number.
pub(crate) fn code(number: i32) -> ExitCode {
    ExitCode::from(u8::try_from(number).unwrap_or(u8::MAX))
}
