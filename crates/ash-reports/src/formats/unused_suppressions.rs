//! `ash.unused-suppressions.json` and `.md`: which suppressions of the configuration covered nothing. `ash config lint --fix-unused` reads
//! the JSON, so it calls a suppression unused only when the whole scan says so.

use std::io::{self, BufWriter, Write};

use ash_model::{
    report::ScanReport,
    suppression::{Fate, SuppressionRecord},
};
use serde::Serialize;

use crate::{Reporter, harmless::Code, json};

/// For programs.
#[derive(Debug)]
pub(crate) struct UnusedSuppressions;

/// For people.
#[derive(Debug)]
pub(crate) struct UnusedSuppressionsMarkdown;

impl Reporter for UnusedSuppressions {
    fn id(&self) -> &'static str {
        "unused-suppressions"
    }

    fn file_name(&self) -> &'static str {
        "reports/ash.unused-suppressions.json"
    }

    fn render(&self, report: &ScanReport, out: &mut dyn Write) -> io::Result<()> {
        json::write(out, &Document::of(report))
    }
}

#[derive(Serialize)]
struct Document<'a> {
    generated_at: &'a str,
    summary: Totals,
    unused_suppressions: Vec<&'a SuppressionRecord>,
    expired_suppressions: Vec<&'a SuppressionRecord>,
    not_judged: Vec<NotJudged<'a>>,
    used_suppressions: Vec<&'a SuppressionRecord>,
}

#[derive(Serialize)]
struct Totals {
    total_suppressions: usize,
    used_suppressions: usize,
    unused_suppressions: usize,
    expired_suppressions: usize,
    not_judged: usize,
}

#[derive(Serialize)]
struct NotJudged<'a> {
    #[serde(flatten)]
    record: &'a SuppressionRecord,
    why: &'a str,
}

impl<'a> Document<'a> {
    fn of(report: &'a ScanReport) -> Self {
        let with = |fate: &Fate| -> Vec<&'a SuppressionRecord> {
            report.suppressions.iter().filter(|record| record.fate == *fate).collect()
        };
        let not_judged: Vec<_> = report
            .suppressions
            .iter()
            .filter_map(|record| match &record.fate {
                Fate::NotJudged(why) => Some(NotJudged { record, why }),
                _ => None,
            })
            .collect();
        let (unused, expired, used) =
            (with(&Fate::Unused), with(&Fate::Expired), with(&Fate::Used));
        Self {
            generated_at: &report.scan.finished,
            summary: Totals {
                total_suppressions: report.suppressions.len(),
                used_suppressions: used.len(),
                unused_suppressions: unused.len(),
                expired_suppressions: expired.len(),
                not_judged: not_judged.len(),
            },
            unused_suppressions: unused,
            expired_suppressions: expired,
            not_judged,
            used_suppressions: used,
        }
    }
}

impl Reporter for UnusedSuppressionsMarkdown {
    fn id(&self) -> &'static str {
        "unused-suppressions-markdown"
    }

    fn file_name(&self) -> &'static str {
        "reports/ash.unused-suppressions.md"
    }

    fn render(&self, report: &ScanReport, out: &mut dyn Write) -> io::Result<()> {
        let mut out = BufWriter::new(out);
        let document = Document::of(report);
        let totals = &document.summary;
        writeln!(out, "# Unused suppressions\n")?;
        writeln!(
            out,
            "{} in the configuration: {} used, {} unused, {} expired, {} not judged.\n",
            counted(totals.total_suppressions),
            totals.used_suppressions,
            totals.unused_suppressions,
            totals.expired_suppressions,
            totals.not_judged
        )?;
        if !document.unused_suppressions.is_empty() {
            writeln!(
                out,
                "## Unused\n\nThese cover nothing that was found. `ash config lint --fix-unused` comments them out.\n"
            )?;
            table(
                &mut out,
                "Expires",
                document
                    .unused_suppressions
                    .iter()
                    .map(|record| (*record, record.expiration.as_deref().unwrap_or("never"))),
            )?;
        }
        if !document.expired_suppressions.is_empty() {
            writeln!(
                out,
                "## Expired\n\nThese cover nothing any more. `ash config lint --fix` removes them.\n"
            )?;
            table(
                &mut out,
                "Expired",
                document
                    .expired_suppressions
                    .iter()
                    .map(|record| (*record, record.expiration.as_deref().unwrap_or("-"))),
            )?;
        }
        if !document.not_judged.is_empty() {
            writeln!(
                out,
                "## Not judged\n\nThese cover nothing in this scan, which may be because of what is said beside them.\n"
            )?;
            table(
                &mut out,
                "Because",
                document.not_judged.iter().map(|entry| (entry.record, entry.why)),
            )?;
        }
        out.flush()
    }
}

fn counted(suppressions: usize) -> String {
    if suppressions == 1 {
        "1 suppression".to_owned()
    } else {
        format!("{suppressions} suppressions")
    }
}

fn table<'a>(
    out: &mut impl Write,
    last: &str,
    rows: impl Iterator<Item = (&'a SuppressionRecord, &'a str)>,
) -> io::Result<()> {
    writeln!(
        out,
        "| Path | Rule | Lines | Also | Reason | {last} |\n| --- | --- | --- | --- | --- | --- |"
    )?;
    for (record, said) in rows {
        writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} |",
            Code(&record.path),
            Code(record.rule_id.as_deref().unwrap_or("any")),
            lines(record),
            Code(&narrower(record)),
            Code(&record.reason),
            Code(said)
        )?;
    }
    writeln!(out)
}

fn lines(record: &SuppressionRecord) -> String {
    match (record.line_start, record.line_end) {
        (None, None) => "all".to_owned(),
        (Some(start), None) => format!("from {start}"),
        (None, Some(end)) => format!("to {end}"),
        (Some(start), Some(end)) if start == end => start.to_string(),
        (Some(start), Some(end)) => format!("{start} to {end}"),
    }
}

/// What else a suppression asks for.
fn narrower(record: &SuppressionRecord) -> String {
    let parts = [
        ("symbol", &record.symbol),
        ("package", &record.package_name),
        ("version", &record.package_version),
        ("package path", &record.package_path),
    ];
    let said = parts.iter().filter_map(|(name, value)| Some(format!("{name} {}", value.as_ref()?)));
    said.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn rendered(reporter: &dyn Reporter, report: &ScanReport) -> String {
        let mut bytes = Vec::new();
        reporter.render(report, &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn the_unused_suppressions_of_the_sample_for_people() {
        insta::assert_snapshot!(rendered(&UnusedSuppressionsMarkdown, &sample::hostile()));
    }

    #[test]
    fn the_unused_suppressions_of_the_sample_for_programs() {
        let text = rendered(&UnusedSuppressions, &sample::hostile());
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        insta::assert_json_snapshot!(value);
    }

    #[test]
    fn a_configuration_without_suppressions_has_a_report_that_says_so() {
        let report = ScanReport { suppressions: vec![], ..sample::hostile() };
        assert_eq!(
            rendered(&UnusedSuppressionsMarkdown, &report),
            "# Unused suppressions\n\n0 suppressions in the configuration: 0 used, 0 unused, 0 expired, 0 not judged.\n\n"
        );
    }
}
