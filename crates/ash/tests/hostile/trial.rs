//! Runs one attack, without or within a sandbox, and judges it.

use std::{
    collections::HashMap,
    ffi::OsString,
    fs,
    io::Write,
    path::Path,
    sync::{Arc, LazyLock, Mutex, OnceLock},
    thread,
    time::Duration,
};

use ash_testkit::{Backends, Lab, Outcome, PATH, Run, Said, Verdict, mode};
use libtest_mimic::{Completion, Failed};

use crate::{
    gaps,
    support::ASH,
    table::{Attack, Control, Effect, Inside, Scene},
};

/// How an attack is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cell {
    /// `--sandbox off`.
    Control,
    /// Within a backend, with or without a network.
    Sandboxed { backend: &'static str, online: bool },
}

/// What one run showed.
struct Seen {
    outcome: Outcome,
    said: Said,
    effect: bool,
}

impl Seen {
    fn describe(&self, attack: &Attack) -> String {
        format!(
            "{}: {}\nsaid {:?}, effect seen from outside: {}\n{}",
            attack.id,
            attack.tries,
            self.said,
            self.effect,
            self.outcome.describe()
        )
    }
}

/// What the control of an attack showed.
#[derive(Debug, Clone)]
enum Proof {
    Reached,
    /// It cannot be shown here, with the reason.
    None(String),
    Failed(String),
}

/// Runs the control trial.
pub(crate) fn control(attack: &'static Attack) -> Result<Completion, Failed> {
    match proof(attack) {
        Proof::Reached => Ok(Completion::Completed),
        Proof::None(reason) => Ok(Completion::ignored_with(reason)),
        Proof::Failed(reason) => Err(reason.into()),
    }
}

/// Runs an attack in a sandbox. Its control must have reached the goal, or the trial proves nothing.
pub(crate) fn sandboxed(
    attack: &'static Attack,
    backend: &'static str,
    online: bool,
) -> Result<Completion, Failed> {
    match (proof(attack), attack.control) {
        (Proof::Failed(reason), _) => {
            return Err(format!("void: the control failed\n{reason}").into());
        }
        (Proof::None(reason), Control::Reaches) => return Ok(Completion::ignored_with(reason)),
        _ => {}
    }
    let seen = run(attack, Cell::Sandboxed { backend, online });
    // Where there is a control, it has said already whether the thing exists here.
    if let (Control::Impossible(_), Said::Verdict(Verdict::Absent(reason))) =
        (attack.control, &seen.said)
    {
        return Ok(Completion::ignored_with(reason.clone()));
    }
    let problem = problem(attack, backend, online, &seen);
    let gap = gaps::known(mode(backend), attack.id, online, root(), landlock_abi());
    let judged = match (gap, problem) {
        (None, None) => Ok(Completion::Completed),
        // What is not limited must not be claimed to be.
        (Some(gap), Some(Problem::Gap(_))) => {
            match gap.limit.filter(|name| !claimed_limit(&seen, name).is_null()) {
                None => Ok(Completion::Completed),
                Some(name) => Err(format!(
                    "the evidence claims a limit of `{name}` that does not hold\n{}",
                    seen.describe(attack)
                )
                .into()),
            }
        }
        (Some(gap), None) => Err(format!(
            "a known gap is closed, take it out of the list: {}\n{}",
            gap.reason,
            seen.describe(attack)
        )
        .into()),
        (_, Some(Problem::Gap(what) | Problem::Broken(what))) => {
            Err(format!("{what}\n{}", seen.describe(attack)).into())
        }
    };
    if judged.is_ok() {
        note(attack, backend, online, gap.is_some());
    }
    judged
}

/// Adds what a passed trial means to the file that `ASH_HOSTILE_LOG` names: its result line does not tell a known gap from a wall.
fn note(attack: &Attack, backend: &str, online: bool, gap: bool) {
    let log = std::env::var_os("ASH_HOSTILE_LOG").filter(|path| !path.is_empty());
    let Some(path) = log else { return };
    let word = match attack.inside {
        _ if gap => "gap",
        Inside::Works | Inside::Allowed => "allowed",
        Inside::Granted if online => "allowed",
        _ => "blocked",
    };
    let network = if online { "online" } else { "offline" };
    let mut file = fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
    file.write_all(format!("{} {backend} {network} {word}\n", attack.id).as_bytes()).unwrap();
}

fn proof(attack: &'static Attack) -> Proof {
    type Proofs = Mutex<HashMap<&'static str, Arc<OnceLock<Proof>>>>;
    static PROOFS: LazyLock<Proofs> = LazyLock::new(Mutex::default);
    let cell = Arc::clone(PROOFS.lock().unwrap().entry(attack.id).or_default());
    cell.get_or_init(|| prove(attack)).clone()
}

fn prove(attack: &Attack) -> Proof {
    match attack.control {
        Control::Impossible(reason) => return Proof::None(format!("no control: {reason}")),
        Control::AsRoot if !root() => {
            return Proof::None("no control as an ordinary user".to_owned());
        }
        _ => {}
    }
    if attack.id == "R02" && available_memory_gib() < 6 {
        return Proof::None("less than 6 GiB of memory are free".to_owned());
    }
    let seen = run(attack, Cell::Control);
    match &seen.said {
        Said::Verdict(Verdict::Absent(reason)) => Proof::None(reason.clone()),
        Said::Verdict(Verdict::Reached(_))
            if seen.effect || matches!(attack.effect, Effect::Overwhelmed) =>
        {
            Proof::Reached
        }
        // Killing ash itself leaves no verdict behind.
        _ => {
            Proof::Failed(format!("the control did not reach its goal\n{}", seen.describe(attack)))
        }
    }
}

enum Problem {
    /// The attacker's goal was reached: what a known gap looks like.
    Gap(String),
    /// Something else is wrong; no known gap excuses it.
    Broken(String),
}

fn problem(attack: &Attack, backend: &'static str, online: bool, seen: &Seen) -> Option<Problem> {
    if seen.outcome.timed_out {
        return Some(Problem::Broken("it had to be killed at the deadline".to_owned()));
    }
    // Nobody is left to report anything.
    if attack.effect == Effect::AshKilled && seen.effect {
        return Some(Problem::Gap("ash was killed".to_owned()));
    }
    let verdict = match &seen.said {
        Said::Verdict(verdict) => verdict,
        other => {
            return Some(Problem::Broken(format!(
                "the attack did not run to its verdict: {other:?}"
            )));
        }
    };
    if seen.outcome.code != Some(verdict.exit_code()) {
        return Some(Problem::Broken(format!(
            "ash ended with {:?}, the command with {}",
            seen.outcome.code,
            verdict.exit_code()
        )));
    }
    if let Some(reason) = evidence(attack, backend, online, seen) {
        return Some(Problem::Broken(reason));
    }
    let granted = attack.inside == Inside::Granted && online;
    if seen.effect && attack.effect != Effect::Said && !granted {
        return Some(Problem::Gap("the effect shows outside".to_owned()));
    }
    match (attack.inside, verdict) {
        (_, Verdict::Absent(reason)) => {
            Some(Problem::Broken(format!("absent inside only: {reason}")))
        }
        (Inside::Overlaid, Verdict::Reached(what)) if !overlays(seen) => {
            Some(Problem::Gap(format!("reached without an overlay: {what}")))
        }
        (Inside::Overlaid, Verdict::Refused(errno, what)) if overlays(seen) => {
            Some(Problem::Broken(format!("an overlaid cache takes no writes: {what}: {errno}")))
        }
        (Inside::Works, Verdict::Refused(errno, what)) => {
            Some(Problem::Gap(format!("real tools need this: {what}: {errno}")))
        }
        (Inside::Refused, Verdict::Reached(what)) => Some(Problem::Gap(format!("reached: {what}"))),
        (Inside::Granted, Verdict::Reached(what)) if !online => {
            Some(Problem::Gap(format!("reached offline: {what}")))
        }
        (Inside::Granted, Verdict::Refused(errno, what)) if online => {
            Some(Problem::Broken(format!("a granted network fails: {what}: {errno}")))
        }
        (
            Inside::Refused | Inside::Private | Inside::Overlaid | Inside::Granted,
            Verdict::Refused(errno, what),
        ) if !attack.errors.contains(&errno.as_str()) => {
            Some(Problem::Broken(format!("`{errno}` is not how a sandbox refuses this: {what}")))
        }
        _ => None,
    }
}

/// What ash says that it did must be what was asked for.
fn evidence(attack: &Attack, backend: &'static str, online: bool, seen: &Seen) -> Option<String> {
    // On a terminal the line is in what the terminal showed.
    let line = match attack.scene {
        Scene::Terminal => seen.outcome.out().lines().rev().find_map(|line| {
            serde_json::from_str(line.trim()).ok().filter(serde_json::Value::is_object)
        }),
        _ => seen.outcome.json(),
    };
    let Some(line) = line else { return Some("no JSON object ends standard error".to_owned()) };
    let sandbox = &line["sandbox"];
    if sandbox["backend"] != mode(backend)
        || sandbox["network"] != online
        || !line["refused"].is_null()
    {
        return Some(format!("the evidence differs from what was asked for: {line}"));
    }
    None
}

/// Whether the evidence says that the host's caches are under an overlay.
fn overlays(seen: &Seen) -> bool {
    let line = seen.outcome.json().unwrap_or_default();
    let caches = line["sandbox"]["caches"].as_array();
    caches.is_some_and(|caches| caches.iter().any(|cache| cache["mode"] == "overlay"))
}

fn claimed_limit(seen: &Seen, name: &str) -> serde_json::Value {
    seen.outcome.json().unwrap_or_default()["sandbox"]["limits"][name].clone()
}

fn run(attack: &Attack, cell: Cell) -> Seen {
    let lab = Lab::new();
    let outcome = command(attack, cell, &lab).finish();
    let said = Said::parse(attack.id, &outcome.out());
    let effect = effect(attack, cell, &lab, &outcome, &said);
    Seen { outcome, said, effect }
}

/// The shell opens the descriptors that a careless caller would leave open, and passes on which process ash becomes.
const SHELL: &str =
    r#"exec 9<"$1" 8<>"$2"; shift 2; ASH_PROBE_PID=$$; export ASH_PROBE_PID; exec "$@""#;

fn command(attack: &Attack, cell: Cell, lab: &Lab) -> Run {
    if attack.id == "N06" {
        lab.ears().call_in();
    }
    let hostile = lab.hostile();
    let mut words: Vec<OsString> = vec![
        "/bin/sh".into(),
        "-c".into(),
        SHELL.into(),
        "sh".into(),
        lab.home().into(),
        lab.path("open.txt").into(),
    ];
    match attack.scene {
        Scene::Plain => {}
        Scene::Terminal => words.extend([hostile.clone().into(), "pty-run".into(), "--".into()]),
        Scene::Keyring => words.extend([
            hostile.clone().into(),
            "keyring-run".into(),
            lab.unique().into(),
            lab.secret().into(),
            "--".into(),
        ]),
    }
    words.extend([ASH, "sandbox", "run"].map(OsString::from));
    match cell {
        Cell::Control => words.extend(["--sandbox", "off"].map(OsString::from)),
        Cell::Sandboxed { backend, online } => {
            words.extend(
                [
                    "--sandbox",
                    mode(backend),
                    if online { "--network" } else { "--offline" },
                    "--json",
                ]
                .map(OsString::from),
            );
        }
    }
    for (option, path) in [
        ("--source-dir", lab.source()),
        ("--output-dir", lab.output()),
        ("--results-dir", lab.results()),
        ("--read", lab.mounted()),
    ] {
        words.extend([option.into(), path.into()]);
    }
    words.extend(lab.caches().into_iter().flat_map(|path| ["--cache".into(), path.into()]));
    words.extend(["--".into(), hostile.into(), attack.id.into()]);
    words.extend(lab.parameters().into_iter().map(OsString::from));
    match cell {
        // Without a sandbox ash becomes the command: a stand-in takes its place as a target.
        Cell::Control => words.push(format!("ash={}", lab.victim().process()).into()),
        Cell::Sandboxed { .. } => words.push("sandboxed=1".into()),
    }
    let path = match cell {
        Cell::Control => PATH.into(),
        Cell::Sandboxed { backend, .. } => ash_testkit::path(backend),
    };
    Run::new(words)
        .envs(lab.environment())
        .env("PATH", path)
        .directory(lab.source())
        .timeout(Duration::from_secs(90))
}

fn effect(attack: &Attack, cell: Cell, lab: &Lab, outcome: &Outcome, said: &Said) -> bool {
    // A control is waited for; a sandboxed attempt gets a moment in which its effect could still arrive.
    let patience = Duration::from_millis(if cell == Cell::Control { 2000 } else { 100 });
    match attack.effect {
        Effect::Said => matches!(said, Said::Verdict(Verdict::Reached(_))),
        Effect::Changed(file) => lab.changed(file),
        Effect::AnyChanged => !lab.all_changes().is_empty(),
        Effect::Appears(files) => {
            files.iter().any(|file| lab.path(file).symlink_metadata().is_ok())
        }
        Effect::AppearsAt(prefixes) => prefixes
            .iter()
            .any(|prefix| fs::symlink_metadata(format!("{prefix}{}", lab.unique())).is_ok()),
        Effect::Heard(ear) => lab.ears().heard(ear, lab.secret(), patience),
        Effect::VictimDead => !lab.victim().alive(),
        Effect::VictimOom => lab.victim().oom_score() != "0",
        Effect::VictimTerminal => {
            thread::sleep(Duration::from_millis(100));
            fs::read_to_string(lab.path("pts.log")).unwrap_or_default().contains(lab.secret())
        }
        Effect::AshKilled => match cell {
            // A killed process takes a moment to die on a busy machine.
            Cell::Control => dies(lab),
            Cell::Sandboxed { .. } => outcome.signal.is_some(),
        },
        Effect::Trap => !lab.traps().is_empty(),
        Effect::StillWriting => still_writing(lab),
        Effect::TooLarge => fs::read_dir(lab.results())
            .unwrap()
            .flatten()
            .any(|entry| entry.metadata().is_ok_and(|found| found.len() > 4 << 30)),
        Effect::Typed => outcome.out().contains("TYPED echo-typed"),
        Effect::Overwhelmed => {
            outcome.peak_kib > 300 << 10 || (attack.id == "O21" && outcome.stdout_bytes < 200 << 20)
        }
    }
}

fn still_writing(lab: &Lab) -> bool {
    let beat = lab.results().join("beat");
    let before = fs::metadata(&beat).map_or(0, |found| found.len());
    thread::sleep(Duration::from_millis(700));
    fs::metadata(&beat).map_or(0, |found| found.len()) != before
}

/// What the kernel's Landlock can do.
fn landlock_abi() -> u64 {
    static ABI: LazyLock<u64> = LazyLock::new(|| Backends::of(Path::new(ASH)).landlock_abi());
    *ABI
}

pub(crate) fn root() -> bool {
    rustix::process::geteuid().is_root()
}

fn available_memory_gib() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|number| number.parse::<u64>().ok()).unwrap_or(0) >> 20
}

fn dies(lab: &Lab) -> bool {
    let limit = std::time::Instant::now() + std::time::Duration::from_secs(5);
    while lab.victim().alive() {
        if std::time::Instant::now() > limit {
            return false;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    true
}
