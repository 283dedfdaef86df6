//! What changed in a text, line by line.

use ash_model::path::printable;

/// Pairs of lines compared at most; two texts that differ in more are shown whole.
const COMPARED: usize = 4_000_000;

/// Every line that went (`-`) and came (`+`), with the lines before they are at. Safe to print.
pub(super) fn lines(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&old[start..], &new[start..]);
    let end = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) =
        (&old_rest[..old_rest.len() - end], &new_rest[..new_rest.len() - end]);
    let mut out = String::new();
    let mut next = None;
    for (line, sign, text) in steps(old_rest, new_rest) {
        let line = start + line;
        if next != Some(line) {
            out.push_str(&format!("@@ line {} @@\n", line + 1));
        }
        next = Some(if sign == '-' { line + 1 } else { line });
        out.push_str(&format!("{sign}{}\n", printable(text.as_ref())));
    }
    out
}

/// The changes in order: the line of the old text each is at, its sign, and its text.
fn steps<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(usize, char, &'a str)> {
    let mut steps = Vec::new();
    let is_large = old.len().saturating_mul(new.len()) > COMPARED;
    let table = if is_large { Vec::new() } else { common(old, new) };
    let length = |i: usize, j: usize| table.get(i).and_then(|row| row.get(j)).copied().unwrap_or(0);
    let (mut i, mut j) = (0, 0);
    while i < old.len() || j < new.len() {
        if !is_large && i < old.len() && j < new.len() && old[i] == new[j] {
            (i, j) = (i + 1, j + 1);
        } else if i < old.len()
            && (j >= new.len() || is_large || length(i + 1, j) >= length(i, j + 1))
        {
            steps.push((i, '-', old[i]));
            i += 1;
        } else {
            steps.push((i, '+', new[j]));
            j += 1;
        }
    }
    steps
}

/// How many lines the rests of both texts have in common, from each pair of places on.
fn common(old: &[&str], new: &[&str]) -> Vec<Vec<u32>> {
    let mut table = vec![vec![0; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            table[i][j] = if old[i] == new[j] {
                table[i + 1][j + 1] + 1
            } else {
                table[i + 1][j].max(table[i][j + 1])
            };
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changed_is_shown() {
        let old = "a\nb\nc\nd\ne\nf\n";
        assert_eq!(lines(old, "a\nB\nc\nd\ne\nf\ng\n"), "@@ line 2 @@\n-b\n+B\n@@ line 7 @@\n+g\n");
        assert_eq!(lines(old, "a\nc\nd\ne\nf\n"), "@@ line 2 @@\n-b\n");
        assert_eq!(lines(old, old), "");
        assert_eq!(lines("", "\u{1b}[2J\n"), "@@ line 1 @@\n+\\u{1b}[2J\n");
    }
}
