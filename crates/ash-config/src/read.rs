//! Reads configuration files. A repository can commit them, so they may be devices, pipes, links or endless.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read},
    path::Path,
};

/// The longest configuration file read.
pub(crate) const LIMIT: u64 = 4 * 1024 * 1024;

/// Why a file cannot be read as text.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    #[error("is not a regular file")]
    NotAFile,
    #[error("is longer than {} MiB", LIMIT / 1024 / 1024)]
    TooLong,
    #[error("is not UTF-8 text (byte {0})")]
    NotUtf8(usize),
}

/// Reads a whole text file, following links, never waiting on a pipe.
pub(crate) fn read_text(path: &Path) -> Result<String, ReadError> {
    let file = open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(ReadError::NotAFile);
    }
    if metadata.len() > LIMIT {
        return Err(ReadError::TooLong);
    }
    let mut bytes = Vec::new();
    file.take(LIMIT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LIMIT {
        return Err(ReadError::TooLong);
    }
    String::from_utf8(bytes).map_err(|error| ReadError::NotUtf8(error.utf8_error().valid_up_to()))
}

#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let flags =
        rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY | rustix::fs::OFlags::CLOEXEC;
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

#[cfg(not(unix))]
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).open(path)
}
