//! What could be better in a configuration text, and what of it can be put right by itself.

mod fix;
mod rules;
mod walk;

use super::{
    duplicates::{self, Shadowed},
    path::Edit,
    syntax::Syntax,
    update::language,
    write::Language,
};
use crate::{
    documents::Document,
    error::Mistake,
    formats::{self, Format},
    tree::{At, Sources},
    validate::Checker,
};

pub use fix::{Fixed, fix};

/// Findings kept of one run.
const KEPT: usize = 500;

/// What is looked at, and what is known about it.
#[derive(Clone, Copy)]
pub struct Lint<'a> {
    /// The file, for messages and for its format.
    pub file: &'a std::path::Path,
    /// The names of all scanners there are.
    pub known_scanners: &'a [&'a str],
    /// `YYYY-MM-DD`, UTC.
    pub today: &'a str,
    /// Whether a path of the scanned tree is a directory.
    pub is_directory: &'a dyn Fn(&str) -> bool,
    /// Ids of suppressions that suppressed nothing in the last scan.
    pub unused: &'a [String],
}

impl std::fmt::Debug for Lint<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lint")
            .field("file", &self.file)
            .field("today", &self.today)
            .finish_non_exhaustive()
    }
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// The configuration does not load like this.
    Error,
    /// It loads, and may not do what was meant.
    Warning,
}

/// What puts a finding right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// Nothing but a person.
    ByHand,
    /// `--fix`.
    Fix,
    /// `--fix-unused`.
    FixUnused,
}

/// One finding.
#[derive(Debug, Clone)]
pub struct LintFinding {
    /// The rule's id.
    pub rule: &'static str,
    /// How bad it is.
    pub level: Level,
    /// What and where.
    pub mistake: Mistake,
    /// What puts it right.
    pub remedy: Remedy,
    /// Where the part of the text begins that the edit is about.
    start: usize,
    edit: Option<Edit>,
}

impl LintFinding {
    /// Line and column, from 1.
    pub fn position(&self) -> Option<(usize, usize)> {
        self.mistake.place.as_ref().and_then(|place| place.position)
    }
}

/// Every finding, in the order of the text.
pub fn lint(text: &str, lint: &Lint<'_>) -> Vec<LintFinding> {
    let mut sources = Sources::default();
    let source = sources.add(lint.file.display().to_string(), None, text.to_owned());
    let mut found = Found { lint, sources: &sources, source, text, findings: Vec::new() };
    found.run();
    found.findings
}

/// One run.
struct Found<'a> {
    lint: &'a Lint<'a>,
    sources: &'a Sources,
    source: usize,
    text: &'a str,
    findings: Vec<LintFinding>,
}

impl Found<'_> {
    fn run(&mut self) {
        let Some(language) = language(self.lint.file) else {
            return self.check(Format::of(self.lint.file), self.text);
        };
        let syntax = match Syntax::parse(self.text) {
            Ok(syntax) => syntax,
            Err(error) => {
                let at = At { source: self.source, start: error.at, end: error.at + 1 };
                return self.broken(at, &error.message);
            }
        };
        self.duplicates(&syntax);
        let single = duplicates::blanked(self.text, &syntax.root);
        let format = if language == Language::Json { Format::Json } else { Format::Yaml };
        self.check(format, &single);
    }

    fn broken(&mut self, at: At, message: &str) {
        let hint = message.contains("tab").then(|| "indent with spaces".to_owned());
        let message = format!("the configuration does not parse: {message}");
        self.push("syntax", Level::Error, at, message, hint, None);
    }

    /// The rules of `walk`, then everything the loader finds that they did not.
    fn check(&mut self, format: Format, text: &str) {
        let document = match formats::parse(format, text, self.source) {
            Ok(document) => document.filter(|node| !node.is_null()),
            Err(error) => return self.broken(error.at, &error.message),
        };
        let document = document.unwrap_or_else(|| Document::empty().node);
        walk::document(self, &document);
        let mut checker = Checker {
            sources: self.sources,
            known_scanners: self.lint.known_scanners,
            mistakes: Vec::new(),
            notices: Vec::new(),
        };
        checker.document(&document);
        let known: Vec<_> = self
            .findings
            .iter()
            .filter(|finding| finding.level == Level::Error)
            .map(LintFinding::position)
            .collect();
        for mistake in checker.mistakes {
            let position = mistake.place.as_ref().and_then(|place| place.position);
            if !known.contains(&position) && self.findings.len() < KEPT {
                self.findings.push(LintFinding {
                    rule: "invalid",
                    level: Level::Error,
                    mistake,
                    remedy: Remedy::ByHand,
                    start: 0,
                    edit: None,
                });
            }
        }
        self.findings.sort_by_key(LintFinding::position);
    }

    fn duplicates(&mut self, syntax: &Syntax) {
        for entry in duplicates::shadowed(&syntax.root) {
            let Shadowed { path, index, pair, winner, .. } = &entry;
            let at =
                At { source: self.source, start: pair.key_range.start, end: pair.key_range.end };
            let line = self.text[..winner.key_range.start].matches('\n').count() + 1;
            let message =
                format!("`{}` is set again in line {line}, and that one counts", pair.key);
            // Sections and lists may hold what somebody still wants.
            let is_small = pair.value.pairs().is_empty() && pair.value.items().is_empty();
            let text = |pair: &super::syntax::Pair| self.text.get(pair.value.start..pair.value.end);
            let is_safe = is_small || text(pair) == text(winner);
            let hint = (!is_safe).then(|| "merge the two by hand".to_owned());
            let edit = is_safe.then(|| Edit::RemoveShadowed(path.clone(), *index));
            self.push("duplicate-key", Level::Error, at, message, hint, edit);
        }
    }

    /// Adds a finding; with an edit it is one that `--fix` puts right.
    fn push(
        &mut self,
        rule: &'static str,
        level: Level,
        at: At,
        message: String,
        hint: Option<String>,
        edit: Option<Edit>,
    ) {
        if self.findings.len() >= KEPT {
            return;
        }
        let mistake = Mistake::at(self.sources, at, message).maybe_hint(hint);
        let remedy = match (&edit, rule) {
            (None, _) => Remedy::ByHand,
            _ if language(self.lint.file).is_none() => Remedy::ByHand,
            (Some(_), rules::UNUSED) => Remedy::FixUnused,
            (Some(_), _) => Remedy::Fix,
        };
        self.findings.push(LintFinding { rule, level, mistake, remedy, start: at.start, edit });
    }

    /// As [`Self::push`], for an edit of more than the place that is shown.
    fn push_whole(
        &mut self,
        rule: &'static str,
        at: At,
        start: usize,
        message: String,
        edit: Edit,
    ) {
        self.push(rule, Level::Warning, at, message, None, Some(edit));
        if let Some(finding) = self.findings.last_mut() {
            finding.start = start;
        }
    }
}
