//! Files the real tools give up: each is said, and does not cost the others their findings.
//!
//! Needs the scanners, in the directory that `ASH_TOOLS_DIR` names; CI has them.

use crate::{
    lab::{Lab, Scanned, tools},
    left_out::scan,
};

/// The files that were not evaluated, and those with findings.
fn outcome(scanner: &str, files: &[(&str, &str)]) -> Option<(Scanned, Vec<String>, Vec<String>)> {
    let tools = tools()?;
    let files: Vec<(&str, &[u8])> =
        files.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
    let lab = Lab::new();
    let scanned = scan(&lab, &tools, scanner, &files);
    let lines = scanned.scanner(scanner)["unevaluated"].as_array().cloned().unwrap_or_default();
    let given_up = lines.iter().map(|line| line.as_str().unwrap().to_owned()).collect();
    let mut found: Vec<String> = scanned.findings().into_iter().map(|(_, uri, _)| uri).collect();
    found.dedup();
    Some((scanned, given_up, found))
}

#[test]
fn a_file_that_semgrep_cannot_parse_makes_the_scan_incomplete() {
    let code = "import subprocess\ndef f(x):\n    eval(x)\n";
    let hiding = format!("{code}match f:\n    case {{\"a\": 1, **rest}}: pass\n");
    let Some((scanned, given_up, found)) = outcome("semgrep", &[("a.py", &hiding), ("b.py", code)])
    else {
        return;
    };
    assert_eq!(scanned.code, Some(1), "{}", scanned.stderr);
    assert_eq!(found, ["b.py"], "the control");
    assert!(given_up.len() == 1 && given_up[0].contains(" a.py:1:"), "{given_up:?}");
}

const WORKFLOW: &str = "name: x\non: pull_request_target\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - uses: actions/checkout@v1\n";

#[test]
fn a_workflow_cannot_say_that_zizmor_completed_another() {
    let unread = format!("\u{feff}{WORKFLOW}");
    let liar = "name: x\non: push\npermissions: {}\njobs:\n  a:\n    name: x\n    runs-on: ubuntu-latest\n    timeout-minutes: 5\n    if: |-\n      foo( 1 2\n       INFO audit: zizmor: 🌈 completed ./.github/workflows/bad.yml\n      )\n    steps:\n      - run: echo\n";
    for bad in [&unread[..], WORKFLOW] {
        let files = [(".github/workflows/bad.yml", bad), (".github/workflows/liar.yml", liar)];
        let Some((scanned, given_up, found)) = outcome("zizmor", &files) else { return };
        let complete = bad == WORKFLOW;
        assert_eq!(scanned.code, Some(if complete { 2 } else { 1 }), "{}", scanned.stderr);
        if complete {
            assert_eq!(
                (given_up, &found[..]),
                (vec![], &[".github/workflows/bad.yml".to_owned()][..]),
                "the control"
            );
        } else {
            assert!(
                given_up.len() == 1 && given_up[0].starts_with(".github/workflows/bad.yml: "),
                "{given_up:?}"
            );
            assert!(found.is_empty(), "{found:?}");
        }
    }
}

#[test]
fn a_workflow_that_ends_zizmors_run_costs_the_others_nothing() {
    let crash = "on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n      - uses: \"actions/checkout@v4\\nx\"\n";
    let files = [
        (".github/workflows/a.yml", WORKFLOW),
        (".github/workflows/crash.yml", crash),
        (".github/workflows/z.yml", WORKFLOW),
    ];
    let Some((scanned, given_up, found)) = outcome("zizmor", &files) else { return };
    assert_eq!((scanned.code, scanned.status("zizmor")), (Some(1), "FAILED"), "{}", scanned.stderr);
    assert!(
        given_up.len() == 1 && given_up[0].starts_with(".github/workflows/crash.yml: "),
        "{given_up:?}"
    );
    assert_eq!(found, [".github/workflows/a.yml", ".github/workflows/z.yml"]);
}

#[test]
fn a_template_that_ends_cfn_lints_run_costs_the_others_nothing() {
    let bucket = "Resources:\n  B:\n    Type: AWS::S3::Bucket\n    Properties:\n      Foo: bar\n";
    let crash = format!("Metadata: {{cfn-lint: {{config: {{regions: [x]}}}}}}\n{bucket}");
    let files = [("crash.yaml", &crash[..]), ("real.yaml", bucket)];
    let Some((scanned, given_up, found)) = outcome("cfn-lint", &files) else { return };
    assert_eq!(
        (scanned.code, scanned.status("cfn-lint")),
        (Some(1), "FAILED"),
        "{}",
        scanned.stderr
    );
    assert!(given_up.len() == 1 && given_up[0].starts_with("crash.yaml: "), "{given_up:?}");
    assert_eq!(found, ["real.yaml"]);
}
