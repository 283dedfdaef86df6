//! ash's own results, where they lie in the scanned tree: those this scan writes, and those of earlier scans.

use std::{
    fs::{self, FileType},
    path::Path,
};

use ash_model::{
    path::RelPath,
    results::{AGGREGATED, DEFAULT_OUTPUT, DIRECTORIES, FILES, FORMER_OUTPUT},
};

use crate::index::Index;

/// The output directories inside the scanned directory.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct OwnResults {
    directories: Vec<RelPath>,
}

/// What lay under the names of ash's results before the scan began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Earlier {
    /// The output directory, relative to the scanned one.
    pub directory: RelPath,
    /// How many files; no more than [`COUNTED`] are counted.
    pub files: u64,
    /// Whether git's index tells that the scanned repository has none of them: then they are certainly no code under review. It tells so only
    /// where it has something in the scanned directory: an archive that was unpacked inside a checkout is no part of that.
    pub untracked: bool,
}

/// Files are counted up to this many.
pub const COUNTED: u64 = 10_000;

impl OwnResults {
    /// The output directory of this scan, if it lies inside, the default one, and the one of former versions of the Python tool where
    /// that holds results.
    ///
    /// An output directory that is the scanned directory itself has no own place inside it.
    pub fn within(source: &Path, output: &Path) -> Self {
        let default = RelPath::new(DEFAULT_OUTPUT).ok();
        let former = RelPath::new(FORMER_OUTPUT).ok().filter(|directory| {
            let results = source.join(directory.as_path()).join(AGGREGATED);
            results.symlink_metadata().is_ok_and(|meta| meta.is_file())
        });
        let mut directories: Vec<RelPath> =
            [inside(source, output), default, former].into_iter().flatten().collect();
        directories.sort();
        directories.dedup();
        Self { directories }
    }

    /// The output directories, relative to the scanned one.
    pub fn directories(&self) -> &[RelPath] {
        &self.directories
    }

    /// Whether a path is one of ash's results, or lies in one. A directory with the name of a result file is none.
    pub fn hold(&self, path: &Path, is_dir: bool) -> bool {
        self.directories.iter().any(|directory| {
            path.strip_prefix(directory.as_path()).is_ok_and(|below| {
                let is = |name: &&str| below == Path::new(name) && is_own_file(directory, name);
                DIRECTORIES.iter().any(|name| below.starts_with(name))
                    || (!is_dir && FILES.iter().any(is))
            })
        })
    }

    /// Whether a path is an output directory itself.
    pub(crate) fn are_in(&self, path: &Path) -> bool {
        self.directories.iter().any(|directory| directory.as_path() == path)
    }

    /// What is already there, before this scan writes anything. Without an index nothing shows what is not of the repository.
    pub fn earlier(&self, source: &Path, index: Option<&Index>) -> Vec<Earlier> {
        let found = |directory: &RelPath| {
            let place = source.join(directory.as_path());
            let there =
                DIRECTORIES.iter().chain(FILES.iter().filter(|name| is_own_file(directory, name)));
            let files =
                there.map(|name| count(&place.join(name), COUNTED)).sum::<u64>().min(COUNTED);
            (files > 0).then(|| Earlier {
                directory: directory.clone(),
                files,
                untracked: index
                    .is_some_and(|index| index.is_about_source() && !index.lists(directory)),
            })
        };
        self.directories.iter().filter_map(found).collect()
    }
}

/// ash writes an ignore file into the default output directory only; elsewhere it is the tree's.
fn is_own_file(directory: &RelPath, name: &str) -> bool {
    name != ".gitignore" || directory.as_path() == Path::new(DEFAULT_OUTPUT)
}

/// The path of a directory below the source, both real.
fn inside(source: &Path, directory: &Path) -> Option<RelPath> {
    let below =
        directory.canonicalize().ok()?.strip_prefix(source.canonicalize().ok()?).ok()?.to_owned();
    RelPath::new(below).ok()
}

/// The files at a path and below, without following a link; a link is one.
fn count(path: &Path, limit: u64) -> u64 {
    let Ok(meta) = path.symlink_metadata() else { return 0 };
    if !meta.is_dir() {
        return 1;
    }
    let mut seen = 0;
    let mut left = vec![path.to_owned()];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            if entry.file_type().as_ref().is_ok_and(FileType::is_dir) {
                left.push(entry.path());
            } else {
                seen += 1;
            }
            if seen >= limit {
                return seen;
            }
        }
    }
    seen
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::index::testing;

    const FILE: u32 = 0o100_644;

    fn lab(files: &[&str]) -> tempfile::TempDir {
        let lab = tempfile::tempdir().unwrap();
        for path in files {
            let path = lab.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        lab
    }

    fn names(own: &OwnResults) -> Vec<String> {
        own.directories().iter().map(RelPath::printable).collect()
    }

    #[test]
    fn the_default_place_is_always_one_and_others_are_by_what_they_are() {
        let elsewhere = tempfile::tempdir().unwrap();
        let tree = lab(&["out/x", "ash_output/x"]);
        let source = tree.path();
        assert_eq!(names(&OwnResults::within(source, elsewhere.path())), [DEFAULT_OUTPUT]);
        symlink("out", source.join("alias")).unwrap();
        assert_eq!(
            names(&OwnResults::within(source, &source.join("alias"))),
            [DEFAULT_OUTPUT, "out"]
        );
        assert_eq!(names(&OwnResults::within(source, source)), [DEFAULT_OUTPUT]);
        fs::write(source.join("ash_output").join(AGGREGATED), "{}").unwrap();
        assert_eq!(
            names(&OwnResults::within(source, elsewhere.path())),
            [DEFAULT_OUTPUT, FORMER_OUTPUT]
        );
    }

    #[test]
    fn only_what_has_the_name_of_a_result_is_ashs() {
        let tree = lab(&["out/x"]);
        let own = OwnResults::within(tree.path(), &tree.path().join("out"));
        for path in [
            ".ash/ash_output/scanners/bandit/source/bandit.json",
            ".ash/ash_output/.gitignore",
            "out/reports",
            "out/ash_aggregated_results.json",
        ] {
            assert!(own.hold(Path::new(path), false), "{path}");
        }
        for path in [
            ".ash/ash_output",
            ".ash/ash_output/evil.py",
            ".ash/ash_output/reports.py",
            ".ash/ash_output/ash.log/evil.py",
            "out/.gitignore",
            "out/evil/reports/x.py",
            "reports/x.py",
            "scanners",
        ] {
            assert!(!own.hold(Path::new(path), false), "{path}");
        }
        assert!(!own.hold(Path::new("out/ash.log"), true), "results files are no directories");
    }

    #[test]
    fn what_is_there_already_is_counted_and_only_git_can_say_that_it_is_no_code() {
        let tree = lab(&[
            "app/.ash/ash_output/scanners/evil.py",
            "app/.ash/ash_output/ash.log",
            "app/.ash/ash_output/evil.py",
            "app/.ash/ash_output/.gitignore",
        ]);
        let source = tree.path().join("app");
        let own = OwnResults::within(&source, Path::new("/"));
        let untracked = || {
            let earlier = own.earlier(&source, Index::around(&source).as_ref());
            assert_eq!((earlier.len(), earlier[0].files), (1, 3));
            earlier[0].untracked
        };
        assert!(!untracked(), "there is no repository");
        let git = tree.path().join(".git");
        fs::create_dir(&git).unwrap();
        assert!(!untracked(), "there is no index");
        let index = |version: u8, name: &str| {
            let listed = [(FILE, "app/main.py"), (FILE, name)];
            fs::write(git.join("index"), testing::index(version, &listed, 20)).unwrap();
        };
        index(2, "z");
        assert!(untracked());
        index(3, "app/.ash/.ash.yaml");
        assert!(untracked());
        let elsewhere = [(FILE, "README"), (FILE, "app.py"), (FILE, "lib/app/x.py")];
        fs::write(git.join("index"), testing::index(2, &elsewhere, 20)).unwrap();
        assert!(!untracked(), "the repository has nothing of what is scanned");
        index(2, "app/.ash/ash_output/scanners/evil.py");
        assert!(!untracked());
        index(2, "app/.ASH/ash_OUTPUT/scanners/evil.py");
        assert!(!untracked(), "letter case may be the file system's");
        index(4, "z");
        assert!(!untracked(), "names are shortened in version 4");
        index(2, "z");
        fs::write(git.join("sharedindex.0"), "").unwrap();
        assert!(!untracked(), "the names are elsewhere");
        fs::remove_file(git.join("sharedindex.0")).unwrap();
        assert!(untracked(), "the control");
        fs::rename(&git, tree.path().join("g")).unwrap();
        symlink("g", &git).unwrap();
        assert!(!untracked(), "a link may lead anywhere");
        assert_eq!(OwnResults::within(tree.path(), Path::new("/")).earlier(tree.path(), None), []);
    }

    #[test]
    fn what_lies_in_a_submodule_a_link_or_a_sparse_directory_is_tracked() {
        let tree = lab(&["app/.ash/ash_output/scanners/evil.py"]);
        let source = tree.path().join("app");
        let git = tree.path().join(".git");
        fs::create_dir(&git).unwrap();
        let untracked = |entry: &str| {
            let bytes = testing::index(3, &[(FILE, "app/z"), (FILE, entry)], 20);
            fs::write(git.join("index"), bytes).unwrap();
            let index = Index::around(&source).unwrap();
            OwnResults::within(&source, Path::new("/")).earlier(&source, Some(&index))[0].untracked
        };
        for entry in ["app", "app/.ash", "app/.ash/", "app/.ash/ash_output", "APP/.Ash"] {
            assert!(!untracked(entry), "{entry}");
        }
        for entry in ["my.app", "app/app", "lib/app/.ash", "app/.ash.yaml", "app/.ashes", "ap"] {
            assert!(untracked(entry), "{entry}");
        }
    }
}
