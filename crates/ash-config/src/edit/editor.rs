//! Applies edits to a text and proves the result: it is parsed again, must mean exactly what was asked for, and must hold every comment.

use serde_json::{Map, Value};

use super::{
    change::{Change, Impossible, Page},
    duplicates,
    path::{self, Edit},
    syntax::Syntax,
    write::Language,
};
use crate::{
    formats::{self, Format},
    yaml,
};

/// A text as an editor sees it.
#[derive(Debug)]
pub(crate) struct Editor {
    /// With `\n` line breaks.
    text: String,
    has_crlf: bool,
    language: Language,
}

fn refused(message: impl Into<String>) -> Impossible {
    Impossible(message.into())
}

impl Editor {
    pub(crate) fn new(text: &str, language: Language) -> Self {
        // Files mix line breaks only by accident; a mixed file keeps its own bytes.
        let has_crlf =
            text.contains("\r\n") && text.matches('\n').count() == text.matches("\r\n").count();
        let text = if has_crlf { text.replace("\r\n", "\n") } else { text.to_owned() };
        Self { text, has_crlf, language }
    }

    pub(crate) fn text(&self) -> String {
        if self.has_crlf { self.text.replace('\n', "\r\n") } else { self.text.clone() }
    }

    /// Makes all edits or none. Places in `edits` are those of the text as it is: list items from the last to the first.
    pub(crate) fn apply(&mut self, edits: &[Edit]) -> Result<(), Impossible> {
        let syntax = Syntax::parse(&self.text).map_err(|error| refused(error.message))?;
        let mut meaning = self.meaning(&self.text, &syntax)?;
        let page = Page { text: &self.text, syntax: &syntax, language: self.language };
        let mut changes = Vec::new();
        for edit in edits {
            changes.extend(page.changes(edit)?);
            path::apply(&mut meaning, edit).ok_or_else(|| refused("there is no such place"))?;
        }
        let text = replaced(&self.text, changes)?;
        self.prove(&text, &syntax, &meaning)?;
        self.text = text;
        Ok(())
    }

    fn meaning(&self, text: &str, syntax: &Syntax) -> Result<Value, Impossible> {
        let single = duplicates::blanked(text, &syntax.root);
        let node = match self.language {
            Language::Yaml => yaml::parse(&single, 0),
            Language::Json => {
                formats::parse(Format::Json, &single, 0).map(|node| node.unwrap_or_else(empty))
            }
        };
        let value = node.map_err(|error| refused(error.message))?.to_value();
        Ok(if value.is_null() { Value::Object(Map::new()) } else { value })
    }

    fn prove(&self, text: &str, before: &Syntax, meaning: &Value) -> Result<(), Impossible> {
        let unsafe_here =
            || refused("it is written in a way that cannot be edited safely; edit it by hand");
        let after = Syntax::parse(text).map_err(|_| unsafe_here())?;
        let found = self.meaning(text, &after).map_err(|_| unsafe_here())?;
        // As text: the order of keys counts too.
        let (found, meant) = (found.to_string(), meaning.to_string());
        if found != meant {
            return Err(unsafe_here());
        }
        let old = before.comments.iter().map(|range| self.text[range.clone()].trim_end());
        let new = after.comments.iter().map(|range| text[range.clone()].trim_end());
        if holds_all(new.collect(), old.collect()) { Ok(()) } else { Err(unsafe_here()) }
    }
}

fn empty() -> crate::tree::Node {
    crate::tree::Node::empty_map(crate::tree::At::default())
}

/// Every replacement, from the end; two that overlap are refused.
fn replaced(text: &str, mut changes: Vec<Change>) -> Result<String, Impossible> {
    changes.sort_by_key(|change| (change.range.start, change.range.end));
    if changes.windows(2).any(|pair| pair[1].range.start < pair[0].range.end) {
        return Err(refused("two changes meet in one place"));
    }
    let mut new = String::with_capacity(text.len() + 256);
    let mut at = 0;
    for change in changes {
        new.push_str(&text[at..change.range.start]);
        new.push_str(&change.text);
        at = change.range.end;
    }
    new.push_str(&text[at..]);
    Ok(new)
}

/// Whether each old comment is still there, alone or inside a longer one.
fn holds_all(new: Vec<&str>, old: Vec<&str>) -> bool {
    let mut counts = std::collections::HashMap::<&str, isize>::new();
    new.iter().for_each(|comment| *counts.entry(comment).or_default() += 1);
    let missing: Vec<&str> = old
        .into_iter()
        .filter(|comment| {
            let count = counts.entry(comment).or_default();
            *count -= 1;
            *count < 0
        })
        .collect();
    missing.iter().all(|comment| {
        new.iter().any(|longer| longer.len() > comment.len() && longer.ends_with(comment))
    })
}
