//! Ways into a document, and what an edit means for plain data: the text that comes out must mean exactly this.

use serde_json::{Map, Value};

use super::syntax::{Element, Pair};
use crate::tree::same_key;

/// One step into a document.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    Key(String),
    Item(usize),
}

/// One change of a document.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Edit {
    /// Sets a value; sections on the way to it are made.
    Set(Vec<Step>, Value),
    /// Adds to the end of a list, which is made if there is none.
    Append(Vec<Step>, Value),
    /// Takes out an entry or an item.
    Remove(Vec<Step>),
    /// Gives an entry another key.
    Rename(Vec<Step>, String),
    /// Turns an item into a comment, under a line that says why.
    CommentOut(Vec<Step>, String),
    /// Takes out the entry with this number of a section that has its key once more; readers go by the last one.
    RemoveShadowed(Vec<Step>, usize),
}

impl Edit {
    /// What is edited.
    pub(crate) fn path(&self) -> &[Step] {
        match self {
            Self::Set(path, _)
            | Self::Append(path, _)
            | Self::Remove(path)
            | Self::Rename(path, _)
            | Self::CommentOut(path, _)
            | Self::RemoveShadowed(path, _) => path,
        }
    }
}

/// The key in a section that a step means: as spelled, else in the other spelling; of several the last.
fn spelled<'a>(keys: impl Iterator<Item = &'a str> + Clone, key: &str) -> Option<usize> {
    let position = |test: &dyn Fn(&str) -> bool| {
        keys.clone().enumerate().filter(|(_, known)| test(known)).last().map(|(index, _)| index)
    };
    position(&|known| known == key).or_else(|| position(&|known| same_key(known, key)))
}

/// The entry of a section in the text.
pub(crate) fn pair<'a>(element: &'a Element, key: &str) -> Option<(usize, &'a Pair)> {
    let pairs = element.pairs();
    spelled(pairs.iter().map(|pair| pair.key.as_str()), key).map(|index| (index, &pairs[index]))
}

fn key_in(map: &Map<String, Value>, key: &str) -> Option<String> {
    let index = spelled(map.keys().map(String::as_str), key)?;
    map.keys().nth(index).cloned()
}

/// Makes the change in plain data; `None` where it does not apply.
pub(crate) fn apply(document: &mut Value, edit: &Edit) -> Option<()> {
    match edit {
        Edit::Set(path, value) => *enter(document, path)? = value.clone(),
        Edit::Append(path, value) => {
            let list = enter(document, path)?;
            if list.is_null() {
                *list = Value::Array(Vec::new());
            }
            list.as_array_mut()?.push(value.clone());
        }
        Edit::Remove(path) | Edit::CommentOut(path, _) => {
            let (last, above) = path.split_last()?;
            match (find(document, above)?, last) {
                (Value::Object(map), Step::Key(key)) => {
                    let key = key_in(map, key)?;
                    map.shift_remove(&key)?;
                }
                (Value::Array(items), Step::Item(index)) if *index < items.len() => {
                    items.remove(*index);
                }
                _ => return None,
            }
        }
        Edit::Rename(path, to) => {
            let (Step::Key(key), above) = path.split_last()? else { return None };
            let map = find(document, above)?.as_object_mut()?;
            let key = key_in(map, key)?;
            *map = std::mem::take(map)
                .into_iter()
                .map(|(old, value)| if old == key { (to.clone(), value) } else { (old, value) })
                .collect();
        }
        Edit::RemoveShadowed(..) => {}
    }
    Some(())
}

fn find<'a>(document: &'a mut Value, path: &[Step]) -> Option<&'a mut Value> {
    path.iter().try_fold(document, |value, step| match (value, step) {
        (Value::Object(map), Step::Key(key)) => {
            let key = key_in(map, key)?;
            map.get_mut(&key)
        }
        (Value::Array(items), Step::Item(index)) => items.get_mut(*index),
        _ => None,
    })
}

/// As [`find`], making sections on the way.
fn enter<'a>(document: &'a mut Value, path: &[Step]) -> Option<&'a mut Value> {
    path.iter().try_fold(document, |value, step| {
        if value.is_null() {
            *value = Value::Object(Map::new());
        }
        match (value, step) {
            (Value::Object(map), Step::Key(key)) => {
                let key = key_in(map, key).unwrap_or_else(|| key.clone());
                Some(map.entry(key).or_insert(Value::Null))
            }
            (Value::Array(items), Step::Item(index)) => items.get_mut(*index),
            _ => None,
        }
    })
}

/// A path for people: `a.b[1]`.
pub(crate) fn shown(path: &[Step]) -> String {
    path.iter().fold(String::new(), |mut text, step| {
        match step {
            Step::Key(key) => {
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(key);
            }
            Step::Item(index) => text.push_str(&format!("[{index}]")),
        }
        text
    })
}

/// Keys joined by dots as a path.
pub(crate) fn keys(path: &str) -> Vec<Step> {
    path.split('.').map(|key| Step::Key(key.to_owned())).collect()
}
