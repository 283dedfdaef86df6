//! The directories of one row.

use std::{
    ffi::OsString,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use super::{Make, Row};

/// Directories: `repo` a checkout, with `repo/app` in it; `ops` the operator's; `plain` no checkout; `other` an unrelated checkout;
/// `home` the operator's home, with `home/ca`.
#[derive(Debug)]
pub struct Lab {
    root: PathBuf,
}

impl Lab {
    /// Builds the directories of a row in an empty directory. Bind mounts are left to the caller.
    pub fn plant(directory: &Path, row: &Row) -> Self {
        let lab = Self { root: directory.canonicalize().unwrap() };
        assert!(
            lab.root.ancestors().all(|dir| dir.join(".git").symlink_metadata().is_err()),
            "the temporary directory lies in a checkout: every row would pass for the wrong reason"
        );
        for path in ["repo/.git", "repo/app/.ash", "ops", "plain", "other/.git", "home/ca"] {
            fs::create_dir_all(lab.at(path)).unwrap();
        }
        row.make.iter().for_each(|step| lab.make(step));
        lab
    }

    fn make(&self, step: &Make) {
        match *step {
            Make::InRepo(text) => fs::write(self.at("repo/.ash.yaml"), text).unwrap(),
            Make::File(path, text) => {
                let path = self.at(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            Make::Link(path, target) => symlink(target, self.at(path)).unwrap(),
            Make::HardLink(path, target) => {
                fs::hard_link(self.at(target), self.at(path)).unwrap();
            }
            Make::Dir(path) => fs::create_dir_all(self.at(path)).unwrap(),
            Make::Gone(path) => fs::remove_dir_all(self.at(path)).unwrap(),
            Make::Bind(from, to) => {
                assert!(self.at(from).exists() && self.at(to).exists(), "{from} or {to}");
            }
        }
    }

    /// A path below the root.
    pub fn at(&self, path: &str) -> PathBuf {
        if path.is_empty() { self.root.clone() } else { self.root.join(path) }
    }

    /// A path as it is typed: one that begins with `.` stays as it is.
    pub fn typed(&self, path: &str) -> PathBuf {
        let typed = Path::new(path);
        let is_relative = typed.starts_with(".") || typed.starts_with("..");
        if is_relative { typed.to_owned() } else { self.at(path) }
    }

    /// A variable of the operator's environment.
    pub fn variable(&self, name: &str) -> Option<OsString> {
        (name == "CA").then(|| self.at("home/ca").into())
    }
}

impl Row {
    /// What is to be mounted where, below the root of the [`Lab`].
    pub fn binds(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.make.iter().filter_map(|step| match *step {
            Make::Bind(from, to) => Some((from, to)),
            _ => None,
        })
    }
}
