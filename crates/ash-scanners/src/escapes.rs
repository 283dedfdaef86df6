//! Escapes of quoted strings in YAML and JSON: a key may be spelled with them, and a search for its name must not miss it.

/// The text with every escape undone that can stand for a letter or a mark, wherever it is. What escapes a control character becomes a
/// blank: no new lines come of it.
pub(crate) fn undone(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        plain.push_str(before);
        let digits = |length: usize| after.get(1..=length);
        let (stands_for, used) = match after.bytes().next() {
            Some(b'x') => (digits(2).and_then(character), 3),
            Some(b'u') => (digits(4).and_then(character), 5),
            Some(b'U') => (digits(8).and_then(character), 9),
            Some(mark @ (b'\\' | b'/' | b'"')) => (Some(char::from(mark)), 1),
            // The string goes on behind the indentation of the next line.
            Some(b'\n' | b'\r') => {
                rest = after.trim_start_matches(['\r', '\n', ' ', '\t']);
                continue;
            }
            _ => (None, 0),
        };
        match (stands_for, after.get(used..)) {
            (Some(character), Some(behind)) => {
                plain.push(character);
                rest = behind;
            }
            _ => {
                plain.push('\\');
                rest = after;
            }
        }
    }
    plain.push_str(rest);
    plain
}

fn character(digits: &str) -> Option<char> {
    if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let found = char::from_u32(u32::from_str_radix(digits, 16).ok()?)?;
    Some(if found.is_control() { ' ' } else { found })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_name_is_undone_and_other_text_stays() {
        for (text, expected) in [
            (r"ignore\x5fchecks", "ignore_checks"),
            (r"ignore\u005Fchecks", "ignore_checks"),
            (r"\U00000069gnore_checks", "ignore_checks"),
            ("ignore_\\\n    checks", "ignore_checks"),
            ("ignore_\\\r\n\r\n\tchecks", "ignore_checks"),
            (r"\u0041\/\x3a\x3A", "A/::"),
            (r"\\x5f", r"\x5f"),
            (r"\n\x0a\d", r"\n \d"),
            (r"\x5", r"\x5"),
            (r"\x+5", r"\x+5"),
            (r"\ud83d", r"\ud83d"),
            ("\\xé\\u00é0\\", "\\xé\\u00é0\\"),
        ] {
            assert_eq!(undone(text), expected, "{text}");
        }
    }
}
