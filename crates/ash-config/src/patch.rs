//! `patch`: the operations of RFC 6902 that make sense in a configuration. A step that does not apply fails the load.

use crate::{
    error::{Mistake, nearest},
    tree::{self, Entry, Kind, Node, Sources},
};

/// A step in front of a long list moves all of it, so there are not many.
const STEPS: usize = 1_000;
/// Keys in one path: steps that each go deeper must not make a tree nobody can walk.
const DEPTH: usize = 32;

const OPERATIONS: [&str; 4] = ["add", "remove", "replace", "test"];

/// Applies every step of a `patch` list in order; stops at the first that does not apply.
pub(crate) fn apply(document: &mut Node, patch: &Node, sources: &Sources) -> Result<(), Mistake> {
    if patch.is_null() {
        return Ok(());
    }
    let Kind::List(steps) = &patch.kind else {
        return Err(Mistake::at(
            sources,
            patch.at,
            format!("`patch` must be a list of steps, not {}", patch.kind_name()),
        ));
    };
    if steps.len() > STEPS {
        let message = format!("`patch` has more than {STEPS} steps");
        return Err(Mistake::at(sources, patch.at, message));
    }
    steps.iter().try_for_each(|step| apply_step(document, step, sources))
}

fn apply_step(document: &mut Node, step: &Node, sources: &Sources) -> Result<(), Mistake> {
    let mistake = |message: String| Mistake::at(sources, step.at, message);
    let text = |key: &str| {
        let found = step.get(key).and_then(Node::text);
        found.ok_or_else(|| mistake(format!("a step of `patch` needs `{key}`, as text")))
    };
    let (operation, path) = (text("op")?, text("path")?);
    let value = step.get_with_null("value").cloned();
    let value = || value.clone().ok_or_else(|| mistake(format!("`{operation}` needs a `value`")));
    let keys = pointer(path).ok_or_else(|| {
        mistake(format!("`{path}` is not a JSON pointer")).hint("start it with `/`")
    })?;
    if keys.len() > DEPTH {
        return Err(mistake(format!("a path of `patch` goes more than {DEPTH} keys deep")));
    }
    let absent = || mistake(format!("`{path}` is not there, so `{operation}` cannot apply"));
    match operation {
        "test" => {
            let found = find(document, &keys).ok_or_else(absent)?;
            let same = found.to_value() == value()?.to_value();
            if same {
                Ok(())
            } else {
                Err(mistake(format!("`{path}` does not have the tested value")))
            }
        }
        "replace" => {
            *find(document, &keys).ok_or_else(absent)? = value()?;
            Ok(())
        }
        "add" => add(document, &keys, value()?).ok_or_else(absent),
        "remove" => remove(document, &keys).ok_or_else(absent),
        other => {
            let hint = nearest(other, OPERATIONS).map(|near| format!("did you mean `{near}`?"));
            Err(mistake(format!("`{other}` is not one of `add`, `remove`, `replace`, `test`"))
                .maybe_hint(hint))
        }
    }
}

/// RFC 6901: parts after each slash, `~1` for a slash and `~0` for a tilde.
fn pointer(path: &str) -> Option<Vec<String>> {
    if path.is_empty() {
        return Some(Vec::new());
    }
    let parts = path.strip_prefix('/')?.split('/');
    Some(parts.map(|part| part.replace("~1", "/").replace("~0", "~")).collect())
}

fn index(key: &str, limit: usize) -> Option<usize> {
    let plain =
        key == "0" || (!key.starts_with('0') && key.bytes().all(|byte| byte.is_ascii_digit()));
    plain.then(|| key.parse().ok()).flatten().filter(|index| *index < limit)
}

fn find<'a>(document: &'a mut Node, keys: &[String]) -> Option<&'a mut Node> {
    keys.iter().try_fold(document, |node, key| match &mut node.kind {
        Kind::Map(entries) => entries
            .iter_mut()
            .find(|entry| tree::same_key(&entry.key, key))
            .map(|entry| &mut entry.value),
        Kind::List(items) => index(key, items.len()).and_then(|index| items.get_mut(index)),
        _ => None,
    })
}

fn add(document: &mut Node, keys: &[String], value: Node) -> Option<()> {
    let Some((last, above)) = keys.split_last() else {
        *document = value;
        return Some(());
    };
    match &mut find(document, above)?.kind {
        Kind::List(items) if last == "-" => items.push(value),
        Kind::List(items) => {
            let index = index(last, items.len() + 1)?;
            items.insert(index, value);
        }
        Kind::Map(entries) => {
            match entries.iter_mut().find(|entry| tree::same_key(&entry.key, last)) {
                Some(entry) => entry.value = value,
                None => entries.push(Entry { key: last.clone(), key_at: value.at, value }),
            }
        }
        _ => return None,
    }
    Some(())
}

fn remove(document: &mut Node, keys: &[String]) -> Option<()> {
    let (last, above) = keys.split_last()?;
    let parent = find(document, above)?;
    if let Kind::List(items) = &mut parent.kind {
        let index = index(last, items.len())?;
        items.remove(index);
        return Some(());
    }
    parent.remove(last).map(drop)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn patched(base: &str, patch: &str) -> Result<Value, String> {
        let mut document = crate::yaml::parse(base, 0).unwrap();
        let patch = crate::yaml::parse(patch, 0).unwrap();
        apply(&mut document, &patch, &Sources::default()).map_err(|mistake| mistake.to_string())?;
        Ok(document.to_value())
    }

    #[test]
    fn each_operation_does_what_the_rfc_says() {
        let base = "a: {b_c: 1}\nl: [1, 2]\n";
        let table = [
            ("[{op: add, path: /a/d, value: 2}]", json!({"a": {"b_c": 1, "d": 2}, "l": [1, 2]})),
            ("[{op: add, path: /a/b-c, value: 2}]", json!({"a": {"b_c": 2}, "l": [1, 2]})),
            (
                "[{op: add, path: /l/-, value: 3}, {op: add, path: /l/0, value: 0}]",
                json!({"a": {"b_c": 1}, "l": [0, 1, 2, 3]}),
            ),
            ("[{op: replace, path: /l/1, value: null}]", json!({"a": {"b_c": 1}, "l": [1, null]})),
            ("[{op: remove, path: /a}, {op: remove, path: /l/0}]", json!({"l": [2]})),
            ("[{op: test, path: /a/b_c, value: 1}]", json!({"a": {"b_c": 1}, "l": [1, 2]})),
        ];
        for (patch, expected) in table {
            assert_eq!(patched(base, patch).unwrap(), expected, "{patch}");
        }
    }

    #[test]
    fn a_step_that_does_not_apply_fails() {
        for patch in [
            "[{op: replace, path: /x, value: 1}]",
            "[{op: remove, path: /l/2}]",
            "[{op: add, path: /x/y, value: 1}]",
            "[{op: test, path: /a, value: 2}]",
            "[{op: move, path: /a, from: /b}]",
            "[{op: add, path: a, value: 1}]",
            "[{op: add, path: /a}]",
            "[{op: add, path: /l/01, value: 1}]",
            "{op: add}",
            "[x]",
            &format!("[{}]", "{op: test, path: /a, value: 1}, ".repeat(1_001)),
            &format!("[{{op: add, path: {}, value: 1}}]", "/a".repeat(33)),
        ] {
            assert!(patched("a: 1\nl: [1, 2]\n", patch).is_err(), "{patch}");
        }
    }
}
