//! How a sandboxed command starts and ends, and that nothing outlives it.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod support;

use std::{
    ffi::OsString,
    fs,
    os::unix::fs::PermissionsExt,
    thread,
    time::{Duration, Instant},
};

use ash_testkit::{BWRAP_OVERLAY, Lab, Run, Running};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use rustix::process::{Pid, Signal};
use support::{ASH, COLUMNS, trial};

fn main() {
    let arguments = Arguments::from_args();
    let mut trials = vec![
        Trial::test("off_becomes_the_command_with_everything_unchanged", off_changes_nothing),
        Trial::test("a_backend_that_is_not_there_is_a_refusal_and_nothing_runs", refusal),
        Trial::test("an_unknown_mode_is_a_usage_error", || usage_error(&["--sandbox", "none"])),
        Trial::test("a_missing_command_is_a_usage_error", || usage_error(&["--sandbox", "off"])),
    ];
    trials.push(for_one(
        "auto_uses_landlock_where_nothing_is_installed",
        "landlock",
        nothing_installed,
    ));
    trials.push(for_one("bwrap_needs_no_setuid_program", "bwrap", bwrap_is_not_setuid));
    trials.extend(each("a_timeout_ends_the_tree_with_124", timeout_ends_the_tree));
    trials.extend(each(
        "a_command_that_ignores_sigterm_is_killed_after_the_grace_period",
        timeout_kills,
    ));
    trials.extend(each("killing_ash_ends_the_tree_within_a_second", |backend| {
        ending_ash_ends_the_tree(backend, Signal::KILL)
    }));
    trials.extend(each("interrupting_ash_ends_the_tree_within_a_second", |backend| {
        ending_ash_ends_the_tree(backend, Signal::INT)
    }));
    trials.extend(each("terminating_ash_ends_the_tree_within_a_second", |backend| {
        ending_ash_ends_the_tree(backend, Signal::TERM)
    }));
    trials.extend(each("killing_ash_and_its_supervisor_at_once_leaves_no_process", |backend| {
        killed_together(backend, &["supervise"], false)
    }));
    trials.extend(each(
        "killing_ash_and_every_stage_at_once_leaves_what_is_documented",
        |backend| {
            // What is documented in `docs/sandbox.md`: only a namespace of processes ends with its parent, whoever is killed.
            killed_together(backend, &["supervise", "apply"], backend == "landlock")
        },
    ));
    trials.extend(each("a_command_that_ends_takes_its_daemons_along", daemons_end));
    trials.extend(each("a_command_that_is_not_found_is_127", not_found));
    trials.extend(each("a_file_that_cannot_be_executed_is_126", not_executable));
    trials.extend(each(
        "the_results_directory_is_named_first_and_keeps_what_was_written",
        results_line,
    ));
    trials.extend(each("only_the_three_standard_descriptors_are_open", descriptors));
    trials.extend(each(
        "a_private_cache_is_empty_and_removed_however_the_command_ends",
        private_cache,
    ));
    trials.extend(each("no_bus_of_the_host_is_named", no_bus));
    trials.extend(each("output_is_passed_on_whole_and_in_order", passes_on));
    trials.extend(each("output_that_nobody_reads_ends_the_command_as_usual", unread_output));
    trials.extend(each("a_reader_that_stopped_does_not_hold_up_the_timeout", stalled_reader));
    trials.extend(each("a_relative_command_in_the_source_runs_as_named", relative_command));
    trials.extend(each("offline_in_the_environment_beats_network", offline_wins));
    libtest_mimic::run(&arguments, trials).exit();
}

/// One trial of what only one backend does.
fn for_one(name: &str, backend: &'static str, run: fn() -> Result<(), Failed>) -> Trial {
    trial(name.to_owned(), backend, move || run().map(|()| Completion::Completed))
}

/// One trial of the same behaviour per backend.
fn each(name: &str, run: fn(&'static str) -> Result<(), Failed>) -> Vec<Trial> {
    let one = |&backend: &&'static str| {
        trial(format!("{name}::{backend}"), backend, move || {
            run(backend).map(|()| Completion::Completed)
        })
    };
    // How a command starts and ends does not depend on its caches.
    COLUMNS.iter().filter(|column| **column != BWRAP_OVERLAY).map(one).collect()
}

fn check(what: &str, holds: bool, detail: impl FnOnce() -> String) -> Result<(), Failed> {
    if holds { Ok(()) } else { Err(format!("{what}\n{}", detail()).into()) }
}

fn options(lab: &Lab, backend: &str, more: &[&str]) -> Vec<OsString> {
    let mut options: Vec<OsString> = ["--sandbox", backend, "--json"].map(OsString::from).to_vec();
    options.extend(more.iter().map(OsString::from));
    let places = [
        ("--source-dir", lab.source()),
        ("--results-dir", lab.results()),
        ("--read", lab.path("tools")),
    ];
    for (option, path) in places {
        options.extend([option.into(), path.into()]);
    }
    options
}

fn sandboxed(lab: &Lab, backend: &str, more: &[&str], script: &str) -> Run {
    let command = ["/bin/sh", "-c", script].map(OsString::from).to_vec();
    Run::sandboxed(ASH, options(lab, backend, more), command)
        .envs(lab.environment())
        .timeout(Duration::from_secs(90))
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
    // firejail's own monitor ends what it started when one of its processes is asked to, on a busy machine before the ten seconds.
    let least = if backend == "firejail" { 1.0 } else { 10.0 };
    check("ten seconds of grace", (least..60.0).contains(&seconds), || outcome.describe())
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

fn not_found(backend: &'static str) -> Result<(), Failed> {
    let lab = Lab::new();
    for command in ["no-such-command-anywhere", "/no/such/command", "./nothing-here"] {
        let outcome = Run::sandboxed(ASH, options(&lab, backend, &[]), [OsString::from(command)])
            .envs(lab.environment())
            .finish();
        check("exit 127", outcome.code == Some(127), || outcome.describe())?;
        check(
            "the name is in the message",
            outcome.err().contains(command.trim_start_matches("./")),
            || outcome.describe(),
        )?;
    }
    Ok(())
}

fn not_executable(backend: &'static str) -> Result<(), Failed> {
    let lab = Lab::new();
    let outcome = Run::sandboxed(ASH, options(&lab, backend, &[]), [OsString::from("./main.py")])
        .envs(lab.environment())
        .finish();
    check("exit 126", outcome.code == Some(126), || outcome.describe())
}

fn results_line(backend: &'static str) -> Result<(), Failed> {
    let lab = Lab::new();
    let options: Vec<OsString> =
        vec!["--sandbox".into(), backend.into(), "--source-dir".into(), lab.source().into()];
    let temporary = lab.path("temporary");
    fs::create_dir(&temporary).unwrap();
    // The results directory is the only writable place that stays: the script finds it by its name.
    let script = "for d in \"$1\"/ash-results-*; do stat -c %a \"$d\"; echo x >\"$d/file\"; done";
    let words = ["/bin/sh", "-c", script, "sh"].map(OsString::from);
    let command = words.into_iter().chain([temporary.clone().into()]);
    let seeing = options.iter().cloned().chain(["--read".into(), temporary.clone().into()]);
    let first = Run::sandboxed(ASH, seeing, command)
        .envs(lab.environment())
        .env("TMPDIR", &temporary)
        .finish();
    let text = first.err();
    let line = text.lines().next().unwrap_or_default().to_owned();
    let directory = line.strip_prefix("results: ").unwrap_or_default().to_owned();
    check("`results: ` and an absolute path", directory.starts_with('/'), || first.describe())?;
    check("it exists", fs::metadata(&directory).is_ok_and(|found| found.is_dir()), || {
        first.describe()
    })?;
    let mode = fs::metadata(&directory).map_or(0, |found| found.permissions().mode());
    check("nobody else may look", mode & 0o077 == 0, || format!("mode {mode:o}"))?;
    fs::remove_dir_all(&directory).unwrap();
    for command in ["/bin/true", "/bin/false", "/no/such/command"] {
        // What an ash left that was killed, and what one left that had no results.
        let killed = temporary.join("ash-sandbox-0123456789abcdef");
        fs::create_dir_all(killed.join("home")).unwrap();
        let unused = temporary.join("ash-results-0123456789abcdef0123456789abcdef");
        fs::create_dir(&unused).unwrap();
        let long_ago = std::time::SystemTime::now() - Duration::from_secs(7200);
        for leftover in [&killed, &unused] {
            fs::File::open(leftover).unwrap().set_modified(long_ago).unwrap();
        }
        let empty = Run::sandboxed(ASH, options.clone(), [command.into()])
            .envs(lab.environment())
            .env("TMPDIR", &temporary)
            .finish();
        let left: Vec<_> =
            fs::read_dir(&temporary).unwrap().flatten().map(|entry| entry.path()).collect();
        let named = left.iter().all(|path| empty.err().contains(&path.display().to_string()));
        check("only its own results directory is there", left.len() == 1 && named, || {
            format!("{left:?}\n{}", empty.describe())
        })?;
        fs::remove_dir(&left[0]).unwrap();
    }

    let script = format!("echo found >'{}/report.txt'", lab.results().display());
    let outcome = sandboxed(&lab, backend, &[], &script).finish();
    check(
        "a named results directory is told too",
        outcome.err().starts_with(&format!("results: {}\n", lab.results().display())),
        || outcome.describe(),
    )?;
    let kept = fs::read_to_string(lab.results().join("report.txt")).unwrap_or_default();
    check("what was written stays", kept == "found\n", || outcome.describe())
}

fn descriptors(backend: &'static str) -> Result<(), Failed> {
    let lab = Lab::new();
    let script = "exec 7</etc/passwd 9</; exec \"$@\"";
    let mut words: Vec<OsString> =
        ["/bin/sh", "-c", script, "sh", ASH, "sandbox", "run"].map(OsString::from).to_vec();
    words.extend(options(&lab, backend, &[]));
    words.extend(
        ["--", "/bin/sh", "-c", "for fd in /proc/self/fd/*; do echo \"${fd##*/}\"; done"]
            .map(OsString::from),
    );
    let outcome = Run::new(words).envs(lab.environment()).finish();
    // The shell's own directory handle is the fourth.
    let open: Vec<_> = outcome
        .out()
        .lines()
        .filter(|line| matches!(*line, "7" | "9") || line.parse::<u32>().is_ok_and(|fd| fd > 10))
        .map(str::to_owned)
        .collect();
    check("exit 0", outcome.code == Some(0), || outcome.describe())?;
    check("nothing inherited", open.is_empty(), || outcome.describe())
}

fn private_cache(backend: &'static str) -> Result<(), Failed> {
    let lab = Lab::new();
    let caches = || {
        let entries = fs::read_dir(lab.results()).unwrap().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.starts_with(".sandbox-cache-")).collect::<Vec<_>>()
    };
    for (end, timeout) in [("exit 0", "60"), ("kill -9 $$", "60"), ("sleep 60", "1")] {
        let script = format!(
            "test -z \"$(ls -A \"$npm_config_cache\")\" && touch \"$npm_config_cache/used\" && echo \"$npm_config_cache\"; {end}"
        );
        let more = ["--as", "npm-audit", "--offline", "--timeout", timeout];
        let outcome = sandboxed(&lab, backend, &more, &script).finish();
        let named = outcome.out();
        check(
            "an empty directory in the results that can be written to",
            named.starts_with(&lab.results().display().to_string()),
            || outcome.describe(),
        )?;
        check("it is gone", caches().is_empty(), || format!("{end}: {:?}", caches()))?;
    }
    Ok(())
}

fn no_bus(backend: &'static str) -> Result<(), Failed> {
    let lab = Lab::new();
    // firejail sets this variable by itself.
    let outcome = sandboxed(&lab, backend, &["--network"], "env")
        .env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/host/bus")
        .env("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/run/host/bus")
        .finish();
    check("it ran", outcome.out().contains("HOME="), || outcome.describe())?;
    check("no bus", !outcome.out().contains("DBUS"), || outcome.describe())
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

fn relative_command(backend: &'static str) -> Result<(), Failed> {
    let lab = Lab::new();
    let tool = lab.source().join("tool.sh");
    fs::write(&tool, "#!/bin/sh\necho ran from the source\n").unwrap();
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    let outcome = Run::sandboxed(ASH, options(&lab, backend, &[]), [OsString::from("./tool.sh")])
        .envs(lab.environment())
        .finish();
    check("it ran", outcome.code == Some(0) && outcome.out() == "ran from the source\n", || {
        outcome.describe()
    })
}

fn offline_wins(backend: &'static str) -> Result<(), Failed> {
    let lab = Lab::new();
    for word in ["YES", "true", "1"] {
        let outcome =
            sandboxed(&lab, backend, &["--network"], "true").env("ASH_OFFLINE", word).finish();
        let line = outcome.json().unwrap_or_default();
        check(
            "no network",
            line["sandbox"]["network"] == false && line["sandbox"]["offline"] == true,
            || outcome.describe(),
        )?;
    }
    let outcome = sandboxed(&lab, backend, &["--network"], "true").finish();
    check(
        "the control has one",
        outcome.json().unwrap_or_default()["sandbox"]["network"] == true,
        || outcome.describe(),
    )
}

fn refusal() -> Result<(), Failed> {
    let lab = Lab::new();
    let marker = lab.results().join("started");
    let command = ["/bin/sh".into(), "-c".into(), format!("touch '{}'", marker.display()).into()];
    let outcome = Run::sandboxed(ASH, options(&lab, "bwrap", &[]), command)
        .env("PATH", lab.path("tools/bin"))
        .env("HOME", lab.home())
        .finish();
    check("exit 125", outcome.code == Some(125), || outcome.describe())?;
    check("the reason names the package", outcome.err().contains("bubblewrap"), || {
        outcome.describe()
    })?;
    check(
        "`refused` holds the reason",
        outcome.json().is_some_and(|line| line["refused"].is_string()),
        || outcome.describe(),
    )?;
    check("nothing was started", !marker.exists(), || outcome.describe())
}

fn nothing_installed() -> Result<(), Failed> {
    let lab = Lab::new();
    let secret = lab.path("home/.ssh/id_rsa");
    let script = format!("echo STARTED; read -r line <'{}' && echo \"$line\"", secret.display());
    let command = || ["/bin/sh".into(), "-c".into(), script.clone().into()];
    let bare = Run::new(command()).finish();
    check("without a sandbox it reads the key", bare.out().contains("BEGIN KEY"), || {
        bare.describe()
    })?;
    let outcome = Run::sandboxed(ASH, options(&lab, "auto", &[]), command())
        .env("PATH", lab.path("tools/bin"))
        .env("HOME", lab.home())
        .finish();
    let used = outcome.json().unwrap_or_default()["sandbox"]["backend"].clone();
    check("under Landlock", used == "landlock", || outcome.describe())?;
    check("it runs", outcome.out().contains("STARTED"), || outcome.describe())?;
    check("and reads no key", !outcome.out().contains("BEGIN KEY"), || outcome.describe())
}

/// As an ordinary user the sandbox then rests on user namespaces alone: nothing in it ever had another user's rights.
fn bwrap_is_not_setuid() -> Result<(), Failed> {
    let lab = Lab::new();
    let bwrap = ash_testkit::PATH.split(':').map(|dir| format!("{dir}/bwrap"));
    let Some(bwrap) = bwrap.into_iter().find(|file| fs::exists(file).unwrap()) else {
        return Err("bwrap is available, and not on PATH".into());
    };
    let mode = fs::metadata(&bwrap).unwrap().permissions().mode();
    check("no setuid or setgid bit", mode & 0o6000 == 0, || format!("{bwrap}: {mode:o}"))?;
    let attribute = rustix::fs::getxattr(&bwrap, "security.capability", &mut [0_u8; 64][..]);
    check("no file capabilities", attribute.is_err(), || format!("{bwrap}: {attribute:?}"))?;
    let script = "grep -E '^(Uid|CapEff|NoNewPrivs):' /proc/self/status";
    let outcome = sandboxed(&lab, "bwrap", &[], script).finish();
    let holds = outcome.code == Some(0)
        && outcome.out().contains("CapEff:\t0000000000000000")
        && outcome.out().contains("NoNewPrivs:\t1");
    check("and it works, without privileges inside", holds, || outcome.describe())
}

fn usage_error(options: &[&str]) -> Result<(), Failed> {
    let words = [ASH, "sandbox", "run"].iter().chain(options).copied();
    let outcome = Run::new(words).env("PATH", ash_testkit::PATH).finish();
    check("exit 2", outcome.code == Some(2), || outcome.describe())
}

/// Says everything a process inherits: its number, session, standard input, descriptors, directory, limits, signal masks and environment.
const INHERITED: &str = r#"read -r line; echo "stdin: $line"
echo "session: $(cut -d' ' -f6 /proc/self/stat)"
for fd in 0 1 2 7 8 9; do echo "$fd: $(readlink /proc/$$/fd/$fd)" | sed 's/pipe:.*/pipe/'; done
pwd; umask; ulimit -n; ulimit -c
grep -E 'Sig(Blk|Ign)|NoNewPrivs|Seccomp|CapEff' /proc/self/status
env | grep -v '^_=' | sort"#;

fn off_changes_nothing() -> Result<(), Failed> {
    let lab = Lab::new();
    fs::write(lab.path("words"), "a line\n").unwrap();
    let open = r#"exec 7</etc/passwd 9</ 8<>"$1"; shift; echo "process: $$"; exec "$@""#;
    let run = |words: &[&str]| {
        let file = lab.path("open.txt").display().to_string();
        let start = ["/bin/sh", "-c", open, "sh", &file];
        let last = ["/bin/sh", "-c", INHERITED];
        Run::new(start.iter().chain(words).chain(&last))
            .envs(lab.environment())
            .directory(lab.source())
            .stdin(lab.path("words"))
            .finish()
    };
    let bare = run(&[]);
    let through = run(&[ASH, "sandbox", "run", "--sandbox", "off", "--"]);
    let without_process = |text: String| {
        text.lines()
            .filter(|line| !line.starts_with("process: ") && !line.starts_with("session: "))
            .collect::<Vec<_>>()
            .join("\n")
    };
    check(
        "the same is inherited",
        without_process(bare.out()) == without_process(through.out()),
        || format!("{}\n=== through ash\n{}", bare.describe(), through.describe()),
    )?;
    check("exit 0", through.code == Some(0), || through.describe())?;
    let own = run(&[
        ASH,
        "sandbox",
        "run",
        "--sandbox",
        "off",
        "--",
        "/bin/sh",
        "-c",
        r#"echo "inside: $$""#,
    ])
    .out();
    let number =
        |name: &str| own.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
    check(
        "ash becomes the command",
        number("process: ").is_some() && number("process: ") == number("inside: "),
        || own.clone(),
    )
}
