//! Refuses, as the results directory of a command, a directory that serves something else: it would be writable inside, and swept afterwards.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use ash_model::path::printable;

use crate::{policy::trace::real_as_far_as_it_exists as real, site::TEMPORARIES};

/// Where programs and settings of the system lie: nobody's results do.
const SYSTEM: &[&str] = &[
    "/Applications",
    "/Library",
    "/System",
    "/bin",
    "/boot",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix",
    "/proc",
    "/sbin",
    "/snap",
    "/sys",
    "/usr/bin",
    "/usr/include",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/libexec",
    "/usr/local/bin",
    "/usr/local/etc",
    "/usr/local/lib",
    "/usr/local/sbin",
    "/usr/local/share",
    "/usr/sbin",
    "/usr/share",
];

/// Directories that many programs share. One of its own may lie in them.
const SHARED: &[&str] =
    &["/dev/shm", "/home", "/opt", "/root", "/run", "/Users", "/var/lib", "/var/log", "/var/tmp"];

/// Why a directory cannot be a command's results directory.
#[derive(Debug, thiserror::Error)]
pub enum ResultsRefused {
    /// The sandbox would write where the link leads.
    #[error("it is a symlink")]
    Link,
    /// Something that has to stay as it is.
    #[error("it is {0} or holds it, and would be writable inside, and swept")]
    Kept(&'static str),
    /// A directory of the system.
    #[error("it is one of the system's directories, and would be writable inside, and swept")]
    System,
    /// What a sweep would take from somebody.
    #[error("`{0}` was there before, and links and special files are removed from results")]
    Special(String),
    /// It cannot be looked at.
    #[error("it cannot be read: {0}")]
    Unreadable(#[from] io::Error),
}

/// Looks at a directory that an operator names, whether it exists already or not. `kept` is what it must not be or hold, and how that is called;
/// `temp` is the directory for temporary files.
///
/// # Errors
/// When it is a link, is or holds what is kept, is the system's, or has links or special files in it. What lies in a directory for temporary files
/// may have those, and the sweep after the command removes them.
pub fn refuse_results(
    path: &Path,
    kept: &[(&'static str, &Path)],
    temp: &Path,
) -> Result<(), ResultsRefused> {
    if path.is_symlink() {
        return Err(ResultsRefused::Link);
    }
    let results = real(path);
    let is_or_holds = |kept: &Path| real(kept).starts_with(&results);
    let temporary = ("the directory for temporary files", temp);
    if let Some((what, _)) = kept.iter().chain([&temporary]).find(|(_, kept)| is_or_holds(kept)) {
        return Err(ResultsRefused::Kept(what));
    }
    let systems = |dir: &Path| is_or_holds(dir) || results.starts_with(real(dir));
    if SYSTEM.iter().map(Path::new).any(systems) || SHARED.iter().map(Path::new).any(is_or_holds) {
        return Err(ResultsRefused::System);
    }
    let mut temporary = TEMPORARIES.iter().map(Path::new).chain([temp]);
    if path.exists() && !temporary.any(|temp| results.starts_with(real(temp))) {
        refuse_special(path)?;
    }
    Ok(())
}

/// Finds something that is neither a regular file nor a directory. No link is followed.
fn refuse_special(top: &Path) -> Result<(), ResultsRefused> {
    let mut pending: Vec<PathBuf> = vec![top.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                pending.push(entry.path());
            } else if !kind.is_file() {
                let found = entry.path();
                let shown = found.strip_prefix(top).unwrap_or(&found);
                return Err(ResultsRefused::Special(printable(shown.as_os_str())));
            }
        }
    }
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn refused(path: &Path, temp: &Path) -> Option<String> {
        let kept = [("the scanned directory", Path::new("/srv/code/app"))];
        refuse_results(path, &kept, temp).err().map(|refused| refused.to_string())
    }

    #[test]
    fn a_directory_of_the_system_is_refused_and_one_beside_it_is_not() {
        let nowhere = Path::new("/no/such/temp");
        for path in [
            "/",
            "/etc",
            "/etc/ash-results",
            "/usr",
            "/usr/lib/ash-results",
            "/usr/share/../bin",
            "/var",
            "/opt",
            "/srv/code",
            "/srv/code/app",
            "/proc/self",
            "/no/such/temp",
        ] {
            assert!(refused(Path::new(path), nowhere).is_some(), "{path}");
        }
        for path in [
            "/usr/src/ash-results-of-a-test",
            "/opt/ash-results-of-a-test/out",
            "/srv/code/app/ash-results-of-a-test",
            "/srv/code/apple",
            "/var/lib/ash-results-of-a-test",
        ] {
            assert_eq!(refused(Path::new(path), nowhere), None, "{path}");
        }
    }

    #[test]
    fn what_a_sweep_would_remove_is_not_there_before_but_in_places_for_temporary_files() {
        let dir = tempfile::tempdir().unwrap();
        let results = dir.path().join("results");
        fs::create_dir_all(results.join("deep/er")).unwrap();
        fs::write(results.join("deep/er/report.json"), "{}").unwrap();
        assert!(refuse_special(&results).is_ok());
        symlink("er", results.join("deep/link")).unwrap();
        let why = refuse_special(&results).unwrap_err().to_string();
        assert!(why.starts_with("`deep/link` was there before"), "{why}");
        assert_eq!(refused(&results, dir.path()), None);
        let link = dir.path().join("link");
        symlink(&results, &link).unwrap();
        assert_eq!(refused(&link, dir.path()).as_deref(), Some("it is a symlink"));
    }
}
