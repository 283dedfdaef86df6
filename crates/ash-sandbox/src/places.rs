//! What the granted places were when the sandbox was prepared. Backends mount and grant by name, a moment later: whoever can rename a
//! directory above one (another process, in a tree that others write) could put a link there meanwhile, and have something else granted.

use std::path::Path;

use crate::{policy::Policy, wire::Place};

/// The places of this policy that others may be able to move: what is scanned, and where results go.
pub(crate) fn of(policy: &Policy) -> Vec<Place> {
    let fixed = |path: &Path| {
        path.parent().is_none() || ["/dev", "/proc", "/sys"].iter().any(|dir| path.starts_with(dir))
    };
    let places = policy.scan_data.iter().chain(&policy.writable).filter(|path| !fixed(path));
    places
        .map(|path| Place { path: path.clone().into(), identity: platform::identity(path) })
        .collect()
}

/// Makes sure that each name still leads to what it led to.
///
/// # Errors
/// Which does not, and what to do.
#[cfg(target_os = "linux")]
pub(crate) fn check(places: &[Place]) -> Result<(), String> {
    use std::os::unix::fs::MetadataExt as _;
    for place in places {
        // What cannot be reached here cannot be reached by the tool either.
        if let Ok(found) = std::fs::metadata(&place.path) {
            same(places, &place.path, (found.dev(), found.ino()))?;
        }
    }
    Ok(())
}

/// Makes sure that what is about to be granted by this name is what it was.
///
/// # Errors
/// It is not, and what to do.
#[cfg(target_os = "linux")]
pub(crate) fn same(
    places: &[Place],
    path: &std::ffi::OsString,
    found: (u64, u64),
) -> Result<(), String> {
    match places.iter().find(|place| place.path == *path) {
        Some(place) if place.identity != Some(found) => Err(format!(
            "`{}` was replaced while the sandbox was prepared: keep others from writing the directories above it, and run it again",
            Path::new(path).display()
        )),
        _ => Ok(()),
    }
}

#[cfg(target_os = "linux")]
mod platform {
    use std::{fs::File, os::unix::fs::MetadataExt as _, path::Path};

    use rustix::{
        fs::{CWD, Mode, OFlags, ResolveFlags},
        io::Errno,
    };

    /// Paths in a policy are real: a link on the way was put there since.
    pub(super) fn identity(path: &Path) -> Option<(u64, u64)> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let found =
            match rustix::fs::openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
                Ok(handle) => File::from(handle).metadata().ok()?,
                // Before Linux 5.6, or under a container's filter.
                Err(Errno::NOSYS | Errno::PERM) => std::fs::symlink_metadata(path).ok()?,
                Err(_) => return None,
            };
        Some((found.dev(), found.ino()))
    }
}

/// The profile of sandbox-exec names real paths, and macOS follows no link to decide.
#[cfg(not(target_os = "linux"))]
mod platform {
    use std::path::Path;

    pub(super) fn identity(path: &Path) -> Option<(u64, u64)> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt as _;
            let found = std::fs::symlink_metadata(path).ok()?;
            Some((found.dev(), found.ino()))
        }
        #[cfg(not(unix))]
        {
            let _ = path;
            None
        }
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn a_directory_that_is_swapped_for_a_link_is_not_granted() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for made in ["tree/source", "secrets/source"] {
            fs::create_dir_all(root.join(made)).unwrap();
        }
        let source = root.join("tree/source");
        let place = || Place { path: source.clone().into(), identity: platform::identity(&source) };
        let before = place();
        assert_eq!(check(std::slice::from_ref(&before)), Ok(()));

        fs::rename(root.join("tree"), root.join("away")).unwrap();
        assert_eq!(check(std::slice::from_ref(&before)), Ok(()), "what is gone is no danger");
        symlink(root.join("secrets"), root.join("tree")).unwrap();
        assert!(check(std::slice::from_ref(&before)).unwrap_err().contains("was replaced"));
        // A link that is there when the place is looked at is no less foreign.
        let after = place();
        assert_eq!(after.identity, None);
        assert!(check(&[after]).is_err());
    }
}
