//! Which findings are dropped (`ignore_paths`) and which do not count (`suppressions`).

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use ash_model::{
    finding::{Finding, Region},
    path::RelPath,
};

use crate::{
    glob::Pattern,
    settings::{IgnorePath, SuppressionRule},
};

/// Paths whose rules are remembered; findings come in the order of files, and a scan has more findings than files.
const REMEMBERED: usize = 65_536;

/// Every rule of a scan, compiled once.
#[derive(Debug)]
pub struct Matcher {
    ignored: Paths,
    suppressed: Paths,
    rules: Vec<Compiled>,
    remembered: Mutex<HashMap<RelPath, Arc<[usize]>>>,
}

/// The parts of a suppression besides its path.
#[derive(Debug)]
struct Compiled {
    rule_id: Option<Pattern>,
    lines: Lines,
}

/// Path patterns, those without a wildcard found by look-up.
#[derive(Debug, Default)]
struct Paths {
    literal: HashMap<String, Vec<usize>>,
    patterns: Vec<(Pattern, usize)>,
}

/// The lines a suppression is about.
#[derive(Debug, Clone, Copy)]
enum Lines {
    Any,
    From(u64),
    UpTo(u64),
    Between(u64, u64),
}

impl Matcher {
    /// Compiles the rules that apply on a day (`YYYY-MM-DD`, UTC). Expired rules are left out, and suppressions that ask for a symbol or
    /// a package, which nothing here can judge.
    pub fn new(ignore_paths: &[IgnorePath], suppressions: &[SuppressionRule], today: &str) -> Self {
        let ignored = ignore_paths
            .iter()
            .enumerate()
            .filter(|(_, rule)| !is_expired(rule.expiration.as_deref(), today));
        let judged = |rule: &SuppressionRule| {
            rule.symbol.is_none()
                && rule.package.is_empty()
                && !is_expired(rule.expiration.as_deref(), today)
        };
        let suppressed = suppressions.iter().enumerate().filter(|(_, rule)| judged(rule));
        Self {
            ignored: Paths::new(ignored.map(|(index, rule)| (index, rule.path.as_str()))),
            suppressed: Paths::new(suppressed.map(|(index, rule)| (index, rule.path.as_str()))),
            rules: suppressions.iter().map(Compiled::new).collect(),
            remembered: Mutex::default(),
        }
    }

    /// Whether findings in this file are dropped.
    pub fn ignored(&self, path: &RelPath) -> bool {
        !self.ignored.find(&lower(path)).is_empty()
    }

    /// The first suppression, as an index into the list given, that covers a finding. A finding without a file is never suppressed.
    pub fn suppression(&self, finding: &Finding) -> Option<usize> {
        let location = finding.location.as_ref()?;
        let candidates = self.candidates(&location.path);
        let rule_id = (!candidates.is_empty()).then(|| finding.rule_id.to_lowercase())?;
        candidates
            .iter()
            .copied()
            .find(|index| self.rules[*index].covers(&rule_id, location.region))
    }

    fn candidates(&self, path: &RelPath) -> Arc<[usize]> {
        if self.suppressed.is_empty() {
            return Arc::default();
        }
        let lock = || self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(path) {
            return Arc::clone(known);
        }
        let found: Arc<[usize]> = self.suppressed.find(&lower(path)).into();
        let mut remembered = lock();
        if remembered.len() < REMEMBERED {
            remembered.insert(path.clone(), Arc::clone(&found));
        }
        found
    }
}

impl Compiled {
    fn new(rule: &SuppressionRule) -> Self {
        let lines = match (rule.line_start, rule.line_end) {
            (None, None) => Lines::Any,
            (Some(start), None) => Lines::From(start),
            (None, Some(end)) => Lines::UpTo(end),
            (Some(start), Some(end)) => Lines::Between(start, end),
        };
        Self { rule_id: rule.rule_id.as_deref().map(Pattern::new), lines }
    }

    fn covers(&self, rule_id: &str, region: Option<Region>) -> bool {
        self.rule_id.as_ref().is_none_or(|pattern| pattern.matches(rule_id))
            && self.lines.cover(region)
    }
}

impl Lines {
    /// A finding without a line is covered only by a suppression without lines.
    fn cover(self, region: Option<Region>) -> bool {
        let span = region.map(|region| {
            (region.start_line, region.end_line.unwrap_or(region.start_line).max(region.start_line))
        });
        match (self, span) {
            (Self::Any, _) => true,
            (_, None) => false,
            (Self::From(start), Some((first, _))) => start <= first,
            (Self::UpTo(end), Some((_, last))) => last <= end,
            (Self::Between(start, end), Some((first, last))) => first <= end && start <= last,
        }
    }
}

impl Paths {
    fn new<'a>(rules: impl Iterator<Item = (usize, &'a str)>) -> Self {
        let mut paths = Self::default();
        for (index, text) in rules {
            let pattern = Pattern::new(text);
            match pattern.literal() {
                Some(literal) => paths.literal.entry(literal.to_owned()).or_default().push(index),
                None => paths.patterns.push((pattern, index)),
            }
        }
        paths
    }

    fn is_empty(&self) -> bool {
        self.literal.is_empty() && self.patterns.is_empty()
    }

    /// The rules that match, in their order.
    fn find(&self, path: &str) -> Vec<usize> {
        let mut found = self.literal.get(path).cloned().unwrap_or_default();
        found.extend(
            self.patterns
                .iter()
                .filter(|(pattern, _)| pattern.matches(path))
                .map(|(_, index)| *index),
        );
        found.sort_unstable();
        found
    }
}

fn lower(path: &RelPath) -> String {
    let text = path.as_path().to_string_lossy().to_lowercase();
    if cfg!(windows) { text.replace('\\', "/") } else { text }
}

/// Whether any of the ignore paths covers a file. For many files make a [`Matcher`]; expiry is not looked at here.
pub fn ignored(ignore_paths: &[IgnorePath], path: &RelPath) -> bool {
    let text = lower(path);
    ignore_paths.iter().any(|rule| Pattern::new(&rule.path).matches(&text))
}

/// Whether one suppression covers a finding on a day (`YYYY-MM-DD`, UTC). For many findings make a [`Matcher`].
pub fn suppresses(rule: &SuppressionRule, finding: &Finding, today: &str) -> bool {
    Matcher::new(&[], std::slice::from_ref(rule), today).suppression(finding).is_some()
}

/// From its date on a rule no longer applies. Dates of one form compare as texts.
fn is_expired(expiration: Option<&str>, today: &str) -> bool {
    expiration.is_some_and(|expiration| expiration <= today)
}

impl SuppressionRule {
    /// What identifies the rule in `used_suppressions`: `path|rule or *|start or *|end or start or *`.
    pub fn id(&self) -> String {
        let line = |line: Option<u64>| line.map_or_else(|| "*".to_owned(), |line| line.to_string());
        let rule = self.rule_id.as_deref().unwrap_or("*");
        format!(
            "{}|{rule}|{}|{}",
            self.path,
            line(self.line_start),
            line(self.line_end.or(self.line_start))
        )
    }

    /// Whether the rule no longer applies on a day.
    pub fn is_expired(&self, today: &str) -> bool {
        is_expired(self.expiration.as_deref(), today)
    }

    /// The days from a day until the rule expires; `None` without a date or when either is no date.
    pub fn days_left(&self, today: &str) -> Option<i64> {
        Some(day_number(self.expiration.as_deref()?)? - day_number(today)?)
    }
}

/// Days since the first of March of the year 0, in the Gregorian calendar.
fn day_number(date: &str) -> Option<i64> {
    if !crate::validate::is_date(date) {
        return None;
    }
    let number =
        |range: std::ops::Range<usize>| date.get(range).and_then(|part| part.parse::<i64>().ok());
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    // Years are counted from March, so that the leap day comes last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    Some(
        365 * year + year.div_euclid(4) - year.div_euclid(100)
            + year.div_euclid(400)
            + (153 * month + 2) / 5
            + day
            - 1,
    )
}

#[cfg(test)]
mod tests {
    use ash_model::{
        finding::Location,
        ids::ScannerId,
        severity::{Level, Severity},
    };

    use super::*;
    use crate::settings::PackageRule;

    /// First and last lines of findings.
    type Spans = &'static [(u64, Option<u64>)];

    const TODAY: &str = "2026-06-15";

    fn finding(path: &str, rule_id: &str, lines: Option<(u64, Option<u64>)>) -> Finding {
        let region = lines.map(|(start_line, end_line)| Region {
            start_line,
            end_line,
            start_column: None,
            end_column: None,
        });
        Finding {
            scanner: ScannerId::builtin("x"),
            rule_id: rule_id.to_owned(),
            severity: Severity::High,
            level: Level::Error,
            message: String::new(),
            location: Some(Location { path: RelPath::new(path).unwrap(), region, snippet: None }),
            suppressions: vec![],
            properties: serde_json::Map::new(),
            extra: serde_json::Map::new(),
        }
    }

    fn rule(path: &str) -> SuppressionRule {
        SuppressionRule {
            path: path.to_owned(),
            reason: "r".to_owned(),
            ..SuppressionRule::default()
        }
    }

    #[test]
    fn lines_overlap_start_or_end_as_documented() {
        let table: &[(Option<u64>, Option<u64>, Spans, Spans)] = &[
            (
                Some(5),
                Some(10),
                &[(5, None), (10, None), (1, Some(5)), (10, Some(20)), (1, Some(99)), (7, Some(3))],
                &[(4, None), (11, None), (1, Some(4))],
            ),
            (Some(5), None, &[(5, None), (1000, Some(1001))], &[(4, None), (1, Some(9))]),
            (None, Some(10), &[(10, None), (1, Some(10))], &[(11, None), (9, Some(11))]),
            (None, None, &[(1, None)], &[]),
        ];
        for (line_start, line_end, yes, no) in table {
            let rule =
                SuppressionRule { line_start: *line_start, line_end: *line_end, ..rule("a.py") };
            for lines in *yes {
                assert!(
                    suppresses(&rule, &finding("a.py", "R", Some(*lines)), TODAY),
                    "{rule:?} {lines:?}"
                );
            }
            for lines in *no {
                assert!(
                    !suppresses(&rule, &finding("a.py", "R", Some(*lines)), TODAY),
                    "{rule:?} {lines:?}"
                );
            }
            let without = finding("a.py", "R", None);
            assert_eq!(
                suppresses(&rule, &without, TODAY),
                line_start.is_none() && line_end.is_none()
            );
        }
    }

    #[test]
    fn the_rule_id_is_a_pattern_in_any_case() {
        for (pattern, id, expected) in [
            ("b105", "B105", true),
            ("B1*", "b105", true),
            ("B1", "B105", false),
            ("CKV_*", "CKV_AWS_1", true),
            ("*", "", true),
        ] {
            let rule = SuppressionRule { rule_id: Some(pattern.to_owned()), ..rule("**") };
            assert_eq!(
                suppresses(&rule, &finding("x/a.py", id, None), TODAY),
                expected,
                "{pattern} {id}"
            );
        }
    }

    #[test]
    fn a_rule_ends_on_its_day() {
        for (expiration, expected) in
            [("2026-06-14", false), ("2026-06-15", false), ("2026-06-16", true)]
        {
            let rule = SuppressionRule { expiration: Some(expiration.to_owned()), ..rule("a") };
            assert_eq!(
                suppresses(&rule, &finding("a", "R", None), TODAY),
                expected,
                "{expiration}"
            );
            let ignore = IgnorePath {
                path: "a".to_owned(),
                expiration: Some(expiration.to_owned()),
                ..IgnorePath::default()
            };
            assert_eq!(
                Matcher::new(&[ignore], &[], TODAY).ignored(&RelPath::new("a").unwrap()),
                expected
            );
        }
    }

    #[test]
    fn what_cannot_be_judged_suppresses_nothing() {
        let symbol = SuppressionRule { symbol: Some("a.b".to_owned()), ..rule("**") };
        let package = SuppressionRule {
            package: PackageRule { name: Some("*".to_owned()), ..PackageRule::default() },
            ..rule("**")
        };
        for rule in [symbol, package] {
            assert!(!suppresses(&rule, &finding("a", "R", Some((1, None))), TODAY));
        }
        let nowhere = Finding { location: None, ..finding("a", "R", None) };
        assert!(!suppresses(&rule("**"), &nowhere, TODAY));
    }

    #[test]
    fn the_first_matching_rule_is_the_one_used() {
        let rules = [rule("b"), rule("**"), rule("a"), rule("*a")];
        let matcher = Matcher::new(&[], &rules, TODAY);
        for _ in 0..2 {
            assert_eq!(matcher.suppression(&finding("a", "R", None)), Some(1));
            assert_eq!(matcher.suppression(&finding("b", "R", None)), Some(0));
        }
    }

    #[test]
    fn ids_and_days_are_as_published() {
        let bounded = SuppressionRule {
            rule_id: Some("R".to_owned()),
            line_start: Some(3),
            expiration: Some("2026-07-01".to_owned()),
            ..rule("p")
        };
        assert_eq!((bounded.id(), rule("p").id()), ("p|R|3|3".to_owned(), "p|*|*|*".to_owned()));
        assert_eq!(bounded.days_left(TODAY), Some(16));
        assert_eq!(day_number("2024-03-01").unwrap() - day_number("2024-02-28").unwrap(), 2);
        assert_eq!(day_number("2001-01-01").unwrap() - day_number("2000-01-01").unwrap(), 366);
        assert_eq!(rule("p").days_left(TODAY), None);
    }

    #[test]
    fn a_hundred_thousand_findings_meet_a_thousand_rules() {
        let rules: Vec<_> = (0..1_000)
            .map(|n| SuppressionRule {
                rule_id: Some(format!("R{n}")),
                ..rule(&format!("src/m{n}/**/*_{n}.py"))
            })
            .collect();
        let matcher = Matcher::new(&[], &rules, TODAY);
        let findings: Vec<_> = (0..100_000)
            .map(|n| {
                finding(
                    &format!("src/m{}/deep/f{}_{}.py", n % 1_000, n % 5, n % 1_000),
                    &format!("R{}", n % 1_000),
                    None,
                )
            })
            .collect();
        assert_eq!(
            findings.iter().filter(|finding| matcher.suppression(finding).is_some()).count(),
            100_000
        );
    }
}
