//! What a backend that decides by itself what it hides may have left out: links are made up for, what was granted is missed.

use std::{ffi::OsString, fs, io, os::unix::fs::symlink, path::Path};

/// Makes sure that everything granted is there.
///
/// # Errors
/// What is not, and what to do.
pub(super) fn are_shown(paths: &[OsString]) -> Result<(), String> {
    for path in paths.iter().map(Path::new) {
        // What this user may not look at is no different outside.
        if fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            return Err(format!(
                "`{}` is granted, and the backend does not show it: use another `--sandbox` backend",
                path.display()
            ));
        }
    }
    Ok(())
}

/// Makes each link that is not there. One that is must lead where it did when the sandbox was prepared: whoever replaced it since would have had
/// the backend show something else.
///
/// # Errors
/// Which link cannot be had, and what to do.
pub(super) fn make(links: &[(OsString, OsString)]) -> Result<(), String> {
    for (place, real) in links {
        let (place, real) = (Path::new(place), Path::new(real));
        one(place, real).map_err(|reason| {
            format!(
                "the link `{}` cannot be shown: {reason}; name `{}` instead, or use another `--sandbox` backend",
                place.display(),
                real.display()
            )
        })?;
    }
    Ok(())
}

fn one(place: &Path, real: &Path) -> Result<(), String> {
    match fs::read_link(place) {
        Ok(found) if found == real => return Ok(()),
        Ok(found) => {
            return Err(format!(
                "it was replaced while the sandbox was prepared, and leads to `{}`",
                found.display()
            ));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error.to_string()),
    }
    let made =
        place.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| symlink(real, place));
    made.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_link_is_made_and_one_that_leads_elsewhere_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name).into_os_string();
        make(&[(at("a/b/link"), at("real"))]).unwrap();
        assert_eq!(fs::read_link(at("a/b/link")).unwrap(), at("real"));
        make(&[(at("a/b/link"), at("real"))]).unwrap();
        let error = make(&[(at("a/b/link"), at("other"))]).unwrap_err();
        assert!(error.contains("was replaced") && error.contains("name `"), "{error}");
        fs::write(at("file"), "").unwrap();
        assert!(make(&[(at("file"), at("real"))]).unwrap_err().contains("cannot be shown"));
    }

    #[test]
    fn what_was_granted_and_is_not_there_is_missed() {
        let dir = tempfile::tempdir().unwrap();
        let there = dir.path().to_owned().into_os_string();
        assert_eq!(are_shown(std::slice::from_ref(&there)), Ok(()));
        let gone = dir.path().join("gone").into_os_string();
        assert!(are_shown(&[there, gone]).unwrap_err().contains("gone` is granted"));
    }
}
