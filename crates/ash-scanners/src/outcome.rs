//! What a finished call left, and when that cannot be trusted to be whole.
//!
//! No tool's exit code alone proves anything: several exit 0 for a missing target, others use the same code for findings and for a
//! crash. So every scanner asks for an accepted exit, for its output file, and for content that parses.

use ash_model::{
    path::printable,
    tool::{Exit, ToolCall, ToolOutput},
};
use serde_json::Value;

use crate::InterpretError;

/// How much of a tool's complaint is quoted.
const QUOTED: usize = 300;

/// The only call of a plan that makes one.
pub(crate) fn only(
    calls: &[(ToolCall, ToolOutput)],
) -> Result<(&ToolCall, &ToolOutput), InterpretError> {
    match calls {
        [(call, output)] => Ok((call, output)),
        _ => Err(InterpretError(format!("expected the output of one call, got {}", calls.len()))),
    }
}

/// The exit code, if it is one the call accepts.
pub(crate) fn accepted(call: &ToolCall, output: &ToolOutput) -> Result<i32, InterpretError> {
    match output.exit {
        Exit::Code(code) if call.accepts.contains(&code) => Ok(code),
        Exit::Code(code) => Err(failed(call, output, &format!("exited with code {code}"))),
        Exit::Signal(signal) => Err(failed(call, output, &format!("was ended by signal {signal}"))),
    }
}

/// A file the call had to write.
pub(crate) fn file<'o>(
    call: &ToolCall,
    output: &'o ToolOutput,
    name: &str,
) -> Result<&'o [u8], InterpretError> {
    let found = output.files.iter().find(|(path, _)| path.as_path() == std::path::Path::new(name));
    found
        .map(|(_, bytes)| bytes.as_slice())
        .ok_or_else(|| failed(call, output, &format!("left no result file `{name}`")))
}

/// Standard output, when all of it was kept.
pub(crate) fn stdout<'o>(
    call: &ToolCall,
    output: &'o ToolOutput,
) -> Result<&'o [u8], InterpretError> {
    if output.stdout.is_cut() {
        return Err(failed(
            call,
            output,
            &format!("printed {} bytes, more than ash keeps", output.stdout.total),
        ));
    }
    Ok(&output.stdout.bytes)
}

/// JSON of bounded depth.
pub(crate) fn json(call: &ToolCall, bytes: &[u8]) -> Result<Value, InterpretError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    serde_json::from_slice(bytes).map_err(|error| {
        InterpretError(format!(
            "{} wrote results that are not JSON: {}",
            call.log,
            quoted(&error.to_string())
        ))
    })
}

/// An error in the tool's own words, if it said any.
pub(crate) fn failed(call: &ToolCall, output: &ToolOutput, what: &str) -> InterpretError {
    let words = last_words(&output.stderr.text()).or_else(|| last_words(&output.stdout.text()));
    let words = words.map(|words| format!(": {words}")).unwrap_or_default();
    InterpretError(format!("{} {what}{words}", call.log))
}

/// The last line with something in it, made safe to print.
fn last_words(text: &str) -> Option<String> {
    text.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(quoted)
}

/// Any text of a tool on one line, of bounded length.
pub(crate) fn quoted(text: &str) -> String {
    let mut short: String = text.chars().take(QUOTED).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    printable(short.as_ref())
}
