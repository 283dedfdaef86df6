//! Ignore rules: `.gitignore`, `.ignore` and `.ashignore`, each for its directory and below, and the ones built in. Files outside the
//! scanned directory (`core.excludesFile`, `.git/info/exclude`, parents) have no say: a scan must not depend on who runs it.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    sync::Arc,
};

use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};

use crate::own::OwnResults;

/// The names of ignore files; a rule in a later one outranks those of the earlier.
pub(crate) const IGNORE_FILES: [&str; 3] = [".gitignore", ".ignore", ".ashignore"];
/// The longest ignore file obeyed. Compiling its patterns costs far more memory than its text.
pub(crate) const IGNORE_FILE_LIMIT: u64 = 256 * 1024;

/// Directories never scanned, at any depth.
const VENDORED: [&str; 3] = [".venv", "venv", "node_modules"];

/// The rules in force in one directory: its own and those of the directories above, innermost first.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    above: Option<Arc<Rules>>,
    /// The directory whose own rules these are.
    directory: PathBuf,
    /// In the order of [`IGNORE_FILES`].
    own: [Option<Gitignore>; 3],
}

impl Rules {
    /// The rules of a directory with the given ignore files (index into [`IGNORE_FILES`], text).
    pub(crate) fn within(
        above: &Arc<Self>,
        directory: &Path,
        files: &[(usize, String)],
    ) -> Arc<Self> {
        let mut own = [None, None, None];
        for (index, text) in files {
            own[*index] = compile(directory, text);
        }
        if own.iter().all(Option::is_none) {
            return Arc::clone(above);
        }
        Arc::new(Self { above: Some(Arc::clone(above)), directory: directory.to_owned(), own })
    }

    /// The ignore file that leaves a path out, if one does. Paths are relative to the scanned directory.
    pub(crate) fn ignored_by(&self, path: &Path, is_dir: bool) -> Option<PathBuf> {
        (0..IGNORE_FILES.len()).rev().find_map(|index| self.verdict(index, path, is_dir))?
    }

    fn verdict(&self, index: usize, path: &Path, is_dir: bool) -> Option<Option<PathBuf>> {
        let mut rules = Some(self);
        while let Some(current) = rules {
            let found =
                current.own[index].as_ref().map_or(Match::None, |own| own.matched(path, is_dir));
            match found {
                Match::Ignore(_) => return Some(Some(current.directory.join(IGNORE_FILES[index]))),
                Match::Whitelist(_) => return Some(None),
                Match::None => rules = current.above.as_deref(),
            }
        }
        None
    }
}

/// Compiles the lines of an ignore file. A line that is no pattern ignores nothing, as in git.
fn compile(directory: &Path, text: &str) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new(directory);
    for line in text.trim_start_matches('\u{feff}').lines() {
        drop(builder.add_line(None, line));
    }
    builder.build().ok().filter(|compiled| !compiled.is_empty())
}

/// What settings leave out of the scan. Paths are relative to the scanned directory.
pub trait Exclusion: std::fmt::Debug + Sync {
    /// Whether a file is left out.
    fn file(&self, path: &Path) -> bool;
    /// Whether everything in a directory is left out, so that it need not be looked into.
    fn directory(&self, path: &Path) -> bool;
}

/// What is decided before any ignore file is asked.
#[derive(Debug)]
pub(crate) struct Builtin<'a> {
    own: &'a OwnResults,
    excluded: Option<&'a dyn Exclusion>,
}

/// A decision of [`Builtin`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    Skip,
    /// Left out of every scan for its name, whatever is in it.
    PassOver,
    Keep,
    /// An output directory: what is not a result is scanned, unless an ignore file names it or the directory.
    Enter,
    /// Ask the ignore files.
    Ask,
}

impl<'a> Builtin<'a> {
    pub(crate) fn new(own: &'a OwnResults, excluded: Option<&'a dyn Exclusion>) -> Self {
        Self { own, excluded }
    }

    /// Whether a file is one of ash's results.
    pub(crate) fn is_own(&self, path: &Path) -> bool {
        self.own.hold(path, false)
    }

    pub(crate) fn decide(&self, path: &Path, name: &OsStr, is_dir: bool) -> Decision {
        if name == ".git" || self.own.hold(path, is_dir) {
            return Decision::Skip;
        }
        let is_excluded = self.excluded.is_some_and(|excluded| {
            if is_dir { excluded.directory(path) } else { excluded.file(path) }
        });
        if is_excluded {
            return Decision::Skip;
        }
        if is_left_out(path, is_dir) {
            return Decision::PassOver;
        }
        if is_dir && self.own.are_in(path) {
            return Decision::Enter;
        }
        // Synthesised templates are scanned even where their kind of file is ignored.
        let is_template = !is_dir && name.as_encoded_bytes().ends_with(b".template.json");
        if is_template { Decision::Keep } else { Decision::Ask }
    }
}

/// Whether a file or directory is left out of every scan for its name.
pub(crate) fn is_left_out(path: &Path, is_dir: bool) -> bool {
    let name = path.file_name().unwrap_or_default();
    (is_dir && VENDORED.iter().any(|vendored| name == *vendored)) || is_cdk_asset(path, name)
}

/// Bundled copies of what is scanned elsewhere: `cdk.out/asset.*`.
fn is_cdk_asset(path: &Path, name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b"asset.")
        && path.parent().and_then(Path::file_name).is_some_and(|parent| parent == "cdk.out")
}
