//! `ash.flat.json`: metadata, one entry for each scanner, and the findings as flat rows.

use std::io;

use ash_model::{
    notice::Notice,
    report::{ScanReport, ScannerReport},
    severity::SeverityCounts,
};
use serde::Serialize;

use crate::{
    Reporter,
    flat::{self, RuleIndex},
    json::{self, List},
    summary::hotspots,
};

/// The flat findings.
#[derive(Debug)]
pub(crate) struct FlatJson;

impl Reporter for FlatJson {
    fn id(&self) -> &'static str {
        "flat-json"
    }

    fn file_name(&self) -> &'static str {
        "reports/ash.flat.json"
    }

    fn render(&self, report: &ScanReport, out: &mut dyn io::Write) -> io::Result<()> {
        let rules = RuleIndex::of(report);
        let scan = &report.scan;
        let document = Document {
            metadata: Metadata {
                project: &scan.project_name,
                scan_time: &scan.started,
                report_time: &scan.finished,
                tool_version: &scan.ash_version,
                duration: scan.duration.as_secs_f64(),
                sandbox: &scan.sandbox_mode,
                sandbox_backend: scan.sandbox_backend.as_deref(),
                interrupted: scan.interrupted,
            },
            scanner_metrics: report.scanners.iter().map(Metrics::of).collect(),
            top_hotspots: hotspots(report, 10)
                .into_iter()
                .map(|(count, location)| Hotspot { location, count })
                .collect(),
            notices: &report.notices,
            findings: List(|| flat::rows(report, &rules)),
        };
        json::write(out, &document)
    }
}

#[derive(Serialize)]
struct Document<'a, F: Serialize> {
    metadata: Metadata<'a>,
    scanner_metrics: Vec<Metrics<'a>>,
    top_hotspots: Vec<Hotspot>,
    notices: &'a [Notice],
    findings: F,
}

#[derive(Serialize)]
struct Metadata<'a> {
    project: &'a str,
    scan_time: &'a str,
    report_time: &'a str,
    tool_version: &'a str,
    duration: f64,
    sandbox: &'a str,
    sandbox_backend: Option<&'a str>,
    interrupted: bool,
}

#[derive(Serialize)]
struct Hotspot {
    location: String,
    count: u64,
}

#[derive(Serialize)]
struct Metrics<'a> {
    scanner_name: &'a str,
    #[serde(flatten)]
    counts: SeverityCounts,
    total: u64,
    passed: bool,
    threshold: &'static str,
    threshold_source: &'static str,
    actionable: u64,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration: Option<f64>,
    excluded: bool,
    dependencies_missing: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    targets_attempted: Option<u64>,
    targets_failed: usize,
}

impl<'a> Metrics<'a> {
    fn of(scanner: &'a ScannerReport) -> Self {
        Self {
            scanner_name: scanner.id.as_str(),
            counts: scanner.counts,
            total: scanner.counts.total(),
            passed: scanner.status.name() == "PASSED",
            threshold: scanner.threshold.name(),
            threshold_source: if scanner.threshold_is_own { "config" } else { "global" },
            actionable: scanner.actionable,
            status: scanner.status.name(),
            reason: scanner.status.reason(),
            duration: scanner.duration.map(|duration| duration.as_secs_f64()),
            excluded: scanner.excluded,
            dependencies_missing: !scanner.dependencies_satisfied,
            targets_attempted: scanner.targets,
            targets_failed: scanner.unevaluated.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::sample;

    #[test]
    fn the_flat_findings_of_the_sample() {
        let mut bytes = Vec::new();
        FlatJson.render(&sample::hostile(), &mut bytes).unwrap();
        insta::assert_json_snapshot!(serde_json::from_slice::<Value>(&bytes).unwrap());
    }
}
