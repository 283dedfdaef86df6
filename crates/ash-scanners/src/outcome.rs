//! What a finished call left, and when that cannot be trusted to be whole.
//!
//! No tool's exit code alone proves anything: several exit 0 for a missing target, others use the same code for findings and for a
//! crash. So every scanner asks for an accepted exit, for its output file, and for content that parses.

use std::borrow::Cow;

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
    let not_json = |error: serde_json::Error| {
        InterpretError(format!(
            "{} wrote results that are not JSON: {}",
            call.log,
            quoted(&error.to_string())
        ))
    };
    serde_json::from_slice(&without_lone_surrogates(bytes)).map_err(not_json)
}

/// JSON text in which every escape of half a surrogate pair is a replacement character.
///
/// Python stands a byte of a file name that is not UTF-8 for by such a half and writes it into JSON, which then is no JSON to anybody
/// else: bandit names every file it read. Where such a name matters, it is percent-encoded or a position in a list.
pub(crate) fn without_lone_surrogates(bytes: &[u8]) -> Cow<'_, [u8]> {
    let mut repaired = Cow::Borrowed(bytes);
    let mut at = 0;
    while let Some(found) =
        bytes.get(at..).and_then(|rest| rest.iter().position(|byte| *byte == b'\\'))
    {
        let escape = at + found;
        at = match (surrogate(bytes, escape), surrogate(bytes, escape + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => escape + 12,
            (Some(_), _) => {
                repaired.to_mut()[escape + 2..escape + 6].copy_from_slice(b"fffd");
                escape + 6
            }
            (None, _) => escape + 2,
        };
    }
    repaired
}

/// The half of a pair that is escaped here, as `\ud83d`.
fn surrogate(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    let half = u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    (0xd800..=0xdfff).contains(&half).then_some(half)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_halves_of_surrogate_pairs_are_replaced() {
        for (text, repaired) in [
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (r#""\udcff""#, r#""\ufffd""#),
            (r#""\ud83d\udcffx\ud83d""#, r#""\ud83d\udcffx\ufffd""#),
            (r#""\ude00\ud83d""#, r#""\ufffd\ufffd""#),
            (r#""\\udcff\\\udcff\u00e9""#, r#""\\udcff\\\ufffd\u00e9""#),
            (r#""\ud83d\u0041\"#, r#""\ufffd\u0041\"#),
            (r#"\ud8"#, r#"\ud8"#),
            (r#"plain"#, r#"plain"#),
        ] {
            assert_eq!(
                String::from_utf8_lossy(&without_lone_surrogates(text.as_bytes())),
                repaired,
                "{text}"
            );
        }
    }

    #[test]
    fn what_a_tool_says_is_one_harmless_line_of_bounded_length() {
        assert_eq!(quoted("a\n\u{1b}[31mb"), "a\\n\\u{1b}[31mb");
        assert_eq!(quoted(&"é".repeat(1000)).chars().count(), QUOTED + 1);
    }
}
