//! Inside somebody else's namespaces, as containers are: `auto` confines with what works there, or says why nothing does and runs nothing.
//! firejail takes such a place for a sandbox of its own and runs its command bare, which must never pass for one.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

use std::{ffi::OsString, fs};

use ash_testkit::{Lab, Outcome, PATH, Run};
use libtest_mimic::{Arguments, Completion, Failed, Trial};

/// The program under test.
const ASH: &str = env!("CARGO_BIN_EXE_ash");

const BACKENDS: &[&str] = &["bwrap", "firejail", "landlock"];

/// A container as `unshare` makes it.
#[derive(Debug, Clone, Copy)]
struct Container {
    name: &'static str,
    /// Who one is inside.
    user: &'static [&'static str],
    /// Whether `/proc` shows the container's own processes, kernel threads not among them, or still those outside.
    own_proc: bool,
}

const CONTAINERS: &[Container] = &[
    Container { name: "root_inside", user: &["--map-root-user"], own_proc: true },
    Container { name: "oneself_inside", user: &["--map-current-user"], own_proc: true },
    Container { name: "nobody_inside", user: &[], own_proc: true },
    Container {
        name: "root_inside_with_the_outer_proc",
        user: &["--map-root-user"],
        own_proc: false,
    },
    Container {
        name: "oneself_inside_with_the_outer_proc",
        user: &["--map-current-user"],
        own_proc: false,
    },
    Container { name: "nobody_inside_with_the_outer_proc", user: &[], own_proc: false },
];

/// Tells that it runs and reads what it must not.
const SPY: &str = r#"echo STARTED; cat "$HIDDEN""#;

fn main() {
    let mut trials = Vec::new();
    for container in CONTAINERS {
        let mut add = |name: &str, run: fn(&Container) -> Result<Completion, Failed>| {
            let name = format!("{name}::{}", container.name);
            trials.push(Trial::ignorable_test(name, move || match container.obstacle() {
                Some(reason) => Ok(Completion::ignored_with(reason)),
                None => run(container),
            }));
        };
        add("auto_confines_or_explains", auto_confines_or_explains);
        add("firejail_never_runs_a_command_bare", firejail_never_runs_bare);
        if container.own_proc {
            add("nothing_outlives_a_command", nothing_outlives);
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

impl Container {
    fn start(&self, lab: &Lab, words: impl IntoIterator<Item = OsString>) -> Outcome {
        let proc = self.own_proc.then_some("--mount-proc");
        let start = ["unshare", "--user", "--pid", "--fork", "--mount"].into_iter();
        let start = start.chain(self.user.iter().copied()).chain(proc).map(OsString::from);
        Run::new(start.chain(words))
            .env("PATH", PATH)
            .env("HOME", lab.home())
            .env("HIDDEN", lab.path("home/.ssh/id_rsa"))
            .directory(lab.source())
            .timeout(std::time::Duration::from_secs(120))
            .finish()
    }

    fn shell(&self, lab: &Lab, script: &str) -> Outcome {
        self.start(lab, ["/bin/sh", "-c", script].map(OsString::from))
    }

    /// Why there is no such container here.
    fn obstacle(&self) -> Option<String> {
        let tried = self.shell(&Lab::new(), "true");
        let reason = || format!("`unshare` makes no such container here: {}", tried.err().trim());
        (tried.code != Some(0)).then(reason)
    }

    /// What ash makes of a spy, in one mode.
    fn ash(&self, lab: &Lab, mode: &str) -> Outcome {
        self.start(lab, sandboxed(lab, mode, &["/bin/sh", "-c", SPY, lab.home().to_str().unwrap()]))
    }
}

fn sandboxed(lab: &Lab, mode: &str, command: &[&str]) -> Vec<OsString> {
    let mut words: Vec<OsString> =
        [ASH, "sandbox", "run", "--sandbox", mode, "--json", "--offline"]
            .map(OsString::from)
            .to_vec();
    for (option, path) in [("--source-dir", lab.source()), ("--results-dir", lab.results())] {
        words.extend([option.into(), path.into()]);
    }
    // The variable does not reach the command: what it must not read is named in the command itself.
    words.push("--".into());
    words.extend(
        command.iter().map(|word| OsString::from(word.replace("$HIDDEN", "$0/.ssh/id_rsa"))),
    );
    words
}

fn check(what: &str, holds: bool, outcome: &Outcome) -> Result<(), Failed> {
    if holds { Ok(()) } else { Err(format!("{what}\n{}", outcome.describe()).into()) }
}

fn started(outcome: &Outcome) -> bool {
    outcome.out().contains("STARTED")
}

fn auto_confines_or_explains(container: &Container) -> Result<Completion, Failed> {
    let lab = Lab::new();
    let bare = container.shell(&lab, SPY);
    check("without a sandbox the key can be read", bare.out().contains(lab.secret()), &bare)?;

    let outcome = container.ash(&lab, "auto");
    check("the key is not read", !outcome.out().contains(lab.secret()), &outcome)?;
    let line = outcome.json().unwrap_or_default();
    if container.own_proc {
        check("the command runs", started(&outcome), &outcome)?;
        let used = line["sandbox"]["backend"].as_str().unwrap_or_default().to_owned();
        check("in bwrap or under Landlock", ["bwrap", "landlock"].contains(&&*used), &outcome)?;
        return Ok(Completion::Completed);
    }
    // By the numbers in a foreign `/proc` strangers would be killed, and the command's own processes never found.
    check("exit 125", outcome.code == Some(125), &outcome)?;
    check("nothing runs", !started(&outcome), &outcome)?;
    let reason = line["refused"].as_str().unwrap_or_default().to_owned();
    let remedy = "`mount -t proc proc /proc`";
    check("the reason says what to type", reason.contains(remedy), &outcome)?;
    check(
        "every backend has its reason",
        BACKENDS.iter().all(|backend| reason.contains(backend)),
        &outcome,
    )?;
    Ok(Completion::Completed)
}

fn firejail_never_runs_bare(container: &Container) -> Result<Completion, Failed> {
    if !fs::exists("/usr/bin/firejail").unwrap() {
        return Ok(Completion::ignored_with("firejail is not installed"));
    }
    let lab = Lab::new();
    let bare = container.shell(
        &lab,
        r#"firejail --quiet --noprofile --private -- /bin/sh -c 'echo STARTED; cat "$0"' "$HIDDEN""#,
    );
    let runs_bare = bare.out().contains(lab.secret());
    let outcome = container.ash(&lab, "firejail");
    check("exit 125", outcome.code == Some(125), &outcome)?;
    check("nothing runs", !started(&outcome), &outcome)?;
    let reason = outcome.json().unwrap_or_default()["refused"].to_string();
    check(
        "the reason names the modes that work",
        reason.contains("`--sandbox bwrap`") && reason.contains("`--sandbox landlock`"),
        &outcome,
    )?;
    // With the outer `/proc` ash goes no further than that where the outside is a container too.
    let foreign = !container.own_proc && reason.contains("belongs to another PID namespace");
    let says = reason.contains("without a sandbox") || foreign || !runs_bare;
    check("the reason says that it ran bare", says, &outcome)?;
    // As an unmapped user it cannot even start, and with the outer `/proc` it may not take the place for a sandbox.
    if !runs_bare && container.own_proc && !container.user.is_empty() {
        return Ok(Completion::ignored_with("this firejail does not run commands bare"));
    }
    Ok(Completion::Completed)
}

/// The container lives on, so only ash can have ended the daemon.
fn nothing_outlives(container: &Container) -> Result<Completion, Failed> {
    let lab = Lab::new();
    let beat = lab.results().join("beat");
    let daemon = format!(
        "setsid sh -c 'while echo x >>\"{0}\"; do sleep 0.02; done' & while [ ! -s '{0}' ]; do sleep 0.02; done",
        beat.display()
    );
    let grown = format!(
        "before=$(wc -c <'{0}'); sleep 1; test $before -eq $(wc -c <'{0}') || echo GROWN",
        beat.display()
    );
    let bare = container.shell(&lab, &format!("{daemon}; {grown}"));
    check("without ash the daemon goes on", bare.out().contains("GROWN"), &bare)?;

    fs::remove_file(&beat).unwrap();
    let mut words: Vec<OsString> =
        ["/bin/sh", "-c", r#"grown=$1; shift; "$@" || exit; eval "$grown""#, "sh", &grown]
            .map(OsString::from)
            .to_vec();
    words.extend(sandboxed(&lab, "auto", &["/bin/sh", "-c", &daemon]));
    let outcome = container.start(&lab, words);
    check("the command ran", outcome.code == Some(0) && beat.exists(), &outcome)?;
    check("its daemon is gone", !outcome.out().contains("GROWN"), &outcome)?;
    Ok(Completion::Completed)
}
