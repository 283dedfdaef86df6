//! Rules about single values and about the entries of `suppressions`, `ignore_paths` and the like.

use serde_json::Value;

use super::{Found, Level, walk::slice};
use crate::{
    edit::path::{self, Edit, Step},
    settings::{PackageRule, SuppressionRule},
    tree::{At, Kind, Node, normal},
    validate::{as_int, is_date},
};

/// The rule that only `--fix-unused` acts on.
pub(super) const UNUSED: &str = "unused-suppression";

/// A word of a choice in other letter case.
pub(super) fn letter_case(found: &mut Found<'_>, node: &Node, words: &[&str], path: &[Step]) {
    let Some(text) = node.text() else { return };
    let meant = words.iter().find(|word| word.eq_ignore_ascii_case(text));
    if let Some(meant) = meant.filter(|meant| **meant != text) {
        let message = format!("`{}` is written `{meant}`, not `{text}`", path::shown(path));
        set("letter-case", Level::Error, found, node.at, message, path, (*meant).into());
    }
}

/// A number or a truth value where text is meant.
pub(super) fn quotes(found: &mut Found<'_>, node: &Node, path: &[Step]) {
    if !matches!(node.kind, Kind::Bool(_) | Kind::Int(_) | Kind::Float(_)) {
        return;
    }
    let text = slice(found, node.at);
    if !text.is_empty() {
        let message =
            format!("`{}` is text, and `{text}` needs quotes to be one", path::shown(path));
        set("quotes", Level::Error, found, node.at, message, path, text.into());
    }
}

/// One word where a list of words is meant. In `sandbox` that stays for a person to decide.
pub(super) fn list(found: &mut Found<'_>, node: &Node, path: &[Step]) {
    let Some(text) = node.text() else { return };
    if path.first() != Some(&Step::Key("sandbox".to_owned())) {
        let message = format!("`{}` is a list, not one text", path::shown(path));
        let value = Value::Array(vec![text.into()]);
        set("list", Level::Error, found, node.at, message, path, value);
    }
}

/// A day in another form.
pub(super) fn date(found: &mut Found<'_>, node: &Node, path: &[Step]) {
    let Some(text) = node.text().filter(|text| !is_date(text)) else { return };
    if let Some(date) = normal_date(text) {
        let message = format!("`{}` is a date such as `{date}`, not `{text}`", path::shown(path));
        set("date", Level::Error, found, node.at, message, path, date.into());
    }
}

/// Year, month and day in that order, with other separators, without leading zeros, or with a time.
fn normal_date(text: &str) -> Option<String> {
    let day = text.split(['T', ' ']).next().unwrap_or_default();
    let parts: Vec<&str> = day.split(['-', '/', '.']).collect();
    let [year, month, day] = parts.as_slice() else { return None };
    let number =
        |text: &str| text.parse::<u32>().ok().filter(|_| text.bytes().all(|b| b.is_ascii_digit()));
    if year.len() != 4 {
        return None;
    }
    let date = format!("{:04}-{:02}-{:02}", number(year)?, number(month)?, number(day)?);
    is_date(&date).then_some(date)
}

/// An entry with a path and a reason, in whatever list it is.
pub(super) fn rule_entry(found: &mut Found<'_>, node: &Node, path: &[Step]) {
    let [above @ .., Step::Key(list), Step::Item(_)] = path else { return };
    let in_global = above.len() == 1;
    let list = normal(list);
    expired(found, node, path, &list);
    if let Some(reason) = node.get("reason").filter(|reason| reason.text().is_some_and(has_lines)) {
        let text = reason.text().unwrap_or_default();
        let one = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let message = "a reason of several lines breaks the tables it is shown in".to_owned();
        set(
            "multi-line-reason",
            Level::Warning,
            found,
            reason.at,
            message,
            &below(path, node, "reason"),
            one.into(),
        );
    }
    if in_global && (list == "suppressions" || list == "ignore_paths") {
        bare_directory(found, node, path);
    }
    if in_global && list == "suppressions" {
        open_ended(found, node, path);
        unused(found, node, path);
    }
}

fn has_lines(text: &str) -> bool {
    text.trim_end().contains('\n')
}

fn expired(found: &mut Found<'_>, node: &Node, path: &[Step], list: &str) {
    let Some(expiration) = node.get("expiration") else { return };
    let day = expiration.text().unwrap_or_default();
    if is_date(day) && day <= found.lint.today {
        let message = format!("this entry of `{list}` expired on {day} and does nothing");
        let edit = Edit::Remove(path.to_vec());
        found.push_whole("expired", expiration.at, node.at.start, message, edit);
    }
}

/// `tests/` matches the directory itself and nothing in it.
fn bare_directory(found: &mut Found<'_>, node: &Node, path: &[Step]) {
    let Some(place) = node.get("path") else { return };
    let text = place.text().unwrap_or_default();
    let has_glob = text.contains(['*', '?', '[']);
    let bare = text.trim_end_matches('/');
    if !has_glob && !bare.is_empty() && (text.ends_with('/') || (found.lint.is_directory)(text)) {
        let message = format!("`{text}` is a directory, and the pattern matches nothing below it");
        let value = format!("{bare}/**").into();
        set(
            "bare-directory",
            Level::Warning,
            found,
            place.at,
            message,
            &below(path, node, "path"),
            value,
        );
    }
}

fn open_ended(found: &mut Found<'_>, node: &Node, path: &[Step]) {
    if let (Some(start), None) = (node.get("line_start"), node.get("line_end"))
        && let Some(line) = as_int(start)
    {
        let message = format!(
            "`line_start` without `line_end` suppresses everything from line {line} to the end of the file"
        );
        let path = below(path, node, "line_end");
        set("open-ended", Level::Warning, found, start.at, message, &path, line.into());
    }
}

fn unused(found: &mut Found<'_>, node: &Node, path: &[Step]) {
    let text = |key: &str| node.get(key).and_then(Node::text).map(str::to_owned);
    let line = |key: &str| node.get(key).and_then(as_int).and_then(|line| u64::try_from(line).ok());
    let rule = SuppressionRule {
        path: text("path").unwrap_or_default(),
        reason: text("reason").unwrap_or_default(),
        rule_id: text("rule_id"),
        line_start: line("line_start"),
        line_end: line("line_end"),
        expiration: None,
        symbol: None,
        package: PackageRule::default(),
    };
    let id = rule.id();
    let is_unused = found.lint.unused.contains(&id);
    if is_unused {
        let message = format!("this suppression (`{id}`) suppressed nothing in the last scan");
        let note = format!(
            "unused on {}, commented out by `ash config lint --fix-unused`:",
            found.lint.today
        );
        let edit = Edit::CommentOut(path.to_vec(), note);
        found.push_whole(UNUSED, node.at, node.at.start, message, edit);
    }
}

/// The path of a key of an entry, as the entry spells it.
fn below(path: &[Step], node: &Node, key: &str) -> Vec<Step> {
    let spelled = node.entries().iter().find(|entry| normal(&entry.key) == key);
    let key = spelled.map_or_else(|| key.to_owned(), |entry| entry.key.clone());
    path.iter().cloned().chain([Step::Key(key)]).collect()
}

fn set(
    rule: &'static str,
    level: Level,
    found: &mut Found<'_>,
    at: At,
    message: String,
    path: &[Step],
    value: Value,
) {
    found.push(rule, level, at, message, None, Some(Edit::Set(path.to_vec(), value)));
}
