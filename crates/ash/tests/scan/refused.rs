//! A sandbox that was asked for and cannot be had: MISSING, and the tool never starts.

use crate::lab::{self, Lab};

/// A stand-in that proves by a file on the host that it was started.
fn marked(lab: &Lab) -> std::path::PathBuf {
    let marker = lab.path("started");
    lab.tool("bandit", &format!("echo started > '{}'\nexit 0", marker.display()));
    marker
}

#[test]
fn the_marker_appears_when_nothing_confines_the_tool() {
    let lab = Lab::new();
    let marker = marked(&lab);
    lab.scan(&["--scanners", "bandit"]);
    assert!(marker.exists(), "the control did not run");
}

#[test]
fn a_bwrap_that_cannot_start_leaves_the_scanner_missing_with_its_words() {
    let lab = Lab::new();
    let marker = marked(&lab);
    lab.tool("bwrap", "echo 'bwrap: setting up uid map: Permission denied' >&2\nexit 1");
    let scanned = lab.scan(&["--scanners", "bandit", "--sandbox", "bwrap"]);
    assert_eq!((scanned.code, scanned.status("bandit")), (Some(1), "MISSING"));
    assert!(
        scanned.reason("bandit").contains("setting up uid map: Permission denied"),
        "{}",
        scanned.reason("bandit")
    );
    assert!(
        scanned.reason("bandit").contains("apparmor_restrict_unprivileged_userns"),
        "{}",
        scanned.reason("bandit")
    );
    assert!(!marker.exists(), "the tool was started");
}

#[test]
fn without_bwrap_the_scanner_is_missing_and_the_package_is_named() {
    let lab = Lab::new();
    let marker = marked(&lab);
    let mut command =
        lab.ash(&["scan", "--scanners", "bandit", "--sandbox", "bwrap", "--output-dir"]);
    command.arg(lab.path("out")).env("PATH", lab.path("bin"));
    let finished = command.output().unwrap();
    let scanned = crate::lab::read(finished, lab.path("out"));
    assert_eq!((scanned.code, scanned.status("bandit")), (Some(1), "MISSING"));
    assert!(scanned.reason("bandit").contains("bubblewrap"), "{}", scanned.reason("bandit"));
    assert!(!marker.exists(), "the tool was started");
}

#[test]
fn a_backend_of_another_system_is_named_with_the_platform() {
    let lab = Lab::new();
    let marker = marked(&lab);
    let scanned = lab.scan(&["--scanners", "bandit", "--sandbox", "sandbox-exec"]);
    assert_eq!((scanned.code, scanned.status("bandit")), (Some(1), "MISSING"));
    let reason = scanned.reason("bandit");
    assert!(reason.contains("sandbox-exec") && reason.to_lowercase().contains("linux"), "{reason}");
    assert!(!marker.exists(), "the tool was started");
}

#[test]
fn auto_passes_over_a_broken_bwrap_and_says_so() {
    let lab = Lab::new();
    lab.bandit();
    lab.tool("bwrap", "echo 'bwrap: No permissions to create new namespace' >&2\nexit 1");
    lab.tool("firejail", "exit 1");
    let scanned = lab.scan(&["--scanners", "bandit", "--sandbox", "auto", "--offline"]);
    assert_eq!(scanned.scanner("bandit")["sandbox"]["backend"], "landlock", "{}", scanned.stderr);
    let said = scanned.results["notices"].to_string();
    assert!(
        said.contains("bwrap") && said.contains("No permissions to create new namespace"),
        "{said}"
    );
}

#[test]
fn an_output_directory_that_a_committed_link_leads_elsewhere_is_refused() {
    let lab = Lab::new();
    lab.bandit();
    std::fs::create_dir(lab.path("host")).unwrap();
    std::os::unix::fs::symlink(lab.path("host"), lab.path("source/build")).unwrap();
    let scan = |sandbox: &str| {
        let mut command = lab.ash(&[
            "scan",
            "--scanners",
            "bandit",
            "--offline",
            "--sandbox",
            sandbox,
            "--output-dir",
            "build/ash",
        ]);
        command.output().unwrap()
    };
    let refused = scan("landlock");
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&refused.stderr).contains("is a symlink"),
        "{}",
        String::from_utf8_lossy(&refused.stderr)
    );
    assert_eq!(
        std::fs::read_dir(lab.path("host")).unwrap().count(),
        0,
        "something was written behind the link"
    );
    assert_eq!(
        scan("off").status.code(),
        Some(2),
        "with the sandbox off the output goes where it was sent"
    );
    assert!(lab.path("host/ash/ash_aggregated_results.json").exists());
}

#[test]
fn a_link_in_the_place_of_the_default_output_is_refused_in_every_mode_and_nothing_behind_it_is_touched()
 {
    for sandbox in ["off", "landlock"] {
        let lab = Lab::new();
        lab.bandit();
        std::fs::create_dir_all(lab.path("host/reports")).unwrap();
        std::fs::write(lab.path("host/reports/thesis.txt"), "years of work").unwrap();
        std::fs::create_dir(lab.path("source/.ash")).unwrap();
        std::os::unix::fs::symlink(lab.path("host"), lab.path("source/.ash/ash_output")).unwrap();
        let scanned = lab
            .ash(&["scan", "--scanners", "bandit", "--offline", "--sandbox", sandbox])
            .output()
            .unwrap();
        assert_eq!(scanned.status.code(), Some(1), "{sandbox}");
        assert!(String::from_utf8_lossy(&scanned.stderr).contains("is a symlink"), "{sandbox}");
        assert_eq!(
            std::fs::read_to_string(lab.path("host/reports/thesis.txt")).unwrap(),
            "years of work",
            "{sandbox}"
        );
        assert_eq!(
            std::fs::read_dir(lab.path("host")).unwrap().count(),
            1,
            "{sandbox}: something was written behind the link"
        );
    }
}

#[test]
fn a_committed_link_in_the_place_of_results_leaves_its_scanner_missing_and_others_run() {
    for (level, status) in [
        ("scanners", "MISSING"),
        ("scanners/bandit", "MISSING"),
        ("scanners/bandit/source", "MISSING"),
        ("scanners/semgrep", "FAILED"),
    ] {
        let lab = Lab::new();
        lab.bandit();
        std::fs::create_dir_all(lab.path("host/bandit/source")).unwrap();
        std::fs::write(lab.path("host/bandit/source/thesis.txt"), "years of work").unwrap();
        let link = lab.path("source/.ash/ash_output").join(level);
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(lab.path("host"), &link).unwrap();
        let arguments = ["scan", "--scanners", "bandit", "--offline", "--sandbox", "landlock"];
        let output = lab.path("source/.ash/ash_output");
        let scanned = lab::read(lab.ash(&arguments).output().unwrap(), output.clone());
        assert_eq!(scanned.status("bandit"), status, "{level}: {}", scanned.stderr);
        assert_eq!(scanned.code, Some(if status == "MISSING" { 1 } else { 2 }), "{level}");
        assert_eq!(scanned.reason("bandit").contains("symlink"), status == "MISSING", "{level}");
        assert!(!link.is_symlink(), "{level}: no link stays in results");
        let kept = std::fs::read_to_string(lab.path("host/bandit/source/thesis.txt"));
        assert_eq!(kept.unwrap(), "years of work", "{level}");
        assert_eq!(std::fs::read_dir(lab.path("host")).unwrap().count(), 1, "{level}");
        let again = lab::read(lab.ash(&arguments).output().unwrap(), output);
        assert_eq!(again.status("bandit"), "FAILED", "{level}: the control");
    }
}

#[test]
fn a_directory_that_is_not_an_output_directory_is_not_emptied() {
    let lab = Lab::new();
    lab.bandit();
    std::fs::create_dir_all(lab.path("out/reports")).unwrap();
    std::fs::write(lab.path("out/reports/thesis.txt"), "years of work").unwrap();
    assert_eq!(lab.scan(&["--scanners", "bandit"]).code, Some(2));
    assert!(lab.path("out/reports/thesis.txt").exists());
    std::fs::write(lab.path("out/reports/ash.old"), "an earlier scan's").unwrap();
    lab.scan(&["--scanners", "bandit"]);
    assert!(!lab.path("out/reports/ash.old").exists(), "by now it is ash's own");
}

#[test]
fn results_that_were_there_before_are_not_read_as_the_tools() {
    for sandbox in ["off", "landlock"] {
        let lab = Lab::new();
        let planted = lab.path("out/scanners/bandit/source");
        std::fs::create_dir_all(&planted).unwrap();
        let clean = r#"{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"Bandit"}},"results":[]}],"errors":[],"results":[],"metrics":{}}"#;
        for name in ["bandit.sarif", "bandit.json"] {
            std::fs::write(planted.join(name), clean).unwrap();
        }
        lab.tool("bandit", "exit 0");
        let scanned = lab.scan(&["--scanners", "bandit", "--sandbox", sandbox]);
        assert_eq!((scanned.code, scanned.status("bandit")), (Some(1), "ERROR"), "{sandbox}");
    }
}

#[test]
fn what_must_stay_as_it_is_cannot_be_the_results_directory_of_a_single_command() {
    let lab = Lab::new();
    let run = |results: &str| {
        let mut command = lab.ash(&["sandbox", "run", "--sandbox", "landlock", "--results-dir"]);
        command.arg(lab.path(results)).args(["--", "/bin/sh", "-c", "echo ran"]).output().unwrap()
    };
    std::os::unix::fs::symlink("out", lab.path("link")).unwrap();
    // Of the system's directories the one in which nothing could be removed, should it not be refused.
    for kept in ["source", "home", "", "link", "/proc"] {
        let refused = run(kept);
        let stderr = String::from_utf8_lossy(&refused.stderr);
        let told = stderr.contains("is refused: it is") && stderr.contains("directory of its own");
        assert_eq!((refused.status.code(), told), (Some(125), true), "{kept}: {stderr}");
        assert_eq!(refused.stdout, b"", "{kept}");
    }
    assert_eq!(run("out").stdout, b"ran\n", "the control");
}

#[test]
fn a_scan_that_this_version_cannot_make_is_refused_and_not_replaced_by_another() {
    for (name, value, code, says) in [
        ("ASH_WORKSPACE", "auto", Some(4), "a scan of a workspace"),
        ("ASH_SHARD_INDEX", "0", Some(2), "one shard of a scan"),
        ("ASH_SHARD_COUNT", "4", Some(2), "one shard of a scan"),
        ("ASH_MODE", "container", Some(2), "`ash scan --sandbox auto`"),
        ("ASH_MODE", "Local", Some(1), ""),
        ("ASH_WORKSPACE", "", Some(1), ""),
        ("ASH_CHANGED_FILES_ONLY", "yes", Some(1), "the whole tree is scanned"),
        ("ASH_CHANGED_FILES_ONLY", "no", Some(1), ""),
    ] {
        let lab = Lab::new();
        let marker = marked(&lab);
        let mut command = lab.ash(&["scan", "--scanners", "bandit", "--output-dir"]);
        let finished = command.arg(lab.path("out")).env(name, value).output().unwrap();
        let stderr = String::from_utf8_lossy(&finished.stderr);
        assert_eq!(finished.status.code(), code, "{name}={value}: {stderr}");
        assert!(stderr.contains(says), "{name}={value}: {stderr}");
        assert!(!says.is_empty() || !stderr.contains(name), "{name}={value}: {stderr}");
        // The stand-in writes no report, so a scan that starts it ends with 1.
        assert_eq!(marker.exists(), code == Some(1), "{name}={value}");
    }
}

#[test]
fn a_command_that_this_version_lacks_is_named_and_a_directory_of_that_name_is_scanned() {
    let lab = Lab::new();
    let refused = lab.ash(&["report"]).current_dir(lab.path("bin")).output().unwrap();
    let stderr = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("`ash report` is not part of this version"), "{stderr}");
    let marker = marked(&lab);
    std::fs::create_dir(lab.path("home/report")).unwrap();
    std::fs::write(lab.path("home/report/main.py"), "print(1)\n").unwrap();
    let mut command = lab.ash(&["report", "--scanners", "bandit", "--output-dir"]);
    command.arg(lab.path("out")).current_dir(lab.path("home")).output().unwrap();
    assert!(marker.exists(), "the directory was not scanned");
}
