//! What a killed ash leaves in the directory for temporary files, and how a later one of the same user removes it.
//!
//! Private directories are held (locked) while somebody uses them; the system lets go when a process dies, however it dies. One that nobody holds is a
//! leftover. Those of a command (`ash-sandbox-`) go with all they contain; a results directory (`ash-results-`) may be what somebody waits for, and
//! goes only when it is empty.

/// The beginning of the name of a directory that nobody wants once its command has ended.
pub(crate) const PRIVATE: &str = "ash-sandbox-";
/// The beginning of the name of a results directory that nobody named.
#[cfg(unix)]
pub(crate) const RESULTS: &str = "ash-results-";

#[cfg(unix)]
pub(crate) use platform::{hold, remove};

/// Elsewhere nothing is left that could be told from what is in use.
#[cfg(not(unix))]
pub(crate) fn remove(_: &std::path::Path) {}

#[cfg(unix)]
mod platform {
    use std::{
        io,
        os::{
            fd::{AsFd, OwnedFd},
            unix::ffi::OsStrExt as _,
        },
        path::Path,
        time::{Duration, SystemTime},
    };

    use rustix::{
        fs::{AtFlags, FlockOperation, Mode, OFlags},
        io::Errno,
    };

    use super::{PRIVATE, RESULTS};
    use crate::launch::remove_tree;

    /// Between its making and its being held, a directory looks like a leftover.
    const YOUNG: Duration = Duration::from_secs(60);
    /// `ash sandbox run` named its results directory to somebody, who may still want to see that it is empty.
    const RECENT: Duration = Duration::from_secs(3600);
    /// Somebody else's files may be very many, and looking at them must not hold up a scan.
    const MOST_ENTRIES: usize = 20_000;
    const DIRECTORY: OFlags =
        OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

    /// Says that the directory is in use, for as long as the descriptor is open. No child inherits it. Without locks nothing is removed either.
    pub(crate) fn hold(directory: impl AsFd) {
        let _ = rustix::fs::flock(directory, FlockOperation::NonBlockingLockShared);
    }

    /// Removes the leftovers in a directory for temporary files. What cannot be removed stays: nothing depends on it.
    pub(crate) fn remove(temp: &Path) {
        let Ok(directory) = rustix::fs::open(temp, DIRECTORY - OFlags::NOFOLLOW, Mode::empty())
        else {
            return;
        };
        let Ok(entries) = rustix::fs::Dir::read_from(&directory) else { return };
        for entry in entries.take(MOST_ENTRIES).flatten() {
            let name = entry.file_name();
            let is_private = is_ours(name.to_bytes(), PRIVATE, 16);
            if !is_private && !is_ours(name.to_bytes(), RESULTS, 32) {
                continue;
            }
            // Held until it is gone, so that two of these do not meet in one directory.
            let Ok(Some(_held)) =
                take_over(&directory, name, if is_private { YOUNG } else { RECENT })
            else {
                continue;
            };
            let removed = if is_private {
                remove_tree(&temp.join(std::ffi::OsStr::from_bytes(name.to_bytes())))
            } else {
                rustix::fs::unlinkat(&directory, name, AtFlags::REMOVEDIR).map_err(Into::into)
            };
            tracing::debug!("leftover {name:?}: {removed:?}");
        }
    }

    /// Whether ash makes such names.
    fn is_ours(name: &[u8], prefix: &str, digits: usize) -> bool {
        name.strip_prefix(prefix.as_bytes())
            .is_some_and(|rest| rest.len() == digits && rest.iter().all(u8::is_ascii_hexdigit))
    }

    /// Takes a directory that its owner, this user, has let go.
    fn take_over(
        temp: &OwnedFd,
        name: &std::ffi::CStr,
        young: Duration,
    ) -> io::Result<Option<OwnedFd>> {
        let directory = rustix::fs::openat(temp, name, DIRECTORY, Mode::empty())?;
        let stat = rustix::fs::fstat(&directory)?;
        let made = SystemTime::UNIX_EPOCH
            + Duration::from_secs(u64::try_from(stat.st_mtime).unwrap_or_default());
        let is_old = SystemTime::now().duration_since(made).is_ok_and(|age| age > young);
        if !is_old || stat.st_uid != rustix::process::geteuid().as_raw() {
            return Ok(None);
        }
        match rustix::fs::flock(&directory, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(directory)),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::{
        fs::{self, File},
        path::{Path, PathBuf},
        time::{Duration, SystemTime},
    };

    use super::*;

    fn directory(temp: &Path, name: &str, age: Duration) -> PathBuf {
        let path = temp.join(name);
        fs::create_dir(&path).unwrap();
        File::open(&path).unwrap().set_modified(SystemTime::now() - age).unwrap();
        path
    }

    #[test]
    fn what_a_killed_ash_left_is_removed_and_nothing_else() {
        let temp = tempfile::tempdir().unwrap();
        let (old, young) = (Duration::from_secs(7200), Duration::from_secs(600));
        let results = |digit: &str| format!("{RESULTS}{}", digit.repeat(32));
        let private = |digit: &str| format!("{PRIVATE}{}", digit.repeat(16));
        let full = |path: PathBuf| {
            fs::create_dir(path.join("home")).unwrap();
            fs::write(path.join("home/file"), "x").unwrap();
            File::open(&path).unwrap().set_modified(SystemTime::now() - old).unwrap();
            path
        };
        let gone = [
            directory(temp.path(), &results("0"), old),
            directory(temp.path(), &private("0"), old),
            full(directory(temp.path(), &private("1"), old)),
        ];
        let held = directory(temp.path(), &private("2"), old);
        let handle = File::open(&held).unwrap();
        hold(&handle);
        let link = temp.path().join(private("3"));
        std::os::unix::fs::symlink(temp.path(), &link).unwrap();
        let kept = [
            held,
            link,
            full(directory(temp.path(), &results("1"), old)),
            directory(temp.path(), &results("2"), young),
            directory(temp.path(), "ash-results-of-mine", old),
            directory(temp.path(), "ash-sandbox-012345678901234g", old),
        ];
        remove(temp.path());
        for path in gone {
            assert!(!path.exists(), "{}", path.display());
        }
        for path in &kept {
            assert!(path.exists(), "{}", path.display());
        }
        drop(handle);
        remove(temp.path());
        assert!(!kept[0].exists(), "once it is let go it is a leftover");
    }
}
