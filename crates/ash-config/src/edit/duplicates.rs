//! Keys that a section has twice. Readers of the file before ash went by the last one, so that is the one that counts.

use std::collections::HashMap;

use super::{
    path::Step,
    syntax::{Element, Form, Pair},
};

/// An entry that a later one with the same key hides.
#[derive(Debug)]
pub(crate) struct Shadowed<'a> {
    /// The section.
    pub(crate) path: Vec<Step>,
    /// Its number in the section.
    pub(crate) index: usize,
    pub(crate) pair: &'a Pair,
    /// The one that counts.
    pub(crate) winner: &'a Pair,
    end: usize,
}

/// Every hidden entry, outermost first; hidden sections are not looked into.
pub(crate) fn shadowed(root: &Element) -> Vec<Shadowed<'_>> {
    let mut found = Vec::new();
    look(root, &mut Vec::new(), &mut found);
    found
}

fn look<'a>(element: &'a Element, path: &mut Vec<Step>, found: &mut Vec<Shadowed<'a>>) {
    match &element.form {
        Form::Map { pairs, is_flow } => {
            let last: HashMap<&str, usize> =
                pairs.iter().enumerate().map(|(index, pair)| (pair.key.as_str(), index)).collect();
            for (index, pair) in pairs.iter().enumerate() {
                let winner = last.get(pair.key.as_str()).copied().unwrap_or(index);
                // Merge keys may repeat.
                if winner != index && pair.key != "<<" {
                    let next = pairs.get(index + 1).filter(|_| *is_flow);
                    let end = next.map_or_else(|| pair.end(), |next| next.key_range.start);
                    let winner = &pairs[winner];
                    found.push(Shadowed { path: path.clone(), index, pair, winner, end });
                    continue;
                }
                path.push(Step::Key(pair.key.clone()));
                look(&pair.value, path, found);
                path.pop();
            }
        }
        Form::List { items, .. } => {
            for (index, item) in items.iter().enumerate() {
                path.push(Step::Item(index));
                look(&item.value, path, found);
                path.pop();
            }
        }
        Form::Scalar | Form::Alias => {}
    }
}

/// The text with hidden entries turned into spaces: every other byte stays where it is.
pub(crate) fn blanked(text: &str, root: &Element) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for entry in shadowed(root) {
        for byte in &mut bytes[entry.pair.key_range.start..entry.end] {
            if *byte != b'\n' && *byte != b'\r' {
                *byte = b' ';
            }
        }
    }
    // Whole characters were replaced, so this is UTF-8 still.
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}
