//! Comments in scanned files that make a tool leave findings out of its report. They are the tool's own business and obeyed, but not
//! quietly: whoever wrote the scanned tree wrote them.

use ash_model::{ids::ScannerId, notice::Notice, path::RelPath};

use crate::{Site, escapes};

/// Larger files are not searched.
const LARGEST: u64 = 8 << 20;

/// What is said about a tool's own comments: what they are and what they do.
pub(crate) fn notice(scanner: &ScannerId, what: &str) -> Notice {
    Notice::new(scanner.as_str(), what).hint("`--ignore-suppressions` reports them")
}

/// How many of these files hold a text, be it spelled with escapes of a quoted string. One that cannot be searched may.
pub(crate) fn files_with<'f>(
    site: &Site<'_>,
    files: impl Iterator<Item = &'f RelPath>,
    text: &str,
) -> usize {
    let holds = |file: &&RelPath| {
        site.reader.read(file, LARGEST).is_none_or(|bytes| {
            let found = String::from_utf8_lossy(&bytes);
            found.contains(text) || escapes::undone(&found).contains(text)
        })
    };
    files.filter(holds).count()
}

/// `1 file`, `2 files`.
pub(crate) fn counted(count: u64, one: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
}
