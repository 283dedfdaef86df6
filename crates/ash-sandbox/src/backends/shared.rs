//! What backends have in common: private caches, resource limits, evidence.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
};

use ash_model::{
    evidence::{CacheEvidence, CacheMode, EvidenceDetails, SandboxEvidence, Tier},
    path::printable,
};

use super::{BackendId, Wrap};
use crate::{environment, launch::Setup, policy::Policy, wire::Rlimit};

/// Empty cache directories of one spawn, in its results directory: where caches are read-only, a tool that must write one gets its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PrivateCaches {
    /// Their parent.
    pub(crate) root: PathBuf,
    /// Variable and directory.
    pub(crate) dirs: Vec<(String, PathBuf)>,
}

impl PrivateCaches {
    pub(crate) fn new(policy: &Policy, scratch: &Path) -> Self {
        let unique = scratch.file_name().unwrap_or_default();
        let mut name = OsString::from(".sandbox-cache-");
        name.push(unique);
        let root = policy.writable.first().map(|results| results.join(name)).unwrap_or_default();
        let dirs = policy
            .cache_env
            .iter()
            .map(|variable| (variable.clone(), root.join(variable.to_lowercase())))
            .collect();
        Self { root, dirs }
    }

    pub(crate) fn setup(&self) -> Vec<Setup> {
        std::iter::once(&self.root)
            .chain(self.dirs.iter().map(|(_, dir)| dir))
            .cloned()
            .map(Setup::Dir)
            .collect()
    }

    pub(crate) fn redirect(&self, environment: &mut Vec<(OsString, OsString)>) {
        for (variable, dir) in &self.dirs {
            environment::redirect(environment, variable, dir);
        }
    }
}

/// The resource limits the stage sets. Processes can be counted only where a user namespace has its own count, and never for uid 0, which
/// the kernel exempts by its global identity (measured on 6.18).
pub(crate) fn rlimits(policy: &Policy, user_namespace: bool) -> Vec<(Rlimit, u64)> {
    let mut limits =
        vec![(Rlimit::Core, policy.limits.core), (Rlimit::FileSize, policy.limits.file_size)];
    if user_namespace && !policy.as_root {
        limits.push((Rlimit::Processes, policy.limits.processes));
    }
    limits
}

/// Limits as evidence; `tmpfs` says whether `/tmp`, `/dev/shm` and the home are sized here.
pub(crate) fn limits(
    policy: &Policy,
    user_namespace: bool,
    tmpfs: bool,
) -> BTreeMap<String, Option<u64>> {
    let limits = &policy.limits;
    let sized = |size: u64| tmpfs.then_some(size);
    let processes = (user_namespace && !policy.as_root).then_some(limits.processes);
    let all = [
        ("core", Some(limits.core)),
        ("file_size", Some(limits.file_size)),
        ("processes", processes),
        ("tmp", sized(limits.tmp)),
        ("shm", sized(limits.shm)),
        ("home", sized(limits.home)),
    ];
    all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The evidence of one spawn before it starts.
pub(crate) fn evidence(
    wrap: &Wrap<'_>,
    id: BackendId,
    tier: Tier,
    environment: &[(OsString, OsString)],
    private: Option<&PrivateCaches>,
    limits: BTreeMap<String, Option<u64>>,
) -> SandboxEvidence {
    let policy = wrap.policy;
    let text = |path: &PathBuf| printable(path.as_os_str());
    let host_mode = if private.is_some() { CacheMode::ReadOnly } else { CacheMode::Overlay };
    let mut caches: Vec<CacheEvidence> = policy
        .caches
        .iter()
        .map(|path| CacheEvidence { path: text(path), mode: host_mode })
        .collect();
    let private = private.into_iter().flat_map(|private| &private.dirs);
    caches.extend(
        private.map(|(_, dir)| CacheEvidence { path: text(dir), mode: CacheMode::Private }),
    );
    caches.sort();
    let mut names: Vec<String> = environment.iter().map(|(name, _)| printable(name)).collect();
    names.sort();
    SandboxEvidence {
        mode: wrap.mode.to_owned(),
        backend: Some(id.as_str().to_owned()),
        tier,
        details: Some(EvidenceDetails {
            network: policy.network,
            offline: policy.offline,
            read_only: policy.read_only.iter().map(text).collect(),
            writable: policy.writable.iter().map(text).collect(),
            caches,
            environment: names,
            landlock: None,
            limits,
            swept: 0,
            spawns: 1,
            notices: policy.notices.clone(),
        }),
    }
}

/// Whether a backend that reads its paths as text would misread this one.
pub(crate) fn has_byte(path: &Path, bad: impl Fn(u8) -> bool) -> bool {
    path.as_os_str().as_encoded_bytes().iter().any(|byte| bad(*byte))
}
