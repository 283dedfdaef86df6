//! Every key of every published version, as data: what it holds, what it means, and what ash does with it.

mod plugins;
mod reporters;
mod root;
mod scanners;

pub(crate) use plugins::CONVERTERS;
pub(crate) use reporters::REPORTERS;
pub(crate) use root::{GLOBAL, ROOT, SANDBOX};
pub(crate) use scanners::SCANNERS;

/// What a value may be.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    Bool,
    Text,
    /// A whole number in these bounds.
    Int(i64, i64),
    /// A number in these bounds; null allowed.
    Number(f64, f64),
    /// One of these words, exactly.
    Choice(&'static [&'static str]),
    /// `YYYY-MM-DD`.
    Date,
    /// A list of one shape.
    List(&'static Shape),
    /// One value of a shape or a list of them.
    OneOrMore(&'static Shape),
    /// A pattern for paths: a text, or a section with `path` and a `reason`.
    Pattern,
    /// Known keys; others are mistakes.
    Section(&'static [Field]),
    /// Names the user chooses, or that plugins bring.
    Named(&'static Names),
    /// Anything.
    Any,
}

/// A key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field {
    pub(crate) key: &'static str,
    pub(crate) shape: Shape,
    pub(crate) required: bool,
    /// What holds when nobody sets it, as YAML; empty: nothing.
    pub(crate) default: &'static str,
    /// What it is for, as a sentence.
    pub(crate) about: &'static str,
    /// For a key that ash reads and does not use: what ash does instead.
    pub(crate) instead: Option<&'static str>,
    pub(crate) narrows: Narrows,
}

/// Whether an option takes something out of what a scanner looks for or reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Narrows {
    /// Nobody has said. No option of a scanner may stay like that.
    Undeclared,
    /// No value of it does.
    Never,
    /// A value other than the default may.
    Yes,
    /// It may, and the scan itself says so in words of its own.
    SaidByTheScan,
}

impl Field {
    const fn narrows(self, narrows: Narrows) -> Self {
        Self { narrows, ..self }
    }
}

/// A section keyed by plugin names.
#[derive(Debug)]
pub(crate) struct Names {
    /// What the names are called in messages.
    pub(crate) kind: &'static str,
    /// The names of every published version.
    pub(crate) known: &'static [&'static str],
    /// Those that this version has; `None`: the scanners it was told of.
    pub(crate) shipped: Option<&'static [&'static str]>,
    /// The keys of each entry.
    pub(crate) entry: Shape,
    /// Options every one of them has.
    pub(crate) common: &'static [Field],
    /// The options of each plugin by name.
    pub(crate) options: &'static [(&'static str, &'static [Field])],
}

impl Names {
    /// The options of one plugin, where they are known.
    pub(crate) fn options_of(&self, name: &str) -> Option<Vec<Field>> {
        let (_, own) = self.options.iter().find(|(known, _)| crate::tree::same_key(known, name))?;
        Some(own.iter().chain(self.common).copied().collect())
    }
}

const fn field(
    key: &'static str,
    shape: Shape,
    default: &'static str,
    about: &'static str,
) -> Field {
    let narrows = Narrows::Undeclared;
    Field { key, shape, required: false, default, about, instead: None, narrows }
}

const fn required(key: &'static str, shape: Shape, about: &'static str) -> Field {
    Field { required: true, ..field(key, shape, "", about) }
}

/// A key that is accepted and does nothing. Its default is what needs no word about that.
const fn unused(
    key: &'static str,
    shape: Shape,
    default: &'static str,
    instead: &'static str,
) -> Field {
    let narrows = Narrows::Never;
    Field { instead: Some(instead), narrows, ..field(key, shape, default, "") }
}

pub(crate) const MODES: &[&str] =
    &["off", "auto", "bwrap", "firejail", "landlock", "sandbox-exec", "gvisor"];
pub(crate) const THRESHOLDS: &[&str] = &["ALL", "LOW", "MEDIUM", "HIGH", "CRITICAL"];
/// Seconds a scanner may take when nobody says otherwise.
pub(crate) const SCAN_TIMEOUT: f64 = 1800.0;
const YEARS: f64 = 1e9;

const TEXTS: Shape = Shape::List(&Shape::Text);
const PATTERNS: Shape = Shape::List(&Shape::Pattern);

/// The long form of [`Shape::Pattern`].
pub(crate) const PATTERN: &[Field] = &[
    required("path", Shape::Text, "The pattern."),
    field("reason", Shape::Text, "", "Why."),
    field("expiration", Shape::Date, "", ""),
];
