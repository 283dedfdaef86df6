//! Paths relative to the scanned tree, in the operating system's own bytes.

use std::{
    ffi::{OsStr, OsString},
    fmt,
    path::{Component, Path, PathBuf},
};

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, percent_encode};
use serde::{Serialize, Serializer};

/// A relative path made of ordinary names only: never absolute, never `..`, never empty parts. It may hold bytes that are not UTF-8:
/// a finding in such a file must not vanish.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelPath(PathBuf);

/// Why a path is not a [`RelPath`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRelPath {
    /// It names nothing.
    #[error("the path is empty")]
    Empty,
    /// It starts at a root or a drive.
    #[error("`{0}` is absolute")]
    Absolute(String),
    /// It has a `..` part.
    #[error("`{0}` leaves the directory with `..`")]
    Parent(String),
    /// It holds a NUL byte.
    #[error("`{0}` holds a NUL byte")]
    Nul(String),
}

/// RFC 3986 `pchar` and `/` stay; everything else is percent-encoded.
const URI: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b']')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

impl RelPath {
    /// Checks and normalises a path; `.` parts and doubled slashes are dropped.
    ///
    /// # Errors
    /// When it is empty, absolute, holds `..` or a NUL byte.
    pub fn new(path: impl AsRef<Path>) -> Result<Self, InvalidRelPath> {
        let path = path.as_ref();
        let shown = || printable(path.as_os_str());
        if path.as_os_str().as_encoded_bytes().contains(&0) {
            return Err(InvalidRelPath::Nul(shown()));
        }
        let mut clean = PathBuf::new();
        for component in path.components() {
            match component {
                Component::Normal(name) => clean.push(name),
                Component::CurDir => {}
                Component::ParentDir => return Err(InvalidRelPath::Parent(shown())),
                Component::RootDir | Component::Prefix(_) => {
                    return Err(InvalidRelPath::Absolute(shown()));
                }
            }
        }
        if clean.as_os_str().is_empty() { Err(InvalidRelPath::Empty) } else { Ok(Self(clean)) }
    }

    /// Reads a relative SARIF URI: percent-decoded, backslashes are not separators.
    ///
    /// # Errors
    /// As [`RelPath::new`], after decoding.
    pub fn from_uri(uri: &str) -> Result<Self, InvalidRelPath> {
        Self::new(PathBuf::from(os_string(percent_decode_str(uri).collect())))
    }

    /// The SARIF URI: forward slashes, percent-encoded bytes.
    pub fn to_uri(&self) -> String {
        let mut uri = String::new();
        for component in self.0.components() {
            if !uri.is_empty() {
                uri.push('/');
            }
            uri.extend(percent_encode(component.as_os_str().as_encoded_bytes(), URI));
        }
        uri
    }

    /// The path as the operating system takes it, relative to the scanned tree.
    pub fn as_path(&self) -> &Path {
        &self.0
    }

    /// For people: valid UTF-8 stays, everything a terminal could act on is escaped.
    pub fn printable(&self) -> String {
        printable(self.0.as_os_str())
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.printable())
    }
}

impl Serialize for RelPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.printable())
    }
}

/// Makes any text from outside safe to print on one line: control, format and bidirectional characters and bytes that are not UTF-8
/// become `\x..` or `\u{..}`. Not reversible: for people, never to open a file.
pub fn printable(text: &OsStr) -> String {
    let mut out = String::new();
    for chunk in text.as_encoded_bytes().utf8_chunks() {
        chunk.valid().chars().for_each(|c| push_printable(&mut out, c));
        chunk.invalid().iter().for_each(|byte| out.push_str(&format!("\\x{byte:02x}")));
    }
    out
}

fn push_printable(out: &mut String, c: char) {
    let hostile = c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}');
    match c {
        '\n' => out.push_str("\\n"),
        '\t' => out.push_str("\\t"),
        '\r' => out.push_str("\\r"),
        c if hostile => out.extend(c.escape_unicode()),
        c => out.push(c),
    }
}

/// Bytes as a file name of this system.
#[cfg(unix)]
pub fn os_string(bytes: Vec<u8>) -> OsString {
    std::os::unix::ffi::OsStringExt::from_vec(bytes)
}

/// Bytes as a file name of this system: Windows names are UTF-16, so anything else is replaced.
#[cfg(not(unix))]
pub fn os_string(bytes: Vec<u8>) -> OsString {
    String::from_utf8_lossy(&bytes).into_owned().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_path_never_leaves_its_directory() {
        for bad in ["", ".", "/etc/passwd", "..", "a/../b", "a/..", "./..", "a\0b"] {
            assert!(RelPath::new(bad).is_err(), "{bad:?}");
        }
        assert_eq!(RelPath::new("./a//b/.").unwrap().as_path(), Path::new("a/b"));
    }

    #[test]
    fn an_encoded_parent_is_still_a_parent() {
        assert!(RelPath::from_uri("%2e%2e/etc").is_err());
        assert!(RelPath::from_uri("%2Fetc/passwd").is_err());
    }

    #[cfg(unix)]
    #[test]
    fn any_bytes_survive_the_uri() {
        use std::os::unix::ffi::OsStrExt;
        let odd = OsStr::from_bytes(b"a b/\xff\n\"%'#?.py");
        let path = RelPath::new(odd).unwrap();
        assert_eq!(RelPath::from_uri(&path.to_uri()).unwrap(), path);
        assert_eq!(path.printable(), "a b/\\xff\\n\"%'#?.py");
    }

    #[test]
    fn what_is_printed_cannot_drive_a_terminal() {
        assert_eq!(
            printable(OsStr::new("\u{1b}[2J\u{202e}x\u{9b}")),
            "\\u{1b}[2J\\u{202e}x\\u{9b}"
        );
    }
}
