//! The structure of a YAML document as far as it says whether it is a CloudFormation template. Works on the parser's events: aliases are
//! not followed, so there is nothing to expand.

use granit_parser::{Event, Parser};

use super::is_type;

/// Mappings and sequences inside one another; the linter itself gives up far below.
const DEPTH: usize = 4096;

/// Whether a text has a template in it; `None` if it ends, for this parser, before it says so.
pub(super) fn has_template(text: &str) -> Option<bool> {
    let options = granit_parser::options! {
        emit_comments: false,
        flow_nesting_limit: DEPTH,
        block_nesting_limit: DEPTH,
    };
    let mut reader = Reader::default();
    for event in Parser::new_from_str_with_options(text, options) {
        if reader.reads(&event.ok()?.0) {
            return Some(true);
        }
    }
    Some(false)
}

#[derive(Default)]
struct Reader {
    open: Vec<Open>,
    seen: Seen,
}

/// What the document has, as far as it was read.
#[derive(Default)]
struct Seen {
    /// A key `Resources` at the top.
    resources: bool,
    /// A key `AWSTemplateFormatVersion` at the top.
    version: bool,
    /// An alias below `Resources`.
    alias_below: bool,
    /// A key at the top that is an alias, or that merges another mapping.
    unnamed: bool,
    /// `Resources` as a key or with an anchor, and a resource type, anywhere: what an alias may stand for.
    word: bool,
    resource_type: bool,
}

/// A mapping or sequence that has not ended.
enum Open {
    Sequence,
    Mapping { key: Key, awaits_key: bool },
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Key {
    Resources,
    Type,
    Other,
}

impl Reader {
    /// Takes one event; whether it shows a template.
    fn reads(&mut self, event: &Event<'_>) -> bool {
        match event {
            Event::DocumentStart(..) => *self = Self::default(),
            Event::DocumentEnd => return self.seen.is_template(),
            Event::Scalar(text, _, anchor, _) => return self.scalar(text, *anchor != 0),
            Event::Alias(_) => self.alias(),
            Event::SequenceStart(..) => self.open.push(Open::Sequence),
            Event::MappingStart(..) => {
                self.open.push(Open::Mapping { key: Key::Other, awaits_key: true });
            }
            Event::SequenceEnd | Event::MappingEnd => {
                self.open.pop();
                self.node_ends(Key::Other);
            }
            _ => {}
        }
        false
    }

    fn scalar(&mut self, text: &str, is_anchored: bool) -> bool {
        let key = match text {
            "Resources" => Key::Resources,
            "Type" => Key::Type,
            _ => Key::Other,
        };
        let is_key = matches!(self.open.last(), Some(Open::Mapping { awaits_key: true, .. }));
        self.seen.word |= key == Key::Resources && (is_key || is_anchored);
        self.seen.resource_type |= is_type(text);
        if self.is_at_top_key() {
            self.seen.resources |= key == Key::Resources;
            self.seen.version |= text == "AWSTemplateFormatVersion";
            self.seen.unnamed |= text == "<<";
        }
        let is_value_of_type =
            matches!(self.open.last(), Some(Open::Mapping { key: Key::Type, awaits_key: false }));
        let found = is_value_of_type && self.is_below_resources() && is_type(text);
        self.node_ends(key);
        found
    }

    fn alias(&mut self) {
        self.seen.unnamed |= self.is_at_top_key();
        self.seen.alias_below |= self.is_below_resources();
        self.node_ends(Key::Other);
    }

    fn is_at_top_key(&self) -> bool {
        matches!(self.open[..], [Open::Mapping { awaits_key: true, .. }])
    }

    fn is_below_resources(&self) -> bool {
        matches!(self.open.first(), Some(Open::Mapping { key: Key::Resources, awaits_key: false }))
    }

    /// After a whole node, a key or a value by turns in a mapping.
    fn node_ends(&mut self, as_key: Key) {
        if let Some(Open::Mapping { key, awaits_key }) = self.open.last_mut() {
            if *awaits_key {
                *key = as_key;
            }
            *awaits_key = !*awaits_key;
        }
    }
}

impl Seen {
    /// At the end of a document, no type having been found in its place.
    fn is_template(&self) -> bool {
        let aliased = self.resource_type
            && ((self.resources && self.alias_below) || (self.unnamed && self.word));
        aliased || (self.resources && self.version)
    }
}
