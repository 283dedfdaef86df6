//! Copies, under plain names, of files whose names a tool cannot take.
//!
//! checkov, cfn-lint and zizmor give up the whole run over a file name that is not UTF-8, semgrep drops such a file's findings without
//! a word, checkov writes `/` for `\` and so names another file, and a line break in a name lets it forge a line of what a tool prints. A
//! finding in such a file must not vanish, so the tool reads a copy below its results directory and the finding gets the file's real name
//! back.

use std::path::Path;

use ash_model::{path::RelPath, tool::ToolCall};

use crate::{Site, call::own};

/// How many files are copied for one scanner, at most.
const MAX_FILES: usize = 200;
/// How long a copied file is, at most.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// The copies of one scanner's run, in order.
#[derive(Debug, Default)]
pub(crate) struct Renamed {
    copies: Vec<Twin>,
    /// Files that are not copied, each with the reason.
    pub(crate) left_out: Vec<String>,
}

#[derive(Debug)]
struct Twin {
    original: RelPath,
    name: RelPath,
    bytes: Vec<u8>,
}

impl Renamed {
    /// Copies those of the scanned files that have odd names and that `concerns` picks for the scanner.
    pub(crate) fn of(site: &Site<'_>, concerns: impl Fn(&RelPath) -> bool) -> Self {
        let mut renamed = Self::default();
        let odd = site.files.iter().filter(|file| !is_plain(file) && concerns(file));
        // Numbered by the file, not by the copy: the numbers are the same when the list is made again to read the results.
        for (number, original) in odd.enumerate() {
            renamed.add(site, number, original);
        }
        renamed
    }

    fn add(&mut self, site: &Site<'_>, number: usize, original: &RelPath) {
        if number >= MAX_FILES {
            self.left_out.push(format!("{original}: its name is no plain text, and ash renames {MAX_FILES} such files at most"));
            return;
        }
        match site.reader.read(original, MAX_BYTES) {
            Some(bytes) => {
                let name = own(format!("renamed/{number}/{}", plain(original.as_path())));
                self.copies.push(Twin { original: original.clone(), name, bytes });
            }
            None => self.left_out.push(format!(
                "{original}: its name is no plain text and it cannot be copied under another one"
            )),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.copies.is_empty()
    }

    /// The copies, relative to the results directory, each with the file it stands for.
    pub(crate) fn names(&self) -> impl Iterator<Item = (&RelPath, &RelPath)> {
        self.copies.iter().map(|copy| (&copy.name, &copy.original))
    }

    /// Makes a call write the copies first.
    pub(crate) fn write_for(&self, call: &mut ToolCall) {
        call.inputs.extend(self.copies.iter().map(|copy| (copy.name.clone(), copy.bytes.clone())));
    }

    /// The file that a copy stands for, by the copy's absolute path.
    pub(crate) fn original(&self, results: &Path, path: &Path) -> Option<&RelPath> {
        let below = path.strip_prefix(results).ok()?;
        self.copies.iter().find(|copy| copy.name.as_path() == below).map(|copy| &copy.original)
    }
}

/// Whether a tool can be given the name.
pub(crate) fn is_plain(file: &RelPath) -> bool {
    is_faithful(file.as_path())
}

/// Whether a tool reports the path as it is: it is UTF-8 without control characters and without `\`.
pub(crate) fn is_faithful(path: &Path) -> bool {
    path.to_str().is_some_and(|name| !name.contains(|c: char| c.is_control() || c == '\\'))
}

/// A path with every byte that is not plain ASCII replaced. Its directories stay: `.github/workflows` decides what a file is.
fn plain(path: &Path) -> String {
    let keep = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-".contains(byte);
    path.as_os_str()
        .as_encoded_bytes()
        .iter()
        .map(|byte| if keep(byte) { char::from(*byte) } else { '_' })
        .collect()
}
