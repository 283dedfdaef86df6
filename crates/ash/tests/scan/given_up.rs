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
