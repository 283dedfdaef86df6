//! From bytes to a [`Log`], refusing what could exhaust the stack.

use std::ffi::OsStr;

use ash_model::path::printable;
use serde::Deserialize;

use crate::log::Log;

/// How deep arrays and objects may be nested. Real logs stay below 40.
pub const MAX_DEPTH: usize = 512;

/// Why bytes are not a log ash can use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SarifError {
    /// Nothing there.
    #[error("the sarif log is empty")]
    Empty,
    /// Deeper than [`MAX_DEPTH`].
    #[error("the sarif log nests deeper than {MAX_DEPTH} levels at byte {offset}")]
    TooDeep {
        /// Where the limit is passed.
        offset: usize,
    },
    /// Not JSON, or not shaped like a log.
    #[error("the sarif log cannot be read: {message} (line {line}, column {column})")]
    Malformed {
        /// What the parser says, made printable.
        message: String,
        /// From 1.
        line: usize,
        /// From 1; 0 when the trouble is the end of the line before.
        column: usize,
    },
    /// Another version of the format.
    #[error("the sarif log has version `{0}`, ash reads 2.1.0")]
    Version(String),
}

/// Reads a log. A byte order mark in front is ignored.
///
/// # Errors
/// When the bytes are not JSON, nest too deep, have no list of `runs`, or are another version of SARIF.
pub fn read(bytes: &[u8]) -> Result<Log, SarifError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(SarifError::Empty);
    }
    check_depth(bytes).map_err(|offset| SarifError::TooDeep { offset })?;
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    deserializer.disable_recursion_limit();
    let log = Log::deserialize(&mut deserializer)
        .and_then(|log| deserializer.end().map(|()| log))
        .map_err(|error| malformed(&error))?;
    match log.version.as_deref() {
        None => Ok(log),
        Some(version) if version == "2.1.0" || version.starts_with("2.1.0-") => Ok(log),
        Some(version) => Err(SarifError::Version(short(version))),
    }
}

/// Checks that no array or object of a JSON text is nested deeper than [`MAX_DEPTH`], without recursion.
///
/// # Errors
/// The byte offset of the first bracket that is too deep.
pub fn check_depth(json: &[u8]) -> Result<(), usize> {
    let mut depth = 0_usize;
    let mut in_string = false;
    let mut escaped = false;
    for (offset, byte) in json.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'[' | b'{' if depth == MAX_DEPTH => return Err(offset),
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(())
}

fn malformed(error: &serde_json::Error) -> SarifError {
    let text = error.to_string();
    let message = text.rsplit_once(" at line ").map_or(text.as_str(), |(message, _)| message);
    SarifError::Malformed { message: short(message), line: error.line(), column: error.column() }
}

/// The parser quotes the log itself, which may hold anything of any length.
fn short(text: &str) -> String {
    const LONGEST: usize = 200;
    let mut cut: String = text.chars().take(LONGEST).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    printable(OsStr::new(&cut))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(depth: usize) -> Vec<u8> {
        // The log itself is one level.
        let inner = depth - 1;
        format!(r#"{{"runs":[],"properties":{}{}}}"#, "[".repeat(inner), "]".repeat(inner))
            .into_bytes()
    }

    #[test]
    fn a_log_at_the_depth_limit_is_read_on_a_small_stack_and_one_beyond_is_refused() {
        let read_on_thread = |depth| {
            std::thread::Builder::new()
                .stack_size(2 << 20)
                .spawn(move || read(&nested(depth)))
                .unwrap()
                .join()
                .unwrap()
        };
        assert!(read_on_thread(MAX_DEPTH).is_ok());
        assert!(matches!(read_on_thread(MAX_DEPTH + 1), Err(SarifError::TooDeep { .. })));
    }

    #[test]
    fn a_million_brackets_are_refused_without_recursion() {
        assert!(matches!(read(&vec![b'['; 1 << 20]), Err(SarifError::TooDeep { offset: 512 })));
    }

    #[test]
    fn brackets_inside_strings_do_not_nest() {
        let text = format!(r#"{{"runs":[],"properties":{{"a":"\"{}"}}}}"#, "[".repeat(5000));
        assert!(read(text.as_bytes()).is_ok());
    }

    #[test]
    fn a_byte_order_mark_is_ignored() {
        assert!(read(b"\xef\xbb\xbf{\"runs\":[]}").is_ok());
    }

    #[test]
    fn a_log_without_a_list_of_runs_is_an_error_not_a_clean_result() {
        for bad in [
            "{}",
            r#"{"runs":null}"#,
            r#"{"runs":"none"}"#,
            r#"{"runs":{}}"#,
            "[]",
            "null",
            "",
            "  \n",
            "{\"runs\":[]} trailing",
            "{\"runs\":[",
        ] {
            assert!(read(bad.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_error_says_where_and_cannot_drive_a_terminal() {
        let error = read(b"{\n  \"runs\": \"\x1b[2J\"}").unwrap_err();
        // A raw control character is already a syntax error; an escaped one reaches the message.
        assert!(matches!(error, SarifError::Malformed { line: 2, .. }), "{error}");
        let error = read(b"{\"runs\": \"\\u001b[2J\"}").unwrap_err().to_string();
        assert!(error.contains("line 1") && !error.contains('\u{1b}'), "{error}");
    }

    #[test]
    fn another_version_is_refused() {
        assert_eq!(
            read(br#"{"version":"1.0.0","runs":[]}"#),
            Err(SarifError::Version("1.0.0".into()))
        );
        assert!(read(br#"{"version":"2.1.0","runs":[]}"#).is_ok());
    }

    #[test]
    fn what_ash_has_no_field_for_is_written_back_unchanged() {
        let text = r#"{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"t","odd":1}},"results":[{"message":{"text":"m","markdown":"*m*"},"fingerprints":{"a":"b"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"a","description":{"text":"d"}},"region":{"startLine":1,"charOffset":3}},"id":7}]}],"automationDetails":{"id":"x"}}],"$schema":"s"}"#;
        let log = read(text.as_bytes()).unwrap();
        let again: serde_json::Value = serde_json::to_value(&log).unwrap();
        assert_eq!(again, serde_json::from_str::<serde_json::Value>(text).unwrap());
    }
}
