//! What one spawn may touch: plain data, every path resolved, nothing left to decide.

mod breadth;
mod program;
mod resolve;
pub(crate) mod trace;
pub(crate) mod tree;
pub(crate) mod unfold;

#[cfg(test)]
#[cfg(unix)]
mod declared;
#[cfg(test)]
#[cfg(unix)]
mod tests;

use std::{ffi::OsString, path::PathBuf};

#[cfg(all(unix, any(test, feature = "testing")))]
pub(crate) use resolve::is_data;

use ash_model::notice::Notice;
use serde::Serialize;

/// Where a scan happens. All paths absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ground {
    /// The scanned directory, as given.
    pub source: PathBuf,
    /// The output directory, when the spawn may see it (read-only).
    pub output: Option<PathBuf>,
    /// Other scanned directories, such as the converted files.
    pub targets: Vec<PathBuf>,
    /// The one directory that stays writable.
    pub results: PathBuf,
    /// Where the command starts.
    pub cwd: PathBuf,
}

/// What the trust rules left of the settings.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Grants {
    /// Whether a declared or granted network need is honoured. Decided by the caller from declaration, lists and trust.
    pub network: bool,
    /// The scan is offline: beats everything.
    pub offline: bool,
    /// `sandbox.extra_read_paths` after trust and expansion.
    pub extra_read_paths: Vec<PathBuf>,
}

/// Limits of one spawn. Bytes, or counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Limits {
    /// Core file size.
    pub core: u64,
    /// Largest file.
    pub file_size: u64,
    /// Processes and threads, where they can be counted for this sandbox alone (a user namespace).
    pub processes: u64,
    /// Size of `/tmp` and `/var/tmp`, where they are a tmpfs.
    pub tmp: u64,
    /// Size of `/dev/shm`, where it is private.
    pub shm: u64,
    /// Size of the private home, where it is a tmpfs.
    pub home: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            core: 0,
            file_size: 4 << 30,
            processes: 4096,
            tmp: 2 << 30,
            shm: 1 << 30,
            home: 512 << 20,
        }
    }
}

/// What one spawn may touch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Policy {
    /// Whose spawn.
    pub scanner: String,
    /// Readable, real, sorted, none beneath a writable one.
    pub read_only: Vec<PathBuf>,
    /// Symbolic links to show inside as they are outside, so that spelled paths work: `(where, link text)`.
    pub links: Vec<(PathBuf, PathBuf)>,
    /// Lastingly writable: exactly the results directory, real.
    pub writable: Vec<PathBuf>,
    /// Tool caches of the host, real.
    pub caches: Vec<PathBuf>,
    /// Variables to point at a private, empty directory where caches are read-only.
    pub cache_env: Vec<String>,
    /// The part of `read_only` that holds scanned data: nothing runs from it on macOS.
    pub scan_data: Vec<PathBuf>,
    /// The part of `read_only` programs may run from.
    pub executable: Vec<PathBuf>,
    /// Below readable paths, yet unreadable: host secrets that uid 0 could read.
    pub hidden: Vec<PathBuf>,
    /// Those of `hidden` that are directories.
    pub hidden_dirs: Vec<PathBuf>,
    /// Whether it gets a network.
    pub network: bool,
    /// Whether the scan is offline.
    pub offline: bool,
    /// The whole environment, filtered.
    #[serde(skip)]
    pub environment: Vec<(OsString, OsString)>,
    /// The directory that is an empty, private home inside: the real home, which that hides, or a name of its own where the real home is
    /// scanned data or there is none.
    pub home: PathBuf,
    /// The same as the operator spells it; the value of `HOME` where it is mounted.
    pub home_spelled: PathBuf,
    /// Where it starts, real.
    pub cwd: PathBuf,
    /// Temporary directories that are empty and private inside, real. One of the three usual ones is missing when it is scanned itself.
    pub temporaries: Vec<PathBuf>,
    /// What a linked `/etc/resolv.conf` leads to, when there is a network; part of `read_only`.
    pub resolver: Option<PathBuf>,
    /// Whether ash runs as uid 0: then Landlock is mandatory everywhere.
    pub as_root: bool,
    /// Limits.
    pub limits: Limits,
    /// What was skipped or narrowed, and why.
    pub notices: Vec<Notice>,
    /// Readable directories that contain something hidden, as their parts: for backends that cannot mount over it.
    pub(crate) unfolded: Vec<unfold::Unfolded>,
    /// Lock files of uv's tool directories (sandbox-exec only: writable).
    pub uv_locks: Vec<PathBuf>,
    /// Variables set under sandbox-exec only, last.
    pub sandbox_exec_env: Vec<(String, String)>,
    /// The variable that says where a self-unpacking tool unpacks itself (sandbox-exec only).
    pub unpack_dir_env: Option<String>,
    /// The tool reads the system's root certificates itself (macOS).
    pub system_trust_roots: bool,
}

/// Why there is no policy, hence no spawn.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// The scanned repository could have planted it.
    #[error("the results directory `{path}` is a symlink or is reached through one")]
    LinkedResults {
        /// The offending path.
        path: String,
    },
    /// Everything would be readable.
    #[error(
        "`{path}` is the whole file system, which a sandbox cannot hide: scan a directory below it, or use `--sandbox off`"
    )]
    WholeSystem {
        /// The scanned directory.
        path: String,
    },
    /// A path cannot be looked at.
    #[error("cannot resolve `{path}`: {reason}")]
    Unresolvable {
        /// The path.
        path: String,
        /// The system's words.
        reason: String,
    },
}
