//! Comments in the scanned source that take one finding out of the count: `# ash-ignore: RULE reason` on its line, or
//! `# ash-ignore-next-line: RULE reason` above it; `//` works like `#`.

/// One comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InlineIgnore {
    /// The line a finding must start on.
    pub line: u64,
    /// The rule, as written: equal to the finding's but for letter case, never a pattern.
    pub rule_id: String,
    /// The rest of the comment, if any.
    pub reason: Option<String>,
}

impl InlineIgnore {
    /// Whether the comment is about this rule.
    pub fn names(&self, rule_id: &str) -> bool {
        self.rule_id.eq_ignore_ascii_case(rule_id)
    }
}

const WORD: &[u8] = b"ash-ignore";

/// Every comment of a file, in the order of its lines. One comment a line counts.
pub fn inline_ignores(source: &[u8]) -> Vec<InlineIgnore> {
    let lines = source.split(|byte| *byte == b'\n').zip(1..);
    lines.filter_map(|(line, number)| comment(line, number)).collect()
}

fn comment(line: &[u8], number: u64) -> Option<InlineIgnore> {
    let start = starts(line).find(|start| opens_comment(&line[..*start]))?;
    let rest = &line[start + WORD.len()..];
    let next = b"-next-line";
    let is_next = rest.get(..next.len()).is_some_and(|word| word.eq_ignore_ascii_case(next));
    let rest = if is_next { &rest[next.len()..] } else { rest };
    let text =
        String::from_utf8_lossy(rest.trim_ascii_start().strip_prefix(b":")?).trim().to_owned();
    let (rule_id, reason) = match text.split_once(char::is_whitespace) {
        Some((rule_id, reason)) => (rule_id.to_owned(), Some(reason.trim().to_owned())),
        None => (text, None),
    };
    (!rule_id.is_empty()).then(|| InlineIgnore {
        line: number + u64::from(is_next),
        rule_id,
        reason,
    })
}

/// Where the word occurs, in any letter case.
fn starts(line: &[u8]) -> impl Iterator<Item = usize> {
    let windows = line.windows(WORD.len()).enumerate();
    windows.filter(|(_, window)| window.eq_ignore_ascii_case(WORD)).map(|(start, _)| start)
}

fn opens_comment(before: &[u8]) -> bool {
    let before = before.trim_ascii_end();
    before.ends_with(b"#") || before.ends_with(b"//")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Line, rule and reason.
    type Expected = Option<(u64, &'static str, Option<&'static str>)>;

    #[test]
    fn comments_are_read_as_documented() {
        let table: &[(&str, Expected)] = &[
            ("x = 1  # ash-ignore: B105 test data", Some((1, "B105", Some("test data")))),
            ("x = 1 // ASH-Ignore: B105", Some((1, "B105", None))),
            ("#ash-ignore:B105", Some((1, "B105", None))),
            (
                "# ash-ignore-next-line: CKV_AWS_1  because\r",
                Some((2, "CKV_AWS_1", Some("because"))),
            ),
            ("// ash-ignore-NEXT-LINE: a.b.c", Some((2, "a.b.c", None))),
            ("s = 'ash-ignore: B1' # ash-ignore: B2", Some((1, "B2", None))),
            ("ash-ignore: B105", None),
            ("/* ash-ignore: B105 */", None),
            ("-- ash-ignore: B105", None),
            ("# ash-ignore B105", None),
            ("# ash-ignore:", None),
            ("# ash-ignored: B105", None),
            ("# ash-ignore-next: B105", None),
        ];
        for (text, expected) in table {
            let found = inline_ignores(text.as_bytes());
            let found = found
                .first()
                .map(|found| (found.line, found.rule_id.as_str(), found.reason.as_deref()));
            assert_eq!(found, *expected, "{text}");
        }
    }

    #[test]
    fn lines_count_from_one_and_bytes_that_are_no_text_are_no_obstacle() {
        let source = b"\xff\xfe\n\n\xff # ash-ignore: R \xff\n# ash-ignore-next-line: S";
        let found: Vec<_> =
            inline_ignores(source).into_iter().map(|found| (found.line, found.rule_id)).collect();
        assert_eq!(found, [(3, "R".to_owned()), (5, "S".to_owned())]);
    }

    #[test]
    fn a_rule_is_equal_or_not_named() {
        let comment = &inline_ignores(b"# ash-ignore: b1*")[0];
        assert!(comment.names("B1*") && !comment.names("B105"));
    }
}
