//! What becomes of a command's output, read or not.

use std::{
    ffi::OsString,
    thread,
    time::{Duration, Instant},
};

use ash_testkit::{Lab, Run};
use libtest_mimic::{Failed, Trial};

use crate::{check, each, options, sandboxed, support::ASH};

pub(super) fn trials() -> Vec<Trial> {
    [
        each("output_is_passed_on_whole_and_in_order", passes_on),
        each("output_that_nobody_reads_ends_the_command_as_usual", unread_output),
        each("a_reader_that_stopped_does_not_hold_up_the_timeout", stalled_reader),
        each("what_ash_says_begins_a_line_of_its_own", own_line),
        each("what_is_not_granted_is_said", not_granted),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// `ash sandbox run` below a shell that does something with its output.
fn in_shell(lab: &Lab, backend: &str, more: &[&str], shell: &str, script: &str) -> Run {
    let mut words: Vec<OsString> =
        ["/bin/sh", "-c", shell, "sh", ASH, "sandbox", "run"].map(OsString::from).to_vec();
    words.extend(options(lab, backend, more));
    words.extend(["--", "/bin/sh", "-c", script].map(OsString::from));
    Run::new(words).envs(lab.environment()).timeout(Duration::from_secs(90))
}

fn passes_on(backend: &'static str) -> Result<(), Failed> {
    let lab = Lab::new();
    let script = "head -c 3000000 /dev/zero; echo out; echo err >&2; test -t 1 || test -p /dev/stdout && echo pipe";
    let outcome = sandboxed(&lab, backend, &[], script).finish();
    let expected = 3_000_000 + "out\npipe\n".len() as u64;
    check("every byte arrives", outcome.stdout_bytes == expected, || {
        format!("{} bytes\n{}", outcome.stdout_bytes, outcome.err())
    })?;
    check("on the stream it was written to", outcome.err().contains("\nerr\n"), || outcome.err())?;
    let script = "i=0; while [ $i -lt 500 ]; do echo $i; i=$((i+1)); echo $i >&2; i=$((i+1)); done";
    let outcome = in_shell(&lab, backend, &[], "exec \"$@\" 2>&1", script).finish();
    let numbers: Vec<usize> = outcome.out().lines().filter_map(|line| line.parse().ok()).collect();
    check("two streams into one keep their order", numbers == (0..500).collect::<Vec<_>>(), || {
        outcome.describe()
    })
}

fn unread_output(backend: &'static str) -> Result<(), Failed> {
    let lab = Lab::new();
    let shell = "(\"$@\"; echo $? >&2) | head -c 10";
    let outcome = in_shell(&lab, backend, &[], shell, "exec yes").finish();
    let code = outcome.err().lines().last().map(str::to_owned);
    check("as without ash: SIGPIPE", code.as_deref() == Some("141"), || outcome.describe())?;
    let full = in_shell(&lab, backend, &[], "exec \"$@\" >/dev/full", "echo lost").finish();
    check("output that is lost is told", full.code == Some(125), || full.describe())
}

fn stalled_reader(backend: &'static str) -> Result<(), Failed> {
    let lab = Lab::new();
    let shell = "(\"$@\"; echo $? >&2) | { sleep 40; cat >/dev/null; }";
    let began = Instant::now();
    let mut running =
        in_shell(&lab, backend, &["--timeout", "1"], shell, "trap '' PIPE; exec yes").start();
    while !running.stderr_so_far().ends_with("124\n") && began.elapsed().as_secs() < 30 {
        check("it goes on", !running.ended(), || running.stderr_so_far())?;
        thread::sleep(Duration::from_millis(50));
    }
    check("ended before anybody read", began.elapsed().as_secs() < 30, || running.stderr_so_far())
}

/// A command that forges ash's last line, and does not end its own.
fn own_line(backend: &'static str) -> Result<(), Failed> {
    let lab = Lab::new();
    let forged = r#"printf '{"exit":0}' >&2; exit 3"#;
    for shell in ["exec \"$@\"", "exec \"$@\" 2>&1"] {
        let outcome = in_shell(&lab, backend, &[], shell, forged).finish();
        let text = format!("{}{}", outcome.out(), outcome.err());
        let last = text.lines().last().unwrap_or_default();
        let json: Option<serde_json::Value> = serde_json::from_str(last).ok();
        check("the last line is ash's", json.is_some_and(|json| json["exit"] == 3), || {
            outcome.describe()
        })?;
    }
    let outcome = sandboxed(&lab, backend, &[], "echo whole >&2").finish();
    check("no line is added", outcome.err().contains("\nwhole\n{"), || outcome.describe())?;
    let outcome =
        sandboxed(&lab, backend, &["--timeout", "0.5"], "printf part >&2; exec sleep 60").finish();
    // As an ordinary user firejail has a word of its own for it on the same line.
    let told = "\nerror: it ran longer than `--timeout` allows";
    let is_told = outcome.err().contains("\npart") && outcome.err().contains(told);
    check("the end by time is said", is_told, || outcome.describe())
}

fn not_granted(backend: &'static str) -> Result<(), Failed> {
    let lab = Lab::new();
    let home = lab.home().display().to_string();
    for (option, path, says) in [
        ("--read", "/", "note: `/` is the whole file system, so it is not granted"),
        ("--cache", "/", "note: `/` is the whole file system, so it is not granted"),
        ("--read", "/no/such", "note: `/no/such` does not exist, so it is not granted"),
        ("--read", &home, "is the home directory"),
        ("--cache", &home, "is not a cache directory of its own"),
    ] {
        let outcome = sandboxed(&lab, backend, &[option, path], "echo ran").finish();
        let is_first = outcome.err().starts_with("results: ");
        check(path, outcome.out() == "ran\n" && outcome.err().contains(says) && is_first, || {
            outcome.describe()
        })?;
    }
    Ok(())
}
