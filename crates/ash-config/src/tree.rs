//! A parsed document before anybody has judged it: values that remember which text they came from.

use std::path::PathBuf;

use serde_json::{Map, Number, Value};

/// Where a value stands: a text of [`Sources`] and a range of bytes in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct At {
    pub(crate) source: usize,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) at: At,
}

/// What a value is. Words such as `off` and `yes` are text: only the key they are set for decides what they mean.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// One key and its value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_at: At,
    pub(crate) value: Node,
}

impl Node {
    pub(crate) fn new(kind: Kind, at: At) -> Self {
        Self { kind, at }
    }

    pub(crate) fn empty_map(at: At) -> Self {
        Self::new(Kind::Map(Vec::new()), at)
    }

    /// The entries, when this is a section.
    pub(crate) fn entries(&self) -> &[Entry] {
        if let Kind::Map(entries) = &self.kind { entries } else { &[] }
    }

    /// The items, when this is a list.
    pub(crate) fn items(&self) -> &[Self] {
        if let Kind::List(items) = &self.kind { items } else { &[] }
    }

    pub(crate) fn is_null(&self) -> bool {
        self.kind == Kind::Null
    }

    pub(crate) fn text(&self) -> Option<&str> {
        if let Kind::Text(text) = &self.kind { Some(text) } else { None }
    }

    /// The value of a key in this section; null counts as not set.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        self.get_with_null(key).filter(|node| !node.is_null())
    }

    /// As [`Node::get`], for the keys where null says something.
    pub(crate) fn get_with_null(&self, key: &str) -> Option<&Self> {
        self.entries().iter().find(|entry| same_key(&entry.key, key)).map(|entry| &entry.value)
    }

    /// The value at a path of keys.
    pub(crate) fn at_path(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |node, key| node.get(key))
    }

    /// Takes a key out of this section.
    pub(crate) fn remove(&mut self, key: &str) -> Option<Entry> {
        let Kind::Map(entries) = &mut self.kind else { return None };
        let index = entries.iter().position(|entry| same_key(&entry.key, key))?;
        Some(entries.remove(index))
    }

    /// What people call this kind of value.
    pub(crate) fn kind_name(&self) -> &'static str {
        match &self.kind {
            Kind::Null => "nothing",
            Kind::Bool(_) => "true or false",
            Kind::Int(_) | Kind::Float(_) => "a number",
            Kind::Text(_) => "text",
            Kind::List(_) => "a list",
            Kind::Map(_) => "a section",
        }
    }

    /// The value as plain data, keys as spelled.
    pub(crate) fn to_value(&self) -> Value {
        match &self.kind {
            Kind::Null => Value::Null,
            Kind::Bool(value) => Value::Bool(*value),
            Kind::Int(value) => Value::from(*value),
            Kind::Float(value) => Number::from_f64(*value).map_or(Value::Null, Value::Number),
            Kind::Text(text) => Value::String(text.clone()),
            Kind::List(items) => items.iter().map(Self::to_value).collect(),
            Kind::Map(entries) => Value::Object(self::object(entries)),
        }
    }

    /// How many values this is, itself included.
    pub(crate) fn count(&self) -> usize {
        let below: usize = match &self.kind {
            Kind::List(items) => items.iter().map(Self::count).sum(),
            Kind::Map(entries) => entries.iter().map(|entry| entry.value.count()).sum(),
            _ => 0,
        };
        below + 1
    }

    /// Every text in this value, at any depth.
    pub(crate) fn for_each_text(&mut self, change: &mut dyn FnMut(&mut String)) {
        match &mut self.kind {
            Kind::Text(text) => change(text),
            Kind::List(items) => items.iter_mut().for_each(|item| item.for_each_text(change)),
            Kind::Map(entries) => {
                entries.iter_mut().for_each(|entry| entry.value.for_each_text(change));
            }
            Kind::Null | Kind::Bool(_) | Kind::Int(_) | Kind::Float(_) => {}
        }
    }

    /// Whether any text in this value satisfies the test.
    pub(crate) fn any_text(&self, test: &dyn Fn(&str) -> bool) -> bool {
        match &self.kind {
            Kind::Text(text) => test(text),
            Kind::List(items) => items.iter().any(|item| item.any_text(test)),
            Kind::Map(entries) => entries.iter().any(|entry| entry.value.any_text(test)),
            Kind::Null | Kind::Bool(_) | Kind::Int(_) | Kind::Float(_) => false,
        }
    }
}

fn object(entries: &[Entry]) -> Map<String, Value> {
    entries.iter().map(|entry| (entry.key.clone(), entry.value.to_value())).collect()
}

/// The one spelling of a key: dashes and underscores are the same.
pub(crate) fn normal(key: &str) -> String {
    key.replace('-', "_")
}

/// Whether two spellings name one key.
pub(crate) fn same_key(left: &str, right: &str) -> bool {
    let unified = |byte: u8| if byte == b'-' { b'_' } else { byte };
    left.len() == right.len() && left.bytes().map(unified).eq(right.bytes().map(unified))
}

/// Merges `over` onto `base`: sections merge deep, anything else replaces, null too.
pub(crate) fn merge(base: &mut Node, over: Node) {
    match (&mut base.kind, over.kind) {
        (Kind::Map(into), Kind::Map(entries)) => merge_entries(into, entries),
        (_, kind) => base.kind = kind,
    }
    base.at = over.at;
}

fn merge_entries(into: &mut Vec<Entry>, entries: Vec<Entry>) {
    let mut places: std::collections::HashMap<String, usize> =
        into.iter().enumerate().map(|(index, entry)| (normal(&entry.key), index)).collect();
    for entry in entries {
        match places.get(&normal(&entry.key)) {
            Some(&index) => {
                into[index].key_at = entry.key_at;
                merge(&mut into[index].value, entry.value);
            }
            None => {
                places.insert(normal(&entry.key), into.len());
                into.push(entry);
            }
        }
    }
}

/// One text a configuration is built from: a file, or one `--config-overrides`.
#[derive(Debug)]
pub(crate) struct Source {
    /// For messages: the path as given, or `--config-overrides`.
    pub(crate) name: String,
    /// The file, when it is one.
    pub(crate) path: Option<PathBuf>,
    pub(crate) text: String,
    /// Whether messages may quote the text.
    pub(crate) is_shown: bool,
}

/// Every text of one load.
#[derive(Debug, Default)]
pub(crate) struct Sources(Vec<Source>);

impl Sources {
    pub(crate) fn add(&mut self, name: String, path: Option<PathBuf>, text: String) -> usize {
        self.0.push(Source { name, path, text, is_shown: true });
        self.0.len() - 1
    }

    /// Keeps a text out of every message.
    pub(crate) fn hide(&mut self, index: usize) {
        if let Some(source) = self.0.get_mut(index) {
            source.is_shown = false;
        }
    }

    pub(crate) fn get(&self, index: usize) -> Option<&Source> {
        self.0.get(index)
    }

    /// The name for messages.
    pub(crate) fn name(&self, at: At) -> String {
        self.get(at.source).map(|source| source.name.clone()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_and_underscores_are_one_spelling() {
        assert!(same_key("network-scanners", "network_scanners"));
        assert!(!same_key("network", "network_"));
    }

    #[test]
    fn sections_merge_and_lists_replace() {
        let parse = |text: &str| crate::yaml::parse(text, 0).unwrap();
        let mut base = parse("a: {b-c: 1, d: [1, 2]}\ne: 1\n");
        merge(&mut base, parse("a: {b_c: 2, d: [3]}\ne: null\nf: 4\n"));
        let expected: Value = serde_json::json!({"a": {"b-c": 2, "d": [3]}, "e": null, "f": 4});
        assert_eq!(base.to_value(), expected);
    }
}
