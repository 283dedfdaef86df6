//! Settings of a configuration file, each seen by what it changes.

use serde_json::Value;

use crate::lab::{Lab, Scanned};

/// A scan with this configuration in the scanned directory.
fn scan(config: &str) -> Scanned {
    let lab = Lab::new();
    lab.bandit();
    std::fs::write(lab.path("source/.ash.yaml"), config).unwrap();
    std::fs::write(lab.path("source/other.py"), "x = 1\n").unwrap();
    let scanned = lab.scan(&["--scanners", "bandit", "--offline"]);
    // The directory goes with the lab: what is looked at later is read now.
    let reports = std::fs::read_dir(scanned.output.join("reports")).unwrap();
    let mut names: Vec<String> =
        reports.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    Scanned { stderr: format!("{}\n{}", scanned.stderr, names.join("\n")), ..scanned }
}

#[test]
fn a_report_that_is_turned_off_is_not_written() {
    let with = |scanned: &Scanned, name: &str| scanned.stderr.lines().any(|line| line == name);
    let all = scan("project_name: x\n");
    let some = scan(
        "reporters: {html: {enabled: false}, junitxml: {enabled: no}, csv: {enabled: true}, unused-suppressions: {options: {output_format: json}}}\n",
    );
    for (name, stays) in [
        ("ash.html", false),
        ("ash.junit.xml", false),
        ("ash.csv", true),
        ("ash.sarif", true),
        ("ash.unused-suppressions.json", true),
        ("ash.unused-suppressions.md", false),
    ] {
        assert!(with(&all, name), "{name}: {}", all.stderr);
        assert_eq!(with(&some, name), stays, "{name}: {}", some.stderr);
    }
    assert_ne!(some.results, Value::Null, "the aggregated results are always written");
    assert_eq!((all.code, some.code), (Some(2), Some(2)));
}

#[test]
fn thresholds_and_gates_decide_about_the_exit_code() {
    for (config, code) in [
        ("fail_on_findings: false\n", 0),
        ("global_settings: {severity_threshold: CRITICAL}\n", 0),
        ("scanners: {bandit: {options: {severity_threshold: CRITICAL}}}\n", 0),
        (
            "global_settings: {severity_threshold: CRITICAL}\nscanners: {bandit: {options: {severity_threshold: LOW}}}\n",
            2,
        ),
        ("global_settings: {ignore_paths: [{path: app.py, reason: x}]}\n", 0),
        ("global_settings: {suppressions: [{path: app.py, rule_id: b404, reason: x}]}\n", 0),
    ] {
        let scanned = scan(config);
        assert_eq!(scanned.code, Some(code), "{config}: {}", scanned.stderr);
    }
}

#[test]
fn a_setting_without_effect_is_said_and_changes_nothing() {
    let scanned =
        scan("external_reports_to_include: [other.sarif]\nscanners: {trivy: {enabled: true}}\n");
    assert_eq!(scanned.code, Some(2), "{}", scanned.stderr);
    let said = format!("{}{}", scanned.stdout, scanned.stderr);
    for words in
        ["external_reports_to_include", "merges no reports of other tools", "scanners.trivy"]
    {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn a_scanner_that_is_told_to_work_offline_has_no_network() {
    let lab = Lab::new();
    let network = |args: &[&str]| {
        let all = [&["sandbox", "explain", "semgrep", "--json"], args].concat();
        let output = lab.ash(&all).output().unwrap();
        serde_json::from_slice::<Value>(&output.stdout).unwrap()["network"].clone()
    };
    assert_eq!(network(&[]), Value::Bool(true));
    let offline = "scanners.semgrep.options.offline=true";
    assert_eq!(network(&["--config-overrides", offline]), Value::Bool(false));
    assert_eq!(
        network(&["--config-overrides", "scanners.bandit.options.offline=true"]),
        Value::Bool(true)
    );
}

#[test]
fn options_of_the_scanned_tree_that_narrow_the_scan_are_said_and_obeyed() {
    let lab = Lab::new();
    lab.bandit();
    let own = lab.path("source/.ash.yaml");
    let options = "scanners: {bandit: {options: {confidence_level: high}}, semgrep: {options: {exclude: [x]}}}\n";
    std::fs::write(&own, options).unwrap();
    let scan = |args: &[&str]| lab.scan(&[&["--scanners", "bandit", "--offline"], args].concat());
    let words = "`confidence_level`, set by the scanned tree, decides what this scanner looks for";
    let said = |scanned: &Scanned| {
        let text = scanned.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        let found = [text, scanned.results.to_string()].map(|text| text.contains(words));
        assert!(found[0] == found[1], "{}", scanned.stdout);
        assert!(!scanned.stdout.contains("scanners.semgrep"), "it does not run");
        found[0]
    };
    let by_tree = scan(&[]);
    assert!(said(&by_tree), "{}", by_tree.stdout);
    assert_eq!(by_tree.code, Some(2), "{}", by_tree.stderr);
    assert!(!said(&scan(&["--config-overrides", "scanners.bandit.options.confidence_level=high"])));
    let ops = lab.path("home/ops.yaml");
    std::fs::rename(own, &ops).unwrap();
    assert!(!said(&scan(&["--config", ops.to_str().unwrap()])), "the operator's own choice");
}
