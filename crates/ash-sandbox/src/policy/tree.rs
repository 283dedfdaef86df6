//! The scanned data, recognised by file identity: a case twin, a bind mount or a link does not make it another directory.

use std::{
    cell::RefCell,
    collections::HashMap,
    path::{Path, PathBuf},
};

use super::trace::{self, Identity};

/// The directories a scan reads or writes: nothing in them may grant anything.
#[derive(Debug)]
pub(crate) struct Tree {
    roots: Vec<Identity>,
    /// The parents of 200 `PATH` entries are mostly the same few directories.
    seen: RefCell<HashMap<PathBuf, Option<Identity>>>,
    known: trace::Known,
}

impl Tree {
    pub(crate) fn new<'a>(roots: impl IntoIterator<Item = &'a Path>) -> Self {
        Self {
            roots: roots.into_iter().filter_map(identity).collect(),
            seen: RefCell::default(),
            known: trace::Known::default(),
        }
    }

    /// Whether a path lies in the tree by its spelling, by any link on its way, or by where it leads.
    pub(crate) fn touches(&self, spelled: &Path) -> bool {
        // What is seen on the way need not be looked at again for its identity.
        let traced = self.trace(spelled);
        if self.holds(spelled) {
            return true;
        }
        match traced {
            Ok(traced) => {
                self.holds(&traced.real) || traced.links.iter().any(|(place, _)| self.holds(place))
            }
            Err(_) => self.holds(&trace::real_as_far_as_it_exists(spelled)),
        }
    }

    /// Follows a path to something that exists; directories are looked at once.
    pub(crate) fn trace(&self, spelled: &Path) -> std::io::Result<trace::Traced> {
        self.known.trace(spelled)
    }

    /// Whether a path is one of the directories themselves.
    pub(crate) fn is_root(&self, path: &Path) -> bool {
        self.identity(path).is_some_and(|id| self.roots.contains(&id))
    }

    /// Whether a path lies in the tree by the directories it names.
    pub(crate) fn holds(&self, path: &Path) -> bool {
        path.ancestors().any(|dir| self.is_root(dir))
    }

    fn identity(&self, dir: &Path) -> Option<Identity> {
        if let Some(known) = self.known.identity(dir) {
            return Some(known);
        }
        if let Some(known) = self.seen.borrow().get(dir) {
            return known.as_ref().cloned();
        }
        let found = identity(dir);
        self.seen.borrow_mut().insert(dir.to_owned(), found.as_ref().cloned());
        found
    }
}

#[cfg(unix)]
fn identity(path: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino()))
}

#[cfg(not(unix))]
fn identity(path: &Path) -> Option<Identity> {
    std::fs::canonicalize(path).ok().map(|real| real.into_os_string().to_ascii_lowercase())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn a_path_is_in_the_tree_by_name_by_link_and_by_where_it_leads() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        fs::create_dir_all(root.join("tree/bin")).unwrap();
        fs::create_dir_all(root.join("tools")).unwrap();
        symlink("../tools", root.join("tree/out")).unwrap();
        symlink("tree/bin", root.join("in")).unwrap();
        symlink("tree", root.join("alias")).unwrap();
        let tree = Tree::new([root.join("alias").as_path()]);
        for inside in [
            "tree/bin",
            "in",
            "alias/bin",
            "tree/out",
            "tools/../tree/bin",
            "tree/bin/not-there",
            "in/../out",
        ] {
            assert!(tree.touches(&root.join(inside)), "{inside}");
        }
        assert!(!tree.touches(&root.join("tools")));
    }
}
