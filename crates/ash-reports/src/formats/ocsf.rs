//! `ash.ocsf.json`: a list of OCSF 1.1.0 vulnerability findings (class 2002).

use std::{borrow::Cow, ffi::OsStr, io};

use ash_model::{
    finding::{Finding, Location},
    report::ScanReport,
    severity::Severity,
};
use serde::Serialize;

use crate::{
    Reporter, flat,
    json::{self, List},
};

/// The longest title.
const MAX_TITLE: usize = 120;

/// OCSF findings.
#[derive(Debug)]
pub(crate) struct Ocsf;

impl Reporter for Ocsf {
    fn id(&self) -> &'static str {
        "ocsf"
    }

    fn file_name(&self) -> &'static str {
        "reports/ash.ocsf.json"
    }

    fn render(&self, report: &ScanReport, out: &mut dyn io::Write) -> io::Result<()> {
        let time = milliseconds(&report.scan.finished);
        json::write(
            out,
            &List(|| {
                report.findings.iter().map(|finding| event(finding, &report.scan.ash_version, time))
            }),
        )
    }
}

#[derive(Serialize)]
struct Event<'a> {
    activity_id: u8,
    activity_name: &'static str,
    category_name: &'static str,
    category_uid: u8,
    class_uid: u16,
    type_uid: u32,
    finding_info: FindingInfo<'a>,
    metadata: Metadata<'a>,
    severity_id: u8,
    status: &'static str,
    status_id: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    status_detail: Option<&'a str>,
    time: Option<i64>,
    vulnerabilities: [Vulnerability<'a>; 1],
}

#[derive(Serialize)]
struct FindingInfo<'a> {
    title: String,
    desc: &'a str,
    uid: String,
}

#[derive(Serialize)]
struct Metadata<'a> {
    version: &'static str,
    logged_time: Option<i64>,
    product: Product<'a>,
}

#[derive(Serialize)]
struct Product<'a> {
    name: &'static str,
    vendor_name: &'static str,
    version: &'a str,
}

#[derive(Serialize)]
struct Vulnerability<'a> {
    title: &'a str,
    desc: &'a str,
    severity: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    affected_code: Option<[AffectedCode<'a>; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cve: Option<Cve>,
}

#[derive(Serialize)]
struct Cve {
    uid: String,
}

#[derive(Serialize)]
struct AffectedCode<'a> {
    file: File<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_line: Option<u64>,
}

#[derive(Serialize)]
struct File<'a> {
    name: Cow<'a, str>,
    path: Cow<'a, str>,
    type_id: u8,
}

fn event<'a>(finding: &'a Finding, version: &'a str, time: Option<i64>) -> Event<'a> {
    let suppression = finding.suppressions.iter().find(|suppression| suppression.counts);
    Event {
        activity_id: 1,
        activity_name: "Scan",
        category_name: "Findings",
        category_uid: 2,
        class_uid: 2002,
        type_uid: 200_201,
        finding_info: FindingInfo {
            title: title(finding),
            desc: &finding.message,
            uid: flat::id(finding),
        },
        metadata: Metadata {
            version: "1.1.0",
            logged_time: time,
            product: Product {
                name: "Automated Security Helper",
                vendor_name: "Amazon Web Services",
                version,
            },
        },
        severity_id: severity_id(finding.severity),
        status: if suppression.is_some() { "Suppressed" } else { "New" },
        status_id: if suppression.is_some() { 3 } else { 1 },
        status_detail: suppression.and_then(|suppression| suppression.justification.as_deref()),
        time,
        vulnerabilities: [Vulnerability {
            title: &finding.rule_id,
            desc: &finding.message,
            severity: finding.severity.name(),
            affected_code: finding.location.as_ref().map(|location| [affected_code(location)]),
            cve: flat::cve(finding).map(|uid| Cve { uid }),
        }],
    }
}

fn title(finding: &Finding) -> String {
    let file = finding
        .location
        .as_ref()
        .map(|location| format!(" in {}", location.path))
        .unwrap_or_default();
    let title = format!("{}{file} - {}", finding.rule_id, finding.message);
    if title.chars().count() <= MAX_TITLE {
        title
    } else {
        title.chars().take(MAX_TITLE - 1).chain(['…']).collect()
    }
}

fn affected_code(location: &Location) -> AffectedCode<'_> {
    let path = location.path.as_path();
    let name = path.file_name().unwrap_or(OsStr::new("")).to_string_lossy();
    AffectedCode {
        file: File { name, path: path.to_string_lossy(), type_id: 1 },
        start_line: location.region.map(|region| region.start_line),
        end_line: location.region.map(|region| region.end_line.unwrap_or(region.start_line)),
    }
}

/// OCSF's ladder has the same steps as ours.
const fn severity_id(severity: Severity) -> u8 {
    match severity {
        Severity::Info => 1,
        Severity::Low => 2,
        Severity::Medium => 3,
        Severity::High => 4,
        Severity::Critical => 5,
    }
}

/// Milliseconds since 1970 of an RFC 3339 time in UTC with second precision.
fn milliseconds(time: &str) -> Option<i64> {
    let number = |from: usize, to: usize| time.get(from..to)?.parse::<i64>().ok();
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    // Years begin in March, so that the leap day is their last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days =
        365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - 719_468;
    Some((days * 86_400 + number(11, 13)? * 3600 + number(14, 16)? * 60 + number(17, 19)?) * 1000)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::sample;

    #[test]
    fn times_are_milliseconds_since_1970() {
        for (time, expected) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2000-02-29T12:00:00Z", Some(951_825_600_000)),
            ("2026-11-29T20:37:17Z", Some(1_795_984_637_000)),
            ("soon", None),
        ] {
            assert_eq!(milliseconds(time), expected, "{time}");
        }
    }

    #[test]
    fn the_events_of_the_sample() {
        let mut bytes = Vec::new();
        Ocsf.render(&sample::hostile(), &mut bytes).unwrap();
        insta::assert_json_snapshot!(serde_json::from_slice::<Value>(&bytes).unwrap());
    }

    #[test]
    fn no_finding_is_an_empty_list() {
        let mut report = sample::hostile();
        report.findings.clear();
        let mut bytes = Vec::new();
        Ocsf.render(&report, &mut bytes).unwrap();
        assert_eq!(bytes, b"[]\n");
    }
}
