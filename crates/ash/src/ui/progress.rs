//! What a person sees while scanners run, on stderr: a line for each scanner that changes in place, or plain lines one after the other.

use std::{collections::BTreeMap, time::Duration};

use ash_engine::event::{Event, Sink};
use ash_model::{ids::ScannerId, status::Status};
use ash_reports::{harmless, summary::duration};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How often the elapsed time of a running scanner is redrawn.
const TICK: Duration = Duration::from_millis(120);
/// The longest reason in a progress line; the summary has all of it.
const LONGEST_REASON: usize = 160;

/// Shows events: in place on a terminal that is watched, as plain lines elsewhere.
pub(crate) fn progress(live: bool) -> Box<dyn Sink> {
    if live { Box::new(Live::new()) } else { Box::new(Plain) }
}

/// One line for each event.
struct Plain;

impl Sink for Plain {
    fn event(&mut self, event: Event) {
        if let Some(line) = plain_line(&event) {
            super::error(&line);
        }
    }
}

fn plain_line(event: &Event) -> Option<String> {
    match event {
        Event::Started { scanners, sandbox } => Some(started(scanners.len(), sandbox)),
        Event::Notice(notice) => Some(format!("note: {}", harmless::line(&notice.line()))),
        Event::Running { scanner } => Some(format!("{scanner}: running")),
        Event::Ended { scanner, status, findings, actionable, duration } => {
            Some(format!("{scanner}: {}", ended(status, *findings, *actionable, *duration)))
        }
        Event::Reporting => None,
    }
}

fn started(scanners: usize, sandbox: &str) -> String {
    format!("running {}, sandbox: {}", counted(scanners as u64, "scanner"), harmless::line(sandbox))
}

/// How a scanner ended, in half a line.
fn ended(status: &Status, findings: u64, actionable: u64, took: Duration) -> String {
    let name = status.name();
    match status.reason() {
        None => format!(
            "{name}, {} ({actionable} actionable), {}",
            counted(findings, "finding"),
            duration(Some(took))
        ),
        Some(reason) => format!("{name}, {}", short(reason)),
    }
}

fn counted(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

fn short(reason: &str) -> String {
    let line = harmless::line(reason);
    match line.char_indices().nth(LONGEST_REASON) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// A line for each scanner: waiting, running with the time it took so far, ended.
struct Live {
    lines: MultiProgress,
    scanners: BTreeMap<ScannerId, ProgressBar>,
}

impl Live {
    fn new() -> Self {
        Self {
            lines: MultiProgress::with_draw_target(ProgressDrawTarget::stderr()),
            scanners: BTreeMap::new(),
        }
    }

    fn start(&mut self, scanners: Vec<ScannerId>) {
        let longest =
            scanners.iter().map(|scanner| scanner.as_str().len()).max().unwrap_or_default();
        for scanner in scanners {
            let line = self.lines.add(ProgressBar::new_spinner());
            line.set_style(style("  {prefix} {wide_msg}"));
            line.set_prefix(format!("{scanner:<longest$}"));
            line.set_message("waiting");
            line.tick();
            self.scanners.insert(scanner, line);
        }
    }

    fn say(&self, text: &str) {
        // A terminal that went away is no reason to fail.
        let _ = self.lines.println(text);
    }
}

impl Sink for Live {
    fn event(&mut self, event: Event) {
        match event {
            Event::Started { scanners, sandbox } => {
                self.say(&started(scanners.len(), &sandbox));
                self.start(scanners);
            }
            Event::Notice(notice) => self.say(&format!("note: {}", harmless::line(&notice.line()))),
            Event::Running { scanner } => {
                if let Some(line) = self.scanners.get(&scanner) {
                    line.set_style(style("{spinner} {prefix} running {elapsed}"));
                    line.reset_elapsed();
                    line.enable_steady_tick(TICK);
                }
            }
            Event::Ended { scanner, status, findings, actionable, duration } => {
                if let Some(line) = self.scanners.get(&scanner) {
                    line.disable_steady_tick();
                    line.set_style(style("  {prefix} {wide_msg}"));
                    line.finish_with_message(ended(&status, findings, actionable, duration));
                }
            }
            Event::Reporting => {}
        }
    }
}

/// After an interruption some lines are still moving; they stay as they are.
impl Drop for Live {
    fn drop(&mut self) {
        self.scanners.values().filter(|line| !line.is_finished()).for_each(ProgressBar::abandon);
    }
}

/// A template is a literal of this file; one that did not parse would show indicatif's own.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_spinner())
        .tick_chars("-\\|/ ")
}

#[cfg(test)]
mod tests {
    use ash_model::{notice::Notice, status::Missing};

    use super::*;

    const BANDIT: ScannerId = ScannerId::builtin("bandit");

    fn end(status: Status, findings: u64) -> Option<String> {
        plain_line(&Event::Ended {
            scanner: BANDIT,
            status,
            findings,
            actionable: 3,
            duration: Duration::from_millis(4230),
        })
    }

    #[test]
    fn plain_lines_say_what_happened() {
        assert_eq!(
            plain_line(&Event::Started { scanners: vec![BANDIT], sandbox: "bwrap".into() })
                .as_deref(),
            Some("running 1 scanner, sandbox: bwrap")
        );
        assert_eq!(
            plain_line(&Event::Running { scanner: BANDIT }).as_deref(),
            Some("bandit: running")
        );
        assert_eq!(
            end(Status::Failed, 12).as_deref(),
            Some("bandit: FAILED, 12 findings (3 actionable), 4.2s")
        );
        assert_eq!(
            end(
                Status::Missing(Missing {
                    reason: "not found; type `x`".into(),
                    by_sandbox: false
                }),
                0
            )
            .as_deref(),
            Some("bandit: MISSING, not found; type `x`")
        );
    }

    #[test]
    fn what_a_tool_says_cannot_drive_the_terminal_or_the_ci_system() {
        let line =
            end(Status::Error(format!("\u{1b}[2J\n::error::x ##vso[y]{}", "z".repeat(5000))), 0)
                .unwrap();
        assert!(
            line.starts_with("bandit: ERROR, \\u{1b}[2J\\n::error::x # #vso[y]zz")
                && line.len() < 300,
            "{line}"
        );
        let notice = plain_line(&Event::Notice(Notice::new("key\u{202e}", "reason\r"))).unwrap();
        assert_eq!(notice, "note: key\\u{202e}: reason\\r");
    }

    #[test]
    fn every_template_parses() {
        for template in ["  {prefix} {wide_msg}", "{spinner} {prefix} running {elapsed}"] {
            assert!(ProgressStyle::with_template(template).is_ok(), "{template}");
        }
    }
}
