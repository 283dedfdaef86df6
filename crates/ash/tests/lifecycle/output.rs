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
