//! One edit as replacements in the text. Every comment that stands in a replaced part is written again beside it.

use std::ops::Range;

use serde_json::{Map, Value};

use super::{
    path::{self, Edit, Step},
    syntax::{Element, Form, Item, Pair, Syntax},
    write::{self, Language},
};

/// One replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) range: Range<usize>,
    pub(crate) text: String,
}

/// Why an edit cannot be made: a lowercase fragment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Impossible(pub(crate) String);

type Changes = Result<Vec<Change>, Impossible>;

/// A text that is being edited.
pub(crate) struct Page<'a> {
    pub(crate) text: &'a str,
    pub(crate) syntax: &'a Syntax,
    pub(crate) language: Language,
}

/// A value with what it belongs to.
#[derive(Clone, Copy)]
enum Spot<'a> {
    Root(&'a Element),
    Pair { map: &'a Element, index: usize, pair: &'a Pair },
    Item { list: &'a Element, index: usize, item: &'a Item },
}

impl<'a> Spot<'a> {
    fn element(self) -> &'a Element {
        match self {
            Self::Root(element) => element,
            Self::Pair { pair, .. } => &pair.value,
            Self::Item { item, .. } => &item.value,
        }
    }
}

fn impossible<T>(message: impl Into<String>) -> Result<T, Impossible> {
    Err(Impossible(message.into()))
}

impl<'a> Page<'a> {
    /// The replacements one edit comes to.
    pub(crate) fn changes(&self, edit: &Edit) -> Changes {
        match edit {
            Edit::Set(path, value) => match self.walk(path)? {
                (spot, []) => self.replace(spot, value),
                (spot, rest) => self.insert(spot, rest, value),
            },
            Edit::Append(path, value) => match self.walk(path)? {
                (spot, []) => self.append(spot, value),
                (spot, rest) => self.insert(spot, rest, &Value::Array(vec![value.clone()])),
            },
            Edit::Remove(path) => self.remove(path),
            Edit::Rename(path, to) => match self.find(path)? {
                Spot::Pair { map, pair, .. } => {
                    let text = write::key(to, self.language, map.is_flow());
                    Ok(vec![Change { range: pair.key_range.clone(), text }])
                }
                _ => impossible("only a key has a name"),
            },
            Edit::CommentOut(path, note) => self.comment_out(path, note),
            Edit::RemoveShadowed(path, index) => {
                let map = self.find(path)?;
                match map.element().pairs().get(*index) {
                    Some(pair) => self.remove_pair(map, map.element(), *index, pair),
                    None => impossible("there is no such entry"),
                }
            }
        }
    }

    /// As far as the path goes in the text, and the steps that are left.
    fn walk<'p>(&self, path: &'p [Step]) -> Result<(Spot<'a>, &'p [Step]), Impossible> {
        let mut spot = Spot::Root(&self.syntax.root);
        for (depth, step) in path.iter().enumerate() {
            let element = spot.element();
            let next = match (&element.form, step) {
                (Form::Alias, _) => {
                    let above = path::shown(&path[..depth]);
                    return impossible(format!("`{above}` refers to another part of the file"));
                }
                (Form::Map { .. }, Step::Key(key)) => path::pair(element, key)
                    .map(|(index, pair)| Spot::Pair { map: element, index, pair }),
                (Form::List { items, .. }, Step::Item(index)) => {
                    items.get(*index).map(|item| Spot::Item { list: element, index: *index, item })
                }
                (Form::Scalar, Step::Key(_)) if self.is_null(element) => None,
                _ => {
                    let above = path::shown(&path[..depth]);
                    return impossible(format!("`{above}` is not a section"));
                }
            };
            match next {
                Some(next) => spot = next,
                None => return Ok((spot, &path[depth..])),
            }
        }
        Ok((spot, &[]))
    }

    fn find(&self, path: &[Step]) -> Result<Spot<'a>, Impossible> {
        match self.walk(path)? {
            (spot, []) => Ok(spot),
            _ => impossible(format!("there is no `{}`", path::shown(path))),
        }
    }

    fn is_null(&self, element: &Element) -> bool {
        let text = self.text.get(element.start..element.end).unwrap_or_default();
        matches!(text, "" | "~" | "null" | "Null" | "NULL")
    }

    /// Where a value's text begins and ends, and whether it stands in brackets.
    fn slot(&self, spot: Spot<'_>) -> Result<(Range<usize>, bool), Impossible> {
        match spot {
            Spot::Root(_) => impossible("the whole file cannot be replaced"),
            Spot::Pair { map, pair, .. } => {
                let Some(colon) = pair.colon else {
                    return impossible(format!(
                        "`{}` is written in a way that is not edited",
                        pair.key
                    ));
                };
                Ok((colon..pair.value.end.max(colon), map.is_flow()))
            }
            Spot::Item { list, item, .. } => match item.dash {
                Some(dash) => Ok((dash + 1..item.end(), list.is_flow())),
                None => Ok((item.value.start..item.value.end, true)),
            },
        }
    }

    /// Puts a value in the place of another.
    fn replace(&self, spot: Spot<'_>, value: &Value) -> Changes {
        let (range, in_brackets) = self.slot(spot)?;
        let text = match spot {
            _ if in_brackets => {
                let space = if matches!(spot, Spot::Pair { .. }) { " " } else { "" };
                format!("{space}{}", write::inline(value, self.language, true))
            }
            Spot::Pair { pair, .. } => write::after_colon(value, self.column(pair.key_range.start)),
            Spot::Item { item, .. } => write::after_dash(value, self.column(item.start())),
            Spot::Root(_) => String::new(),
        };
        let is_short = !text.contains('\n');
        let column = match spot {
            Spot::Pair { pair, .. } => self.column(pair.key_range.start) + 2,
            Spot::Item { item, .. } => self.column(item.start()) + 2,
            Spot::Root(_) => 0,
        };
        let mut changes = vec![Change { range: range.clone(), text }];
        changes.extend(self.rescue(&range, column, is_short));
        Ok(changes)
    }

    /// The comments of a replaced part, at the end of its last line.
    fn rescue(&self, range: &Range<usize>, column: usize, same_line: bool) -> Option<Change> {
        let lost = self.comments_in(range);
        let end = self.line_end(range.end);
        let is_taken = self.syntax.comments.iter().any(|c| c.start >= range.end && c.start < end);
        let mut text = String::new();
        for (index, comment) in lost.iter().enumerate() {
            if index == 0 && same_line && !is_taken {
                text.push(' ');
            } else {
                text.push('\n');
                text.push_str(&" ".repeat(column));
            }
            text.push_str(comment);
        }
        (!text.is_empty()).then_some(Change { range: end..end, text })
    }

    /// Adds an entry to a section, with the sections on the way to it.
    fn insert(&self, spot: Spot<'_>, rest: &[Step], value: &Value) -> Changes {
        let Some((Step::Key(key), below)) = rest.split_first() else {
            return impossible("the list has no such item");
        };
        let mut value = value.clone();
        for step in below.iter().rev() {
            let Step::Key(key) = step else { return impossible("the list has no such item") };
            value = Value::Object(Map::from_iter([(key.clone(), value)]));
        }
        let element = spot.element();
        let entry = Value::Object(Map::from_iter([(key.clone(), value.clone())]));
        match &element.form {
            Form::Map { is_flow: false, pairs } => {
                let (Some(first), Some(last)) = (pairs.first(), pairs.last()) else {
                    return impossible("the section cannot be followed");
                };
                let text = write::block(&entry, self.column(first.key_range.start));
                Ok(vec![self.line_after(last.end(), &text)])
            }
            Form::Map { is_flow: true, pairs } => match (pairs.first(), pairs.last()) {
                (Some(first), Some(last)) => {
                    let text = self.pair_in_brackets(key, &value);
                    Ok(vec![self.after_last(first.key_range.start, last.end(), &text)])
                }
                _ if self.may_unfold(spot) => self.replace(spot, &entry),
                _ => {
                    let at = element.start + 1;
                    Ok(vec![Change { range: at..at, text: self.pair_in_brackets(key, &value) }])
                }
            },
            _ => match spot {
                Spot::Root(_) => {
                    let end = self.text.trim_end().len();
                    let newline = if end == 0 || self.is_only_mark(end) { "" } else { "\n" };
                    let rest = self.text.len();
                    let text = format!("{newline}{}\n", write::block(&entry, 0));
                    Ok(vec![Change { range: end..rest, text }])
                }
                _ => self.replace(spot, &entry),
            },
        }
    }

    fn is_only_mark(&self, end: usize) -> bool {
        self.text[..end] == *"\u{feff}"
    }

    fn pair_in_brackets(&self, key: &str, value: &Value) -> String {
        let key = write::key(key, self.language, true);
        format!("{key}: {}", write::inline(value, self.language, true))
    }

    /// Whether an empty `{}` or `[]` may become lines of its own.
    fn may_unfold(&self, spot: Spot<'_>) -> bool {
        self.language == Language::Yaml
            && self.slot(spot).is_ok_and(|(_, in_brackets)| !in_brackets)
    }

    /// Adds after the last entry in brackets, on a line of its own where the first one is.
    fn after_last(&self, first: usize, last_end: usize, text: &str) -> Change {
        let line = self.line_start(first);
        let margin = &self.text[line..first];
        let is_own_line = margin.chars().all(|c| c == ' ' || c == '\t') && line > 0;
        let text = if is_own_line { format!(",\n{margin}{text}") } else { format!(", {text}") };
        Change { range: last_end..last_end, text }
    }

    fn append(&self, spot: Spot<'_>, value: &Value) -> Changes {
        let element = spot.element();
        let alone = Value::Array(vec![value.clone()]);
        match &element.form {
            Form::List { items, is_flow } => match (items.first(), items.last()) {
                (Some(first), Some(last)) if *is_flow => {
                    let text = write::inline(value, self.language, true);
                    Ok(vec![self.after_last(first.start(), last.end(), &text)])
                }
                (Some(first), Some(last)) => {
                    let column = self.column(first.start());
                    let margin = " ".repeat(column);
                    let text = format!("{margin}-{}", write::after_dash(value, column));
                    Ok(vec![self.line_after(last.end(), &text)])
                }
                _ => self.replace(spot, &alone),
            },
            Form::Scalar if self.is_null(element) => self.replace(spot, &alone),
            _ => impossible("the value is not a list"),
        }
    }

    fn remove(&self, path: &[Step]) -> Changes {
        let spot = self.find(path)?;
        let above = self.find(&path[..path.len().saturating_sub(1)])?;
        match spot {
            Spot::Root(_) => impossible("the whole file cannot be removed"),
            Spot::Pair { map, index, pair } => self.remove_pair(above, map, index, pair),
            Spot::Item { list, index, item } => self.remove_item(above, list, index, item),
        }
    }

    fn remove_pair(&self, above: Spot<'_>, map: &Element, index: usize, pair: &Pair) -> Changes {
        let pairs = map.pairs();
        if map.is_flow() {
            let starts: Vec<usize> = pairs.iter().map(|pair| pair.key_range.start).collect();
            let ends: Vec<usize> = pairs.iter().map(Pair::end).collect();
            return Ok(self.remove_in_brackets(&starts, &ends, index));
        }
        let start = pair.key_range.start;
        if pairs.len() == 1 && !matches!(above, Spot::Root(_)) {
            return self.replace(above, &Value::Object(Map::new()));
        }
        if self.stands_first(start) {
            return Ok(vec![self.remove_lines(start, pair.end())]);
        }
        // `- key: value`: the next entry moves up behind the dash.
        match pairs.get(index + 1) {
            Some(next) => {
                let line = self.line_start(start);
                let range = start..next.key_range.start;
                let margin = " ".repeat(self.column(self.line_start_of_content(start)));
                let comments: Vec<String> =
                    self.comments_in(&range).iter().map(|c| format!("{margin}{c}\n")).collect();
                let hoisted = Change { range: line..line, text: comments.concat() };
                Ok(vec![hoisted, Change { range, text: String::new() }])
            }
            None => impossible("the entry shares its line with a dash"),
        }
    }

    fn remove_item(&self, above: Spot<'_>, list: &Element, index: usize, item: &Item) -> Changes {
        let items = list.items();
        if list.is_flow() {
            let starts: Vec<usize> = items.iter().map(Item::start).collect();
            let ends: Vec<usize> = items.iter().map(Item::end).collect();
            return Ok(self.remove_in_brackets(&starts, &ends, index));
        }
        if items.len() == 1 {
            return self.replace(above, &Value::Array(Vec::new()));
        }
        if !self.stands_first(item.start()) {
            return impossible("the item shares its line with another dash");
        }
        Ok(vec![self.remove_lines(item.start(), item.end())])
    }

    fn remove_in_brackets(&self, starts: &[usize], ends: &[usize], index: usize) -> Vec<Change> {
        let range = match starts.get(index + 1) {
            Some(next) => starts[index]..*next,
            None if index > 0 => ends[index - 1]..ends[index],
            None => starts[index]..ends[index],
        };
        let rescued = self.rescue(&range, self.column(starts[index]), true);
        std::iter::once(Change { range, text: String::new() }).chain(rescued).collect()
    }

    /// Takes out whole lines; their comments stay, each on its own line.
    fn remove_lines(&self, start: usize, end: usize) -> Change {
        let line = self.line_start(start);
        let stop = self.line_end(end);
        let stop = if self.text[stop..].starts_with('\n') { stop + 1 } else { stop };
        let range = line..stop;
        let margin = " ".repeat(self.column(start));
        let comments: Vec<String> =
            self.comments_in(&range).iter().map(|c| format!("{margin}{c}\n")).collect();
        Change { range, text: comments.concat() }
    }

    fn comment_out(&self, path: &[Step], note: &str) -> Changes {
        let Spot::Item { list, item, .. } = self.find(path)? else {
            return impossible("only an item of a list is commented out");
        };
        let start = item.start();
        if list.is_flow() || !self.stands_first(start) {
            return impossible("it shares a line with other items");
        }
        let (line, stop) = (self.line_start(start), self.line_end(item.end()));
        let margin = &self.text[line..start];
        let mut text = format!("{margin}# {note}");
        for old in self.text[line..stop].split('\n') {
            let kept = old.strip_prefix(margin).unwrap_or_else(|| old.trim_start()).trim_end();
            text.push('\n');
            text.push_str(format!("{margin}# {kept}").trim_end());
        }
        let mut changes = vec![Change { range: line..stop, text }];
        if list.items().len() == 1 {
            match self.find(&path[..path.len() - 1])? {
                Spot::Pair { pair: Pair { colon: Some(colon), .. }, .. } => {
                    changes.push(Change { range: *colon..*colon, text: " []".to_owned() });
                }
                _ => return impossible("the list would be left empty"),
            }
        }
        Ok(changes)
    }

    fn comments_in(&self, range: &Range<usize>) -> Vec<&'a str> {
        let inside = |comment: &&Range<usize>| range.contains(&comment.start);
        self.syntax
            .comments
            .iter()
            .filter(inside)
            .map(|c| self.text[c.clone()].trim_end())
            .collect()
    }

    /// A new line below the line a place is on.
    fn line_after(&self, place: usize, text: &str) -> Change {
        let end = self.line_end(place);
        Change { range: end..end, text: format!("\n{text}") }
    }

    fn line_start(&self, place: usize) -> usize {
        let start = self.text[..place].rfind('\n').map_or(0, |newline| newline + 1);
        // A byte order mark is no part of the first line.
        if start == 0 && self.text.starts_with('\u{feff}') { 3.min(place) } else { start }
    }

    /// The end of a place's line, before its line break.
    fn line_end(&self, place: usize) -> usize {
        self.text[place..].find('\n').map_or(self.text.len(), |newline| place + newline)
    }

    fn line_start_of_content(&self, place: usize) -> usize {
        let line = self.line_start(place);
        line + self.text[line..place].len() - self.text[line..place].trim_start().len()
    }

    fn column(&self, place: usize) -> usize {
        self.text[self.line_start(place)..place].chars().count()
    }

    /// Whether only spaces stand before a place on its line.
    fn stands_first(&self, place: usize) -> bool {
        self.text[self.line_start(place)..place].bytes().all(|byte| byte == b' ')
    }
}
