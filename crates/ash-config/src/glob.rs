//! The patterns of suppressions and ignore paths: shell patterns whose `*` crosses `/`, with `**/` for zero or more directories, in any
//! letter case. Not the patterns of `.gitignore`.

/// A compiled pattern.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pattern {
    /// The lower-case text, when there is nothing but text in it.
    literal: Option<String>,
    tokens: Vec<Token>,
    /// What every match starts and ends with: most paths fail here, cheaply.
    prefix: String,
    suffix: String,
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Char(char),
    /// `?`
    One,
    /// `*`
    Many,
    /// `**/` at the start or after a slash: nothing, or anything that ends in a slash.
    Directories,
    /// `[a-z]` or `[!a-z]`
    Class {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
}

impl Pattern {
    /// Compiles a pattern; every text is one. An unclosed `[` stands for itself.
    pub(crate) fn new(text: &str) -> Self {
        let text = text.strip_prefix("./").unwrap_or(text).to_lowercase();
        let tokens = tokens(&text.chars().collect::<Vec<_>>());
        let chars = |found: &mut dyn Iterator<Item = &Token>| -> Vec<char> {
            found
                .map_while(|token| if let Token::Char(c) = token { Some(*c) } else { None })
                .collect()
        };
        let prefix: String = chars(&mut tokens.iter()).into_iter().collect();
        let suffix: String = chars(&mut tokens.iter().rev()).into_iter().rev().collect();
        let is_text = tokens.iter().all(|token| matches!(token, Token::Char(_)));
        Self { literal: is_text.then(|| prefix.clone()), tokens, prefix, suffix }
    }

    /// The whole lower-case text, when the pattern matches only that.
    pub(crate) fn literal(&self) -> Option<&str> {
        self.literal.as_deref()
    }

    /// Whether a text, already in lower case, matches as a whole.
    pub(crate) fn matches(&self, text: &str) -> bool {
        if let Some(literal) = &self.literal {
            return literal == text;
        }
        text.starts_with(&self.prefix) && text.ends_with(&self.suffix) && self.matches_tokens(text)
    }

    /// Goes back only to the last star. That is enough: whatever an earlier star could give up, the later one can take, and it makes the
    /// worst pattern cost its length times the text's, so a pattern cannot be made to hang ash.
    fn matches_tokens(&self, text: &str) -> bool {
        let chars: Vec<char> = text.chars().collect();
        let (mut at, mut token) = (0, 0);
        let mut retry: Option<(usize, usize)> = None;
        loop {
            match self.tokens.get(token) {
                Some(Token::Many | Token::Directories) => {
                    retry = Some((token, at));
                    token += 1;
                    continue;
                }
                Some(single) if chars.get(at).is_some_and(|c| single.takes(*c)) => {
                    at += 1;
                    token += 1;
                    continue;
                }
                None if at == chars.len() => return true,
                _ => {}
            }
            let Some((star, from)) = retry else { return false };
            let Some(next) = self.tokens[star].next(&chars, from) else { return false };
            retry = Some((star, next));
            (token, at) = (star + 1, next);
        }
    }
}

impl Token {
    fn takes(&self, c: char) -> bool {
        match self {
            Self::Char(own) => *own == c,
            Self::One => true,
            Self::Class { negated, ranges } => {
                ranges.iter().any(|(first, last)| (*first..=*last).contains(&c)) != *negated
            }
            Self::Many | Self::Directories => false,
        }
    }

    /// Where a star that ended here may end next.
    fn next(&self, chars: &[char], from: usize) -> Option<usize> {
        let rest = chars.get(from..).filter(|rest| !rest.is_empty())?;
        if *self == Self::Many {
            return Some(from + 1);
        }
        rest.iter().position(|c| *c == '/').map(|slash| from + slash + 1)
    }
}

fn tokens(chars: &[char]) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(c) = chars.get(at) {
        let starts_part = at == 0 || chars[at - 1] == '/';
        let (token, length) = match c {
            '*' if starts_part && chars[at..].starts_with(&['*', '*', '/']) => {
                (Token::Directories, 3)
            }
            '*' => (Token::Many, chars[at..].iter().take_while(|c| **c == '*').count()),
            '?' => (Token::One, 1),
            '[' => class(&chars[at..]).unwrap_or((Token::Char('['), 1)),
            c => (Token::Char(*c), 1),
        };
        tokens.push(token);
        at += length;
    }
    tokens
}

/// A bracket expression at the start of these characters, and its length. A `]` right after the opening stands for itself.
fn class(chars: &[char]) -> Option<(Token, usize)> {
    let negated = chars.get(1) == Some(&'!');
    let first = if negated { 2 } else { 1 };
    let close = (first + 1..chars.len()).find(|index| chars[*index] == ']')?;
    let inner = &chars[first..close];
    let mut ranges = Vec::new();
    let mut at = 0;
    while let Some(start) = inner.get(at) {
        let (end, length) = match inner.get(at + 1..at + 3) {
            Some(['-', end]) => (end, 3),
            _ => (start, 1),
        };
        ranges.push((*start, *end));
        at += length;
    }
    Some((Token::Class { negated, ranges }, close + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        Pattern::new(pattern).matches(&text.to_lowercase())
    }

    #[test]
    fn patterns_match_as_documented() {
        let table: &[(&str, &[&str], &[&str])] = &[
            ("src/app.py", &["src/app.py", "SRC/App.PY"], &["src/app.pyc", "x/src/app.py", "src"]),
            ("*.py", &["a.py", "src/deep/a.py", ".py"], &["a.pyc"]),
            ("src/*", &["src/a", "src/a/b"], &["src", "src2/a"]),
            ("tests/", &[], &["tests/a.py", "tests"]),
            ("tests", &["tests"], &["tests/a.py"]),
            ("tests/**", &["tests/a.py", "tests/a/b.py"], &["tests", "my-tests/a"]),
            ("tests/**/*.py", &["tests/a.py", "tests/x/y/a.py"], &["tests.py", "atests/b.py"]),
            ("**/a.py", &["a.py", "x/a.py", "x/y/a.py"], &["xa.py", "x/ya.py"]),
            ("**/tests/**", &["tests/a", "x/tests/a/b"], &["tests", "mytests/a", "x/mytests/a"]),
            ("a/**/b", &["a/b", "a/x/b", "a/x/y/b"], &["a/xb", "ab", "a/x/yb"]),
            ("a/**/**/b", &["a/b", "a/x/b"], &["a/xb"]),
            ("src/**.py", &["src/a.py", "src/x/a.py", "src/.py"], &["srcx.py"]),
            ("a**/b", &["a/b", "ax/y/b"], &["ab"]),
            ("**", &["a", "a/b", ""], &[]),
            ("a?c", &["abc", "a/c", "aéc"], &["ac", "abbc"]),
            ("[a-c]x", &["ax", "BX"], &["dx", "x"]),
            ("[!a-c]x", &["dx"], &["ax"]),
            ("[]]x", &["]x"], &["x"]),
            ("[!]]x", &["ax"], &["]x"]),
            ("[a-]", &["a", "-"], &["b"]),
            ("[z-a]", &[], &["a", "m", "z"]),
            ("a[b", &["a[b"], &["ab"]),
            ("{a,b}", &["{a,b}"], &["a", "b"]),
            ("a\\*", &["a\\x"], &["a*"]),
            ("./a", &["a"], &["./a"]),
            ("", &[""], &["a"]),
            ("ÉCOLE/*", &["école/x"], &[]),
            ("*a*b", &["xaxb", "ab", "aabb"], &["ba", "abx"]),
        ];
        for (pattern, yes, no) in table {
            for text in *yes {
                assert!(matches(pattern, text), "`{pattern}` should match `{text}`");
            }
            for text in *no {
                assert!(!matches(pattern, text), "`{pattern}` should not match `{text}`");
            }
        }
    }

    /// The obvious, exponential way to match, to compare with.
    fn plainly(tokens: &[Token], text: &[char]) -> bool {
        match tokens.split_first() {
            None => text.is_empty(),
            Some((Token::Many, rest)) => (0..=text.len()).any(|skip| plainly(rest, &text[skip..])),
            Some((Token::Directories, rest)) => {
                plainly(rest, text)
                    || (1..=text.len())
                        .any(|skip| text[skip - 1] == '/' && plainly(rest, &text[skip..]))
            }
            Some((single, rest)) => text
                .split_first()
                .is_some_and(|(c, below)| single.takes(*c) && plainly(rest, below)),
        }
    }

    #[test]
    fn going_back_to_the_last_star_is_enough() {
        let parts = ["a", "b", "/", "*", "**/", "?", "/**/", "**", "[!a]"];
        let texts: Vec<String> = (0..5_u32)
            .flat_map(|length| {
                (0..3_u32.pow(length)).map(move |n| {
                    (0..length).map(|i| ['a', 'b', '/'][(n / 3_u32.pow(i) % 3) as usize]).collect()
                })
            })
            .collect();
        for code in 0..parts.len().pow(4) {
            let pattern: String =
                (0..4_u32).map(|i| parts[code / parts.len().pow(i) % parts.len()]).collect();
            let compiled = Pattern::new(&pattern);
            for text in &texts {
                let chars: Vec<char> = text.chars().collect();
                assert_eq!(
                    compiled.matches(text),
                    plainly(&compiled.tokens, &chars),
                    "`{pattern}` on `{text}`"
                );
            }
        }
    }

    #[test]
    fn a_hostile_pattern_does_not_hang() {
        let pattern = Pattern::new(&"*a**/".repeat(2_000));
        assert!(!pattern.matches(&"a/".repeat(2_000).replace("a/", "aa")));
    }
}
