//! A launcher that has a supervisor loaded ahead of the command it will be for.
#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    reason = "a test that cannot be set up fails; one of them watches another process of this program"
)]

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Command as Process, Stdio as Input},
    time::{Duration, Instant},
};

use ash_sandbox::{
    Cancel, Captures, Command, Confinement, Launcher, Mode, Site, Stdio, confine::intercept,
};
use libtest_mimic::{Arguments, Trial};
use rustix::process::{Pid, Signal, kill_process};

/// Makes this program hold a launcher until it is killed.
const HOLD: &str = "hold-a-standby";

fn main() {
    intercept();
    if std::env::args().nth(1).is_some_and(|word| word == HOLD) {
        return hold();
    }
    let mut arguments = Arguments::from_args();
    // They look at the children of this process.
    arguments.test_threads = Some(1);
    let tests: [(&str, fn()); 7] = [
        ("the_supervisor_that_waits_starts_the_next_command", used),
        ("one_that_was_killed_is_not_waited_for", killed),
        ("one_that_was_stopped_is_not_waited_for", stopped),
        ("commands_at_once_each_have_their_own", at_once),
        ("none_waits_unless_asked_for", none),
        ("none_stays_when_the_launcher_is_gone", dropped),
        ("none_stays_when_the_program_is_killed", orphaned),
    ];
    let trials = tests.map(|(name, test)| {
        Trial::test(name, move || {
            test();
            Ok(())
        })
    });
    libtest_mimic::run(&arguments, trials.into()).exit();
}

fn launcher() -> Launcher {
    Launcher::with_executable(std::env::current_exe().unwrap())
}

/// The number of the process that started a command.
fn starter(launcher: &Launcher) -> i32 {
    let environment = vec![("PATH".into(), "/usr/bin:/bin".into())];
    let site = Site::gather(environment.clone(), launcher.executable(), &[]);
    let off = Confinement::choose(Mode::Off, &site, launcher).unwrap().confinement;
    let args = ["-c", "echo $PPID"].map(Into::into).to_vec();
    let command = Command { program: "/bin/sh".into(), args };
    let prepared = off.unconfined(&command, environment, Path::new("/")).unwrap();
    let stdio = Stdio::Capture(Captures::default());
    let finished = launcher.run(prepared, stdio, None, &Cancel::new()).unwrap();
    finished.stdout.text().trim().parse().unwrap()
}

/// State and parent of a process.
fn stat(process: i32) -> Option<(String, String)> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let mut fields = text.rsplit(')').next()?.split_whitespace().map(str::to_owned);
    fields.next().zip(fields.next())
}

/// One that only waits to be collected does not run.
fn runs(process: i32) -> bool {
    stat(process).is_some_and(|(state, _)| state != "Z")
}

fn children(parent: u32) -> Vec<i32> {
    let numbers = std::fs::read_dir("/proc").unwrap().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_child = |number: &i32| stat(*number).is_some_and(|(_, its)| its == parent.to_string());
    numbers.filter(is_child).filter(|number| runs(*number)).collect()
}

fn own_children() -> Vec<i32> {
    children(std::process::id())
}

#[track_caller]
fn eventually(mut condition: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < Duration::from_secs(10), "it never happened");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn used() {
    let launcher = launcher().with_standby();
    let first = own_children();
    assert_eq!(first.len(), 1);
    assert_eq!(vec![starter(&launcher)], first);
    let second = own_children();
    assert_eq!(second.len(), 1);
    assert_ne!(first, second);
    assert_eq!(vec![starter(&launcher.clone())], second, "clones share it");
}

fn killed() {
    let launcher = launcher().with_standby();
    let waiting = own_children()[0];
    kill_process(Pid::from_raw(waiting).unwrap(), Signal::KILL).unwrap();
    eventually(|| own_children().is_empty());
    assert_ne!(starter(&launcher), waiting);
    assert_ne!(starter(&launcher), waiting);
}

fn stopped() {
    let launcher = launcher().with_standby();
    let waiting = own_children()[0];
    kill_process(Pid::from_raw(waiting).unwrap(), Signal::STOP).unwrap();
    eventually(|| stat(waiting).is_some_and(|(state, _)| state == "T"));
    assert_ne!(starter(&launcher), waiting);
    assert!(!runs(waiting), "it was ended");
}

fn at_once() {
    let launcher = launcher().with_standby();
    let mut starters: Vec<i32> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..12).map(|_| scope.spawn(|| starter(&launcher))).collect();
        running.into_iter().map(|running| running.join().unwrap()).collect()
    });
    starters.sort_unstable();
    starters.dedup();
    assert_eq!(starters.len(), 12);
    drop(launcher);
    assert_eq!(own_children(), Vec::<i32>::new());
}

fn none() {
    let launcher = launcher();
    starter(&launcher);
    assert_eq!(own_children(), Vec::<i32>::new());
}

fn dropped() {
    let launcher = launcher().with_standby();
    let clone = launcher.clone();
    starter(&launcher);
    drop(launcher);
    assert_eq!(own_children().len(), 1, "a clone is left");
    drop(clone);
    assert_eq!(own_children(), Vec::<i32>::new());
}

fn hold() {
    let launcher = launcher().with_standby();
    println!("{}", starter(&launcher));
    std::thread::sleep(Duration::from_secs(600));
}

fn orphaned() {
    let exe = std::env::current_exe().unwrap();
    let mut holder = Process::new(exe).arg(HOLD).stdout(Input::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(holder.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let waiting = children(holder.id());
    assert_eq!(waiting.len(), 1);
    holder.kill().unwrap();
    holder.wait().unwrap();
    eventually(|| !runs(waiting[0]));
}
