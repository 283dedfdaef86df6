//! How much is taken back from a scanner, and what was found when looking.

use std::io;

/// How much is taken back from a scanner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadLimits {
    /// Bytes, of one file and of all.
    pub bytes: u64,
    /// Files and directories.
    pub entries: u64,
    /// Nested directories.
    pub depth: usize,
}

impl Default for ReadLimits {
    fn default() -> Self {
        Self { bytes: 2 << 30, entries: 200_000, depth: 64 }
    }
}

/// Why a file of the results is not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadRefused {
    /// A link, directory, FIFO, socket or device.
    #[error("`{0}` is not a regular file")]
    NotRegular(String),
    /// The same file has another name, maybe outside.
    #[error("`{0}` has more than one name (hard links)")]
    HardLinked(String),
    /// It lies on another file system.
    #[error("`{0}` lies on another file system")]
    OtherFileSystem(String),
    /// It is too large.
    #[error("`{0}` is larger than {1} bytes")]
    TooLarge(String, u64),
    /// The system refused.
    #[error("cannot read `{0}`")]
    Io(String, #[source] io::Error),
}

/// What a sweep did and saw.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Swept {
    /// Links and special files removed.
    pub removed: u64,
    /// Modes repaired.
    pub repaired: u64,
    /// Entries seen.
    pub entries: u64,
    /// Bytes in regular files.
    pub bytes: u64,
    /// Entries that could not be examined or removed: then nothing in the directory may be trusted.
    pub failed: u64,
    /// The first limit that is exceeded: then the scanner's results are an error.
    pub over: Option<OverLimit>,
}

/// A limit on what is taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OverLimit {
    /// Too many files and directories.
    #[error("the scanner left more than {0} files and directories in its results")]
    Entries(u64),
    /// Too deep.
    #[error("the scanner left directories nested deeper than {0} in its results")]
    Depth(usize),
    /// Too much.
    #[error("the scanner left more than {0} bytes in its results")]
    Bytes(u64),
}

impl Swept {
    pub(super) fn check(&mut self, depth: usize, limits: &ReadLimits) {
        let over = if self.entries > limits.entries {
            Some(OverLimit::Entries(limits.entries))
        } else if depth > limits.depth {
            Some(OverLimit::Depth(limits.depth))
        } else {
            (self.bytes > limits.bytes).then_some(OverLimit::Bytes(limits.bytes))
        };
        self.over = self.over.or(over);
    }
}
