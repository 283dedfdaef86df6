//! What a result says, with its placeholders filled in.

use serde_json::{Map, Value};

use crate::log::Message;

/// Placeholders can multiply a long argument; no message needs more than this.
const LONGEST: usize = 64 * 1024;

/// The text of a message: its own, or the one its id names in the first of `tables` that has it.
pub(crate) fn text(message: &Message, tables: &[Option<&Map<String, Value>>]) -> Option<String> {
    let named = || {
        let id = message.id.as_deref()?;
        tables.iter().flatten().find_map(|table| table.get(id)?.get("text")?.as_str())
    };
    let template = message.text.as_deref().filter(|text| !text.is_empty()).or_else(named)?;
    let arguments = message.arguments.as_deref().unwrap_or_default();
    Some(bounded(if arguments.is_empty() {
        template.to_owned()
    } else {
        fill(template, arguments)
    }))
}

/// Replaces `{0}`, `{1}`, …; `{{` and `}}` stand for single braces (§3.11.5). A placeholder without an argument stays as it is.
fn fill(template: &str, arguments: &[Value]) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some(at) = rest.find(['{', '}']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let argument =
            placeholder(rest).and_then(|(number, after)| Some((arguments.get(number)?, after)));
        if let Some((argument, after)) = argument {
            match argument {
                Value::String(text) => out.push_str(text),
                other => out.push_str(&other.to_string()),
            }
            rest = after;
        } else if let Some(after) = rest.strip_prefix("{{").or_else(|| rest.strip_prefix("}}")) {
            out.push_str(&rest[..1]);
            rest = after;
        } else {
            out.push_str(&rest[..1]);
            rest = &rest[1..];
        }
        if out.len() > LONGEST {
            return out;
        }
    }
    out + rest
}

/// The number of a placeholder in front of a text, and what follows it. Looks at a few bytes only: a text of nothing but opening braces
/// must not be searched to its end once for each.
fn placeholder(text: &str) -> Option<(usize, &str)> {
    let inner = text.strip_prefix('{')?;
    let end = inner.bytes().take(8).position(|byte| byte == b'}')?;
    Some((inner[..end].parse().ok()?, &inner[end + 1..]))
}

fn bounded(mut text: String) -> String {
    if text.len() > LONGEST {
        text.truncate(text.floor_char_boundary(LONGEST));
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message(text: &str, arguments: &[&str]) -> Message {
        Message {
            text: Some(text.into()),
            arguments: Some(arguments.iter().map(|a| json!(a)).collect()),
            ..Message::default()
        }
    }

    #[test]
    fn placeholders_take_their_arguments() {
        for (template, expected) in [
            ("{1} and {0}", "b and a"),
            ("{{0}} {0}", "{0} a"),
            ("{2} {x} {", "{2} {x} {"),
            ("}{0}", "}a"),
        ] {
            assert_eq!(text(&message(template, &["a", "b"]), &[]).unwrap(), expected, "{template}");
        }
    }

    #[test]
    fn braces_of_a_message_without_arguments_are_text() {
        assert_eq!(text(&message("use {{x}} {0}", &[]), &[]).unwrap(), "use {{x}} {0}");
    }

    #[test]
    fn an_argument_is_not_expanded_again() {
        assert_eq!(text(&message("{0}", &["{1}", "x"]), &[]).unwrap(), "{1}");
    }

    #[test]
    fn placeholders_cannot_blow_a_message_up() {
        let long = "x".repeat(60_000);
        assert!(
            text(&message(&"{0}".repeat(100_000), &[&long]), &[]).unwrap().len() <= LONGEST + 3
        );
    }

    #[test]
    fn a_message_id_is_looked_up_in_the_rule_first() {
        let (rule, global) = (
            json!({"default": {"text": "rule {0}"}}),
            json!({"default": {"text": "global"}, "other": {"text": "other"}}),
        );
        let tables = [rule.as_object(), global.as_object()];
        let named = |id: &str| {
            text(
                &Message {
                    id: Some(id.into()),
                    arguments: Some(vec![json!(1)]),
                    ..Message::default()
                },
                &tables,
            )
        };
        assert_eq!(named("default").as_deref(), Some("rule 1"));
        assert_eq!(named("other").as_deref(), Some("other"));
        assert_eq!(named("none"), None);
    }
}
