//! `ash.summary.md`: for pull requests. Everything from outside stands in code spans and blocks.

use std::{
    fmt::{self, Display, Formatter},
    io::{self, BufWriter, Write},
};

use ash_model::{finding::Finding, report::ScanReport};

use crate::{
    Reporter,
    harmless::{Code, CodeBlock},
    summary::{Row, Summary, duration},
};

/// How many findings are shown in full.
const MAX_DETAILED: usize = 20;
/// How much of a message or snippet is shown; comments of pull requests end at 65,536 characters.
const MAX_BLOCK: usize = 1200;

/// The Markdown summary.
#[derive(Debug)]
pub(crate) struct Markdown;

impl Reporter for Markdown {
    fn id(&self) -> &'static str {
        "markdown"
    }

    fn file_name(&self) -> &'static str {
        "reports/ash.summary.md"
    }

    fn render(&self, report: &ScanReport, out: &mut dyn Write) -> io::Result<()> {
        let mut out = BufWriter::new(out);
        let summary = Summary::of(report, None);
        head(&mut out, report, &summary)?;
        table(&mut out, &summary)?;
        lists(&mut out, &summary)?;
        details(&mut out, report)?;
        out.flush()
    }
}

fn head(out: &mut impl Write, report: &ScanReport, summary: &Summary) -> io::Result<()> {
    let scan = &report.scan;
    writeln!(out, "# ASH Security Scan Report\n")?;
    for line in summary.result() {
        writeln!(out, "**{}**  ", line.text())?;
    }
    writeln!(out, "\n- Project: {}", Code(&scan.project_name))?;
    writeln!(
        out,
        "- Scan executed: {} to {} ({})",
        scan.started,
        scan.finished,
        duration(Some(scan.duration))
    )?;
    writeln!(out, "- ASH version: {}", Code(&scan.ash_version))?;
    writeln!(out, "- {}\n", SandboxLine(&summary.sandbox))
}

/// `sandbox: ` in plain words, the rest as code.
struct SandboxLine<'a>(&'a str);

impl Display for SandboxLine<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (label, text) = self.0.split_once(": ").unwrap_or(("sandbox", self.0));
        write!(f, "{label}: {}", Code(text))
    }
}

fn table(out: &mut impl Write, summary: &Summary) -> io::Result<()> {
    writeln!(out, "## Scanners\n")?;
    writeln!(
        out,
        "| Scanner | Suppressed | Critical | High | Medium | Low | Info | Duration | Actionable | Result | Threshold |"
    )?;
    writeln!(out, "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- | --- |")?;
    for row in &summary.rows {
        let Row {
            scanner,
            counts,
            duration,
            actionable,
            status,
            threshold,
            threshold_source,
            unevaluated,
        } = row;
        let partly =
            unevaluated.map(|(count, _)| format!(" ({count} not evaluated)")).unwrap_or_default();
        writeln!(
            out,
            "| {scanner} | {} | {} | {} | {} | {} | {} | {duration} | {actionable} | {status}{partly} | {threshold} ({threshold_source}) |",
            counts.suppressed, counts.critical, counts.high, counts.medium, counts.low, counts.info
        )?;
    }
    writeln!(out)
}

fn lists(out: &mut impl Write, summary: &Summary) -> io::Result<()> {
    if !summary.reasons.is_empty() || !summary.notices.is_empty() {
        writeln!(out, "## Notes\n")?;
        for reason in &summary.reasons {
            writeln!(out, "- **{} {}**: {}", reason.scanner, reason.status, Code(&reason.text))?;
        }
        for notice in &summary.notices {
            writeln!(out, "- {}", Code(notice))?;
        }
        writeln!(out)?;
    }
    if !summary.hotspots.is_empty() {
        writeln!(out, "## Files with the most findings\n\n| Findings | File |\n| ---: | --- |")?;
        for (count, path) in &summary.hotspots {
            writeln!(out, "| {count} | {} |", Code(path))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// The worst actionable findings.
fn details(out: &mut impl Write, report: &ScanReport) -> io::Result<()> {
    let threshold = |finding: &Finding| {
        report
            .scanners
            .iter()
            .find(|scanner| scanner.id == finding.scanner)
            .map_or(report.scan.threshold, |scanner| scanner.threshold)
    };
    let mut actionable: Vec<&Finding> = report
        .findings
        .iter()
        .filter(|finding| {
            !finding.is_suppressed() && threshold(finding).is_actionable(finding.severity)
        })
        .collect();
    if actionable.is_empty() {
        return Ok(());
    }
    // Stable: within a severity the report's own order stays.
    actionable.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let shown = actionable.len().min(MAX_DETAILED);
    writeln!(
        out,
        "## Findings\n\n<details>\n<summary>{shown} of {} actionable findings, worst first</summary>\n",
        actionable.len()
    )?;
    for (index, finding) in actionable.iter().take(MAX_DETAILED).enumerate() {
        writeln!(
            out,
            "### {}. {} {}\n",
            index + 1,
            finding.severity.name(),
            Code(&finding.rule_id)
        )?;
        writeln!(out, "- Scanner: {}", finding.scanner)?;
        if let Some(location) = &finding.location {
            let line =
                location.region.map(|region| format!(":{}", region.start_line)).unwrap_or_default();
            writeln!(out, "- Location: {}", Code(&format!("{}{line}", location.path)))?;
        }
        writeln!(out, "\n{}", CodeBlock(cut(&finding.message)))?;
        if let Some(snippet) = finding
            .location
            .as_ref()
            .and_then(|location| location.snippet.as_deref())
            .filter(|snippet| !snippet.trim().is_empty())
        {
            writeln!(out, "{}", CodeBlock(cut(snippet)))?;
        }
    }
    writeln!(out, "</details>")
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_BLOCK)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn the_markdown_of_the_sample() {
        let mut bytes = Vec::new();
        Markdown.render(&sample::hostile(), &mut bytes).unwrap();
        insta::assert_snapshot!(String::from_utf8(bytes).unwrap());
    }
}
