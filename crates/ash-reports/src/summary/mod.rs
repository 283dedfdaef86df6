//! What a finished scan has to say to a person: the one model behind the terminal's summary and the text report.
//!
//! [`Summary::of`] gathers it, [`Summary::lines`] lays it out as lines of toned text. A file ignores the tones, a terminal paints them.

mod duration;
mod layout;
mod table;

use std::{collections::HashMap, ffi::OsStr, path::Path};

use ash_model::{
    evidence::Tier,
    path::{RelPath, printable},
    report::{ScanReport, ScannerReport},
    severity::SeverityCounts,
    status::Status,
};
use serde_json::Value;

use crate::harmless;

pub use duration::shown as duration;
pub use layout::{Line, Span, Tone};

/// How many targets that were not evaluated are named for one scanner.
const MAX_TARGETS: usize = 5;
/// How long one reason or notice may be, in characters; a tool's last words can be a whole stack trace.
const LONGEST: usize = 600;

/// Everything the summary shows, already harmless on one line each.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// One row for each scanner.
    pub rows: Vec<Row>,
    /// Where from and where to.
    pub places: String,
    /// How the scanners were confined.
    pub sandbox: String,
    /// Whether they were confined at all.
    pub confined: bool,
    /// Why scanners are MISSING, ERROR or SKIPPED, or did not evaluate everything.
    pub reasons: Vec<Reason>,
    /// What was dropped or passed over.
    pub notices: Vec<String>,
    /// Who the scan is incomplete because of, such as `cfn-nag (MISSING)`.
    pub incomplete: Vec<String>,
    /// The files with the most findings that count, worst first.
    pub hotspots: Vec<(u64, String)>,
    /// Findings at or above their threshold.
    pub actionable: u64,
    /// Whether the user stopped it.
    pub interrupted: bool,
}

/// A scanner's row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The scanner.
    pub scanner: String,
    /// Findings by severity.
    pub counts: SeverityCounts,
    /// How long it ran.
    pub duration: String,
    /// Findings that fail it.
    pub actionable: u64,
    /// The status.
    pub status: &'static str,
    /// How many of how many targets were not evaluated, where not all were.
    pub unevaluated: Option<(usize, Option<u64>)>,
    /// The threshold's name.
    pub threshold: &'static str,
    /// `config` or `global`.
    pub threshold_source: &'static str,
}

/// Why a scanner's part is not a plain verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// The scanner, or several with the same reason.
    pub scanner: String,
    /// The status.
    pub status: &'static str,
    /// The reason, with what to type.
    pub text: String,
}

impl Summary {
    /// Gathers the summary. Paths below `base` are shown relative to it.
    pub fn of(report: &ScanReport, base: Option<&Path>) -> Self {
        let scan = &report.scan;
        Self {
            rows: report.scanners.iter().map(Row::of).collect(),
            places: format!(
                "source: {}  output: {}",
                path(&scan.source_dir, base),
                path(&scan.output_dir, base)
            ),
            sandbox: sandbox(report),
            confined: scan.sandbox_mode != "off",
            reasons: grouped(report.scanners.iter().flat_map(reasons)),
            notices: report.notices.iter().map(|notice| short(&notice.line())).collect(),
            incomplete: incomplete(report),
            hotspots: hotspots(report, 10),
            actionable: report.scanners.iter().map(|scanner| scanner.actionable).sum(),
            interrupted: scan.interrupted,
        }
    }
}

impl Row {
    fn of(scanner: &ScannerReport) -> Self {
        Self {
            scanner: scanner.id.to_string(),
            counts: scanner.counts,
            duration: duration(scanner.duration),
            actionable: scanner.actionable,
            status: scanner.status.name(),
            unevaluated: (!scanner.unevaluated.is_empty())
                .then_some((scanner.unevaluated.len(), scanner.targets)),
            threshold: scanner.threshold.name(),
            threshold_source: if scanner.threshold_is_own { "config" } else { "global" },
        }
    }
}

/// A path on one line, relative to `base` when it is below it.
pub fn path(path: &Path, base: Option<&Path>) -> String {
    let relative = base.and_then(|base| path.strip_prefix(base).ok());
    match relative {
        Some(relative) if relative.as_os_str().is_empty() => ".".to_owned(),
        Some(relative) => harmless::line(&printable(relative.as_os_str())),
        None => harmless::line(&printable(path.as_os_str())),
    }
}

/// The line that says how the scanners were confined. With several tiers, the weakest.
fn sandbox(report: &ScanReport) -> String {
    let scan = &report.scan;
    if scan.sandbox_mode == "off" {
        return "sandbox: off (type `--sandbox auto` to confine every scanner)".to_owned();
    }
    let confined = || report.scanners.iter().filter(|scanner| scanner.sandbox.backend.is_some());
    let backend = scan
        .sandbox_backend
        .as_deref()
        .or_else(|| confined().find_map(|scanner| scanner.sandbox.backend.as_deref()));
    let Some(backend) = backend else {
        return harmless::line(&format!(
            "sandbox: {} was asked for, and no scanner could be run in it",
            scan.sandbox_mode
        ));
    };
    let tier = confined()
        .map(|scanner| scanner.sandbox.tier)
        .min()
        .map(tier_name)
        // "landlock, landlock" says nothing twice.
        .filter(|tier| *tier != backend)
        .map(|tier| format!(", {tier}"))
        .unwrap_or_default();
    let online: Vec<&str> = confined()
        .filter(|scanner| scanner.sandbox.details.as_ref().is_some_and(|details| details.network))
        .map(|scanner| scanner.id.as_str())
        .collect();
    let network = match (online.is_empty(), scan.offline) {
        (true, true) => "none (offline)".to_owned(),
        (true, false) => "none".to_owned(),
        (false, _) => format!("for {} only", online.join(", ")),
    };
    harmless::line(&format!("sandbox: {backend}{tier}; network: {network}"))
}

/// The tier's name as in the evidence.
fn tier_name(tier: Tier) -> String {
    serde_json::to_value(tier).ok().as_ref().and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn reasons(scanner: &ScannerReport) -> Vec<Reason> {
    let reason = |text: &str| Reason {
        scanner: scanner.id.to_string(),
        status: scanner.status.name(),
        text: short(text),
    };
    let mut reasons: Vec<Reason> = scanner.status.reason().map(reason).into_iter().collect();
    reasons.extend(
        scanner
            .unevaluated
            .iter()
            .take(MAX_TARGETS)
            .map(|target| reason(&format!("not evaluated: {target}"))),
    );
    if let Some(more) = scanner.unevaluated.len().checked_sub(MAX_TARGETS).filter(|more| *more > 0)
    {
        reasons.push(reason(&format!(
            "not evaluated: {more} more, all in `ash_aggregated_results.json`"
        )));
    }
    reasons
}

/// Joins the scanners that have the same reason, where the first of them stands.
fn grouped(reasons: impl Iterator<Item = Reason>) -> Vec<Reason> {
    let mut grouped: Vec<Reason> = Vec::new();
    for reason in reasons {
        match grouped
            .iter_mut()
            .find(|known| known.status == reason.status && known.text == reason.text)
        {
            Some(known) => {
                known.scanner.push_str(", ");
                known.scanner.push_str(&reason.scanner);
            }
            None => grouped.push(reason),
        }
    }
    grouped
}

fn incomplete(report: &ScanReport) -> Vec<String> {
    let mut who: Vec<String> = Vec::new();
    if report.scan.interrupted {
        who.push("the scan was interrupted".to_owned());
    }
    for scanner in &report.scanners {
        if scanner.status.is_incomplete() {
            who.push(format!("{} ({})", scanner.id, scanner.status.name()));
        } else if !scanner.unevaluated.is_empty() {
            who.push(format!(
                "{} ({} not evaluated)",
                scanner.id,
                targets(scanner.unevaluated.len())
            ));
        }
    }
    if who.is_empty()
        && report.scanners.iter().all(|scanner| matches!(scanner.status, Status::Skipped(_)))
    {
        who.push("no scanner ran (all SKIPPED)".to_owned());
    }
    who
}

/// One harmless line that is not too long.
fn short(text: &str) -> String {
    let line = harmless::line(text);
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}… (in full in `ash_aggregated_results.json`)", &line[..end]),
        None => line,
    }
}

fn targets(count: usize) -> String {
    if count == 1 { "1 target".to_owned() } else { format!("{count} targets") }
}

/// The files with the most findings that are not suppressed; ties in path order.
pub fn hotspots(report: &ScanReport, most: usize) -> Vec<(u64, String)> {
    let mut counts: HashMap<&RelPath, u64> = HashMap::new();
    for finding in report.findings.iter().filter(|finding| !finding.is_suppressed()) {
        if let Some(location) = &finding.location {
            *counts.entry(&location.path).or_default() += 1;
        }
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by(|(path, count), (other_path, other_count)| {
        other_count.cmp(count).then_with(|| path.cmp(other_path))
    });
    counts.truncate(most);
    counts
        .into_iter()
        .map(|(path, count)| (count, harmless::line(&printable(OsStr::new(path.as_path())))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn shown(summary: &Summary, width: usize) -> String {
        summary.lines(width).iter().map(|line| line.text() + "\n").collect()
    }

    #[test]
    fn the_wide_summary_of_the_sample() {
        insta::assert_snapshot!(shown(&Summary::of(&sample::hostile(), None), 120));
    }

    #[test]
    fn the_narrow_summary_of_the_sample() {
        insta::assert_snapshot!(shown(&Summary::of(&sample::hostile(), None), 80));
    }

    #[test]
    fn no_line_of_the_narrow_table_is_wider_than_eighty_columns() {
        let summary = Summary::of(&sample::hostile(), None);
        let widest = summary
            .table(80)
            .iter()
            .map(|line| unicode_width::UnicodeWidthStr::width(line.text().as_str()))
            .max();
        assert!(widest <= Some(80), "{widest:?}");
    }

    #[test]
    fn off_says_so_and_what_to_type() {
        let mut report = sample::hostile();
        report.scan.sandbox_mode = "off".into();
        assert_eq!(
            Summary::of(&report, None).sandbox,
            "sandbox: off (type `--sandbox auto` to confine every scanner)"
        );
    }

    #[test]
    fn the_sandbox_line_names_the_weakest_tier_and_who_had_a_network() {
        let mut report = sample::hostile();
        assert_eq!(
            Summary::of(&report, None).sandbox,
            "sandbox: bwrap, namespaces+landlock; network: none (offline)"
        );
        report.scanners[0].sandbox.tier = Tier::Namespaces;
        report.scanners[0].sandbox.details.as_mut().unwrap().network = true;
        assert_eq!(
            Summary::of(&report, None).sandbox,
            "sandbox: bwrap, namespaces; network: for bandit only"
        );
    }

    #[test]
    fn a_sandbox_nobody_could_run_in_is_not_called_a_sandbox() {
        let mut report = sample::hostile();
        report.scan.sandbox_backend = None;
        report.scanners.iter_mut().for_each(|scanner| scanner.sandbox.backend = None);
        assert_eq!(
            Summary::of(&report, None).sandbox,
            "sandbox: auto was asked for, and no scanner could be run in it"
        );
    }

    #[test]
    fn scanners_with_the_same_reason_share_a_line() {
        let mut report = sample::hostile();
        report.scanners.iter_mut().take(2).for_each(|scanner| {
            scanner.status = Status::Skipped("not named in `--scanners`".into())
        });
        let first = &Summary::of(&report, None).reasons[0];
        assert_eq!(
            (first.scanner.as_str(), first.text.as_str()),
            ("bandit, cfn-nag", "not named in `--scanners`")
        );
    }

    #[test]
    fn all_skipped_is_incomplete() {
        let mut report = sample::hostile();
        report.scanners.retain(|scanner| scanner.status.name() == "SKIPPED");
        assert_eq!(Summary::of(&report, None).incomplete, ["no scanner ran (all SKIPPED)"]);
    }

    #[test]
    fn paths_below_the_base_are_shown_relative() {
        let summary = Summary::of(&sample::hostile(), Some(Path::new("/src")));
        assert_eq!(summary.places, "source: .  output: .ash/ash_output");
    }
}
