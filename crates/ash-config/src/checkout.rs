//! The scanned tree, and which files are inside it. Files are compared, never spellings: a link, a `..`, another letter case or a
//! helpful `$PWD` must not make a file of the tree look like the operator's own.

use std::{
    ffi::{OsStr, OsString},
    io,
    path::{Component, Path, PathBuf},
};

/// Links followed in one path at most, as Linux does.
const LINKS: usize = 40;

/// What makes two names one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Identity {
    /// Device and file number.
    File(u64, u64),
    /// Where the system tells no number: the real path.
    Path(PathBuf),
}

/// How identities are found; tests put another function here to play a file system that ignores case.
pub type Identify = fn(&Path) -> Option<Identity>;

/// The whole checkout around a scanned directory: everything in it is untrusted.
#[derive(Debug, Clone)]
pub struct Tree {
    roots: Vec<PathBuf>,
    identities: Vec<Identity>,
    cwd: PathBuf,
    identify: Identify,
}

impl Tree {
    /// Finds the tree of a scan root: the root itself, and the outermost directory at or above it that holds a `.git` entry, looked up
    /// from the root as given, from its real path, and from `$PWD` when that names the working directory.
    pub fn around(root: &Path, cwd: &Path, pwd: Option<&OsStr>) -> Self {
        Self::with_identify(root, cwd, pwd, identity)
    }

    /// As [`Tree::around`], with the identity of files found by the given function.
    pub fn with_identify(root: &Path, cwd: &Path, pwd: Option<&OsStr>, identify: Identify) -> Self {
        let mut tree =
            Self { roots: Vec::new(), identities: Vec::new(), cwd: cwd.to_owned(), identify };
        for name in names_of(root, cwd, pwd, identify) {
            let places = places_of(&name).unwrap_or_else(|_| vec![Place::End(name)]);
            places.iter().for_each(|place| tree.add_place(place));
        }
        tree
    }

    fn add_place(&mut self, place: &Place) {
        let (start, is_root) = match place {
            Place::Link(link) => (link.parent().unwrap_or(link), false),
            Place::End(end) => (end.as_path(), true),
        };
        if is_root {
            self.add_root(start);
        }
        if let Some(outermost) = start.ancestors().filter(|dir| holds_git(dir)).last() {
            self.add_root(outermost);
        }
    }

    fn add_root(&mut self, dir: &Path) {
        if !self.roots.iter().any(|known| known == dir) {
            self.roots.push(dir.to_owned());
            self.identities.extend((self.identify)(dir));
        }
    }

    /// Whether a file, by the name given or by what it really is, lies in the tree. A name that cannot be followed counts as inside.
    pub fn holds(&self, file: &Path) -> bool {
        let Ok(places) = places_of(&self.cwd.join(file)) else { return true };
        places.iter().any(|place| match place {
            Place::Link(path) | Place::End(path) => path.ancestors().any(|dir| self.is_root(dir)),
        })
    }

    fn is_root(&self, dir: &Path) -> bool {
        self.roots.iter().any(|root| root == dir)
            || (self.identify)(dir).is_some_and(|found| self.identities.contains(&found))
    }

    /// Adds another tree to this one.
    pub(crate) fn join(&mut self, other: Self) {
        self.roots.extend(other.roots);
        self.identities.extend(other.identities);
    }

    /// The directories that make up the tree, real paths: the scan root and the checkouts it sits in.
    pub fn roots(&self) -> &[PathBuf] {
        &self.roots
    }
}

/// Every name the scan root goes by. `$PWD` can only add one, and only when it really is the working directory.
fn names_of(root: &Path, cwd: &Path, pwd: Option<&OsStr>, identify: Identify) -> Vec<PathBuf> {
    let mut names = vec![cwd.join(root)];
    let Some(pwd) = pwd.map(Path::new).filter(|pwd| pwd.is_absolute()) else { return names };
    if identify(pwd).is_none() || identify(pwd) != identify(cwd) {
        return names;
    }
    names.push(pwd.join(root));
    if let Ok(below) = root.strip_prefix(cwd) {
        names.push(pwd.join(below));
    }
    if let (Ok(real_root), Ok(real_cwd)) = (cwd.join(root).canonicalize(), cwd.canonicalize())
        && let Ok(below) = real_root.strip_prefix(real_cwd)
    {
        names.push(pwd.join(below));
    }
    names
}

fn holds_git(dir: &Path) -> bool {
    // A dangling link or a file counts: only the entry's presence matters. What cannot be looked at may be there.
    match dir.join(".git").symlink_metadata() {
        Ok(_) => true,
        Err(error) => {
            !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        }
    }
}

/// One place a path leads through.
enum Place {
    /// A link, where it really sits.
    Link(PathBuf),
    /// The end, real.
    End(PathBuf),
}

/// Follows a path as the kernel would and reports where each link on the way sits, and the end. Missing parts are kept as written.
fn places_of(path: &Path) -> io::Result<Vec<Place>> {
    let mut places = Vec::new();
    let mut real = PathBuf::new();
    let mut rest: Vec<OsString> =
        path.components().rev().map(|part| part.as_os_str().to_owned()).collect();
    while let Some(part) = rest.pop() {
        match Path::new(&part).components().next() {
            Some(Component::Prefix(_) | Component::RootDir) => real.push(&part),
            Some(Component::ParentDir) => {
                real.pop();
            }
            Some(Component::Normal(_)) => {
                real.push(&part);
                let Ok(target) = real.read_link() else { continue };
                places.push(Place::Link(real.clone()));
                if places.len() > LINKS {
                    return Err(io::Error::other("too many links"));
                }
                real.pop();
                rest.extend(target.components().rev().map(|part| part.as_os_str().to_owned()));
                if target.is_absolute() {
                    real = PathBuf::new();
                }
            }
            Some(Component::CurDir) | None => {}
        }
    }
    places.push(Place::End(real));
    Ok(places)
}

#[cfg(unix)]
pub(crate) fn identity(path: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    let metadata = path.metadata().ok()?;
    Some(Identity::File(metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
pub(crate) fn identity(path: &Path) -> Option<Identity> {
    path.canonicalize().ok().map(Identity::Path)
}
