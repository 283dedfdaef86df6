//! A made-up machine whose links and spellings are drawn at random.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{MetadataExt, symlink},
    path::{Component, Path, PathBuf},
    process::Command,
};

use proptest::prelude::*;

/// Directories: `src` is scanned, `out` and `src/.ash/ash_output` are where results may go, the others are the operator's.
const DIRECTORIES: [&str; 9] = [
    "src/a/b",
    "src/mnt",
    "src/.ash/ash_output/scanners/x",
    "out/scanners/x",
    "victim/scanners/x",
    "home/.ssh",
    "home/cache",
    "op",
    "mirror",
];

/// What a file in the home says.
pub(crate) const SECRET: &str = "private-key";

/// Where a link may stand. Those in `src` and below the output are a repository's or a scanner's, the others the operator's.
const PLACES: [&str; 9] = [
    "src/l",
    "src/a/l",
    "src/a/b/l",
    "src/.ash/ash_output/scanners/l",
    "src/.ash/l",
    "out/l",
    "out/scanners/l",
    "op/l",
    "alias",
];

/// What a link may say; `@` is the root of the world.
const TARGETS: [&str; 16] = [
    "@/victim",
    "../victim",
    "../../victim",
    "..",
    "../..",
    ".",
    "@/src",
    "@/src/a",
    "@/out",
    "@/home",
    "@/op",
    "l",
    "../l",
    "@/alias",
    "@/src/l",
    "@",
];

/// Words that may follow a path.
const WORDS: [&str; 10] = ["a", "l", "scanners", "x", "mnt", "new", "SRC", "..", ".", ""];

/// Ways round that a path may begin with, most of which lead back.
const DETOURS: [&str; 10] = [
    "./",
    "/",
    "src/../",
    "src/a/../../",
    "out/scanners/../../",
    "src/../op/../",
    "mirror/../",
    "src/l/../",
    "op/l/../",
    "alias/../",
];

/// What is mounted where, in a world with mounts: a directory of the operator's in the tree, the tree under another name.
const MOUNTS: [(&str, &str); 2] = [("victim", "src/mnt"), ("src", "mirror")];

/// One random case.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    links: Vec<(&'static str, &'static str)>,
    pub(crate) source: String,
    pub(crate) output: Option<String>,
    pub(crate) results: String,
    pub(crate) cwd: String,
    pub(crate) target: String,
    pub(crate) read: String,
    pub(crate) cache: String,
}

/// Random cases.
pub(crate) fn cases() -> impl Strategy<Value = Case> {
    let link = (prop::sample::select(&PLACES[..]), prop::sample::select(&TARGETS[..]));
    let source = spelling(&["src", "src", "src/a", "mirror", "alias", "src/mnt"]);
    let output = || {
        spelling(&[
            "out",
            "out",
            "src/.ash/ash_output",
            "src/l",
            "op/l",
            "src/mnt",
            "mirror/new",
            "alias",
        ])
    };
    let below =
        prop::sample::select(&["scanners/x", "scanners/l", "l/x", "scanners/../l", "new"][..]);
    let results = prop_oneof![
        3 => (output(), below).prop_map(|(output, below)| (Some(output.clone()), format!("{output}/{below}"))),
        1 => (prop::option::of(output()), spelling(&["out/scanners/x", "src/l", "op/l", "victim"])),
    ];
    let anywhere = || spelling(&["src", "home/cache", "victim", "op", "out"]);
    let links = prop::collection::vec(link, 0..5);
    let cwd = spelling(&["src", "src/a", "home", "home/..", "op"]);
    (links, source, results, cwd, anywhere(), anywhere(), anywhere()).prop_map(
        |(links, source, (output, results), cwd, target, read, cache)| Case {
            links,
            source,
            output,
            results,
            cwd,
            target,
            read,
            cache,
        },
    )
}

/// A known path by ways round, and now and then a word beyond it.
fn spelling(known: &'static [&'static str]) -> impl Strategy<Value = String> {
    let detours = prop::collection::vec(prop::sample::select(&DETOURS[..]), 0..3);
    let word = prop::option::weighted(0.25, prop::sample::select(&WORDS[..]));
    (detours, prop::sample::select(known), word, any::<bool>()).prop_map(
        |(detours, known, word, slash)| {
            let word = word.map(|word| format!("/{word}")).unwrap_or_default();
            // A leading slash would be another root.
            let spelled = format!("{}{known}{word}", detours.concat());
            format!(".//{spelled}{}", if slash { "/" } else { "" })
        },
    )
}

/// The world of one case; gone at its end, mounts first.
pub(crate) struct World {
    dir: tempfile::TempDir,
    root: PathBuf,
    mounted: Vec<PathBuf>,
}

impl World {
    pub(crate) fn new(case: &Case, with_mounts: bool) -> Self {
        let dir = tempfile::Builder::new().prefix("ash-spellings-").tempdir().unwrap();
        let mut world = Self { root: dir.path().canonicalize().unwrap(), dir, mounted: Vec::new() };
        for path in DIRECTORIES {
            let path = world.root.join(path);
            fs::create_dir_all(&path).unwrap();
            fs::write(path.join("file"), "content").unwrap();
        }
        fs::write(world.root.join("home/.ssh/key"), SECRET).unwrap();
        for (place, target) in &case.links {
            let target = target.replace('@', world.root.to_str().unwrap());
            // Two links of one place: the first stays.
            let _ = symlink(target, world.root.join(place));
        }
        if with_mounts {
            MOUNTS.iter().for_each(|(from, to)| world.mount(from, to));
        }
        world
    }

    fn mount(&mut self, from: &str, to: &str) {
        let (from, to) = (self.root.join(from), self.root.join(to));
        let done = Command::new("mount").arg("--bind").args([&from, &to]).status().unwrap();
        assert!(done.success(), "cannot mount {from:?}");
        self.mounted.push(to);
    }

    pub(crate) fn at(&self, spelled: &str) -> PathBuf {
        self.root.join(spelled)
    }

    pub(crate) fn root(&self) -> &Path {
        self.dir.path()
    }

    /// Every directory there is, by its plain name.
    pub(crate) fn directories(&self) -> Vec<PathBuf> {
        let mut found = vec![self.root.clone()];
        let mut next = 0;
        while let Some(dir) = found.get(next).cloned() {
            next += 1;
            let entries = fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap());
            let below = entries.filter(|entry| entry.file_type().unwrap().is_dir());
            found.extend(below.map(|entry| entry.path()));
        }
        found
    }

    /// What lies outside a directory, by path: kind, number, content or link text.
    pub(crate) fn outside(&self, of: Identity) -> BTreeMap<PathBuf, String> {
        let mut seen = BTreeMap::new();
        for dir in self.directories() {
            if lies_in(&dir, of) {
                continue;
            }
            for entry in fs::read_dir(&dir).unwrap() {
                let path = entry.unwrap().path();
                let meta = path.symlink_metadata().unwrap();
                let content = if meta.is_symlink() {
                    format!("{:?}", fs::read_link(&path).unwrap())
                } else if meta.is_file() {
                    fs::read_to_string(&path).unwrap()
                } else {
                    String::new()
                };
                seen.insert(path, format!("{:?} {} {content}", meta.file_type(), meta.ino()));
            }
        }
        seen
    }
}

impl Drop for World {
    fn drop(&mut self) {
        for mounted in self.mounted.iter().rev() {
            let _ = Command::new("umount").arg(mounted).status();
        }
    }
}

/// Device and number.
pub(crate) type Identity = (u64, u64);

pub(crate) fn identity(path: &Path) -> Option<Identity> {
    path.metadata().ok().map(|meta| (meta.dev(), meta.ino()))
}

/// Whether a directory is the other one or lies in it, by whatever names.
pub(crate) fn lies_in(dir: &Path, other: Identity) -> bool {
    dir.canonicalize().is_ok_and(|real| real.ancestors().any(|dir| identity(dir) == Some(other)))
}

/// The directory of each link that the kernel follows on the way to a path, and whether the way has an end. Written anew here, so
/// that the product's own tracing is not judged by itself.
pub(crate) fn links_on_the_way(path: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut here = PathBuf::from("/");
    for component in path.components() {
        match component {
            Component::Normal(name) => {
                let next = here.join(name);
                if next.is_symlink() {
                    found.push(here.clone());
                    let text = fs::read_link(&next).unwrap();
                    // The text's own links, then on from where it leads.
                    if found.len() < 40 && next.exists() {
                        found.extend(links_on_the_way(&here.join(text)));
                    }
                }
                here = next.canonicalize().unwrap_or(next);
            }
            Component::ParentDir => {
                here.pop();
            }
            _ => {}
        }
    }
    found
}

impl Case {
    /// No link, every path spelled plainly.
    pub(crate) fn plain() -> Self {
        Self {
            links: vec![],
            source: "src".into(),
            output: Some("out".into()),
            results: "out/scanners/x".into(),
            cwd: "src".into(),
            target: "src".into(),
            read: "op".into(),
            cache: "home/cache".into(),
        }
    }
}
