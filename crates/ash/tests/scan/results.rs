//! ash's own results in the scanned tree are not scanned, and are no place for code to hide in.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use crate::lab::{Lab, Scanned, bandit_script, finish, read, tools};

/// What the real scanners find, and where.
const FILES: [(&str, &str); 5] = [
    (
        "app.py",
        "import pickle\npickle.loads(b'')\nimport subprocess\nsubprocess.call('x', shell=True)\n",
    ),
    ("db.sh", "sqlplus scott/c0rrect-h0rse@db\n"),
    ("Dockerfile", "FROM alpine:3\nUSER root\n"),
    ("config.ini", "password = 'c0rrect-horse'\nkey = AKIAIOSFODNN7EXAMPL3\n"),
    (
        ".github/workflows/a.yml",
        "on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: echo ${{ github.head_ref }}\n",
    ),
];

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Each finding's rule and file, sorted.
fn found(scanned: &Scanned) -> Vec<(String, String)> {
    let mut found: Vec<_> =
        scanned.findings().into_iter().map(|(rule, file, _)| (rule, file)).collect();
    found.sort();
    found
}

/// The file as a scanner's own result, in each directory where a scan can leave it.
fn results_in(directory: &str) -> [String; 3] {
    ["scanners/semgrep/source", "reports", "converted/jupyter"]
        .map(|below| format!("{directory}/{below}"))
}

#[test]
fn the_real_scanners_find_the_same_beside_the_results_of_earlier_scans() {
    let Some(tools) = tools() else { return };
    let lab = Lab::new();
    for (name, text) in FILES {
        put(&lab.path("source").join(name), text);
    }
    put(&lab.path("source/lib/requirements.txt"), "flask==2.0.0\n");
    let scan = |output: PathBuf| {
        let mut command =
            lab.ash(&["scan", "--offline", "--exclude-scanners", "npm-audit", "--output-dir"]);
        command.arg(&output).env("ASH_TOOLS_DIR", &tools);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        read(finish(child, Duration::from_secs(300)), output)
    };
    let alone = scan(lab.path("out"));
    let expected = found(&alone);
    for scanner in ["bandit", "semgrep", "checkov", "detect-secrets", "zizmor"] {
        assert_eq!(alone.status(scanner), "FAILED", "{scanner}: {}", alone.reason(scanner));
    }
    let packages = |scanned: &Scanned| {
        let sbom = fs::read_to_string(scanned.output.join("reports/ash.cdx.json")).unwrap();
        ["pkg:pypi/flask@2.0.0", "pkg:pypi/requests@2.0.0"].map(|package| sbom.contains(package))
    };
    assert_eq!(packages(&alone), [true, false]);
    // Results with everything the scanners find, as if they had been quoted, in the places of this scan, the default and the former one.
    fs::create_dir_all(lab.path("source/visible")).unwrap();
    put(&lab.path("source/ash_output/ash_aggregated_results.json"), "{}");
    for directory in [".ash/ash_output", "ash_output", "visible"]
        .iter()
        .flat_map(|directory| results_in(directory))
    {
        for (name, text) in FILES {
            put(&lab.path("source").join(&directory).join(name), text);
        }
        put(&lab.path("source").join(&directory).join("requirements.txt"), "requests==2.0.0\n");
    }
    let beside = scan(lab.path("source/visible"));
    assert_eq!(found(&beside), expected, "{}", beside.stderr);
    assert_eq!(packages(&beside), [true, false]);
    assert_eq!(beside.code, Some(2), "{}", beside.stdout);
    assert!(
        !beside.stderr.contains(" in ash's own results"),
        "each scanner is told to leave them out: {}",
        beside.stderr
    );
}

/// A scan with a stand-in bandit that reports one finding in each of these files.
fn with_findings_in(lab: &Lab, files: &[&str], output: &str) -> Scanned {
    let script = bandit_script("PLACE");
    let (start, rest) = script.split_once("{\"filename\"").unwrap();
    let (issue, end) = rest.rsplit_once("]}\nJSON").unwrap();
    let issue = |file: &&str| {
        format!("{{\"filename\"{issue}")
            .replace("PLACE/app.py", &lab.path("source").join(file).display().to_string())
    };
    let issues: Vec<_> = files.iter().map(issue).collect();
    lab.tool("bandit", &format!("{start}{}]}}\nJSON{end}", issues.join(",")));
    let output = lab.path(output);
    let mut command = lab.ash(&["scan", "--scanners", "bandit", "--offline", "--output-dir"]);
    read(command.arg(&output).output().unwrap(), output)
}

#[test]
fn findings_in_results_are_dropped_with_their_number_and_those_beside_results_stay() {
    let lab = Lab::new();
    for output in ["out", "source/own", "source/.ash/ash_output"] {
        let scanned = with_findings_in(
            &lab,
            &[
                "app.py",
                ".ash/ash_output/scanners/x.py",
                ".ash/ash_output/ash.log",
                ".ash/ash_output/evil.py",
                "own/reports/x.py",
                "own/evil.py",
            ],
            output,
        );
        let mut expected = vec![".ash/ash_output/evil.py", "app.py", "own/evil.py"];
        let dropped = if output == "source/own" {
            3
        } else {
            expected.push("own/reports/x.py");
            2
        };
        let files: Vec<_> = found(&scanned).into_iter().map(|(_, file)| file).collect();
        assert_eq!(files, expected, "{output}: {}", scanned.stderr);
        let said = format!("note: bandit: {dropped} findings in ash's own results");
        assert!(scanned.stderr.contains(&said), "{output}: {}", scanned.stderr);
        assert_eq!(scanned.scanner("bandit")["severity_counts"]["high"], expected.len());
    }
}

#[test]
fn code_that_a_repository_puts_in_the_place_of_results_is_scanned_or_said() {
    let lab = Lab::new();
    let source = lab.path("source");
    put(&source.join(".ash/ash_output/ash_aggregated_results.json"), "{}");
    put(&source.join(".ash/ash_output/.gitignore"), "*\n");
    put(&source.join(".ash/ash_output/evil.py"), "import os\n");
    put(&source.join(".ash/ash_output/reports/evil.py"), "import os\n");
    let git = |args: &[&str]| {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@b.c"];
        let done =
            Command::new("git").current_dir(&source).args(identity).args(args).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    let said =
        "`.ash/ash_output` held 3 files that have names of ash's own results; they are not scanned";
    let scan = || {
        let scanned = with_findings_in(&lab, &["app.py"], "out");
        let listed = fs::read_to_string(lab.path("out/ash-scan-set-files-list.txt")).unwrap();
        assert!(
            listed.contains(".ash/ash_output/evil.py\n") && !listed.contains("reports/evil.py"),
            "{listed}"
        );
        scanned.stderr.contains(said)
    };
    assert!(scan(), "without git nobody knows whose files they are");
    git(&["init", "-q"]);
    git(&["add", "app.py"]);
    assert!(!scan(), "they are no part of the repository");
    git(&["add", "-f", ".ash/ash_output/reports/evil.py"]);
    assert!(scan(), "one of them is");
    // Where this scan's own results go, too: they are gone afterwards.
    let scanned = with_findings_in(&lab, &["app.py"], "source/.ash/ash_output");
    assert!(scanned.stderr.contains(said), "{}", scanned.stderr);
    assert!(!source.join(".ash/ash_output/reports/evil.py").exists());
    let listed = fs::read_to_string(scanned.output.join("ash-scan-set-files-list.txt")).unwrap();
    assert!(listed.contains(".ash/ash_output/evil.py\n"), "{listed}");
}
