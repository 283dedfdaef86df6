//! `ash.html`: one static page. No script, nothing loaded, and a policy in the page that would stop both.

use std::{
    cmp::Reverse,
    collections::HashMap,
    io::{self, BufWriter, Write},
};

use ash_model::{
    finding::Finding,
    report::ScanReport,
    severity::{Severity, SeverityCounts},
};

use crate::{
    Reporter,
    harmless::Html as Text,
    summary::{Row, Summary, Tone, duration},
};

const STYLE: &str = include_str!("html.css");
/// The style's SHA-256, so that the policy allows this style and no other. A test computes it.
const STYLE_HASH: &str = "ZdPY3KugdrzU2ruVNuhItL8qS5Zsf/ECvXHD7k7Eu+U=";
/// How many findings a page shows; browsers become slow far below what a scan can find.
const MAX_ROWS: usize = 10_000;
/// How much of one message or snippet is shown, in bytes: a snippet can be a whole minified file.
const MAX_TEXT: usize = 4000;
/// How many rules the summary of rules shows.
const MAX_RULES: usize = 20;

/// The HTML page.
#[derive(Debug)]
pub(crate) struct Html;

impl Reporter for Html {
    fn id(&self) -> &'static str {
        "html"
    }

    fn file_name(&self) -> &'static str {
        "reports/ash.html"
    }

    fn render(&self, report: &ScanReport, out: &mut dyn Write) -> io::Result<()> {
        let mut out = BufWriter::with_capacity(1 << 16, out);
        let summary = Summary::of(report, None);
        head(&mut out, report, &summary)?;
        scanners(&mut out, &summary)?;
        notes(&mut out, &summary)?;
        overview(&mut out, report, &summary)?;
        let mut findings: Vec<&Finding> = report.findings.iter().collect();
        // Stable: within a severity the report's own order stays.
        findings.sort_by_key(|finding| Reverse(finding.severity));
        let (suppressed, open): (Vec<&Finding>, Vec<&Finding>) =
            findings.into_iter().partition(|finding| finding.is_suppressed());
        findings_table(&mut out, "Findings", &open, false)?;
        findings_table(&mut out, "Suppressed findings", &suppressed, true)?;
        writeln!(out, "</body></html>")?;
        out.flush()
    }
}

fn head(out: &mut impl Write, report: &ScanReport, summary: &Summary) -> io::Result<()> {
    let scan = &report.scan;
    write!(
        out,
        r#"<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-{STYLE_HASH}'; base-uri 'none'; form-action 'none'">
<meta name="referrer" content="no-referrer"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>ASH report: {}</title>
<style>{STYLE}</style></head><body>
<h1>ASH Security Scan Report</h1>
"#,
        Text(&scan.project_name)
    )?;
    for line in summary.result() {
        let class = line.0.first().map_or("", |span| tone_class(span.tone));
        writeln!(out, r#"<p class="{class}">{}</p>"#, Text(&line.text()))?;
    }
    writeln!(out, "<table>")?;
    let executed =
        format!("{} to {} ({})", scan.started, scan.finished, duration(Some(scan.duration)));
    let facts = [
        ("Project", scan.project_name.as_str()),
        ("Scan executed", &executed),
        ("ASH version", &scan.ash_version),
        ("Directories", &summary.places),
    ];
    for (name, value) in facts {
        writeln!(out, "<tr><th>{name}</th><td>{}</td></tr>", Text(value))?;
    }
    let class = if summary.confined { "" } else { "warn" };
    writeln!(
        out,
        r#"<tr><th>Sandbox</th><td class="{class}">{}</td></tr></table>"#,
        Text(&summary.sandbox)
    )
}

fn scanners(out: &mut impl Write, summary: &Summary) -> io::Result<()> {
    writeln!(out, "<h2>Scanners</h2>\n<table><tr><th>Scanner</th>")?;
    for heading in
        ["Suppressed", "Critical", "High", "Medium", "Low", "Info", "Duration", "Actionable"]
    {
        write!(out, r#"<th class="n">{heading}</th>"#)?;
    }
    writeln!(out, "<th>Result</th><th>Threshold</th></tr>")?;
    for row in &summary.rows {
        let Row {
            scanner,
            counts,
            duration,
            actionable,
            status,
            unevaluated,
            threshold,
            threshold_source,
        } = row;
        write!(out, "<tr><td>{}</td>", Text(scanner))?;
        let SeverityCounts { suppressed, critical, high, medium, low, info } = counts;
        for count in [suppressed, critical, high, medium, low, info] {
            write!(out, r#"<td class="n">{count}</td>"#)?;
        }
        let class = match *status {
            "PASSED" => "good",
            "FAILED" | "ERROR" => "bad",
            "MISSING" => "warn",
            _ => "note",
        };
        let partly =
            unevaluated.map(|(count, _)| format!(" ({count} not evaluated)")).unwrap_or_default();
        write!(out, r#"<td class="n">{}</td><td class="n">{actionable}</td>"#, Text(duration))?;
        writeln!(
            out,
            r#"<td class="{class}">{status}{partly}</td><td>{threshold} ({threshold_source})</td></tr>"#
        )?;
    }
    writeln!(out, "</table>")
}

fn notes(out: &mut impl Write, summary: &Summary) -> io::Result<()> {
    if summary.reasons.is_empty() && summary.notices.is_empty() {
        return Ok(());
    }
    writeln!(out, "<h2>Notes</h2>\n<ul>")?;
    for reason in &summary.reasons {
        writeln!(
            out,
            "<li><b>{} {}</b>: {}</li>",
            Text(&reason.scanner),
            reason.status,
            Text(&reason.text)
        )?;
    }
    for notice in &summary.notices {
        writeln!(out, "<li>{}</li>", Text(notice))?;
    }
    writeln!(out, "</ul>")
}

/// Severities, files and rules with the most findings.
fn overview(out: &mut impl Write, report: &ScanReport, summary: &Summary) -> io::Result<()> {
    let open = || report.findings.iter().filter(|finding| !finding.is_suppressed());
    let severities = Severity::ALL.map(|severity| {
        (
            open().filter(|finding| finding.severity == severity).count() as u64,
            severity.name().to_owned(),
        )
    });
    let mut rules: HashMap<(&str, &str), u64> = HashMap::new();
    for finding in open() {
        *rules.entry((finding.scanner.as_str(), &finding.rule_id)).or_default() += 1;
    }
    let mut rules: Vec<(u64, String)> = rules
        .into_iter()
        .map(|((scanner, rule), count)| (count, format!("{scanner}: {rule}")))
        .collect();
    rules.sort_by(|(count, name), (other_count, other)| {
        other_count.cmp(count).then_with(|| name.cmp(other))
    });
    rules.truncate(MAX_RULES);
    for (title, heading, rows) in [
        ("Severities", "Severity", &severities[..]),
        ("Files with the most findings", "File", &summary.hotspots),
        ("Rules with the most findings", "Rule", &rules),
    ] {
        if rows.iter().all(|(count, _)| *count == 0) {
            continue;
        }
        writeln!(
            out,
            r#"<h2>{title}</h2><table><tr><th class="n">Findings</th><th>{heading}</th></tr>"#
        )?;
        for (count, name) in rows {
            writeln!(
                out,
                r#"<tr><td class="n">{count}</td><td><code>{}</code></td></tr>"#,
                Text(name)
            )?;
        }
        writeln!(out, "</table>")?;
    }
    Ok(())
}

fn findings_table(
    out: &mut impl Write,
    title: &str,
    findings: &[&Finding],
    suppressed: bool,
) -> io::Result<()> {
    if findings.is_empty() {
        return Ok(());
    }
    writeln!(out, "<h2>{title} ({})</h2>", findings.len())?;
    if findings.len() > MAX_ROWS {
        writeln!(
            out,
            r#"<p class="warn">The worst {MAX_ROWS} are shown; all are in ash.sarif, ash.flat.json and ash.csv.</p>"#
        )?;
    }
    let last = if suppressed { "<th>Reason</th>" } else { "" };
    writeln!(
        out,
        "<table><tr><th>Severity</th><th>Scanner</th><th>Rule</th><th>Location</th><th>Message</th>{last}</tr>"
    )?;
    for finding in findings.iter().take(MAX_ROWS) {
        row(out, finding, suppressed)?;
    }
    writeln!(out, "</table>")
}

fn row(out: &mut impl Write, finding: &Finding, suppressed: bool) -> io::Result<()> {
    let severity = finding.severity.name();
    let class = severity.to_ascii_lowercase();
    write!(
        out,
        r#"<tr><td class="{class}">{severity}</td><td>{}</td><td><code>{}</code></td><td><code>"#,
        Text(finding.scanner.as_str()),
        Text(&finding.rule_id)
    )?;
    if let Some(location) = &finding.location {
        let line =
            location.region.map(|region| format!(":{}", region.start_line)).unwrap_or_default();
        write!(out, "{}{line}", Text(&location.path.printable()))?;
    }
    write!(out, "</code></td><td>{}", Text(cut(&finding.message)))?;
    if let Some(snippet) = finding
        .location
        .as_ref()
        .and_then(|location| location.snippet.as_deref())
        .filter(|snippet| !snippet.trim().is_empty())
    {
        write!(out, "<pre>{}</pre>", Text(cut(snippet)))?;
    }
    out.write_all(b"</td>")?;
    if suppressed {
        let reason = finding
            .suppressions
            .iter()
            .find(|suppression| suppression.counts)
            .and_then(|suppression| suppression.justification.as_deref());
        write!(out, "<td>{}</td>", Text(reason.unwrap_or_default()))?;
    }
    writeln!(out, "</tr>")
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_TEXT)]
}

fn tone_class(tone: Tone) -> &'static str {
    match tone {
        Tone::Bad => "bad",
        Tone::Warning => "warn",
        Tone::Good => "good",
        Tone::Note => "note",
        Tone::Plain | Tone::Strong | Tone::Dim => "",
    }
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;
    use crate::sample;

    fn rendered(report: &ScanReport) -> String {
        let mut bytes = Vec::new();
        Html.render(report, &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    fn base64(bytes: &[u8]) -> String {
        const ALPHABET: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut text = String::new();
        for chunk in bytes.chunks(3) {
            let bits = chunk
                .iter()
                .chain([0, 0].iter())
                .take(3)
                .fold(0_usize, |bits, byte| bits << 8 | usize::from(*byte));
            (0..4).for_each(|place| {
                text.push(if place > chunk.len() {
                    '='
                } else {
                    char::from(ALPHABET[bits >> (18 - 6 * place) & 63])
                })
            });
        }
        text
    }

    #[test]
    fn the_policy_allows_the_style_of_the_page() {
        assert_eq!(STYLE_HASH, base64(&Sha256::digest(STYLE)));
    }

    #[test]
    fn no_tag_of_a_tool_comes_alive() {
        let page = rendered(&sample::hostile());
        let tags: std::collections::BTreeSet<&str> = page
            .split('<')
            .skip(1)
            .filter_map(|rest| rest.split(['>', ' ', '\n']).next())
            .filter(|tag| !tag.starts_with('/'))
            .collect();
        let known = [
            "!DOCTYPE", "b", "body", "code", "h1", "h2", "head", "html", "li", "meta", "p", "pre",
            "style", "table", "td", "th", "title", "tr", "ul",
        ];
        assert!(tags.iter().all(|tag| known.contains(tag)), "{tags:?}");
    }

    #[test]
    fn a_page_says_when_it_does_not_show_everything() {
        let mut report = sample::hostile();
        let finding = report.findings[0].clone();
        assert!(!rendered(&report).contains("are shown; all are in"));
        report.findings = vec![finding; MAX_ROWS + 1];
        let page = rendered(&report);
        assert!(
            page.contains("The worst 10000 are shown") && page.matches("<pre>").count() == MAX_ROWS
        );
    }

    #[test]
    fn the_page_of_the_sample() {
        insta::assert_snapshot!(rendered(&sample::hostile()));
    }
}
