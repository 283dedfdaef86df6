//! What suppressions and ignore paths cover.

use std::path::Path;

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

fn suppresses(rule: &SuppressionRule, finding: &Finding, today: &str) -> bool {
    let matcher = Matcher::new(&[], std::slice::from_ref(rule), today);
    !matcher.suppressions(finding, &|_, _| false).is_empty()
}

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
    SuppressionRule { path: path.to_owned(), reason: "r".to_owned(), ..SuppressionRule::default() }
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
        let rule = SuppressionRule { line_start: *line_start, line_end: *line_end, ..rule("a.py") };
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
        assert_eq!(suppresses(&rule, &without, TODAY), line_start.is_none() && line_end.is_none());
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
        assert_eq!(suppresses(&rule, &finding("a", "R", None), TODAY), expected, "{expiration}");
        let ignore = IgnorePath {
            path: "a".to_owned(),
            expiration: Some(expiration.to_owned()),
            ..IgnorePath::default()
        };
        assert_eq!(Matcher::new(&[ignore], &[], TODAY).ignored(Path::new("a")), expected);
    }
}

#[test]
fn a_symbol_is_asked_for_and_a_finding_without_a_file_is_never_covered() {
    let symbol = SuppressionRule { symbol: Some("a.b".to_owned()), ..rule("**") };
    let at = finding("a", "R", Some((1, None)));
    assert!(!suppresses(&symbol, &at, TODAY));
    let matcher = Matcher::new(&[], &[symbol], TODAY);
    assert_eq!(matcher.suppressions(&at, &|symbol, _| symbol == "a.b"), [0]);
    let nowhere = Finding { location: None, ..at };
    assert!(!suppresses(&rule("**"), &nowhere, TODAY));
    assert!(matcher.suppressions(&nowhere, &|_, _| true).is_empty());
}

#[test]
fn packages_are_matched_by_name_version_and_place_in_any_case() {
    let about = |name: &str, version: Option<&str>, path: &str| {
        Finding {
        properties: serde_json::json!({"package_name": name, "package_version": version, "package_path": path})
            .as_object()
            .cloned()
            .unwrap(),
        ..finding("web/node_modules/lodash/package.json", "GHSA-1", None)
    }
    };
    let lodash = about("lodash", Some("4.17.15"), "node_modules/a/node_modules/lodash");
    let asks = |name: Option<&str>, version: Option<&str>, path: Option<&str>| SuppressionRule {
        package: PackageRule {
            name: name.map(str::to_owned),
            version: version.map(str::to_owned),
            path: path.map(str::to_owned),
        },
        ..rule("**")
    };
    for (rule, expected) in [
        (asks(Some("LODASH"), None, None), true),
        (asks(Some("lod*"), Some("4.17.*"), None), true),
        (asks(None, Some("4.1?.15"), Some("node_modules/**")), true),
        (asks(None, None, Some("**/a/**")), true),
        (asks(Some("lodash"), Some("4.18.*"), None), false),
        (asks(Some("lodas"), None, None), false),
        (asks(Some("lodash"), None, Some("node_modules/lodash")), false),
        (SuppressionRule { path: "api/**".to_owned(), ..asks(Some("lodash"), None, None) }, false),
        (
            SuppressionRule { rule_id: Some("CVE-*".to_owned()), ..asks(Some("*"), None, None) },
            false,
        ),
    ] {
        assert_eq!(suppresses(&rule, &lodash, TODAY), expected, "{rule:?}");
    }
    let unknown = about("lodash", None, "node_modules/lodash");
    assert!(
        !suppresses(&asks(Some("lodash"), Some("*"), None), &unknown, TODAY),
        "no version to match"
    );
    assert!(
        !suppresses(&asks(Some("*"), None, None), &finding("a.py", "B105", None), TODAY),
        "not about a package"
    );
}

#[test]
fn every_rule_that_covers_a_finding_is_named_in_order() {
    let rules = [rule("b"), rule("**"), rule("a"), rule("*a")];
    let matcher = Matcher::new(&[], &rules, TODAY);
    for _ in 0..2 {
        let covering = |path| matcher.suppressions(&finding(path, "R", None), &|_, _| false);
        assert_eq!((covering("a"), covering("b")), (vec![1, 2, 3], vec![0, 1]));
    }
}

#[test]
fn ids_and_days_are_as_published() {
    let bounded =
        SuppressionRule { rule_id: Some("R".to_owned()), line_start: Some(3), ..rule("p") };
    assert_eq!((bounded.id(), rule("p").id()), ("p|R|3|3".to_owned(), "p|*|*|*".to_owned()));
    assert_eq!(days_left("2026-07-01", TODAY), Some(16));
    assert_eq!(day_number("2024-03-01").unwrap() - day_number("2024-02-28").unwrap(), 2);
    assert_eq!(day_number("2001-01-01").unwrap() - day_number("2000-01-01").unwrap(), 366);
    assert_eq!((days_left("soon", TODAY), days_left(TODAY, "")), (None, None));
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
        findings
            .iter()
            .filter(|finding| !matcher.suppressions(finding, &|_, _| false).is_empty())
            .count(),
        100_000
    );
}

#[test]
fn a_directory_is_ignored_where_everything_below_it_is() {
    let matcher = |path: &str| {
        let ignore = IgnorePath { path: path.to_owned(), ..IgnorePath::default() };
        Matcher::new(&[ignore], &[], TODAY)
    };
    for (pattern, yes, no) in [
        (
            "third_party/**",
            &["third_party", "Third_Party"][..],
            &["third", "x/third_party", ""][..],
        ),
        ("third_party/*", &["third_party"], &["x"]),
        ("**/gen/**", &["gen", "a/gen", "a/b/gen"], &["a", "agen"]),
        ("gen", &[], &["gen"]),
        ("gen/", &[], &["gen"]),
        ("gen/**/*.py", &[], &["gen"]),
        ("**", &[], &["gen"]),
    ] {
        let matcher = matcher(pattern);
        for directory in yes {
            assert!(matcher.ignored_below(Path::new(directory)), "{pattern} {directory}");
            assert!(matcher.ignored(&Path::new(directory).join("x/y.z")), "{pattern} {directory}");
        }
        assert!(
            no.iter().all(|directory| !matcher.ignored_below(Path::new(directory))),
            "{pattern}"
        );
    }
}
