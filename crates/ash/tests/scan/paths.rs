//! Names that break careless programs.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt, path::Path};

use crate::lab::{Lab, bandit_script};

#[test]
fn odd_directory_names_are_scanned_like_any_other() {
    let names: [&[u8]; 6] = [
        b"with space",
        b"quote's \"both\"",
        b"line\nbreak",
        b"not-\xff-utf8",
        b"$(touch x);*?[a]",
        b"-dash",
    ];
    for name in names {
        for sandbox in ["off", "bwrap", "landlock"] {
            let lab = Lab::new();
            let source = lab.path(OsStr::from_bytes(name));
            std::fs::create_dir(&source).unwrap();
            std::fs::write(source.join("app.py"), "import os\n").unwrap();
            // A real bandit escapes what is not plain; this one names the file relative to the directory it was given.
            lab.tool("bandit", &bandit_script("PLACE").replace("PLACE/", ""));
            let scanned =
                lab.scan_dir(&source, &["--scanners", "bandit", "--offline", "--sandbox", sandbox]);
            let shown = String::from_utf8_lossy(name);
            assert_eq!(
                scanned.code,
                Some(2),
                "{shown:?} {sandbox}: {} {}",
                scanned.reason("bandit"),
                scanned.stderr
            );
            assert_eq!(
                scanned.findings(),
                [("B404".to_owned(), "app.py".to_owned(), 1)],
                "{shown:?} {sandbox}"
            );
        }
    }
}

#[test]
fn a_source_directory_that_is_a_link_works() {
    for sandbox in ["off", "bwrap", "landlock"] {
        let lab = Lab::new();
        let link = lab.path("link");
        std::os::unix::fs::symlink(lab.path("source"), &link).unwrap();
        lab.tool("bandit", &bandit_script(&link.display().to_string()));
        let scanned =
            lab.scan_dir(&link, &["--scanners", "bandit", "--offline", "--sandbox", sandbox]);
        assert_eq!(
            scanned.findings(),
            [("B404".to_owned(), "app.py".to_owned(), 1)],
            "{sandbox}: {} {}",
            scanned.reason("bandit"),
            scanned.stderr
        );
    }
}

/// Names the file by the directory it was given, as the real one does.
const NAMES_WHAT_IT_WAS_GIVEN: &str = r#"[ "$1" = --version ] && { echo "bandit 1.9.4"; exit 0; }
for word in "$@"; do case "$word" in /*source|/*linked) given=$word;; /*) out=$word;; esac; done
cat "$given/app.py" >/dev/null || exit 4
cat > "$out" <<JSON
{"errors":[],"generated_at":"2026-01-01T00:00:00Z","metrics":{},
"results":[{"filename":"$given/app.py","test_id":"B404","test_name":"blacklist","issue_text":"stand-in finding","issue_severity":"HIGH","issue_confidence":"HIGH",
"issue_cwe":{"id":78,"link":""},"more_info":"","line_number":1,"line_range":[1],"col_offset":0,"end_col_offset":9,"code":"1 import os\n"}]}
JSON
exit 1"#;

#[test]
fn a_source_and_an_output_below_links_work_and_findings_have_their_places() {
    for sandbox in ["off", "bwrap", "firejail", "landlock"] {
        for source in ["linked", "above/source", "above/linked"] {
            let lab = Lab::new();
            std::fs::create_dir(lab.path("real")).unwrap();
            std::fs::rename(lab.path("source"), lab.path("real/source")).unwrap();
            for (text, place) in [
                ("real", "above"),
                ("real/source", "linked"),
                ("source", "real/linked"),
                // Where the laboratory's own programs expect it.
                ("real/source", "source"),
            ] {
                std::os::unix::fs::symlink(text, lab.path(place)).unwrap();
            }
            lab.tool("bandit", NAMES_WHAT_IT_WAS_GIVEN);
            let output = lab.path("above/results");
            let mut command = lab.ash(&["scan", "--scanners", "bandit", "--offline"]);
            command.arg(lab.path(source)).args(["--sandbox", sandbox, "--output-dir"]).arg(&output);
            let scanned = crate::lab::read(command.output().unwrap(), output);
            let reason = scanned.reason("bandit").to_owned();
            if sandbox == "firejail" && reason.contains("scanner sandbox unavailable") {
                eprintln!("skipped: {reason}");
                continue;
            }
            assert_eq!(
                scanned.findings(),
                [("B404".to_owned(), "app.py".to_owned(), 1)],
                "{sandbox} {source}: {reason} {}",
                scanned.stderr
            );
        }
    }
}

#[test]
fn the_default_output_directory_is_inside_the_source() {
    let lab = Lab::new();
    lab.bandit();
    for sandbox in ["off", "bwrap", "landlock"] {
        let finished =
            lab.ash(&["--scanners", "bandit", "--offline", "--sandbox", sandbox]).output().unwrap();
        assert_eq!(
            finished.status.code(),
            Some(2),
            "{sandbox}: {}",
            String::from_utf8_lossy(&finished.stderr)
        );
        assert!(lab.path("source/.ash/ash_output/reports/ash.sarif").exists());
        assert_eq!(
            std::fs::read_to_string(lab.path("source/.ash/ash_output/.gitignore")).unwrap(),
            "*\n"
        );
    }
}

#[test]
fn a_tool_inside_the_scanned_tree_is_never_started() {
    let lab = Lab::new();
    let planted = lab.path("source/bandit");
    std::fs::write(
        &planted,
        format!("#!/bin/sh\necho started > '{}'\n", lab.path("started").display()),
    )
    .unwrap();
    std::fs::set_permissions(&planted, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    let mut command = lab.ash(&["scan", "--scanners", "bandit", "--output-dir"]);
    command.arg(lab.path("out")).env("PATH", format!("{}:.", lab.path("source").display()));
    let scanned = crate::lab::read(command.output().unwrap(), lab.path("out"));
    assert_eq!((scanned.code, scanned.status("bandit")), (Some(1), "MISSING"));
    assert!(
        scanned.reason("bandit").contains("inside the scanned tree"),
        "{}",
        scanned.reason("bandit")
    );
    assert!(!Path::new(&lab.path("started")).exists());
}
