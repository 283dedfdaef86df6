//! A scanner's `options` from config, read strictly: a value of the wrong type stops the scanner instead of silently doing nothing.

use serde_json::Value;

use crate::{Plan, Site};

/// Reads options; every error is a [`Plan`] that says which option is wrong.
#[derive(Clone, Copy)]
pub(crate) struct Options<'a>(&'a Site<'a>);

impl<'a> Options<'a> {
    pub(crate) fn of(site: &'a Site<'a>) -> Self {
        Self(site)
    }

    /// A text; `null` counts as absent.
    pub(crate) fn text(self, name: &str) -> Result<Option<&'a str>, Plan> {
        match self.0.options.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(wrong(name, "a text")),
        }
    }

    /// A switch, off when absent.
    pub(crate) fn switch(self, name: &str) -> Result<bool, Plan> {
        match self.0.options.get(name) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(value)) => Ok(*value),
            Some(_) => Err(wrong(name, "true or false")),
        }
    }

    /// A list of texts, empty when absent.
    pub(crate) fn list(self, name: &str) -> Result<Vec<&'a str>, Plan> {
        match self.0.options.get(name) {
            None | Some(Value::Null) => Ok(vec![]),
            Some(Value::Array(items)) => items
                .iter()
                .map(|item| item.as_str().ok_or_else(|| wrong(name, "a list of texts")))
                .collect(),
            Some(_) => Err(wrong(name, "a list of texts")),
        }
    }

    /// One text or a list of them, empty when absent.
    pub(crate) fn one_or_more(self, name: &str) -> Result<Vec<&'a str>, Plan> {
        match self.0.options.get(name) {
            Some(Value::String(text)) => Ok(vec![text]),
            _ => self.list(name),
        }
    }

    /// A list of patterns, each alone or as a section with `path` and the reason for it; empty when absent.
    pub(crate) fn patterns(self, name: &str) -> Result<Vec<&'a str>, Plan> {
        let Some(Value::Array(items)) = self.0.options.get(name) else { return self.list(name) };
        let pattern = |item: &'a Value| item.as_str().or_else(|| item.get("path")?.as_str());
        let expected = "a list of patterns";
        items.iter().map(|item| pattern(item).ok_or_else(|| wrong(name, expected))).collect()
    }

    /// One of a few words.
    pub(crate) fn choice(self, name: &str, words: &[&str]) -> Result<Option<&'a str>, Plan> {
        match self.text(name)? {
            Some(word) if !words.contains(&word) => {
                Err(wrong(name, &format!("one of {}", words.join(", "))))
            }
            word => Ok(word),
        }
    }

    /// One or more of a few words, none when absent.
    pub(crate) fn choices(self, name: &str, words: &[&str]) -> Result<Vec<&'a str>, Plan> {
        let given = self.one_or_more(name)?;
        if given.iter().all(|word| words.contains(word)) {
            return Ok(given);
        }
        Err(wrong(name, &format!("one or more of {}", words.join(", "))))
    }
}

pub(crate) fn wrong(name: &str, expected: &str) -> Plan {
    Plan::Missing(format!(
        "its option `{name}` must be {expected}; correct it in the configuration"
    ))
}
