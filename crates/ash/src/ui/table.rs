//! The summary on a terminal.

use std::{fmt::Write, path::Path};

use anstyle::{AnsiColor, Style};
use ash_engine::{gate::Verdict, scan::Outcome};
use ash_reports::summary::{self, Line, Summary, Tone};

/// The columns of an output that is no terminal.
const DEFAULT_WIDTH: usize = 120;

/// What to do with a report, by its file; only files that were written are shown.
const NEXT_STEPS: [(&str, &str); 5] = [
    ("reports/ash.html", "open in a browser"),
    ("reports/ash.summary.md", "put into a pull request"),
    ("reports/ash.summary.txt", "read again"),
    ("reports/ash.sarif", "load into an editor or a code scanning service"),
    ("ash_aggregated_results.json", "everything, with what each sandbox allowed"),
];

/// Prints the table, what it means, and what to do next.
pub(crate) fn summary(outcome: &Outcome, colour: bool) {
    let base = std::env::current_dir().ok();
    let lines = lines(outcome, base.as_deref(), width());
    super::out(&painted(&lines, colour));
}

fn lines(outcome: &Outcome, base: Option<&Path>, width: usize) -> Vec<Line> {
    let summary = Summary::of(&outcome.report, base);
    let mut lines = summary.body(width);
    let steps: Vec<Line> =
        NEXT_STEPS.iter().filter_map(|(file, what)| next_step(outcome, file, what, base)).collect();
    if !steps.is_empty() {
        let took = summary::duration(Some(outcome.report.scan.duration));
        lines.extend([
            Line::default(),
            Line::of(format!("ASH scan ended after {took}: next steps"), Tone::Strong),
        ]);
        lines.extend(steps);
    }
    lines.push(Line::default());
    lines.extend(summary.result());
    lines.push(Line::of(
        format!("exit code {}: {}", outcome.verdict.code(), meaning(&outcome.verdict, &summary)),
        Tone::Dim,
    ));
    lines
}

fn next_step(outcome: &Outcome, file: &str, what: &str, base: Option<&Path>) -> Option<Line> {
    let path = outcome.written.iter().find(|path| path.ends_with(file))?;
    Some(Line::of(format!("  {what}: "), Tone::Dim).and(summary::path(path, base), Tone::Plain))
}

/// What the exit code says, including what it was told not to say.
fn meaning(verdict: &Verdict, summary: &Summary) -> &'static str {
    match verdict {
        Verdict::Incomplete { .. } => "the scan is incomplete",
        Verdict::Findings { .. } => "there are actionable findings",
        Verdict::Clean { .. } if !summary.incomplete.is_empty() => {
            "incomplete, which does not fail this scan"
        }
        Verdict::Clean { tolerated: 0 } => "complete, nothing actionable",
        Verdict::Clean { .. } => "findings do not fail this scan",
    }
}

/// The terminal's columns.
fn width() -> usize {
    let columns =
        rustix::termios::tcgetwinsize(std::io::stdout()).ok().map(|size| usize::from(size.ws_col));
    columns.filter(|columns| *columns > 0).unwrap_or(DEFAULT_WIDTH)
}

fn painted(lines: &[Line], colour: bool) -> String {
    let mut text = String::new();
    for line in lines {
        if colour {
            for span in &line.0 {
                let style = style(span.tone);
                let _ = write!(text, "{style}{}{style:#}", span.text);
            }
        } else {
            text.push_str(&line.text());
        }
        text.push('\n');
    }
    text
}

fn style(tone: Tone) -> Style {
    match tone {
        Tone::Plain => Style::new(),
        Tone::Strong => Style::new().bold(),
        Tone::Dim => Style::new().dimmed(),
        Tone::Bad => AnsiColor::Red.on_default().bold(),
        Tone::Warning => AnsiColor::Yellow.on_default(),
        Tone::Good => AnsiColor::Green.on_default(),
        Tone::Note => AnsiColor::Blue.on_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_adds_nothing_but_escapes() {
        let lines = [
            Line::of("bandit ", Tone::Plain).and("FAILED", Tone::Bad).and(": why", Tone::Plain),
            Line::default(),
        ];
        assert_eq!(painted(&lines, false), "bandit FAILED: why\n\n");
        assert_eq!(painted(&lines, true), "bandit \u{1b}[1m\u{1b}[31mFAILED\u{1b}[0m: why\n\n");
    }
}
