//! Goes through a document along the schema and applies the rules where they belong.

use super::{Found, Level, rules};
use crate::{
    edit::path::{self, Edit, Step},
    error::nearest,
    schema::{self, Field, Names, Shape},
    tree::{At, Entry, Kind, Node, same_key},
    validate::says_nothing,
};

/// Names that plugins had once.
const OLD_NAMES: &[(&str, &str)] =
    &[("ArchiveConverter", "archive"), ("JupyterConverter", "jupyter")];
/// Keys of a plugin that only ash itself sets.
const INTERNAL: &[&str] = &["name", "extension", "tool_version", "install_timeout"];

pub(super) fn document(found: &mut Found<'_>, document: &Node) {
    if matches!(document.kind, Kind::Map(_)) {
        section(found, document, schema::ROOT, &mut Vec::new(), false);
        if let Some(entry) = document.entries().iter().find(|entry| entry.key == "build") {
            let message = "`build` is internal: ash builds no images from configuration".to_owned();
            let edit = Edit::Remove(path::keys("build"));
            found.push("build-section", Level::Warning, entry.key_at, message, None, Some(edit));
        }
    }
}

fn shape(found: &mut Found<'_>, node: &Node, of: &Shape, path: &mut Vec<Step>) {
    if node.is_null() {
        return;
    }
    match of {
        Shape::Section(fields) => section(found, node, fields, path, false),
        Shape::Named(names) => named(found, node, names, path),
        Shape::List(item) => {
            rules::list(found, node, path);
            items(found, node, item, path);
        }
        Shape::OneOrMore(item) => match node.kind {
            Kind::List(_) => items(found, node, item, path),
            _ => shape(found, node, item, path),
        },
        Shape::Choice(words) => rules::letter_case(found, node, words, path),
        Shape::Text => rules::quotes(found, node, path),
        Shape::Date => rules::date(found, node, path),
        Shape::Pattern => match node.kind {
            Kind::Map(_) => section(found, node, schema::PATTERN, path, false),
            _ => rules::quotes(found, node, path),
        },
        Shape::Any | Shape::Bool | Shape::Int(..) | Shape::Number(..) => {}
    }
}

fn items(found: &mut Found<'_>, node: &Node, item: &Shape, path: &mut Vec<Step>) {
    for (index, node) in node.items().iter().enumerate() {
        path.push(Step::Item(index));
        shape(found, node, item, path);
        rules::rule_entry(found, node, path);
        path.pop();
    }
}

/// `open`: keys that nobody knows do nothing, instead of being mistakes.
fn section(found: &mut Found<'_>, node: &Node, fields: &[Field], path: &mut Vec<Step>, open: bool) {
    for entry in node.entries() {
        path.push(Step::Key(entry.key.clone()));
        match fields.iter().find(|field| same_key(field.key, &entry.key)) {
            Some(field) => {
                spelling(found, node, entry, field.key, path);
                let told =
                    field.key == "build" || (path.len() == 3 && INTERNAL.contains(&field.key));
                let is_silent = told || says_nothing(&entry.value, field);
                if let Some(instead) = field.instead.filter(|_| !is_silent) {
                    let message = format!("`{}` has no effect: {instead}", entry.key);
                    found.push("no-effect", Level::Warning, entry.key_at, message, None, None);
                }
                shape(found, &entry.value, &field.shape, path);
            }
            None => unknown(found, node, entry, fields, path, open),
        }
        path.pop();
    }
}

/// A key in the other spelling works, and is easier to find in the documentation under the published one.
fn spelling(found: &mut Found<'_>, map: &Node, entry: &Entry, published: &str, path: &[Step]) {
    if entry.key == published {
        return;
    }
    let twin = map.entries().iter().find(|other| other.key == published);
    match twin {
        None => {
            let message = format!("`{}` is published as `{published}`", entry.key);
            let edit = Edit::Rename(path.to_vec(), published.to_owned());
            found.push("spelling", Level::Warning, entry.key_at, message, None, Some(edit));
        }
        Some(twin) => {
            let message = format!("`{}` and `{published}` are one key, set twice", entry.key);
            let is_same = twin.value.to_value() == entry.value.to_value();
            let edit = is_same.then(|| Edit::Remove(path.to_vec()));
            let hint = (!is_same).then(|| "keep one of them".to_owned());
            found.push("duplicate-key", Level::Error, entry.key_at, message, hint, edit);
        }
    }
}

fn unknown(
    found: &mut Found<'_>,
    map: &Node,
    entry: &Entry,
    fields: &[Field],
    path: &[Step],
    open: bool,
) {
    let is_taken = |key: &&str| map.entries().iter().any(|other| same_key(&other.key, key));
    let near = nearest(&entry.key, fields.iter().map(|field| field.key));
    let at = entry.key_at;
    let hint = near.map(|near| format!("did you mean `{near}`?"));
    // What a repository may be granted is never guessed.
    let is_sandbox = path.first() == Some(&Step::Key("sandbox".to_owned()));
    let edit = near
        .filter(|near| !is_taken(near) && !is_sandbox)
        .map(|near| Edit::Rename(path.to_vec(), near.to_owned()));
    if open {
        let message =
            format!("no version of this plugin has the option `{}`, so it does nothing", entry.key);
        found.push("unknown-option", Level::Warning, at, message, hint, edit);
    } else if edit.is_some() && !belongs_elsewhere(&entry.key, path) {
        let message = format!("`{}` is not a key here", entry.key);
        found.push("unknown-key", Level::Error, at, message, hint, edit);
    }
    // Otherwise the loader's own words say more.
}

/// Whether a key of that name exists in another section.
fn belongs_elsewhere(key: &str, path: &[Step]) -> bool {
    let known = |fields: &[Field]| fields.iter().any(|field| same_key(field.key, key));
    known(schema::GLOBAL) || known(schema::SANDBOX) || (path.len() > 1 && known(schema::ROOT))
}

fn named(found: &mut Found<'_>, node: &Node, names: &Names, path: &mut Vec<Step>) {
    for entry in node.entries() {
        path.push(Step::Key(entry.key.clone()));
        plugin_name(found, node, entry, names, path);
        shape(found, &entry.value, &names.entry, path);
        if matches!(entry.value.kind, Kind::Map(_)) {
            internal(found, entry, path);
        }
        let options = entry.value.entries().iter().find(|below| below.key == "options");
        if let (Some(options), Some(all)) = (options, names.options_of(&entry.key)) {
            path.push(Step::Key("options".to_owned()));
            section(found, &options.value, &all, path, true);
            path.pop();
        }
        path.pop();
    }
}

fn plugin_name(found: &mut Found<'_>, map: &Node, entry: &Entry, names: &Names, path: &[Step]) {
    let told: &[&str] = if names.kind == "scanner" { found.lint.known_scanners } else { &[] };
    let known = || names.known.iter().chain(told).copied();
    let old = OLD_NAMES.iter().find(|(old, _)| *old == entry.key).map(|(_, new)| *new);
    let is_taken = |name: &str| map.entries().iter().any(|other| other.key == name);
    match old.or_else(|| known().find(|known| same_key(known, &entry.key))) {
        Some(name) if name == entry.key => {}
        Some(name) => {
            let message = format!("`{}` is the old name of `{name}`", entry.key);
            let edit = (!is_taken(name)).then(|| Edit::Rename(path.to_vec(), name.to_owned()));
            let hint = is_taken(name).then(|| "both are set; keep one of them".to_owned());
            found.push("legacy-name", Level::Warning, entry.key_at, message, hint, edit);
        }
        None => {
            let message = format!("ash has no {} named `{}`", names.kind, entry.key);
            let hint = nearest(&entry.key, known()).map(|near| format!("did you mean `{near}`?"));
            found.push("unknown-name", Level::Warning, entry.key_at, message, hint, None);
        }
    }
}

/// Fields that only ash sets. Another `name` makes the plugin another one, so that stays for a person to decide.
fn internal(found: &mut Found<'_>, plugin: &Entry, path: &[Step]) {
    for entry in plugin.value.entries() {
        let Some(field) = INTERNAL.iter().find(|field| same_key(field, &entry.key)) else {
            continue;
        };
        let is_renamed =
            *field == "name" && entry.value.text().is_some_and(|name| !same_key(name, &plugin.key));
        let message = format!("`{}` is internal; ash sets it by itself", entry.key);
        let mut below = path.to_vec();
        below.push(Step::Key(entry.key.clone()));
        let edit = (!is_renamed).then_some(Edit::Remove(below));
        let hint =
            is_renamed.then(|| "a plugin goes by its key; use that name as the key".to_owned());
        found.push("internal-field", Level::Warning, entry.key_at, message, hint, edit);
    }
}

/// The text of a place.
pub(super) fn slice<'a>(found: &Found<'a>, at: At) -> &'a str {
    found.text.get(at.start..at.end).unwrap_or_default()
}
