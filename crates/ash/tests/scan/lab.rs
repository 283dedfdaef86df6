//! A throwaway machine for `ash scan`: a source tree, a home, and stand-in scanners on `PATH`.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;

/// The directories of one test; removed at its end.
pub(crate) struct Lab {
    root: tempfile::TempDir,
}

/// What a finished scan left.
#[derive(Debug)]
pub(crate) struct Scanned {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) results: Value,
    pub(crate) output: PathBuf,
}

impl Lab {
    pub(crate) fn new() -> Self {
        let root = tempfile::Builder::new().prefix("ash-scan-").tempdir().unwrap();
        let lab = Self { root };
        for dir in ["source", "home", "bin", "out"] {
            fs::create_dir(lab.path(dir)).unwrap();
        }
        fs::write(lab.path("source/app.py"), "import os\n\n\nprint('hello')\n").unwrap();
        lab
    }

    pub(crate) fn path(&self, rest: impl AsRef<Path>) -> PathBuf {
        self.root.path().join(rest)
    }

    /// Installs a stand-in: a shell script under a scanner's program name.
    pub(crate) fn tool(&self, name: &str, body: &str) {
        let path = self.path("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// A stand-in bandit that reports one finding in `app.py`, and leaves a marker on the host when it is not confined.
    pub(crate) fn bandit(&self) {
        let source = self.path("source");
        self.tool("bandit", &bandit_script(&source.display().to_string()));
    }

    /// An `ash` command in this machine; nothing of the tester's own environment reaches it.
    pub(crate) fn ash(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ash"));
        command
            .env_clear()
            .env("HOME", self.path("home"))
            .env("PATH", format!("{}:/usr/bin:/bin", self.path("bin").display()))
            .env("ASH_TOOLS_DIR", self.path("tools"))
            .current_dir(self.path("source"))
            .args(args)
            .stdin(Stdio::null());
        command
    }

    /// `ash scan SOURCE --output-dir OUT …`, waited for.
    pub(crate) fn scan(&self, args: &[&str]) -> Scanned {
        self.scan_dir(&self.path("source"), args)
    }

    pub(crate) fn scan_dir(&self, source: &Path, args: &[&str]) -> Scanned {
        let output = self.path("out");
        let mut command = self.ash(&["scan"]);
        command.arg(source).arg("--output-dir").arg(&output).args(args);
        read(
            finish(
                command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap(),
                Duration::from_secs(120),
            ),
            output,
        )
    }
}

/// The directory of the installed scanners that `ASH_TOOLS_DIR` names, or the reason for a skip on standard error.
#[expect(clippy::print_stderr, reason = "a skipped test says why")]
pub(crate) fn tools() -> Option<PathBuf> {
    let dir = std::env::var_os("ASH_TOOLS_DIR").map(PathBuf::from).filter(|dir| dir.is_absolute());
    let found = dir.filter(|dir| dir.join("detect-secrets/bin/python").exists());
    if found.is_none() {
        eprintln!("skipped: `ASH_TOOLS_DIR` names no directory with the scanners");
    }
    found
}

/// Reads back what a scan left.
pub(crate) fn read(finished: Output, output: PathBuf) -> Scanned {
    let results = fs::read(output.join("ash_aggregated_results.json"))
        .ok()
        .map(|bytes| serde_json::from_slice(&bytes).unwrap())
        .unwrap_or(Value::Null);
    Scanned {
        code: finished.status.code(),
        stdout: String::from_utf8_lossy(&finished.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&finished.stderr).into_owned(),
        results,
        output,
    }
}

/// Waits, and fails the test rather than hang.
pub(crate) fn finish(child: Child, limit: Duration) -> Output {
    let pid = child.id();
    let (done, waited) = std::sync::mpsc::channel();
    std::thread::spawn(move || done.send(child.wait_with_output()));
    match waited.recv_timeout(limit) {
        Ok(output) => output.unwrap(),
        Err(_) => {
            let _ = Command::new("kill").args(["-9", &pid.to_string()]).status();
            panic!("ash did not end within {limit:?}");
        }
    }
}

/// Polls until something holds.
pub(crate) fn eventually(what: &str, limit: Duration, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < limit, "not within {limit:?}: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

impl Scanned {
    pub(crate) fn scanner(&self, name: &str) -> &Value {
        &self.results["scanner_results"][name]
    }

    pub(crate) fn status(&self, name: &str) -> &str {
        self.scanner(name)["status"].as_str().unwrap_or("absent")
    }

    pub(crate) fn reason(&self, name: &str) -> &str {
        self.scanner(name)["reason"].as_str().unwrap_or_default()
    }

    /// `(rule, uri, line)` of every result in `ash.sarif`.
    pub(crate) fn findings(&self) -> Vec<(String, String, u64)> {
        let sarif: Value =
            serde_json::from_slice(&fs::read(self.output.join("reports/ash.sarif")).unwrap())
                .unwrap();
        let results = sarif["runs"][0]["results"].as_array().cloned().unwrap_or_default();
        results
            .iter()
            .map(|result| {
                let place = &result["locations"][0]["physicalLocation"];
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                (
                    text(&result["ruleId"]),
                    text(&place["artifactLocation"]["uri"]),
                    place["region"]["startLine"].as_u64().unwrap_or(0),
                )
            })
            .collect()
    }
}

/// Finds the value of `--output` among its arguments as the real bandit does, and writes a report there.
pub(crate) fn bandit_script(source: &str) -> String {
    format!(
        r#"[ "$1" = --version ] && {{ echo "bandit 1.9.4"; exit 0; }}
while [ $# -gt 0 ]; do case "$1" in --output) out=$2; shift;; --output=*) out=${{1#--output=}};; esac; shift; done
cat > "$out" <<'JSON'
{{"errors":[],"generated_at":"2026-01-01T00:00:00Z","metrics":{{}},
"results":[{{"filename":"{source}/app.py","test_id":"B404","test_name":"blacklist","issue_text":"stand-in finding","issue_severity":"HIGH","issue_confidence":"HIGH",
"issue_cwe":{{"id":78,"link":""}},"more_info":"","line_number":1,"line_range":[1],"col_offset":0,"end_col_offset":9,"code":"1 import os\n"}}]}}
JSON
exit 1"#
    )
}
