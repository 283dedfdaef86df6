//! Every key there is, for people: the documentation is made of it, and tests compare it with what scanners and reports really read.

use crate::schema::{self, Field, Names, Shape};

/// One key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// Keys from the top, joined by dots; `<name>` stands for any plugin, `[]` for each item of a list.
    pub path: String,
    /// What it takes, in words.
    pub takes: String,
    /// What holds when nobody sets it, as YAML; empty: nothing.
    pub default: String,
    /// What it is for; empty for a key without effect.
    pub about: String,
    /// Why it has no effect, if it has none.
    pub without_effect: Option<String>,
    /// Whether its section does not load without it.
    pub required: bool,
}

/// Every key of every published version, in the order of the schema.
pub fn keys() -> Vec<Key> {
    let mut keys = Vec::new();
    section(schema::ROOT, "", None, &mut keys);
    keys
}

/// The reports this version writes.
pub fn reporters() -> &'static [&'static str] {
    schema::REPORTERS.shipped.unwrap_or_default()
}

fn section(fields: &[Field], above: &str, without_effect: Option<&str>, keys: &mut Vec<Key>) {
    for field in fields {
        let path =
            if above.is_empty() { field.key.to_owned() } else { format!("{above}.{}", field.key) };
        let without_effect = field.instead.or(without_effect);
        keys.push(Key {
            path: path.clone(),
            takes: takes(&field.shape),
            default: field.default.to_owned(),
            about: field.about.to_owned(),
            without_effect: without_effect.map(str::to_owned),
            required: field.required,
        });
        below(&field.shape, &path, without_effect, keys);
    }
}

fn below(shape: &Shape, path: &str, without_effect: Option<&str>, keys: &mut Vec<Key>) {
    match shape {
        Shape::Section(fields) => section(fields, path, without_effect, keys),
        Shape::List(item) => below(item, &format!("{path}[]"), without_effect, keys),
        Shape::Named(names) => named(names, path, without_effect, keys),
        _ => {}
    }
}

fn named(names: &Names, path: &str, without_effect: Option<&str>, keys: &mut Vec<Key>) {
    let any = format!("{path}.<name>");
    below(&names.entry, &any, without_effect, keys);
    section(names.common, &format!("{any}.options"), without_effect, keys);
    for (name, fields) in names.options {
        section(fields, &format!("{path}.{name}.options"), without_effect, keys);
    }
}

fn takes(shape: &Shape) -> String {
    match shape {
        Shape::Bool => "true or false".to_owned(),
        Shape::Text => "text".to_owned(),
        Shape::Int(least, most) if *most == i64::MAX => format!("a whole number from {least}"),
        Shape::Int(least, most) => format!("a whole number from {least} to {most}"),
        Shape::Number(..) => "a number above 0".to_owned(),
        Shape::Choice(words) => {
            words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
        }
        Shape::Date => "a date such as 2030-12-31".to_owned(),
        Shape::List(item) => format!("a list of {}", several(item)),
        Shape::OneOrMore(item) => format!("{}, or a list", takes(item)),
        Shape::Pattern => "a pattern".to_owned(),
        Shape::Section(_) | Shape::Named(_) => "a section".to_owned(),
        Shape::Any => "anything".to_owned(),
    }
}

fn several(item: &Shape) -> String {
    match item {
        Shape::Text => "texts".to_owned(),
        Shape::Pattern => {
            "patterns, each with a `reason` or without: `x` or `{path: x, reason: y}`".to_owned()
        }
        Shape::Section(_) => "sections".to_owned(),
        other => takes(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_there_once_and_says_what_it_is_for() {
        let keys = keys();
        let mut paths: Vec<&str> = keys.iter().map(|key| key.path.as_str()).collect();
        paths.sort_unstable();
        let count = paths.len();
        paths.dedup();
        assert_eq!(paths.len(), count);
        for key in &keys {
            let has_words = !key.about.is_empty() || key.without_effect.is_some();
            let is_internal =
                ["ferret_", "global_settings.mcp"].iter().any(|word| key.path.contains(word));
            assert!(has_words || is_internal, "{} says nothing", key.path);
            assert!(key.about.is_empty() || key.about.ends_with('.'), "{}", key.path);
            assert!(crate::yaml::parse(&key.default, 0).is_ok(), "{}", key.path);
        }
        for path in [
            "sandbox.mode",
            "global_settings.suppressions[].rule_id",
            "scanners.<name>.options.scan_timeout",
            "scanners.bandit.options.config_file",
        ] {
            assert!(paths.contains(&path), "{path}");
        }
    }
}
