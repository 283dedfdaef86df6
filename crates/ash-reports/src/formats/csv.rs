//! `ash.csv`: the findings as flat rows (RFC 4180, with CRLF), safe to open in a spreadsheet.

use std::io::{self, BufWriter, Write};

use ash_model::report::ScanReport;

use crate::{
    Reporter,
    flat::{self, COLUMNS, Flat, RuleIndex},
    harmless,
};

/// The findings as a table.
#[derive(Debug)]
pub(crate) struct Csv;

impl Reporter for Csv {
    fn id(&self) -> &'static str {
        "csv"
    }

    fn file_name(&self) -> &'static str {
        "reports/ash.csv"
    }

    fn render(&self, report: &ScanReport, out: &mut dyn Write) -> io::Result<()> {
        let mut out = BufWriter::with_capacity(1 << 16, out);
        write!(out, "{}\r\n", COLUMNS.join(","))?;
        let rules = RuleIndex::of(report);
        for row in flat::rows(report, &rules) {
            write_row(&mut out, &row)?;
        }
        out.flush()
    }
}

fn write_row(out: &mut impl Write, row: &Flat<'_>) -> io::Result<()> {
    let number = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
    let (line_start, line_end) = (number(row.line_start), number(row.line_end));
    let yes_or_no = |value: bool| if value { "True" } else { "False" };
    let text = |text: &'_ Option<String>| text.clone().unwrap_or_default();
    let (file_path, cve, cwe) = (text(&row.file_path), text(&row.cve_id), text(&row.cwe_id));
    let fields: [&str; COLUMNS.len()] = [
        &row.id,
        row.title,
        row.description,
        row.severity,
        row.scanner,
        "",
        row.rule_id,
        &file_path,
        &line_start,
        &line_end,
        &cve,
        &cwe,
        row.fix_available.map(yes_or_no).unwrap_or_default(),
        yes_or_no(row.is_suppressed),
        row.suppression_kind.unwrap_or_default(),
        row.suppression_justification.unwrap_or_default(),
        row.detected_at,
        row.code_snippet.unwrap_or_default(),
        row.tags.as_deref().unwrap_or_default(),
        row.properties.as_deref().unwrap_or_default(),
        row.references.as_deref().unwrap_or_default(),
        &row.raw_data,
    ];
    for (index, field) in fields.into_iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        if field.is_empty() {
            out.write_all(comma.as_bytes())?
        } else {
            write!(out, "{comma}{}", harmless::Csv(field))?
        }
    }
    out.write_all(b"\r\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn rendered(report: &ScanReport) -> String {
        let mut bytes = Vec::new();
        Csv.render(report, &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn the_header_is_the_same_without_findings() {
        let mut report = sample::hostile();
        report.findings.clear();
        assert_eq!(rendered(&report), COLUMNS.join(",") + "\r\n");
    }

    #[test]
    fn no_field_is_a_formula() {
        let text = rendered(&sample::hostile());
        assert!(
            text.contains("\"'=HYPERLINK(\"\"http://x\"\")\"")
                && text.contains("\"'=1+1\nsecond line\""),
            "{text}"
        );
        insta::assert_snapshot!(text);
    }
}
