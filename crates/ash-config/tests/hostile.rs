//! Configurations nobody sane would write: none may panic, hang, or turn the sandbox off.
#![expect(clippy::unwrap_used, reason = "a lab that cannot be built is a failed test")]

use std::{fs, path::Path};

use ash_config::{ConfigErrors, Loaded, Request, load};
use proptest::{
    prelude::*,
    test_runner::{Config, TestRunner},
};

fn load_in(
    root: &Path,
    name: &str,
    bytes: &[u8],
    overrides: &[String],
) -> Result<Loaded, ConfigErrors> {
    fs::write(root.join(name), bytes).unwrap();
    load(&Request {
        source: root.to_owned(),
        config: Some(root.join(name)),
        ash_config_env: None,
        overrides: overrides.to_vec(),
        sandbox_flag: Some("bwrap".to_owned()),
        cwd: root.to_owned(),
        pwd_env: None,
        home: None,
        env: &|name| (name == "ASH_SET").then(|| "value".into()),
        known_scanners: &["bandit"],
        workspace: None,
        identify: None,
    })
}

/// Pieces a configuration is made of, and pieces that break one.
fn piece() -> impl Strategy<Value = String> {
    let words = vec![
        "sandbox:",
        "  mode: ",
        "off",
        "bwrap",
        "network_scanners: ",
        "network-scanners",
        "[",
        "]",
        "{",
        "}",
        ", ",
        ": ",
        "- ",
        "\n",
        "\n  ",
        "\n    ",
        "extends: ",
        "a.yaml",
        "patch: ",
        "op: add",
        "path: /sandbox",
        "value: ",
        "&a ",
        "*a",
        "<<: *a",
        "!!str ",
        "!!binary ",
        "? ",
        "| ",
        "> ",
        "\"",
        "'",
        "#",
        "---",
        "...",
        "%YAML 1.2",
        "\t",
        "\u{feff}",
        "\0",
        "\u{85}",
        "\r\n",
        "null",
        "~",
        "true",
        "1e999",
        "-0",
        "0x10",
        "${ASH_SET}",
        "${ASH_UNSET}",
        "${ASH_UNSET:x}",
        "${",
        "=",
        "[tool.ash]",
        "[sandbox]",
        "scanners:",
        "bandit:",
        "options:",
        "scan_timeout: ",
        "global_settings:",
        "suppressions:",
        "line_start: 9223372036854775807",
        "expiration: 2026-02-30",
        "\u{1F600}",
        "é",
    ];
    prop_oneof![4 => prop::sample::select(words).prop_map(str::to_owned), 1 => "[ -~\n]{0,8}", 1 => "\\PC{0,3}"]
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 0..60).prop_map(|pieces| pieces.concat())
}

fn runner() -> TestRunner {
    TestRunner::new(Config { cases: 10_000, failure_persistence: None, ..Config::default() })
}

#[test]
fn any_text_loads_or_explains_itself() {
    let lab = tempfile::tempdir().unwrap();
    let name = prop::sample::select(&["c.yaml", "c.json", "c.toml", "pyproject.toml"][..]);
    let test = |(text, name): (String, &str)| {
        match load_in(lab.path(), name, text.as_bytes(), &[]) {
            Ok(loaded) => {
                prop_assert_eq!(loaded.settings.sandbox.mode.as_deref(), Some("bwrap"));
                prop_assert_eq!(loaded.settings.sandbox.network.granted, None);
            }
            Err(errors) => {
                prop_assert!(!errors.0.is_empty());
                let shown = format!("{errors}\n{}", errors.render(false));
                prop_assert!(!shown.contains(|c: char| c.is_control() && c != '\n'), "{shown:?}");
            }
        }
        fs::remove_file(lab.path().join(name)).unwrap();
        Ok(())
    };
    runner().run(&(text(), name), test).unwrap();
}

#[test]
fn any_override_applies_or_explains_itself() {
    let lab = tempfile::tempdir().unwrap();
    let change =
        prop_oneof!["[a-z_.-]{0,12}[+]?=\\PC{0,12}", "\\PC{0,12}", "sandbox[.=+a-z_-]{0,30}"];
    let test = |overrides: Vec<String>| {
        match load_in(lab.path(), "c.yaml", b"sandbox: {network_scanners: [bandit]}\n", &overrides)
        {
            Ok(loaded) => prop_assert_eq!(loaded.settings.sandbox.mode.as_deref(), Some("bwrap")),
            Err(errors) => drop(errors.render(true)),
        }
        Ok(())
    };
    runner().run(&prop::collection::vec(change, 1..4), test).unwrap();
}

#[test]
fn bombs_of_every_format_are_refused_or_small() {
    let many = |piece: &str, count: usize| piece.repeat(count);
    let bombs: Vec<(&str, String)> = vec![
        ("c.json", format!("{}{}", many("[", 100_000), many("]", 100_000))),
        ("c.json", format!("{{\"a\": {}1{}}}", many("{\"a\":", 100_000), many("}", 100_000))),
        ("c.toml", format!("a = {}{}", many("[", 100_000), many("]", 100_000))),
        ("c.toml", format!("[{}a]\n", many("a.", 100_000))),
        ("c.toml", format!("{}a = 1\n", many("a.", 50_000))),
        ("c.yaml", format!("a: {}", many("- ", 100_000))),
        ("c.yaml", format!("a: {}", many("!x ", 100_000))),
        ("c.yaml", format!("a: {}", many("&a ", 100_000))),
        ("c.yaml", many("? ", 100_000)),
        ("c.yaml", (0..60_000).map(|n| format!("k{n}: 1\n")).collect()),
        (
            "c.yaml",
            format!(
                "scanners:\n{}",
                (0..40_000).map(|n| format!("  s{n}: {{options: {{x: 1}}}}\n")).collect::<String>()
            ),
        ),
        ("c.yaml", format!("project_name: \"{}\"\n", many("${ASH_SET}", 100_000))),
        (
            "c.yaml",
            format!("global_settings:\n  suppressions:\n{}", many("  - {path: x}\n", 30_000)),
        ),
    ];
    for (name, text) in bombs {
        let lab = tempfile::tempdir().unwrap();
        let started = std::time::Instant::now();
        let result = load_in(lab.path(), name, text.as_bytes(), &[]);
        drop(result.map_err(|errors| errors.render(false)));
        // A hang guard, generous because the build is not optimised and the machine is shared.
        let head: String = text.chars().take(40).collect();
        assert!(
            started.elapsed() < std::time::Duration::from_secs(20),
            "{name} {head}: {:?}",
            started.elapsed()
        );
    }
}
