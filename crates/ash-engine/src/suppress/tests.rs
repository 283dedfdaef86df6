//! Suppressions of settings over findings, and what is said of them afterwards.

use ash_config::{IgnorePath, PackageRule, ScannerSettings};
use ash_model::{
    finding::{Location, Region},
    ids::ScannerId,
    path::RelPath,
    severity::{Level, Severity},
    status::{Missing, Status},
    suppression::Fate,
};

use super::*;
use crate::{merge::apply, testing::scanner};

const TODAY: &str = "2026-06-15";

fn finding(rule_id: &str, path: &str, line: u64) -> Finding {
    Finding {
        scanner: ScannerId::builtin("bandit"),
        rule_id: rule_id.to_owned(),
        severity: Severity::High,
        level: Level::Error,
        message: "m".to_owned(),
        location: Some(Location {
            path: RelPath::new(path).unwrap(),
            region: Some(Region {
                start_line: line,
                start_column: None,
                end_line: None,
                end_column: None,
            }),
            snippet: None,
        }),
        suppressions: vec![],
        properties: serde_json::Map::new(),
        extra: serde_json::Map::new(),
    }
}

fn rule(path: &str, rule_id: Option<&str>) -> SuppressionRule {
    SuppressionRule {
        path: path.to_owned(),
        reason: "known".to_owned(),
        rule_id: rule_id.map(str::to_owned),
        ..SuppressionRule::default()
    }
}

fn judge(suppressions: Vec<SuppressionRule>, ignore: bool) -> FromSettings {
    let settings = Settings { suppressions, ..Settings::default() };
    FromSettings::new(&settings, ignore, TODAY.to_owned())
}

/// Every file holds one class with one method in it.
struct Files;
impl SourceReader for Files {
    fn read(&self, _: &RelPath, _: u64) -> Option<Vec<u8>> {
        Some(
            b"class Store:\n    def load(self):\n        return 1\n\nx = 1\n# ash-ignore: B9\n"
                .to_vec(),
        )
    }
}

fn suppressed(judgement: &dyn Judgement, findings: &[Finding]) -> Vec<bool> {
    let mut findings = findings.to_vec();
    apply(&mut findings, judgement, &Files);
    findings.iter().map(Finding::is_suppressed).collect()
}

fn passed(name: &'static str) -> ScannerReport {
    scanner(name, Status::Passed, 0)
}

/// What is said of suppressions that cover nothing after these scanners.
fn fates(suppressions: Vec<SuppressionRule>, scanners: &[ScannerReport]) -> Vec<Fate> {
    judge(suppressions, false)
        .records(scanners, false)
        .into_iter()
        .map(|record| record.fate)
        .collect()
}

fn not_judged(why: &str) -> Fate {
    Fate::NotJudged(why.to_owned())
}

#[test]
fn a_suppressed_finding_says_by_what_in_the_words_of_old() {
    let mut findings = vec![finding("B105", "src/a.py", 3)];
    apply(&mut findings, &judge(vec![rule("src/**", Some("B1*"))], false), &Files);
    let expected = Suppression {
        kind: "inSource".to_owned(),
        justification: Some(
            "(ASH) Suppressing finding for rule 'B105' in 'src/a.py' with reason: known".to_owned(),
        ),
        counts: true,
    };
    assert_eq!(findings[0].suppressions, [expected]);
}

#[test]
fn what_is_in_a_directory_of_packages_is_ignored_and_a_file_of_that_name_is_not() {
    let judgement = judge(vec![], false);
    for name in ["node_modules", ".venv", "venv"] {
        for (path, expected) in [
            (format!("{name}/a.py"), true),
            (format!("b/{name}/c/a.py"), true),
            (name.to_owned(), false),
            (format!("b/{name}"), false),
            (format!("b/{name}/{name}"), true),
        ] {
            assert_eq!(judgement.ignored(&finding("B1", &path, 1)), expected, "{path}");
        }
    }
    let audited = Finding {
        scanner: ScannerId::builtin("npm-audit"),
        ..finding("GHSA-1", "node_modules/a/package.json", 1)
    };
    assert!(!judgement.ignored(&audited));
}

#[test]
fn a_finding_its_tool_suppressed_gets_no_second_entry_and_still_uses_the_suppression() {
    let judgement = judge(vec![rule("**", None)], false);
    let by_tool = Suppression { kind: "inSource".to_owned(), justification: None, counts: true };
    let mut findings = vec![Finding { suppressions: vec![by_tool], ..finding("B1", "a.py", 1) }];
    apply(&mut findings, &judgement, &Files);
    assert_eq!(findings[0].suppressions.len(), 1);
    assert_eq!(judgement.records(&[passed("bandit")], false)[0].fate, Fate::Used);
}

#[test]
fn ignore_suppressions_takes_back_those_of_settings_comments_and_tools_and_keeps_ignored_paths() {
    let by_tool = Suppression {
        kind: "inSource".to_owned(),
        justification: Some("nosemgrep".to_owned()),
        counts: true,
    };
    let findings = [
        finding("B1", "a.py", 1),
        finding("B9", "b.py", 6),
        Finding { suppressions: vec![by_tool], ..finding("B2", "b.py", 1) },
        finding("B1", "gone.py", 1),
    ];
    let settings = Settings {
        suppressions: vec![rule("a.py", None)],
        ignore_paths: vec![IgnorePath { path: "gone.py".to_owned(), ..IgnorePath::default() }],
        ..Settings::default()
    };
    let on = |ignore| FromSettings::new(&settings, ignore, TODAY.to_owned());
    assert_eq!(suppressed(&on(false), &findings), [true, true, true]);
    assert_eq!(suppressed(&on(true), &findings), [false, false, false]);
    let mut kept = findings.to_vec();
    apply(&mut kept, &on(true), &Files);
    assert_eq!(kept[2].suppressions.len(), 1, "what the tool said stays visible");
}

#[test]
fn a_suppression_that_covers_nothing_is_unused_only_when_its_scanner_looked_at_everything() {
    let partly = ScannerReport { unevaluated: vec!["a.py".to_owned()], ..passed("bandit") };
    let gone = Status::Missing(Missing { reason: "gone".to_owned(), by_sandbox: false });
    for (report, expected) in [
        (passed("bandit"), Fate::Unused),
        (scanner("bandit", Status::Failed, 1), Fate::Unused),
        (partly, not_judged("bandit did not evaluate everything")),
        (scanner("bandit", gone, 0), not_judged("bandit did not run (MISSING)")),
        (
            scanner("bandit", Status::Error("x".to_owned()), 0),
            not_judged("bandit did not run (ERROR)"),
        ),
        (
            scanner("bandit", Status::Skipped("x".to_owned()), 0),
            not_judged("bandit did not run (SKIPPED)"),
        ),
    ] {
        let broken = scanner("checkov", Status::Error("x".to_owned()), 0);
        assert_eq!(
            fates(vec![rule("a.py", Some("b105"))], &[report.clone(), broken]),
            [expected],
            "{:?}",
            report.status
        );
    }
}

#[test]
fn a_suppression_of_any_rule_is_about_every_scanner() {
    let nobody = |status| [passed("bandit"), scanner("checkov", status, 0)];
    let error = nobody(Status::Error("x".to_owned()));
    for rule_id in [None, Some("*"), Some("B*"), Some("python.lang.x"), Some("GHSA-1")] {
        assert_eq!(
            fates(vec![rule("a", rule_id)], &error),
            [not_judged("checkov did not run (ERROR)")],
            "{rule_id:?}"
        );
    }
    assert_eq!(fates(vec![rule("a", Some("B105"))], &error), [Fate::Unused]);
    let no_file_of_its_kind = nobody(Status::Skipped("no template".to_owned()));
    assert_eq!(fates(vec![rule("a", None)], &no_file_of_its_kind), [Fate::Unused]);
    let offline = judge(vec![rule("a", None)], false).records(&no_file_of_its_kind, true);
    assert_eq!(offline[0].fate, not_judged("checkov did not run (SKIPPED)"));
    let mut unselected = no_file_of_its_kind;
    unselected[1].dependencies_satisfied = false;
    assert_eq!(
        fates(vec![rule("a", None)], &unselected),
        [not_judged("checkov did not run (SKIPPED)")]
    );
}

#[test]
fn a_scanner_the_configuration_turns_off_says_nothing_about_suppressions_of_any_rule() {
    let off = ScannerSettings { enabled: Some(false), ..ScannerSettings::default() };
    let settings = Settings {
        suppressions: vec![rule("a", None), rule("a", Some("CKV_AWS_1"))],
        scanners: [("checkov".to_owned(), off)].into(),
        ..Settings::default()
    };
    let skipped = ScannerReport {
        dependencies_satisfied: false,
        ..scanner("checkov", Status::Skipped("off".to_owned()), 0)
    };
    let judgement = FromSettings::new(&settings, false, TODAY.to_owned());
    let fates: Vec<_> = judgement
        .records(&[passed("bandit"), skipped], false)
        .into_iter()
        .map(|record| record.fate)
        .collect();
    assert_eq!(fates, [Fate::Unused, not_judged("checkov did not run (SKIPPED)")]);
}

#[test]
fn a_scanner_that_works_offline_by_its_own_option_may_have_skipped_what_it_would_find() {
    let mut options = serde_json::Map::new();
    options.insert("offline".to_owned(), true.into());
    let own = ScannerSettings { options, ..ScannerSettings::default() };
    let settings = Settings {
        suppressions: vec![rule("package-lock.json", None)],
        scanners: [("npm-audit".to_owned(), own)].into(),
        ..Settings::default()
    };
    let judgement = FromSettings::new(&settings, false, TODAY.to_owned());
    let skipped = scanner("npm-audit", Status::Skipped("no network".to_owned()), 0);
    assert_eq!(
        judgement.records(&[passed("bandit"), skipped], false)[0].fate,
        not_judged("npm-audit did not run (SKIPPED)")
    );
}

#[test]
fn every_suppression_that_covers_a_finding_is_used_and_counted() {
    let judgement =
        judge(vec![rule("**", None), rule("a.py", Some("B1")), rule("c.py", Some("B1#"))], false);
    suppressed(&judgement, &[finding("B1", "a.py", 1), finding("B2", "a.py", 2)]);
    let records = judgement.records(&[passed("bandit")], false);
    let told: Vec<_> = records.iter().map(|record| (record.covered, record.fate.clone())).collect();
    assert_eq!(told, [(2, Fate::Used), (1, Fate::Used), (0, Fate::Unused)]);
}

#[test]
fn an_expired_suppression_covers_nothing_and_is_called_expired() {
    let old = SuppressionRule { expiration: Some(TODAY.to_owned()), ..rule("**", None) };
    let judgement = judge(vec![old.clone()], false);
    assert_eq!(suppressed(&judgement, &[finding("B1", "a.py", 1)]), [false]);
    assert_eq!(judgement.records(&[], false)[0].fate, Fate::Expired);
    assert_eq!(
        judge(vec![old, rule("**", None)], true).records(&[], false)[1].fate,
        not_judged("suppressions were ignored (`--ignore-suppressions`)")
    );
}

#[test]
fn of_two_with_one_id_neither_is_unused_while_one_is_needed() {
    let about = |name: &str| SuppressionRule {
        package: PackageRule { name: Some(name.to_owned()), ..PackageRule::default() },
        ..rule("**", Some("B1"))
    };
    let judgement = judge(vec![about("a"), about("b")], false);
    let mut about_a = finding("B1", "a.py", 1);
    about_a.properties.insert("package_name".to_owned(), "a".into());
    suppressed(&judgement, &[about_a]);
    let fates: Vec<_> = judgement
        .records(&[passed("bandit")], false)
        .into_iter()
        .map(|record| record.fate)
        .collect();
    assert_eq!(
        fates,
        [
            Fate::Used,
            not_judged("another suppression of the same path, rule and lines may be needed")
        ]
    );
}

#[test]
fn a_symbol_covers_what_lies_in_it_or_nothing_with_a_notice() {
    let named =
        |symbol: &str| SuppressionRule { symbol: Some(symbol.to_owned()), ..rule("a.py", None) };
    let judgement = judge(vec![named("Store.load")], false);
    let inside = suppressed(&judgement, &[finding("B1", "a.py", 3), finding("B1", "a.py", 5)]);
    assert_eq!(inside, [symbols::AVAILABLE, false]);
    assert_eq!(judgement.notices().len(), usize::from(!symbols::AVAILABLE));
    let expected = if symbols::AVAILABLE {
        Fate::Used
    } else {
        not_judged("this ash was built without the feature `symbols`")
    };
    assert_eq!(judgement.records(&[passed("bandit")], false)[0].fate, expected);

    let wrong = judge(vec![named("Shop.load")], false);
    assert_eq!(suppressed(&wrong, &[finding("B1", "a.py", 3)]), [false]);
    let said = wrong.notices()[0].line();
    assert!(said.starts_with("suppression of symbol `Shop.load`: "), "{said}");
    assert!(
        !symbols::AVAILABLE || said.contains("not resolved: `a.py` has no such symbol"),
        "{said}"
    );
}
