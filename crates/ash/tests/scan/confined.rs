//! Scanners that misbehave in a whole scan: what they reach with the sandbox off is out of reach with it.

use std::{
    fs,
    net::TcpListener,
    sync::{Arc, Mutex},
};

use crate::lab::{Lab, Scanned};

const BACKENDS: [&str; 2] = ["bwrap", "landlock"];
/// Stand-ins for scanners, and what makes each of them run.
const TOOLS: [&str; 6] = ["bandit", "cfn-lint", "checkov", "semgrep", "syft", "zizmor"];

/// A tree in which every one of [`TOOLS`] finds something to look at.
fn tree(lab: &Lab) {
    fs::create_dir_all(lab.path("source/.github/workflows")).unwrap();
    fs::write(lab.path("source/.github/workflows/ci.yml"), "on: push\n").unwrap();
    fs::write(lab.path("source/main.tf"), "").unwrap();
    let template =
        "AWSTemplateFormatVersion: '2010-09-09'\nResources:\n  A:\n    Type: AWS::S3::Bucket\n";
    fs::write(lab.path("source/template.yaml"), template).unwrap();
}

/// Names of those who called, each by the first line it sent.
fn listen() -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = Arc::new(Mutex::new(vec![]));
    let callers = Arc::clone(&heard);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut line = String::new();
            let _ = std::io::BufRead::read_line(&mut std::io::BufReader::new(stream), &mut line);
            callers.lock().unwrap().push(line.trim().to_owned());
        }
    });
    (port, heard)
}

#[test]
fn under_offline_no_scanner_has_a_network_whatever_it_declares() {
    let lab = Lab::new();
    tree(&lab);
    let (port, heard) = listen();
    for tool in TOOLS {
        let body = format!("exec /bin/bash -c 'echo {tool} >/dev/tcp/127.0.0.1/{port}'");
        lab.tool(tool, &body);
    }
    let called = |args: &[&str]| -> (Scanned, Vec<String>) {
        heard.lock().unwrap().clear();
        let scanned = lab.scan(args);
        let mut names = heard.lock().unwrap().clone();
        names.sort();
        names.dedup();
        (scanned, names)
    };
    let scanners = TOOLS.join(",");
    let (_, control) = called(&["--scanners", &scanners, "--offline"]);
    assert_eq!(control, TOOLS, "without a sandbox each of them gets through");
    for backend in BACKENDS {
        let (scanned, names) =
            called(&["--scanners", &scanners, "--offline", "--sandbox", backend]);
        assert!(names.is_empty(), "{backend}: {names:?}");
        for tool in TOOLS {
            let evidence = &scanned.scanner(tool)["sandbox"];
            let said = (&evidence["backend"], &evidence["network"], &evidence["offline"]);
            assert_eq!(said, (&backend.into(), &false.into(), &true.into()), "{tool}: {evidence}");
        }
    }
}

/// What hostile code tries: to read a key, to write into the source and elsewhere, to install something for the next run, and to replace another tool. What
/// worked is in `loot`, which only an unconfined process can write.
fn hostile(lab: &Lab) -> String {
    let at = |path: &str| lab.path(path).display().to_string();
    for dir in ["home/.ssh", "home/.semgrep", "tools/other/bin", "home/.local/share/uv/tools"] {
        fs::create_dir_all(lab.path(dir)).unwrap();
    }
    fs::write(lab.path("home/.ssh/id_rsa"), "secret").unwrap();
    format!(
        r#"try() {{ if "$@" 2>/dev/null; then echo "$*" >>{loot}; fi; }}
try cp {home}/.ssh/id_rsa {loot}.key
try touch {source}/planted.py
try touch {home}/.profile
try touch {tools}/other/bin/tool
try touch {home}/.local/share/uv/tools/planted
exit 1
"#,
        loot = at("loot"),
        home = at("home"),
        source = at("source"),
        tools = at("tools"),
    )
}

const LOOT: [&str; 6] = [
    "loot",
    "loot.key",
    "source/planted.py",
    "home/.profile",
    "tools/other/bin/tool",
    "home/.local/share/uv/tools/planted",
];

/// Scans with this tool unconfined, where the hostile code in it gets everything, and under each backend, where it runs and gets nothing.
fn gets_nothing(lab: &Lab, tool: &str) {
    let found = || -> Vec<&str> {
        LOOT.into_iter().filter(|path| fs::remove_file(lab.path(path)).is_ok()).collect()
    };
    lab.scan(&["--scanners", tool, "--offline"]);
    assert_eq!(found(), LOOT, "{tool}: without a sandbox it gets everything");
    for backend in BACKENDS {
        let scanned = lab.scan(&["--scanners", tool, "--offline", "--sandbox", backend]);
        assert_eq!(found(), [""; 0], "{tool}, {backend}");
        let evidence = &scanned.scanner(tool)["sandbox"];
        assert!(evidence["spawns"].as_u64() >= Some(1), "{tool}, {backend}: it ran: {evidence}");
        assert_eq!(scanned.scanner(tool)["exit_code"], 1, "{tool}, {backend}: to its end");
    }
}

#[test]
fn a_hijacked_scanner_reads_no_key_and_changes_neither_source_nor_home_nor_tools() {
    let lab = Lab::new();
    lab.tool("bandit", &hostile(&lab));
    gets_nothing(&lab, "bandit");
}

#[test]
fn a_rule_pack_that_runs_code_gets_no_further_than_a_hijacked_scanner() {
    let lab = Lab::new();
    let code = hostile(&lab);
    // Outside the tree, in a cache that semgrep declares.
    let pack = lab.path("home/.semgrep/pack");
    fs::write(&pack, code).unwrap();
    lab.tool("semgrep", &format!(". {}", pack.display()));
    gets_nothing(&lab, "semgrep");
}

#[test]
fn a_file_of_the_tree_that_its_scanner_runs_gets_no_further_either() {
    for (tool, file) in [
        ("bandit", ".bandit"),
        ("semgrep", ".semgrep.yml"),
        ("checkov", ".checkov.yaml"),
        ("cfn-lint", ".cfnlintrc"),
        ("zizmor", ".github/workflows/ci.yml"),
    ] {
        let lab = Lab::new();
        tree(&lab);
        let (code, content) = (hostile(&lab), lab.path("source").join(file));
        fs::write(&content, code).unwrap();
        // A parser with a hole, or a plugin system: it runs what it was to read.
        lab.tool(tool, &format!(". {}", content.display()));
        gets_nothing(&lab, tool);
    }
}

#[test]
fn a_version_probe_is_confined_and_its_results_directory_is_thrown_away() {
    for (sandbox, expected) in [("off", "6.6.6"), ("bwrap", "1.2.3"), ("landlock", "1.2.3")] {
        let lab = Lab::new();
        fs::create_dir(lab.path("temp")).unwrap();
        let real = lab.path("out/scanners/bandit/probed").display().to_string();
        // The only writable place that lasts is named in the environment of the private caches.
        let script = format!(
            r#"[ "$1" = --version ] || exit 1
if mkdir -p "${{1+{real}}}" 2>/dev/null; then echo "bandit 6.6.6"; exit; fi
place=$(dirname "$(dirname "$UV_CACHE_DIR")")
case $place in {temp}/ash-sandbox-*) touch "$place/left" && echo "bandit 1.2.3";; esac"#,
            temp = lab.path("temp").canonicalize().unwrap().display(),
        );
        lab.tool("bandit", &script);
        let mut command = lab.ash(&["scan", "--scanners", "bandit", "--offline"]);
        command.args(["--sandbox", sandbox, "--output-dir"]).arg(lab.path("out"));
        let done = command.env("TMPDIR", lab.path("temp")).output().unwrap();
        let scanned = crate::lab::read(done, lab.path("out"));
        assert_eq!(scanned.scanner("bandit")["version"], expected, "{sandbox}: {}", scanned.stderr);
        let left = fs::read_dir(lab.path("temp")).unwrap().count();
        assert_eq!(left, 0, "{sandbox}: the throwaway directory is gone");
    }
}

#[test]
fn a_sandboxed_scan_installs_nothing() {
    let lab = Lab::new();
    let marker = lab.path("installed").display().to_string();
    for installer in ["uv", "uvx", "pip", "pip3", "python3", "npm", "brew", "apt", "apt-get"] {
        lab.tool(installer, &format!("echo {installer} >>{marker}"));
    }
    lab.tool("bandit", "uv tool install bandit");
    lab.scan(&["--scanners", "bandit"]);
    assert!(fs::remove_file(&marker).is_ok(), "an installer that is started is noticed");
    fs::remove_file(lab.path("bin/bandit")).unwrap();
    for backend in BACKENDS {
        let scanned = lab.scan(&["--scanners", "bandit", "--sandbox", backend]);
        assert_eq!((scanned.code, scanned.status("bandit")), (Some(1), "MISSING"), "{backend}");
        assert!(scanned.reason("bandit").contains("ash dependencies install"), "{backend}");
        assert!(fs::metadata(&marker).is_err(), "{backend}: {:?}", fs::read_to_string(&marker));
    }
}

#[test]
fn a_scan_of_everything_starts_no_git() {
    let lab = Lab::new();
    tree(&lab);
    fs::create_dir(lab.path("source/.git")).unwrap();
    fs::write(lab.path("source/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
    let marker = lab.path("called").display().to_string();
    lab.tool("git", &format!("echo git >>{marker}"));
    lab.tool("bandit", "exit 1");
    for args in [vec!["--scanners", "bandit"], vec!["--scanners", "bandit", "--sandbox", "bwrap"]] {
        lab.scan(&args);
        assert!(fs::metadata(&marker).is_err(), "{args:?}");
    }
    lab.tool("bandit", "git status");
    lab.scan(&["--scanners", "bandit"]);
    assert!(fs::metadata(&marker).is_ok(), "a scanner that starts git is noticed");
}

#[test]
fn nothing_a_scanner_says_is_a_command_in_a_ci_log() {
    let lab = Lab::new();
    let evil = "x\\n::error::y\\n ##vso[task.complete] ##[group]";
    let script = crate::lab::bandit_script(&lab.path("source").display().to_string());
    lab.tool("bandit", &script.replace("stand-in finding", evil));
    // Its words become the reason of an error.
    lab.tool("zizmor", "printf '\\n::error::y\\n##vso[task.complete]\\n##[group]' >&2; exit 9");
    tree(&lab);
    let scanned = lab.scan(&["--scanners", "bandit,zizmor", "--offline", "--verbose"]);
    assert_eq!(scanned.status("zizmor"), "ERROR");
    let text = |name: &str| fs::read_to_string(scanned.output.join("reports").join(name)).unwrap();
    let all = [
        ("stdout", scanned.stdout.clone()),
        ("stderr", scanned.stderr.clone()),
        ("csv", text("ash.csv")),
        ("html", text("ash.html")),
        ("summary", text("ash.summary.txt")),
        ("markdown", text("ash.summary.md")),
        ("junit", text("ash.junit.xml")),
    ];
    for (name, text) in all {
        let commands = ["##vso[", "##["].iter().filter(|command| text.contains(**command)).count();
        let at_start = text.lines().filter(|line| line.trim_start().starts_with("::")).count();
        assert_eq!((commands, at_start), (0, 0), "{name}:\n{text}");
    }
    let said = text("ash.csv");
    assert!(said.contains("error::y"), "the words themselves are still there: {said}");
}
