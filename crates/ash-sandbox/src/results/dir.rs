//! One scanner's results directory, through its handle.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    hash::{BuildHasher, RandomState},
    io::{self, BufWriter, Read, Write},
    os::fd::{AsFd, OwnedFd},
    path::{Component, Path, PathBuf},
};

use ash_model::path::RelPath;
use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags},
    io::Errno,
};

use crate::leftovers::{self, PRIVATE, RESULTS};

use super::{
    descent::{self, DIRECTORY, file_type, identity},
    limits::{ReadLimits, ReadRefused, Swept},
    sweep,
};

/// A results directory. Everything goes through its handle; no link in it is ever followed.
#[derive(Debug)]
pub struct ResultsDir {
    fd: OwnedFd,
    path: PathBuf,
    device: u64,
}

impl ResultsDir {
    /// Makes `<output>/<below>` where it does not exist and opens it. Links below `output` are refused.
    ///
    /// # Errors
    /// When a part is a link or no directory, or cannot be made.
    pub fn create(output: &Path, below: &RelPath) -> io::Result<Self> {
        std::fs::create_dir_all(output)?;
        let mut fd = rustix::fs::open(output, DIRECTORY - OFlags::NOFOLLOW, Mode::empty())?;
        for component in below.as_path().components() {
            fd = enter_or_make(&fd, component.as_os_str())?;
        }
        Self::from_fd(fd, output.join(below.as_path()))
    }

    /// Opens an existing directory, unless it is a link.
    ///
    /// # Errors
    /// When it is a link or no directory, or cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::from_fd(rustix::fs::open(path, DIRECTORY, Mode::empty())?, path.to_owned())
    }

    /// Opens the operator's own directory, whatever links lead there.
    ///
    /// # Errors
    /// When it is no directory or cannot be opened.
    pub fn open_operators(path: &Path) -> io::Result<Self> {
        Self::from_fd(
            rustix::fs::open(path, DIRECTORY - OFlags::NOFOLLOW, Mode::empty())?,
            path.to_owned(),
        )
    }

    /// Makes a fresh one, private to the user, in a directory for temporary files. It stays until somebody removes it, or, should it be left empty, until
    /// a later ash does.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn fresh(temp: &Path) -> io::Result<Self> {
        let number = |of| RandomState::new().hash_one((std::process::id(), of));
        Self::make(temp.join(format!("{RESULTS}{:016x}{:016x}", number(0), number(1))))
    }

    /// The same for results that nobody reads: what a killed ash leaves of it, a later one removes.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn throwaway(temp: &Path) -> io::Result<Self> {
        let number = RandomState::new().hash_one(std::process::id());
        Self::make(temp.join(format!("{PRIVATE}{number:016x}")))
    }

    fn make(path: PathBuf) -> io::Result<Self> {
        rustix::fs::mkdir(&path, Mode::RWXU)?;
        let made = Self::open(&path)?;
        leftovers::hold(&made.fd);
        Ok(made)
    }

    /// Removes the directory itself with everything in it.
    ///
    /// # Errors
    /// When something cannot be removed.
    pub fn discard(self) -> io::Result<()> {
        self.clear()?;
        Ok(rustix::fs::rmdir(&self.path)?)
    }

    fn from_fd(fd: OwnedFd, path: PathBuf) -> io::Result<Self> {
        let device = identity(&rustix::fs::fstat(&fd)?).0;
        Ok(Self { fd, path, device })
    }

    /// Its path, as made.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file: new under a name nobody knows, then renamed, so that no link, hard link or FIFO at the name is written through.
    ///
    /// # Errors
    /// When a part of the way is a link or no directory, or the system refuses.
    pub fn write_file(&self, path: &RelPath, bytes: &[u8]) -> io::Result<()> {
        self.write_with(path, &mut |out| out.write_all(bytes))
    }

    /// As [`ResultsDir::write_file`], for what is too large to hold: `render` writes it, buffered.
    ///
    /// # Errors
    /// As there, and those of `render`.
    pub fn write_with(
        &self,
        path: &RelPath,
        render: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let (parent, name) = self.parent_of(path, true)?;
        let temporary = unguessable();
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = BufWriter::with_capacity(
            1 << 16,
            File::from(rustix::fs::openat(&parent, &temporary, flags, Mode::from_raw_mode(0o666))?),
        );
        let written = render(&mut file)
            .and_then(|()| file.flush())
            .and_then(|()| Ok(rustix::fs::renameat(&parent, &temporary, &parent, name)?));
        if written.is_err() {
            // The first error is the one to report.
            let _ = rustix::fs::unlinkat(&parent, &temporary, AtFlags::empty());
        }
        written
    }

    /// Reads a file; `None` when there is none. Only a regular file with one name on the same file system.
    ///
    /// # Errors
    /// When it is anything else, larger than `limit` bytes, or cannot be read.
    pub fn read_file(&self, path: &RelPath, limit: u64) -> Result<Option<Vec<u8>>, ReadRefused> {
        let shown = || path.printable();
        match self.open_file(path) {
            Ok(fd) => self.read_open(fd, limit, shown),
            Err(error) => match Errno::from_io_error(&error) {
                Some(Errno::NOENT) => Ok(None),
                // A link at the name, or on the way to it; a socket.
                Some(Errno::LOOP | Errno::NOTDIR | Errno::NXIO) => {
                    Err(ReadRefused::NotRegular(shown()))
                }
                _ => Err(ReadRefused::Io(shown(), error)),
            },
        }
    }

    fn open_file(&self, path: &RelPath) -> io::Result<OwnedFd> {
        let (parent, name) = self.parent_of(path, false)?;
        // Not blocking: opening a FIFO would wait for its writer.
        let flags =
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        match rustix::fs::openat(&parent, name, flags, Mode::empty()) {
            Err(Errno::ACCESS) => {
                descent::repair(parent.as_fd(), name, Mode::RUSR | Mode::WUSR)?;
                Ok(rustix::fs::openat(&parent, name, flags, Mode::empty())?)
            }
            other => Ok(other?),
        }
    }

    fn read_open(
        &self,
        fd: OwnedFd,
        limit: u64,
        shown: impl Fn() -> String,
    ) -> Result<Option<Vec<u8>>, ReadRefused> {
        let stat =
            rustix::fs::fstat(&fd).map_err(|error| ReadRefused::Io(shown(), error.into()))?;
        if file_type(&stat) != FileType::RegularFile {
            return Err(ReadRefused::NotRegular(shown()));
        }
        if stat.st_nlink > 1 {
            return Err(ReadRefused::HardLinked(shown()));
        }
        if identity(&stat).0 != self.device {
            return Err(ReadRefused::OtherFileSystem(shown()));
        }
        let mut bytes = vec![];
        // The size it says is not believed: a sparse file of a terabyte is one byte long on disk.
        let read = File::from(fd).take(limit.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|error| ReadRefused::Io(shown(), error))?;
        if bytes.len() as u64 > limit {
            Err(ReadRefused::TooLarge(shown(), limit))
        } else {
            Ok(Some(bytes))
        }
    }

    /// Removes links and special files, repairs modes, counts. Run it when the scanner's whole process tree is dead, and again after the scan.
    ///
    /// # Errors
    /// When the directory itself cannot be walked: then nothing in it may be read.
    pub fn sweep(&self, limits: &ReadLimits) -> io::Result<Swept> {
        sweep::sweep(self.fd.as_fd(), limits)
    }

    /// Makes a directory and those above it, where they do not exist.
    ///
    /// # Errors
    /// When a part is a link or no directory, or cannot be made.
    pub fn make_dir(&self, path: &RelPath) -> io::Result<()> {
        let (parent, name) = self.parent_of(path, true)?;
        enter_or_make(&parent, name).map(drop)
    }

    /// Opens an existing directory below this one.
    ///
    /// # Errors
    /// When a part is a link or no directory, or cannot be opened.
    pub fn open_below(&self, path: &RelPath) -> io::Result<Self> {
        let (parent, name) = self.parent_of(path, false)?;
        Self::from_fd(
            descent::open_directory(parent.as_fd(), name)?.0,
            self.path.join(path.as_path()),
        )
    }

    /// Removes a file, a link itself, or a directory with everything in it. Nothing at the name is fine.
    ///
    /// # Errors
    /// When something cannot be removed.
    pub fn remove(&self, path: &RelPath) -> io::Result<()> {
        let (parent, name) = match self.parent_of(path, false) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => other?,
        };
        match rustix::fs::unlinkat(&parent, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            Err(Errno::ISDIR | Errno::PERM) => {}
            Err(error) => return Err(error.into()),
        }
        sweep::remove_contents(descent::open_directory(parent.as_fd(), name)?.0.as_fd())?;
        Ok(rustix::fs::unlinkat(&parent, name, AtFlags::REMOVEDIR)?)
    }

    /// Removes everything in it, of any depth.
    ///
    /// # Errors
    /// When something cannot be removed.
    pub fn clear(&self) -> io::Result<()> {
        sweep::remove_contents(self.fd.as_fd())
    }

    /// The directory a path's last name is in, opened part by part without following links.
    fn parent_of<'a>(&self, path: &'a RelPath, make: bool) -> io::Result<(OwnedFd, &'a OsStr)> {
        descent::make_accessible(self.fd.as_fd())?;
        let mut names: Vec<&OsStr> =
            path.as_path().components().map(Component::as_os_str).collect();
        let Some(name) = names.pop() else { return Err(Errno::INVAL.into()) };
        let mut fd = self.fd.try_clone()?;
        for part in names {
            fd = if make {
                enter_or_make(&fd, part)?
            } else {
                descent::open_directory(fd.as_fd(), part)?.0
            };
        }
        Ok((fd, name))
    }
}

fn enter_or_make(parent: &OwnedFd, name: &OsStr) -> io::Result<OwnedFd> {
    match rustix::fs::mkdirat(parent, name, Mode::from_raw_mode(0o777)) {
        Ok(()) | Err(Errno::EXIST) => Ok(descent::open_directory(parent.as_fd(), name)?.0),
        Err(error) => Err(error.into()),
    }
}

fn unguessable() -> OsString {
    format!(
        ".ash-{:016x}{:016x}",
        RandomState::new().hash_one(std::process::id()),
        RandomState::new().hash_one(0)
    )
    .into()
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        os::unix::fs::{PermissionsExt, symlink},
    };

    use proptest::prelude::*;

    use super::*;
    use crate::{launch::remove_tree, results::OverLimit};

    struct Lab {
        dir: tempfile::TempDir,
        results: ResultsDir,
    }

    impl Lab {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            fs::write(dir.path().join("host"), "host").unwrap();
            let results =
                ResultsDir::create(&dir.path().join("out"), &rel("scanners/bandit")).unwrap();
            Self { dir, results }
        }

        fn at(&self, name: &str) -> PathBuf {
            self.results.path().join(name)
        }

        fn host(&self) -> String {
            fs::read_to_string(self.dir.path().join("host")).unwrap()
        }
    }

    fn rel(path: &str) -> RelPath {
        RelPath::new(path).unwrap()
    }

    fn fifo(path: &Path) {
        rustix::fs::mknodat(rustix::fs::CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0)
            .unwrap();
    }

    #[test]
    fn a_write_replaces_links_hard_links_and_fifos_and_touches_nothing_behind_them() {
        let lab = Lab::new();
        symlink(lab.dir.path().join("host"), lab.at("link")).unwrap();
        fs::hard_link(lab.dir.path().join("host"), lab.at("hard")).unwrap();
        fifo(&lab.at("fifo"));
        for name in ["link", "hard", "fifo", "new", "sub/new"] {
            lab.results.write_file(&rel(name), b"ours").unwrap();
            assert_eq!(fs::read(lab.at(name)).unwrap(), b"ours", "{name}");
            assert!(fs::symlink_metadata(lab.at(name)).unwrap().is_file(), "{name}");
        }
        assert_eq!(lab.host(), "host");
        assert_eq!(
            lab.results.sweep(&ReadLimits::default()).unwrap().entries,
            6,
            "no temporary file is left"
        );
    }

    #[test]
    fn a_linked_parent_is_neither_written_nor_read_through() {
        let lab = Lab::new();
        symlink(lab.dir.path(), lab.at("sub")).unwrap();
        assert!(lab.results.write_file(&rel("sub/host"), b"ours").is_err());
        assert!(matches!(
            lab.results.read_file(&rel("sub/host"), 100),
            Err(ReadRefused::NotRegular(_))
        ));
        assert_eq!(lab.host(), "host");
    }

    #[test]
    fn only_regular_files_with_one_name_are_read() {
        let lab = Lab::new();
        symlink(lab.dir.path().join("host"), lab.at("link")).unwrap();
        fs::hard_link(lab.dir.path().join("host"), lab.at("hard")).unwrap();
        fifo(&lab.at("fifo"));
        fs::create_dir(lab.at("dir")).unwrap();
        fs::write(lab.at("plain"), "text").unwrap();
        let read = |name: &str| lab.results.read_file(&rel(name), 4);
        for name in ["link", "fifo", "dir"] {
            assert!(matches!(read(name), Err(ReadRefused::NotRegular(_))), "{name}");
        }
        assert!(matches!(read("hard"), Err(ReadRefused::HardLinked(_))));
        assert_eq!(read("plain").unwrap().as_deref(), Some(b"text".as_slice()), "control");
        assert_eq!(read("none").unwrap(), None);
        assert_eq!(read("none/deeper").unwrap(), None);
        assert!(matches!(
            lab.results.read_file(&rel("plain"), 3),
            Err(ReadRefused::TooLarge(_, 3))
        ));
    }

    #[test]
    fn the_sweep_removes_links_and_special_files_and_enters_no_linked_directory() {
        let lab = Lab::new();
        fs::create_dir_all(lab.at("a/b")).unwrap();
        fs::write(lab.at("a/b/keep"), "x").unwrap();
        symlink(lab.dir.path(), lab.at("a/b/dir")).unwrap();
        symlink("nowhere", lab.at("dangling")).unwrap();
        fifo(&lab.at("a/fifo"));
        let _socket = std::os::unix::net::UnixListener::bind(lab.at("sock")).unwrap();
        symlink("../../host", lab.dir.path().join("outside-link")).unwrap();
        let swept = lab.results.sweep(&ReadLimits::default()).unwrap();
        assert_eq!((swept.removed, swept.failed, swept.over), (4, 0, None));
        assert_eq!(
            lab.results.read_file(&rel("a/b/keep"), 9).unwrap().as_deref(),
            Some(b"x".as_slice())
        );
        assert!(fs::symlink_metadata(lab.dir.path().join("outside-link")).is_ok());
        assert_eq!(
            lab.results.sweep(&ReadLimits::default()).unwrap().removed,
            0,
            "nothing is left"
        );
    }

    #[test]
    fn unreadable_modes_and_setuid_bits_are_repaired() {
        let lab = Lab::new();
        fs::create_dir(lab.at("sub")).unwrap();
        fs::write(lab.at("sub/file"), "x").unwrap();
        fs::write(lab.at("suid"), "x").unwrap();
        fs::set_permissions(lab.at("suid"), fs::Permissions::from_mode(0o6755)).unwrap();
        fs::set_permissions(lab.at("sub/file"), fs::Permissions::from_mode(0o000)).unwrap();
        fs::set_permissions(lab.at("sub"), fs::Permissions::from_mode(0o000)).unwrap();
        fs::set_permissions(lab.results.path(), fs::Permissions::from_mode(0o000)).unwrap();
        let swept = lab.results.sweep(&ReadLimits::default()).unwrap();
        assert_eq!((swept.repaired, swept.failed), (4, 0));
        let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        assert_eq!(
            (mode(lab.at("suid")), mode(lab.at("sub")), mode(lab.at("sub/file"))),
            (0o755, 0o700, 0o600)
        );
    }

    #[test]
    fn limits_are_reported_and_the_sweep_goes_on() {
        let lab = Lab::new();
        fs::create_dir_all(lab.at("a/b/c")).unwrap();
        symlink("x", lab.at("a/b/c/link")).unwrap();
        let limits = ReadLimits { depth: 2, ..ReadLimits::default() };
        let swept = lab.results.sweep(&limits).unwrap();
        assert_eq!((swept.removed, swept.over), (1, Some(OverLimit::Depth(2))));
        fs::write(lab.at("big"), "12345").unwrap();
        let limits = ReadLimits { bytes: 4, ..ReadLimits::default() };
        assert_eq!(lab.results.sweep(&limits).unwrap().over, Some(OverLimit::Bytes(4)));
        let limits = ReadLimits { entries: 1, ..ReadLimits::default() };
        assert_eq!(lab.results.sweep(&limits).unwrap().over, Some(OverLimit::Entries(1)));
    }

    #[test]
    fn a_directory_nested_3000_deep_is_swept_and_removed() {
        let lab = Lab::new();
        let mut fd = rustix::fs::open(lab.results.path(), DIRECTORY, Mode::empty()).unwrap();
        for _ in 0..3000 {
            rustix::fs::mkdirat(&fd, "d", Mode::RWXU).unwrap();
            fd = rustix::fs::openat(&fd, "d", DIRECTORY, Mode::empty()).unwrap();
        }
        rustix::fs::symlinkat("x", &fd, "link").unwrap();
        let swept = lab.results.sweep(&ReadLimits::default()).unwrap();
        assert_eq!((swept.removed, swept.over), (1, Some(OverLimit::Depth(64))));
        fs::set_permissions(lab.at("d"), fs::Permissions::from_mode(0o000)).unwrap();
        remove_tree(lab.results.path()).unwrap();
        assert!(!lab.results.path().exists());
        remove_tree(lab.results.path()).unwrap();
    }

    #[test]
    fn clearing_removes_links_and_leaves_what_they_lead_to() {
        let lab = Lab::new();
        let target = lab.dir.path().join("target");
        fs::create_dir(&target).unwrap();
        fs::write(target.join("keep"), "").unwrap();
        symlink(&target, lab.at("link")).unwrap();
        fs::create_dir_all(lab.at("a/b/c")).unwrap();
        fs::write(lab.at("a/b/file"), "").unwrap();
        lab.results.clear().unwrap();
        assert!(target.join("keep").exists());
        assert_eq!(fs::read_dir(lab.results.path()).unwrap().count(), 0);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]
        #[test]
        fn what_is_written_is_read_back_under_any_name(parts in prop::collection::vec("[^/\\x00]{1,20}", 1..4), bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let lab = Lab::new();
            if let Ok(path) = RelPath::new(parts.join("/")) {
                lab.results.write_file(&path, &bytes).unwrap();
                prop_assert_eq!(lab.results.read_file(&path, 64).unwrap(), Some(bytes));
            }
        }
    }
}
