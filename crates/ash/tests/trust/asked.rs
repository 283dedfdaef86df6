//! One row, asked of the program.

use std::{
    fs,
    path::Path,
    process::{Command, Output, Stdio},
};

use ash_testkit::trust::{
    Expect, Lab, ON_REQUEST, Outcome, Row, SCANNERS, explains_itself, is_setting, is_without_effect,
};
use libtest_mimic::{Completion, Failed};
use serde_json::Value;

/// Mounts pairs of paths up to `--`, then becomes the rest of its words.
const MOUNT: &str = r#"while [ "$1" != -- ]; do mount --bind "$1" "$2" || exit 99; shift 2; done; shift; exec "$@""#;
const NAMESPACE: [&str; 4] = ["unshare", "--user", "--map-root-user", "--mount"];

pub(crate) fn judge(row: &Row) -> Result<Completion, Failed> {
    let dir = tempfile::Builder::new().prefix("ash-trust-").tempdir()?;
    if let Some(reason) = cannot_be_shown(row, dir.path()) {
        return Ok(Completion::ignored_with(reason));
    }
    let lab = Lab::plant(dir.path(), row);
    match row.expect {
        Expect::Refused(words) => refused(&ask(&lab, row, SCANNERS[0]), words)?,
        Expect::Settings(expect) => granted(&lab, row, expect)?,
    }
    Ok(Completion::Completed)
}

/// Why this machine cannot show a row, if it cannot.
fn cannot_be_shown(row: &Row, dir: &Path) -> Option<String> {
    fs::write(dir.join("case"), "").unwrap();
    let ignores_case = dir.join("CASE").exists();
    fs::remove_file(dir.join("case")).unwrap();
    if row.folds_case && !ignores_case {
        return Some("letter case counts here; `ash-config` plays the other case".to_owned());
    }
    row.binds().next()?;
    let probe = Command::new(NAMESPACE[0]).args(&NAMESPACE[1..]).arg("true").output();
    match probe {
        Ok(output) if output.status.success() => None,
        Ok(output) => {
            Some(format!("no mount namespace: {}", String::from_utf8_lossy(&output.stderr).trim()))
        }
        Err(error) => Some(format!("no mount namespace: {error}")),
    }
}

/// `ash sandbox explain`, in the row's mount namespace if it has one. Nothing of the tester's own environment reaches it.
fn ask(lab: &Lab, row: &Row, scanner: &str) -> Output {
    let ash = env!("CARGO_BIN_EXE_ash");
    let mut command = if row.binds().next().is_some() {
        let mut command = Command::new(NAMESPACE[0]);
        command.args(&NAMESPACE[1..]).args(["sh", "-c", MOUNT, "sh"]);
        for (from, to) in row.binds() {
            command.arg(lab.at(from)).arg(lab.at(to));
        }
        command.args(["--", ash]);
        command
    } else {
        Command::new(ash)
    };
    let typed = &row.typed;
    command
        .env_clear()
        .env("HOME", lab.at("home"))
        .env("PATH", "/usr/bin:/bin")
        .env("ASH_TOOLS_DIR", lab.at("tools"))
        .env("CA", lab.variable("CA").unwrap())
        .args(["sandbox", "explain", scanner, "--json", "--source-dir"])
        .arg(lab.typed(typed.source))
        .current_dir(lab.at(typed.cwd))
        .stdin(Stdio::null());
    for (option, value) in [("--config", typed.config), ("--workspace", typed.workspace)] {
        if let Some(path) = value {
            command.arg(option).arg(lab.typed(path));
        }
    }
    if let Some(path) = typed.ash_config {
        command.env("ASH_CONFIG", if path.is_empty() { "".into() } else { lab.at(path) });
    }
    if let Some(path) = typed.pwd {
        command.env("PWD", lab.at(path));
    }
    for text in typed.overrides {
        command.args(["--config-overrides", text]);
    }
    if let Some(mode) = typed.flag {
        command.args(["--sandbox", mode]);
    }
    if typed.offline {
        command.arg("--offline");
    }
    command.output().unwrap()
}

fn refused(output: &Output, words: &str) -> Result<(), Failed> {
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(3) && said.contains(words) && output.stdout.is_empty() {
        Ok(())
    } else {
        Err(format!("expected exit code 3 and `{words}`, not {}: {said}", output.status).into())
    }
}

fn granted(lab: &Lab, row: &Row, expect: Outcome) -> Result<(), Failed> {
    let mut network: Vec<&str> = Vec::new();
    for name in SCANNERS {
        let answer = answer(&ask(lab, row, name))?;
        if answer["network"] == true {
            network.push(name);
        }
        let found = Found::in_answer(lab, row, &answer)?;
        let mode = expect.mode.unwrap_or("off");
        if (found.mode, found.reads, found.dropped.as_slice())
            != (mode, expect.reads, expect.dropped)
        {
            return Err(format!("{name}: expected {expect:?}, found {found:?}").into());
        }
    }
    if network != expect.network {
        return Err(format!("expected a network for {:?}, not {network:?}", expect.network).into());
    }
    Ok(())
}

fn answer(output: &Output) -> Result<Value, Failed> {
    if output.status.code() != Some(0) {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}: {said}", output.status).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// What one answer says of the settings.
#[derive(Debug)]
struct Found<'a> {
    mode: &'a str,
    reads: bool,
    dropped: Vec<&'a str>,
}

impl<'a> Found<'a> {
    fn in_answer(lab: &Lab, row: &Row, answer: &'a Value) -> Result<Self, Failed> {
        let ca = lab.at("home/ca").display().to_string();
        let reads = answer["extra_read_paths"] == serde_json::json!([&ca]);
        // Where a backend made something of the policy, the path must be in it, or must not.
        let shown = texts(&answer["read_only"]);
        if !shown.is_empty() && shown.contains(&ca.as_str()) != reads {
            return Err(format!("extra_read_paths and read_only disagree: {answer}").into());
        }
        let mut dropped = Vec::new();
        for notice in answer["notices"].as_array().into_iter().flatten() {
            let text = |field: &str| notice[field].as_str();
            let key = text("key").unwrap_or_default();
            let reason = text("reason").unwrap_or_default();
            // That a need was withheld is said of the scanner: no file has set anything.
            let withheld = text("file").is_none() && answer["scanner"] == ON_REQUEST;
            if is_setting(key) && !is_without_effect(key, reason) && !withheld {
                let file = text("file").map(|file| as_seen_here(lab, row, file));
                explains_itself(key, file.as_deref(), reason, text("hint"))?;
                dropped.push(key);
            }
        }
        Ok(Self { mode: answer["mode"].as_str().unwrap_or_default(), reads, dropped })
    }
}

/// A path of the row's mount namespace, by the name it has outside.
fn as_seen_here(lab: &Lab, row: &Row, file: &str) -> String {
    let outside = row.binds().find_map(|(from, to)| {
        let below = Path::new(file).strip_prefix(lab.at(to)).ok()?;
        Some(lab.at(from).join(below).display().to_string())
    });
    outside.unwrap_or_else(|| file.to_owned())
}

fn texts(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}
