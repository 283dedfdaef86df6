//! Reads files of the scanned tree: beneath its root, never through a link, regular files only, bounded.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use ash_model::{path::RelPath, source::SourceReader};

/// Reads beneath one directory, which is opened once: later renames of its path change nothing.
///
/// A file with several hard links is read. Package managers and `cp -al` make trees of them, a finding in one must not lose its text,
/// and a link to somebody else's file gives nothing away that the read-only view of the same tree would not give to every scanner.
#[derive(Debug)]
pub struct NoFollowReader {
    #[cfg(unix)]
    root: std::os::fd::OwnedFd,
    #[cfg(not(unix))]
    root: std::path::PathBuf,
}

impl SourceReader for NoFollowReader {
    fn read(&self, path: &RelPath, limit: u64) -> Option<Vec<u8>> {
        self.open(path.as_path()).and_then(|file| read_bounded(file, limit)).ok()
    }
}

/// The whole content of a regular file of at most `limit` bytes.
pub(crate) fn read_bounded(file: File, limit: u64) -> io::Result<Vec<u8>> {
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.len() > limit {
        return Err(io::Error::other("not a plain file of a bearable size"));
    }
    let mut bytes = Vec::new();
    // The file may grow while it is read.
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        Err(io::Error::other("longer than the limit"))
    } else {
        Ok(bytes)
    }
}

/// Opens a file that is not a link itself.
#[cfg(unix)]
pub(crate) fn open_no_follow(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;

    use rustix::fs::OFlags;
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let opened =
        std::fs::OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path);
    opened.map_err(|error| {
        if rustix::io::Errno::from_io_error(&error) == Some(rustix::io::Errno::LOOP) {
            io::Error::other("it is a link")
        } else {
            error
        }
    })
}

/// Opens a file that is not a link itself.
#[cfg(not(unix))]
pub(crate) fn open_no_follow(path: &Path) -> io::Result<File> {
    if path.symlink_metadata()?.is_symlink() {
        Err(io::Error::other("it is a link"))
    } else {
        File::open(path)
    }
}

#[cfg(unix)]
mod unix {
    use std::{ffi::OsStr, os::fd::OwnedFd, path::Component};

    use rustix::fs::{Mode, OFlags, open, openat};

    use super::{File, NoFollowReader, Path, io};

    impl NoFollowReader {
        /// Opens the directory; a link in its own path is the operator's and followed.
        ///
        /// # Errors
        /// When it is not a readable directory.
        pub fn new(root: &Path) -> io::Result<Self> {
            Ok(Self { root: open(root, directory(), Mode::empty())? })
        }

        pub(super) fn open(&self, path: &Path) -> io::Result<File> {
            let mut parts = path.components().map(|part| match part {
                Component::Normal(name) => Ok(name),
                _ => Err(io::Error::from(io::ErrorKind::InvalidInput)),
            });
            let mut name = parts.next().ok_or(io::ErrorKind::InvalidInput)??;
            let mut above: Option<OwnedFd> = None;
            for next in parts {
                let entered = self.open_at(above.as_ref(), name, directory() | OFlags::NOFOLLOW)?;
                above = Some(entered);
                name = next?;
            }
            // Without NONBLOCK the open of a pipe would wait for a writer.
            let flags = OFlags::RDONLY
                | OFlags::NOFOLLOW
                | OFlags::NONBLOCK
                | OFlags::NOCTTY
                | OFlags::CLOEXEC;
            self.open_at(above.as_ref(), name, flags).map(File::from)
        }

        fn open_at(
            &self,
            above: Option<&OwnedFd>,
            name: &OsStr,
            flags: OFlags,
        ) -> io::Result<OwnedFd> {
            Ok(openat(above.unwrap_or(&self.root), name, flags, Mode::empty())?)
        }
    }

    fn directory() -> OFlags {
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC
    }
}

#[cfg(not(unix))]
impl NoFollowReader {
    /// Opens the directory; a link in its own path is the operator's and followed.
    ///
    /// # Errors
    /// When it is not a readable directory.
    pub fn new(root: &Path) -> io::Result<Self> {
        let root = root.canonicalize()?;
        if root.is_dir() { Ok(Self { root }) } else { Err(io::ErrorKind::NotADirectory.into()) }
    }

    fn open(&self, path: &Path) -> io::Result<File> {
        let mut place = self.root.clone();
        for part in path.components() {
            place.push(part);
            if place.symlink_metadata()?.is_symlink() {
                return Err(io::Error::other("a link"));
            }
        }
        File::open(place)
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    fn path(path: &str) -> RelPath {
        RelPath::new(path).unwrap()
    }

    #[test]
    fn only_plain_files_beneath_the_root_are_read() {
        let lab = tempfile::tempdir().unwrap();
        let (root, outside) = (lab.path().join("src"), lab.path().join("outside"));
        fs::create_dir_all(root.join("dir")).unwrap();
        fs::create_dir_all(&outside).unwrap();
        fs::write(outside.join("secret"), "secret").unwrap();
        fs::write(root.join("dir/file"), "text").unwrap();
        symlink(outside.join("secret"), root.join("link")).unwrap();
        symlink(&outside, root.join("linked")).unwrap();
        symlink("dir", root.join("inner")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, root.join("pipe"), rustix::fs::Mode::RUSR).unwrap();
        let reader = NoFollowReader::new(&root).unwrap();
        assert_eq!(reader.read(&path("dir/file"), 4).unwrap(), b"text");
        for refused in
            ["link", "linked/secret", "inner/file", "pipe", "dir", "absent", "dir/file/x"]
        {
            assert_eq!(reader.read(&path(refused), 100), None, "{refused}");
        }
        assert_eq!(reader.read(&path("dir/file"), 3), None);
    }

    #[test]
    fn a_hard_linked_file_is_read() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("a"), "text").unwrap();
        fs::hard_link(root.path().join("a"), root.path().join("b")).unwrap();
        let reader = NoFollowReader::new(root.path()).unwrap();
        assert_eq!(reader.read(&path("b"), 10).unwrap(), b"text");
    }

    #[test]
    fn a_root_that_is_renamed_is_still_the_same_directory() {
        let lab = tempfile::tempdir().unwrap();
        let root = lab.path().join("src");
        fs::create_dir(&root).unwrap();
        fs::write(root.join("a"), "ours").unwrap();
        let reader = NoFollowReader::new(&root).unwrap();
        fs::rename(&root, lab.path().join("moved")).unwrap();
        fs::create_dir(&root).unwrap();
        fs::write(root.join("a"), "theirs").unwrap();
        assert_eq!(reader.read(&path("a"), 10).unwrap(), b"ours");
    }

    #[test]
    fn endless_files_end_at_the_limit() {
        let reader = NoFollowReader::new(Path::new("/proc/self")).unwrap();
        assert!(reader.read(&path("status"), 1 << 20).is_some());
        assert_eq!(reader.read(&path("status"), 8), None);
        let devices = NoFollowReader::new(Path::new("/dev")).unwrap();
        assert_eq!(devices.read(&path("zero"), 8), None);
    }
}
