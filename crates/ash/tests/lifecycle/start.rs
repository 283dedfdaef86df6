//! Whether a command starts, and what is said when it does not.

use std::{ffi::OsString, fs, os::unix::fs::PermissionsExt};

use ash_testkit::{Lab, Run};
use libtest_mimic::{Failed, Trial};

use crate::{check, each, for_one, options, sandboxed, support::ASH};

pub(super) fn trials() -> Vec<Trial> {
    let mut trials = vec![
        Trial::test("a_backend_that_is_not_there_is_a_refusal_and_nothing_runs", refusal),
        Trial::test("an_unknown_mode_is_a_usage_error", || usage_error(&["--sandbox", "none"])),
        Trial::test("a_missing_command_is_a_usage_error", || usage_error(&["--sandbox", "off"])),
        for_one("auto_uses_landlock_where_nothing_is_installed", "landlock", nothing_installed),
        for_one("bwrap_needs_no_setuid_program", "bwrap", bwrap_is_not_setuid),
    ];
    trials.extend(each("a_command_that_is_not_found_is_127", not_found));
    trials.extend(each("a_file_that_cannot_be_executed_is_126", not_executable));
    trials.extend(each("a_relative_command_in_the_source_runs_as_named", relative_command));
    trials
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
