//! Where a configuration is looked for when nobody names one.

use std::path::{Path, PathBuf};

use crate::{formats, formats::Format, read};

const NAMES: [&str; 6] = [".ash.yml", ".ash.yaml", ".ash.json", "ash.yml", "ash.yaml", "ash.json"];
const ROOT_NAMES: [&str; 8] = [
    ".ashrc.toml",
    ".ashrc.yaml",
    ".ashrc.yml",
    ".ashrc.json",
    "ashrc.toml",
    "ashrc.yaml",
    "ashrc.yml",
    "ashrc.json",
];

/// Every configuration present, best first: the first is used, the others are ignored. Sources are never merged.
pub(crate) fn candidates(root: &Path) -> Vec<PathBuf> {
    let both = NAMES.iter().flat_map(|name| [root.join(name), root.join(".ash").join(name)]);
    let rest = ROOT_NAMES.iter().map(|name| root.join(name));
    let mut found: Vec<PathBuf> = both.chain(rest).filter(|path| exists(path)).collect();
    let pyproject = root.join("pyproject.toml");
    if exists(&pyproject) && declares_ash(&pyproject) {
        found.push(pyproject);
    }
    found
}

/// A dangling link or a pipe by that name counts too: loading then fails, instead of the file's settings silently not applying.
fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Whether a `pyproject.toml` has `[tool.ash]`. One that does not parse counts only when its text names the section.
fn declares_ash(path: &Path) -> bool {
    let Ok(text) = read::read_text(path) else { return false };
    match formats::parse(Format::Pyproject, &text, 0) {
        Ok(section) => section.is_some(),
        Err(_) => text.lines().any(|line| {
            let line: String =
                line.chars().filter(|c| !c.is_whitespace() && *c != '"' && *c != '\'').collect();
            line.starts_with("[tool.ash]")
                || line.starts_with("[tool.ash.")
                || line.starts_with("tool.ash")
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_first_name_wins_root_before_dot_ash() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join(".ash")).unwrap();
        let order = [
            ".ash.yml",
            ".ash/.ash.yml",
            ".ash.yaml",
            ".ash/.ash.yaml",
            ".ash.json",
            ".ash/.ash.json",
            "ash.yml",
            ".ash/ash.yml",
            "ash.yaml",
            ".ash/ash.yaml",
            "ash.json",
            ".ash/ash.json",
            ".ashrc.toml",
            ".ashrc.yaml",
            ".ashrc.yml",
            ".ashrc.json",
            "ashrc.toml",
            "ashrc.yaml",
            "ashrc.yml",
            "ashrc.json",
            "pyproject.toml",
        ];
        for name in order {
            fs::write(root.path().join(name), "[tool.ash]\n").unwrap();
        }
        let expected: Vec<PathBuf> = order.iter().map(|name| root.path().join(name)).collect();
        assert_eq!(candidates(root.path()), expected);
    }

    #[test]
    fn a_pyproject_counts_only_with_its_section() {
        for (text, counts) in [
            ("[tool.black]\n", false),
            ("[tool.ash.sandbox]\nmode='off'\n", true),
            ("[tool.ash]\nbroken = \n", true),
            ("[tool.black]\nbroken = \n", false),
        ] {
            let root = tempfile::tempdir().unwrap();
            fs::write(root.path().join("pyproject.toml"), text).unwrap();
            assert_eq!(candidates(root.path()).len(), usize::from(counts), "{text}");
        }
    }
}
