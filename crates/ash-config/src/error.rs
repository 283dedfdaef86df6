//! What is wrong with a configuration: every mistake of one load, each with its place and what to type instead.

use std::{ffi::OsStr, fmt};

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use ash_model::path::printable;

use crate::tree::{At, Sources};

/// Messages shown at most: a hostile file can hold more mistakes than anybody wants to read.
const SHOWN: usize = 50;
/// Characters of a message.
const LONGEST: usize = 4_000;
/// Characters of a source line shown on either side of a mistake.
const WINDOW: usize = 100;

/// One mistake. All texts are safe to print on a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// What is wrong: a lowercase fragment that names the thing in backticks.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// Where; `None` when it concerns no text.
    pub place: Option<Box<Place>>,
}

/// Where a mistake is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file, or `--config-overrides`.
    pub file: String,
    /// Line and column, both from 1, the column in characters; `None` when it concerns the whole file.
    pub position: Option<(usize, usize)>,
    excerpt: Option<Excerpt>,
    /// Nothing derived from the text may be said, hints included.
    is_hidden: bool,
}

impl Place {
    fn whole(file: &str) -> Self {
        Self { file: safe(file), position: None, excerpt: None, is_hidden: false }
    }
}

/// The part of a line a mistake is in, with the bytes to underline.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Excerpt {
    text: String,
    start: usize,
    end: usize,
}

impl Mistake {
    /// A mistake that concerns no place in a text.
    pub(crate) fn plain(message: impl AsRef<str>) -> Self {
        Self { message: safe(message.as_ref()), hint: None, place: None }
    }

    /// A mistake about a whole file.
    pub(crate) fn in_file(file: &str, message: impl AsRef<str>) -> Self {
        Self { place: Some(Box::new(Place::whole(file))), ..Self::plain(message) }
    }

    /// A mistake at a place.
    pub(crate) fn at(sources: &Sources, at: At, message: impl AsRef<str>) -> Self {
        let Some(source) = sources.get(at.source) else { return Self::plain(message) };
        if !source.is_shown {
            let place = Place { is_hidden: true, ..Place::whole(&source.name) };
            let message = "the configuration is wrong somewhere; it is a link out of the scanned tree, so what it says is not shown";
            return Self { place: Some(Box::new(place)), ..Self::plain(message) };
        }
        let (line, column, excerpt) = locate(&source.text, at);
        let (position, excerpt) = (Some((line, column)), Some(excerpt));
        let place = Place { position, excerpt, ..Place::whole(&source.name) };
        Self { place: Some(Box::new(place)), ..Self::plain(message) }
    }

    #[must_use]
    pub(crate) fn hint(self, hint: impl AsRef<str>) -> Self {
        self.maybe_hint(Some(hint.as_ref().to_owned()))
    }

    #[must_use]
    pub(crate) fn maybe_hint(mut self, hint: Option<String>) -> Self {
        let is_hidden = self.place.as_ref().is_some_and(|place| place.is_hidden);
        self.hint = hint.filter(|_| !is_hidden).map(|hint| safe(&hint));
        self
    }

    /// The message with the source line it is about, for a terminal.
    pub fn render(&self, styled: bool) -> String {
        let mut group = Group::with_title(Level::ERROR.primary_title(&*self.message));
        match self.place.as_deref() {
            Some(Place { file, position: Some((line, _)), excerpt: Some(excerpt), .. }) => {
                let mark = AnnotationKind::Primary.span(excerpt.start..excerpt.end);
                let snippet = Snippet::source(&*excerpt.text).line_start(*line).path(file);
                group = group.element(snippet.annotation(mark));
            }
            Some(Place { file, .. }) => {
                group = group.element(Level::NOTE.message(format!("in `{file}`")));
            }
            None => {}
        }
        if let Some(hint) = &self.hint {
            group = group.element(Level::HELP.message(&**hint));
        }
        let renderer = if styled { Renderer::styled() } else { Renderer::plain() };
        renderer.render(&[group])
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{}:", place.file)?;
            if let Some((line, column)) = place.position {
                write!(f, "{line}:{column}:")?;
            }
            write!(f, " ")?;
        }
        write!(f, "{}", self.message)?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, "; {hint}"))
    }
}

/// Every mistake found in one load: exit code 3.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConfigErrors(pub Vec<Mistake>);

impl ConfigErrors {
    /// All mistakes with their source lines, for a terminal.
    pub fn render(&self, styled: bool) -> String {
        let mut parts: Vec<String> =
            self.0.iter().take(SHOWN).map(|mistake| mistake.render(styled)).collect();
        if self.0.len() > SHOWN {
            parts.push(format!("and {} more", self.0.len() - SHOWN));
        }
        parts.join("\n\n")
    }
}

impl From<Mistake> for ConfigErrors {
    fn from(mistake: Mistake) -> Self {
        Self(vec![mistake])
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().take(SHOWN).map(Mistake::to_string).collect();
        write!(f, "{}", lines.join("\n"))?;
        if self.0.len() > SHOWN { write!(f, "\nand {} more", self.0.len() - SHOWN) } else { Ok(()) }
    }
}

impl std::error::Error for ConfigErrors {}

/// The nearest of the known words, when one is near enough to be what was meant.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: String = word.chars().take(64).collect::<String>().to_lowercase().replace('-', "_");
    known
        .into_iter()
        .map(|known| {
            (strsim::damerau_levenshtein(&word, &known.to_lowercase().replace('-', "_")), known)
        })
        .filter(|(distance, known)| *distance <= 1 + known.len().min(word.len()) / 4)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

/// A text for people: printable, and no longer than anybody reads. A key of a file can be megabytes long.
pub(crate) fn safe(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => printable(OsStr::new(&text[..end])) + "…",
        None => printable(OsStr::new(text)),
    }
}

/// Line, column and the printable neighbourhood of a place.
fn locate(text: &str, at: At) -> (usize, usize, Excerpt) {
    let start = floor(text, at.start);
    let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
    let line_end = text[start..].find('\n').map_or(text.len(), |newline| start + newline);
    let end = floor(text, at.end.clamp(start, line_end));
    let line = text[..line_start].matches('\n').count() + 1;
    let column = text[line_start..start].chars().count() + 1;
    let before: String = text[line_start..start].chars().rev().take(WINDOW).collect();
    let before = safe(&before.chars().rev().collect::<String>());
    let marked = safe(&text[start..end].chars().take(WINDOW).collect::<String>());
    let after = safe(
        text[end..line_end]
            .trim_end_matches('\r')
            .chars()
            .take(WINDOW)
            .collect::<String>()
            .as_str(),
    );
    let span = (before.len(), before.len() + marked.len());
    (line, column, Excerpt { text: format!("{before}{marked}{after}"), start: span.0, end: span.1 })
}

/// The nearest character boundary at or before a byte.
fn floor(text: &str, byte: usize) -> usize {
    text.floor_char_boundary(byte.min(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_names_line_and_column_and_shows_the_line() {
        let mut sources = Sources::default();
        let text = "a: 1\nb: {thershold: HIGH}\n";
        let source = sources.add("conf.yaml".to_owned(), None, text.to_owned());
        let at = At { source, start: 9, end: 18 };
        let mistake =
            Mistake::at(&sources, at, "`thershold` is not a key").hint("write `threshold`");
        assert_eq!(
            mistake.to_string(),
            "conf.yaml:2:5: `thershold` is not a key; write `threshold`"
        );
        let shown = mistake.render(false);
        assert!(shown.contains("b: {thershold: HIGH}") && shown.contains("^^^^^^^^^"), "{shown}");
    }

    #[test]
    fn a_hostile_line_cannot_drive_the_terminal() {
        let mut sources = Sources::default();
        let text = "\u{1b}[2J\u{202e}x: \u{9b}31m\n".to_owned();
        let source = sources.add("a\u{1b}.yaml".to_owned(), None, text);
        let shown =
            Mistake::at(&sources, At { source, start: 4, end: 7 }, "bad \u{1b}[0m").render(false);
        assert!(!shown.contains(['\u{1b}', '\u{202e}', '\u{9b}']), "{shown:?}");
    }

    #[test]
    fn any_place_in_any_text_can_be_shown() {
        let mut sources = Sources::default();
        let source = sources.add("x".to_owned(), None, "é\u{1F600}\n\n\r\n".to_owned());
        for start in 0..12 {
            for end in 0..12 {
                Mistake::at(&sources, At { source, start, end }, "m").render(false);
            }
        }
    }
}
