//! Results that are not what a scanner left at its end: they lay there before the scan began, or are replaced after they were read.

use std::{
    ffi::OsString,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use ash_testkit::{Lab, Outcome, Run, mode, path};
use libtest_mimic::{Completion, Failed};
use serde_json::Value;

use super::{check, install, program};
use crate::support::ASH;

/// Where bandit's report lies in an output directory.
const REPORT: &str = "scanners/bandit/source/bandit.json";

/// A report of bandit that finds nothing.
const CLEAN: &str = r#"{"errors":[],"metrics":{},"results":[]}"#;

/// A report with one finding, around its message.
const FINDING: [&str; 2] = [
    r#"{"errors":[],"metrics":{},"results":[{"filename":"SOURCE/main.py","test_id":"B404","test_name":"blacklist","issue_text":""#,
    r#"","issue_severity":"HIGH","issue_confidence":"HIGH","issue_cwe":{"id":78,"link":""},"more_info":"","line_number":1,"line_range":[1],"col_offset":0,"end_col_offset":9,"code":"1 print\n"}]}"#,
];

/// What a stand-in for bandit does first: it says its version, or finds the file it has to write.
const BEGIN: &str = r#"[ "$1" = --version ] && { echo "bandit 1.9.4"; exit; }
while [ $# -gt 0 ]; do case "$1" in --output) out=$2; shift ;; esac; shift; done
"#;

fn finding(lab: &Lab, message: &str) -> String {
    FINDING.join(message).replace("SOURCE", &lab.source().display().to_string())
}

/// What a scan left.
struct Scanned {
    outcome: Outcome,
    bandit: Value,
    messages: Vec<String>,
}

impl Scanned {
    /// Whether bandit ended so, with findings of these messages.
    fn is(&self, what: &str, code: i32, status: &str, messages: &[&str]) -> Result<(), Failed> {
        let holds = self.outcome.code == Some(code)
            && self.bandit["status"] == status
            && self.messages == messages;
        let (bandit, found) = (&self.bandit, &self.messages);
        check(&format!("{what}: {status}, {messages:?}; {bandit}, {found:?}"), holds, &self.outcome)
    }
}

/// `ash scan` with bandit alone.
fn scan(lab: &Lab, sandbox: &'static str, output: &Path, search: OsString) -> Scanned {
    let words = ["scan", "--scanners", "bandit", "--offline", "--sandbox", mode(sandbox)];
    let words = [ASH].into_iter().chain(words).map(OsString::from);
    let paths = [lab.source().into(), "--output-dir".into(), output.into()];
    let outcome = Run::new(words.chain(paths))
        .envs(lab.environment())
        .env("PATH", search)
        .directory(lab.source())
        .timeout(Duration::from_secs(120))
        .finish();
    let read = |name: &str| -> Value {
        let bytes = fs::read(output.join(name)).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    };
    let sarif = read("reports/ash.sarif");
    let found = sarif["runs"][0]["results"].as_array().cloned().unwrap_or_default();
    let text = |result: &Value| result["message"]["text"].as_str().unwrap_or_default().to_owned();
    Scanned {
        outcome,
        bandit: read("ash_aggregated_results.json")["scanner_results"]["bandit"].take(),
        messages: found.iter().map(text).collect(),
    }
}

/// The lab's programs before those of the system and of the backend.
fn search(lab: &Lab, sandbox: &str) -> OsString {
    [lab.path("tools/bin").as_os_str(), &path(sandbox)].join(":".as_ref())
}

/// K06: what a scanner that writes nothing, or is not there, has found is nothing, whatever lies where its results would.
pub(super) fn earlier(sandbox: &'static str) -> Result<Completion, Failed> {
    // An earlier scan leaves much else; a commit may bring the one file, to ash's own place or to where the operator sends results.
    for (place, committed) in
        [("out", false), ("source/.ash/ash_output", true), ("source/build", true)]
    {
        let lab = Lab::new();
        let output = lab.path(place);
        for (text, code, status, messages) in [
            (CLEAN.to_owned(), 0, "PASSED", &[][..]),
            (finding(&lab, "earlier"), 2, "FAILED", &["earlier"]),
        ] {
            let plant = || {
                if committed {
                    fs::remove_dir_all(&output).unwrap();
                }
                fs::create_dir_all(output.join(REPORT).parent().unwrap()).unwrap();
                fs::write(output.join(REPORT), &text).unwrap();
            };
            let gone = || fs::symlink_metadata(output.join(REPORT)).is_err();

            let writes =
                format!("{BEGIN}cat >\"$out\" <<'END'\n{text}\nEND\nexit {}", u8::from(code == 2));
            install(&lab, "bandit", &writes)?;
            let whole = scan(&lab, sandbox, &output, search(&lab, sandbox));
            whole.is(&format!("{place}: its own report is believed"), code, status, messages)?;

            plant();
            install(&lab, "bandit", BEGIN)?;
            let silent = scan(&lab, sandbox, &output, search(&lab, sandbox));
            silent.is(&format!("{place}: it writes nothing"), 1, "ERROR", &[])?;
            check("it ran to its end", silent.bandit["exit_code"] == 0, &silent.outcome)?;
            check(&format!("{place}: no report of before is left"), gone(), &silent.outcome)?;

            plant();
            let missing = scan(&lab, sandbox, &output, without_bandit(&lab, sandbox)?);
            missing.is(&format!("{place}: it is not there"), 1, "MISSING", &[])?;
            let reason = missing.bandit["reason"].as_str().unwrap_or_default();
            let says = reason.contains("ash dependencies install");
            check("for that reason", says, &missing.outcome)?;
            check(&format!("{place}: no report of before is left"), gone(), &missing.outcome)?;
        }
    }
    Ok(Completion::Completed)
}

/// A search path with the backend's program and nothing else: the system may have a bandit of its own.
fn without_bandit(lab: &Lab, sandbox: &'static str) -> Result<OsString, Failed> {
    let directory = lab.path("only");
    fs::create_dir_all(&directory).unwrap();
    let name = mode(sandbox);
    let link = directory.join(name);
    if !matches!(name, "off" | "landlock") && !link.exists() {
        symlink(program(sandbox)?, link).unwrap();
    }
    Ok(directory.into())
}

/// A daemon, with a session of its own and nobody above it, that writes the report anew for ten seconds.
const DAEMON: &str = r#"if [ "$1" = --daemon ]; then
    trap '' TERM HUP INT
    for version in $(seq 200); do
        printf '%s%s%s' 'HEAD' "version $version" 'TAIL' >"$2.new" && mv "$2.new" "$2" || exit
        sleep 0.05
    done
    exit
fi
self=$0
"#;
const LEAVE_IT: &str = r#"(setsid "$self" --daemon "$out" </dev/null >/dev/null 2>&1 &)
while [ ! -s "$out" ]; do sleep 0.05; done
exit 1"#;

/// O25: what is on disk once ash is done is what it read, and stays so.
pub(super) fn replaced(sandbox: &'static str) -> Result<Completion, Failed> {
    let lab = Lab::new();
    let report = finding(&lab, "|");
    let (head, tail) = report.split_once('|').ok_or("no place for a message")?;
    let daemon = DAEMON.replace("HEAD", head).replace("TAIL", tail);
    install(&lab, "bandit", &format!("{daemon}{BEGIN}{LEAVE_IT}"))?;
    let on_disk = |output: &PathBuf| -> String {
        let report: Value = fs::read(output.join(REPORT))
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default();
        report["results"][0]["issue_text"].as_str().unwrap_or_default().to_owned()
    };
    // A scan ends its tools' trees even without a sandbox; a bare command leaves its daemon behind.
    let bare = lab.path("bare");
    fs::create_dir_all(bare.join(REPORT).parent().unwrap()).unwrap();
    let options = ["--sandbox", "off"].map(OsString::from);
    let command =
        [lab.path("tools/bin/bandit").into(), "--output".into(), bare.join(REPORT).into()];
    let alone = Run::sandboxed(ASH, options, command).envs(lab.environment()).finish();
    let read = on_disk(&bare);
    check("the daemon wrote", read.starts_with("version "), &alone)?;
    let limit = Instant::now() + Duration::from_secs(5);
    while on_disk(&bare) == read && Instant::now() < limit {
        thread::sleep(Duration::from_millis(10));
    }
    check("without ash it is replaced", on_disk(&bare) != read, &alone)?;

    let output = lab.path("out");
    let scanned = scan(&lab, sandbox, &output, search(&lab, sandbox));
    let read = scanned.messages.first().cloned().unwrap_or_default();
    check("the daemon wrote", read.starts_with("version "), &scanned.outcome)?;
    scanned.is("bandit's finding is read", 2, "FAILED", &[&read])?;
    for _ in 0..2 {
        let found = on_disk(&output);
        check(&format!("`{found}` is what was read: `{read}`"), found == read, &scanned.outcome)?;
        thread::sleep(Duration::from_millis(700));
    }
    Ok(Completion::Completed)
}
