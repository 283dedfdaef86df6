//! What a command gets from its caller, in a sandbox and without one.

use std::{ffi::OsString, fs};

use ash_testkit::{Lab, Run};
use libtest_mimic::{Failed, Trial};

use crate::{check, each, options, sandboxed, support::ASH};

pub(super) fn trials() -> Vec<Trial> {
    let mut trials =
        vec![Trial::test("off_becomes_the_command_with_everything_unchanged", off_changes_nothing)];
    trials.extend(each("only_the_three_standard_descriptors_are_open", descriptors));
    trials.extend(each("no_bus_of_the_host_is_named", no_bus));
    trials.extend(each("offline_in_the_environment_beats_network", offline_wins));
    trials
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
