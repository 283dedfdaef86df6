//! Finds the Python that the environments are made with. ash never downloads one by itself.

use std::path::{Path, PathBuf};

use super::{Installer, failure::Failure};

/// The oldest Python every tool supports.
const OLDEST: (u32, u32) = (3, 10);

/// Names to try, best first. Versions for which all pinned tools have prebuilt packages come before newer ones.
const NAMES: &[&str] =
    &["python3.12", "python3.13", "python3.11", "python3.10", "python3", "python3.14"];

/// Where to look before `PATH`. A Python in the home directory works too, but a sandbox hides the home, so it has to be granted.
const SYSTEM: &[&str] = &["/usr/bin", "/usr/local/bin"];

/// A Python that can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Python {
    /// The interpreter, absolute; possibly a shim that starts another one.
    pub(super) path: PathBuf,
    /// Major and minor version.
    pub(super) version: (u32, u32),
}

/// The best Python here.
pub(super) fn find(installer: &Installer<'_>) -> Result<Python, Failure> {
    candidates(installer).next().ok_or_else(absent)
}

/// There is none, and what to do about it.
pub(super) fn absent() -> Failure {
    let (major, minor) = OLDEST;
    Failure::new(format!(
        "no Python {major}.{minor} or newer was found in {} or on `PATH`",
        SYSTEM.join(", ")
    ))
    .hint(format!(
        "install Python {major}.{minor} or newer, on Debian and Ubuntu with `apt install python3`"
    ))
    .hint("or name one with `UV_PYTHON=/absolute/path/to/python3`")
    .hint(
        "or let uv download one with `UV_PYTHON_DOWNLOADS=automatic`, once uv itself is on `PATH`",
    )
}

/// Every usable Python, best first, each asked only when it is its turn.
pub(super) fn candidates<'a>(installer: &'a Installer<'_>) -> impl Iterator<Item = Python> + 'a {
    let named =
        installer.variable("UV_PYTHON").map(PathBuf::from).filter(|path| path.is_absolute());
    let mut seen: Vec<PathBuf> = Vec::new();
    named.into_iter().chain(found(installer)).filter_map(move |path| {
        let real = path.canonicalize().ok()?;
        if seen.contains(&real) {
            return None;
        }
        seen.push(real);
        ask(installer, &path).filter(|python| python.version >= OLDEST)
    })
}

fn found<'a>(installer: &'a Installer<'_>) -> impl Iterator<Item = PathBuf> + 'a {
    let in_dirs = move |dirs: Vec<PathBuf>| {
        NAMES
            .iter()
            .flat_map(move |name| dirs.clone().into_iter().map(move |dir| (dir, *name)))
            .filter_map(|(dir, name)| installer.program_in(&dir, name))
    };
    in_dirs(SYSTEM.iter().map(PathBuf::from).collect()).chain(in_dirs(installer.search_path()))
}

fn ask(installer: &Installer<'_>, path: &Path) -> Option<Python> {
    let said = installer.version_of(path)?;
    let mut numbers = said.strip_prefix("Python ")?.split('.');
    let version = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
    Some(Python { path: path.to_owned(), version })
}
