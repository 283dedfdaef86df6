//! What was really applied to a scanner's processes, as recorded in `scanner_results.<name>.sandbox`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::notice::Notice;

/// How strong a confinement was. Ordered weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    /// No sandbox.
    None,
    /// Landlock and seccomp on the host's own mounts.
    Landlock,
    /// macOS sandbox-exec.
    Seatbelt,
    /// Namespaces without Landlock inside.
    Namespaces,
    /// Namespaces, and Landlock and seccomp inside.
    #[serde(rename = "namespaces+landlock")]
    NamespacesLandlock,
    /// A user-space kernel.
    Gvisor,
}

/// How a tool cache was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheMode {
    /// Writable; the writes are thrown away.
    Overlay,
    /// Readable only.
    ReadOnly,
    /// A private, empty directory stands in for it.
    Private,
}

/// One cache.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CacheEvidence {
    /// The host path, or the private one.
    pub path: String,
    /// How it was given.
    pub mode: CacheMode,
}

/// What the kernel enforced of a Landlock ruleset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Enforced {
    /// Nothing.
    None,
    /// Some rights are unknown to this kernel.
    Partial,
    /// All that was asked.
    Full,
}

/// Landlock, as applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LandlockEvidence {
    /// The kernel's ABI version.
    pub abi: u32,
    /// How much was enforced.
    pub enforced: Enforced,
    /// What this kernel cannot enforce, in words.
    pub missing: Vec<String>,
}

/// The evidence object. Over several spawns: the union, the weakest tier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxEvidence {
    /// The mode that was asked for.
    pub mode: String,
    /// The backend that ran it; null when off.
    pub backend: Option<String>,
    /// How strong that is.
    pub tier: Tier,
    /// The rest; absent when off.
    #[serde(flatten)]
    pub details: Option<EvidenceDetails>,
}

/// What a sandbox allowed and did.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct EvidenceDetails {
    /// Whether any spawn had a network.
    pub network: bool,
    /// Whether the scan was offline.
    pub offline: bool,
    /// Readable paths, real and sorted.
    pub read_only: Vec<String>,
    /// Lastingly writable paths: the results directory.
    pub writable: Vec<String>,
    /// Tool caches.
    pub caches: Vec<CacheEvidence>,
    /// Names of the variables the scanner got.
    pub environment: Vec<String>,
    /// Landlock; null where it was not used.
    pub landlock: Option<LandlockEvidence>,
    /// Limits by name; null where this machine cannot enforce one. Bytes, or counts.
    pub limits: BTreeMap<String, Option<u64>>,
    /// Entries removed from the results directory by the sweep.
    pub swept: u64,
    /// Processes started for this scanner, probes included.
    pub spawns: u64,
    /// What was dropped or passed over.
    pub notices: Vec<Notice>,
}

impl SandboxEvidence {
    /// The evidence of mode `off`.
    pub fn off() -> Self {
        Self { mode: "off".to_owned(), backend: None, tier: Tier::None, details: None }
    }

    /// Joins the evidence of another spawn of the same scanner.
    pub fn join(&mut self, other: &Self) {
        self.tier = self.tier.min(other.tier);
        if self.backend.is_none() {
            self.backend.clone_from(&other.backend);
        }
        match (&mut self.details, &other.details) {
            (Some(mine), Some(theirs)) => mine.join(theirs),
            (mine @ None, Some(theirs)) => *mine = Some(theirs.clone()),
            (_, None) => {}
        }
    }
}

impl EvidenceDetails {
    fn join(&mut self, other: &Self) {
        self.network |= other.network;
        self.offline |= other.offline;
        union(&mut self.read_only, &other.read_only);
        union(&mut self.writable, &other.writable);
        union(&mut self.caches, &other.caches);
        union(&mut self.environment, &other.environment);
        union(&mut self.notices, &other.notices);
        self.landlock = match (self.landlock.take(), &other.landlock) {
            (Some(mut mine), Some(theirs)) => {
                mine.enforced = mine.enforced.min(theirs.enforced);
                union(&mut mine.missing, &theirs.missing);
                Some(mine)
            }
            (mine, theirs) => mine.or_else(|| theirs.clone()),
        };
        for (name, value) in &other.limits {
            // A limit that one spawn went without is a limit the scanner did not have.
            self.limits
                .entry(name.clone())
                .and_modify(|mine| *mine = mine.zip(*value).map(|(a, b)| a.max(b)))
                .or_insert(*value);
        }
        self.swept += other.swept;
        self.spawns += other.spawns;
    }
}

fn union<T: Ord + Clone>(mine: &mut Vec<T>, theirs: &[T]) {
    mine.extend_from_slice(theirs);
    mine.sort();
    mine.dedup();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence(tier: Tier, network: bool) -> SandboxEvidence {
        SandboxEvidence {
            mode: "auto".into(),
            backend: Some("bwrap".into()),
            tier,
            details: Some(EvidenceDetails {
                network,
                spawns: 1,
                read_only: vec!["/usr".into()],
                ..EvidenceDetails::default()
            }),
        }
    }

    #[test]
    fn the_weakest_spawn_names_the_tier_and_the_rest_is_a_union() {
        let mut all = evidence(Tier::NamespacesLandlock, false);
        all.join(&evidence(Tier::Namespaces, true));
        let details = all.details.clone().unwrap();
        assert_eq!(
            (all.tier, details.network, details.spawns, details.read_only.len()),
            (Tier::Namespaces, true, 2, 1)
        );
    }

    #[test]
    fn off_has_three_members_only() {
        assert_eq!(
            serde_json::to_string(&SandboxEvidence::off()).unwrap(),
            r#"{"mode":"off","backend":null,"tier":"none"}"#
        );
    }
}
