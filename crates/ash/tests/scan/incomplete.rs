//! Scanners that misbehave: ERROR with the reason, exit 1, and the others' results are kept.

use std::{process::Stdio, time::Duration};

use crate::lab::{Lab, finish, read};

#[test]
fn without_any_scanner_installed_each_is_missing_with_what_to_type() {
    let lab = Lab::new();
    let mut command = lab.ash(&["scan", "--output-dir"]);
    command.arg(lab.path("out")).env("PATH", lab.path("bin"));
    let scanned = read(command.output().unwrap(), lab.path("out"));
    assert_eq!(scanned.code, Some(1));
    for name in ["bandit", "checkov", "semgrep", "detect-secrets", "syft", "cfn-lint", "zizmor"] {
        assert_eq!(scanned.status(name), "MISSING", "{name}");
        assert!(
            scanned.reason(name).contains(&format!("ash dependencies install --tool {name}")),
            "{}",
            scanned.reason(name)
        );
    }
    assert_eq!(scanned.status("npm-audit"), "MISSING");
    assert!(
        scanned.output.join("reports/ash.sarif").exists()
            && scanned.output.join("reports/ash.summary.txt").exists()
    );
    assert!(scanned.stdout.contains("Scan incomplete"), "{}", scanned.stdout);
}

/// One scanner misbehaves, bandit works: how the other ends.
fn beside_bandit(
    name: &str,
    program: &str,
    body: &str,
    sandbox: &str,
    args: &[&str],
) -> crate::lab::Scanned {
    let lab = Lab::new();
    lab.bandit();
    lab.tool(program, body);
    let scanners = format!("bandit,{name}");
    let scanned =
        lab.scan(&[&["--scanners", &scanners, "--offline", "--sandbox", sandbox], args].concat());
    assert_eq!(scanned.code, Some(1), "{}", scanned.stderr);
    assert_eq!(scanned.status(name), "ERROR", "{}", scanned.results["scanner_results"][name]);
    assert!(!scanned.reason(name).is_empty());
    assert_eq!(scanned.status("bandit"), "FAILED", "{}", scanned.reason("bandit"));
    assert_eq!(scanned.findings().len(), 1, "bandit's finding is kept");
    scanned
}

#[test]
fn results_that_are_not_json_are_an_error() {
    for sandbox in ["off", "bwrap", "landlock"] {
        let write_rubbish = r#"for word; do case "$word" in cyclonedx-json=*) echo '{"bomFormat": nonsense' > "${word#cyclonedx-json=}";; esac; done"#;
        beside_bandit("syft", "syft", write_rubbish, sandbox, &[]);
    }
}

#[test]
fn no_results_at_all_are_an_error() {
    beside_bandit("syft", "syft", "exit 0", "landlock", &[]);
}

#[test]
fn no_scanner_that_exits_0_and_reports_nothing_has_passed() {
    let lab = Lab::new();
    for (name, text) in [
        ("stack.yaml", "Resources:\n  A:\n    Type: AWS::S3::Bucket\n"),
        (".github/workflows/a.yml", "on: push\n"),
        ("package.json", "{}"),
        ("package-lock.json", "{\"lockfileVersion\": 3, \"packages\": {}}"),
    ] {
        let path = lab.path("source").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let programs =
        ["bandit", "cfn-lint", "checkov", "detect-secrets", "npm", "semgrep", "syft", "zizmor"];
    for program in programs {
        lab.tool(program, "exit 0");
    }
    // The worker of detect-secrets is started by the interpreter its program names.
    let quiet = lab.path("bin/quiet");
    lab.tool("quiet", "exit 0");
    std::fs::write(lab.path("bin/detect-secrets"), format!("#!{}\n", quiet.display())).unwrap();
    lab.tool("node", "exit 0");
    let scanned = lab.scan(&[]);
    assert_eq!(scanned.code, Some(1), "{}", scanned.stderr);
    let scanners = scanned.results["scanner_results"].as_object().unwrap();
    assert_eq!(scanners.len(), programs.len());
    for name in scanners.keys() {
        assert_eq!(scanned.status(name), "ERROR", "{name}: {}", scanned.reason(name));
        assert!(!scanned.reason(name).is_empty(), "{name}");
    }
}

#[test]
fn a_scanner_that_never_ends_is_ended() {
    for sandbox in ["off", "bwrap", "landlock"] {
        let scanned = beside_bandit(
            "syft",
            "syft",
            "sleep 600 & sleep 600",
            sandbox,
            &["--config-overrides", "scanners.syft.options.scan_timeout=2"],
        );
        assert!(scanned.reason("syft").contains("timed out"), "{}", scanned.reason("syft"));
    }
}

#[test]
fn a_scanner_that_dies_by_a_signal_is_an_error_that_names_it() {
    for sandbox in ["off", "bwrap", "landlock"] {
        let scanned = beside_bandit("syft", "syft", "kill -SEGV $$", sandbox, &[]);
        assert!(scanned.reason("syft").contains("signal 11"), "{}", scanned.reason("syft"));
    }
}

#[test]
fn two_gibibytes_of_output_stay_outside_ashs_memory() {
    let lab = Lab::new();
    lab.bandit();
    lab.tool("syft", "exec head -c 2147483648 /dev/zero");
    let mut command = lab.ash(&[
        "scan",
        "--scanners",
        "bandit,syft",
        "--offline",
        "--sandbox",
        "landlock",
        "--output-dir",
    ]);
    let child =
        command.arg(lab.path("out")).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    let peak = std::thread::spawn(move || {
        let mut peak = 0;
        while let Ok(status) = std::fs::read_to_string(format!("/proc/{pid}/status")) {
            let kib = status
                .lines()
                .find_map(|line| line.strip_prefix("VmHWM:"))
                .and_then(|rest| rest.split_whitespace().next())
                .and_then(|kib| kib.parse::<u64>().ok());
            match kib {
                Some(kib) => peak = peak.max(kib),
                None => break,
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        peak
    });
    let scanned = read(finish(child, Duration::from_secs(180)), lab.path("out"));
    assert_eq!((scanned.code, scanned.status("syft")), (Some(1), "ERROR"), "{}", scanned.stderr);
    assert!(scanned.reason("syft").contains("printed more"), "{}", scanned.reason("syft"));
    assert_eq!(scanned.status("bandit"), "FAILED");
    let peak = peak.join().unwrap();
    assert!(peak > 0 && peak < 300 * 1024, "peak {peak} KiB");
}

/// zizmor over these workflows, one of which it can look at. It fails when it is given another beside that one.
fn zizmor_that_fails(
    lab: &Lab,
    names: &[String],
    alone: &str,
    args: &[&str],
) -> crate::lab::Scanned {
    let workflows = lab.path("source/.github/workflows");
    std::fs::create_dir_all(&workflows).unwrap();
    for name in names {
        std::fs::write(workflows.join(name), "on: push\n").unwrap();
    }
    let clean = r#"{"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "zizmor"}}, "results": []}]}"#;
    lab.tool(
        "zizmor",
        &format!("[ \"$1\" = --version ] && {{ echo 1.32.0; exit 0; }}\ncase \"$*\" in *--\\ ./.github/workflows/good.yml) echo '{clean}'; exit 0;; *good.yml*) exit 1;; *) {alone};; esac"),
    );
    lab.scan(&[&["--scanners", "zizmor", "--offline"], args].concat())
}

#[test]
fn files_that_end_a_run_are_looked_for_with_a_bounded_number_of_calls() {
    let bad = (0..300).map(|number| format!("x{number}.yml"));
    let names: Vec<String> = std::iter::once("good.yml".to_owned()).chain(bad).collect();
    let lab = Lab::new();
    let scanned = zizmor_that_fails(&lab, &names, "exit 1", &[]);
    let zizmor = scanned.scanner("zizmor");
    assert_eq!((scanned.code, scanned.status("zizmor")), (Some(1), "PASSED"), "{}", scanned.stderr);
    assert_eq!(zizmor["unevaluated"].as_array().map(Vec::len), Some(300), "{zizmor}");
    let sarif = std::fs::read(scanned.output.join("reports/ash.sarif")).unwrap();
    let sarif: serde_json::Value = serde_json::from_slice(&sarif).unwrap();
    let calls = sarif["runs"][0]["invocations"].as_array().into_iter().flatten();
    let calls = calls.filter(|call| call.to_string().contains("--strict-collection")).count();
    assert!((90..=101).contains(&calls), "{calls}");
}

#[test]
fn when_the_time_is_up_while_files_are_looked_for_the_others_are_kept() {
    let names = ["good.yml".to_owned(), "hangs.yml".to_owned()];
    let limit = ["--config-overrides", "scanners.zizmor.options.scan_timeout=4"];
    let scanned = zizmor_that_fails(&Lab::new(), &names, "sleep 600", &limit);
    let lines = scanned.scanner("zizmor")["unevaluated"].as_array().cloned().unwrap_or_default();
    assert_eq!((scanned.code, scanned.status("zizmor")), (Some(1), "PASSED"), "{}", scanned.stderr);
    let line = lines.first().and_then(|line| line.as_str()).unwrap_or_default();
    assert!(lines.len() == 1 && line.starts_with(".github/workflows/hangs.yml: "), "{lines:?}");
}
