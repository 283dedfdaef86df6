//! Writes values as YAML that every reader takes for the same values.

use serde_json::Value;

use crate::{tree::Kind, yaml};

/// How long a list may be on one line.
const LINE: usize = 80;
/// Words that YAML 1.1 readers take for true or false.
const OLD_BOOLEANS: [&str; 8] = ["y", "yes", "n", "no", "on", "off", "true", "false"];

/// A language that values are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Yaml,
    Json,
}

/// A value on one line; `in_brackets`: commas and brackets around it mean something.
pub(crate) fn inline(value: &Value, language: Language, in_brackets: bool) -> String {
    if language == Language::Json {
        return value.to_string();
    }
    match value {
        Value::String(text) => scalar(text, in_brackets),
        Value::Array(items) => {
            let items: Vec<String> =
                items.iter().map(|item| inline(item, language, true)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(map) => {
            let pairs: Vec<String> = map
                .iter()
                .map(|(key, value)| {
                    format!("{}: {}", scalar(key, true), inline(value, language, true))
                })
                .collect();
            format!("{{{}}}", pairs.join(", "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// A key.
pub(crate) fn key(text: &str, language: Language, in_brackets: bool) -> String {
    inline(&Value::String(text.to_owned()), language, in_brackets)
}

/// What follows a key or a dash at this column: ` value`, or lines below.
pub(crate) fn after_colon(value: &Value, column: usize) -> String {
    match value {
        Value::Object(map) if !map.is_empty() => format!("\n{}", block(value, column + 2)),
        Value::Array(items) if !items.is_empty() => {
            let line = inline(value, Language::Yaml, false);
            let is_flat = items.iter().all(|item| !item.is_object() && !item.is_array());
            if is_flat && line.len() <= LINE {
                format!(" {line}")
            } else {
                format!("\n{}", block(value, column + 2))
            }
        }
        _ => format!(" {}", inline(value, Language::Yaml, false)),
    }
}

/// Lines at a column, without the last line break.
pub(crate) fn block(value: &Value, column: usize) -> String {
    let margin = " ".repeat(column);
    let lines: Vec<String> = match value {
        Value::Object(map) if !map.is_empty() => map
            .iter()
            .map(|(name, value)| {
                format!("{margin}{}:{}", scalar(name, false), after_colon(value, column))
            })
            .collect(),
        Value::Array(items) if !items.is_empty() => {
            items.iter().map(|item| format!("{margin}-{}", after_dash(item, column))).collect()
        }
        _ => vec![format!("{margin}{}", inline(value, Language::Yaml, false))],
    };
    lines.join("\n")
}

/// What follows a dash at this column.
pub(crate) fn after_dash(value: &Value, column: usize) -> String {
    match value {
        Value::Object(map) if !map.is_empty() => {
            let lines = block(value, column + 2);
            format!(" {}", lines.trim_start())
        }
        _ => format!(" {}", inline(value, Language::Yaml, false)),
    }
}

/// A whole document, for people.
pub fn to_yaml(value: &Value) -> String {
    block(value, 0) + "\n"
}

/// A text, in quotes where it needs them.
fn scalar(text: &str, in_brackets: bool) -> String {
    if is_plain(text, in_brackets) {
        text.to_owned()
    } else if text
        .chars()
        .any(|c| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}'))
    {
        double_quoted(text)
    } else {
        format!("'{}'", text.replace('\'', "''"))
    }
}

/// Whether a text means itself without quotes, for this reader and for older ones.
fn is_plain(text: &str, in_brackets: bool) -> bool {
    let first = |c: char| c.is_alphanumeric() || matches!(c, '_' | '/' | '.');
    let rest = |c: char| {
        c.is_alphanumeric()
            || matches!(
                c,
                ' ' | '_'
                    | '-'
                    | '/'
                    | '.'
                    | '*'
                    | '+'
                    | '@'
                    | '('
                    | ')'
                    | '='
                    | '<'
                    | '>'
                    | '$'
                    | '~'
            )
            || (!in_brackets && matches!(c, ',' | ';' | ':'))
    };
    let is_date =
        text.len() == 10 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    text.starts_with(first)
        && text.chars().all(rest)
        && !text.ends_with([' ', ':'])
        && !OLD_BOOLEANS.contains(&text.to_ascii_lowercase().as_str())
        && !is_date
        && reads_as_itself(text)
}

fn reads_as_itself(text: &str) -> bool {
    let read = |node: &crate::tree::Node| {
        node.entries().len() == 1 && node.entries()[0].value.kind == Kind::Text(text.to_owned())
    };
    yaml::parse(&format!("k: {text}\n"), 0).is_ok_and(|node| read(&node))
}

fn double_quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}') => {
                quoted.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn documents_read_well() {
        let value = json!({
            "project_name": "x: y", "nothing": null, "n": 1, "list": ["a", "b,c", 1], "empty": [], "none": {},
            "rules": [{"path": "tests/**", "expiration": "2030-01-01", "tags": ["p", "q"]}, {"path": "*.py", "reason": "no"}],
            "scanners": {"bandit": {"enabled": true}},
        });
        let expected = "project_name: 'x: y'\nnothing: null\n'n': 1\nlist: [a, 'b,c', 1]\nempty: []\nnone: {}\nrules:\n  - path: tests/**\n    expiration: '2030-01-01'\n    tags: [p, q]\n  - path: '*.py'\n    reason: 'no'\nscanners:\n  bandit:\n    enabled: true\n";
        assert_eq!(to_yaml(&value), expected);
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "\\PC{0,12}".prop_map(Value::from),
            "[ -~\n\t]{0,12}".prop_map(Value::from),
            "[0-9a-fxo_.:+-]{1,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec(("[a-zA-Z0-9 :#'-]{1,6}", inner), 0..4)
                    .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn whatever_is_written_is_read_back(value in values()) {
            let inside = format!("k: {}\n", inline(&value, Language::Yaml, false));
            for (text, is_inside) in [(to_yaml(&value), false), (inside, true)] {
                let read = yaml::parse(&text, 0);
                prop_assert!(read.is_ok(), "{text}\n{read:?}");
                let read = read.unwrap().to_value();
                let read = if is_inside { read["k"].clone() } else { read };
                prop_assert_eq!(&read, &value, "{}", text);
            }
        }
    }
}
