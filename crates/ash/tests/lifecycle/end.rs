//! How a command ends, by itself, by a timeout or with ash, and that nothing outlives it.

use std::{
    ffi::OsString,
    fs, thread,
    time::{Duration, Instant},
};

use ash_testkit::{Lab, Running};
use libtest_mimic::{Failed, Trial};
use rustix::process::{Pid, Signal};

use crate::{check, each, sandboxed};

pub(super) fn trials() -> Vec<Trial> {
    [
        each("a_timeout_ends_the_tree_with_124", timeout_ends_the_tree),
        each("a_command_that_ignores_sigterm_is_killed_after_the_grace_period", timeout_kills),
        each("killing_ash_ends_the_tree_within_a_second", |backend| {
            ending_ash_ends_the_tree(backend, Signal::KILL)
        }),
        each("interrupting_ash_ends_the_tree_within_a_second", |backend| {
            ending_ash_ends_the_tree(backend, Signal::INT)
        }),
        each("terminating_ash_ends_the_tree_within_a_second", |backend| {
            ending_ash_ends_the_tree(backend, Signal::TERM)
        }),
        each("killing_ash_and_its_supervisor_at_once_leaves_no_process", |backend| {
            killed_together(backend, &["supervise"], false)
        }),
        each("killing_ash_and_every_stage_at_once_leaves_what_is_documented", |backend| {
            // What is documented in `docs/sandbox.md`: only a namespace of processes ends with its parent, whoever is killed.
            killed_together(backend, &["supervise", "apply"], backend == "landlock")
        }),
        each("a_command_that_ends_takes_its_daemons_along", daemons_end),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A script that leaves a detached process which ignores every signal it can and writes twenty beats a second, then goes on itself.
fn with_daemon(lab: &Lab, then: &str) -> String {
    format!("'{}' P14 results='{}' && {then}", lab.hostile().display(), lab.results().display())
}

fn beats(lab: &Lab) -> u64 {
    fs::metadata(lab.results().join("beat")).map_or(0, |found| found.len())
}

/// Whether the daemon still writes; it has one second to be gone.
fn daemon_lives(lab: &Lab) -> bool {
    let deadline = Instant::now() + Duration::from_secs(1);
    let mut last = beats(lab);
    while Instant::now() < deadline {
        thread::sleep(Duration::from_millis(250));
        let now = beats(lab);
        if now == last {
            break;
        }
        last = now;
    }
    let settled = beats(lab);
    thread::sleep(Duration::from_millis(500));
    beats(lab) != settled
}

fn wait_for_beats(lab: &Lab, running: &mut Running) -> Result<(), Failed> {
    let deadline = Instant::now() + Duration::from_secs(60);
    while beats(lab) < 3 {
        if Instant::now() > deadline {
            return Err(
                format!("the daemon never wrote; so far: {}", running.stdout_so_far()).into()
            );
        }
        thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

fn timeout_ends_the_tree(backend: &'static str) -> Result<(), Failed> {
    let lab = Lab::new();
    let outcome =
        sandboxed(&lab, backend, &["--timeout", "2"], &with_daemon(&lab, "sleep 80")).finish();
    check("exit 124", outcome.code == Some(124), || outcome.describe())?;
    check(
        "`timed_out` is told",
        outcome.json().is_some_and(|line| line["timed_out"] == true),
        || outcome.describe(),
    )?;
    check("the daemon had started", beats(&lab) > 0, || outcome.describe())?;
    check("no daemon is left", !daemon_lives(&lab), || outcome.describe())
}

fn timeout_kills(backend: &'static str) -> Result<(), Failed> {
    let lab = Lab::new();
    let script = "trap 'echo asked >&2' TERM; echo started; while :; do sleep 0.2; done";
    let outcome = sandboxed(&lab, backend, &["--timeout", "4"], script).finish();
    check("exit 124", outcome.code == Some(124), || outcome.describe())?;
    check("it was asked before it was killed", outcome.err().contains("asked"), || {
        outcome.describe()
    })?;
    let seconds = outcome.elapsed.as_secs_f32();
    check("ten seconds of grace", (10.0..60.0).contains(&seconds), || outcome.describe())
}

fn ending_ash_ends_the_tree(backend: &'static str, signal: Signal) -> Result<(), Failed> {
    let lab = Lab::new();
    let temporary = lab.path("temporary");
    fs::create_dir(&temporary).unwrap();
    let mut running =
        sandboxed(&lab, backend, &[], &with_daemon(&lab, "trap '' INT TERM HUP; sleep 80"))
            .env("TMPDIR", &temporary)
            .start();
    wait_for_beats(&lab, &mut running)?;
    // Only bwrap makes everything private by mounts.
    let private = private_directories(&lab);
    check("there are private directories", backend == "bwrap" || !private.is_empty(), || {
        format!("{private:?}")
    })?;
    running.signal(signal);
    let left = daemon_lives(&lab);
    let began = Instant::now();
    let outcome = running.finish();
    check("no process is left", !left, || outcome.describe())?;
    check(
        "ash itself ends",
        began.elapsed() < Duration::from_secs(20) && !outcome.timed_out,
        || outcome.describe(),
    )?;
    check("the end is not mistaken for success", outcome.code != Some(0), || outcome.describe())?;
    let deadline = Instant::now() + Duration::from_secs(5);
    while !private_directories(&lab).is_empty() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(20));
    }
    let left = private_directories(&lab);
    check("no private directory is left", left.is_empty(), || format!("{left:?}"))
}

/// Kills ash and the stages of these names below it in one moment. `survives`: a known gap, which must still be there.
fn killed_together(backend: &'static str, stages: &[&str], survives: bool) -> Result<(), Failed> {
    let lab = Lab::new();
    let mut running =
        sandboxed(&lab, backend, &[], &with_daemon(&lab, "trap '' INT TERM HUP; sleep 80")).start();
    wait_for_beats(&lab, &mut running)?;
    let all = below(running.pid().as_raw_nonzero().get());
    let doomed: Vec<Pid> = all
        .iter()
        .filter(|(_, words)| {
            stages.iter().any(|stage| words.contains(&format!("__confine {stage}")))
        })
        .map(|(pid, _)| Pid::from_raw(*pid).unwrap())
        .chain([running.pid()])
        .collect();
    check("there is at least one of each", doomed.len() > stages.len(), || format!("{all:?}"))?;
    // Stopped first, so that none can act on the death of another.
    for signal in [Signal::STOP, Signal::KILL] {
        for pid in &doomed {
            let _ = rustix::process::kill_process(*pid, signal);
        }
    }
    let left = daemon_lives(&lab);
    let is_alive = |pid: i32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        status.lines().any(|line| line.starts_with("State:") && !line.contains('Z'))
    };
    for (pid, words) in all.iter().filter(|(_, words)| words.contains("P14")) {
        check("only a known survivor is there", survives || !is_alive(*pid), || words.clone())?;
        let _ = rustix::process::kill_process(Pid::from_raw(*pid).unwrap(), Signal::KILL);
    }
    check("whether the daemon survives", left == survives, || {
        format!("survived: {left}, documented: {survives}; {all:?}")
    })
}

/// The processes below one, with their command lines.
fn below(ancestor: i32) -> Vec<(i32, String)> {
    let parent_of = |pid: i32| -> Option<i32> {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
    };
    let is_below = |pid: i32| {
        std::iter::successors(Some(pid), |pid| parent_of(*pid)).skip(1).any(|pid| pid == ancestor)
    };
    let pids = fs::read_dir("/proc").unwrap().flatten();
    let numbers = pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let words = |pid: i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ")
    };
    numbers.filter(|pid| is_below(*pid)).map(|pid| (pid, words(pid))).collect()
}

/// What ash made for the command alone: in its temporary directory, and caches in the results.
fn private_directories(lab: &Lab) -> Vec<OsString> {
    let names = |directory| {
        fs::read_dir(directory)
            .unwrap()
            .flatten()
            .map(|entry| entry.file_name())
            .collect::<Vec<_>>()
    };
    let mut private = names(lab.path("temporary"));
    private.extend(
        names(lab.results())
            .into_iter()
            .filter(|name| name.to_string_lossy().starts_with(".sandbox-cache-")),
    );
    private
}

fn daemons_end(backend: &'static str) -> Result<(), Failed> {
    let lab = Lab::new();
    let outcome = sandboxed(&lab, backend, &[], &with_daemon(&lab, "exit 7")).finish();
    check("the command's own exit", outcome.code == Some(7), || outcome.describe())?;
    check("the daemon had started", beats(&lab) > 0, || outcome.describe())?;
    check("ash does not wait for the daemon", outcome.elapsed < Duration::from_secs(9), || {
        outcome.describe()
    })?;
    check("no daemon is left", !daemon_lives(&lab), || outcome.describe())
}
