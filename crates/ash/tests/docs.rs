//! Every command in the documentation of the sandbox is typed once.
#![cfg(target_os = "linux")]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this test starts the program it tests"
)]

use std::{fs, process::Command};

/// The lines of the `sh` blocks of a page.
fn commands(page: &str) -> Vec<&str> {
    let mut found = vec![];
    let mut inside = false;
    for line in page.lines() {
        match line {
            "```sh" => inside = true,
            "```" => inside = false,
            command if inside => found.push(command),
            _ => {}
        }
    }
    found
}

#[test]
fn every_command_of_the_sandbox_page_is_understood() {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/sandbox.md"));
    let page = page.unwrap();
    let commands = commands(&page);
    assert!(commands.len() > 8, "{commands:?}");
    let lab = tempfile::tempdir().unwrap();
    for dir in ["source", "home", "bin"] {
        fs::create_dir(lab.path().join(dir)).unwrap();
    }
    fs::write(lab.path().join("source/app.py"), "import os\n").unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_ash"), lab.path().join("bin/ash")).unwrap();
    for command in commands.into_iter().filter(|command| command.starts_with("ash ")) {
        let done = Command::new("/bin/sh")
            .args(["-c", command])
            .env_clear()
            .env("PATH", format!("{}:/usr/bin:/bin", lab.path().join("bin").display()))
            .env("HOME", lab.path().join("home"))
            .env("ASH_TOOLS_DIR", lab.path().join("tools"))
            .current_dir(lab.path().join("source"))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        // A scan is incomplete here, as no scanner is installed; `touch` is refused.
        let expected = if command.starts_with("ash scan") || command.contains("touch here") {
            Some(1)
        } else {
            Some(0)
        };
        assert_eq!(done.status.code(), expected, "{command}\n{said}");
    }
    assert!(!lab.path().join("source/here").exists());
}
