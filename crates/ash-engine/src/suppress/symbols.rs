//! Suppressions by name: `symbol: Store.load` covers what lies wholly inside that function or class, wherever its lines move.
//!
//! The file is parsed, which takes C code that reads hostile text inside ash; a build has it only with the feature `symbols`. A symbol that
//! cannot be resolved covers nothing, and a notice names it.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use ash_model::{finding::Finding, notice::Notice, path::RelPath, source::SourceReader};

#[cfg(feature = "symbols")]
mod parse;

/// Whether this build can tell where a symbol is.
pub(super) const AVAILABLE: bool = cfg!(feature = "symbols");
/// Why nothing is covered when it cannot.
pub(super) const NOT_AVAILABLE: &str = "this ash was built without the feature `symbols`";

/// How long all files together may take to parse, in milliseconds: a tree can hold any number that were made to be slow.
const BUDGET: u64 = 60_000;

/// Something with a name, and its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Symbol {
    /// With the names around it, joined by dots.
    name: String,
    first: u64,
    last: u64,
}

/// The symbols of a file, or why they are not known.
type Outline = Result<Vec<Symbol>, &'static str>;

/// The symbols of the files that suppressions asked about.
#[derive(Debug, Default)]
pub(super) struct Symbols {
    files: Mutex<HashMap<RelPath, Arc<Outline>>>,
    /// How long they took to parse, in milliseconds.
    spent: AtomicU64,
    /// What came of each symbol asked for: `None` once it was found in some file, else the last file and the reason.
    asked: Mutex<BTreeMap<String, Option<(RelPath, &'static str)>>>,
}

impl Symbols {
    /// Whether a finding lies wholly inside a symbol of its file. A name that several symbols have stands for all of them, and the names
    /// around it may be left out.
    pub(super) fn hold(&self, name: &str, finding: &Finding, reader: &dyn SourceReader) -> bool {
        let Some(location) = &finding.location else { return false };
        let outline = self.outline(&location.path, reader);
        let found: Vec<&Symbol> = outline
            .as_ref()
            .as_ref()
            .map(|symbols| symbols.iter().filter(|symbol| symbol.is_called(name)).collect())
            .unwrap_or_default();
        if found.is_empty() {
            let why = outline.as_ref().as_ref().err().copied().unwrap_or("has no such symbol");
            self.note(name, Some((location.path.clone(), why)));
            return false;
        }
        self.note(name, None);
        let lines = location.region.map(|region| {
            (region.start_line, region.end_line.unwrap_or(region.start_line).max(region.start_line))
        });
        lines.is_some_and(|(first, last)| {
            found.iter().any(|symbol| symbol.first <= first && last <= symbol.last)
        })
    }

    /// One notice for each symbol that some suppression names and that no file it was looked for in has.
    pub(super) fn notices<'a>(&self, named: impl Iterator<Item = &'a str>) -> Vec<Notice> {
        let mut named: Vec<&str> = named.collect();
        named.sort_unstable();
        named.dedup();
        let key = |name: &str| format!("suppression of symbol `{name}`");
        if !AVAILABLE {
            let hint = "its findings count; name lines or rules instead, or use an ash built with `--features symbols`";
            return named
                .iter()
                .map(|name| Notice::new(key(name), NOT_AVAILABLE).hint(hint))
                .collect();
        }
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let unresolved = named.iter().filter_map(|name| Some((name, asked.get(*name)?.as_ref()?)));
        unresolved
            .map(|(name, (path, why))| {
                Notice::new(key(name), format!("not resolved: `{}` {why}", path.printable()))
                    .hint("its findings count; correct the name, or name lines instead")
            })
            .collect()
    }

    /// Found once is found: a pattern of paths covers files that do not have the symbol, too.
    fn note(&self, name: &str, failure: Option<(RelPath, &'static str)>) {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let known = asked.entry(name.to_owned()).or_insert_with(|| failure.clone());
        if known.is_some() {
            *known = failure;
        }
    }

    fn outline(&self, path: &RelPath, reader: &dyn SourceReader) -> Arc<Outline> {
        let lock = || self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(path) {
            return Arc::clone(known);
        }
        let outline = Arc::new(if self.spent.load(Ordering::Relaxed) < BUDGET {
            let begun = Instant::now();
            let outline = outline(path, reader);
            let spent = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
            self.spent.fetch_add(spent, Ordering::Relaxed);
            outline
        } else {
            Err("is not parsed: other files took a minute already")
        });
        lock().insert(path.clone(), Arc::clone(&outline));
        outline
    }
}

impl Symbol {
    fn is_called(&self, name: &str) -> bool {
        self.name
            .strip_suffix(name)
            .is_some_and(|around| around.is_empty() || around.ends_with('.'))
    }
}

#[cfg(feature = "symbols")]
fn outline(path: &RelPath, reader: &dyn SourceReader) -> Outline {
    parse::outline(path, reader)
}

#[cfg(not(feature = "symbols"))]
fn outline(_: &RelPath, _: &dyn SourceReader) -> Outline {
    Err("cannot be parsed by this build")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_around_a_symbol_may_be_left_out() {
        let symbol = Symbol { name: "Store.load".to_owned(), first: 1, last: 2 };
        for (name, expected) in [
            ("Store.load", true),
            ("load", true),
            ("oad", false),
            ("Other.load", false),
            ("Store", false),
        ] {
            assert_eq!(symbol.is_called(name), expected, "{name}");
        }
    }

    #[test]
    fn files_are_not_parsed_once_the_time_for_it_is_spent() {
        struct Text;
        impl SourceReader for Text {
            fn read(&self, _: &RelPath, _: u64) -> Option<Vec<u8>> {
                Some(b"def f(): pass\n".to_vec())
            }
        }
        let symbols = Symbols::default();
        let outline = |name: &str| symbols.outline(&RelPath::new(name).unwrap(), &Text);
        assert_eq!(outline("a.py").is_ok(), AVAILABLE);
        symbols.spent.store(BUDGET, Ordering::Relaxed);
        let late = outline("b.py");
        assert_eq!(late.as_ref(), &Err("is not parsed: other files took a minute already"));
        assert_eq!(outline("a.py").is_ok(), AVAILABLE, "what is known stays known");
    }

    #[test]
    fn without_the_feature_every_symbol_named_is_said_to_cover_nothing() {
        let said: Vec<_> = Symbols::default()
            .notices(["b", "a", "b"].into_iter())
            .iter()
            .map(Notice::line)
            .collect();
        let expected = ["a", "b"].map(|name| format!("suppression of symbol `{name}`: this ash was built without the feature `symbols`; its findings count; name lines or rules instead, or use an ash built with `--features symbols`"));
        assert_eq!(said, if AVAILABLE { vec![] } else { expected.to_vec() });
    }
}
