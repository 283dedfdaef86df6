//! The directories a command needs, made before it starts and removed after it.

use std::path::{Path, PathBuf};

use super::{LaunchError, Setup};

/// Performs the steps in order.
pub(super) fn perform(steps: &[Setup]) -> Result<(), LaunchError> {
    let mut made = Vec::new();
    for step in steps {
        let (path, result) = match step {
            Setup::Dir(path) => (path, platform::make_directory(path, &mut made)),
            Setup::File { at, lines } => (at, platform::make_file(at, lines, &mut made)),
            Setup::Link { at, text } => (at, platform::make_link(at, text, &mut made)),
        };
        result.map_err(|error| LaunchError::Setup {
            path: path.display().to_string(),
            reason: error.to_string(),
        })?;
    }
    Ok(())
}

/// Removes directories when dropped.
pub(super) struct Cleanup {
    directories: Vec<PathBuf>,
    /// Each of them, opened and held, so that no other ash takes it for a leftover.
    held: Vec<std::fs::File>,
}

impl Cleanup {
    pub(super) fn new(directories: Vec<PathBuf>) -> Self {
        Self { directories, held: vec![] }
    }

    /// Says that the directories are in use.
    pub(super) fn hold(&mut self) {
        self.held =
            self.directories.iter().filter_map(|dir| std::fs::File::open(dir).ok()).collect();
        #[cfg(unix)]
        self.held.iter().for_each(crate::leftovers::hold);
    }
}

impl Drop for Cleanup {
    fn drop(&mut self) {
        for directory in &self.directories {
            if let Err(error) = remove_tree(directory) {
                tracing::warn!("cannot remove `{}`: {error}", directory.display());
            }
        }
    }
}

/// Removes a directory and everything in it, following no link, whatever its depth and modes. One that does not exist is fine.
pub(crate) fn remove_tree(path: &Path) -> std::io::Result<()> {
    match platform::remove(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

#[cfg(unix)]
mod platform {
    use std::{
        ffi::{CStr, CString, OsStr},
        io::{self, Write as _},
        os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
        path::{Component, Path, PathBuf},
    };

    use rustix::{
        fs::{AtFlags, FileType, Mode, OFlags},
        io::Errno,
    };

    const DIRECTORY: OFlags =
        OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

    /// Opens the directory a path lies in, component by component without following links, making what is missing. A link is refused: ash hands over real paths,
    /// so one that appears was planted.
    fn open_parent<'path>(
        path: &'path Path,
        made: &mut Vec<PathBuf>,
    ) -> io::Result<(OwnedFd, &'path OsStr)> {
        let invalid =
            || io::Error::new(io::ErrorKind::InvalidInput, "not an absolute path to something");
        let (parent, name) = path
            .parent()
            .zip(path.file_name())
            .filter(|_| path.is_absolute())
            .ok_or_else(invalid)?;
        let mut handle = rustix::fs::open("/", DIRECTORY, Mode::empty())?;
        let mut reached = PathBuf::from("/");
        for component in parent.components() {
            let Component::Normal(name) = component else { continue };
            reached.push(name);
            handle = match rustix::fs::openat(&handle, name, traversal(), Mode::empty()) {
                Err(Errno::NOENT) => {
                    rustix::fs::mkdirat(&handle, name, Mode::RWXU)?;
                    made.push(reached.clone());
                    rustix::fs::openat(&handle, name, traversal(), Mode::empty())?
                }
                other => other?,
            };
        }
        Ok((handle, name))
    }

    /// A directory that may be passed through need not be readable.
    fn traversal() -> OFlags {
        #[cfg(target_os = "linux")]
        return OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        #[cfg(not(target_os = "linux"))]
        DIRECTORY
    }

    pub(super) fn make_directory(path: &Path, made: &mut Vec<PathBuf>) -> io::Result<()> {
        if made.iter().any(|directory| directory == path) {
            return Ok(());
        }
        let (parent, name) = open_parent(path, made)?;
        rustix::fs::mkdirat(&parent, name, Mode::RWXU)?;
        made.push(path.to_owned());
        Ok(())
    }

    pub(super) fn make_file(
        at: &Path,
        lines: &[Vec<u8>],
        made: &mut Vec<PathBuf>,
    ) -> io::Result<()> {
        let (parent, name) = open_parent(at, made)?;
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&parent, name, flags, Mode::RUSR | Mode::WUSR)?;
        let mut text = lines.join(&b'\n');
        text.push(b'\n');
        std::fs::File::from(file).write_all(&text)
    }

    pub(super) fn make_link(at: &Path, text: &Path, made: &mut Vec<PathBuf>) -> io::Result<()> {
        let (parent, name) = open_parent(at, made)?;
        Ok(rustix::fs::symlinkat(text, &parent, name)?)
    }

    /// Never deeper than two levels: subdirectories of subdirectories are moved up first, so a tree too deep for paths, for the stack or for the
    /// number of open files goes like any other.
    pub(super) fn remove(path: &Path) -> io::Result<()> {
        let root = open(rustix::fs::CWD, &CString::new(path.as_os_str().as_bytes())?)?;
        let mut moved = 0u64;
        loop {
            let mut rest = 0;
            for (name, kind) in entries(&root)? {
                if !is_directory(&root, &name, kind) {
                    rustix::fs::unlinkat(&root, &name, AtFlags::empty())?;
                    continue;
                }
                rest += 1;
                empty(&root, &name, &mut moved)?;
                rustix::fs::unlinkat(&root, &name, AtFlags::REMOVEDIR)?;
            }
            if rest == 0 {
                return Ok(rustix::fs::rmdir(path)?);
            }
        }
    }

    /// Removes the files of a subdirectory and moves its directories up into `root`.
    fn empty(root: &OwnedFd, name: &CStr, moved: &mut u64) -> io::Result<()> {
        let directory = open(root, name)?;
        for (child, kind) in entries(&directory)? {
            if !is_directory(&directory, &child, kind) {
                rustix::fs::unlinkat(&directory, &child, AtFlags::empty())?;
                continue;
            }
            if rustix::fs::unlinkat(&directory, &child, AtFlags::REMOVEDIR).is_ok() {
                continue;
            }
            // A directory that is moved must itself be writable: its `..` changes.
            drop(open(&directory, &child)?);
            loop {
                *moved += 1;
                let name = format!(".ash-remove-{}-{moved}", std::process::id());
                match rustix::fs::renameat(&directory, &child, root, name.as_str()) {
                    // Only over an entry of the same name, which the tool may have guessed.
                    Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => {}
                    other => break other?,
                }
            }
        }
        Ok(())
    }

    /// Opens a directory without following a link, giving its owner the right to empty it.
    fn open(parent: impl std::os::fd::AsFd, name: &CStr) -> io::Result<OwnedFd> {
        let first = rustix::fs::openat(&parent, name, DIRECTORY, Mode::empty());
        let handle = match first {
            Err(Errno::ACCESS) => {
                // Its mode keeps it from being opened. A link put in its place meanwhile would have to come from a process, and all are gone.
                rustix::fs::chmodat(&parent, name, Mode::RWXU, AtFlags::empty())?;
                rustix::fs::openat(&parent, name, DIRECTORY, Mode::empty())?
            }
            other => other?,
        };
        rustix::fs::fchmod(&handle, Mode::RWXU)?;
        Ok(handle)
    }

    fn is_directory(parent: &OwnedFd, name: &CStr, kind: FileType) -> bool {
        match kind {
            FileType::Unknown => rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)
                .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory),
            other => other == FileType::Directory,
        }
    }

    fn entries(directory: &OwnedFd) -> io::Result<Vec<(CString, FileType)>> {
        let mut found = Vec::new();
        for entry in rustix::fs::Dir::read_from(directory)? {
            let entry = entry?;
            if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
                found.push((entry.file_name().to_owned(), entry.file_type()));
            }
        }
        Ok(found)
    }
}

#[cfg(not(unix))]
mod platform {
    use std::{
        io,
        path::{Path, PathBuf},
    };

    pub(super) fn make_directory(path: &Path, made: &mut Vec<PathBuf>) -> io::Result<()> {
        if made.iter().any(|directory| directory == path) {
            return Ok(());
        }
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::create_dir(path)?;
        made.push(path.to_owned());
        Ok(())
    }

    pub(super) fn make_file(_: &Path, _: &[Vec<u8>], _: &mut Vec<PathBuf>) -> io::Result<()> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "no sandbox on this platform needs files"))
    }

    pub(super) fn make_link(_: &Path, _: &Path, _: &mut Vec<PathBuf>) -> io::Result<()> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "no sandbox on this platform needs links"))
    }

    pub(super) fn remove(path: &Path) -> io::Result<()> {
        std::fs::remove_dir_all(path)
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn base() -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let real = directory.path().canonicalize().unwrap();
        (directory, real)
    }

    #[test]
    fn directories_are_private_and_fresh_and_links_are_made() {
        let (_keep, base) = base();
        let steps = [
            Setup::Dir(base.join("a/b")),
            Setup::Dir(base.join("a")),
            Setup::Link { at: base.join("a/b/c/link"), text: "/usr".into() },
        ];
        perform(&steps).unwrap();
        assert_eq!(base.join("a/b").metadata().unwrap().permissions().mode() & 0o7777, 0o700);
        assert_eq!(std::fs::read_link(base.join("a/b/c/link")).unwrap(), Path::new("/usr"));
        assert!(
            matches!(perform(&steps[..1]), Err(LaunchError::Setup { reason, .. }) if reason.contains("exists"))
        );
    }

    #[test]
    fn nothing_is_made_through_a_link() {
        let (_keep, base) = base();
        std::fs::create_dir(base.join("target")).unwrap();
        symlink(base.join("target"), base.join("link")).unwrap();
        assert!(perform(&[Setup::Dir(base.join("target/control"))]).is_ok());
        assert!(perform(&[Setup::Dir(base.join("link/inside"))]).is_err());
        assert!(!base.join("target/inside").exists());
    }

    #[test]
    fn a_tree_deeper_than_paths_and_with_odd_modes_is_removed_and_links_are_not_followed() {
        let (_keep, base) = base();
        let root = base.join("root");
        std::fs::create_dir_all(root.join("closed/inner")).unwrap();
        std::fs::write(base.join("outside"), "stays").unwrap();
        symlink(&base, root.join("closed/up")).unwrap();
        std::fs::write(root.join("closed/inner/file"), "").unwrap();
        std::fs::set_permissions(root.join("closed/inner"), PermissionsExt::from_mode(0o000))
            .unwrap();
        std::fs::set_permissions(root.join("closed"), PermissionsExt::from_mode(0o000)).unwrap();
        let mut handle =
            rustix::fs::open(&root, rustix::fs::OFlags::DIRECTORY, rustix::fs::Mode::empty())
                .unwrap();
        let name = "d".repeat(200);
        for _ in 0..3000 {
            rustix::fs::mkdirat(&handle, &name, rustix::fs::Mode::RWXU).unwrap();
            handle = rustix::fs::openat(
                &handle,
                &name,
                rustix::fs::OFlags::DIRECTORY,
                rustix::fs::Mode::empty(),
            )
            .unwrap();
        }
        remove_tree(&root).unwrap();
        assert!(!root.exists());
        assert_eq!(std::fs::read_to_string(base.join("outside")).unwrap(), "stays");
        remove_tree(&root).unwrap();
    }
}
