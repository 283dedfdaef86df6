//! A finding as one flat row, under the field names the Python edition uses.

use std::{borrow::Cow, collections::HashMap};

use ash_model::{
    finding::{Finding, Rule},
    ids::ScannerId,
    report::ScanReport,
};
use serde::Serialize;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// The names of the columns, in order.
pub(crate) const COLUMNS: [&str; 22] = [
    "id",
    "title",
    "description",
    "severity",
    "scanner",
    "scanner_type",
    "rule_id",
    "file_path",
    "line_start",
    "line_end",
    "cve_id",
    "cwe_id",
    "fix_available",
    "is_suppressed",
    "suppression_kind",
    "suppression_justification",
    "detected_at",
    "code_snippet",
    "tags",
    "properties",
    "references",
    "raw_data",
];

/// One row. `tags`, `properties`, `references` and `raw_data` are JSON texts. Absent values are left out, as in the Python edition.
#[derive(Debug, Serialize)]
pub(crate) struct Flat<'a> {
    /// Stable over scans as long as rule, message, file and place stay.
    pub(crate) id: String,
    pub(crate) title: &'a str,
    pub(crate) description: &'a str,
    pub(crate) severity: &'static str,
    pub(crate) scanner: &'a str,
    pub(crate) rule_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file_path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line_start: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line_end: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cve_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cwe_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fix_available: Option<bool>,
    pub(crate) is_suppressed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) suppression_kind: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) suppression_justification: Option<&'a str>,
    pub(crate) detected_at: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) code_snippet: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tags: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) properties: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) references: Option<String>,
    pub(crate) raw_data: String,
}

/// The rules of all scanners, by scanner and id.
pub(crate) struct RuleIndex<'a>(HashMap<(&'a ScannerId, &'a str), &'a Rule>);

impl<'a> RuleIndex<'a> {
    pub(crate) fn of(report: &'a ScanReport) -> Self {
        Self(
            report
                .scanners
                .iter()
                .flat_map(|scanner| {
                    scanner.rules.iter().map(|rule| ((&scanner.id, rule.id.as_str()), rule))
                })
                .collect(),
        )
    }

    pub(crate) fn get(&self, finding: &Finding) -> Option<&'a Rule> {
        self.0.get(&(&finding.scanner, finding.rule_id.as_str())).copied()
    }
}

/// All findings as rows, in the report's order.
pub(crate) fn rows<'a>(
    report: &'a ScanReport,
    rules: &'a RuleIndex<'a>,
) -> impl Iterator<Item = Flat<'a>> + 'a {
    report.findings.iter().map(|finding| row(finding, rules.get(finding), &report.scan.finished))
}

fn row<'a>(finding: &'a Finding, rule: Option<&'a Rule>, detected_at: &'a str) -> Flat<'a> {
    let location = finding.location.as_ref();
    let region = location.and_then(|location| location.region);
    let suppression = finding.suppressions.iter().find(|suppression| suppression.counts);
    Flat {
        id: id(finding),
        title: &finding.rule_id,
        description: &finding.message,
        severity: finding.severity.name(),
        scanner: finding.scanner.as_str(),
        rule_id: &finding.rule_id,
        file_path: location.map(|location| location.path.as_path().to_string_lossy().into_owned()),
        line_start: region.map(|region| region.start_line),
        line_end: region.map(|region| region.end_line.unwrap_or(region.start_line)),
        cve_id: cve(finding),
        cwe_id: cwe(finding, rule),
        fix_available: finding
            .extra
            .get("fixes")
            .and_then(Value::as_array)
            .map(|fixes| !fixes.is_empty()),
        is_suppressed: suppression.is_some(),
        suppression_kind: suppression.map(|suppression| suppression.kind.as_str()),
        suppression_justification: suppression
            .and_then(|suppression| suppression.justification.as_deref()),
        detected_at,
        code_snippet: location.and_then(|location| location.snippet.as_deref()),
        tags: finding.properties.get("tags").map(Value::to_string),
        properties: (!finding.properties.is_empty()).then(|| text(&finding.properties)),
        references: rule.and_then(|rule| rule.descriptor.get("helpUri")).map(|uri| text(&[uri])),
        raw_data: text(&ash_sarif::Written { finding, rule: None, properties: &[] }),
    }
}

/// `<scanner>-<rule>-<eight hex digits>`. The digits cover the place as well: the same message in two files is two findings.
pub(crate) fn id(finding: &Finding) -> String {
    let mut digest = Sha256::new();
    let mut part = |bytes: &[u8]| {
        // Lengths keep two neighbouring parts from being taken for two others.
        digest.update((bytes.len() as u64).to_le_bytes());
        digest.update(bytes);
    };
    part(finding.message.as_bytes());
    if let Some(location) = &finding.location {
        part(location.path.as_path().as_os_str().as_encoded_bytes());
        if let Some(region) = location.region {
            part(&region.start_line.to_le_bytes());
            part(&region.start_column.unwrap_or_default().to_le_bytes());
        }
    }
    let [a, b, c, d, ..]: [u8; 32] = digest.finalize().into();
    format!("{}-{}-{a:02x}{b:02x}{c:02x}{d:02x}", finding.scanner, finding.rule_id)
}

fn text(value: &(impl Serialize + ?Sized)) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// A CVE number in the rule's id.
pub(crate) fn cve(finding: &Finding) -> Option<String> {
    numbered(&finding.rule_id, "CVE-").filter(|cve| cve.len() >= "CVE-2000-0001".len())
}

/// The first CWE number in the tags of the finding or its rule.
fn cwe(finding: &Finding, rule: Option<&Rule>) -> Option<String> {
    let of_rule =
        rule.and_then(|rule| rule.descriptor.get("properties")).and_then(Value::as_object);
    [Some(&finding.properties), of_rule]
        .into_iter()
        .flatten()
        .flat_map(texts)
        .find_map(|tag| numbered(&tag, "CWE-"))
        .map(|cwe| cwe.replace("CWE-0", "CWE-"))
}

/// The texts of a property bag that may name a weakness.
fn texts(properties: &Map<String, Value>) -> impl Iterator<Item = Cow<'_, str>> {
    let lists =
        ["tags", "cwe", "issue_cwe", "cwe_id"].into_iter().filter_map(|name| properties.get(name));
    lists
        .flat_map(|value| match value {
            Value::Array(items) => items.as_slice(),
            other => std::slice::from_ref(other),
        })
        .filter_map(|value| value.as_str().map(Cow::Borrowed))
}

/// The first `PREFIX-` followed by digits and dashes, in upper case.
fn numbered(text: &str, prefix: &str) -> Option<String> {
    let upper = text.to_ascii_uppercase();
    let rest = &upper[upper.find(prefix)? + prefix.len()..];
    let number =
        &rest[..rest.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(rest.len())];
    let number = number.trim_end_matches('-');
    (!number.is_empty()).then(|| format!("{prefix}{number}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn the_same_message_in_another_place_is_another_finding() {
        let mut finding = sample::hostile().findings.remove(0);
        let first = id(&finding);
        assert_eq!(first, id(&finding.clone()));
        finding.location.as_mut().unwrap().region.as_mut().unwrap().start_line += 1;
        assert_ne!(first, id(&finding));
        finding.location = None;
        assert_ne!(first, id(&finding));
    }

    #[test]
    fn numbers_of_weaknesses_and_vulnerabilities_are_found() {
        for (text, prefix, expected) in [
            ("external/cwe/cwe-078", "CWE-", Some("CWE-078")),
            ("CWE-79: Improper Neutralization", "CWE-", Some("CWE-79")),
            ("CVE-2021-44228-log4j", "CVE-", Some("CVE-2021-44228")),
            ("CWE-", "CWE-", None),
            ("none", "CWE-", None),
        ] {
            assert_eq!(numbered(text, prefix).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn every_column_of_a_full_row_is_a_known_one() {
        let report = sample::hostile();
        let index = RuleIndex::of(&report);
        let row = serde_json::to_value(rows(&report, &index).next().unwrap()).unwrap();
        assert!(
            row.as_object().unwrap().keys().all(|key| COLUMNS.contains(&key.as_str())),
            "{row}"
        );
    }
}
