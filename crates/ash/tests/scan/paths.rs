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
