//! Hostile text made safe for the place it is put.
//!
//! In every place people look at, control characters and characters that reorder or hide text are shown as escapes; on top of that each
//! place has its own rules.

use std::{
    borrow::Cow,
    ffi::OsStr,
    fmt::{self, Display, Formatter, Write},
};

use ash_model::path::printable;

/// One line for a terminal or a log: nothing in it can move the cursor, and no CI system takes it for a command.
pub fn line(text: &str) -> String {
    without_commands(printable(OsStr::new(text)))
}

/// Several lines for a terminal or a log; empty lines at the end are dropped.
pub fn lines(text: &str) -> Vec<String> {
    text.trim_end().split('\n').map(|part| line(part.strip_suffix('\r').unwrap_or(part))).collect()
}

/// Text of ash's own making that names what others wrote: on no line does it give a CI system a command.
pub fn printed(text: &str) -> Cow<'_, str> {
    if !text.contains("##") && !text.contains("::") {
        return Cow::Borrowed(text);
    }
    let lines = text.split_inclusive('\n').map(|line| without_commands(line.to_owned()));
    Cow::Owned(lines.collect())
}

/// The text of a JSON document, the same to whoever parses it, in which no CI system sees a command.
pub fn printed_json(json: &str) -> Cow<'_, str> {
    if json.contains("##") {
        Cow::Owned(json.replace("##", "#\\u0023"))
    } else {
        Cow::Borrowed(json)
    }
}

/// In any letter case; lower-casing ASCII keeps every byte in its place.
const COMMANDS: [&str; 3] = ["##[", "##vso[", "##teamcity["];

/// Breaks up the commands of CI logs. `##[` and `##vso[` (Azure, GitHub) and `##teamcity[` count anywhere in a line, `::` (GitHub) at its start,
/// spaces aside.
fn without_commands(text: String) -> String {
    let lower = text.to_ascii_lowercase();
    let mut text = text;
    if lower.contains("##") {
        let broken = |(at, c): (usize, char)| {
            [
                Some(c),
                (c == '#' && COMMANDS.iter().any(|command| lower[at..].starts_with(command)))
                    .then_some(' '),
            ]
        };
        text = text.char_indices().flat_map(broken).flatten().collect();
    }
    let start = text.len() - text.trim_start().len();
    if text[start..].starts_with("::") {
        text.insert(start + 1, ' ');
    }
    text
}

/// Whether what stands there would be a command once the file is printed in a CI log.
fn begins_command(text: &str, at: usize) -> bool {
    let (before, rest) = text.split_at(at);
    if rest.starts_with("::") {
        return before.rsplit('\n').next().is_none_or(|line| line.trim().is_empty());
    }
    let begins = |command: &&str| {
        rest.get(..command.len()).is_some_and(|word| word.eq_ignore_ascii_case(command))
    };
    COMMANDS.iter().any(begins)
}

/// Text in HTML, between tags or in a double-quoted attribute. Line breaks and tabs stay.
#[derive(Debug, Clone, Copy)]
pub struct Html<'a>(pub &'a str);

impl Display for Html<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        escape(self.0, f, |at, c| match c {
            '&' => Some("&amp;"),
            '<' => Some("&lt;"),
            '>' => Some("&gt;"),
            '"' => Some("&quot;"),
            '\'' => Some("&#39;"),
            '`' => Some("&#96;"),
            '#' if begins_command(self.0, at) => Some("&#35;"),
            ':' if begins_command(self.0, at) => Some("&#58;"),
            _ => None,
        })
    }
}

/// Text in XML 1.0, in an element or in a double-quoted attribute. Line breaks and tabs are written as references, so that attributes keep them.
#[derive(Debug, Clone, Copy)]
pub struct Xml<'a>(pub &'a str);

impl Display for Xml<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        escape(self.0, f, |at, c| match c {
            '&' => Some("&amp;"),
            '<' => Some("&lt;"),
            '>' => Some("&gt;"),
            '"' => Some("&quot;"),
            '\'' => Some("&apos;"),
            '#' if begins_command(self.0, at) => Some("&#35;"),
            ':' if begins_command(self.0, at) => Some("&#58;"),
            '\n' => Some("&#10;"),
            '\t' => Some("&#9;"),
            '\u{fffe}' | '\u{ffff}' => Some("\u{fffd}"),
            _ => None,
        })
    }
}

/// Writes text with the replacements of its place, and every character that is not safe to look at as its escape. Carriage returns before
/// line feeds go. Whole stretches are written at once: most text needs nothing.
fn escape(
    text: &str,
    f: &mut Formatter<'_>,
    replacement: impl Fn(usize, char) -> Option<&'static str>,
) -> fmt::Result {
    let mut written = 0;
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        let instead: Cow<'_, str> = match (c, replacement(at, c)) {
            (_, Some(instead)) => Cow::Borrowed(instead),
            ('\n' | '\t' | ' '..='~', None) => continue,
            ('\r', None) if text[end..].starts_with('\n') => Cow::Borrowed(""),
            (_, None) => match printable(OsStr::new(&text[at..end])) {
                same if same == text[at..end] => continue,
                escaped => Cow::Owned(escaped),
            },
        };
        f.write_str(&text[written..at])?;
        f.write_str(&instead)?;
        written = end;
    }
    f.write_str(&text[written..])
}

/// Text in Markdown as a code span: no link, mention, issue reference, HTML or emphasis comes alive in it. One line; a `|` becomes `¦`, because
/// it would end a table cell even here.
#[derive(Debug, Clone, Copy)]
pub struct Code<'a>(pub &'a str);

impl Display for Code<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let text = line(self.0.trim()).replace('|', "¦");
        if text.is_empty() {
            return f.write_str("-");
        }
        let fence = "`".repeat(longest_run(&text) + 1);
        // Backticks at an edge must be kept apart from the fence; one space on each side is not part of the span.
        let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
        write!(f, "{fence}{pad}{text}{pad}{fence}")
    }
}

/// Several lines of Markdown as a code block, its fence longer than any in it.
#[derive(Debug, Clone, Copy)]
pub struct CodeBlock<'a>(pub &'a str);

impl Display for CodeBlock<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let text = lines(self.0);
        let fence = "`"
            .repeat(text.iter().map(|line| longest_run(line)).max().unwrap_or_default().max(2) + 1);
        writeln!(f, "{fence}text")?;
        text.iter().try_for_each(|line| writeln!(f, "{line}"))?;
        writeln!(f, "{fence}")
    }
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or_default()
}

/// A field of a CSV file, quoted. A field that a spreadsheet would run as a formula begins with an apostrophe (CWE-1236).
#[derive(Debug, Clone, Copy)]
pub struct Csv<'a>(pub &'a str);

impl Display for Csv<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        if self
            .0
            .trim_start()
            .starts_with(['=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'])
            || self.0.starts_with(['\t', '\r', '\n'])
        {
            f.write_char('\'')?;
        }
        escape(self.0, f, |at, c| match c {
            '"' => Some("\"\""),
            '#' if begins_command(self.0, at) => Some("# "),
            ':' if begins_command(self.0, at) => Some(": "),
            _ => None,
        })?;
        f.write_char('"')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_cannot_command_a_ci_system() {
        for (text, expected) in [
            ("::set-output name=x::y", ": :set-output name=x::y"),
            ("  ::error::x", "  : :error::x"),
            ("a ##vso[task.setvariable]x", "a # #vso[task.setvariable]x"),
            ("##[group]x ##[group]", "# #[group]x # #[group]"),
            ("##VSO[x]", "# #VSO[x]"),
            ("###[x]", "## #[x]"),
            ("std::vec", "std::vec"),
            ("\u{1b}]0;x\u{7}", "\\u{1b}]0;x\\u{7}"),
            ("İ##[x]", "İ# #[x]"),
        ] {
            assert_eq!(line(text), expected);
        }
    }

    #[test]
    fn no_character_that_moves_hides_or_reorders_text_survives_anywhere() {
        let ranges = [0..0x3000, 0xfe00..0x1_0000, 0xe_0000..0xe_0100];
        for c in ranges.into_iter().flatten().filter_map(char::from_u32) {
            let text = format!("a{c}b");
            for shown in [
                line(&text),
                Html(&text).to_string(),
                Xml(&text).to_string(),
                Code(&text).to_string(),
                Csv(&text).to_string(),
            ] {
                let bad = |c: char| {
                    (c.is_control() && !matches!(c, '\n' | '\t'))
                        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}')
                };
                assert!(!shown.contains(bad), "{:x}: {shown:?}", u32::from(c));
            }
        }
    }

    #[test]
    fn a_second_line_cannot_command_either() {
        assert_eq!(lines("a\r\n::error::b\n\n"), ["a", ": :error::b"]);
    }

    #[test]
    fn a_report_that_is_printed_in_a_ci_log_gives_no_command() {
        let text = "a\n  ::error::x\n##VSO[task] and ##[group]\nstd::vec ## [x] :: y";
        for shown in [
            Html(text).to_string(),
            Xml(text).to_string(),
            Csv(text).to_string(),
            printed(text).into_owned(),
        ] {
            let lower = shown.to_ascii_lowercase();
            assert!(COMMANDS.iter().all(|command| !lower.contains(command)), "{shown}");
            assert!(!shown.lines().any(|line| line.trim_start().starts_with("::")), "{shown}");
            assert!(shown.contains("std::vec ## [x] :: y"), "{shown}");
        }
        let json = r###"{"a": "##vso[x]"}"###;
        let shown = printed_json(json);
        assert!(!shown.contains("##"), "{shown}");
        let parse = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(parse(&shown), parse(json));
        assert_eq!(printed("plain\ntext"), "plain\ntext");
    }

    #[test]
    fn html_and_xml_text_stays_text() {
        let text = "<script>\"&'`\u{1b}\u{202e}é\n";
        assert_eq!(
            Html(text).to_string(),
            "&lt;script&gt;&quot;&amp;&#39;&#96;\\u{1b}\\u{202e}é\n"
        );
        assert_eq!(Xml(text).to_string(), "&lt;script&gt;&quot;&amp;&apos;`\\u{1b}\\u{202e}é&#10;");
        assert_eq!(Xml("\u{0}\u{ffff}\r\n\r").to_string(), "\\u{0}\u{fffd}&#10;\\r");
    }

    #[test]
    fn a_code_span_cannot_be_closed_from_inside() {
        for (text, expected) in [
            ("a", "`a`"),
            ("a``b", "```a``b```"),
            ("`", "`` ` ``"),
            ("a|b\nc", "`a¦b\\nc`"),
            ("", "-"),
            ("  ", "-"),
            ("@user #1 <b>", "`@user #1 <b>`"),
        ] {
            assert_eq!(Code(text).to_string(), expected);
        }
    }

    #[test]
    fn a_code_block_cannot_be_closed_from_inside() {
        assert_eq!(CodeBlock("a\n````\n# b").to_string(), "`````text\na\n````\n# b\n`````\n");
    }

    #[test]
    fn a_spreadsheet_runs_no_formula() {
        for (text, expected) in [
            ("=1+1", "\"'=1+1\""),
            (" @x", "\"' @x\""),
            ("\t=1", "\"'\t=1\""),
            ("a=\"b\"", "\"a=\"\"b\"\"\""),
            ("-1", "\"'-1\""),
            ("ok", "\"ok\""),
        ] {
            assert_eq!(Csv(text).to_string(), expected);
        }
    }
}
