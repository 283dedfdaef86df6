//! Puts right what can be put right by itself.

use std::{cmp::Reverse, collections::HashSet};

use super::{Lint, LintFinding, Remedy, lint};
use crate::edit::{
    editor::Editor,
    path::{Edit, Step},
    update::language,
};

/// A fix can bring to light what was hidden before; this often at most.
const ROUNDS: usize = 8;

/// Texts that are tried at most; a hostile file can be full of what cannot be proved.
const PROOFS: usize = 200;

/// What came of fixing.
#[derive(Debug)]
pub struct Fixed {
    /// The text now.
    pub text: String,
    /// What was put right, as it was found.
    pub fixed: Vec<LintFinding>,
    /// What is left.
    pub left: Vec<LintFinding>,
}

/// Fixes a text: the findings of `--fix`, with `unused` those of `--fix-unused`, or both.
pub fn fix(text: &str, options: &Lint<'_>, mechanical: bool, unused: bool) -> Fixed {
    let mut left = lint(text, options);
    let Some(language) = language(options.file) else {
        return Fixed { text: text.to_owned(), fixed: Vec::new(), left };
    };
    let wanted = |finding: &LintFinding| match finding.remedy {
        Remedy::ByHand => false,
        Remedy::Fix => mechanical,
        Remedy::FixUnused => unused,
    };
    let mut editor = Editor::new(text, language);
    let (mut fixed, mut proofs) = (Vec::new(), PROOFS);
    for _ in 0..ROUNDS {
        // From the end, and what is inside an entry before the entry itself: the ways to the others stay what they are.
        let mut todo: Vec<&LintFinding> = left.iter().filter(|finding| wanted(finding)).collect();
        todo.sort_by_key(|finding| (Reverse(finding.start), takes_out(finding)));
        let done = round(&mut editor, &without_doomed(todo), &mut proofs);
        if done.is_empty() {
            break;
        }
        fixed.extend(done);
        left = lint(&editor.text(), options);
    }
    fixed.sort_by_key(LintFinding::position);
    Fixed { text: editor.text(), fixed, left }
}

fn takes_out(finding: &LintFinding) -> bool {
    matches!(finding.edit, Some(Edit::Remove(_) | Edit::CommentOut(..) | Edit::RemoveShadowed(..)))
}

/// What is inside something that goes needs no fix; the next round sees what is left.
fn without_doomed(todo: Vec<&LintFinding>) -> Vec<&LintFinding> {
    let doomed: HashSet<&[Step]> = todo
        .iter()
        .filter_map(|finding| match &finding.edit {
            Some(Edit::Remove(path) | Edit::CommentOut(path, _)) => Some(path.as_slice()),
            _ => None,
        })
        .collect();
    let is_inside = |path: &[Step]| (1..path.len()).any(|depth| doomed.contains(&path[..depth]));
    todo.into_iter()
        .filter(|finding| finding.edit.as_ref().is_some_and(|edit| !is_inside(edit.path())))
        .collect()
}

/// All at once where that can be proved; else half by half, until one that cannot be made is alone.
fn round(editor: &mut Editor, todo: &[&LintFinding], proofs: &mut usize) -> Vec<LintFinding> {
    if todo.is_empty() || *proofs == 0 {
        return Vec::new();
    }
    *proofs -= 1;
    let edits: Vec<Edit> = todo.iter().filter_map(|finding| finding.edit.clone()).collect();
    if editor.apply(&edits).is_ok() {
        return todo.iter().map(|finding| (*finding).clone()).collect();
    }
    if todo.len() == 1 {
        return Vec::new();
    }
    let (first, second) = todo.split_at(todo.len() / 2);
    let mut done = round(editor, first, proofs);
    done.extend(round(editor, second, proofs));
    done
}
