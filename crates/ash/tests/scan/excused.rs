//! What the real tools let comments in the scanned files excuse: obeyed, said, and counted with `--ignore-suppressions`.
//!
//! Needs the scanners, in the directory that `ASH_TOOLS_DIR` names; CI has them.

use std::{collections::BTreeSet, fs, process::Stdio, time::Duration};

use serde_json::Value;

use crate::lab::{Lab, Scanned, finish, read, tools};

const FILES: [(&str, &str); 6] = [
    (
        "app.py",
        "import subprocess\nsubprocess.call('x', shell=True)  # nosec\nimport pickle  # nosec B403\n",
    ),
    (
        "main.go",
        "package main\nimport \"crypto/tls\"\nvar c = tls.Config{InsecureSkipVerify: true} // nosemgrep\n",
    ),
    ("Dockerfile", "# checkov:skip=CKV_DOCKER_2:none needed\nFROM alpine:3\nUSER nobody\n"),
    (
        ".github/workflows/a.yml",
        "on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: echo ${{ github.head_ref }} # zizmor: ignore[template-injection]\n",
    ),
    (
        "stack.yaml",
        "Metadata:\n  cfn-lint: {config: {ignore_checks: [W2001]}}\nParameters:\n  Unused: {Type: String}\nResources:\n  B:\n    Type: AWS::S3::Bucket\n",
    ),
    ("config.ini", "password = 'c0rrect-horse'  # pragma: allowlist secret\n"),
];

/// Rule ids of the findings that count.
fn counted(scanned: &Scanned) -> BTreeSet<String> {
    let sarif = fs::read(scanned.output.join("reports/ash.sarif")).unwrap();
    let sarif: Value = serde_json::from_slice(&sarif).unwrap();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    let accepted = |result: &Value| result["suppressions"][0]["status"] == "accepted";
    results
        .iter()
        .filter(|result| !accepted(result))
        .map(|result| result["ruleId"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn what_comments_excuse_is_said_and_counts_when_suppressions_are_ignored() {
    let Some(tools) = tools() else { return };
    let lab = Lab::new();
    for (name, text) in FILES {
        let path = lab.path("source").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let scan = |more: &[&str]| {
        let output = lab.path("out");
        let mut command =
            lab.ash(&["scan", "--offline", "--exclude-scanners", "npm-audit,syft", "--output-dir"]);
        command.arg(&output).args(more).env("ASH_TOOLS_DIR", &tools);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        read(finish(child, Duration::from_secs(300)), output)
    };
    let excused = [
        "B602",
        "B403",
        "ash.go.certificate-check-off",
        "CKV_DOCKER_2",
        "zizmor/template-injection",
        "W2001",
        "SECRET-SECRET-KEYWORD",
    ];
    let obeyed = scan(&[]);
    let counting = counted(&obeyed);
    assert!(excused.iter().all(|rule| !counting.contains(*rule)), "{counting:?}");
    for said in [
        "note: bandit: `# nosec` comments leave ",
        "note: zizmor: `# zizmor: ignore` comments in 1 file can leave findings out",
        "note: cfn-lint: `ignore_checks` in the metadata of 1 template can leave findings out",
        "note: suppressions in the scanned files: 3 findings do not count (checkov 1, detect-secrets 1, semgrep 1)",
    ] {
        assert!(obeyed.stderr.contains(said), "{said}: {}", obeyed.stderr);
    }
    let all = scan(&["--ignore-suppressions"]);
    let counting = counted(&all);
    assert!(excused.iter().all(|rule| counting.contains(*rule)), "{counting:?} {}", all.stderr);
    assert!(!all.stderr.contains("report; `--ignore-suppressions`"), "{}", all.stderr);
}
