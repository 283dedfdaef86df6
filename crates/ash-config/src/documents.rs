//! Loads one configuration file with the bases it extends, and remembers every file that took part.

use std::path::{Path, PathBuf};

use crate::{
    checkout::Tree,
    environment::{self, Lookup, SubstituteError},
    error::Mistake,
    formats::{self, Format},
    patch, read,
    tree::{self, Kind, Node, Sources},
};

const DEPTH: usize = 10;
const FILES: usize = 50;
/// Bytes that the variables of one file may stand for.
const ROOM: usize = 512 * 1024;
/// Values in all files of one load together. One file cannot hold so many; fifty that are full of aliases can.
const VALUES: usize = 200_000;

/// A configuration as its files say it, before overrides.
#[derive(Debug, Clone)]
pub(crate) struct Document {
    pub(crate) node: Node,
    /// The file itself first, then every base, as named.
    pub(crate) files: Vec<PathBuf>,
}

impl Document {
    /// A document nobody wrote.
    pub(crate) fn empty() -> Self {
        Self {
            node: Node::empty_map(tree::At { source: usize::MAX, start: 0, end: 0 }),
            files: Vec::new(),
        }
    }

    /// The first of its files that lies in the scanned tree.
    pub(crate) fn file_in<'a>(&'a self, tree: &Tree) -> Option<&'a Path> {
        self.files.iter().map(PathBuf::as_path).find(|file| tree.holds(file))
    }
}

/// What loading needs to know.
pub(crate) struct Loader<'a> {
    pub(crate) tree: &'a Tree,
    pub(crate) cwd: &'a Path,
    pub(crate) lookup: Lookup<'a>,
    pub(crate) sources: &'a mut Sources,
}

/// One load in progress: the chain of files above the current one, and all files so far.
struct Chain {
    above: Vec<PathBuf>,
    files: Vec<PathBuf>,
    /// Bytes and values of all of them.
    bytes: u64,
    values: usize,
    /// Where bases may lie besides the scanned tree: the directory of an operator's own file.
    own_directory: Option<PathBuf>,
}

impl Loader<'_> {
    /// Loads a file and its bases.
    pub(crate) fn load(&mut self, path: &Path) -> Result<Document, Mistake> {
        let path = self.cwd.join(path);
        let own_directory = if self.tree.holds(&path) {
            None
        } else {
            path.canonicalize().ok().and_then(|real| real.parent().map(Path::to_owned))
        };
        let mut chain =
            Chain { above: Vec::new(), files: Vec::new(), bytes: 0, values: 0, own_directory };
        let node = self.load_into(&path, &mut chain)?;
        Ok(Document { node, files: chain.files })
    }

    fn load_into(&mut self, path: &Path, chain: &mut Chain) -> Result<Node, Mistake> {
        chain.files.push(path.to_owned());
        let name = path.display().to_string();
        let text = read::read_text(path).map_err(|error| {
            let mistake = Mistake::in_file(&name, format!("the configuration {error}"));
            if matches!(error, read::ReadError::Io(_)) {
                mistake.hint("check the path and its permissions")
            } else {
                mistake
            }
        })?;
        chain.bytes += text.len() as u64;
        if chain.bytes > read::LIMIT {
            let limit = read::LIMIT / 1024 / 1024;
            return Err(Mistake::in_file(
                &name,
                format!("the configuration and its bases are longer than {limit} MiB together"),
            ));
        }
        let source = self.sources.add(name.clone(), Some(path.to_owned()), text.clone());
        // A file of the tree that is really a link out of it is read, but nothing of it is ever shown: it may be a secret.
        if self.leaves_the_tree(path) {
            self.sources.hide(source);
        }
        let parsed = formats::parse(Format::of(path), &text, source).map_err(|error| {
            let message = format!("the configuration does not parse: {}", error.message);
            Mistake::at(self.sources, error.at, message)
        })?;
        let mut node = parsed
            .ok_or_else(|| Mistake::in_file(&name, "the file has no `[tool.ash]` section"))?;
        chain.values += node.count();
        if chain.values > VALUES {
            return Err(Mistake::in_file(
                &name,
                "the configuration and its bases hold too many values together",
            ));
        }
        if node.is_null() {
            node.kind = Kind::Map(Vec::new());
        }
        if !matches!(node.kind, Kind::Map(_)) {
            return Err(Mistake::at(
                self.sources,
                node.at,
                format!("a configuration is a section of keys, not {}", node.kind_name()),
            ));
        }
        self.refuse_two_spellings(&node)?;
        self.substitute(&mut node)?;
        self.combine(path, node, chain)
    }

    fn leaves_the_tree(&self, path: &Path) -> bool {
        let real = path.canonicalize();
        real.is_ok_and(|real| real != path && self.tree.holds(path) && !self.tree.holds(&real))
    }

    /// One file may not set a key twice under two spellings. Below `options` the keys are a plugin's own.
    fn refuse_two_spellings(&self, node: &Node) -> Result<(), Mistake> {
        let mut seen = std::collections::HashSet::new();
        for entry in node.entries() {
            if !seen.insert(tree::normal(&entry.key)) {
                let message =
                    format!("`{}` is set twice: dashes and underscores are the same", entry.key);
                return Err(
                    Mistake::at(self.sources, entry.key_at, message).hint("keep one of them")
                );
            }
            if !tree::same_key(&entry.key, "options") {
                self.refuse_two_spellings(&entry.value)?;
            }
        }
        node.items().iter().try_for_each(|item| self.refuse_two_spellings(item))
    }

    fn substitute(&self, node: &mut Node) -> Result<(), Mistake> {
        let name = self.sources.name(node.at);
        let mut room = ROOM;
        let mut wrong = None;
        node.for_each_text(&mut |text| {
            if wrong.is_none() {
                wrong = environment::substitute(text, &mut room, self.lookup).err();
            }
        });
        match wrong {
            None => Ok(()),
            Some(SubstituteError::NotSet(variable)) => {
                Err(Mistake::in_file(&name, format!("the variable `{variable}` is not set"))
                    .hint(format!("set it, or write a default: `${{{variable}:default}}`")))
            }
            Some(SubstituteError::TooLong) => {
                let limit = ROOM / 1024;
                Err(Mistake::in_file(
                    &name,
                    format!("its variables stand for more than {limit} KiB"),
                ))
            }
        }
    }

    /// Bases in list order, then the file, then its patch.
    fn combine(&mut self, path: &Path, mut node: Node, chain: &mut Chain) -> Result<Node, Mistake> {
        let extends = node.remove("extends");
        let patch = node.remove("patch");
        let mut combined = Node::empty_map(node.at);
        if let Some(extends) = extends {
            chain.above.push(path.canonicalize().unwrap_or_else(|_| path.to_owned()));
            for base in self.bases(&extends.value, path, chain)? {
                let base = self.load_into(&base, chain)?;
                tree::merge(&mut combined, base);
            }
            chain.above.pop();
        }
        tree::merge(&mut combined, node);
        if let Some(step) = patch {
            patch::apply(&mut combined, &step.value, self.sources)?;
        }
        Ok(combined)
    }

    fn bases(&self, extends: &Node, path: &Path, chain: &Chain) -> Result<Vec<PathBuf>, Mistake> {
        let single = std::slice::from_ref(extends);
        let named = match &extends.kind {
            Kind::Null => &[],
            Kind::List(items) => items.as_slice(),
            _ => single,
        };
        if chain.above.len() > DEPTH {
            return Err(Mistake::at(
                self.sources,
                extends.at,
                format!("`extends` goes more than {DEPTH} files deep"),
            ));
        }
        named.iter().map(|base| self.base(base, path, chain, named.len())).collect()
    }

    fn base(
        &self,
        base: &Node,
        path: &Path,
        chain: &Chain,
        siblings: usize,
    ) -> Result<PathBuf, Mistake> {
        let mistake = |message: String| Mistake::at(self.sources, base.at, message);
        let name = base
            .text()
            .ok_or_else(|| mistake(format!("`extends` names files, not {}", base.kind_name())))?;
        if name.contains("://") {
            return Err(mistake(format!(
                "`{name}` is an address, and `extends` reads only local files"
            )));
        }
        if chain.files.len() + siblings > FILES {
            return Err(mistake(format!("`extends` reaches more than {FILES} files")));
        }
        let named = path.parent().unwrap_or(self.cwd).join(name);
        let real = named
            .canonicalize()
            .map_err(|error| mistake(format!("the base `{name}` cannot be read: {error}")))?;
        if let Some(start) = chain.above.iter().position(|above| *above == real) {
            let cycle: Vec<String> = chain.above[start..]
                .iter()
                .chain([&real])
                .map(|file| file.display().to_string())
                .collect();
            return Err(mistake(format!("`extends` goes in a circle: {}", cycle.join(" -> "))));
        }
        let beside =
            chain.own_directory.as_ref().is_some_and(|directory| real.starts_with(directory));
        if beside || self.tree.holds(&real) {
            Ok(named)
        } else {
            Err(mistake(format!("the base `{name}` lies outside the scanned tree and outside the directory of the configuration")).hint("copy it next to the configuration"))
        }
    }
}
