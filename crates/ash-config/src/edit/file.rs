//! Reads and replaces one configuration file without following links: a repository may have put one where its configuration should be.

use std::{
    ffi::{OsStr, OsString},
    io::{self, Read, Write},
    path::{Component, Path, PathBuf},
};

use crate::read::{LIMIT, ReadError};

/// Why a file is not edited.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It, or a directory on the way to it, is a link.
    #[error("`{0}` is a link, and ash edits only real files")]
    Link(String),
    /// It is there already.
    #[error("`{0}` exists")]
    Exists(String),
    /// It is not there.
    #[error("`{0}` does not exist")]
    Missing(String),
    /// Somebody else changed it since it was read.
    #[error("`{0}` was changed by something else meanwhile")]
    Changed(String),
    /// Its content cannot be a configuration.
    #[error("`{file}` {reason}")]
    Content {
        /// The file.
        file: String,
        /// Why: a fragment.
        reason: String,
    },
    /// The system refused.
    #[error("cannot {act} `{file}`: {error}")]
    Io {
        /// `read` or `write`.
        act: &'static str,
        /// The file.
        file: String,
        /// Why.
        error: io::Error,
    },
}

/// A file name in an opened directory.
#[derive(Debug)]
pub struct ConfigFile {
    directory: Directory,
    name: OsString,
    path: PathBuf,
}

/// What a file held when it was read.
#[derive(Debug)]
pub struct Original {
    /// Its text.
    pub text: String,
    /// When it was last written.
    pub modified: Option<std::time::SystemTime>,
    stamp: Stamp,
}

impl ConfigFile {
    /// Opens the directory of a file. Below `base` no directory may be a link; outside of it the path is the operator's own.
    ///
    /// # Errors
    /// When the directory is not there (or, with `make`, cannot be made), or is a link.
    pub fn open(path: &Path, base: &Path, make: bool) -> Result<Self, FileError> {
        let path = base.join(path);
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(FileError::Missing(shown(&path)));
        };
        let (start, below) = match parent.strip_prefix(base) {
            Ok(below) if below.components().all(|part| matches!(part, Component::Normal(_))) => {
                (base, below)
            }
            _ => (parent, Path::new("")),
        };
        let mut directory =
            Directory::open(start).map_err(|error| io_error("read", &path, error))?;
        for part in below.components() {
            directory = directory.enter(part.as_os_str(), make).map_err(|error| {
                if directory.is_link(part.as_os_str()) {
                    FileError::Link(shown(&start.join(below)))
                } else {
                    io_error("read", &path, error)
                }
            })?;
        }
        Ok(Self { directory, name: name.to_owned(), path: path.clone() })
    }

    /// The file's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the file: regular, not a link, of a configuration's size, text.
    ///
    /// # Errors
    /// When it is anything else.
    pub fn read(&self) -> Result<Original, FileError> {
        let file =
            self.directory.open_file(&self.name).map_err(|error| self.explain("read", error))?;
        let metadata = file.metadata().map_err(|error| self.explain("read", error))?;
        let content = |error: ReadError| FileError::Content {
            file: shown(&self.path),
            reason: error.to_string(),
        };
        if !metadata.is_file() {
            return Err(content(ReadError::NotAFile));
        }
        let mut bytes = Vec::new();
        file.take(LIMIT + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| self.explain("read", error))?;
        if bytes.len() as u64 > LIMIT {
            return Err(content(ReadError::TooLong));
        }
        let text = String::from_utf8(bytes)
            .map_err(|error| content(ReadError::NotUtf8(error.utf8_error().valid_up_to())))?;
        Ok(Original { text, modified: metadata.modified().ok(), stamp: Stamp::of(&metadata) })
    }

    /// Replaces what was read by a new text, all at once.
    ///
    /// # Errors
    /// When the file is no longer what was read, or cannot be written; it is then as it was.
    pub fn replace(&self, original: &Original, text: &str) -> Result<(), FileError> {
        let now = self.directory.open_file(&self.name).and_then(|file| file.metadata());
        match now {
            Ok(metadata) if Stamp::of(&metadata) == original.stamp => {}
            _ => return Err(FileError::Changed(shown(&self.path))),
        }
        self.put(text, Some(original.stamp.mode))
    }

    /// Writes a new file; with `overwrite` also in the place of a regular one.
    ///
    /// # Errors
    /// When there is something already, or it cannot be written.
    pub fn create(&self, text: &str, overwrite: bool) -> Result<(), FileError> {
        match self.directory.open_file(&self.name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.put(text, None),
            Err(error) => Err(self.explain("write", error)),
            Ok(_) if !overwrite => Err(FileError::Exists(shown(&self.path))),
            Ok(file) => match file.metadata() {
                Ok(metadata) if metadata.is_file() => {
                    self.put(text, Some(Stamp::of(&metadata).mode))
                }
                _ => Err(FileError::Content {
                    file: shown(&self.path),
                    reason: ReadError::NotAFile.to_string(),
                }),
            },
        }
    }

    fn put(&self, text: &str, mode: Option<u32>) -> Result<(), FileError> {
        let explain = |error| self.explain("write", error);
        let (mut file, temporary) = self.directory.temporary(&self.name).map_err(explain)?;
        let written = file
            .write_all(text.as_bytes())
            .and_then(|()| keep_mode(&file, mode))
            .and_then(|()| file.sync_all())
            .and_then(|()| self.directory.rename(&temporary, &self.name, mode.is_some()));
        if written.is_err() {
            self.directory.remove(&temporary);
        }
        written.map_err(explain)
    }

    fn explain(&self, act: &'static str, error: io::Error) -> FileError {
        if self.directory.is_link(&self.name) {
            FileError::Link(shown(&self.path))
        } else {
            io_error(act, &self.path, error)
        }
    }
}

fn io_error(act: &'static str, path: &Path, error: io::Error) -> FileError {
    match error.kind() {
        io::ErrorKind::NotFound => FileError::Missing(shown(path)),
        io::ErrorKind::AlreadyExists => FileError::Exists(shown(path)),
        _ => FileError::Io { act, file: shown(path), error },
    }
}

fn shown(path: &Path) -> String {
    ash_model::path::printable(path.as_os_str())
}

/// Names tried for the new file before it takes its place.
fn temporary_names(name: &OsStr) -> impl Iterator<Item = OsString> {
    let name = name.to_owned();
    (0..100).map(move |number| {
        let mut temporary = OsString::from(".");
        temporary.push(&name);
        temporary.push(format!(".{}-{number}.new", std::process::id()));
        temporary
    })
}

#[cfg(unix)]
mod system {
    use std::{
        ffi::{OsStr, OsString},
        fs::{File, Metadata},
        io,
        os::{
            fd::OwnedFd,
            unix::fs::{MetadataExt, PermissionsExt},
        },
        path::Path,
    };

    use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags};

    /// An opened directory.
    #[derive(Debug)]
    pub(super) struct Directory(OwnedFd);

    const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::RDONLY).union(OFlags::CLOEXEC);

    impl Directory {
        pub(super) fn open(path: &Path) -> io::Result<Self> {
            let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
            Ok(Self(rustix::fs::open(path, DIRECTORY, Mode::empty())?))
        }

        pub(super) fn enter(&self, name: &OsStr, make: bool) -> io::Result<Self> {
            let enter =
                || rustix::fs::openat(&self.0, name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty());
            match enter() {
                Err(rustix::io::Errno::NOENT) if make => {
                    rustix::fs::mkdirat(&self.0, name, Mode::from_raw_mode(0o777))?;
                    Ok(Self(enter()?))
                }
                other => Ok(Self(other?)),
            }
        }

        pub(super) fn is_link(&self, name: &OsStr) -> bool {
            rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)
                .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
        }

        /// Opens for reading, never waiting on a pipe.
        pub(super) fn open_file(&self, name: &OsStr) -> io::Result<File> {
            let flags = OFlags::RDONLY
                | OFlags::NOFOLLOW
                | OFlags::NONBLOCK
                | OFlags::NOCTTY
                | OFlags::CLOEXEC;
            Ok(File::from(rustix::fs::openat(&self.0, name, flags, Mode::empty())?))
        }

        pub(super) fn temporary(&self, name: &OsStr) -> io::Result<(File, OsString)> {
            let flags =
                OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            for temporary in super::temporary_names(name) {
                match rustix::fs::openat(&self.0, &temporary, flags, Mode::from_raw_mode(0o666)) {
                    Err(rustix::io::Errno::EXIST) => {}
                    file => return Ok((File::from(file?), temporary)),
                }
            }
            Err(io::ErrorKind::AlreadyExists.into())
        }

        pub(super) fn rename(&self, from: &OsStr, to: &OsStr, replace: bool) -> io::Result<()> {
            if replace {
                return Ok(rustix::fs::renameat(&self.0, from, &self.0, to)?);
            }
            match rustix::fs::renameat_with(&self.0, from, &self.0, to, RenameFlags::NOREPLACE) {
                // File systems that cannot promise it: a link to the new file is refused where something is.
                Err(
                    rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS | rustix::io::Errno::NOTSUP,
                ) => {
                    rustix::fs::linkat(&self.0, from, &self.0, to, AtFlags::empty())?;
                    self.remove(from);
                    Ok(())
                }
                other => Ok(other?),
            }
        }

        pub(super) fn remove(&self, name: &OsStr) {
            let _ = rustix::fs::unlinkat(&self.0, name, AtFlags::empty());
        }
    }

    /// What tells whether a file is still the same.
    #[derive(Debug, PartialEq, Eq)]
    pub(super) struct Stamp {
        pub(super) mode: u32,
        identity: (u64, u64, u64, i64, i64),
    }

    impl Stamp {
        pub(super) fn of(metadata: &Metadata) -> Self {
            let identity = (
                metadata.dev(),
                metadata.ino(),
                metadata.len(),
                metadata.mtime(),
                metadata.mtime_nsec(),
            );
            Self { mode: metadata.mode() & 0o777, identity }
        }
    }

    pub(super) fn keep_mode(file: &File, mode: Option<u32>) -> io::Result<()> {
        mode.map_or(Ok(()), |mode| file.set_permissions(std::fs::Permissions::from_mode(mode)))
    }
}

#[cfg(not(unix))]
mod system {
    use std::{
        ffi::{OsStr, OsString},
        fs::{File, Metadata, OpenOptions},
        io,
        path::{Path, PathBuf},
    };

    /// A directory by its path.
    #[derive(Debug)]
    pub(super) struct Directory(PathBuf);

    impl Directory {
        pub(super) fn open(path: &Path) -> io::Result<Self> {
            if path.is_dir() {
                Ok(Self(path.to_owned()))
            } else {
                Err(io::ErrorKind::NotFound.into())
            }
        }

        pub(super) fn enter(&self, name: &OsStr, make: bool) -> io::Result<Self> {
            let path = self.0.join(name);
            if make && path.symlink_metadata().is_err() {
                std::fs::create_dir(&path)?;
            }
            let metadata = path.symlink_metadata()?;
            if metadata.is_dir() {
                Ok(Self(path))
            } else {
                Err(io::ErrorKind::NotADirectory.into())
            }
        }

        pub(super) fn is_link(&self, name: &OsStr) -> bool {
            self.0.join(name).symlink_metadata().is_ok_and(|metadata| metadata.is_symlink())
        }

        pub(super) fn open_file(&self, name: &OsStr) -> io::Result<File> {
            if self.is_link(name) {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            File::open(self.0.join(name))
        }

        pub(super) fn temporary(&self, name: &OsStr) -> io::Result<(File, OsString)> {
            for temporary in super::temporary_names(name) {
                match OpenOptions::new().write(true).create_new(true).open(self.0.join(&temporary))
                {
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                    file => return Ok((file?, temporary)),
                }
            }
            Err(io::ErrorKind::AlreadyExists.into())
        }

        pub(super) fn rename(&self, from: &OsStr, to: &OsStr, replace: bool) -> io::Result<()> {
            if !replace && self.0.join(to).symlink_metadata().is_ok() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            std::fs::rename(self.0.join(from), self.0.join(to))
        }

        pub(super) fn remove(&self, name: &OsStr) {
            let _ = std::fs::remove_file(self.0.join(name));
        }
    }

    /// What tells whether a file is still the same.
    #[derive(Debug, PartialEq, Eq)]
    pub(super) struct Stamp {
        pub(super) mode: u32,
        identity: (u64, Option<std::time::SystemTime>),
    }

    impl Stamp {
        pub(super) fn of(metadata: &Metadata) -> Self {
            Self { mode: 0, identity: (metadata.len(), metadata.modified().ok()) }
        }
    }

    pub(super) fn keep_mode(_: &File, _: Option<u32>) -> io::Result<()> {
        Ok(())
    }
}

use system::{Directory, Stamp, keep_mode};

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::{
        fs,
        os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    };

    use super::*;

    fn open(root: &Path, path: &str) -> Result<ConfigFile, FileError> {
        ConfigFile::open(Path::new(path), root, false)
    }

    #[test]
    fn a_file_is_replaced_with_its_mode_kept() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a.yaml");
        fs::write(&path, "a: 1\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let before = fs::metadata(&path).unwrap().ino();
        let file = open(root.path(), "a.yaml").unwrap();
        let original = file.read().unwrap();
        file.replace(&original, "a: 2\n").unwrap();
        let metadata = fs::metadata(&path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "a: 2\n");
        assert_eq!(metadata.mode() & 0o777, 0o640);
        assert_ne!(metadata.ino(), before, "a new file takes the old one's place");
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1, "nothing else is left");
        assert!(matches!(file.replace(&original, "a: 3\n"), Err(FileError::Changed(_))));
    }

    #[test]
    fn links_are_never_written_through() {
        let root = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let target = outside.path().join("target.yaml");
        fs::write(&target, "secret: 1\n").unwrap();
        symlink(&target, root.path().join("link.yaml")).unwrap();
        symlink(outside.path().join("absent"), root.path().join("dangling.yaml")).unwrap();
        symlink(outside.path(), root.path().join(".ash")).unwrap();
        for name in ["link.yaml", "dangling.yaml"] {
            let file = open(root.path(), name).unwrap();
            assert!(matches!(file.read(), Err(FileError::Link(_))), "{name}");
            assert!(matches!(file.create("x: 1\n", true), Err(FileError::Link(_))), "{name}");
        }
        for make in [false, true] {
            let opened = ConfigFile::open(Path::new(".ash/target.yaml"), root.path(), make);
            assert!(matches!(opened, Err(FileError::Link(_))));
        }
        assert_eq!(fs::read_to_string(&target).unwrap(), "secret: 1\n");
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
        // The control: the same path without a link.
        assert!(open(outside.path(), "target.yaml").unwrap().read().is_ok());
    }

    #[test]
    fn odd_files_are_refused_at_once() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        rustix::fs::mknodat(
            rustix::fs::CWD,
            path("pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        fs::create_dir(path("dir")).unwrap();
        fs::write(path("latin"), b"a: \xff\n").unwrap();
        fs::File::create(path("huge")).unwrap().set_len(100 * 1024 * 1024).unwrap();
        for (name, reason) in [
            ("pipe", "is not a regular file"),
            ("dir", "is not a regular file"),
            ("latin", "is not UTF-8"),
            ("huge", "is longer than 4 MiB"),
            ("absent", "does not exist"),
        ] {
            let error = open(root.path(), name).unwrap().read().unwrap_err().to_string();
            assert!(error.contains(reason), "{name}: {error}");
        }
        assert!(open(root.path(), "pipe").unwrap().create("a: 1\n", true).is_err());
        assert!(matches!(
            open(root.path(), "latin").unwrap().create("a: 1\n", false),
            Err(FileError::Exists(_))
        ));
    }
}
