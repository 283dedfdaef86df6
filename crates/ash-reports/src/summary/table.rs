//! The table of scanners.

use unicode_width::UnicodeWidthStr;

use super::{
    Row, Summary,
    layout::{Line, Span, Tone, status_tone},
};

/// Below this many columns the headings are short.
const WIDE: usize = 100;

/// A cell: its text, what it means, and on which side it stands.
struct Cell {
    text: String,
    tone: Tone,
    right: bool,
}

impl Cell {
    fn left(text: impl Into<String>, tone: Tone) -> Self {
        Self { text: text.into(), tone, right: false }
    }

    fn right(text: impl Into<String>, tone: Tone) -> Self {
        Self { text: text.into(), tone, right: true }
    }

    fn count(count: u64, tone: Tone) -> Self {
        Self::right(count.to_string(), if count == 0 { Tone::Dim } else { tone })
    }
}

impl Summary {
    /// The table alone.
    pub fn table(&self, width: usize) -> Vec<Line> {
        let wide = width >= WIDE;
        let headings: [&str; 11] = if wide {
            [
                "Scanner",
                "Suppressed",
                "Critical",
                "High",
                "Medium",
                "Low",
                "Info",
                "Duration",
                "Actionable",
                "Result",
                "Threshold",
            ]
        } else {
            ["Scanner", "S", "C", "H", "M", "L", "I", "Time", "Action", "Result", "Thresh"]
        };
        let mut rows: Vec<[Cell; 11]> = self.rows.iter().map(|row| row.cells(wide, wide)).collect();
        let mut widths = widths_of(&headings, &rows);
        if wide && widths.iter().sum::<usize>() + 10 * gap(wide).len() > width {
            rows = self.rows.iter().map(|row| row.cells(wide, false)).collect();
            widths = widths_of(&headings, &rows);
        }
        let sides = [false, true, true, true, true, true, true, true, true, false, false];
        let heading = headings.iter().zip(sides).map(|(text, right)| Cell {
            text: (*text).to_owned(),
            tone: Tone::Strong,
            right,
        });
        let rule = Line::of(widths.map(|width| "-".repeat(width)).join(gap(wide)), Tone::Dim);
        let mut lines = vec![laid_out(heading, &widths, wide), rule];
        lines.extend(rows.into_iter().map(|row| laid_out(row.into_iter(), &widths, wide)));
        lines
    }
}

impl Row {
    fn cells(&self, wide: bool, long_result: bool) -> [Cell; 11] {
        let counts = &self.counts;
        [
            Cell::left(&self.scanner, Tone::Plain),
            Cell::count(counts.suppressed, Tone::Plain),
            Cell::count(counts.critical, Tone::Bad),
            Cell::count(counts.high, Tone::Bad),
            Cell::count(counts.medium, Tone::Warning),
            Cell::count(counts.low, Tone::Good),
            Cell::count(counts.info, Tone::Note),
            Cell::right(&self.duration, Tone::Plain),
            Cell::count(self.actionable, Tone::Bad),
            Cell::left(self.result(long_result), status_tone(self.status)),
            Cell::left(self.threshold(wide), Tone::Dim),
        ]
    }

    fn result(&self, long: bool) -> String {
        match self.unevaluated {
            None => self.status.to_owned(),
            Some((count, Some(all))) if long => {
                format!("{} ({count} of {all} targets unevaluated)", self.status)
            }
            Some((count, None)) if long => format!("{} ({count} targets unevaluated)", self.status),
            Some((count, _)) => format!("{} (-{count})", self.status),
        }
    }

    fn threshold(&self, wide: bool) -> String {
        if wide {
            return format!("{} ({})", self.threshold, self.threshold_source);
        }
        let short = match self.threshold {
            "MEDIUM" => "MED",
            "CRITICAL" => "CRIT",
            other => other,
        };
        format!("{short} ({})", &self.threshold_source[..1])
    }
}

fn widths_of(headings: &[&str; 11], rows: &[[Cell; 11]]) -> [usize; 11] {
    let mut widths = headings.map(UnicodeWidthStr::width);
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.text.width());
        }
    }
    widths
}

/// What stands between two columns.
fn gap(wide: bool) -> &'static str {
    if wide { "  " } else { " " }
}

fn laid_out(cells: impl Iterator<Item = Cell>, widths: &[usize; 11], wide: bool) -> Line {
    let mut spans = Vec::new();
    for (index, (cell, width)) in cells.zip(widths).enumerate() {
        let space = " ".repeat(width.saturating_sub(cell.text.width()));
        let before = if index == 0 { "" } else { gap(wide) };
        let (lead, trail) = if cell.right {
            (format!("{before}{space}"), String::new())
        } else {
            (before.to_owned(), space)
        };
        spans.extend([
            Span { text: lead, tone: Tone::Plain },
            Span { text: cell.text, tone: cell.tone },
            Span { text: trail, tone: Tone::Plain },
        ]);
    }
    spans.retain(|span| !span.text.is_empty());
    Line(spans)
}
