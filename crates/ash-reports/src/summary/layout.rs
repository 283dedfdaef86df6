//! Lines of toned text, and the order in which the summary shows its parts.

use super::{Reason, Summary};

/// What a piece of text means; a terminal turns it into a colour. The words alone say the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Nothing special.
    Plain,
    /// A heading.
    Strong,
    /// Secondary.
    Dim,
    /// Something is wrong.
    Bad,
    /// Something needs attention.
    Warning,
    /// All is well.
    Good,
    /// Worth knowing.
    Note,
}

/// A piece of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Harmless text without line breaks.
    pub text: String,
    /// What it means.
    pub tone: Tone,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Line(pub Vec<Span>);

impl Line {
    /// A line of one tone.
    pub fn of(text: impl Into<String>, tone: Tone) -> Self {
        Self(vec![Span { text: text.into(), tone }])
    }

    /// Appends a piece.
    #[must_use]
    pub fn and(mut self, text: impl Into<String>, tone: Tone) -> Self {
        self.0.push(Span { text: text.into(), tone });
        self
    }

    /// The line without tones.
    pub fn text(&self) -> String {
        self.0.iter().map(|span| span.text.as_str()).collect::<String>().trim_end().to_owned()
    }
}

/// The tone of a status.
pub(super) fn status_tone(status: &str) -> Tone {
    match status {
        "PASSED" => Tone::Good,
        "FAILED" | "ERROR" => Tone::Bad,
        "MISSING" => Tone::Warning,
        _ => Tone::Note,
    }
}

impl Summary {
    /// The whole summary for a display of this many columns.
    pub fn lines(&self, width: usize) -> Vec<Line> {
        let mut lines = self.body(width);
        lines.push(Line::default());
        lines.extend(self.result());
        lines
    }

    /// Everything but what came of it. Only the table depends on the width.
    pub fn body(&self, width: usize) -> Vec<Line> {
        let mut lines = vec![
            Line::of("ASH Scan Results Summary", Tone::Strong),
            Line::of(&self.places, Tone::Dim),
            Line::default(),
        ];
        lines.extend(self.table(width));
        lines.push(Line::default());
        lines
            .push(Line::of(&self.sandbox, if self.confined { Tone::Plain } else { Tone::Warning }));
        lines.extend(self.reasons.iter().map(Reason::line));
        lines.extend(
            self.notices
                .iter()
                .map(|notice| Line::of("note: ", Tone::Note).and(notice, Tone::Plain)),
        );
        if !self.hotspots.is_empty() {
            lines.extend([Line::default(), Line::of("Files with the most findings", Tone::Strong)]);
            lines.extend(
                self.hotspots
                    .iter()
                    .map(|(count, path)| Line::of(format!("{count:>6}  {path}"), Tone::Plain)),
            );
        }
        lines
    }

    /// What came of it: who is missing, and what was found. Both are said when both are so.
    pub fn result(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        if !self.incomplete.is_empty() {
            lines.push(Line::of(
                format!("Scan incomplete: {}", self.incomplete.join(", ")),
                Tone::Bad,
            ));
        }
        lines.push(match (self.actionable, self.incomplete.is_empty()) {
            (0, true) => Line::of("No actionable findings", Tone::Good),
            (0, false) => Line::of(
                "No actionable findings in what ran: this is not a clean result",
                Tone::Warning,
            ),
            (1, _) => Line::of("1 actionable finding", Tone::Bad),
            (many, _) => Line::of(format!("{many} actionable findings"), Tone::Bad),
        });
        lines
    }
}

impl Reason {
    fn line(&self) -> Line {
        Line::of(format!("{} ", self.scanner), Tone::Plain)
            .and(self.status, status_tone(self.status))
            .and(format!(": {}", self.text), Tone::Plain)
    }
}
