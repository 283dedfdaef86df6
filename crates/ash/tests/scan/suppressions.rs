//! Suppressions from the configuration, comments and tools, through to the reports and `ash config lint --fix-unused`.

use std::fs;

use serde_json::{Value, json};

use crate::lab::{Lab, Scanned};

/// A stand-in bandit with these findings: rule, file, line.
fn bandit(lab: &Lab, findings: &[(&str, &str, u64)]) {
    let source = lab.path("source");
    let results: Vec<Value> = findings
        .iter()
        .map(|(rule, file, line)| {
            json!({"filename": source.join(file), "test_id": rule, "test_name": "t", "issue_text": "stand-in", "issue_severity": "HIGH",
                "issue_confidence": "HIGH", "issue_cwe": {"id": 78, "link": ""}, "more_info": "", "line_number": line, "line_range": [line],
                "col_offset": 0, "end_col_offset": 1, "code": "x\n"})
        })
        .collect();
    let report = json!({"errors": [], "generated_at": "2026-01-01T00:00:00Z", "metrics": {}, "results": results});
    lab.tool(
        "bandit",
        &format!(
            "[ \"$1\" = --version ] && {{ echo 'bandit 1.9.4'; exit 0; }}\nwhile [ $# -gt 0 ]; do case \"$1\" in --output) out=$2; shift;; --output=*) out=${{1#--output=}};; esac; shift; done\ncat > \"$out\" <<'JSON'\n{report}\nJSON\nexit 1"
        ),
    );
}

fn configure(lab: &Lab, text: &str) {
    fs::create_dir_all(lab.path("source/.ash")).unwrap();
    fs::write(lab.path("source/.ash/.ash.yaml"), text).unwrap();
}

fn unused(scanned: &Scanned) -> Value {
    let file = scanned.output.join("reports/ash.unused-suppressions.json");
    serde_json::from_slice(&fs::read(file).unwrap()).unwrap()
}

fn ids(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|entry| entry["id"].as_str().unwrap()).collect()
}

const CONFIG: &str = r#"global_settings:
  suppressions:
    - path: app.py # reviewed in spring
      rule_id: B404
      reason: no user input
    - path: "**"
      rule_id: B10?
      line_start: 10
      line_end: 20
      reason: of another file
    - path: gone.py
      reason: the file is no more
    - path: app.py
      rule_id: CKV_DOCKER_2
      reason: no health check
    - path: app.py
      rule_id: B602
      reason: old
      expiration: "2020-01-01"
"#;

#[test]
fn a_scan_tells_unused_suppressions_and_lint_comments_them_out() {
    let lab = Lab::new();
    bandit(&lab, &[("B404", "app.py", 1), ("B602", "app.py", 4)]);
    configure(&lab, CONFIG);
    let scan = lab.ash(&["scan", "--scanners", "bandit"]).output().unwrap();
    let stderr = String::from_utf8_lossy(&scan.stderr);
    assert_eq!(scan.status.code(), Some(2), "the expired one no longer applies: {stderr}");
    assert!(
        stderr.contains(
            "note: suppression of `B602` in `app.py`: expired on 2020-01-01 and no longer applies"
        ),
        "{stderr}"
    );
    let stdout = String::from_utf8_lossy(&scan.stdout);
    assert!(stdout.contains("suppressions of the configuration: 1 covers nothing that was found; reports/ash.unused-suppressions.md has them"), "{stdout}");
    let reports = lab.path("source/.ash/ash_output/reports");
    let report: Value =
        serde_json::from_slice(&fs::read(reports.join("ash.unused-suppressions.json")).unwrap())
            .unwrap();
    assert_eq!(
        report["summary"],
        json!({"total_suppressions": 5, "used_suppressions": 1, "unused_suppressions": 1, "expired_suppressions": 1, "not_judged": 2})
    );
    assert_eq!(
        report["unused_suppressions"],
        json!([{"id": "**|B10?|10|20", "path": "**", "rule_id": "B10?", "line_start": 10, "line_end": 20, "reason": "of another file", "expiration": null, "findings": 0}])
    );
    assert_eq!(ids(&report["expired_suppressions"]), ["app.py|B602|*|*"]);
    assert_eq!(ids(&report["not_judged"]), ["gone.py|*|*|*", "app.py|CKV_DOCKER_2|*|*"]);
    assert_eq!(report["not_judged"][1]["why"], "checkov did not run (SKIPPED)");
    assert_eq!(ids(&report["used_suppressions"]), ["app.py|B404|*|*"]);
    let text = fs::read_to_string(reports.join("ash.unused-suppressions.md")).unwrap();
    assert!(
        text.contains(
            "5 suppressions in the configuration: 1 used, 1 unused, 1 expired, 2 not judged."
        ),
        "{text}"
    );

    let lint = lab.ash(&["config", "lint", "--fix-unused", "-y"]).output().unwrap();
    assert_eq!(lint.status.code(), Some(0), "{}", String::from_utf8_lossy(&lint.stderr));
    let fixed = fs::read_to_string(lab.path("source/.ash/.ash.yaml")).unwrap();
    assert!(
        fixed.contains("    - path: app.py # reviewed in spring\n      rule_id: B404\n"),
        "{fixed}"
    );
    assert!(fixed.contains("# - path: \"**\"\n") && fixed.contains("unused on "), "{fixed}");
    assert!(
        fixed.contains("\n    - path: gone.py\n")
            && fixed.contains("      rule_id: CKV_DOCKER_2\n"),
        "what was not judged stays: {fixed}"
    );

    let again = lab.ash(&["scan", "--scanners", "bandit"]).output().unwrap();
    assert_eq!(again.status.code(), Some(2));
    let report: Value =
        serde_json::from_slice(&fs::read(reports.join("ash.unused-suppressions.json")).unwrap())
            .unwrap();
    assert_eq!(report["summary"]["unused_suppressions"], 0, "{report}");
}

#[test]
fn a_suppressed_finding_is_kept_and_does_not_count() {
    let lab = Lab::new();
    bandit(&lab, &[("B404", "app.py", 1)]);
    configure(&lab, CONFIG);
    let scanned = lab.scan(&["--scanners", "bandit"]);
    assert_eq!((scanned.code, scanned.status("bandit")), (Some(0), "PASSED"), "{}", scanned.stderr);
    let bandit = scanned.scanner("bandit");
    assert_eq!(
        (bandit["suppressed_finding_count"].as_u64(), bandit["finding_count"].as_u64()),
        (Some(1), Some(0))
    );
    assert_eq!(scanned.results["used_suppressions"], json!(["app.py|B404|*|*"]));
    let sarif: Value =
        serde_json::from_slice(&fs::read(scanned.output.join("reports/ash.sarif")).unwrap())
            .unwrap();
    assert_eq!(
        sarif["runs"][0]["results"][0]["suppressions"],
        json!([{"kind": "inSource", "status": "accepted", "justification": "(ASH) Suppressing finding for rule 'B404' in 'app.py' with reason: no user input"}])
    );
}

#[test]
fn nothing_is_called_unused_after_a_scanner_that_failed_or_with_suppressions_ignored() {
    let lab = Lab::new();
    bandit(&lab, &[]);
    configure(&lab, CONFIG);
    let ignored = lab.scan(&["--scanners", "bandit", "--ignore-suppressions"]);
    assert_eq!(ids(&unused(&ignored)["unused_suppressions"]), [""; 0]);
    assert_eq!(
        unused(&ignored)["not_judged"][0]["why"],
        "suppressions were ignored (`--ignore-suppressions`)"
    );
    lab.tool("bandit", "exit 3");
    let failed = lab.scan(&["--scanners", "bandit"]);
    assert_eq!((failed.code, failed.status("bandit")), (Some(1), "ERROR"));
    assert_eq!(ids(&unused(&failed)["unused_suppressions"]), [""; 0]);
    assert_eq!(unused(&failed)["not_judged"][0]["why"], "bandit did not run (ERROR)");
}

#[test]
fn comments_suppress_their_own_line_or_the_next_and_ignore_suppressions_takes_them_back() {
    let lab = Lab::new();
    fs::write(
        lab.path("source/app.py"),
        "import os  # ash-ignore: b404 a fixed command\n# ash-ignore-next-line: B602\nos.system('x')\n# ash-ignore: B1*\n",
    )
    .unwrap();
    fs::write(
        lab.path("source/app.js"),
        "f() // ash-ignore: B105 example\n/* ash-ignore: B106 */ g()\n",
    )
    .unwrap();
    let all = [
        ("B404", "app.py", 1),
        ("B602", "app.py", 3),
        ("B105", "app.js", 1),
        ("B106", "app.js", 2),
        ("B101", "app.py", 4),
    ];
    bandit(&lab, &all);
    let scanned = lab.scan(&["--scanners", "bandit"]);
    assert_eq!(scanned.scanner("bandit")["suppressed_finding_count"], 3, "{}", scanned.stderr);
    assert_eq!(scanned.scanner("bandit")["actionable_finding_count"], 2);
    let sarif = fs::read_to_string(scanned.output.join("reports/ash.sarif")).unwrap();
    assert!(
        sarif.contains("(ASH inline) a fixed command") && sarif.contains("(ASH inline) example")
    );
    let all_count = lab.scan(&["--scanners", "bandit", "--ignore-suppressions"]);
    assert_eq!(all_count.scanner("bandit")["actionable_finding_count"], 5);
}

#[test]
fn ignored_paths_drop_findings_even_with_suppressions_ignored() {
    let lab = Lab::new();
    bandit(
        &lab,
        &[("B404", "app.py", 1), ("B404", "tests/t.py", 1), ("B404", "node_modules/x/a.py", 1)],
    );
    configure(
        &lab,
        "global_settings:\n  ignore_paths:\n    - path: tests/**\n      reason: fixtures\n",
    );
    for more in [&[][..], &["--ignore-suppressions"][..]] {
        let scanned = lab.scan(&[&["--scanners", "bandit"][..], more].concat());
        assert_eq!(scanned.findings(), [("B404".to_owned(), "app.py".to_owned(), 1)]);
    }
}

#[test]
fn an_ignored_path_leaves_out_exactly_the_files_whose_findings_it_drops_until_its_day() {
    let lab = Lab::new();
    for file in ["gen/a.py", "gen/x/b.py", "lib/gen/c.py", "docs", "lib/docs/d.py", "old/e.py"] {
        fs::create_dir_all(lab.path("source").join(file).parent().unwrap()).unwrap();
        fs::write(lab.path("source").join(file), "x = 1\n").unwrap();
    }
    configure(
        &lab,
        "global_settings:\n  ignore_paths:\n    - {path: GEN/**, reason: made}\n    - {path: docs, reason: a file}\n    - {path: old/**, reason: r, expiration: '2020-01-01'}\n",
    );
    let all = ["gen/a.py", "gen/x/b.py", "lib/gen/c.py", "docs", "lib/docs/d.py", "old/e.py"];
    bandit(&lab, &all.map(|file| ("B1", file, 1)));
    let scanned = lab.scan(&["--scanners", "bandit"]);
    let kept = ["lib/docs/d.py", "lib/gen/c.py", "old/e.py"];
    let found: Vec<_> = scanned.findings().into_iter().map(|(_, file, _)| file).collect();
    assert_eq!(found, kept, "{}", scanned.stderr);
    let listed = fs::read_to_string(scanned.output.join("ash-scan-set-files-list.txt")).unwrap();
    let listed: Vec<_> = listed.lines().filter(|file| all.contains(file)).collect();
    assert_eq!(listed, kept, "the scan set and the findings agree");
    assert!(
        scanned
            .stderr
            .contains("note: ignored path `old/**`: expired on 2020-01-01 and no longer applies"),
        "{}",
        scanned.stderr
    );
}

#[test]
fn a_symbol_is_resolved_or_said_not_to_be() {
    let lab = Lab::new();
    fs::write(
        lab.path("source/app.py"),
        "class Store:\n    def load(self):\n        eval('1')\n\neval('2')\n",
    )
    .unwrap();
    bandit(&lab, &[("B307", "app.py", 3), ("B307", "app.py", 5)]);
    configure(
        &lab,
        "global_settings:\n  suppressions:\n    - path: app.py\n      symbol: Store.load\n      reason: constant\n",
    );
    let scanned = lab.scan(&["--scanners", "bandit"]);
    assert_eq!(scanned.code, Some(2));
    let suppressed = scanned.scanner("bandit")["suppressed_finding_count"].as_u64();
    if cfg!(feature = "symbols") {
        assert_eq!(suppressed, Some(1), "{}", scanned.stderr);
    } else {
        assert_eq!(suppressed, Some(0));
        let said = "note: suppression of symbol `Store.load`: this ash was built without the feature `symbols`; its findings count";
        assert!(scanned.stderr.contains(said), "{}", scanned.stderr);
        assert!(scanned.stdout.contains("without the feature `symbols`"), "{}", scanned.stdout);
        let valid = lab.ash(&["config", "validate"]).output().unwrap();
        let stderr = String::from_utf8_lossy(&valid.stderr);
        assert!(valid.status.success() && stderr.contains(said), "{stderr}");
    }
}

/// A tool's own suppressions, as semgrep writes them.
#[test]
fn a_tools_suppressions_count_when_accepted_are_said_and_can_be_taken_back() {
    let lab = Lab::new();
    let result = |rule: &str, suppressions: Value| {
        json!({"ruleId": rule, "level": "error", "message": {"text": "m"}, "suppressions": suppressions, "locations": [{"physicalLocation": {
            "artifactLocation": {"uri": "app.py"}, "region": {"startLine": 1}}}]})
    };
    let results = [
        result("open", json!([])),
        result("accepted", json!([{"kind": "inSource"}])),
        result("rejected", json!([{"kind": "inSource", "status": "rejected"}])),
        result("reviewed", json!([{"kind": "external", "status": "underReview"}])),
        result(
            "disputed",
            json!([{"kind": "inSource"}, {"kind": "external", "status": "rejected"}]),
        ),
    ];
    let log = json!({"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "Semgrep OSS"}}, "results": results, "invocations": [{"executionSuccessful": true}]}]});
    lab.tool(
        "semgrep",
        &format!("[ \"$1\" = --version ] && {{ echo 1.185.0; exit 0; }}\nfor word in \"$@\"; do case \"$word\" in --sarif-output=*) out=${{word#--sarif-output=}};; --json-output=*) echo '{{\"errors\": []}}' > \"${{word#--json-output=}}\";; esac; done\ncat > \"$out\" <<'JSON'\n{log}\nJSON"),
    );
    let scan =
        |more: &[&str]| lab.scan(&[&["--scanners", "semgrep", "--offline"][..], more].concat());
    let scanned = scan(&[]);
    let counts = |scanned: &Scanned| {
        let semgrep = scanned.scanner("semgrep");
        (semgrep["suppressed_finding_count"].as_u64(), semgrep["actionable_finding_count"].as_u64())
    };
    assert_eq!(counts(&scanned), (Some(1), Some(4)), "{}", scanned.stderr);
    let said = "suppressions in the scanned files: 1 finding does not count (semgrep 1); `--ignore-suppressions` counts them";
    assert!(
        scanned.stderr.contains(said) && scanned.stdout.contains("1 finding does not count"),
        "{}",
        scanned.stdout
    );
    let all = scan(&["--ignore-suppressions"]);
    assert_eq!(counts(&all), (Some(0), Some(5)));
    let sarif: Value =
        serde_json::from_slice(&fs::read(all.output.join("reports/ash.sarif")).unwrap()).unwrap();
    let accepted = sarif["runs"][0]["results"]
        .as_array()
        .unwrap()
        .iter()
        .find(|result| result["ruleId"] == "accepted")
        .unwrap();
    assert_eq!(
        accepted["suppressions"],
        json!([{"kind": "inSource", "status": "rejected"}]),
        "shown, and not obeyed"
    );
}

/// The blocks of one language in the documentation.
fn documented(language: &str) -> Vec<String> {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/suppressions.md");
    let text = fs::read_to_string(page).unwrap();
    let opening = format!("```{language}\n");
    text.split(&opening).skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

#[test]
fn the_documented_configuration_is_valid_and_covers_what_the_page_says() {
    let lab = Lab::new();
    let blocks = documented("yaml");
    assert_eq!(blocks.len(), 2);
    for block in &blocks {
        configure(&lab, block);
        let lint = lab.ash(&["config", "lint"]).output().unwrap();
        assert_eq!(lint.status.code(), Some(0), "{block}{}", String::from_utf8_lossy(&lint.stderr));
    }
    configure(&lab, &blocks[0]);
    let findings = [
        ("B602", "src/deploy.py", 44),
        ("B602", "src/deploy.py", 49),
        ("B404", "src/deploy.py", 44),
        ("B105", "tests/a/b.py", 1),
        ("B105", "src/a.py", 1),
    ];
    bandit(&lab, &findings);
    let scanned = lab.scan(&["--scanners", "bandit"]);
    assert_eq!(scanned.scanner("bandit")["suppressed_finding_count"], 2, "{}", scanned.stderr);
    configure(&lab, &blocks[1]);
    bandit(&lab, &[("B602", "third_party/x/a.py", 1), ("B602", "src/a.py", 1)]);
    assert_eq!(lab.scan(&["--scanners", "bandit"]).findings().len(), 1);
}

#[test]
fn the_documented_comments_suppress_the_lines_they_are_about() {
    let lab = Lab::new();
    for (language, file, rule) in
        [("python", "app.py", "B602"), ("javascript", "app.js", "ash.js.exec")]
    {
        let [block] = documented(language).try_into().unwrap();
        fs::write(lab.path("source").join(file), block).unwrap();
        let lines = [1, 2, 3].map(|line| (rule, file, line));
        bandit(&lab, &lines);
        let scanned = lab.scan(&["--scanners", "bandit"]);
        assert_eq!(scanned.scanner("bandit")["suppressed_finding_count"], 2, "{language}");
    }
}
