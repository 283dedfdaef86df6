//! Hostile bytes in, scan set out: which files of a directory nobody has reviewed are to be scanned, and reading them safely.
#![forbid(clippy::disallowed_methods, clippy::disallowed_types)]

mod gitdir;
mod index;
mod inline;
mod own;
mod reader;
mod rules;
mod vendored;
mod walk;

pub use index::Index;
pub use inline::{InlineIgnore, inline_ignores};
pub use own::{COUNTED, Earlier, OwnResults};
pub use reader::NoFollowReader;
pub use rules::Exclusion;
pub use vendored::Vendored;
pub use walk::{ScanSet, Unread, Walk, scan_set};
