//! `ash.junit.xml`: a test suite for each scanner, a test case for each finding.

use std::{
    collections::HashMap,
    io::{self, BufWriter, Write},
};

use ash_model::{
    finding::Finding,
    ids::ScannerId,
    report::{ScanReport, ScannerReport},
    status::Status,
};

use crate::{Reporter, harmless::Xml};

/// JUnit XML, for the test views of CI systems.
#[derive(Debug)]
pub(crate) struct JUnit;

impl Reporter for JUnit {
    fn id(&self) -> &'static str {
        "junitxml"
    }

    fn file_name(&self) -> &'static str {
        "reports/ash.junit.xml"
    }

    fn render(&self, report: &ScanReport, out: &mut dyn Write) -> io::Result<()> {
        let mut out = BufWriter::with_capacity(1 << 16, out);
        let mut findings: HashMap<&ScannerId, Vec<&Finding>> = HashMap::new();
        for finding in &report.findings {
            findings.entry(&finding.scanner).or_default().push(finding);
        }
        writeln!(out, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
        writeln!(out, r#"<testsuites name="ASH Scan Report">"#)?;
        for scanner in &report.scanners {
            suite(
                &mut out,
                scanner,
                findings.get(&scanner.id).map(Vec::as_slice).unwrap_or_default(),
            )?;
        }
        writeln!(out, "</testsuites>")?;
        out.flush()
    }
}

/// What a finding is as a test.
#[derive(PartialEq)]
enum Outcome {
    Fails,
    Suppressed,
    BelowThreshold,
}

fn outcome(scanner: &ScannerReport, finding: &Finding) -> Outcome {
    match finding.is_suppressed() {
        true => Outcome::Suppressed,
        false if scanner.threshold.is_actionable(finding.severity) => Outcome::Fails,
        false => Outcome::BelowThreshold,
    }
}

fn suite(out: &mut impl Write, scanner: &ScannerReport, findings: &[&Finding]) -> io::Result<()> {
    let failing =
        findings.iter().filter(|finding| outcome(scanner, finding) == Outcome::Fails).count();
    let (did_not_run, was_skipped) = (
        usize::from(scanner.status.is_incomplete()),
        usize::from(matches!(scanner.status, Status::Skipped(_))),
    );
    let unevaluated = scanner.unevaluated.len();
    let tests = findings.len() + did_not_run + was_skipped + unevaluated;
    let errors = failing + did_not_run + unevaluated;
    let skipped = findings.len() - failing + was_skipped;
    let time = scanner.duration.unwrap_or_default().as_secs_f64();
    writeln!(
        out,
        r#"<testsuite name="{}" tests="{tests}" errors="{errors}" failures="0" skipped="{skipped}" time="{time:.3}">"#,
        scanner.id
    )?;
    if let Some(reason) = scanner.status.reason() {
        own_case(out, scanner, scanner.status.name(), reason, was_skipped == 1)?;
    }
    for target in &scanner.unevaluated {
        own_case(out, scanner, "not evaluated", target, false)?;
    }
    for finding in findings {
        case(out, scanner, finding)?;
    }
    writeln!(out, "</testsuite>")
}

/// A case for what a scanner did not do: a suite without one would look as if nothing was found.
fn own_case(
    out: &mut impl Write,
    scanner: &ScannerReport,
    what: &str,
    text: &str,
    skipped: bool,
) -> io::Result<()> {
    let element = if skipped { "skipped" } else { "error" };
    writeln!(
        out,
        r#"<testcase name="{id} {what}" classname="ash.{id}"><{element} message="{}" type="{}"/></testcase>"#,
        Xml(text),
        scanner.status.name().to_ascii_lowercase(),
        id = scanner.id,
    )
}

fn case(out: &mut impl Write, scanner: &ScannerReport, finding: &Finding) -> io::Result<()> {
    write!(
        out,
        r#"<testcase name="{} [{}]" classname="{}""#,
        Xml(&finding.message),
        Xml(&finding.rule_id),
        Xml(&finding.rule_id)
    )?;
    if let Some(location) = &finding.location {
        write!(out, r#" file="{}""#, Xml(&location.path.printable()))?;
        if let Some(region) = &location.region {
            write!(out, r#" line="{}""#, region.start_line)?;
        }
    }
    out.write_all(b">")?;
    match outcome(scanner, finding) {
        Outcome::Fails => write!(
            out,
            r#"<error message="{}" type="{}"/>"#,
            Xml(&finding.message),
            finding.level.name()
        )?,
        Outcome::Suppressed => {
            let reason = finding
                .suppressions
                .iter()
                .find(|suppression| suppression.counts)
                .and_then(|suppression| suppression.justification.as_deref());
            write!(
                out,
                r#"<skipped message="{}" type="suppression"/>"#,
                Xml(reason.unwrap_or("suppressed"))
            )?;
        }
        Outcome::BelowThreshold => {
            let (severity, threshold) = (finding.severity.name(), scanner.threshold.name());
            write!(
                out,
                r#"<skipped message="{severity} is below the threshold {threshold}" type="threshold"/>"#
            )?;
        }
    }
    writeln!(out, "<system-out>severity: {}</system-out></testcase>", finding.severity.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn the_suites_of_the_sample() {
        let mut bytes = Vec::new();
        JUnit.render(&sample::hostile(), &mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(text.matches("<testcase ").count(), text.matches("</testcase>").count());
        insta::assert_snapshot!(text);
    }
}
