//! `ash config lint` and its fixes on whole files, byte for byte.

use std::path::Path;

use ash_config::edit::{Level, Lint, LintFinding, Remedy, fix, lint};
use proptest::prelude::*;

const BEFORE: &str = include_str!("lint/before.yaml");
const AFTER: &str = include_str!("lint/after.yaml");

fn options<'a>(unused: &'a [String]) -> Lint<'a> {
    Lint {
        file: Path::new(".ash.yaml"),
        known_scanners: &["mine"],
        today: "2026-06-15",
        is_directory: &|path| path == "docs",
        unused,
    }
}

fn rules(findings: &[LintFinding]) -> Vec<String> {
    let line = |finding: &LintFinding| finding.position().unwrap_or_default().0;
    findings.iter().map(|finding| format!("{}: {}", line(finding), finding.rule)).collect()
}

fn unused() -> [String; 1] {
    ["src/unused.py|B101|*|*".to_owned()]
}

#[test]
fn every_mistake_of_a_long_file_is_found() {
    let found = lint(BEFORE, &options(&unused()));
    let expected = [
        "3: quotes",
        "3: spelling",
        "4: unknown-key",
        "5: no-effect",
        "5: letter-case",
        "6: duplicate-key",
        "9: build-section",
        "14: letter-case",
        "17: bare-directory",
        "19: bare-directory",
        "21: multi-line-reason",
        "23: expired",
        "27: quotes",
        "28: open-ended",
        "30: multi-line-reason",
        "37: date",
        "40: date",
        "41: unused-suppression",
        "46: legacy-name",
        "48: internal-field",
        "50: unknown-option",
        "52: internal-field",
        "55: letter-case",
        "56: letter-case",
        "57: unknown-name",
        "61: legacy-name",
        "64: list",
        "67: letter-case",
    ];
    let mut rules = rules(&found);
    rules[..2].sort();
    assert_eq!(rules, expected);
}

#[test]
fn twenty_mistakes_are_put_right_and_every_comment_stays() {
    let done = fix(BEFORE, &options(&unused()), true, true);
    assert_eq!(done.text, AFTER);
    // The last one came to light when its date could be read.
    assert_eq!(done.fixed.len(), 27);
    assert_eq!(rules(&done.left), ["47: unknown-name"]);
    let again = fix(&done.text, &options(&unused()), true, true);
    assert_eq!((again.text.as_str(), again.fixed.len()), (AFTER, 0));
}

#[test]
fn line_breaks_and_the_byte_order_mark_are_kept() {
    let crlf = |text: &str| format!("\u{feff}{}", text.replace('\n', "\r\n"));
    assert_eq!(fix(&crlf(BEFORE), &options(&unused()), true, true).text, crlf(AFTER));
}

#[test]
fn unused_suppressions_are_left_alone_unless_asked_for() {
    let done = fix(BEFORE, &options(&unused()), true, false);
    assert!(done.text.contains("    - path: src/unused.py\n"));
    assert!(done.left.iter().any(|finding| finding.remedy == Remedy::FixUnused));
    let only = fix(BEFORE, &options(&unused()), false, true);
    assert_eq!(only.fixed.len(), 1);
    assert!(only.text.contains("severity_threshold: medium"));
}

#[test]
fn what_only_a_person_can_decide_is_told_and_left() {
    let cases = [
        // Two different sections under one key.
        (
            "scanners: {bandit: {enabled: true}}\nscanners: {grype: {enabled: true}}\n",
            "duplicate-key",
            Level::Error,
        ),
        (
            "sandbox: {network-scanners: [a], network_scanners: [b]}\n",
            "duplicate-key",
            Level::Error,
        ),
        // A guess must not grant anything.
        ("sandbox: {nework_scanners: [grype]}\n", "invalid", Level::Error),
        ("sandbox: {network_scanners: grype}\n", "invalid", Level::Error),
        // Another plugin's name.
        ("scanners: {bandit: {name: other}}\n", "internal-field", Level::Warning),
        ("global_settings: {fail_on_findings: true}\n", "invalid", Level::Error),
        ("global_settings: {suppressions: [{path: a}]}\n", "invalid", Level::Error),
        (
            "global_settings: {suppressions: [{path: a, reason: b, line_start: 3, line_end: 2}]}\n",
            "invalid",
            Level::Error,
        ),
        ("global_settings: {severity_threshold: INFO}\n", "invalid", Level::Error),
        ("sandbox: {env_scanners: [a]}\n", "no-effect", Level::Warning),
        ("a:\n\t- b\n", "syntax", Level::Error),
        ("a: [1\n", "syntax", Level::Error),
        ("a: \u{0}\n", "syntax", Level::Error),
        ("a: 1\n---\nb: 1\n", "syntax", Level::Error),
    ];
    for (text, rule, level) in cases {
        let done = fix(text, &options(&[]), true, true);
        assert_eq!(done.text, text);
        assert!(
            done.left.iter().any(|finding| finding.rule == rule && finding.level == level),
            "{text}: {:?}",
            done.left
        );
    }
}

#[test]
fn fixes_inside_and_around_an_entry_hit_that_entry_only() {
    // The first entry goes, and its other mistakes go with it; the second one keeps its own path.
    let text = "global_settings:\n  ignore_paths:\n    - path: a/\n      reason: x\n      expiration: 2020-1-1\n    - path: b.py\n      reason: y\n";
    let expected = "global_settings:\n  ignore_paths:\n    - path: b.py\n      reason: y\n";
    assert_eq!(fix(text, &options(&[]), true, false).text, expected);
    let flow = "global_settings: {ignore_paths: [{expiration: 2020-01-01, path: a/, reason: x}, {path: c/, reason: z}, {path: b/, reason: 'y\n\n  y', expiration: '2020-01-01'}]}\n";
    assert_eq!(
        fix(flow, &options(&[]), true, false).text,
        "global_settings: {ignore_paths: [{path: c/**, reason: z}]}\n"
    );
}

#[test]
fn json_is_linted_and_fixed_as_json() {
    let options = Lint { file: Path::new("ash.json"), ..options(&[]) };
    let text = "{\n  \"project_name\": 5,\n  \"project_name\": \"x\",\n  \"global_settings\": {\"severity_threshold\": \"high\"}\n}\n";
    let done = fix(text, &options, true, false);
    assert_eq!(
        done.text,
        "{\n  \"project_name\": \"x\",\n  \"global_settings\": {\"severity_threshold\": \"HIGH\"}\n}\n"
    );
    assert!(done.left.is_empty());
}

#[test]
fn toml_is_linted_and_never_changed() {
    let options = Lint { file: Path::new("pyproject.toml"), ..options(&[]) };
    let text = "[tool.ash.global_settings]\nseverity_threshold = 'high'\n";
    let done = fix(text, &options, true, false);
    assert_eq!(done.text, text);
    assert!(
        done.left.iter().all(|finding| finding.remedy == Remedy::ByHand) && done.left.len() == 1
    );
}

#[test]
fn a_huge_pile_of_mistakes_ends_in_time() {
    let entries: String = (0..600)
        .map(|number| format!("    - path: d{number}/\n      reason: |\n        a\n        b\n      expiration: 2020-01-01 # c{number}\n"))
        .collect();
    let text = format!("global_settings:\n  suppressions:\n{entries}");
    let started = std::time::Instant::now();
    let done = fix(&text, &options(&[]), true, false);
    assert!(done.text.contains("# c599"));
    assert!(started.elapsed() < std::time::Duration::from_secs(60), "{:?}", started.elapsed());
}

/// Entries as people write them, right and wrong, each with its own comments.
fn entries() -> impl Strategy<Value = String> {
    const TOP: &[&str] = &[
        "project_name: 7 # @\n",
        "fail_on_finding: true # @\n",
        "# @\nfail-on-findings: false\n",
        "content_db_staleness: WARN # @\n",
        "content_db_staleness: fail\n",
        "build: # @\n  # @\n  a: [1]\n",
        "ash_plugin_modules: x_ash_plugins # @\n",
        "sandbox: {mode: Auto} # @\n",
        "scanners:\n  # @\n  npm_audit: {enabled: true, extension: x} # @\n  bandit:\n    name: bandit # @\n    options: # @\n      confidence_level: ALL\n",
        "converters: {ArchiveConverter: {enabled: true}}\n",
        "unknown: [1, {a: 'x # y',\n  b: }] # @\n",
        "mcp_resource_management:\n  # @\n  max_concurrent_scans: 3\n",
    ];
    const RULES: &[&str] = &[
        "  - path: a/ # @\n    reason: |\n      x\n      # y\n",
        "  - {path: b/, reason: z, expiration: 2020-1-1} # @\n",
        "  # @\n  - expiration: '2020-01-01' # @\n    path: c # @\n    # @\n    reason: r\n",
        "  -\n    path: docs\n    # @\n    reason: w # @\n    line_start: 4\n",
        "  - path: d # @\n    reason: \"q\\nq\"\n    rule_id: 5\n",
    ];
    let pick = |from: &'static [&'static str]| {
        prop::sample::subsequence(from, 0..=from.len()).prop_shuffle()
    };
    (pick(TOP), pick(RULES), pick(RULES), any::<bool>()).prop_map(|(top, first, second, crlf)| {
        let mut text = top.concat();
        if !first.is_empty() || !second.is_empty() {
            text.push_str("global_settings: # @\n");
            for (key, rules) in [("ignore_paths", first), ("suppressions", second)] {
                text.push_str(&format!("  {key}:{}\n", if rules.is_empty() { " []" } else { "" }));
                text.push_str(&rules.concat());
            }
        }
        let mut number = 0;
        let numbered = text.split('@').map(str::to_owned).reduce(|text, rest| {
            number += 1;
            format!("{text}c{number};{rest}")
        });
        let text = numbered.unwrap_or_default();
        if crlf { text.replace('\n', "\r\n") } else { text }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_fix_is_made_and_every_comment_stays(text in entries()) {
        let done = fix(&text, &options(&[]), true, true);
        for number in 1..=text.matches("# c").count() {
            prop_assert_eq!(done.text.matches(&format!("# c{number};")).count(), 1, "{}\n=>\n{}", text, done.text);
        }
        let can_be_fixed: Vec<&LintFinding> =
            done.left.iter().filter(|finding| finding.remedy == Remedy::Fix).collect();
        prop_assert!(can_be_fixed.is_empty(), "{can_be_fixed:#?}\n{text}\n=>\n{}", done.text);
        prop_assert_eq!(done.text.contains("\r\n"), text.contains("\r\n"));
        prop_assert!(!done.left.iter().any(|finding| finding.rule == "syntax"), "{}\n=>\n{}", text, done.text);
    }

    #[test]
    fn any_text_is_linted_without_a_panic(text in "(scanners|sandbox|mode|suppressions|global_settings|path|reason|[-:#{}\\[\\],&*|>'\" \n\t\r\u{feff}\u{0}é]){0,30}") {
        for name in [".ash.yaml", "ash.json", "ash.toml"] {
            let options = Lint { file: Path::new(name), ..options(&[]) };
            let done = fix(&text, &options, true, true);
            prop_assert!(!done.left.is_empty() || !done.fixed.is_empty() || done.text == text);
        }
    }
}
