//! Reads a configuration file of any supported format into one tree.

use std::path::Path;

use serde_json::Value;
use toml::de::{DeTable, DeValue};

use crate::{
    tree::{At, Entry, Kind, Node},
    yaml::{self, SyntaxError},
};

/// How a file is written, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Yaml,
    Json,
    Toml,
    Pyproject,
}

impl Format {
    pub(crate) fn of(path: &Path) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        match name.rsplit('.').next() {
            _ if name == "pyproject.toml" => Self::Pyproject,
            Some("toml") => Self::Toml,
            Some("json") => Self::Json,
            _ => Self::Yaml,
        }
    }
}

/// Parses a text. `None`: a `pyproject.toml` without `[tool.ash]`.
pub(crate) fn parse(
    format: Format,
    text: &str,
    source: usize,
) -> Result<Option<Node>, SyntaxError> {
    match format {
        Format::Yaml => yaml::parse(text, source).map(Some),
        Format::Json => parse_json(text, source).map(Some),
        Format::Toml => parse_toml(text, source).map(Some),
        Format::Pyproject => {
            let mut document = parse_toml(text, source)?;
            let tool = document.remove("tool").map(|entry| entry.value);
            Ok(tool.and_then(|mut tool| tool.remove("ash")).map(|entry| entry.value))
        }
    }
}

/// JSON is read twice: by a strict reader for its syntax, then as YAML, of which it is a part, for the place of each value.
fn parse_json(text: &str, source: usize) -> Result<Node, SyntaxError> {
    let body = text.trim_start_matches('\u{feff}');
    if nesting(body) > 32 {
        return Err(SyntaxError {
            message: "nested more than 32 levels deep".to_owned(),
            at: At { source, start: 0, end: 0 },
        });
    }
    let value: Value = serde_json::from_str(body).map_err(|error| {
        let before: usize =
            text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
        let start = before + error.column().saturating_sub(1);
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or_default().to_owned();
        SyntaxError { message, at: At { source, start, end: start + 1 } }
    })?;
    match yaml::parse(text, source) {
        Ok(node) => Ok(node),
        Err(error) if error.message.contains("duplicate") => Err(error),
        // Legal JSON that the YAML reader does not take, such as a very long key: the value without places.
        Err(_) => Ok(from_value(&value, At { source, start: 0, end: 0 })),
    }
}

/// How deep the brackets of a JSON text go, strings apart: checked first, because the strict reader has no limit of its own here.
fn nesting(text: &str) -> usize {
    let (mut depth, mut deepest, mut quoted, mut escaped) = (0_usize, 0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'[' | b'{' if !quoted => depth += 1,
            b']' | b'}' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// Plain data as a tree whose values all stand at one place.
pub(crate) fn from_value(value: &Value, at: At) -> Node {
    let kind = match value {
        Value::Null => Kind::Null,
        Value::Bool(value) => Kind::Bool(*value),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(value), _) => Kind::Int(value),
            (None, Some(value)) => Kind::Float(value),
            (None, None) => Kind::Text(number.to_string()),
        },
        Value::String(text) => Kind::Text(text.clone()),
        Value::Array(items) => Kind::List(items.iter().map(|item| from_value(item, at)).collect()),
        Value::Object(map) => Kind::Map(
            map.iter()
                .map(|(key, value)| Entry {
                    key: key.clone(),
                    key_at: at,
                    value: from_value(value, at),
                })
                .collect(),
        ),
    };
    Node::new(kind, at)
}

fn parse_toml(text: &str, source: usize) -> Result<Node, SyntaxError> {
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let skipped = text.len() - body.len();
    let at = |span: std::ops::Range<usize>| At {
        source,
        start: span.start + skipped,
        end: span.end + skipped,
    };
    let table = DeTable::parse(body).map_err(|error| SyntaxError {
        message: error.message().to_owned(),
        at: at(error.span().unwrap_or_default()),
    })?;
    Ok(toml_table(table.get_ref(), at(table.span()), &at))
}

fn toml_table(table: &DeTable<'_>, place: At, at: &dyn Fn(std::ops::Range<usize>) -> At) -> Node {
    let entries = table.iter().map(|(key, value)| Entry {
        key: key.get_ref().to_string(),
        key_at: at(key.span()),
        value: toml_value(value.get_ref(), at(value.span()), at),
    });
    Node::new(Kind::Map(entries.collect()), place)
}

fn toml_value(value: &DeValue<'_>, place: At, at: &dyn Fn(std::ops::Range<usize>) -> At) -> Node {
    let kind = match value {
        DeValue::String(text) => Kind::Text(text.to_string()),
        DeValue::Boolean(value) => Kind::Bool(*value),
        DeValue::Integer(value) => {
            let number = i64::from_str_radix(value.as_str(), value.radix());
            number.map_or_else(|_| Kind::Text(value.as_str().to_owned()), Kind::Int)
        }
        DeValue::Float(value) => {
            let number = value.as_str().parse();
            number.map_or_else(|_| Kind::Text(value.as_str().to_owned()), Kind::Float)
        }
        DeValue::Datetime(value) => Kind::Text(value.to_string()),
        DeValue::Array(items) => Kind::List(
            items.iter().map(|item| toml_value(item.get_ref(), at(item.span()), at)).collect(),
        ),
        DeValue::Table(table) => return toml_table(table, place, at),
    };
    Node::new(kind, place)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(name: &str, text: &str) -> Result<Option<Value>, SyntaxError> {
        parse(Format::of(Path::new(name)), text, 0).map(|node| node.map(|node| node.to_value()))
    }

    #[test]
    fn every_format_gives_the_same_tree() {
        let expected = Some(json!({"sandbox": {"mode": "off", "network_scanners": ["a"]}, "n": 1}));
        let texts = [
            ("a.yaml", "sandbox: {mode: off, network_scanners: [a]}\nn: 1\n"),
            (
                "a.json",
                "{\"sandbox\": {\"mode\": \"off\", \"network_scanners\": [\"a\"]},\n\t\"n\": 1}",
            ),
            ("a.toml", "n = 1\n[sandbox]\nmode = 'off'\nnetwork_scanners = ['a']\n"),
            (
                "pyproject.toml",
                "[tool.ash]\nn = 1\n[tool.ash.sandbox]\nmode = 'off'\nnetwork_scanners = ['a']\n",
            ),
        ];
        for (name, text) in texts {
            let mut value = read(name, text).unwrap();
            // TOML sorts its tables; only the content matters.
            value.as_mut().unwrap().sort_all_objects();
            let mut expected = expected.clone();
            expected.as_mut().unwrap().sort_all_objects();
            assert_eq!(value, expected, "{name}");
        }
    }

    #[test]
    fn a_pyproject_without_the_section_is_no_configuration() {
        assert_eq!(read("pyproject.toml", "[tool.other]\nx = 1\n").unwrap(), None);
    }

    #[test]
    fn json_is_read_strictly_and_its_values_have_places() {
        assert!(read("a.json", "{\"a\": 1,}").is_err());
        let text = "{\n  \"a\": {\"b\": \"x\"}}";
        let node = parse(Format::Json, text, 0).unwrap().unwrap();
        let at = node.at_path(&["a", "b"]).unwrap().at;
        assert_eq!(&text[at.start..at.end], "\"x\"");
        let error = parse(Format::Json, "{\n \"a\": oops}", 0).unwrap_err();
        assert_eq!(error.at.start, 8);
    }

    #[test]
    fn deep_json_is_refused() {
        assert!(read("a.json", &"[".repeat(1_000_000)).is_err());
        assert!(read("a.json", &format!("{}{}", "[".repeat(33), "]".repeat(33))).is_err());
    }
}
