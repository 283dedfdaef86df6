//! `ash_aggregated_results.json`: everything, under the key names the Python edition uses.

use std::{collections::BTreeMap, io};

use ash_model::{
    evidence::SandboxEvidence,
    notice::Notice,
    report::{ScanReport, ScannerReport},
    severity::SeverityCounts,
    status::Status,
    suppression::Fate,
};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    Reporter,
    formats::sarif,
    json::{self, Members},
};

/// The aggregated results.
#[derive(Debug)]
pub(crate) struct Aggregated;

impl Reporter for Aggregated {
    fn id(&self) -> &'static str {
        "aggregated"
    }

    fn file_name(&self) -> &'static str {
        "ash_aggregated_results.json"
    }

    fn render(&self, report: &ScanReport, out: &mut dyn io::Write) -> io::Result<()> {
        json::write(out, &document(report))
    }
}

fn document(report: &ScanReport) -> impl Serialize + '_ {
    Document {
        name: "ASH Scan Report",
        description: "Aggregated security scan results",
        metadata: Metadata::of(report),
        ash_config: &report.settings,
        scanner_results: Members(|| {
            report.scanners.iter().map(|scanner| (&scanner.id, ScannerResult::of(scanner)))
        }),
        converter_results: BTreeMap::new(),
        sarif: sarif::document(report),
        cyclonedx: report.sbom.as_ref(),
        additional_reports: Members(|| {
            report
                .scanners
                .iter()
                .map(|scanner| (&scanner.id, Targets { source: TargetReport::of(report, scanner) }))
        }),
        validation_checkpoints: [],
        used_suppressions: used_suppressions(report),
        notices: &report.notices,
        sandbox: Sandbox {
            mode: &report.scan.sandbox_mode,
            backend: report.scan.sandbox_backend.as_deref(),
            offline: report.scan.offline,
        },
    }
}

#[derive(Serialize)]
struct Document<'a, R: Serialize, S: Serialize, A: Serialize> {
    name: &'static str,
    description: &'static str,
    metadata: Metadata<'a>,
    ash_config: &'a Map<String, Value>,
    scanner_results: R,
    converter_results: BTreeMap<&'a str, Value>,
    sarif: S,
    #[serde(skip_serializing_if = "Option::is_none")]
    cyclonedx: Option<&'a Value>,
    additional_reports: A,
    validation_checkpoints: [Value; 0],
    used_suppressions: Vec<&'a str>,
    notices: &'a [Notice],
    sandbox: Sandbox<'a>,
}

#[derive(Serialize)]
struct Sandbox<'a> {
    mode: &'a str,
    backend: Option<&'a str>,
    offline: bool,
}

#[derive(Serialize)]
struct Metadata<'a> {
    report_id: String,
    generated_at: &'a str,
    project_name: &'a str,
    tool_version: &'a str,
    description: &'static str,
    summary_stats: SummaryStats<'a>,
}

#[derive(Serialize)]
struct SummaryStats<'a> {
    severity_counts: SeverityCounts,
    start: &'a str,
    end: &'a str,
    duration: f64,
    total: u64,
    actionable: u64,
    passed: usize,
    failed: usize,
    missing: usize,
    skipped: usize,
    error: usize,
    interrupted: bool,
}

impl<'a> Metadata<'a> {
    fn of(report: &'a ScanReport) -> Self {
        let scan = &report.scan;
        let day: String = scan.started.chars().take(10).filter(char::is_ascii_digit).collect();
        Self {
            report_id: format!("ASH-{day}"),
            generated_at: &scan.finished,
            project_name: &scan.project_name,
            tool_version: &scan.ash_version,
            description: "Automated Security Helper Aggregated Report",
            summary_stats: SummaryStats::of(report),
        }
    }
}

impl<'a> SummaryStats<'a> {
    fn of(report: &'a ScanReport) -> Self {
        let counts = total_counts(&report.scanners);
        let with = |name: &str| {
            report.scanners.iter().filter(|scanner| scanner.status.name() == name).count()
        };
        Self {
            severity_counts: counts,
            start: &report.scan.started,
            end: &report.scan.finished,
            duration: report.scan.duration.as_secs_f64(),
            total: counts.total(),
            actionable: report.scanners.iter().map(|scanner| scanner.actionable).sum(),
            passed: with("PASSED"),
            failed: with("FAILED"),
            missing: with("MISSING"),
            skipped: with("SKIPPED"),
            error: with("ERROR"),
            interrupted: report.scan.interrupted,
        }
    }
}

fn total_counts(scanners: &[ScannerReport]) -> SeverityCounts {
    scanners.iter().fold(SeverityCounts::default(), |sum, scanner| SeverityCounts {
        suppressed: sum.suppressed + scanner.counts.suppressed,
        critical: sum.critical + scanner.counts.critical,
        high: sum.high + scanner.counts.high,
        medium: sum.medium + scanner.counts.medium,
        low: sum.low + scanner.counts.low,
        info: sum.info + scanner.counts.info,
    })
}

#[derive(Serialize)]
struct ScannerResult<'a> {
    status: &'a Status,
    dependencies_satisfied: bool,
    excluded: bool,
    severity_counts: SeverityCounts,
    finding_count: u64,
    actionable_finding_count: u64,
    suppressed_finding_count: u64,
    exit_code: Option<i32>,
    duration: Option<f64>,
    severity_threshold: &'static str,
    threshold_source: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    targets_attempted: Option<u64>,
    targets_failed: usize,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    unevaluated: &'a [String],
    sandbox: &'a SandboxEvidence,
}

impl<'a> ScannerResult<'a> {
    fn of(scanner: &'a ScannerReport) -> Self {
        Self {
            status: &scanner.status,
            dependencies_satisfied: scanner.dependencies_satisfied,
            excluded: scanner.excluded,
            severity_counts: scanner.counts,
            finding_count: scanner.counts.total(),
            actionable_finding_count: scanner.actionable,
            suppressed_finding_count: scanner.counts.suppressed,
            exit_code: scanner.exit_code,
            duration: scanner.duration.map(|duration| duration.as_secs_f64()),
            severity_threshold: scanner.threshold.name(),
            threshold_source: if scanner.threshold_is_own { "config" } else { "global" },
            version: scanner.version.as_deref(),
            reason: scanner.status.reason(),
            targets_attempted: scanner.targets,
            targets_failed: scanner.unevaluated.len(),
            unevaluated: &scanner.unevaluated,
            sandbox: &scanner.sandbox,
        }
    }
}

#[derive(Serialize)]
struct Targets<'a> {
    source: TargetReport<'a>,
}

#[derive(Serialize)]
struct TargetReport<'a> {
    scanner_name: &'a str,
    target: std::borrow::Cow<'a, str>,
    target_type: &'static str,
    status: &'a Status,
    dependencies_satisfied: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    finding_count: u64,
    severity_counts: SeverityCounts,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_time: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_time: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration: Option<f64>,
}

impl<'a> TargetReport<'a> {
    fn of(report: &'a ScanReport, scanner: &'a ScannerReport) -> Self {
        Self {
            scanner_name: scanner.id.as_str(),
            target: report.scan.source_dir.to_string_lossy(),
            target_type: "source",
            status: &scanner.status,
            dependencies_satisfied: scanner.dependencies_satisfied,
            exit_code: scanner.exit_code,
            finding_count: scanner.counts.total(),
            severity_counts: scanner.counts,
            start_time: scanner.invocations.first().map(|invocation| invocation.started.as_str()),
            end_time: scanner.invocations.last().map(|invocation| invocation.finished.as_str()),
            duration: scanner.duration.map(|duration| duration.as_secs_f64()),
        }
    }
}

/// Ids of the suppressions that cover a finding, sorted.
fn used_suppressions(report: &ScanReport) -> Vec<&str> {
    let used = report.suppressions.iter().filter(|record| record.fate == Fate::Used);
    let mut ids: Vec<&str> = used.map(|record| record.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::sample;

    fn rendered(report: &ScanReport) -> Value {
        let mut bytes = Vec::new();
        Aggregated.render(report, &mut bytes).unwrap();
        serde_json::from_slice(&bytes).unwrap()
    }

    #[test]
    fn the_key_names_are_those_of_the_python_edition() {
        let value = rendered(&sample::hostile());
        let keys: Vec<_> = value.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(
            keys,
            [
                "name",
                "description",
                "metadata",
                "ash_config",
                "scanner_results",
                "converter_results",
                "sarif",
                "cyclonedx",
                "additional_reports",
                "validation_checkpoints",
                "used_suppressions",
                "notices",
                "sandbox"
            ]
        );
        let stats: Vec<_> = value["metadata"]["summary_stats"]
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        assert_eq!(
            stats,
            [
                "severity_counts",
                "start",
                "end",
                "duration",
                "total",
                "actionable",
                "passed",
                "failed",
                "missing",
                "skipped",
                "error",
                "interrupted"
            ]
        );
    }

    #[test]
    fn a_scanner_that_did_not_run_carries_its_reason_and_its_evidence() {
        let value = rendered(&sample::hostile());
        let missing = &value["scanner_results"]["cfn-nag"];
        assert_eq!(missing["status"], "MISSING");
        assert_eq!(missing["reason"], "`cfn_nag_scan` was not found; type `gem install cfn-nag`");
        assert_eq!(missing["sandbox"], json!({"mode": "auto", "backend": null, "tier": "none"}));
        assert_eq!(value["scanner_results"]["bandit"]["sandbox"]["tier"], "namespaces+landlock");
    }

    #[test]
    fn totals_are_sums_over_the_scanners() {
        let value = rendered(&sample::hostile());
        assert_eq!(
            value["metadata"]["summary_stats"]["severity_counts"],
            json!({"suppressed": 1, "critical": 0, "high": 2, "medium": 0, "low": 1, "info": 0})
        );
        assert_eq!(value["metadata"]["summary_stats"]["total"], 3);
        assert_eq!(value["metadata"]["report_id"], "ASH-20260102");
    }

    #[test]
    fn the_results_of_the_sample() {
        let mut value = rendered(&sample::hostile());
        // The log has its own snapshot.
        value["sarif"] = json!("…");
        insta::assert_json_snapshot!(value);
    }
}
