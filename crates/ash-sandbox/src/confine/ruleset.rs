//! Landlock: everything the running kernel can refuse is refused, and what it cannot is said.
//!
//! Nothing is best effort: the ABI is asked first, every right of that ABI is then a hard requirement, and a forbidden open is tried afterwards.

use std::{ffi::OsString, fs::OpenOptions, io, path::Path};

use ash_model::evidence::{Enforced, LandlockEvidence};
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, LandlockStatus,
    PathBeneath, PathFd, PathFdError, RestrictSelf, Ruleset, RulesetAttr as _, RulesetCreated,
    RulesetCreatedAttr as _, RulesetStatus, Scope,
};

use crate::{
    places,
    wire::{LandlockSpec, Place},
};

/// The first ABI that refuses everything ash relies on Landlock for.
const FULL: u32 = 6;

/// What came of applying a ruleset.
#[derive(Debug)]
pub(crate) struct Restricted {
    pub(crate) evidence: LandlockEvidence,
    /// Grants that were left out and other remarks.
    pub(crate) notes: Vec<String>,
}

/// The ABI of the running kernel; 0 where it has no Landlock, or where that is switched off.
pub(crate) fn abi() -> Result<u32, String> {
    // With nothing asked of it, this builder makes no restriction; it only reports what the kernel says about itself.
    let status =
        RestrictSelf::default().no_new_privs(false).apply().map_err(|error| error.to_string())?;
    Ok(match status.landlock {
        LandlockStatus::Available { effective_abi, .. } => effective_abi as u32,
        _ => 0,
    })
}

/// Restricts the calling thread, and whatever it starts, for good.
pub(crate) fn restrict(spec: &LandlockSpec, places: &[Place]) -> Result<Restricted, String> {
    let kernel = abi()?;
    let level = spec.force_abi.map_or(kernel, |forced| forced.min(kernel));
    if level == 0 {
        return without_landlock(spec);
    }
    let abi = ABI::from(i32::try_from(level).unwrap_or(i32::MAX));
    let mut notes = Vec::new();
    let forbidden = Forbidden::choose(spec);
    let created =
        handle(abi, spec).map_err(|error| format!("the kernel refused the ruleset: {error}"))?;
    let status = grant(created, abi, (spec, places), &mut notes)?
        .restrict_self()
        .map_err(|error| format!("the kernel refused the restriction: {error}"))?;
    if status.ruleset != RulesetStatus::FullyEnforced {
        return Err(format!("the kernel enforces only part of what its ABI {level} promises"));
    }
    forbidden?.check()?;
    if level < 2 {
        notes.push("landlock: this kernel refuses to move files between directories".to_owned());
    }
    let missing = missing(level, spec.no_tcp);
    let enforced = if level >= FULL { Enforced::Full } else { Enforced::Partial };
    Ok(Restricted { evidence: LandlockEvidence { abi: level, enforced, missing }, notes })
}

fn without_landlock(spec: &LandlockSpec) -> Result<Restricted, String> {
    const REASON: &str =
        "this kernel has no Landlock, or it is not among the `lsm=` boot parameters";
    if spec.required {
        return Err(REASON.to_owned());
    }
    let evidence =
        LandlockEvidence { abi: 0, enforced: Enforced::None, missing: vec![REASON.to_owned()] };
    Ok(Restricted { evidence, notes: vec![] })
}

/// A ruleset that handles every right of the ABI.
fn handle(abi: ABI, spec: &LandlockSpec) -> Result<RulesetCreated, landlock::RulesetError> {
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(abi))?;
    let network = AccessNet::from_all(abi);
    if spec.no_tcp && !network.is_empty() {
        ruleset = ruleset.handle_access(network)?;
    }
    let scopes = Scope::from_all(abi);
    if !scopes.is_empty() {
        ruleset = ruleset.scope(scopes)?;
    }
    ruleset.create()
}

fn grant(
    mut created: RulesetCreated,
    abi: ABI,
    (spec, places): (&LandlockSpec, &[Place]),
    notes: &mut Vec<String>,
) -> Result<RulesetCreated, String> {
    let all = AccessFs::from_all(abi);
    let read = AccessFs::Execute | AccessFs::ReadFile | AccessFs::ReadDir;
    let write = all & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::MakeSock);
    let write_file =
        all & (AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev);
    let grants = [
        (&spec.read, read),
        (&spec.read_data, AccessFs::ReadFile | AccessFs::ReadDir),
        (&spec.list, AccessFs::ReadDir.into()),
        (&spec.write, write),
        (&spec.write_files, write_file),
    ];
    for (paths, rights) in grants {
        for path in paths {
            created = grant_one(created, (path, places), rights, abi, notes)?;
        }
    }
    Ok(created)
}

fn grant_one(
    created: RulesetCreated,
    (path, places): (&OsString, &[Place]),
    rights: BitFlags<AccessFs>,
    abi: ABI,
    notes: &mut Vec<String>,
) -> Result<RulesetCreated, String> {
    let shown = || Path::new(path).display();
    let handle = match PathFd::new(path) {
        Ok(handle) => handle,
        Err(PathFdError::OpenCall { source, .. }) if is_absent(&source) => return Ok(created),
        // What cannot be reached now cannot be reached by the tool either; granting less is safe.
        Err(PathFdError::OpenCall { source, .. })
            if source.kind() == io::ErrorKind::PermissionDenied =>
        {
            notes.push(format!("landlock: `{}` could not be granted: {source}", shown()));
            return Ok(created);
        }
        Err(error) => return Err(format!("cannot open `{}` to grant it: {error}", shown())),
    };
    let found = rustix::fs::fstat(&handle)
        .map_err(|error| format!("cannot look at `{}`: {error}", shown()))?;
    // The handle is what is granted, whatever the name leads to by then.
    places::same(places, path, (found.st_dev, found.st_ino))?;
    let kind = found.st_mode;
    let is_directory = rustix::fs::FileType::from_raw_mode(kind) == rustix::fs::FileType::Directory;
    let rights = if is_directory { rights } else { rights & AccessFs::from_file(abi) };
    if rights.is_empty() {
        return Ok(created);
    }
    created
        .add_rule(PathBeneath::new(handle, rights))
        .map_err(|error| format!("the kernel refused to grant `{}`: {error}", shown()))
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// What a kernel of this ABI cannot refuse, in words.
fn missing(abi: u32, no_tcp: bool) -> Vec<String> {
    let gaps = [
        (
            3,
            "this kernel cannot refuse truncating files outside the granted paths; ash refuses the call instead",
        ),
        (4, "this kernel cannot refuse TCP; ash refuses the sockets instead"),
        (5, "this kernel cannot restrict device requests (ioctl) by path"),
        (6, "this kernel cannot restrict abstract sockets; ash refuses all Unix sockets instead"),
        (6, "this kernel cannot restrict signals to processes outside the sandbox"),
    ];
    gaps.iter()
        .filter(|(since, _)| abi < *since && (*since != 4 || no_tcp))
        .map(|(_, words)| (*words).to_owned())
        .collect()
}

/// An open that works before the restriction and must fail after it: best effort would otherwise look like success (a kernel that
/// accepts rulesets without enforcing them, a filter that fakes the calls).
enum Forbidden {
    /// Listing the root directory.
    ListRoot,
    /// Writing the stage's own `comm`, which every process may write.
    WriteComm,
}

const COMM: &str = "/proc/self/comm";

impl Forbidden {
    fn choose(spec: &LandlockSpec) -> Result<Self, String> {
        let readable = [&spec.read, &spec.read_data, &spec.list, &spec.write];
        let grants_root = readable.into_iter().flatten().any(|path| path == "/");
        let grants_proc =
            spec.write.iter().chain(&spec.write_files).any(|path| {
                Path::new(COMM).starts_with(path) || path == "/proc/self" || path == COMM
            });
        [(!grants_root, Self::ListRoot), (!grants_proc, Self::WriteComm)]
            .into_iter()
            .find(|(possible, attempt)| *possible && attempt.attempt().is_ok())
            .map(|(_, attempt)| attempt)
            .ok_or_else(|| {
                "nothing is left that could be tried to see whether the restriction holds"
                    .to_owned()
            })
    }

    fn attempt(&self) -> io::Result<()> {
        match self {
            Self::ListRoot => std::fs::read_dir("/").map(drop),
            Self::WriteComm => OpenOptions::new().write(true).open(COMM).map(drop),
        }
    }

    fn check(&self) -> Result<(), String> {
        match self.attempt() {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
            Ok(()) => Err("a forbidden open still works: the kernel accepted the ruleset but does not enforce it".to_owned()),
            Err(error) => Err(format!("cannot tell whether the restriction holds: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_older_abi_lacks_what_came_later_and_says_so() {
        let counts: Vec<usize> = (1..=7).map(|abi| missing(abi, true).len()).collect();
        assert_eq!(counts, [5, 5, 4, 3, 2, 0, 0]);
        assert!(missing(3, false).iter().all(|words| !words.contains("TCP")));
        assert!(missing(2, false)[0].contains("truncating"));
    }

    #[test]
    fn no_landlock_is_fatal_only_where_it_is_required() {
        let spec =
            |required| LandlockSpec { required, force_abi: Some(0), ..LandlockSpec::default() };
        assert!(restrict(&spec(true), &[]).unwrap_err().contains("lsm="));
        assert_eq!(restrict(&spec(false), &[]).unwrap().evidence.enforced, Enforced::None);
    }
}
