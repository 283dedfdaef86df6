//! From what scanners said to the one report: ignored paths out, suppressions in, counts, order.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ash_intake::{InlineIgnore, OwnResults, inline_ignores};
use ash_model::{
    finding::{Finding, Rule, Suppression},
    notice::Notice,
    path::RelPath,
    report::ScannerReport,
    severity::{SeverityCounts, Threshold},
    source::SourceReader,
    suppression::SuppressionRecord,
};

/// Decides about single findings; the implementation is compiled from the settings.
pub trait Judgement {
    /// The finding is dropped: its path is ignored.
    fn ignored(&self, finding: &Finding) -> bool;
    /// The reason the finding does not count, if one of the operator's or the project's suppressions covers it.
    /// `reader` is for suppressions that ask where in a file something is.
    fn suppressed(&self, finding: &Finding, reader: &dyn SourceReader) -> Option<Suppression>;
    /// Whether what the scanned files say of themselves counts: `ash-ignore` comments, and the tools' own comments and baselines.
    fn obeys_sources(&self) -> bool;
    /// What became of each suppression of the settings, once all scanners have ended.
    fn records(&self, scanners: &[ScannerReport], offline: bool) -> Vec<SuppressionRecord>;
    /// What there is to say about suppressions that could not be judged.
    fn notices(&self) -> Vec<Notice>;
}

/// Drops findings in ash's own results and says how many: text that ash quotes from the scanned files would be found a second time.
pub(crate) fn drop_own(findings: &mut Vec<Finding>, own: &OwnResults) -> u64 {
    let before = findings.len();
    findings.retain(|finding| {
        !finding.location.as_ref().is_some_and(|place| own.hold(place.path.as_path(), false))
    });
    (before - findings.len()) as u64
}

/// Drops ignored findings and adds suppressions, in place: those of the settings, and the comments in the files themselves. A finding its
/// tool calls suppressed already gets no second entry. Returns how many findings only the scanned files themselves excuse.
pub fn apply(
    findings: &mut Vec<Finding>,
    judgement: &dyn Judgement,
    reader: &dyn SourceReader,
) -> u64 {
    findings.retain(|finding| !judgement.ignored(finding));
    let mut comments = Comments { reader, files: HashMap::new() };
    let mut excused = 0;
    for finding in findings.iter_mut() {
        if !judgement.obeys_sources() {
            finding.suppressions.iter_mut().for_each(|suppression| suppression.counts = false);
        }
        let by_settings = judgement.suppressed(finding, reader);
        let is_excused = by_settings.is_none();
        if !finding.is_suppressed() {
            let by_comment = || comments.suppression(finding, judgement);
            finding.suppressions.extend(by_settings.or_else(by_comment));
        }
        excused += u64::from(is_excused && finding.is_suppressed());
    }
    excused
}

/// Larger files are not searched for comments.
const LARGEST_SOURCE: u64 = 8 << 20;

/// The `ash-ignore` comments of the files that have findings, read once each.
struct Comments<'a> {
    reader: &'a dyn SourceReader,
    files: HashMap<RelPath, Vec<InlineIgnore>>,
}

impl Comments<'_> {
    fn suppression(&mut self, finding: &Finding, judgement: &dyn Judgement) -> Option<Suppression> {
        let location = finding.location.as_ref().filter(|_| judgement.obeys_sources())?;
        let line = location.region?.start_line;
        let reader = self.reader;
        let comments = self.files.entry(location.path.clone()).or_insert_with(|| {
            reader
                .read(&location.path, LARGEST_SOURCE)
                .map(|text| inline_ignores(&text))
                .unwrap_or_default()
        });
        let comment = comments
            .iter()
            .find(|comment| comment.line == line && comment.names(&finding.rule_id))?;
        let reason = comment.reason.as_deref().unwrap_or("no reason given");
        let justification = Some(format!("(ASH inline) {reason}"));
        Some(Suppression { kind: "inSource".to_owned(), justification, counts: true })
    }
}

/// Counts one scanner's findings.
pub fn count(findings: &[Finding], threshold: Threshold) -> (SeverityCounts, u64) {
    let mut counts = SeverityCounts::default();
    let mut actionable = 0;
    for finding in findings {
        if finding.is_suppressed() {
            counts.suppressed += 1;
        } else {
            counts.add(finding.severity);
            actionable += u64::from(threshold.is_actionable(finding.severity));
        }
    }
    (counts, actionable)
}

/// Sorts by scanner, path, line, column, rule, message: the same findings give the same files.
pub fn sort(findings: &mut [Finding]) {
    findings.sort_by(|a, b| key(a).cmp(&key(b)));
}

fn key(finding: &Finding) -> impl Ord + '_ {
    let place = finding.location.as_ref().map(|location| (&location.path, location.region));
    (&finding.scanner, place, &finding.rule_id, &finding.message)
}

/// Keeps the rules that findings refer to, once each, sorted by id.
pub fn used_rules(rules: Vec<Rule>, findings: &[Finding]) -> Vec<Rule> {
    let used: BTreeSet<&str> = findings.iter().map(|finding| finding.rule_id.as_str()).collect();
    let mut kept: BTreeMap<String, Rule> = BTreeMap::new();
    for rule in rules {
        if used.contains(rule.id.as_str()) {
            kept.entry(rule.id.clone()).or_insert(rule);
        }
    }
    kept.into_values().collect()
}

#[cfg(test)]
mod tests {
    use ash_model::{
        finding::{Location, Region},
        ids::ScannerId,
        severity::{Level, Severity},
    };
    use serde_json::Map;

    use super::*;

    fn finding(path: &str, severity: Severity) -> Finding {
        Finding {
            scanner: ScannerId::builtin("bandit"),
            rule_id: "B1".into(),
            severity,
            level: Level::Warning,
            message: "m".into(),
            location: Some(Location {
                path: RelPath::new(path).unwrap(),
                region: None,
                snippet: None,
            }),
            suppressions: vec![],
            properties: Map::new(),
            extra: Map::new(),
        }
    }

    struct ByName;
    impl Judgement for ByName {
        fn obeys_sources(&self) -> bool {
            true
        }
        fn records(&self, _: &[ScannerReport], _: bool) -> Vec<SuppressionRecord> {
            vec![]
        }
        fn notices(&self) -> Vec<Notice> {
            vec![]
        }
        fn ignored(&self, finding: &Finding) -> bool {
            finding
                .location
                .as_ref()
                .is_some_and(|location| location.path.as_path().starts_with("ignored"))
        }
        fn suppressed(&self, finding: &Finding, _: &dyn SourceReader) -> Option<Suppression> {
            let quiet = finding
                .location
                .as_ref()
                .is_some_and(|location| location.path.as_path().starts_with("quiet"));
            quiet.then(|| Suppression {
                kind: "inSource".into(),
                justification: None,
                counts: true,
            })
        }
    }

    /// Every file has one comment, on line 2.
    struct Files;
    impl SourceReader for Files {
        fn read(&self, _: &RelPath, _: u64) -> Option<Vec<u8>> {
            Some(b"x\ny # ash-ignore: b1 known\n".to_vec())
        }
    }

    #[test]
    fn a_comment_suppresses_its_own_rule_on_its_own_line() {
        let at = |line: u64| {
            let mut finding = finding("a", Severity::High);
            let region =
                Region { start_line: line, start_column: None, end_line: None, end_column: None };
            finding.location =
                finding.location.map(|location| Location { region: Some(region), ..location });
            finding
        };
        let mut findings = vec![at(1), at(2), Finding { rule_id: "B2".into(), ..at(2) }];
        apply(&mut findings, &ByName, &Files);
        assert_eq!(
            findings.iter().map(Finding::is_suppressed).collect::<Vec<_>>(),
            [false, true, false]
        );
        assert_eq!(
            findings[1].suppressions[0].justification.as_deref(),
            Some("(ASH inline) known")
        );
    }

    #[test]
    fn ignored_findings_vanish_and_suppressed_ones_stay_uncounted() {
        let mut findings = vec![
            finding("ignored/a", Severity::High),
            finding("quiet/a", Severity::High),
            finding("b", Severity::Low),
            finding("a", Severity::Critical),
        ];
        apply(&mut findings, &ByName, &Files);
        sort(&mut findings);
        let (counts, actionable) = count(&findings, Threshold::Medium);
        assert_eq!((findings.len(), counts.suppressed, counts.total(), actionable), (3, 1, 2, 1));
        assert_eq!(findings[0].location.as_ref().unwrap().path, RelPath::new("a").unwrap());
    }

    #[test]
    fn a_suppression_the_tool_wrote_is_shown_and_not_obeyed() {
        let mut planted = finding("a", Severity::High);
        planted.suppressions.push(Suppression {
            kind: "external".into(),
            justification: Some("trust me".into()),
            counts: false,
        });
        assert_eq!(count(&[planted], Threshold::Medium).1, 1);
    }
}
