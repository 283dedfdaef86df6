//! The only user of the YAML crate. A repository can commit the file that is read here, so every budget is far below the crate's own.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};
use serde_saphyr::{Location, Spanned};

use crate::tree::{At, Entry, Kind, Node};

/// Why a text is not a document: the reason and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    pub(crate) message: String,
    pub(crate) at: At,
}

/// Reads one YAML document. Booleans are only `true` and `false`: `off`, `no` and `yes` stay words (the YAML 1.1 trap).
pub(crate) fn parse(text: &str, source: usize) -> Result<Node, SyntaxError> {
    // A leading byte order mark is not content; spans then count from after it.
    let (body, skipped) = text.strip_prefix('\u{feff}').map_or((text, 0), |rest| (rest, 3));
    if body.contains('\0') {
        let start = skipped + body.find('\0').unwrap_or_default();
        return Err(SyntaxError {
            message: "a NUL byte is not allowed in YAML".to_owned(),
            at: At { source, start, end: start + 1 },
        });
    }
    let place = Place { source, text: body, skipped };
    match serde_saphyr::from_str_with_options::<Spanned<Raw>>(body, options()) {
        Ok(raw) => Ok(place.node(raw)),
        Err(error) => Err(place.error(&error)),
    }
}

fn options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        strict_booleans: true,
        // Nobody asks for them here, and the parser refuses more than 32 lines of them in a row.
        emit_comments: false,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
        angle_conversions: false,
        duplicate_keys: serde_saphyr::options::DuplicateKeyPolicy::Error,
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 20_000,
            max_replay_stack_depth: 16,
        },
        budget: serde_saphyr::budget! {
            max_depth: 32,
            flow_nesting_limit: 32,
            max_documents: 1,
            max_nodes: 100_000,
            max_events: 250_000,
            max_aliases: 2_000,
            max_anchors: 1_000,
            max_recorded_anchor_events: 50_000,
            max_recorded_anchor_bytes: 4 * 1024 * 1024,
            max_total_scalar_bytes: 16 * 1024 * 1024,
            max_merge_keys: 1_000,
        },
    }
}

/// The text the spans count in.
struct Place<'a> {
    source: usize,
    text: &'a str,
    skipped: usize,
}

impl Place<'_> {
    fn node(&self, raw: Spanned<Raw>) -> Node {
        let at = self.at(raw.referenced);
        let kind = match raw.value {
            Raw::Null => Kind::Null,
            Raw::Bool(value) => Kind::Bool(value),
            Raw::Int(value) => Kind::Int(value),
            Raw::Float(value) => Kind::Float(value),
            Raw::Text(text) => Kind::Text(text),
            Raw::List(items) => Kind::List(items.into_iter().map(|item| self.node(item)).collect()),
            Raw::Map(entries) => {
                Kind::Map(entries.into_iter().map(|pair| self.entry(pair)).collect())
            }
        };
        Node::new(kind, at)
    }

    fn entry(&self, (key, value): (Spanned<String>, Spanned<Raw>)) -> Entry {
        Entry { key_at: self.at(key.referenced), key: key.value, value: self.node(value) }
    }

    fn error(&self, error: &serde_saphyr::Error) -> SyntaxError {
        let at =
            error.location().map_or(At { source: self.source, start: 0, end: 0 }, |l| self.at(l));
        let message = error.without_snippet().to_string();
        // The place is told by `at`; the crate's own sentence repeats it.
        let message = message.split(" at line ").next().unwrap_or_default();
        let message = match message.split_once("budget breached: ") {
            Some((_, limit)) => {
                format!("it is larger or deeper than a configuration may be ({limit})")
            }
            None => message.to_owned(),
        };
        SyntaxError { message, at }
    }

    fn at(&self, location: Location) -> At {
        let span = location.span();
        let number = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
        let start = span.byte_offset().map_or_else(|| self.byte_of(location), number);
        let length = span.byte_len().map_or(0, number);
        let start = start.min(self.text.len()) + self.skipped;
        At { source: self.source, start, end: start.saturating_add(length) }
    }

    /// The byte of a line and column, for events that carry no byte offset.
    fn byte_of(&self, location: Location) -> usize {
        let nth = |value: u64| usize::try_from(value.saturating_sub(1)).unwrap_or(usize::MAX);
        let mut offset = 0;
        for (index, line) in self.text.split_inclusive('\n').enumerate() {
            if index == nth(location.line()) {
                let column = line.char_indices().nth(nth(location.column()));
                return offset + column.map_or(line.len(), |(byte, _)| byte);
            }
            offset += line.len();
        }
        self.text.len()
    }
}

/// A value as the YAML crate hands it over.
enum Raw {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<Spanned<Raw>>),
    Map(Vec<(Spanned<String>, Spanned<Raw>)>),
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_none<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Raw, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Raw, E> {
        Ok(Raw::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Raw, E> {
        Ok(Raw::Int(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Raw, E> {
        Ok(i64::try_from(value).map_or_else(|_| Raw::Text(value.to_string()), Raw::Int))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Raw, E> {
        Ok(Raw::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Raw, E> {
        Ok(Raw::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Raw, E> {
        Ok(Raw::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Raw, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Raw::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Raw, A::Error> {
        let mut entries = Vec::new();
        while let Some(pair) = map.next_entry()? {
            entries.push(pair);
        }
        Ok(Raw::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use serde_json::json;

    use super::*;

    #[test]
    fn off_and_yes_are_words() {
        let node = parse(
            "mode: off\na: yes\nb: true\nc: 010\nd: 1\ne: -2\nf: 1.5\ng: ~\nh: 2026-01-02\n",
            0,
        )
        .unwrap();
        let expected = json!({"mode": "off", "a": "yes", "b": true, "c": "010", "d": 1, "e": -2, "f": 1.5, "g": null, "h": "2026-01-02"});
        assert_eq!(node.to_value(), expected);
    }

    #[test]
    fn values_know_their_bytes() {
        let text = "\u{feff}é: 1\nsandbox:\n  mode: bwrap # c\n";
        let node = parse(text, 3).unwrap();
        let entry = &node.entries()[1].value.entries()[0];
        assert_eq!(&text[entry.key_at.start..entry.key_at.end], "mode");
        assert_eq!(&text[entry.value.at.start..entry.value.at.end], "bwrap");
        assert_eq!(entry.value.at.source, 3);
    }

    #[test]
    fn a_long_comment_is_no_mistake() {
        let comment = "# a word on this\n".repeat(5_000);
        for text in [
            format!("{comment}a: 1\n{comment}"),
            format!("a:\n{comment}  1\n"),
            format!("a: [1,\n{comment}]\n"),
        ] {
            assert_eq!(parse(&text, 0).unwrap().entries().len(), 1);
        }
    }

    #[test]
    fn anchors_and_merge_keys_work() {
        let node = parse("base: &b {x: 1, y: 2}\nc: {<<: *b, y: 3}\n", 0).unwrap();
        assert_eq!(node.to_value()["c"], json!({"y": 3, "x": 1}));
    }

    #[test]
    fn an_empty_file_is_an_empty_document() {
        for text in ["", "\n", "# only a comment\n", "---\n", "~"] {
            assert!(parse(text, 0).unwrap().is_null(), "{text:?}");
        }
    }

    #[test]
    fn syntax_errors_have_a_place() {
        let error = parse("a: 1\nb: [1\n", 0).unwrap_err();
        assert!(error.at.start >= 5, "{error:?}");
        let error = parse("a: 1\na: 2\n", 0).unwrap_err();
        assert!(error.message.contains("duplicate"), "{error:?}");
    }

    #[test]
    fn bombs_are_refused_at_once() {
        let mut aliases = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
        for level in 1..9 {
            let list = vec![format!("*a{}", level - 1); 10].join(",");
            aliases.push_str(&format!("a{level}: &a{level} [{list}]\n"));
        }
        let nested = "[".repeat(200_000);
        let deep: String =
            (0..5_000).map(|depth| format!("{}a:\n", " ".repeat(depth % 4_000))).collect();
        let merges = format!("b: &b {{x: 1}}\nc: {{{}}}\n", "<<: *b, ".repeat(5_000));
        let keys = format!("? {}\n: 1\n", "[".repeat(1_000));
        for bomb in
            [aliases, nested, deep, merges, keys, "a: \0".to_owned(), "- a\n--- \n- b\n".to_owned()]
        {
            let started = Instant::now();
            assert!(parse(&bomb, 0).is_err(), "{}", &bomb[..bomb.len().min(60)]);
            assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
        }
    }
}
