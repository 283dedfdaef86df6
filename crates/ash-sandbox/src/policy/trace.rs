//! Follows a path the way the kernel does and remembers every link on the way, so that the same spelling works inside a sandbox.

use std::{
    cell::RefCell,
    collections::HashMap,
    io,
    path::{Path, PathBuf},
};
#[cfg(unix)]
use std::{
    collections::VecDeque, ffi::OsString, fs, os::unix::fs::MetadataExt as _, path::Component,
};

/// As many as the kernel follows.
#[cfg(unix)]
const MAX_LINKS: usize = 40;

/// What a path leads to and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Traced {
    /// The path without any link.
    pub(crate) real: PathBuf,
    /// Every link followed: where it really is, and its text.
    pub(crate) links: Vec<(PathBuf, PathBuf)>,
    /// Where the last component was a link: each name the file itself goes by, first to last, `real` excluded.
    pub(crate) hops: Vec<PathBuf>,
}

/// Which file a name leads to: device and inode.
#[cfg(unix)]
pub(crate) type Identity = (u64, u64);
/// Which file a name leads to: the canonical path in one letter case, as Windows compares names.
#[cfg(not(unix))]
pub(crate) type Identity = std::ffi::OsString;

/// Names that were seen to exist and to be no links, with no link above them, so that hundreds of paths below the same directories are
/// followed fast.
#[derive(Debug, Default)]
pub(crate) struct Known(RefCell<HashMap<PathBuf, Identity>>);

impl Known {
    /// Which file a name that was seen leads to.
    pub(crate) fn identity(&self, path: &Path) -> Option<Identity> {
        self.0.borrow().get(path).map(Identity::to_owned)
    }

    /// Follows an absolute path to something that exists.
    pub(crate) fn trace(&self, path: &Path) -> io::Result<Traced> {
        if let Some((real, _)) = self.0.borrow().get_key_value(path) {
            return Ok(Traced { real: real.clone(), links: vec![], hops: vec![] });
        }
        let (traced, rest) = follow(path, self)?;
        match rest {
            None => Ok(traced),
            Some(error) => Err(error),
        }
    }
}

/// Follows an absolute path to something that exists.
pub(crate) fn trace(path: &Path) -> io::Result<Traced> {
    Known::default().trace(path)
}

/// Follows as far as something exists; what is missing is appended as spelled.
pub(crate) fn trace_what_exists(path: &Path) -> Option<Traced> {
    follow(path, &Known::default()).ok().map(|(traced, _)| traced)
}

/// The real path of the existing part, and the rest as it is spelled.
pub(crate) fn real_as_far_as_it_exists(path: &Path) -> PathBuf {
    follow(path, &Known::default()).map_or_else(|_| path.to_owned(), |(traced, _)| traced.real)
}

#[cfg(not(unix))]
fn follow(path: &Path, _: &Known) -> io::Result<(Traced, Option<io::Error>)> {
    let traced = |real| Traced { real, links: vec![], hops: vec![] };
    match std::fs::canonicalize(path) {
        Ok(real) => Ok((traced(real), None)),
        Err(error) => Ok((traced(path.to_owned()), Some(error))),
    }
}

/// Where nothing exists the rest is appended lexically and the reason returned beside it.
#[cfg(unix)]
fn follow(path: &Path, known: &Known) -> io::Result<(Traced, Option<io::Error>)> {
    if !path.is_absolute() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path is not absolute"));
    }
    let mut pending: VecDeque<OsString> = names(path);
    let mut traced = Traced { real: PathBuf::from("/"), links: vec![], hops: vec![] };
    let mut missing = None;
    while let Some(name) = pending.pop_front() {
        if name == ".." {
            traced.real.pop();
            continue;
        }
        let here = traced.real.join(&name);
        if missing.is_some() || known.0.borrow().contains_key(&here) {
            traced.real = here;
            continue;
        }
        match fs::symlink_metadata(&here) {
            Ok(meta) if meta.is_symlink() => {
                if traced.links.len() == MAX_LINKS {
                    return Err(io::Error::other("too many levels of symbolic links"));
                }
                let text = fs::read_link(&here)?;
                if pending.is_empty() {
                    traced.hops.push(here.clone());
                }
                if text.is_absolute() {
                    traced.real = PathBuf::from("/");
                }
                for part in names(&text).into_iter().rev() {
                    pending.push_front(part);
                }
                traced.links.push((here, text));
            }
            Ok(meta) => {
                known.0.borrow_mut().insert(here.clone(), (meta.dev(), meta.ino()));
                traced.real = here;
            }
            Err(error) => {
                traced.real = here;
                missing = Some(error);
            }
        }
    }
    Ok((traced, missing))
}

#[cfg(unix)]
fn names(path: &Path) -> VecDeque<OsString> {
    let name = |component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    };
    path.components().filter_map(name).collect()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn every_hop_and_every_linked_directory_is_remembered() {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        fs::create_dir_all(root.join("v1/bin")).unwrap();
        fs::write(root.join("v1/bin/tool-1"), "").unwrap();
        symlink("tool-1", root.join("v1/bin/tool")).unwrap();
        symlink("v1", root.join("current")).unwrap();
        let traced = trace(&root.join("current/bin/../bin/tool")).unwrap();
        assert_eq!(traced.real, root.join("v1/bin/tool-1"));
        assert_eq!(traced.hops, [root.join("v1/bin/tool")]);
        assert_eq!(
            traced.links,
            [(root.join("current"), "v1".into()), (root.join("v1/bin/tool"), "tool-1".into())]
        );
    }

    #[test]
    fn dot_dot_after_a_link_steps_up_from_where_the_link_leads() {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::create_dir_all(root.join("c")).unwrap();
        symlink("../a/b", root.join("c/l")).unwrap();
        assert_eq!(trace(&root.join("c/l/..")).unwrap().real, root.join("a"));
    }

    #[test]
    fn a_loop_is_an_error_and_a_missing_tail_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        assert!(trace(&root.join("loop")).is_err());
        assert!(trace(&root.join("no/such")).is_err());
        assert_eq!(real_as_far_as_it_exists(&root.join("no/such")), root.join("no/such"));
        assert!(trace(Path::new("relative")).is_err());
    }
}
