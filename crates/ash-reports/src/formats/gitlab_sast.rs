//! `ash.gl-sast-report.json`: GitLab's SAST report, schema 15.2.2.

use std::io;

use ash_model::{finding::Finding, report::ScanReport};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::{
    Reporter, flat,
    harmless::{CodeBlock, line},
    json::{self, List},
    summary::Summary,
};

/// The longest name and identifier the schema takes.
const MAX_NAME: usize = 255;

/// GitLab's SAST report.
#[derive(Debug)]
pub(crate) struct GitlabSast;

impl Reporter for GitlabSast {
    fn id(&self) -> &'static str {
        "gitlab-sast"
    }

    fn file_name(&self) -> &'static str {
        "reports/ash.gl-sast-report.json"
    }

    fn render(&self, report: &ScanReport, out: &mut dyn io::Write) -> io::Result<()> {
        json::write(
            out,
            &Document {
                version: "15.2.2",
                scan: scan(report),
                vulnerabilities: List(|| report.findings.iter().map(Vulnerability)),
            },
        )
    }
}

#[derive(Serialize)]
struct Document<V: Serialize> {
    version: &'static str,
    scan: Value,
    vulnerabilities: V,
}

fn scan(report: &ScanReport) -> Value {
    let summary = Summary::of(report, None);
    let failed = summary.actionable > 0 || !summary.incomplete.is_empty();
    let tool = |id: &str| json!({"id": id, "name": "Automated Security Helper", "version": report.scan.ash_version, "vendor": {"name": "ASH"}, "url": "https://github.com/awslabs/automated-security-helper"});
    // The schema wants times without a zone.
    let time = |time: &str| time.trim_end_matches('Z').to_owned();
    let messages: Vec<Value> = summary
        .incomplete
        .iter()
        .map(|who| json!({"level": "fatal", "value": format!("scan incomplete: {who}")}))
        .collect();
    json!({
        "analyzer": tool("ash"),
        "scanner": tool("automated-security-helper"),
        "type": "sast",
        "start_time": time(&report.scan.started),
        "end_time": time(&report.scan.finished),
        "status": if failed { "failure" } else { "success" },
        "messages": messages,
    })
}

struct Vulnerability<'a>(&'a Finding);

impl Serialize for Vulnerability<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        vulnerability(self.0).serialize(serializer)
    }
}

fn vulnerability(finding: &Finding) -> Value {
    let (id, scanner, rule) = (flat::id(finding), finding.scanner.as_str(), cut(&finding.rule_id));
    let mut vulnerability = json!({
        "id": id,
        "name": rule,
        // GitLab renders it as Markdown.
        "description": CodeBlock(&finding.message).to_string(),
        "severity": severity(finding),
        "location": location(finding),
        "identifiers": [
            {"type": format!("{scanner}-rule"), "name": cut(&format!("{scanner} Rule {}", finding.rule_id)), "value": rule},
            {"type": "scanner", "name": format!("{scanner} Scanner"), "value": scanner},
            {"type": "ash-finding-id", "name": "ASH Finding ID", "value": cut(&id)},
        ],
        "details": {
            "scanner": {"name": "Scanner", "type": "text", "value": scanner},
            "severity": {"name": "Severity", "type": "text", "value": finding.severity.name()},
        },
    });
    if let Some(snippet) =
        finding.location.as_ref().and_then(|location| location.snippet.as_deref())
    {
        vulnerability["raw_source_code_extract"] = json!(snippet);
    }
    if let Some(suppression) = finding.suppressions.iter().find(|suppression| suppression.counts) {
        vulnerability["solution"] = json!(format!(
            "Suppressed: {}",
            line(suppression.justification.as_deref().unwrap_or("no reason given"))
        ));
    }
    vulnerability
}

/// A suppressed finding must not open anything.
fn severity(finding: &Finding) -> &'static str {
    match finding.severity.name() {
        _ if finding.is_suppressed() => "Info",
        "CRITICAL" => "Critical",
        "HIGH" => "High",
        "MEDIUM" => "Medium",
        "LOW" => "Low",
        _ => "Info",
    }
}

fn location(finding: &Finding) -> Value {
    let Some(location) = &finding.location else { return json!({}) };
    let mut value = json!({"file": location.path.as_path().to_string_lossy()});
    if let Some(region) = location.region {
        value["start_line"] = json!(region.start_line);
        value["end_line"] = json!(region.end_line.unwrap_or(region.start_line));
    }
    value
}

fn cut(text: &str) -> String {
    line(text).chars().take(MAX_NAME).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn rendered(report: &ScanReport) -> Value {
        let mut bytes = Vec::new();
        GitlabSast.render(report, &mut bytes).unwrap();
        serde_json::from_slice(&bytes).unwrap()
    }

    #[test]
    fn an_incomplete_scan_is_a_failure_with_its_reason() {
        let mut report = sample::hostile();
        report.findings.clear();
        report.scanners.iter_mut().for_each(|scanner| scanner.actionable = 0);
        let scan = rendered(&report)["scan"].clone();
        assert_eq!(
            (&scan["status"], &scan["messages"][0]["value"]),
            (&json!("failure"), &json!("scan incomplete: cfn-nag (MISSING)"))
        );
        report.scanners.retain(|scanner| scanner.id.as_str() == "bandit");
        assert_eq!(rendered(&report)["scan"]["status"], "success");
    }

    #[test]
    fn a_suppressed_finding_is_information() {
        let suppressed = &rendered(&sample::hostile())["vulnerabilities"][2];
        assert_eq!(suppressed["severity"], "Info");
        assert!(suppressed["solution"].as_str().unwrap().starts_with("Suppressed: (ASH)"));
    }

    #[test]
    fn names_fit_the_schema() {
        let mut report = sample::hostile();
        report.findings[0].rule_id = "é".repeat(1000);
        let name =
            rendered(&report)["vulnerabilities"][0]["name"].as_str().unwrap().chars().count();
        assert_eq!(name, MAX_NAME);
    }

    #[test]
    fn the_gitlab_report_of_the_sample() {
        insta::assert_json_snapshot!(rendered(&sample::hostile()));
    }
}
