//! Splits a readable directory so that something in it stays unreadable where nothing can be mounted over it: Landlock can only add.

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
};

/// Far more than `/etc` holds; beyond it the directory is left out, which fails closed.
const MAX_ENTRIES: usize = 20_000;

/// A readable directory as the parts of it that may be read.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Unfolded {
    /// The directory.
    pub(crate) dir: PathBuf,
    /// What beneath it may be read. Links are left out: a rule would grant what they lead to.
    pub(crate) parts: Vec<PathBuf>,
    /// Whether the names in it may be listed: not where a home lies in it.
    pub(crate) list: bool,
}

/// Splits every directory that contains something hidden. `hidden` and `home` are real paths; `visible` are the scanned directories, which
/// are shown whole but for host secrets.
pub(crate) fn unfold(
    readable: &[PathBuf],
    hidden: &[PathBuf],
    home: Option<&Path>,
) -> Vec<Unfolded> {
    let within = |dir: &Path, path: &Path| path.starts_with(dir);
    let above: HashSet<&Path> =
        hidden.iter().map(PathBuf::as_path).chain(home).flat_map(Path::ancestors).collect();
    let mut unfolded = vec![];
    for dir in readable.iter().filter(|dir| above.contains(dir.as_path())) {
        let home = home.filter(|home| within(dir, home) && *home != dir);
        let secrets: Vec<&Path> = hidden
            .iter()
            .map(PathBuf::as_path)
            .filter(|path| within(dir, path))
            .chain(home)
            .collect();
        if secrets.is_empty() {
            continue;
        }
        let mut parts = vec![];
        split(dir, &secrets, &mut parts);
        unfolded.push(Unfolded { dir: dir.clone(), parts, list: home.is_none() });
    }
    unfolded
}

fn split(dir: &Path, secrets: &[&Path], parts: &mut Vec<PathBuf>) {
    let hidden: HashSet<&Path> = secrets.iter().copied().collect();
    let above: HashSet<&Path> =
        secrets.iter().flat_map(|secret| secret.ancestors().skip(1)).collect();
    let mut pending = vec![dir.to_owned()];
    while let Some(dir) = pending.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let path = entry.path();
            let plain = entry.file_type().is_ok_and(|kind| kind.is_file() || kind.is_dir());
            if !plain || hidden.contains(path.as_path()) {
                continue;
            }
            if above.contains(path.as_path()) {
                pending.push(path);
            } else if parts.len() < MAX_ENTRIES {
                parts.push(path);
            }
        }
    }
    parts.sort();
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[test]
    fn everything_but_the_hidden_and_links_remains() {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        fs::create_dir_all(root.join("ssh")).unwrap();
        for file in ["passwd", "shadow", "ssh/config", "ssh/key"] {
            fs::write(root.join(file), "").unwrap();
        }
        std::os::unix::fs::symlink("/", root.join("link")).unwrap();
        let unfolded =
            unfold(std::slice::from_ref(&root), &[root.join("shadow"), root.join("ssh/key")], None);
        assert_eq!(
            unfolded,
            [Unfolded {
                dir: root.clone(),
                parts: vec![root.join("passwd"), root.join("ssh/config")],
                list: true
            }]
        );
    }

    #[test]
    fn a_directory_without_secrets_stays_whole_and_one_with_the_home_is_not_listed() {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        fs::create_dir_all(root.join("home/.ssh")).unwrap();
        fs::create_dir_all(root.join("tool")).unwrap();
        assert!(unfold(std::slice::from_ref(&root), &[], None).is_empty());
        let unfolded = unfold(std::slice::from_ref(&root), &[], Some(&root.join("home")));
        assert_eq!(
            unfolded,
            [Unfolded { dir: root.clone(), parts: vec![root.join("tool")], list: false }]
        );
    }
}
