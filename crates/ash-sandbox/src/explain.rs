//! What would be run and allowed, for `ash sandbox explain`. Starts nothing but, where it has to, a backend's probe.

use std::{ffi::OsString, fmt::Write as _, path::PathBuf};

use ash_model::{
    evidence::{SandboxEvidence, Tier},
    path::printable,
};

use crate::{
    backends::{Abilities, BackendId, Command},
    confinement::{Mode, probe, wrap_unprobed},
    launch::{Launcher, Prepared},
    policy::Policy,
    site::Site,
    wire::{LandlockSpec, Sockets, StageSpec},
};

/// An explained spawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The backend; `None` when off, or when `auto` finds none.
    pub backend: Option<BackendId>,
    /// How strong it is here, or would be where it exists.
    pub tier: Tier,
    /// The whole command line, the tool's at its end.
    pub command: Vec<OsString>,
    /// The Seatbelt profile, or the rules the last stage applies.
    pub profile: Option<String>,
    /// Names of the variables the tool gets.
    pub environment: Vec<String>,
    /// What the evidence of such a spawn would say.
    pub evidence: SandboxEvidence,
    /// Why it would not run here.
    pub refusal: Option<String>,
    /// What was taken for granted, since this machine could not be asked.
    pub assumed: Option<String>,
}

/// Explains how a command would run under a policy, for every backend on every system.
pub fn explain(
    mode: Mode,
    site: &Site,
    launcher: &Launcher,
    policy: &Policy,
    command: &Command,
) -> Explanation {
    match mode {
        Mode::Off => off(command),
        Mode::Only(id) => one(mode, id, site, launcher, policy, command),
        Mode::Auto => {
            let candidates = BackendId::auto(std::env::consts::OS);
            let mut reasons = vec![];
            for id in candidates {
                match probe(*id, site, launcher) {
                    Ok(_) => return one(mode, *id, site, launcher, policy, command),
                    Err(reason) => reasons.push(format!("{id}: {reason}")),
                }
            }
            let refusal = format!("no sandbox backend works here: {}", reasons.join("; "));
            Explanation { refusal: Some(refusal), evidence: nothing(mode), ..off(command) }
        }
    }
}

fn off(command: &Command) -> Explanation {
    Explanation {
        backend: None,
        tier: Tier::None,
        command: command.argv(),
        profile: None,
        environment: vec![],
        evidence: SandboxEvidence::off(),
        refusal: None,
        assumed: None,
    }
}

fn nothing(mode: Mode) -> SandboxEvidence {
    SandboxEvidence { mode: mode.as_str().to_owned(), ..SandboxEvidence::off() }
}

fn one(
    mode: Mode,
    id: BackendId,
    site: &Site,
    launcher: &Launcher,
    policy: &Policy,
    command: &Command,
) -> Explanation {
    let (abilities, refusal) = match probe(id, site, launcher) {
        Ok(abilities) => (abilities, None),
        Err(reason) => (assumed(id), Some(reason)),
    };
    let assumed = refusal.is_some().then(|| {
        format!(
            "{id} was not tried here: its program is taken to be `{}`",
            printable(abilities.program.as_os_str())
        )
    });
    match wrap_unprobed(mode, id, &abilities, site, launcher, policy, command) {
        Ok(prepared) => Explanation {
            backend: Some(id),
            tier: abilities.tier,
            profile: profile(id, &prepared),
            environment: environment(&prepared),
            command: prepared.supervisor.argv.into_iter().chain(command.argv()).collect(),
            evidence: prepared.evidence,
            refusal,
            assumed,
        },
        Err(error) => Explanation {
            backend: Some(id),
            tier: abilities.tier,
            refusal: Some(refusal.unwrap_or_else(|| error.to_string())),
            evidence: nothing(mode),
            assumed,
            ..off(command)
        },
    }
}

/// What a backend has where it works.
fn assumed(id: BackendId) -> Abilities {
    let program = match id {
        BackendId::Bwrap => "/usr/bin/bwrap",
        BackendId::Firejail => "/usr/bin/firejail",
        BackendId::SandboxExec => crate::backends::sandbox_exec::PROGRAM,
        BackendId::Landlock | BackendId::Gvisor => "ash",
    };
    Abilities {
        program: PathBuf::from(program),
        version: None,
        overlay: false,
        disable_userns: true,
        tmpfs_size: true,
        tier: id.usual_tier(),
        warnings: vec![],
    }
}

fn environment(prepared: &Prepared) -> Vec<String> {
    let environment =
        prepared.supervisor.stage.as_ref().map_or(&prepared.supervisor.env, |stage| &stage.env);
    let mut names: Vec<String> = environment.iter().map(|(name, _)| printable(name)).collect();
    names.sort();
    names
}

fn profile(id: BackendId, prepared: &Prepared) -> Option<String> {
    if id == BackendId::SandboxExec {
        return crate::backends::sandbox_exec::profile_of(&prepared.supervisor.argv);
    }
    prepared.supervisor.stage.as_ref().map(rules)
}

/// The last stage's restrictions, one a line.
pub(crate) fn rules(stage: &StageSpec) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{name:<14} {value}");
    };
    for (place, real) in &stage.links {
        line("link", &format!("{} -> {}", printable(place), printable(real)));
    }
    match &stage.landlock {
        Some(spec) => landlock_rules(spec, &mut line),
        None => line("landlock", "none"),
    }
    let sockets = match stage.sockets {
        Sockets::None => "none but stream socketpairs",
        Sockets::Internet => "IPv4 and IPv6 (TCP, UDP), route netlink, stream socketpairs",
    };
    line("sockets", sockets);
    if stage.landlock_alone {
        line("metadata", "inert");
    }
    for (limit, value) in &stage.rlimits {
        line("limit", &format!("{limit:?} {value}"));
    }
    text
}

fn landlock_rules(spec: &LandlockSpec, line: &mut impl FnMut(&str, &str)) {
    line("landlock", if spec.required { "required" } else { "where the kernel has it" });
    let lists = [
        ("read+run", &spec.read),
        ("read", &spec.read_data),
        ("list", &spec.list),
        ("write", &spec.write),
        ("write file", &spec.write_files),
    ];
    for (name, paths) in lists {
        for path in paths {
            line(name, &printable(path));
        }
    }
    if spec.no_tcp {
        line("tcp", "refused");
    }
}
