//! What a tool that walks the tree by itself need not look at. ash drops findings there anyway; this only saves the work.

use std::ffi::OsString;

use ash_model::{
    finding::Finding,
    path::{RelPath, os_string},
    results,
};

use crate::Site;

/// Directories of other people's code, wherever they are.
pub(crate) const DIRECTORIES: [&str; 3] = [".venv", "venv", "node_modules"];
/// The directory of version control, or the file that leads to it.
pub(crate) const GIT: &str = ".git";

/// The names of directories that no scan looks into.
pub(crate) fn names<'a>() -> impl Iterator<Item = &'a str> {
    DIRECTORIES.into_iter().chain([GIT])
}

/// Directories of ash's own results in the scanned tree.
pub(crate) fn result_directories(site: &Site<'_>) -> impl Iterator<Item = RelPath> {
    named(site, &results::DIRECTORIES)
}

/// Files of ash's own results in the scanned tree, beside those directories.
pub(crate) fn result_files(site: &Site<'_>) -> impl Iterator<Item = RelPath> {
    named(site, &results::FILES).filter(|file| !file.as_path().ends_with(".gitignore"))
}

/// A path in which none of these characters has a meaning to the tool that reads it as a pattern.
pub(crate) fn escaped(path: &RelPath, special: &[u8]) -> OsString {
    let escape = |byte: &u8| special.contains(byte).then_some(b'\\').into_iter().chain([*byte]);
    os_string(path.as_path().as_os_str().as_encoded_bytes().iter().flat_map(escape).collect())
}

/// Whether a finding lies in a file of the scan set, or in none.
pub(crate) fn is_in_scan_set(site: &Site<'_>, finding: &Finding) -> bool {
    finding.location.as_ref().is_none_or(|at| site.files.binary_search(&at.path).is_ok())
}

fn named<'s>(
    site: &Site<'s>,
    names: &'static [&'static str],
) -> impl Iterator<Item = RelPath> + 's {
    let outputs = site.outputs.iter();
    outputs.flat_map(move |output| {
        names.iter().filter_map(|name| RelPath::new(output.as_path().join(name)).ok())
    })
}
