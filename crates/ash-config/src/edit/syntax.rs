//! Where everything stands in a YAML text: keys, values, dashes, colons and comments, by byte. What values mean is `yaml`'s business.

use std::ops::Range;

use granit_parser::{Event, Parser, ScalarStyle, ScanError, StructureStyle};

/// As deep as a configuration may be nested.
const DEPTH: usize = 32;
/// Events of one text; as many as the reader takes.
const EVENTS: usize = 250_000;

/// A text's structure.
#[derive(Debug)]
pub(crate) struct Syntax {
    pub(crate) root: Element,
    /// Every comment, `#` included, line break excluded.
    pub(crate) comments: Vec<Range<usize>>,
}

/// A value in the text. An anchor or a tag before it is not part of the range.
#[derive(Debug)]
pub(crate) struct Element {
    pub(crate) form: Form,
    pub(crate) start: usize,
    /// After the last byte that is not white space.
    pub(crate) end: usize,
}

/// How a value is written.
#[derive(Debug)]
pub(crate) enum Form {
    Scalar,
    Alias,
    Map { is_flow: bool, pairs: Vec<Pair> },
    List { is_flow: bool, items: Vec<Item> },
}

/// A key and its value.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) key: String,
    pub(crate) key_range: Range<usize>,
    /// After the colon; `None` where the key is not followed by one on its line.
    pub(crate) colon: Option<usize>,
    pub(crate) value: Element,
}

/// An item of a list.
#[derive(Debug)]
pub(crate) struct Item {
    /// Its dash; `None` in brackets.
    pub(crate) dash: Option<usize>,
    pub(crate) value: Element,
}

/// Why a text has no structure, and at which byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NoSyntax {
    pub(crate) message: String,
    pub(crate) at: usize,
}

impl Syntax {
    /// Reads a text of one document.
    pub(crate) fn parse(text: &str) -> Result<Self, NoSyntax> {
        let options = granit_parser::options! {
            emit_comments: true,
            max_buffered_comment_events: EVENTS,
            flow_nesting_limit: DEPTH,
            block_nesting_limit: DEPTH,
        };
        let mut reader = Reader {
            events: Parser::new_from_str_with_options(text, options),
            text,
            comments: Vec::new(),
            seen: 0,
        };
        let root = reader.document()?;
        Ok(Self { root, comments: reader.comments })
    }
}

impl Element {
    pub(crate) fn pairs(&self) -> &[Pair] {
        if let Form::Map { pairs, .. } = &self.form { pairs } else { &[] }
    }

    pub(crate) fn items(&self) -> &[Item] {
        if let Form::List { items, .. } = &self.form { items } else { &[] }
    }

    /// Whether it is written in brackets or braces.
    pub(crate) fn is_flow(&self) -> bool {
        matches!(self.form, Form::Map { is_flow: true, .. } | Form::List { is_flow: true, .. })
    }

    fn scalar(range: Range<usize>) -> Self {
        Self { form: Form::Scalar, start: range.start, end: range.end }
    }
}

impl Pair {
    /// After the last byte of the entry.
    pub(crate) fn end(&self) -> usize {
        self.value.end.max(self.colon.unwrap_or(self.key_range.end))
    }
}

impl Item {
    /// The first byte of the item, dash included.
    pub(crate) fn start(&self) -> usize {
        self.dash.unwrap_or(self.value.start)
    }

    /// After the last byte of the item.
    pub(crate) fn end(&self) -> usize {
        self.value.end.max(self.dash.map_or(0, |dash| dash + 1))
    }
}

struct Reader<'a> {
    events: Parser<'a, granit_parser::StrInput<'a>>,
    text: &'a str,
    comments: Vec<Range<usize>>,
    seen: usize,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Range<usize>), NoSyntax> {
        loop {
            self.seen += 1;
            if self.seen > EVENTS {
                return Err(NoSyntax {
                    message: "it is larger than a configuration may be".to_owned(),
                    at: 0,
                });
            }
            let (event, span) = match self.events.next() {
                Some(next) => next.map_err(|error| self.broken(&error))?,
                None => return Ok((Event::StreamEnd, self.text.len()..self.text.len())),
            };
            let range = span.byte_range().unwrap_or(0..0);
            match event {
                Event::Comment(..) => self.comments.push(range),
                event => return Ok((event, range)),
            }
        }
    }

    fn broken(&self, error: &ScanError) -> NoSyntax {
        let text = error.to_string();
        let message = text.split(" at char ").next().unwrap_or_default().to_owned();
        NoSyntax { message, at: error.marker().byte_offset().unwrap_or(0) }
    }

    fn document(&mut self) -> Result<Element, NoSyntax> {
        let mut root = None;
        loop {
            match self.next()? {
                (Event::StreamStart | Event::DocumentEnd, _) => {}
                (Event::StreamEnd, range) => {
                    return Ok(root.unwrap_or_else(|| Element::scalar(range.end..range.end)));
                }
                (Event::DocumentStart(..), range) if root.is_some() => {
                    let message = "a configuration is one document".to_owned();
                    return Err(NoSyntax { message, at: range.start });
                }
                (Event::DocumentStart(..), _) => {
                    let (event, range) = self.next()?;
                    root = Some(self.element(event, range, 0)?);
                }
                (_, range) => return Err(self.unexpected(range.start)),
            }
        }
    }

    fn unexpected(&self, at: usize) -> NoSyntax {
        NoSyntax { message: "the structure cannot be followed".to_owned(), at }
    }

    /// One value; `from` is where the place of its first dash is looked for.
    fn element(
        &mut self,
        event: Event<'a>,
        range: Range<usize>,
        from: usize,
    ) -> Result<Element, NoSyntax> {
        match event {
            Event::Scalar(_, style, ..) => Ok(Element::scalar(self.trimmed(range, style))),
            Event::Alias(_) => {
                Ok(Element { form: Form::Alias, start: range.start, end: range.end })
            }
            Event::SequenceStart(style, ..) => {
                self.list(style == StructureStyle::Flow, range, from)
            }
            Event::MappingStart(style, ..) => self.map(style == StructureStyle::Flow, range),
            _ => Err(self.unexpected(range.start)),
        }
    }

    /// A block scalar's range goes on to the next token.
    fn trimmed(&self, range: Range<usize>, style: ScalarStyle) -> Range<usize> {
        if matches!(style, ScalarStyle::Literal | ScalarStyle::Folded) {
            let body = self.text.get(range.clone()).unwrap_or_default();
            return range.start..range.start + body.trim_end().len();
        }
        range
    }

    fn list(
        &mut self,
        is_flow: bool,
        opening: Range<usize>,
        from: usize,
    ) -> Result<Element, NoSyntax> {
        let (mut items, mut last): (Vec<Item>, usize) =
            (Vec::new(), from.max(opening.start.min(from)));
        loop {
            let (event, range) = self.next()?;
            if event == Event::SequenceEnd {
                let end = if is_flow { range.end } else { last };
                return Ok(Element {
                    form: Form::List { is_flow, items },
                    start: opening.start,
                    end,
                });
            }
            let dash = if is_flow { None } else { dash(self.text, last) };
            let below = dash.map_or(range.start, |dash| dash + 1);
            let value = self.element(event, range, below)?;
            items.push(Item { dash, value });
            last = items.last().map_or(last, Item::end);
        }
    }

    fn map(&mut self, is_flow: bool, opening: Range<usize>) -> Result<Element, NoSyntax> {
        let (mut pairs, mut last): (Vec<Pair>, usize) = (Vec::new(), opening.end);
        loop {
            let (event, range) = self.next()?;
            let key = match event {
                Event::MappingEnd => {
                    let end = if is_flow { range.end } else { last };
                    return Ok(Element {
                        form: Form::Map { is_flow, pairs },
                        start: opening.start,
                        end,
                    });
                }
                Event::Scalar(key, ..) => key.into_owned(),
                _ => {
                    let message = "a key that is not a word cannot be followed".to_owned();
                    return Err(NoSyntax { message, at: range.start });
                }
            };
            let colon = colon(self.text, range.end, is_flow);
            let (event, value) = self.next()?;
            let value = self.element(event, value, colon.unwrap_or(range.end))?;
            pairs.push(Pair { key, key_range: range, colon, value });
            last = pairs.last().map_or(last, Pair::end);
        }
    }
}

/// The first dash of a list after a place, comments and anchors skipped.
fn dash(text: &str, from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let token = rest.find(char::is_whitespace).unwrap_or(rest.len());
        match rest.as_bytes()[0] {
            b'#' => at += rest.find('\n').unwrap_or(rest.len()),
            b'-' if token == 1 => return Some(at),
            _ if token > 0 => at += token,
            _ => at += rest.chars().next().map_or(1, char::len_utf8),
        }
    }
    None
}

/// After the colon of a key; outside of braces it must be on the key's line.
fn colon(text: &str, key_end: usize, is_flow: bool) -> Option<usize> {
    let rest = text.get(key_end..)?;
    let skipped = rest.len()
        - rest
            .trim_start_matches(|c: char| c == ' ' || c == '\t' || (is_flow && c.is_whitespace()))
            .len();
    rest[skipped..].starts_with(':').then_some(key_end + skipped + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(element: &Element, text: &str) -> String {
        match &element.form {
            Form::Scalar => text[element.start..element.end].to_owned(),
            Form::Alias => format!("*{}", &text[element.start..element.end]),
            Form::Map { pairs, .. } => {
                let pairs: Vec<String> = pairs
                    .iter()
                    .map(|pair| format!("{}={}", pair.key, shown(&pair.value, text)))
                    .collect();
                format!("{{{}}}", pairs.join(" "))
            }
            Form::List { items, .. } => {
                let items: Vec<String> = items
                    .iter()
                    .map(|item| {
                        let dash = item.dash.map_or("", |dash| &text[dash..dash + 1]);
                        format!("{dash}{}", shown(&item.value, text))
                    })
                    .collect();
                format!("[{}]", items.join(" "))
            }
        }
    }

    #[test]
    fn values_dashes_and_comments_have_places() {
        let text = "# - no\na: 1 # - one\nb: &x # - c\n  # - d\n  - x: 1 # e\n    y:\n  -   - p\n      -   q\nl:\n- |\n  #no\n\n- *x\nf: {g: [1, 2], h: }\nlast:\n";
        let syntax = Syntax::parse(text).unwrap();
        assert_eq!(
            shown(&syntax.root, text),
            "{a=1 b=[-{x=1 y=} -[-p -q]] l=[-#no -**x] f={g=[1 2] h=} last=}"
        );
        let comments: Vec<&str> =
            syntax.comments.iter().map(|range| &text[range.clone()]).collect();
        assert_eq!(comments, ["# - no", "# - one", "# - c", "# - d", "# e"]);
        let list = &syntax.root.pairs()[1].value;
        assert_eq!(list.items()[1].dash, text.find("-   - p"));
        assert_eq!(&text[..list.end], &text[..text.find("\nl:").unwrap()]);
    }

    #[test]
    fn every_spelling_of_a_key_is_kept() {
        let syntax = Syntax::parse("{\"a\":1, 'b' : 2}\n").unwrap();
        assert!(syntax.root.pairs().iter().all(|pair| pair.colon.is_some()));
        assert_eq!(Syntax::parse("? a\n: b\n").unwrap().root.pairs()[0].colon, None);
        assert_eq!(Syntax::parse("a: 1\na: 2\n").unwrap().root.pairs().len(), 2);
    }

    #[test]
    fn hostile_texts_end() {
        let nested = "[".repeat(200_000);
        let comments = "# x\n".repeat(300_000);
        for text in [
            nested.as_str(),
            &comments,
            "a: b: c",
            "\u{0}",
            "- a\n---\n- b\n",
            "? [a]\n: 1\n",
            "a:\n\t- b\n",
        ] {
            assert!(Syntax::parse(text).is_err(), "{:?}", &text[..text.len().min(20)]);
        }
        assert!(Syntax::parse("").is_ok() && Syntax::parse("# only\n").is_ok());
    }
}
