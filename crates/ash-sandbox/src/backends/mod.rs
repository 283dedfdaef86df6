//! The ways to confine a command. Each backend turns a policy into a command line, purely; only its probe starts anything.

pub(crate) mod bwrap;
pub(crate) mod firejail;
pub(crate) mod landlock;
pub(crate) mod probe;
pub(crate) mod sandbox_exec;
mod shared;

use std::{
    ffi::OsString,
    fmt,
    path::{Path, PathBuf},
};

use ash_model::evidence::Tier;
use serde::Serialize;

pub(crate) use shared::{PrivateCaches, evidence, limits, rlimits};

use crate::{launch::Prepared, policy::Policy};

/// A backend by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BackendId {
    /// bubblewrap: namespaces.
    Bwrap,
    /// firejail: namespaces made by a setuid program.
    Firejail,
    /// Landlock and seccomp alone.
    Landlock,
    /// macOS Seatbelt.
    SandboxExec,
    /// gVisor, a user-space kernel.
    Gvisor,
}

impl BackendId {
    /// Every backend: those of Linux in the order of `auto`, then the others.
    pub const ALL: [Self; 5] =
        [Self::Bwrap, Self::Firejail, Self::Landlock, Self::SandboxExec, Self::Gvisor];

    /// The name, as typed.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Bwrap => "bwrap",
            Self::Firejail => "firejail",
            Self::Landlock => "landlock",
            Self::SandboxExec => "sandbox-exec",
            Self::Gvisor => "gvisor",
        }
    }

    /// What `auto` tries on an operating system (`std::env::consts::OS`), in order.
    pub fn auto(os: &str) -> &'static [Self] {
        match os {
            "linux" => &[Self::Bwrap, Self::Firejail, Self::Landlock],
            "macos" => &[Self::SandboxExec],
            _ => &[],
        }
    }

    /// The operating system it belongs to.
    pub const fn os(self) -> &'static str {
        match self {
            Self::Bwrap | Self::Firejail | Self::Landlock | Self::Gvisor => "linux",
            Self::SandboxExec => "macos",
        }
    }

    /// The best it can offer.
    pub const fn usual_tier(self) -> Tier {
        match self {
            Self::Bwrap | Self::Firejail => Tier::NamespacesLandlock,
            Self::Landlock => Tier::Landlock,
            Self::SandboxExec => Tier::Seatbelt,
            Self::Gvisor => Tier::Gvisor,
        }
    }
}

impl fmt::Display for BackendId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// One line of `ash sandbox status`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BackendStatus {
    /// Its name.
    pub name: &'static str,
    /// Whether its probe passed here.
    pub available: bool,
    /// Why not.
    pub reason: Option<String>,
    /// The version its program reports.
    pub version: Option<String>,
    /// Whether caches can be writable and thrown away; null where that is not known.
    pub overlay: Option<bool>,
    /// How strong it is here, or would be.
    pub tier: Tier,
}

/// A command to confine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The program, absolute.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
}

impl Command {
    pub(crate) fn argv(&self) -> Vec<OsString> {
        std::iter::once(self.program.clone().into_os_string())
            .chain(self.args.iter().cloned())
            .collect()
    }
}

/// What the probe found out about a backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Abilities {
    /// The backend's program; ash itself for Landlock.
    pub(crate) program: PathBuf,
    /// What it says its version is.
    pub(crate) version: Option<String>,
    /// Caches can be writable and thrown away.
    pub(crate) overlay: bool,
    /// bubblewrap can forbid further user namespaces.
    pub(crate) disable_userns: bool,
    /// bubblewrap can limit the size of a tmpfs.
    pub(crate) tmpfs_size: bool,
    /// How strong it is here.
    pub(crate) tier: Tier,
    /// Weaknesses of this machine worth one line each.
    pub(crate) warnings: Vec<String>,
}

/// Everything a wrap depends on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wrap<'a> {
    /// The mode that was asked for, for the evidence.
    pub(crate) mode: &'a str,
    /// What the backend can do here.
    pub(crate) abilities: &'a Abilities,
    /// What is allowed.
    pub(crate) policy: &'a Policy,
    /// What to run.
    pub(crate) command: &'a Command,
    /// This program, real.
    pub(crate) exe: &'a Path,
    /// Kernel controls to write-protect.
    pub(crate) proc_controls: &'a [PathBuf],
    /// A name not yet taken, for this spawn alone, in a directory only the user can write to.
    pub(crate) scratch: &'a Path,
    /// Sockets of the host that firejail must hide.
    pub(crate) sockets: &'a [PathBuf],
    /// The home of the account, which is the one firejail hides.
    pub(crate) account_home: Option<&'a Path>,
    /// The exported root certificates, on macOS.
    pub(crate) trust_roots: Option<&'a Path>,
}

/// Why a policy cannot be expressed, hence no spawn.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WrapError {
    /// A path holds a character the backend would misread.
    #[error(
        "{backend} cannot express the path `{path}`: rename it, or use another `--sandbox` backend"
    )]
    Unexpressible {
        /// The backend.
        backend: &'static str,
        /// The path, printable.
        path: String,
    },
    /// The policy names more paths than the backend takes.
    #[error(
        "{backend} takes at most {most} arguments, and this policy needs {count}: grant directories instead of what is in them (extra_read_paths, PATH), or use `--sandbox landlock`"
    )]
    TooMany {
        /// The backend.
        backend: &'static str,
        /// What it takes.
        most: usize,
        /// What there are.
        count: usize,
    },
    /// A link would have to be shown with more than was granted.
    #[error(
        "{backend} cannot show the link `{link}` without all that it leads to: name `{real}` instead, or use another `--sandbox` backend"
    )]
    Unshowable {
        /// The backend.
        backend: &'static str,
        /// The link, printable.
        link: String,
        /// Where it leads, printable.
        real: String,
    },
    /// Nothing here wraps commands for it.
    #[error("{backend} is not part of this version of ash")]
    NotHere {
        /// The backend.
        backend: &'static str,
    },
}

/// Wraps a command. Pure: the same inputs give the same command line on every machine.
pub(crate) fn wrap(id: BackendId, wrap: &Wrap<'_>) -> Result<Prepared, WrapError> {
    match id {
        BackendId::Bwrap => bwrap::wrap(wrap),
        BackendId::Firejail => firejail::wrap(wrap),
        BackendId::Landlock => Ok(landlock::wrap(wrap)),
        BackendId::SandboxExec => sandbox_exec::wrap(wrap),
        BackendId::Gvisor => Err(WrapError::NotHere { backend: id.as_str() }),
    }
}

#[cfg(test)]
#[cfg(unix)]
pub(crate) mod tests;
