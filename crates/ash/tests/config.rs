//! `ash config` from outside: what it writes, says and returns.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this test starts the program it tests"
)]
#![expect(clippy::unwrap_used, reason = "a test may panic")]
#![cfg(unix)]

use std::{
    fs,
    io::Write,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use ash_testkit::shapes::{BAD, BAD_TOGETHER, BASE, GOOD};
use serde_json::Value;

/// A throwaway checkout.
struct Lab(tempfile::TempDir);

#[derive(Debug)]
struct Said {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Lab {
    fn new() -> Self {
        let lab = Self(tempfile::Builder::new().prefix("ash-config-").tempdir().unwrap());
        fs::create_dir_all(lab.path("demo/.git")).unwrap();
        lab
    }

    fn path(&self, rest: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(rest)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path("demo").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path("demo").join(name)).unwrap()
    }

    /// `ash config …` in the checkout, with nobody at a terminal.
    fn ash(&self, args: &[&str]) -> Said {
        self.ash_with(args, "")
    }

    fn ash_with(&self, args: &[&str], typed: &str) -> Said {
        let mut child = Command::new(env!("CARGO_BIN_EXE_ash"))
            .env_clear()
            .env("HOME", self.0.path())
            .current_dir(self.path("demo"))
            .arg("config")
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let _ = child.stdin.take().unwrap().write_all(typed.as_bytes());
        let output = child.wait_with_output().unwrap();
        Said {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    fn files(&self) -> Vec<String> {
        fn walk(dir: &Path, base: &Path, found: &mut Vec<String>) {
            for entry in fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() && !path.is_symlink() {
                    walk(&path, base, found);
                } else {
                    found.push(path.strip_prefix(base).unwrap().display().to_string());
                }
            }
        }
        let mut found = Vec::new();
        walk(&self.path("demo"), &self.path("demo"), &mut found);
        found.sort();
        found
    }
}

#[test]
fn init_writes_a_file_that_changes_nothing() {
    let lab = Lab::new();
    let before = lab.ash(&["get", "--json"]);
    let said = lab.ash(&["init"]);
    assert_eq!(
        (said.code, said.stdout.as_str(), said.stderr.as_str()),
        (0, "", "wrote `.ash/.ash.yaml`\n")
    );
    assert_eq!(lab.files(), [".ash/.ash.yaml", ".ash/.gitignore"]);
    assert_eq!(lab.read(".ash/.gitignore"), "ash_output*\n");
    let text = lab.read(".ash/.ash.yaml");
    // No address: the schema of this version is in the program, and another project's knows other keys.
    assert!(text.starts_with("# `ash config schema` prints ") && !text.contains("://"), "{text}");
    assert!(
        text.contains("\nproject_name: demo\n")
            && text.contains("\n  bandit:\n    enabled: true\n"),
        "{text}"
    );

    let valid = lab.ash(&["validate"]);
    assert_eq!(
        (valid.code, valid.stdout.as_str(), valid.stderr.as_str()),
        (0, "valid: .ash/.ash.yaml\n", "")
    );
    let lint = lab.ash(&["lint"]);
    assert_eq!((lint.code, lint.stdout.as_str()), (0, ""), "{}", lint.stderr);
    assert_eq!(lint.stderr, ".ash/.ash.yaml: nothing is left to do\n");

    let get = lab.ash(&["get", "--json"]);
    assert_eq!(get.stderr, "note: from `.ash/.ash.yaml`\n");
    let (before, after): (Value, Value) =
        (serde_json::from_str(&before.stdout).unwrap(), serde_json::from_str(&get.stdout).unwrap());
    for key in
        ["fail_on_findings", "fail_on_incomplete_scanners", "content_db_staleness", "sandbox"]
    {
        assert_eq!(before[key], after[key], "{key}");
    }
    assert_eq!(
        after["global_settings"]["severity_threshold"],
        before["global_settings"]["severity_threshold"]
    );
    assert_eq!(after["project_name"], "demo");
}

#[test]
fn init_refuses_to_replace_a_file_unless_told_to() {
    let lab = Lab::new();
    lab.write(".ash/.ash.yaml", "project_name: mine\n");
    let said = lab.ash(&["init"]);
    assert_eq!(said.code, 1);
    assert!(
        said.stderr.contains(".ash/.ash.yaml` exists\nhint: `--force` replaces it"),
        "{}",
        said.stderr
    );
    assert_eq!(lab.read(".ash/.ash.yaml"), "project_name: mine\n");
    assert_eq!(lab.ash(&["init", "--force"]).code, 0);
    assert!(lab.read(".ash/.ash.yaml").contains("project_name: demo"));
    let other = lab.ash(&["init", "-c", "ci.yaml"]);
    assert_eq!(
        other.stderr,
        "wrote `ci.yaml`\nnote: a scan here uses `.ash/.ash.yaml`, which comes first; sources are never merged\n"
    );
    assert_eq!(lab.ash(&["init", "-c", "ash.toml"]).code, 1);
}

#[test]
fn get_shows_what_applies_and_says_what_was_dropped() {
    let lab = Lab::new();
    lab.write(
        ".ash.yaml",
        "# c\nproject-name: x\nfail_on_findings: no\nsandbox:\n  mode: auto\n  network_scanners: [grype]\n  extra_read_paths: [/usr/share]\n",
    );
    let said = lab.ash(&["get", "--config-overrides", "global_settings.severity_threshold=HIGH"]);
    assert_eq!(said.code, 0);
    assert!(said.stdout.contains("project_name: x\nfail_on_findings: false\n"), "{}", said.stdout);
    assert!(said.stdout.contains("  severity_threshold: HIGH\n"), "{}", said.stdout);
    assert!(said.stdout.contains("  extra_read_paths: []\n"), "{}", said.stdout);
    assert!(said.stderr.starts_with("note: from `.ash.yaml`\n"), "{}", said.stderr);
    assert!(said.stderr.contains("note: sandbox.extra_read_paths"), "{}", said.stderr);
}

#[test]
fn get_of_what_does_not_load_exits_3() {
    let lab = Lab::new();
    lab.write(".ash.yaml", "a: [1\n");
    for args in [&["get"][..], &["get", "absent.yaml"], &["get", "--config-overrides", "x"]] {
        let said = lab.ash(args);
        assert_eq!((said.code, said.stdout.as_str()), (3, ""), "{args:?}");
        assert!(said.stderr.starts_with("error: "), "{}", said.stderr);
    }
}

#[test]
fn validate_follows_the_chain_and_shows_every_mistake() {
    let lab = Lab::new();
    assert_eq!(lab.ash(&["validate"]).stdout, "valid: no configuration file; the defaults apply\n");
    lab.write("base.yaml", "fail_on_findings: false\n");
    lab.write("ash.yaml", "extends: base.yaml\n");
    let said = lab.ash(&["validate"]);
    assert_eq!((said.code, said.stdout.as_str()), (0, "valid: ash.yaml\n  extends base.yaml\n"));
    lab.write("base.yaml", "fail_on_finding: false\nsandbox: {mode: bwarp}\n");
    let said = lab.ash(&["validate"]);
    assert_eq!((said.code, said.stdout.as_str()), (1, ""));
    assert!(said.stderr.contains("did you mean `fail_on_findings`?"), "{}", said.stderr);
    assert!(said.stderr.contains("did you mean `bwrap`?"), "{}", said.stderr);
    assert!(
        said.stderr.ends_with(
            "hint: `ash config lint` says more, and `ash config lint --fix` fixes some of it\n"
        ),
        "{}",
        said.stderr
    );
    assert_eq!(lab.ash(&["validate", "--config", "base.yaml"]).code, 1);
}

const PAGE: &str = "# our settings\nproject_name: demo # the name\nscanners:\n  # fast\n  bandit:\n    enabled: true # keep\n";

#[test]
fn update_keeps_comments_and_order() {
    let lab = Lab::new();
    lab.write(".ash/.ash.yaml", PAGE);
    let sets = [
        "--set",
        "scanners.bandit.enabled=false",
        "--set",
        "global_settings.severity_threshold=HIGH",
    ];
    let dry = lab.ash(&[&["update", "--dry-run"], &sets[..]].concat());
    let diff = "@@ line 6 @@\n-    enabled: true # keep\n+    enabled: false # keep\n+global_settings:\n+  severity_threshold: HIGH\n";
    assert_eq!((dry.code, dry.stdout.as_str()), (0, diff));
    assert_eq!(dry.stderr, "nothing was written to `.ash/.ash.yaml`\n");
    assert_eq!(lab.read(".ash/.ash.yaml"), PAGE);
    let said = lab.ash(&[&["update"], &sets[..]].concat());
    assert_eq!(
        (said.code, said.stdout.as_str(), said.stderr.as_str()),
        (0, diff, "wrote `.ash/.ash.yaml`\n")
    );
    let expected = PAGE.replace("enabled: true", "enabled: false")
        + "global_settings:\n  severity_threshold: HIGH\n";
    assert_eq!(lab.read(".ash/.ash.yaml"), expected);
    let again = lab.ash(&[&["update"], &sets[..]].concat());
    assert_eq!((again.code, again.stderr.as_str()), (0, "nothing to change\n"));
    assert_eq!(lab.files(), [".ash/.ash.yaml"]);
}

#[test]
fn update_refuses_what_it_cannot_do_well_and_changes_nothing() {
    let lab = Lab::new();
    for (name, text, set, reason) in [
        ("pyproject.toml", "[tool.ash]\nproject_name = 'x'\n", "project_name=y", "is TOML"),
        ("a.yaml", "extends: b.yaml\n", "project_name=y", "uses `extends`"),
        ("a.yaml", "project_name: x\n", "sandbox.mode=bwarp", "did you mean `bwrap`"),
        ("a.yaml", "project_name: x\n", "project_name", "sets nothing"),
        ("a.yaml", "b: &b {c: 1}\nd: *b\n", "b.c=2", "cannot be written"),
        ("a.yaml", "a: 1\na: 2\n", "a=3", "does not parse"),
    ] {
        lab.write(name, text);
        let said = lab.ash(&["update", name, "--set", set]);
        assert_eq!(said.code, 1, "{said:?}");
        assert!(said.stderr.contains(reason), "{}", said.stderr);
        assert_eq!(lab.read(name), text);
    }
    fs::remove_file(lab.path("demo/pyproject.toml")).unwrap();
    let said = lab.ash(&["update", "--set", "project_name=x"]);
    assert_eq!(
        said.stderr,
        "error: there is no configuration file here\nhint: `ash config init` writes one\n"
    );
    assert_eq!(lab.ash(&["update"]).code, 2);
}

#[test]
fn nothing_is_written_through_a_link() {
    let lab = Lab::new();
    let target = lab.path("outside.yaml");
    fs::write(&target, "global_settings: {severity_threshold: high}\n").unwrap();
    fs::create_dir(lab.path("outside")).unwrap();
    fs::copy(&target, lab.path("outside/.ash.yaml")).unwrap();
    symlink(&target, lab.path("demo/ash.yaml")).unwrap();
    symlink(lab.path("outside"), lab.path("demo/.ash")).unwrap();
    for args in [
        &["update", "ash.yaml", "--set", "project_name=x"][..],
        &["update", ".ash/.ash.yaml", "--set", "project_name=x"],
        &["update", "--set", "project_name=x"],
        &["lint", "--fix", "-y", "-c", "ash.yaml"],
        &["lint", "-c", "ash.yaml"],
        &["init", "--force", "-c", "ash.yaml"],
        &["init", "--force"],
        &["init", "-c", ".ash/new.yaml"],
    ] {
        let said = lab.ash(args);
        assert_eq!(said.code, 1, "{args:?}: {said:?}");
        assert!(
            said.stderr.contains("is a link, and ash edits only real files"),
            "{args:?}: {}",
            said.stderr
        );
        assert!(
            !said.stdout.contains("high") && !said.stderr.contains("high"),
            "nothing of the target is shown"
        );
    }
    assert_eq!(
        fs::read_to_string(&target).unwrap(),
        "global_settings: {severity_threshold: high}\n"
    );
    assert_eq!(fs::read_dir(lab.path("outside")).unwrap().count(), 1);
    // The control: the same file by its own name.
    assert_eq!(
        lab.ash(&["update", "../outside.yaml", "--set", "global_settings.severity_threshold=LOW"])
            .code,
        0
    );
}

#[test]
fn odd_files_end_every_command_at_once() {
    let lab = Lab::new();
    lab.write("latin.yaml", b"a: \xff\n");
    lab.write("nul.yaml", b"project_name: \0\n");
    lab.write("tabs.yaml", "scanners:\n\tbandit: {}\n");
    fs::File::create(lab.path("demo/huge.yaml")).unwrap().set_len(100 * 1024 * 1024).unwrap();
    fs::create_dir(lab.path("demo/dir.yaml")).unwrap();
    assert!(Command::new("mkfifo").arg(lab.path("demo/pipe.yaml")).status().unwrap().success());
    for (name, reason) in [
        ("latin.yaml", "is not UTF-8"),
        ("nul.yaml", "does not parse"),
        ("tabs.yaml", "indent with spaces"),
        ("huge.yaml", "is longer than 4 MiB"),
        ("dir.yaml", "is not a regular file"),
        ("pipe.yaml", "is not a regular file"),
    ] {
        let started = Instant::now();
        let lint = lab.ash(&["lint", "--fix", "-c", name]);
        assert_eq!(lint.code, 1, "{name}: {lint:?}");
        assert!((lint.stdout + &lint.stderr).contains(reason), "{name}: {}", lint.stderr);
        assert_eq!(lab.ash(&["update", name, "--set", "project_name=x"]).code, 1, "{name}");
        assert_eq!(lab.ash(&["get", name]).code, 3, "{name}");
        assert_eq!(lab.ash(&["validate", "--config", name]).code, 1, "{name}");
        assert!(started.elapsed() < Duration::from_secs(20), "{name}: {:?}", started.elapsed());
    }
}

#[test]
fn lint_says_what_and_where_and_fixes_it() {
    let lab = Lab::new();
    let text = "project_name: demo\nglobal_settings:\n  severity_threshold: high # agreed\n  suppressions:\n    - path: src\n      reason: x\n      line_start: 3\nscanners:\n  bandti: {enabled: true}\n";
    lab.write(".ash.yaml", text);
    lab.write("src/a.py", "");
    let said = lab.ash(&["lint"]);
    let found = ".ash.yaml:3:23: error: `global_settings.severity_threshold` is written `HIGH`, not `high` [letter-case, --fix]\n\
.ash.yaml:5:13: warning: `src` is a directory, and the pattern matches nothing below it [bare-directory, --fix]\n\
.ash.yaml:7:19: warning: `line_start` without `line_end` suppresses everything from line 3 to the end of the file [open-ended, --fix]\n\
.ash.yaml:9:3: warning: ash has no scanner named `bandti`; did you mean `bandit`? [unknown-name]\n";
    assert_eq!((said.code, said.stdout.as_str()), (1, found));
    assert_eq!(said.stderr, ".ash.yaml: 1 error, 3 warnings; `ash config lint --fix` fixes 3\n");
    assert_eq!(lab.read(".ash.yaml"), text);

    let elsewhere = lab.ash(&["lint", "--fix", "-o", "fixed.yaml"]);
    assert_eq!(elsewhere.code, 0, "{elsewhere:?}");
    assert_eq!(lab.read(".ash.yaml"), text);
    assert_eq!(
        lab.ash(&["lint", "--fix", "-o", "fixed.yaml"]).code,
        1,
        "an existing file is not replaced"
    );
    assert_eq!(lab.ash(&["lint", "-o", "x.yaml"]).code, 2);

    let said = lab.ash(&["lint", "--fix"]);
    assert_eq!(said.code, 0);
    assert!(said.stdout.contains(".ash.yaml:3:23: fixed: "), "{}", said.stdout);
    assert_eq!(said.stderr, "wrote `.ash.yaml`\n.ash.yaml: 3 fixed, 0 errors, 1 warning\n");
    let fixed = "project_name: demo\nglobal_settings:\n  severity_threshold: HIGH # agreed\n  suppressions:\n    - path: src/**\n      reason: x\n      line_start: 3\n      line_end: 3\nscanners:\n  bandti: {enabled: true}\n";
    assert_eq!(lab.read(".ash.yaml"), fixed);
    assert_eq!(lab.read("fixed.yaml"), fixed);
}

#[test]
fn lint_finds_what_only_loading_finds() {
    let lab = Lab::new();
    lab.write(".ash.yaml", "extends: base.yaml\nproject_name: ${ASH_NOT_SET}\n");
    let said = lab.ash(&["lint"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(
        said.stdout.contains("ASH_NOT_SET") || said.stdout.contains("base.yaml"),
        "{}",
        said.stdout
    );
    lab.write("base.yaml", "fail_on_finding: true\n");
    lab.write(".ash.yaml", "extends: base.yaml\n");
    let said = lab.ash(&["lint"]);
    assert!(said.code == 1 && said.stdout.contains("base.yaml:1:1: error"), "{}", said.stdout);
}

#[test]
fn unused_suppressions_are_commented_out_with_a_dated_note() {
    let lab = Lab::new();
    let text = "global_settings:\n  suppressions:\n    - path: a.py # kept\n      reason: x\n    - path: b.py\n      rule_id: B101\n      reason: y\n";
    lab.write(".ash.yaml", text);
    let none = lab.ash(&["lint", "--fix-unused"]);
    assert!(
        none.stderr
            .contains("note: there is no `.ash/ash_output/reports/ash.unused-suppressions.json`"),
        "{}",
        none.stderr
    );
    let report = ".ash/ash_output/reports/ash.unused-suppressions.json";
    lab.write(
        report,
        r#"{"unused_suppressions": [{"path": "b.py", "rule_id": "B101", "line_start": null}]}"#,
    );
    let said = lab.ash(&["lint"]);
    assert_eq!(
        said.stdout,
        ".ash.yaml:5:7: warning: this suppression (`b.py|B101|*|*`) suppressed nothing in the last scan [unused-suppression, --fix-unused]\n"
    );
    // A report of long ago is acted on with a warning.
    let long_ago = std::time::SystemTime::now() - Duration::from_secs(5 * 3600);
    fs::File::options()
        .append(true)
        .open(lab.path("demo").join(report))
        .unwrap()
        .set_modified(long_ago)
        .unwrap();
    let said = lab.ash(&["lint", "--fix-unused", "-y"]);
    assert!(said.code == 0 && said.stderr.starts_with("note: `.ash/ash_output/reports/ash.unused-suppressions.json` is 5 hours old; scan again"), "{}", said.stderr);
    let new = lab.read(".ash.yaml");
    let (kept, noted) = new.split_at(text.find("    - path: b.py").unwrap());
    assert_eq!(
        kept,
        "global_settings:\n  suppressions:\n    - path: a.py # kept\n      reason: x\n"
    );
    let (note, rest) = noted.split_once('\n').unwrap();
    assert!(
        note.starts_with("    # unused on 2")
            && note.ends_with(", commented out by `ash config lint --fix-unused`:"),
        "{note}"
    );
    assert_eq!(rest, "    # - path: b.py\n    #   rule_id: B101\n    #   reason: y\n");
}

#[test]
fn every_public_shape_is_valid_and_nothing_else_is() {
    for shape in GOOD {
        let lab = Lab::new();
        lab.write("base.yaml", BASE);
        lab.write(".ash/base.yaml", BASE);
        lab.write(shape.file, shape.text);
        let said = lab.ash(&["validate"]);
        let valid = format!("valid: {}\n", shape.file);
        assert!(said.code == 0 && said.stdout.starts_with(&valid), "{}: {said:?}", shape.name);
    }
    let lab = Lab::new();
    for (text, reason) in BAD.iter().chain(BAD_TOGETHER) {
        lab.write(".ash.yaml", text);
        let said = lab.ash(&["validate"]);
        assert_eq!((said.code, said.stdout.as_str()), (1, ""), "{text}");
        assert!(said.stderr.contains(reason), "{text}{}", said.stderr);
    }
}

#[test]
fn the_schema_is_printed_as_it_is_published() {
    let said = Lab::new().ash(&["schema"]);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/ash-config.schema.json");
    let published: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!((said.code, serde_json::from_str::<Value>(&said.stdout).unwrap()), (0, published));
}

#[test]
fn the_programs_of_the_scanners_that_would_run_are_looked_for_and_not_started() {
    let lab = Lab::new();
    let named = |said: &Said| -> Vec<String> {
        said.stdout.lines().filter_map(|line| Some(line.split_once(": ")?.0.to_owned())).collect()
    };
    let all = lab.ash(&["validate-plugin-dependencies"]);
    assert_eq!(all.code, 1, "{all:?}");
    assert!(
        all.stdout.contains("bandit: missing: ")
            && all.stdout.contains("ash dependencies install --tool bandit"),
        "{all:?}"
    );
    let others: Vec<String> = named(&all).into_iter().filter(|name| name != "bandit").collect();
    let off = others.iter().map(|name| format!("  {name}: {{enabled: false}}\n"));
    lab.write(".ash.yaml", format!("scanners:\n{}", off.collect::<String>()));
    let said = lab.ash(&["validate-plugin-dependencies"]);
    assert_eq!((said.code, named(&said)), (1, vec!["bandit".to_owned()]), "{said:?}");
    // It would leave a trace if it ran.
    let bandit = lab.path(".local/share/ash/tools/bin/bandit");
    fs::create_dir_all(bandit.parent().unwrap()).unwrap();
    fs::write(&bandit, "#!/bin/sh\ntouch \"$0.ran\"\n").unwrap();
    fs::set_permissions(&bandit, fs::Permissions::from_mode(0o755)).unwrap();
    let path = bandit.parent().unwrap().display().to_string();
    let output = Command::new(env!("CARGO_BIN_EXE_ash"))
        .env_clear()
        .env("PATH", path)
        .env("HOME", lab.0.path())
        .current_dir(lab.path("demo"))
        .args(["config", "validate-plugin-dependencies"])
        .output()
        .unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        (output.status.code(), stdout),
        (Some(0), format!("bandit: {}\n", bandit.display()))
    );
    assert!(!bandit.with_extension("ran").exists());
    lab.write(".ash.yaml", "scanners: x\n");
    assert_eq!(lab.ash(&["validate-plugin-dependencies"]).code, 3);
}

#[test]
fn lint_puts_twenty_mistakes_right_and_keeps_every_comment() {
    let (before, after) = (
        include_str!("../../ash-config/tests/lint/before.yaml"),
        include_str!("../../ash-config/tests/lint/after.yaml"),
    );
    let lab = Lab::new();
    lab.write(".ash/.ash.yaml", before);
    fs::create_dir(lab.path("demo/docs")).unwrap();
    lab.write(
        ".ash/ash_output/reports/ash.unused-suppressions.json",
        r#"{"unused_suppressions": [{"path": "src/unused.py", "rule_id": "B101"}]}"#,
    );
    let said = lab.ash(&["lint", "--fix", "--fix-unused", "-y"]);
    let today = said.stdout.lines().count();
    assert!(today >= 20, "{said:?}");
    // The note on the unused suppression has the day of the run.
    let written = lab.read(".ash/.ash.yaml");
    let note = written.lines().find(|line| line.contains("# unused on ")).unwrap();
    let day = note.trim_start().trim_start_matches("# unused on ").split(',').next().unwrap();
    assert_eq!(written, after.replace("2026-06-15", day));
    assert_eq!(lab.ash(&["validate"]).code, 0);
    assert_eq!(lab.ash(&["lint"]).code, 0);
}

#[test]
fn the_wizard_needs_somebody_to_answer() {
    let lab = Lab::new();
    let said = lab.ash_with(&["wizard"], "HIGH\n");
    assert_eq!((said.code, said.stdout.as_str()), (1, ""));
    assert_eq!(
        said.stderr,
        "error: `ash config wizard` asks questions, and nobody is at a terminal\nhint: use `ash config init`, then `ash config update --set KEY=VALUE`\n"
    );
    assert_eq!(lab.files(), [""; 0]);
}

#[test]
fn every_subcommand_has_help_with_examples() {
    let lab = Lab::new();
    let said = lab.ash(&["--help"]);
    assert_eq!(said.code, 0);
    for name in [
        "init",
        "get",
        "update",
        "validate",
        "validate-plugin-dependencies",
        "schema",
        "lint",
        "wizard",
    ] {
        assert!(said.stdout.contains(&format!("  {name}")), "{}", said.stdout);
        let help = lab.ash(&[name, "--help"]);
        assert!(
            help.code == 0 && help.stdout.contains("Examples:\n  ash config "),
            "{}",
            help.stdout
        );
    }
}
