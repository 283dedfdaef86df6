//! Ctrl-C and `kill -9`: nothing is left running, and what was written is not taken for a whole scan.

use std::{
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use crate::lab::{Lab, eventually, finish, read};

/// A second on a machine with nothing else to do; the tests run side by side.
const SOON: Duration = Duration::from_secs(3);

/// Whether any process still has the lab's path in its command line.
fn running(lab: &Lab, word: &str) -> bool {
    let needle = lab.path(word).display().to_string();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .any(|line| String::from_utf8_lossy(&line).contains(&needle))
}

/// A stand-in that says it runs, leaves a detached child that ignores SIGTERM, and never ends.
fn stubborn(lab: &Lab) {
    let body = r#"[ "$1" = --version ] && { echo 1.0; exit 0; }
trap '' TERM INT HUP
(setsid sh -c "trap '' TERM INT HUP; while :; do sleep 0.1; done" "$0" &)
while :; do sleep 0.1; done"#;
    lab.tool("bandit", body);
}

fn started(lab: &Lab, sandbox: &str) -> std::process::Child {
    let mut command = lab.ash(&[
        "scan",
        "--scanners",
        "bandit",
        "--offline",
        "--sandbox",
        sandbox,
        "--output-dir",
    ]);
    let child =
        command.arg(lab.path("out")).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    eventually("the stand-in runs", Duration::from_secs(30), || running(lab, "bin/bandit"));
    std::thread::sleep(Duration::from_millis(300));
    child
}

fn signal(child: &std::process::Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

#[test]
fn ctrl_c_ends_every_scanner_within_a_second_and_the_results_say_so() {
    for sandbox in ["off", "bwrap", "landlock"] {
        let lab = Lab::new();
        stubborn(&lab);
        let child = started(&lab, sandbox);
        signal(&child, "-INT");
        eventually("no process of the scanner is left", SOON, || !running(&lab, "bin/bandit"));
        let scanned = read(finish(child, Duration::from_secs(20)), lab.path("out"));
        assert_eq!(
            (scanned.code, scanned.status("bandit")),
            (Some(1), "ERROR"),
            "{sandbox}: {}",
            scanned.stderr
        );
        assert!(scanned.reason("bandit").contains("interrupted"), "{}", scanned.reason("bandit"));
    }
}

#[test]
fn kill_9_of_ash_leaves_no_scanner_and_no_result_file() {
    for sandbox in ["off", "bwrap", "landlock"] {
        let lab = Lab::new();
        stubborn(&lab);
        // An earlier scan's results must not be what is found afterwards.
        std::fs::write(lab.path("out/ash_aggregated_results.json"), "{}").unwrap();
        let mut child = started(&lab, sandbox);
        signal(&child, "-KILL");
        eventually("no process of the scanner is left", SOON, || !running(&lab, "bin/bandit"));
        child.wait().unwrap();
        assert!(
            !Path::new(&lab.path("out/ash_aggregated_results.json")).exists(),
            "{sandbox}: a half scan left a result file"
        );
    }
}

#[test]
fn a_command_whose_time_is_up_before_it_starts_is_ended_at_once() {
    for sandbox in ["bwrap", "landlock"] {
        let lab = Lab::new();
        let mut command = lab.ash(&[
            "sandbox",
            "run",
            "--sandbox",
            sandbox,
            "--timeout",
            "0.000000001",
            "--",
            "sleep",
            "600",
        ]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        assert_eq!(finish(child, Duration::from_secs(30)).status.code(), Some(124), "{sandbox}");
    }
}

#[test]
fn a_second_scan_into_the_same_directory_is_refused_and_the_first_one_is_whole() {
    let lab = Lab::new();
    let script = crate::lab::bandit_script(&lab.path("source").display().to_string());
    let wait = format!(
        "touch {}\nwhile [ ! -e {} ]; do sleep 0.05; done\n",
        lab.path("started").display(),
        lab.path("go").display()
    );
    lab.tool("bandit", &(wait + &script));
    let mut first = lab.ash(&["scan", "--scanners", "bandit", "--offline"]);
    first.arg("--output-dir").arg(lab.path("out"));
    let first = first.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = first.id();
    eventually("the first one runs", Duration::from_secs(30), || lab.path("started").exists());
    let second = lab.scan(&["--scanners", "bandit", "--offline"]);
    assert_eq!(second.code, Some(1), "{}", second.stderr);
    for part in ["another scan", &format!("(process {pid})"), "--output-dir"] {
        assert!(second.stderr.contains(part), "{part}: {}", second.stderr);
    }
    std::fs::write(lab.path("go"), "").unwrap();
    let first =
        crate::lab::read(crate::lab::finish(first, Duration::from_secs(60)), lab.path("out"));
    assert_eq!((first.code, first.status("bandit")), (Some(2), "FAILED"), "{}", first.stderr);
    assert_eq!(first.findings().len(), 1);
    assert_eq!(lab.scan(&["--scanners", "bandit", "--offline"]).code, Some(2), "now it is free");
}
