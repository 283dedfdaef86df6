//! What the operator grants reaches the scanners of a real scan, and what a scanned tree asks for does not.

use std::{fs, process::Command};

use crate::lab::{Lab, Scanned, bandit_script};

const IN_TREE: &str = "source/.ash/.ash.yaml";

fn configure(lab: &Lab, text: &str) {
    fs::create_dir_all(lab.path("source/.ash")).unwrap();
    fs::write(lab.path(IN_TREE), text).unwrap();
}

/// A stand-in bandit that tries to read a file of the host and to write beside it, and leaves word of it in its results.
fn curious(lab: &Lab) -> String {
    fs::create_dir_all(lab.path("host/ca")).unwrap();
    fs::write(lab.path("host/ca/root.pem"), "certificate\n").unwrap();
    let ca = lab.path("host/ca").display().to_string();
    let probe = format!(
        "d=$(dirname \"$out\")\ncat '{ca}/root.pem' > \"$d/read\" 2>/dev/null\n\
         (echo x > '{ca}/planted' && echo planted > \"$d/wrote\") 2>/dev/null\nexit 1"
    );
    let script = bandit_script(&lab.path("source").display().to_string());
    lab.tool("bandit", &script.replace("exit 1", &probe));
    ca
}

/// What the stand-in could read, and whether it could write there.
fn reached(scanned: &Scanned) -> (String, bool) {
    let results = scanned.output.join("scanners/bandit/source");
    let read = fs::read_to_string(results.join("read"));
    (read.unwrap_or_else(|_| panic!("{}", scanned.stderr)), results.join("wrote").exists())
}

#[test]
fn an_extra_read_path_of_the_operator_is_readable_and_not_writable() {
    for sandbox in ["landlock", "bwrap"] {
        let lab = Lab::new();
        let ca = curious(&lab);
        let scan = ["--scanners", "bandit", "--offline", "--sandbox", sandbox];
        let scanned = lab.scan(&scan);
        assert_eq!(reached(&scanned), (String::new(), false), "{sandbox}: not granted");
        let grant = format!("sandbox.extra_read_paths=[{ca}]");
        let scanned = lab.scan(&[&scan[..], &["--config-overrides", &grant]].concat());
        assert_eq!(reached(&scanned), ("certificate\n".to_owned(), false), "{sandbox}: granted");
        assert!(!lab.path("host/ca/planted").exists());
        let evidence = scanned.scanner("bandit")["sandbox"]["read_only"].to_string();
        assert!(evidence.contains(&ca), "{evidence}");
    }
    let lab = Lab::new();
    curious(&lab);
    let control = lab.scan(&["--scanners", "bandit", "--offline", "--sandbox", "off"]);
    assert_eq!(reached(&control), ("certificate\n".to_owned(), true), "the control");
}

#[test]
fn a_scanned_tree_that_asks_for_grants_gets_none_and_the_scan_says_which_file_asked() {
    let lab = Lab::new();
    let ca = curious(&lab);
    configure(
        &lab,
        &format!(
            "sandbox: {{mode: landlock, network_scanners: [bandit], extra_read_paths: ['{ca}']}}\n"
        ),
    );
    let scanned = lab.scan(&["--scanners", "bandit"]);
    let sandbox = &scanned.scanner("bandit")["sandbox"];
    assert_eq!((&sandbox["backend"], &sandbox["network"]), (&"landlock".into(), &false.into()));
    assert_eq!(reached(&scanned), (String::new(), false));
    let notices = scanned.results["notices"].to_string();
    for key in ["sandbox.network_scanners", "sandbox.extra_read_paths"] {
        assert!(scanned.stdout.contains(key) && notices.contains(key), "{key}: {}", scanned.stdout);
    }
    let file = lab.path(IN_TREE).display().to_string();
    assert!(scanned.stdout.contains(&file) && notices.contains(&file), "{}", scanned.stdout);
}

#[test]
fn a_network_is_the_operators_to_give_and_offline_takes_it_back() {
    let lab = Lab::new();
    lab.bandit();
    let network = |args: &[&str]| {
        let scan = ["--scanners", "bandit", "--sandbox", "landlock"];
        lab.scan(&[&scan[..], args].concat()).scanner("bandit")["sandbox"]["network"].clone()
    };
    let grant = ["--config-overrides", "sandbox.network_scanners=[bandit]"];
    assert_eq!(network(&[]), false);
    assert_eq!(network(&grant), true);
    assert_eq!(network(&[&grant[..], &["--offline"]].concat()), false);
}

#[test]
fn auto_from_the_command_line_and_from_the_tree_is_what_the_status_names() {
    let lab = Lab::new();
    lab.bandit();
    let status = lab.ash(&["sandbox", "status", "--json"]).output().unwrap();
    let status: serde_json::Value = serde_json::from_slice(&status.stdout).unwrap();
    assert!(status["auto"].is_string(), "{status}");
    let scanned = lab.scan(&["--scanners", "bandit", "--offline", "--sandbox", "auto"]);
    assert_eq!(scanned.scanner("bandit")["sandbox"]["backend"], status["auto"]);
    configure(&lab, "sandbox:\n  mode: auto\n");
    let scanned = lab.scan(&["--scanners", "bandit", "--offline"]);
    let sandbox = &scanned.scanner("bandit")["sandbox"];
    assert_eq!((&sandbox["mode"], &sandbox["backend"]), (&"auto".into(), &status["auto"]));
}

#[test]
fn leniency_said_in_the_tree_does_not_cover_a_scanner_that_the_sandbox_refused() {
    let lab = Lab::new();
    lab.bandit();
    lab.tool("syft", "exit 7");
    lab.tool("bwrap", "echo 'bwrap: No permissions to create new namespace' >&2\nexit 1");
    let lenient = "fail_on_incomplete_scanners: false\nfail_on_findings: false\n";
    configure(&lab, lenient);
    fs::write(lab.path("ops.yaml"), lenient).unwrap();
    let ops = lab.path("ops.yaml").display().to_string();
    let code = |args: &[&str]| {
        let scanned = lab.scan(&[&["--offline", "--scanners", "bandit,syft"], args].concat());
        scanned.code
    };
    assert_eq!(code(&["--sandbox", "bwrap"]), Some(1));
    assert_eq!(code(&["--sandbox", "landlock"]), Some(0), "an ordinary failure is covered");
    let by_operator = ["--sandbox", "bwrap", "--config", &ops];
    assert_eq!(code(&by_operator), Some(0), "the operator may say so");
}

#[test]
fn a_scanner_under_another_scanners_name_is_missing_with_both_names_and_never_starts() {
    for sandbox in ["off", "landlock"] {
        let lab = Lab::new();
        let marker = lab.path("out/scanners/bandit");
        lab.bandit();
        configure(&lab, "scanners: {bandit: {name: semgrep}}\n");
        let scanned = lab.scan(&["--scanners", "bandit", "--sandbox", sandbox]);
        assert_eq!((scanned.code, scanned.status("bandit")), (Some(1), "MISSING"), "{sandbox}");
        let reason = scanned.reason("bandit");
        assert!(reason.contains("`bandit`") && reason.contains("`semgrep`"), "{reason}");
        assert!(!marker.join("source/bandit.json").exists(), "the tool was started");
        let explain = ["sandbox", "explain", "bandit", "--json", "--sandbox", sandbox];
        let said = lab.ash(&explain).output().unwrap().stdout;
        let explained: serde_json::Value = serde_json::from_slice(&said).unwrap();
        assert_eq!(explained["refusal"], reason, "{sandbox}");
        configure(&lab, "scanners: {bandit: {name: bandit}}\n");
        let control = lab.scan(&["--scanners", "bandit", "--sandbox", sandbox]);
        assert_eq!(control.status("bandit"), "FAILED", "{sandbox}: its own name changes nothing");
    }
}

#[test]
fn no_module_of_the_tree_or_of_a_virtualenv_in_it_is_loaded() {
    let lab = Lab::new();
    lab.bandit();
    let marker = lab.path("imported").display().to_string();
    let packages = lab.path("source/.venv/lib/python3/site-packages");
    for module in [lab.path("source/tree_ash_plugins"), packages.join("venv_ash_plugins")] {
        fs::create_dir_all(&module).unwrap();
        fs::write(module.join("__init__.py"), format!("open({marker:?}, 'a').write('x')\n"))
            .unwrap();
    }
    configure(&lab, "ash_plugin_modules: [tree_ash_plugins, venv_ash_plugins]\n");
    let path = std::env::join_paths([lab.path("source"), packages]).unwrap();
    let prepare = |command: &mut Command| {
        command.env("PYTHONPATH", &path).env("VIRTUAL_ENV", lab.path("source/.venv"));
    };
    for sandbox in ["off", "landlock"] {
        let mut scan = lab.ash(&["scan", "--scanners", "bandit", "--sandbox", sandbox]);
        prepare(scan.arg("--output-dir").arg(lab.path("out")));
        let scanned = crate::lab::read(scan.output().unwrap(), lab.path("out"));
        assert_eq!(scanned.status("bandit"), "FAILED", "{}", scanned.stderr);
        let said = &scanned.stdout;
        assert!(said.contains("`tree_ash_plugins`, `venv_ash_plugins` not loaded"), "{said}");
        assert!(!lab.path("imported").exists(), "{sandbox}: a module was loaded");
    }
    let mut control = Command::new("python3");
    prepare(control.args(["-c", "import tree_ash_plugins, venv_ash_plugins"]));
    assert!(control.status().unwrap().success());
    assert_eq!(fs::read_to_string(lab.path("imported")).unwrap(), "xx", "the control");
}

#[test]
fn what_is_explained_is_what_a_scan_starts() {
    let lab = Lab::new();
    std::fs::write(lab.path("source/main.py"), "print(1)\n").unwrap();
    lab.bandit();
    let script = std::fs::read_to_string(lab.path("bin/bandit")).unwrap();
    let noting = "[ \"$1\" = --version ] || { pwd >\"$PWD/noted\"; printf '%s\\n' \"$@\" >>\"$PWD/noted\"; }\n";
    let body = script.strip_prefix("#!/bin/sh\n").unwrap();
    lab.tool("bandit", &format!("{noting}{body}"));
    let arguments = ["--sandbox", "landlock", "--offline", "--output-dir"];
    let explain = [&["sandbox", "explain", "bandit", "--json"], &arguments[..]].concat();
    let said = lab.ash(&explain).arg(lab.path("out")).output().unwrap();
    let explained: serde_json::Value = serde_json::from_slice(&said.stdout).unwrap();
    let scanned = lab.scan(&["--scanners", "bandit", "--sandbox", "landlock", "--offline"]);
    assert_eq!(scanned.status("bandit"), "FAILED", "{}", scanned.stderr);
    let noted = std::fs::read_to_string(lab.path("out/scanners/bandit/source/noted")).unwrap();
    let mut noted = noted.lines();
    assert_eq!(explained["cwd"].as_str(), noted.next());
    let words: Vec<&str> =
        explained["command"].as_array().unwrap().iter().filter_map(|word| word.as_str()).collect();
    let program = lab.path("bin/bandit").display().to_string();
    let told = words.iter().position(|word| *word == program).unwrap();
    assert_eq!(words[told + 1..], noted.collect::<Vec<_>>());
}
