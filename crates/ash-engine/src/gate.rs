//! What a scan's result means for the caller.

use ash_model::{report::ScanReport, status::Status};

/// The verdict, worst meaning first where several apply: incomplete outranks findings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Everything that was asked for ran, and nothing actionable was found (or findings do not fail this scan).
    Clean {
        /// Actionable findings that were tolerated.
        tolerated: u64,
    },
    /// Something did not run, or not wholly.
    Incomplete {
        /// Who and how, such as `cfn-nag (MISSING)`.
        who: Vec<String>,
    },
    /// Actionable findings.
    Findings {
        /// How many.
        actionable: u64,
    },
}

impl Verdict {
    /// The process exit code: 0 clean, 1 incomplete, 2 findings.
    pub const fn code(&self) -> u8 {
        match self {
            Self::Clean { .. } => 0,
            Self::Incomplete { .. } => 1,
            Self::Findings { .. } => 2,
        }
    }

    /// One line for people.
    pub fn line(&self) -> String {
        match self {
            Self::Clean { tolerated: 0 } => "Scan complete: no actionable findings".to_owned(),
            Self::Clean { tolerated } => format!(
                "Scan complete: {tolerated} actionable findings, which do not fail this scan (`--no-fail-on-findings`)"
            ),
            Self::Incomplete { who } => format!("Scan incomplete: {}", who.join(", ")),
            Self::Findings { actionable } => {
                format!("Scan complete: {actionable} actionable findings")
            }
        }
    }
}

/// Which rules of the gate are in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gate {
    /// Actionable findings fail the scan.
    pub on_findings: bool,
    /// An incomplete scan fails.
    pub on_incomplete: bool,
    /// `on_incomplete: false` was said by the scanned tree: it is not obeyed for scanners that the sandbox made MISSING.
    pub incomplete_rule_in_tree: bool,
}

/// Judges a finished scan. `unread` counts the directories of the scanned tree that could not be looked into.
pub fn judge(report: &ScanReport, unread: usize, gate: Gate) -> Verdict {
    let mut who = incomplete(report, gate);
    if unread > 0 && gate.on_incomplete {
        who.push(format!("{unread} files or directories could not be read"));
    }
    if !who.is_empty() {
        return Verdict::Incomplete { who };
    }
    let actionable = report.scanners.iter().map(|scanner| scanner.actionable).sum();
    if actionable > 0 && gate.on_findings {
        Verdict::Findings { actionable }
    } else {
        Verdict::Clean { tolerated: actionable }
    }
}

/// Everybody because of whom the scan does not count as whole.
fn incomplete(report: &ScanReport, gate: Gate) -> Vec<String> {
    let mut who: Vec<String> = Vec::new();
    for scanner in &report.scanners {
        let must_count = gate.on_incomplete
            || (gate.incomplete_rule_in_tree
                && matches!(&scanner.status, Status::Missing(missing) if missing.by_sandbox));
        if scanner.status.is_incomplete() && must_count {
            who.push(format!("{} ({})", scanner.id, scanner.status.name()));
        } else if !scanner.unevaluated.is_empty() && gate.on_incomplete {
            who.push(format!(
                "{} ({} targets not evaluated)",
                scanner.id,
                scanner.unevaluated.len()
            ));
        }
    }
    if report.scan.interrupted {
        who.insert(0, "the scan was interrupted".to_owned());
    }
    let nothing_ran =
        !report.scanners.iter().any(|scanner| !matches!(scanner.status, Status::Skipped(_)));
    if who.is_empty() && nothing_ran && gate.on_incomplete {
        who.push("no scanner ran (all SKIPPED)".to_owned());
    }
    who
}

#[cfg(test)]
mod tests {
    use ash_model::status::Missing;

    use super::*;
    use crate::testing::{report, scanner};

    const STRICT: Gate =
        Gate { on_findings: true, on_incomplete: true, incomplete_rule_in_tree: false };

    fn missing(by_sandbox: bool) -> Status {
        Status::Missing(Missing { reason: "gone".into(), by_sandbox })
    }

    #[test]
    fn incomplete_outranks_findings() {
        let report = report(vec![scanner("a", Status::Failed, 3), scanner("b", missing(false), 0)]);
        assert_eq!(
            judge(&report, 0, STRICT),
            Verdict::Incomplete { who: vec!["b (MISSING)".into()] }
        );
        assert_eq!(judge(&report, 0, STRICT).code(), 1);
    }

    #[test]
    fn findings_fail_unless_told_otherwise() {
        let report = report(vec![scanner("a", Status::Failed, 3)]);
        assert_eq!(judge(&report, 0, STRICT).code(), 2);
        assert_eq!(
            judge(&report, 0, Gate { on_findings: false, ..STRICT }),
            Verdict::Clean { tolerated: 3 }
        );
    }

    #[test]
    fn all_skipped_is_not_clean() {
        let report = report(vec![scanner("a", Status::Skipped("no Python".into()), 0)]);
        assert_eq!(judge(&report, 0, STRICT).code(), 1);
    }

    #[test]
    fn a_skipped_scanner_beside_a_clean_one_is_clean() {
        let report = report(vec![
            scanner("a", Status::Skipped("no Python".into()), 0),
            scanner("b", Status::Passed, 0),
        ]);
        assert_eq!(judge(&report, 0, STRICT).code(), 0);
    }

    #[test]
    fn a_scanned_tree_cannot_wave_through_what_the_sandbox_refused() {
        let lax_tree = Gate { on_incomplete: false, incomplete_rule_in_tree: true, ..STRICT };
        assert_eq!(judge(&report(vec![scanner("a", missing(true), 0)]), 0, lax_tree).code(), 1);
        assert_eq!(judge(&report(vec![scanner("a", missing(false), 0)]), 0, lax_tree).code(), 0);
        let lax_operator = Gate { on_incomplete: false, ..STRICT };
        assert_eq!(judge(&report(vec![scanner("a", missing(true), 0)]), 0, lax_operator).code(), 0);
    }

    #[test]
    fn directories_that_could_not_be_read_make_the_scan_incomplete() {
        let report = report(vec![scanner("a", Status::Passed, 0)]);
        assert_eq!(
            judge(&report, 2, STRICT),
            Verdict::Incomplete { who: vec!["2 files or directories could not be read".into()] }
        );
    }

    #[test]
    fn targets_that_were_not_evaluated_make_the_scan_incomplete() {
        let mut partly = scanner("a", Status::Passed, 0);
        partly.unevaluated.push("yarn.lock: not audited".into());
        assert_eq!(judge(&report(vec![partly]), 0, STRICT).code(), 1);
    }
}
