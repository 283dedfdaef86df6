//! A workspace definition (`*.code-workspace`): which directories are its projects. Only `folders[].path` counts. The file may lie in
//! the scanned tree, so each folder must be a plain directory below the workspace's root: no link, no `..`, none inside another.

use std::{
    fs::File,
    io::Read,
    path::{Component, Path, PathBuf},
};

use ash_model::path::printable;
use serde::Deserialize;

use super::shared::{absolute, current_dir};
use crate::{error::CommandError, exit};

/// How long a definition may be.
const MAX_BYTES: u64 = 1 << 20;
const EXTENSION: &str = "code-workspace";

/// A workspace and its projects, absolute, spelled as given.
#[derive(Debug)]
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    projects: Vec<PathBuf>,
}

#[derive(Deserialize)]
struct Definition {
    folders: Vec<Folder>,
}

#[derive(Deserialize)]
struct Folder {
    path: PathBuf,
}

impl Workspace {
    /// Reads the definition that `--workspace` names; `auto` is the only one in the current directory.
    pub(crate) fn read(named: &Path) -> Result<Self, CommandError> {
        let file =
            if named == Path::new("auto") { only(&current_dir()?)? } else { absolute(named)? };
        let refuse = |reason: String| {
            let shown = printable(file.as_os_str());
            CommandError::failed(format!("cannot use the workspace `{shown}`: {reason}"))
                .code(exit::WORKSPACE)
        };
        let bytes = bytes(&file).map_err(|error| refuse(error.to_string()))?;
        let definition: Definition =
            serde_json::from_slice(&bytes).map_err(|error| refuse(error.to_string()))?;
        let root = file.parent().unwrap_or(&file).to_owned();
        let mut projects: Vec<PathBuf> = Vec::new();
        for folder in &definition.folders {
            let shown = printable(folder.path.as_os_str());
            let project =
                project(&root, &folder.path).map_err(|why| refuse(format!("`{shown}` {why}")))?;
            if projects
                .iter()
                .any(|other| other.starts_with(&project) || project.starts_with(other))
            {
                return Err(refuse(format!("`{shown}` is named twice, or lies in another folder")));
            }
            projects.push(project);
        }
        if projects.is_empty() {
            return Err(refuse("it has no folder".to_owned()));
        }
        Ok(Self { root, projects })
    }

    /// The project that is meant: the one that was given, the one around here, or the only one.
    pub(crate) fn project(&self, given: Option<&PathBuf>) -> Result<PathBuf, CommandError> {
        let here = match given {
            Some(given) => absolute(given)?,
            None => current_dir()?,
        };
        let is_here = |project: &PathBuf| matches!((project.canonicalize(), here.canonicalize()), (Ok(project), Ok(here)) if project == here);
        // Spelled as given: the checkouts that this spelling leads through count as well.
        if self.projects.iter().any(is_here) {
            return Ok(here);
        }
        if let ([only], None) = (self.projects.as_slice(), given) {
            return Ok(only.clone());
        }
        let names: Vec<String> =
            self.projects.iter().map(|path| printable(path.as_os_str())).collect();
        Err(CommandError::usage(format!(
            "`{}` is no project of the workspace",
            printable(here.as_os_str())
        ))
        .hint(format!("name one with `--source-dir`: {}", names.join(", "))))
    }
}

fn only(dir: &Path) -> Result<PathBuf, CommandError> {
    let shown = printable(dir.as_os_str());
    let refuse = |reason: String| CommandError::failed(reason).code(exit::WORKSPACE);
    let entries = dir
        .read_dir()
        .map_err(|error| refuse(format!("cannot look for a workspace in `{shown}`: {error}")))?;
    let mut found: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == EXTENSION))
        .collect();
    match (found.pop(), found.is_empty()) {
        (Some(file), true) => Ok(file),
        (None, _) => Err(refuse(format!("there is no `*.{EXTENSION}` in `{shown}`"))
            .hint("name the file: `--workspace FILE`")),
        (Some(_), false) => Err(refuse(format!("there are several `*.{EXTENSION}` in `{shown}`"))
            .hint("name one of them: `--workspace FILE`")),
    }
}

fn bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    // A pipe by that name would make the opening wait for ever.
    if !path.metadata()?.is_file() {
        return Err(std::io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(std::io::Error::other(format!("it is longer than {MAX_BYTES} bytes")));
    }
    Ok(bytes)
}

/// A folder as a directory below the root.
fn project(root: &Path, folder: &Path) -> Result<PathBuf, &'static str> {
    let mut path = root.to_owned();
    for part in folder.components() {
        match part {
            Component::CurDir => continue,
            Component::Normal(name) => path.push(name),
            _ => return Err("lies outside the workspace"),
        }
        match path.symlink_metadata() {
            Ok(found) if found.is_symlink() => return Err("is reached through a link"),
            Ok(found) if found.is_dir() => {}
            Ok(_) => return Err("is not a directory"),
            Err(_) => return Err("does not exist, or cannot be looked at"),
        }
    }
    Ok(path)
}

#[cfg(all(test, unix))]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[expect(clippy::unwrap_used, reason = "a lab that cannot be built is a failed test")]
    fn lab(definition: &str) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        for path in ["w/p/in", "w/q", "out"] {
            fs::create_dir_all(dir.path().join(path)).unwrap();
        }
        symlink("../out", dir.path().join("w/link")).unwrap();
        let file = dir.path().join("w/all.code-workspace");
        fs::write(&file, definition).unwrap();
        (dir, file)
    }

    #[test]
    fn projects_are_plain_directories_below_the_root() {
        let (dir, file) =
            lab(r#"{"folders": [{"path": "p", "name": "P"}, {"path": "./q"}], "settings": {}}"#);
        let workspace = Workspace::read(&file).unwrap();
        assert_eq!(workspace.root, dir.path().join("w"));
        assert_eq!(workspace.projects, ["w/p", "w/q"].map(|path| dir.path().join(path)));
        let p = dir.path().join("w/q/../p");
        assert_eq!(workspace.project(Some(&p)).unwrap(), p);
        let refused = workspace.project(Some(&dir.path().join("out"))).unwrap_err();
        assert_eq!(refused.code, exit::USAGE);
        assert!(refused.render().contains("w/q"), "{}", refused.render());
    }

    #[test]
    fn a_folder_that_leads_out_or_overlaps_is_refused() {
        for (folders, reason) in [
            (r#"[]"#, "no folder"),
            (r#"[{"path": "../out"}]"#, "outside the workspace"),
            (r#"[{"path": "p/../../out"}]"#, "outside the workspace"),
            (r#"[{"path": "/tmp"}]"#, "outside the workspace"),
            (r#"[{"path": "link"}]"#, "through a link"),
            (r#"[{"path": "gone"}]"#, "does not exist"),
            (r#"[{"path": "all.code-workspace"}]"#, "not a directory"),
            (r#"[{"path": "p"}, {"path": "./p"}]"#, "named twice"),
            (r#"[{"path": "p/in"}, {"path": "p"}]"#, "named twice"),
            (r#"{}"#, "invalid type"),
        ] {
            let (_dir, file) = lab(&format!(r#"{{"folders": {folders}}}"#));
            let refused = Workspace::read(&file).unwrap_err();
            assert_eq!(refused.code, exit::WORKSPACE, "{folders}");
            assert!(refused.message().contains(reason), "{folders}: {}", refused.message());
        }
    }

    #[test]
    fn what_is_no_regular_file_of_a_sane_length_is_refused() {
        let (dir, file) = lab(&format!(r#"{{"folders": [], "x": "{}"}}"#, "x".repeat(1 << 20)));
        assert!(Workspace::read(&file).unwrap_err().message().contains("longer than"));
        let directory = Workspace::read(&dir.path().join("w/p")).unwrap_err();
        assert!(directory.message().contains("not a regular file"), "{}", directory.message());
    }
}
