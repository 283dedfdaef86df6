//! From what scanners said to the one report: ignored paths out, suppressions in, counts, order.

use std::collections::{BTreeMap, BTreeSet};

use ash_model::{
    finding::{Finding, Rule, Suppression},
    severity::{SeverityCounts, Threshold},
};

/// Decides about single findings; the implementation is compiled from the settings.
pub trait Judgement {
    /// The finding is dropped: its path is ignored.
    fn ignored(&self, finding: &Finding) -> bool;
    /// The reason the finding does not count, if one of the operator's or the project's suppressions covers it.
    fn suppressed(&self, finding: &Finding) -> Option<Suppression>;
}

/// Drops ignored findings and adds suppressions, in place.
pub fn apply(findings: &mut Vec<Finding>, judgement: &dyn Judgement) {
    findings.retain(|finding| !judgement.ignored(finding));
    for finding in findings.iter_mut().filter(|finding| !finding.is_suppressed()) {
        if let Some(suppression) = judgement.suppressed(finding) {
            finding.suppressions.push(suppression);
        }
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
        finding::Location,
        ids::ScannerId,
        path::RelPath,
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
        fn ignored(&self, finding: &Finding) -> bool {
            finding
                .location
                .as_ref()
                .is_some_and(|location| location.path.as_path().starts_with("ignored"))
        }
        fn suppressed(&self, finding: &Finding) -> Option<Suppression> {
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

    #[test]
    fn ignored_findings_vanish_and_suppressed_ones_stay_uncounted() {
        let mut findings = vec![
            finding("ignored/a", Severity::High),
            finding("quiet/a", Severity::High),
            finding("b", Severity::Low),
            finding("a", Severity::Critical),
        ];
        apply(&mut findings, &ByName);
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
