//! Directories a tool that walks the tree by itself need not enter. ash drops findings there anyway; this only saves the work.

use ash_model::path::RelPath;

use crate::Site;

/// Directories of other people's code or of version control, wherever they are.
pub(crate) const NAMES: [&str; 4] = [".venv", "venv", "node_modules", ".git"];

/// The output directory, when it lies in the scanned tree.
pub(crate) fn output(site: &Site<'_>) -> Option<RelPath> {
    RelPath::new(site.output.strip_prefix(site.source).ok()?).ok()
}
