//! Landlock and seccomp on the host's own mounts: nothing is hidden by another mount, so everything not granted is refused.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    path::{Path, PathBuf},
};

use ash_model::evidence::Tier;

use super::{BackendId, PrivateCaches, Wrap, bwrap::GRACE_MS, evidence, limits, rlimits};
use crate::{
    environment,
    launch::{Prepared, Setup},
    policy::Policy,
    wire::{LandlockSpec, Sockets, StageSpec, SupervisorSpec},
};

/// supervisor → the stage, which stays → the tool.
const TOOL_DEPTH: u32 = 2;
const READABLE_DEVICES: [&str; 4] = ["/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

pub(crate) fn wrap(wrap: &Wrap<'_>) -> Prepared {
    let policy = wrap.policy;
    let private = PrivateCaches::new(policy, wrap.scratch);
    let (home, temporary) = (wrap.scratch.join("home"), wrap.scratch.join("tmp"));
    let mut environment = policy.environment.clone();
    environment::set(&mut environment, "HOME", &home);
    environment::set(&mut environment, "TMPDIR", &temporary);
    private.redirect(&mut environment);
    environment.sort();
    let mut setup: Vec<Setup> =
        [wrap.scratch, &temporary, &home].map(|dir| Setup::Dir(dir.to_owned())).to_vec();
    setup.extend(farm(policy, &home));
    setup.extend(private.setup());
    let evidence = evidence(
        wrap,
        BackendId::Landlock,
        Tier::Landlock,
        &environment,
        Some(&private),
        limits(policy, false, false),
    );
    Prepared {
        supervisor: SupervisorSpec {
            argv: vec![wrap.exe.into(), "__confine".into(), "apply".into()],
            options: 0,
            env: environment.clone(),
            cwd: "/".into(),
            stage: Some(StageSpec {
                argv: wrap.command.argv(),
                env: environment,
                cwd: policy.cwd.clone().into(),
                places: vec![],
                links: vec![],
                shown: vec![],
                sockets: if policy.network { Sockets::Internet } else { Sockets::None },
                landlock: Some(rules(policy, wrap.scratch)),
                landlock_alone: true,
                rlimits: rlimits(policy, false),
                stay: true,
            }),
            tool_depth: TOOL_DEPTH,
            grace_ms: GRACE_MS,
            cleanup: vec![wrap.scratch.into(), private.root.into()],
        },
        setup,
        evidence,
    }
}

/// The ruleset in the host's own names. `/proc` has to be granted whole, since a rule on `/proc/self` would name one process only.
pub(crate) fn rules(policy: &Policy, scratch: &Path) -> LandlockSpec {
    let whole = |path: &&PathBuf| !policy.unfolded.iter().any(|split| split.dir == **path);
    let parts = policy.unfolded.iter().flat_map(|split| &split.parts);
    let read = policy.read_only.iter().filter(whole).chain(parts).chain(&policy.caches);
    LandlockSpec {
        read: read.map(|path| path.clone().into()).collect(),
        read_data: std::iter::once("/proc").chain(READABLE_DEVICES).map(OsString::from).collect(),
        list: policy
            .unfolded
            .iter()
            .filter(|split| split.list)
            .map(|split| split.dir.clone().into())
            .collect(),
        // POSIX semaphores live in /dev/shm, so it cannot be denied; the host's objects there show: a known gap.
        write: policy
            .writable
            .iter()
            .map(PathBuf::as_path)
            .chain([scratch, Path::new("/dev/shm")])
            .map(OsString::from)
            .collect(),
        write_files: vec!["/dev/null".into()],
        no_tcp: !policy.network,
        required: true,
        force_abi: None,
    }
}

/// The private home shows every granted path of the real home as a link at the same place, so that `~/.tool` is found.
pub(crate) fn farm(policy: &Policy, home: &Path) -> Vec<Setup> {
    let granted = policy
        .read_only
        .iter()
        .chain(&policy.caches)
        .chain(&policy.writable)
        .map(|path| (path.clone(), path.clone()));
    // A relative text would lead elsewhere from the private home.
    let linked = policy
        .links
        .iter()
        .filter_map(|(place, text)| Some((place.clone(), place.parent()?.join(text))));
    let mut wanted: Vec<(PathBuf, PathBuf)> = granted
        .chain(linked)
        .filter_map(|(place, target)| Some((inside(policy, &place)?, target)))
        .collect();
    wanted.sort();
    wanted.dedup_by(|later, earlier| later.0 == earlier.0);
    let mut setup = vec![];
    let mut made = BTreeSet::from([PathBuf::new()]);
    let mut links: Vec<PathBuf> = vec![];
    for (relative, target) in wanted {
        if links.iter().any(|link| relative.starts_with(link)) {
            continue;
        }
        let parents: Vec<&Path> = relative.ancestors().skip(1).collect();
        for parent in parents.into_iter().rev().filter(|parent| made.insert((*parent).to_owned())) {
            setup.push(Setup::Dir(home.join(parent)));
        }
        setup.push(Setup::Link { at: home.join(&relative), text: target });
        links.push(relative);
    }
    setup
}

fn inside(policy: &Policy, place: &Path) -> Option<PathBuf> {
    let relative = place
        .strip_prefix(&policy.home)
        .or_else(|_| place.strip_prefix(&policy.home_spelled))
        .ok()?;
    (!relative.as_os_str().is_empty()).then(|| relative.to_owned())
}
