//! Exit codes and results of scans that work.

use crate::lab::Lab;

#[test]
fn findings_give_exit_code_2_and_are_in_every_report() {
    let lab = Lab::new();
    lab.bandit();
    let scanned = lab.scan(&["--scanners", "bandit", "--offline"]);
    assert_eq!(scanned.code, Some(2), "{}", scanned.stderr);
    assert_eq!(scanned.status("bandit"), "FAILED");
    assert_eq!(scanned.findings(), [("B404".to_owned(), "app.py".to_owned(), 1)]);
    assert!(
        std::fs::read_to_string(scanned.output.join("reports/ash.summary.txt"))
            .unwrap()
            .contains("bandit")
    );
    assert!(
        scanned.stdout.contains("bandit") && scanned.stdout.contains("FAILED"),
        "{}",
        scanned.stdout
    );
}

#[test]
fn the_default_is_off_and_says_which_flag_to_type() {
    let lab = Lab::new();
    lab.bandit();
    let scanned = lab.scan(&["--scanners", "bandit"]);
    assert_eq!(
        scanned.scanner("bandit")["sandbox"],
        serde_json::json!({"mode": "off", "backend": null, "tier": "none"})
    );
    assert!(
        scanned.stdout.contains("sandbox: off") && scanned.stdout.contains("--sandbox auto"),
        "{}",
        scanned.stdout
    );
}

#[test]
fn findings_that_do_not_fail_the_scan_give_0() {
    let lab = Lab::new();
    lab.bandit();
    assert_eq!(lab.scan(&["--scanners", "bandit", "--no-fail-on-findings"]).code, Some(0));
}

#[test]
fn a_threshold_above_every_finding_gives_0() {
    let lab = Lab::new();
    lab.bandit();
    let scanned = lab.scan(&[
        "--scanners",
        "bandit",
        "--config-overrides",
        "global_settings.severity_threshold=CRITICAL",
    ]);
    assert_eq!((scanned.code, scanned.status("bandit")), (Some(0), "PASSED"), "{}", scanned.stderr);
}

#[test]
fn the_sandbox_changes_no_finding_and_leaves_evidence() {
    let lab = Lab::new();
    lab.bandit();
    let off = lab.scan(&["--scanners", "bandit", "--offline"]);
    for backend in ["bwrap", "landlock"] {
        let scanned = lab.scan(&["--scanners", "bandit", "--offline", "--sandbox", backend]);
        assert_eq!(
            scanned.status("bandit"),
            "FAILED",
            "{backend}: {} {}",
            scanned.reason("bandit"),
            scanned.stderr
        );
        assert_eq!(scanned.findings(), off.findings(), "{backend}");
        let evidence = &scanned.scanner("bandit")["sandbox"];
        assert_eq!(
            (evidence["backend"].as_str(), evidence["network"].as_bool()),
            (Some(backend), Some(false)),
            "{evidence}"
        );
        assert!(evidence["spawns"].as_u64() >= Some(1));
    }
}

#[test]
fn a_mode_from_the_configuration_is_used() {
    let lab = Lab::new();
    lab.bandit();
    std::fs::create_dir_all(lab.path("source/.ash")).unwrap();
    std::fs::write(lab.path("source/.ash/.ash.yaml"), "sandbox:\n  mode: landlock\n").unwrap();
    let scanned = lab.scan(&["--scanners", "bandit", "--offline"]);
    assert_eq!(scanned.scanner("bandit")["sandbox"]["backend"], "landlock", "{}", scanned.stderr);
}

#[test]
fn wrong_words_are_usage_errors_and_a_wrong_config_is_3() {
    let lab = Lab::new();
    assert_eq!(lab.scan(&["--sandbox", "chroot"]).code, Some(2));
    assert_eq!(lab.scan(&["--scanners", "nobody"]).code, Some(2));
    assert_eq!(lab.scan(&["--config-overrides", "sandbox.mode=chroot"]).code, Some(3));
    assert_eq!(lab.scan_dir(&lab.path("nowhere"), &[]).code, Some(1));
}

#[test]
fn quiet_prints_nothing_and_returns_the_same_code() {
    let lab = Lab::new();
    lab.bandit();
    let scanned = lab.scan(&["--scanners", "bandit", "--quiet"]);
    assert_eq!((scanned.code, scanned.stdout.as_str(), scanned.stderr.as_str()), (Some(2), "", ""));
}

#[test]
fn what_the_tree_takes_out_of_the_scan_is_said() {
    let lab = Lab::new();
    lab.bandit();
    std::fs::write(lab.path("source/.gitignore"), "secret.py\n").unwrap();
    std::fs::write(lab.path("source/secret.py"), "x = 1\n").unwrap();
    std::fs::create_dir_all(lab.path("source/.ash")).unwrap();
    std::fs::write(
        lab.path("source/.ash/.ash.yaml"),
        "fail_on_findings: false\nglobal_settings:\n  severity_threshold: CRITICAL\n",
    )
    .unwrap();
    let scanned = lab.scan(&["--scanners", "bandit"]);
    assert_eq!(scanned.code, Some(0), "{}", scanned.stderr);
    assert!(
        scanned.stdout.contains("the threshold is CRITICAL, findings do not fail the scan"),
        "{}",
        scanned.stdout
    );
    assert!(
        scanned.stdout.contains("left out of the scan set by ignore files"),
        "{}",
        scanned.stdout
    );
    let told = scanned.results["notices"].to_string();
    assert!(told.contains("1 by `.gitignore`"), "{told}");
}
