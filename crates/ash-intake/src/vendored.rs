//! Directories that no scan enters, because most often a package manager fills them, and what git tells of the code in them.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use ash_model::path::RelPath;

use crate::{
    index::{Index, LIMIT},
    rules::is_left_out,
};

/// So many submodules are asked, and no more.
const SUBMODULES: usize = 1000;

/// What is in such directories.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Vendored {
    /// How many files the repository and its submodules have there. A submodule that is there itself is one.
    pub tracked: u64,
    /// Those that hold something of which nothing tells whether it is the repository's, relative to the scanned directory.
    pub untold: Vec<PathBuf>,
}

impl Vendored {
    /// Judges the directories that a walk of the scanned directory did not enter.
    pub fn of(source: &Path, index: Option<&Index>, passed_over: &[PathBuf]) -> Self {
        let mut asked = Asked::default();
        let real = source.canonicalize();
        let source = real.as_deref().unwrap_or(source);
        match index {
            Some(index) if index.is_about_source() => asked.read(index, Path::new("")),
            _ => asked.untold.push(PathBuf::new()),
        }
        while let Some(at) = asked.submodules.pop() {
            let submodule = Index::of_checkout(&source.join(&at));
            match submodule.filter(|index| asked.bytes + index.len() <= LIMIT) {
                Some(index) => {
                    asked.bytes += index.len();
                    asked.read(&index, &at);
                    asked.told.insert(at);
                }
                None => asked.untold.push(at),
            }
        }
        let untold = passed_over.iter().filter(|path| !asked.tells(source, path));
        let untold = untold.filter(|path| holds_something(&source.join(path))).cloned().collect();
        Self { tracked: asked.tracked, untold }
    }
}

/// What the indexes that were read have told.
#[derive(Debug, Default)]
struct Asked {
    tracked: u64,
    /// Submodules still to be read.
    submodules: Vec<PathBuf>,
    /// Every submodule that was met.
    met: BTreeSet<PathBuf>,
    /// Submodules whose index was read.
    told: BTreeSet<PathBuf>,
    /// Directories below which nothing is told.
    untold: Vec<PathBuf>,
    /// The length of the submodules' indexes so far.
    bytes: u64,
}

impl Asked {
    /// Reads the index of the checkout at a path relative to the scanned directory.
    fn read(&mut self, index: &Index, at: &Path) {
        for (is_submodule, path) in index.in_source() {
            let path = at.join(path);
            let is_dir = |above: usize| above > 0 || is_submodule;
            if path.ancestors().enumerate().any(|(above, path)| is_left_out(path, is_dir(above))) {
                self.tracked += 1;
            } else if is_submodule && RelPath::new(&path).is_ok() && self.met.insert(path.clone()) {
                let list = if self.met.len() > SUBMODULES {
                    &mut self.untold
                } else {
                    &mut self.submodules
                };
                list.push(path);
            }
        }
    }

    /// Whether an index tells which files of a directory are the repository's. A checkout inside that is no submodule has an index of its
    /// own, which may have come from anywhere.
    fn tells(&self, source: &Path, path: &Path) -> bool {
        let is_checkout =
            |above: &&Path| source.join(above).join(".git").symlink_metadata().is_ok();
        let above = path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
        let nearest = above.into_iter().find(is_checkout);
        nearest.is_none_or(|checkout| self.told.contains(checkout))
            && !self.untold.iter().any(|untold| path.starts_with(untold))
    }
}

/// Whether a directory has anything in it, if it is one.
fn holds_something(path: &Path) -> bool {
    fs::read_dir(path).map_or(true, |mut entries| entries.next().is_some())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::index::{SUBMODULE, testing::index};

    const FILE: u32 = 0o100_644;

    /// A git directory with this index.
    fn git(at: &Path, listed: &[(u32, &str)]) {
        fs::create_dir_all(at).unwrap();
        fs::write(at.join("index"), index(2, listed, 20)).unwrap();
    }

    fn judged(source: &Path, passed_over: &[&str]) -> (u64, Vec<String>) {
        let passed_over: Vec<PathBuf> = passed_over.iter().map(PathBuf::from).collect();
        let index = Index::around(source);
        let found = Vendored::of(source, index.as_ref(), &passed_over);
        (found.tracked, found.untold.iter().map(|path| path.display().to_string()).collect())
    }

    #[test]
    fn what_a_repository_has_in_directories_no_scan_enters_is_counted() {
        let listed = [
            (FILE, "app/.venv/lib/x.py"),
            (FILE, "app/a/venv/x.py"),
            (FILE, "app/cdk.out/asset.1/index.js"),
            (FILE, "app/cdk.out/asset.2.zip"),
            (SUBMODULE, "app/node_modules"),
            (FILE, "app/cdk.out/stack.template.json"),
            (FILE, "app/docs/node_modules"),
            (FILE, "app/main.py"),
            (FILE, "app/my_venv/main.py"),
            (FILE, "node_modules/x/a.js"),
        ];
        let lab = tempfile::tempdir().unwrap();
        let app = lab.path().join("app");
        fs::create_dir_all(app.join("a/venv/lib")).unwrap();
        fs::create_dir_all(app.join("empty/venv")).unwrap();
        let on_disk = ["a/venv", "empty/venv"];
        let nothing_told = (0, vec!["a/venv".to_owned()]);
        assert_eq!(judged(&app, &on_disk), nothing_told);
        fs::create_dir(lab.path().join(".git")).unwrap();
        for hash in [20, 32] {
            let bytes = index(3, &listed, hash);
            fs::write(lab.path().join(".git/index"), &bytes).unwrap();
            assert_eq!(judged(&app, &on_disk), (5, vec![]), "hashes of {hash} bytes");
            assert_eq!(judged(lab.path(), &["app/a/venv"]), (6, vec![]));
            fs::write(lab.path().join(".git/index"), &bytes[..bytes.len() / 2]).unwrap();
            assert_eq!(judged(&app, &on_disk), nothing_told, "half an index tells nothing");
        }
        git(&lab.path().join(".git"), &[(FILE, "README"), (FILE, "app.py")]);
        assert_eq!(judged(&app, &on_disk), nothing_told, "it has nothing to do with the directory");
    }

    #[test]
    fn submodules_are_asked_too() {
        let lab = tempfile::tempdir().unwrap();
        let root = lab.path().canonicalize().unwrap();
        for path in ["sub/venv/lib", "sub/deep/venv/lib", "venv/lib"] {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        let link = |checkout: &str, module: &str, up: &str, listed: &[(u32, &str)]| {
            let module = root.join(".git").join(module);
            git(&module, listed);
            let place = format!("[core]\n\tworktree = {up}{checkout}\n");
            fs::write(module.join("config"), place).unwrap();
            let text = format!("gitdir: {}\n", module.display());
            fs::write(root.join(checkout).join(".git"), text).unwrap();
        };
        let outer = [
            (FILE, "a.py"),
            (SUBMODULE, "gone"),
            (SUBMODULE, "sub"),
            (SUBMODULE, "../sub"),
            (SUBMODULE, "link"),
        ];
        git(&root.join(".git"), &outer);
        let on_disk = ["sub/deep/venv", "sub/venv", "venv"];
        let both = ["sub/deep/venv", "sub/venv"].map(str::to_owned).to_vec();
        assert_eq!(judged(&root, &on_disk), (0, both.clone()), "a submodule without an index");
        let inner = [(FILE, "venv/lib/e.py"), (FILE, "ok.py"), (SUBMODULE, "deep")];
        link("sub", "modules/sub", "../../../", &inner);
        let deep = vec!["sub/deep/venv".to_owned()];
        assert_eq!(judged(&root, &on_disk), (1, deep));
        let own = root.join("sub");
        assert_eq!(judged(&own, &["deep/venv", "venv"]), (1, vec!["deep/venv".to_owned()]));
        let deepest = [(FILE, "venv/lib/f.py"), (FILE, "venv/lib/g.py"), (FILE, "h.py")];
        link("sub/deep", "modules/sub/modules/deep", "../../../../../", &deepest);
        assert_eq!(judged(&root, &on_disk), (3, vec![]));
        assert_eq!(judged(&own, &["deep/venv", "venv"]), (3, vec![]));
        // A checkout that is no submodule, and a submodule that a link leads to.
        git(&root.join("clone/.git"), &[(FILE, "venv/lib/x.py")]);
        symlink("clone", root.join("link")).unwrap();
        fs::create_dir_all(root.join("clone/venv/lib")).unwrap();
        assert_eq!(judged(&root, &["clone/venv"]), (3, vec!["clone/venv".to_owned()]));
        fs::rename(&own, root.join("moved")).unwrap();
        symlink("moved", &own).unwrap();
        assert_eq!(judged(&root, &on_disk), (0, both));
    }
}
