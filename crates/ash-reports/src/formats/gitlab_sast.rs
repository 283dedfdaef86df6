//! `ash.gl-sast-report.json`: GitLab's SAST report, schema 15.2.2.

use std::{borrow::Cow, io};

use ash_model::{
    finding::{Finding, Location},
    report::ScanReport,
};
use serde::Serialize;
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
                vulnerabilities: List(|| report.findings.iter().map(vulnerability)),
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

#[derive(Serialize)]
struct Vulnerability<'a> {
    id: String,
    name: String,
    /// GitLab renders it as Markdown.
    description: String,
    severity: &'static str,
    location: Place<'a>,
    identifiers: [Identifier<'a>; 3],
    details: Details<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw_source_code_extract: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    solution: Option<String>,
}

#[derive(Serialize)]
struct Identifier<'a> {
    r#type: Cow<'a, str>,
    name: Cow<'a, str>,
    value: Cow<'a, str>,
}

#[derive(Serialize)]
struct Details<'a> {
    scanner: Detail<'a>,
    severity: Detail<'a>,
}

#[derive(Serialize)]
struct Detail<'a> {
    name: &'static str,
    r#type: &'static str,
    value: &'a str,
}

#[derive(Serialize, Default)]
struct Place<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_line: Option<u64>,
}

fn vulnerability(finding: &Finding) -> Vulnerability<'_> {
    let (id, scanner, rule) = (flat::id(finding), finding.scanner.as_str(), cut(&finding.rule_id));
    let identifiers = [
        Identifier {
            r#type: format!("{scanner}-rule").into(),
            name: cut(&format!("{scanner} Rule {}", finding.rule_id)).into(),
            value: rule.clone().into(),
        },
        Identifier {
            r#type: "scanner".into(),
            name: format!("{scanner} Scanner").into(),
            value: scanner.into(),
        },
        Identifier {
            r#type: "ash-finding-id".into(),
            name: "ASH Finding ID".into(),
            value: cut(&id).into(),
        },
    ];
    let suppression = finding.suppressions.iter().find(|suppression| suppression.counts);
    Vulnerability {
        id,
        name: rule,
        description: CodeBlock(&finding.message).to_string(),
        severity: severity(finding),
        location: finding.location.as_ref().map(place).unwrap_or_default(),
        identifiers,
        details: Details {
            scanner: Detail { name: "Scanner", r#type: "text", value: scanner },
            severity: Detail { name: "Severity", r#type: "text", value: finding.severity.name() },
        },
        raw_source_code_extract: finding
            .location
            .as_ref()
            .and_then(|location| location.snippet.as_deref()),
        solution: suppression.map(|suppression| {
            format!(
                "Suppressed: {}",
                line(suppression.justification.as_deref().unwrap_or("no reason given"))
            )
        }),
    }
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

fn place(location: &Location) -> Place<'_> {
    Place {
        file: Some(location.path.as_path().to_string_lossy()),
        start_line: location.region.map(|region| region.start_line),
        end_line: location.region.map(|region| region.end_line.unwrap_or(region.start_line)),
    }
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
