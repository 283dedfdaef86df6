//! What git tracks.

use std::path::{Path, PathBuf};

use crate::{shell::Call, workspace};

/// Every tracked file, and every new one that is not ignored: what a commit would hold.
pub(super) fn committed() -> Vec<PathBuf> {
    let root = workspace::root();
    let list =
        ["-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    match Call::new("git").args(list).cwd(&root).said() {
        Ok(said) if said.code == Some(0) => said
            .stdout
            .split('\0')
            .filter(|name| !name.is_empty())
            .map(PathBuf::from)
            .filter(|path| root.join(path).is_file())
            .collect(),
        // An unpacked archive: everything but what a build or a scan leaves.
        _ => walk(&root, &root),
    }
}

fn walk(root: &Path, dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap_or_default();
        if path.is_dir() && ![".git", "target", ".ash"].iter().any(|skip| name == *skip) {
            files.extend(walk(root, &path));
        } else if path.is_file() {
            files.push(path.strip_prefix(root).unwrap().to_owned());
        }
    }
    files
}

/// A file's text; binary files read as nothing.
pub(super) fn text(path: &Path) -> String {
    std::fs::read_to_string(workspace::root().join(path)).unwrap_or_default()
}

/// Rust files below a directory of the workspace.
pub(super) fn rust_files(below: &str) -> Vec<PathBuf> {
    committed()
        .into_iter()
        .filter(|path| {
            path.starts_with(below) && path.extension().is_some_and(|extension| extension == "rs")
        })
        .collect()
}

#[test]
fn no_committed_file_names_a_developers_machine_or_a_download_host() {
    // Put together here, so that this file does not contain them.
    let forbidden: Vec<String> = [
        ["/work/", "main"],
        ["/work/", "shared"],
        ["/opt/", "ash-lab"],
        ["/root/", ".cargo"],
        ["files.python", "hosted.org"],
        ["static.", "crates.io"],
        ["registry.", "npmjs.org"],
    ]
    .iter()
    .map(|parts| parts.concat())
    .collect();
    let mut found = Vec::new();
    for path in committed() {
        let text = text(&path);
        found.extend(
            forbidden
                .iter()
                .filter(|word| text.contains(*word))
                .map(|word| format!("{}: {word}", path.display())),
        );
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn no_committed_file_is_a_report_or_a_build_product() {
    let products: Vec<PathBuf> = committed()
        .into_iter()
        .filter(|path| {
            path.starts_with("target")
                || path.components().any(|part| part.as_os_str() == "ash_output")
        })
        .collect();
    assert!(products.is_empty(), "{products:?}");
}

#[test]
fn every_link_between_the_documents_leads_somewhere() {
    let mut broken = Vec::new();
    for path in committed()
        .into_iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
    {
        let text = text(&path);
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = link.split('#').next().unwrap_or_default();
            let is_local =
                !file.is_empty() && !link.contains("://") && !link.contains(char::is_whitespace);
            let dir = path.parent().unwrap_or(Path::new(""));
            if is_local && !workspace::root().join(dir).join(file).exists() {
                broken.push(format!("{}: {link}", path.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}
