//! `ash.summary.txt`: the summary as plain text.

use std::io::{self, BufWriter, Write};

use ash_model::report::ScanReport;

use crate::{Reporter, harmless, summary::Summary};

/// The columns of the file: wide enough for the long headings.
const WIDTH: usize = 120;

/// The summary as plain text.
#[derive(Debug)]
pub(crate) struct Text;

impl Reporter for Text {
    fn id(&self) -> &'static str {
        "text"
    }

    fn file_name(&self) -> &'static str {
        "reports/ash.summary.txt"
    }

    fn render(&self, report: &ScanReport, out: &mut dyn Write) -> io::Result<()> {
        let mut out = BufWriter::new(out);
        let scan = &report.scan;
        writeln!(out, "ASH Security Scan Report\n")?;
        writeln!(out, "Project:       {}", harmless::line(&scan.project_name))?;
        writeln!(
            out,
            "Scan executed: {} to {} ({})",
            scan.started,
            scan.finished,
            crate::summary::duration(Some(scan.duration))
        )?;
        writeln!(out, "ASH version:   {}\n", scan.ash_version)?;
        for line in Summary::of(report, None).lines(WIDTH) {
            writeln!(out, "{}", line.text())?;
        }
        out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn no_line_of_the_report_starts_a_ci_command() {
        let mut bytes = Vec::new();
        Text.render(&sample::hostile(), &mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert!(
            text.lines().all(|line| !line.trim_start().starts_with("::")
                && !line.contains("##[")
                && !line.contains("##vso[")),
            "{text}"
        );
        insta::assert_snapshot!(text);
    }
}
