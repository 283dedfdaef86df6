//! Where the git directory of a checkout is. Git itself is never asked.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use ash_model::path::os_string;

use crate::reader::{open_no_follow, read_bounded};

/// Longer files of git are not read.
const LIMIT: u64 = 64 << 10;

/// The git directory of a checkout, whose path is real. `.git` is that directory, or a file with its place, as in submodules and worktrees.
/// Whoever made the checkout may write any place there, so it must say the same of itself: that this is its checkout. Otherwise a tree
/// could borrow the index of a repository it has nothing to do with.
pub(crate) fn of(checkout: &Path) -> Option<PathBuf> {
    let entry = checkout.join(".git");
    let kind = entry.symlink_metadata().ok()?;
    if kind.is_dir() {
        return Some(entry);
    }
    let place = path(read(&entry)?.strip_prefix(b"gitdir: ")?);
    let git = checkout.join(place).canonicalize().ok()?;
    let is_same = |said: PathBuf, own: &Path| said.canonicalize().is_ok_and(|said| said == own);
    // A worktree's: a file with the place of its `.git`, which may be relative to the git directory.
    let of_worktree = read(&git.join("gitdir")).map(|text| git.join(path(&text)));
    let of_submodule = worktree(&git).map(|place| git.join(place));
    let is_its_own = of_worktree.is_some_and(|said| is_same(said, &entry))
        || of_submodule.is_some_and(|said| is_same(said, checkout));
    is_its_own.then_some(git)
}

fn read(path: &Path) -> Option<Vec<u8>> {
    read_bounded(open_no_follow(path).ok()?, LIMIT).ok()
}

/// A path that ends with the line.
fn path(text: &[u8]) -> OsString {
    os_string(text.trim_ascii_end().to_vec())
}

/// `core.worktree`, where it is written plainly, as git does it: a value with quotes is not understood.
fn worktree(git: &Path) -> Option<OsString> {
    let config = read(&git.join("config"))?;
    let mut section: &[u8] = b"";
    let mut found = None;
    for line in config.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii) {
        if line.starts_with(b"[") {
            section = line;
        } else if section == b"[core]"
            && let Some(rest) = line.strip_prefix(b"worktree")
            && let Some(value) = rest.trim_ascii_start().strip_prefix(b"=")
        {
            found = Some(path(value.trim_ascii_start()));
        }
    }
    found
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn a_file_in_the_place_of_the_git_directory_is_believed_if_both_say_so() {
        let lab = tempfile::tempdir().unwrap();
        let root = lab.path().canonicalize().unwrap();
        let (checkout, git) = (root.join("sub"), root.join("modules/sub"));
        for directory in [&checkout, &root.join("other"), &git] {
            fs::create_dir_all(directory).unwrap();
        }
        let entry = checkout.join(".git");
        let found = || of(&checkout).is_some_and(|found| found == git);
        let config = |text: &str| fs::write(git.join("config"), text).unwrap();
        fs::write(&entry, "gitdir: ../modules/sub\n").unwrap();
        assert!(!found(), "it says nothing of a checkout");
        config("[core]\n\tbare = false\n\tworktree = ../../sub\n[remote \"x\"]\n\turl = y\n");
        assert!(found());
        for other in [
            "[core]\n\tworktree = ../../other\n",
            "[core]\n\tworktree = ../../gone\n",
            "[other]\n\tworktree = ../../sub\n",
            "[core]\n\tworktrees = ../../sub\n",
            "[core]\n\tworktree = ../../sub\n\tworktree = ../../other\n",
        ] {
            config(other);
            assert!(!found(), "{other}");
        }
        fs::write(git.join("gitdir"), format!("{}\n", entry.display())).unwrap();
        assert!(found(), "a worktree");
        for other in ["gitdir: ../modules/gone\n", "../modules/sub\n", "", "gitdir: \n"] {
            fs::write(&entry, other).unwrap();
            assert_eq!(of(&checkout), None, "{other}");
        }
        let long = format!("gitdir: {}modules/sub\n", "../sub/".repeat(10_000));
        fs::write(&entry, long).unwrap();
        assert_eq!(of(&checkout), None, "too long");
        fs::remove_file(&entry).unwrap();
        symlink(&git, &entry).unwrap();
        assert_eq!(of(&checkout), None, "a link");
        fs::remove_file(&entry).unwrap();
        fs::create_dir(&entry).unwrap();
        assert_eq!(of(&checkout), Some(entry));
    }
}
