//! Walks a hostile directory tree with one handle at a time: any depth, no links followed, no recursion.

use std::{
    ffi::{OsStr, OsString},
    io,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
};

use rustix::{
    fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat},
    io::Errno,
};

/// How a directory of the tree is opened.
pub(crate) const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A position in the tree.
#[derive(Debug)]
pub(crate) struct Descent {
    here: OwnedFd,
    /// Identities of the directories above, outermost first.
    above: Vec<(u64, u64)>,
}

impl Descent {
    pub(crate) fn new(root: BorrowedFd<'_>) -> io::Result<Self> {
        // A handle of its own: reading a directory moves the handle's position.
        let here = rustix::fs::openat(root, ".", DIRECTORY, Mode::empty())?;
        Ok(Self { here, above: vec![] })
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.here.as_fd()
    }

    /// How many directories lie above this one.
    pub(crate) fn depth(&self) -> usize {
        self.above.len()
    }

    /// Steps into a subdirectory; makes it accessible first if its owner may not enter it. Returns whether that was needed.
    pub(crate) fn enter(&mut self, name: &OsStr) -> io::Result<bool> {
        let (fd, repaired) = open_directory(self.here.as_fd(), name)?;
        self.above.push(identity(&rustix::fs::fstat(&self.here)?));
        self.here = fd;
        Ok(repaired)
    }

    /// Steps back up, to the very directory it came from.
    pub(crate) fn leave(&mut self) -> io::Result<()> {
        let expected = self.above.pop().ok_or_else(|| io::Error::other("already at the top"))?;
        let parent = rustix::fs::openat(&self.here, "..", DIRECTORY, Mode::empty())?;
        if identity(&rustix::fs::fstat(&parent)?) != expected {
            return Err(io::Error::other("a directory was moved during the walk"));
        }
        self.here = parent;
        Ok(())
    }

    /// The names in this directory, and what each is, never following a link.
    pub(crate) fn entries(
        &self,
    ) -> io::Result<impl Iterator<Item = io::Result<(OsString, Stat)>> + use<'_>> {
        let entries = Dir::read_from(&self.here)?;
        Ok(entries.filter_map(|entry| match entry {
            Ok(entry) if entry.file_name() == c"." || entry.file_name() == c".." => None,
            Ok(entry) => {
                let name = OsStr::from_bytes(entry.file_name().to_bytes()).to_owned();
                let stat = rustix::fs::statat(&self.here, &name, AtFlags::SYMLINK_NOFOLLOW);
                Some(stat.map(|stat| (name, stat)).map_err(io::Error::from))
            }
            Err(error) => Some(Err(error.into())),
        }))
    }
}

/// Opens a subdirectory without following a link, with full access for its owner: a scanner may leave mode 000 behind.
pub(crate) fn open_directory(parent: BorrowedFd<'_>, name: &OsStr) -> io::Result<(OwnedFd, bool)> {
    let mut repaired = false;
    let fd = match rustix::fs::openat(parent, name, DIRECTORY, Mode::empty()) {
        Err(Errno::ACCESS) => {
            repair(parent, name, Mode::RWXU)?;
            repaired = true;
            rustix::fs::openat(parent, name, DIRECTORY, Mode::empty())?
        }
        other => other?,
    };
    repaired |= make_accessible(fd.as_fd())?;
    Ok((fd, repaired))
}

/// Gives the owner of an open directory full access.
pub(crate) fn make_accessible(dir: BorrowedFd<'_>) -> io::Result<bool> {
    let mode = Mode::from_raw_mode(rustix::fs::fstat(dir)?.st_mode);
    let lacking = !mode.contains(Mode::RWXU);
    if lacking {
        rustix::fs::fchmod(dir, (mode & Mode::from_raw_mode(0o777)) | Mode::RWXU)?;
    }
    Ok(lacking)
}

/// Changes the mode of a name that cannot be opened, never through a link: by the path of a handle, since `fchmodat` follows links before
/// Linux 6.6.
#[cfg(target_os = "linux")]
pub(crate) fn repair(parent: BorrowedFd<'_>, name: &OsStr, mode: Mode) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    let handle = rustix::fs::openat(
        parent,
        name,
        OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    if file_type(&rustix::fs::fstat(&handle)?) == FileType::Symlink {
        return Err(Errno::LOOP.into());
    }
    Ok(rustix::fs::chmod(format!("/proc/self/fd/{}", handle.as_raw_fd()), mode)?)
}

/// Changes the mode of a name that cannot be opened, never through a link.
#[cfg(not(target_os = "linux"))]
pub(crate) fn repair(parent: BorrowedFd<'_>, name: &OsStr, mode: Mode) -> io::Result<()> {
    Ok(rustix::fs::chmodat(parent, name, mode, AtFlags::SYMLINK_NOFOLLOW)?)
}

pub(crate) fn file_type(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

#[cfg_attr(
    target_os = "linux",
    expect(clippy::unnecessary_cast, reason = "the types differ between systems")
)]
pub(crate) fn identity(stat: &Stat) -> (u64, u64) {
    (stat.st_dev as u64, stat.st_ino as u64)
}
