//! `--config-overrides KEY.PATH=VALUE` and `KEY.PATH+=VALUE`.

use crate::{
    error::Mistake,
    formats,
    tree::{self, At, Entry, Kind, Node, Sources},
    yaml,
};

/// The name overrides go by in messages.
pub(crate) const NAME: &str = "--config-overrides";

/// Keys in one path: no setting lies deeper, and every one of them is a section to walk.
const DEPTH: usize = 32;

/// One override, read but not applied.
#[derive(Debug, Clone)]
pub(crate) struct Override {
    keys: Vec<(String, At)>,
    append: bool,
    value: Node,
    at: At,
}

/// Reads one override.
pub(crate) fn parse(text: &str, sources: &mut Sources) -> Result<Override, Mistake> {
    let source = sources.add(NAME.to_owned(), None, text.to_owned());
    let at = At { source, start: 0, end: text.len() };
    let Some(equals) = text.find('=') else {
        return Err(Mistake::at(sources, at, format!("`{text}` sets nothing"))
            .hint("write `key.path=value`, or `key.path+=value` to add to a list"));
    };
    let (path, append) = match text[..equals].strip_suffix('+') {
        Some(path) => (path, true),
        None => (&text[..equals], false),
    };
    let keys = keys(path, source);
    if keys.len() > DEPTH {
        let message = format!("a key path goes more than {DEPTH} keys deep");
        return Err(Mistake::at(sources, at, message));
    }
    if keys.iter().any(|(key, _)| key.is_empty()) {
        return Err(Mistake::at(sources, at, format!("`{path}` is not a key path"))
            .hint("write keys joined by dots, such as `sandbox.mode=auto`"));
    }
    if let Some((key, key_at)) = keys
        .first()
        .filter(|(key, _)| ["extends", "patch"].iter().any(|word| tree::same_key(word, key)))
    {
        let message = format!("`{key}` says how a file is put together, so only a file can set it");
        return Err(Mistake::at(sources, *key_at, message)
            .hint("set the values themselves, or name another file with `--config`"));
    }
    let value_at = At { source, start: equals + 1, end: text.len() };
    let value = value(&text[equals + 1..], value_at)
        .map_err(|reason| Mistake::at(sources, value_at, reason))?;
    Ok(Override { keys, append, value, at })
}

fn keys(path: &str, source: usize) -> Vec<(String, At)> {
    let mut start = 0;
    let parts = path.split('.').map(|part| {
        let at = At { source, start, end: start + part.len() };
        start += part.len() + 1;
        (part.trim().to_owned(), at)
    });
    parts.collect()
}

/// Types a value: a list or section in brackets, true or false, null or none, a number, and otherwise text.
fn value(text: &str, at: At) -> Result<Node, String> {
    let trimmed = text.trim();
    let kind = match trimmed.to_ascii_lowercase().as_str() {
        "true" => Kind::Bool(true),
        "false" => Kind::Bool(false),
        "null" | "none" => Kind::Null,
        _ if trimmed.starts_with(['[', '{']) => return bracketed(trimmed, at),
        _ => number(trimmed).unwrap_or_else(|| Kind::Text(text.to_owned())),
    };
    Ok(Node::new(kind, at))
}

fn number(text: &str) -> Option<Kind> {
    let digits = text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.'));
    text.parse()
        .map(Kind::Int)
        .ok()
        .or_else(|| text.parse().ok().filter(|_| digits).map(Kind::Float))
}

/// JSON, or the same with bare words: `[grype, trivy]`.
fn bracketed(text: &str, at: At) -> Result<Node, String> {
    let node = yaml::parse(text, at.source).map_err(|error| {
        format!("`{text}` is neither JSON nor a bracketed list: {}", error.message)
    })?;
    // Places inside the value are not worth the arithmetic: the whole value is short and on one line.
    Ok(formats::from_value(&node.to_value(), at))
}

/// What earlier overrides say of `section` stays in force in a later one that gives the whole section without it: `sandbox={…}` must not
/// take back a `sandbox.mode` that was typed before.
pub(crate) fn keep_earlier(overrides: &mut [Override], section: &str, sources: &Sources) {
    let mut said = Node::empty_map(At::default());
    for change in overrides {
        let whole = change.keys.len() == 1 && tree::same_key(&change.keys[0].0, section);
        if whole && !change.append {
            let earlier = said.get(section).map(Node::entries).unwrap_or_default().to_vec();
            if change.value.is_null() && !earlier.is_empty() {
                change.value = Node::empty_map(change.at);
            }
            if let Kind::Map(entries) = &mut change.value.kind {
                let unnamed = |earlier: &Entry| {
                    !entries.iter().any(|entry| tree::same_key(&entry.key, &earlier.key))
                };
                let kept: Vec<Entry> = earlier.into_iter().filter(unnamed).collect();
                entries.extend(kept);
            }
        }
        // Mistakes are reported where the overrides are applied to the configuration.
        let _ = change.apply(&mut said, sources);
    }
}

impl Override {
    /// Applies the override to a document.
    pub(crate) fn apply(&self, document: &mut Node, sources: &Sources) -> Result<(), Mistake> {
        let mut node = document;
        for (depth, (key, key_at)) in self.keys.iter().enumerate() {
            let above = self.keys[..depth]
                .iter()
                .map(|(key, _)| key.as_str())
                .collect::<Vec<_>>()
                .join(".");
            if node.is_null() {
                *node = Node::empty_map(*key_at);
            }
            let found = node.kind_name();
            let Kind::Map(entries) = &mut node.kind else {
                return Err(Mistake::at(
                    sources,
                    *key_at,
                    format!("`{above}` is {found}, not a section, so `{key}` cannot be set in it"),
                ));
            };
            let index = entries
                .iter()
                .position(|entry| tree::same_key(&entry.key, key))
                .unwrap_or_else(|| {
                    entries.push(Entry {
                        key: key.clone(),
                        key_at: *key_at,
                        value: Node::new(Kind::Null, *key_at),
                    });
                    entries.len() - 1
                });
            entries[index].key_at = *key_at;
            node = &mut entries[index].value;
        }
        if self.append {
            return self.append_to(node, sources);
        }
        *node = self.value.clone();
        Ok(())
    }

    fn append_to(&self, node: &mut Node, sources: &Sources) -> Result<(), Mistake> {
        let added = match &self.value.kind {
            Kind::List(items) => items.clone(),
            _ => vec![self.value.clone()],
        };
        let found = node.kind_name();
        match &mut node.kind {
            Kind::List(items) => items.extend(added),
            Kind::Null => node.kind = Kind::List(added),
            _ => {
                return Err(Mistake::at(
                    sources,
                    self.at,
                    format!("`+=` adds to a list, but the value is {found}"),
                )
                .hint("replace it with `=`"));
            }
        }
        node.at = self.value.at;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn apply(base: &str, overrides: &[&str]) -> Result<Value, String> {
        let mut sources = Sources::default();
        let mut document = yaml::parse(base, 0).unwrap();
        for text in overrides {
            let parsed = parse(text, &mut sources).map_err(|mistake| mistake.to_string())?;
            parsed.apply(&mut document, &sources).map_err(|mistake| mistake.to_string())?;
        }
        Ok(document.to_value())
    }

    #[test]
    fn values_are_typed() {
        let table = [
            ("a=[1, \"x\"]", json!([1, "x"])),
            ("a=[grype,trivy]", json!(["grype", "trivy"])),
            ("a=[]", json!([])),
            ("a={\"mode\": \"bwrap\"}", json!({"mode": "bwrap"})),
            ("a=true", json!(true)),
            ("a=False", json!(false)),
            ("a=null", json!(null)),
            ("a=None", json!(null)),
            ("a=12", json!(12)),
            ("a=-1.5", json!(-1.5)),
            ("a=off", json!("off")),
            ("a=b=c", json!("b=c")),
            ("a=", json!("")),
            ("a=nan", json!("nan")),
            ("a=inf", json!("inf")),
        ];
        for (text, expected) in table {
            assert_eq!(apply("{}", &[text]).unwrap()["a"], expected, "{text}");
        }
    }

    #[test]
    fn dashes_append_and_whole_sections_reach_the_same_key() {
        let base = "sandbox: {network-scanners: [a]}";
        let expected = |list: Value| json!({"sandbox": {"network-scanners": list}});
        assert_eq!(apply(base, &["sandbox.network_scanners=[b]"]).unwrap(), expected(json!(["b"])));
        assert_eq!(
            apply(base, &["sandbox.network_scanners+=b"]).unwrap(),
            expected(json!(["a", "b"]))
        );
        assert_eq!(
            apply(base, &["sandbox={network_scanners: []}"]).unwrap(),
            json!({"sandbox": {"network_scanners": []}})
        );
        assert_eq!(apply("{}", &["x.y+=[1,2]"]).unwrap(), json!({"x": {"y": [1, 2]}}));
    }

    #[test]
    fn what_cannot_be_applied_is_a_mistake() {
        for (base, text) in [
            ("{}", "mode"),
            ("{}", "=x"),
            ("{}", "a..b=1"),
            ("{}", "extends=x.yaml"),
            ("{}", "patch+={op: add}"),
            ("{}", &format!("{}=1", ["a"; 33].join("."))),
            ("a: 1", "a.b=1"),
            ("a: x", "a+=1"),
            ("{}", "a=[1"),
        ] {
            assert!(apply(base, &[text]).is_err(), "{text}");
        }
    }
}
