//! Reading the scanned tree without trusting it. The implementation is in `ash-intake`.

use crate::path::RelPath;

/// Reads regular files beneath the scanned directory: never through a link, never a device, never more than the limit.
pub trait SourceReader: Sync {
    /// The file's bytes, or `None` when it is absent, not a plain file, or longer than `limit` bytes.
    fn read(&self, path: &RelPath, limit: u64) -> Option<Vec<u8>>;
}
