//! What ash, its supervisor and its last stage tell each other.
//!
//! ```text
//! ash ──socketpair on fd 0──▶ ash __confine supervise ──socketpair on fd 0──▶ [bwrap|firejail] ash __confine apply ──exec──▶ tool
//! ```
//!
//! Each message is one frame: a little-endian `u32` length and that many bytes of JSON. The socket on fd 0 is also the lifeline:
//! when ash's end closes, the supervisor ends the tree; when the stage's end closes without [`StageReport::Failed`], the stage has
//! become the tool. It is replaced by `/dev/null` before the tool runs.

#[cfg(unix)]
mod frame;
mod text;

use std::ffi::OsString;

use ash_model::evidence::LandlockEvidence;
use serde::{Deserialize, Serialize};

#[cfg(target_os = "linux")]
pub(crate) use frame::FrameError;
#[cfg(unix)]
pub(crate) use frame::{Frames, send};

/// ash → supervisor, once.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub(crate) struct SupervisorSpec {
    /// The command to start: the backend's program, or the stage itself.
    #[serde(with = "text::list")]
    pub(crate) argv: Vec<OsString>,
    /// How many of its arguments, from the first on, may be handed to it as a file (bubblewrap's `--args`), should they be too long for an exec.
    #[serde(default)]
    pub(crate) options: usize,
    /// Its whole environment. The supervisor's own is never inherited.
    #[serde(with = "text::pairs")]
    pub(crate) env: Vec<(OsString, OsString)>,
    /// Its working directory.
    #[serde(with = "text::one")]
    pub(crate) cwd: OsString,
    /// What the stage inside must apply. `None`: mode off, `argv` is the tool itself.
    pub(crate) stage: Option<StageSpec>,
    /// How far below the supervisor the tool is (1: its own child), so that SIGTERM reaches the tool and not the backend's helpers.
    pub(crate) tool_depth: u32,
    /// Milliseconds between SIGTERM and SIGKILL.
    pub(crate) grace_ms: u64,
    /// Directories to remove once the tree is gone, also when ash is gone by then.
    #[serde(default, with = "text::list")]
    pub(crate) cleanup: Vec<OsString>,
}

/// ash → supervisor, any time later.
#[cfg(target_os = "linux")]
#[derive(Debug, Clone, Copy, Serialize, Deserialize, PartialEq, Eq)]
pub(crate) enum Order {
    /// SIGTERM now, SIGKILL after the grace period.
    Stop,
    /// SIGKILL now.
    Kill,
}

/// A granted place, and the device and inode it was when the sandbox was prepared.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub(crate) struct Place {
    /// Its real path.
    #[serde(with = "text::one")]
    pub(crate) path: OsString,
    /// `None`: nothing was there that could be granted, so nothing may be there later.
    pub(crate) identity: Option<(u64, u64)>,
}

/// Supervisor → stage, once.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub(crate) struct StageSpec {
    /// The tool: an absolute program path as seen inside, then its arguments.
    #[serde(with = "text::list")]
    pub(crate) argv: Vec<OsString>,
    /// The tool's whole environment.
    #[serde(with = "text::pairs")]
    pub(crate) env: Vec<(OsString, OsString)>,
    /// The tool's working directory, as seen inside.
    #[serde(with = "text::one")]
    pub(crate) cwd: OsString,
    /// What must still be what it was.
    #[serde(default)]
    pub(crate) places: Vec<Place>,
    /// Links that must be there, or are made: `(where, real path)`.
    #[serde(default, with = "text::pairs")]
    pub(crate) links: Vec<(OsString, OsString)>,
    /// What must be there: a backend that decides by itself what it hides would have the tool look at less than it was granted.
    #[serde(default, with = "text::list")]
    pub(crate) shown: Vec<OsString>,
    /// What sockets the tool may make.
    pub(crate) sockets: Sockets,
    /// The Landlock ruleset. `None` only where the policy says the mount namespace alone must do.
    pub(crate) landlock: Option<LandlockSpec>,
    /// No mount namespace around: metadata calls are made inert, SysV IPC, message queues and inotify are refused.
    pub(crate) landlock_alone: bool,
    /// `(name, value)` of the resource limits to set: `core`, `file_size`, `processes`.
    pub(crate) rlimits: Vec<(Rlimit, u64)>,
    /// Whether `ash __confine apply` stays as the tool's parent, or execs the tool. A parent reports how the tool ended (inside a PID namespace the
    /// supervisor would see only 128 + signal), and ends what is below it when the supervisor is gone.
    pub(crate) stay: bool,
}

/// Socket families a tool may use. `AF_UNIX` never; stream and seqpacket socketpairs always.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, PartialEq, Eq)]
pub(crate) enum Sockets {
    /// None at all: no network namespace hides the host.
    None,
    /// IPv4, IPv6 (TCP, UDP) and route netlink: in a network namespace of its own, or granted the host's.
    Internet,
}

/// A Landlock ruleset as data; paths as seen where it is applied.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq, Default)]
pub(crate) struct LandlockSpec {
    /// Read and execute beneath.
    #[serde(with = "text::list")]
    pub(crate) read: Vec<OsString>,
    /// Read only, no execute.
    #[serde(with = "text::list")]
    pub(crate) read_data: Vec<OsString>,
    /// List the directories, read no file.
    #[serde(with = "text::list")]
    pub(crate) list: Vec<OsString>,
    /// Everything but device nodes beneath.
    #[serde(with = "text::list")]
    pub(crate) write: Vec<OsString>,
    /// Device nodes and single files to read and write, such as `/dev/null`.
    #[serde(with = "text::list")]
    pub(crate) write_files: Vec<OsString>,
    /// Refuse TCP bind and connect where the kernel can (ABI 4).
    pub(crate) no_tcp: bool,
    /// Refuse to run without it. When false, a kernel without Landlock lowers the tier instead.
    pub(crate) required: bool,
    /// Test only: behave as on a kernel of this ABI.
    pub(crate) force_abi: Option<u32>,
}

/// A resource limit by name.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Rlimit {
    /// `RLIMIT_CORE`, bytes.
    Core,
    /// `RLIMIT_FSIZE`, bytes.
    FileSize,
    /// `RLIMIT_NPROC`: processes and threads.
    Processes,
}

/// Stage → supervisor (forwarded to ash).
#[cfg(unix)]
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub(crate) enum StageReport {
    /// Everything is in force; the tool starts now.
    Applied(Applied),
    /// A step failed; nothing ran. ash shows it and `ash sandbox run` exits 126.
    Failed {
        /// Which step, such as `landlock`.
        step: String,
        /// Why.
        reason: String,
    },
    /// The program does not exist or cannot be executed (127, 126 as in a shell).
    CannotExec {
        /// The shell's exit code for it.
        code: i32,
        /// Why.
        reason: String,
    },
    /// Only when [`StageSpec::stay`]: how the tool ended.
    Ended(End),
}

/// What the stage measured to be in force.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq, Default)]
pub(crate) struct Applied {
    /// Landlock, if a ruleset was asked for.
    pub(crate) landlock: Option<LandlockEvidence>,
    /// Limits that are in force.
    pub(crate) rlimits: Vec<(Rlimit, u64)>,
    /// What is worth telling, each as `subject: words`.
    pub(crate) notes: Vec<String>,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, PartialEq, Eq)]
pub(crate) enum End {
    /// By itself.
    Code(i32),
    /// By a signal.
    Signal(i32),
}

/// Supervisor → ash. Zero or more `Stage`, then exactly one `Done` once no process of the tree is left.
#[cfg(target_os = "linux")]
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub(crate) enum SupervisorReport {
    /// From the stage.
    Stage(StageReport),
    /// The command could not be started at all (the backend's program is gone, say).
    CannotStart {
        /// Why.
        reason: String,
    },
    /// The tree is gone.
    Done {
        /// How the command (backend or tool) ended.
        end: End,
        /// Processes that had to be killed after it ended.
        leftovers: u32,
    },
}

/// What `ash __confine probe` tries, run as the tool of a sandbox that is being judged. One JSON argument.
#[derive(Debug, Clone, Default, Serialize, Deserialize, PartialEq, Eq)]
pub(crate) struct ProbeTask {
    /// Files that exist outside and must not be readable.
    #[serde(with = "text::list")]
    pub(crate) unreadable: Vec<OsString>,
    /// Directories in which no file may be made.
    #[serde(with = "text::list")]
    pub(crate) unwritable: Vec<OsString>,
    /// Directories in which a file must be makeable: the control.
    #[serde(with = "text::list")]
    pub(crate) writable: Vec<OsString>,
}

/// What `ash __confine probe` prints on standard output, as one line of JSON.
#[derive(Debug, Clone, Default, Serialize, Deserialize, PartialEq, Eq)]
pub(crate) struct ProbeFindings {
    /// Those of [`ProbeTask::unreadable`] that could be read.
    #[serde(with = "text::list")]
    pub(crate) read: Vec<OsString>,
    /// Those of [`ProbeTask::unwritable`] in which a file could be made.
    #[serde(with = "text::list")]
    pub(crate) wrote: Vec<OsString>,
    /// Those of [`ProbeTask::writable`] in which none could.
    #[serde(with = "text::list")]
    pub(crate) refused: Vec<OsString>,
    /// Whether the memory of PID 1 could be opened for writing: a reaper without restrictions could be taken over.
    pub(crate) first_process: bool,
    /// Whether a Unix socket could be made.
    pub(crate) unix_socket: bool,
    /// Whether a stream socketpair could be made: it must.
    pub(crate) socketpair: bool,
}

impl ProbeFindings {
    /// The first thing that shows the sandbox does not hold, or holds too much.
    pub(crate) fn trouble(&self) -> Option<String> {
        let shown = |path: &OsString| path.to_string_lossy().into_owned();
        if let Some(path) = self.read.first() {
            return Some(format!("`{}` can be read inside", shown(path)));
        }
        if let Some(path) = self.wrote.first() {
            return Some(format!("`{}` can be written inside", shown(path)));
        }
        if let Some(path) = self.refused.first() {
            return Some(format!("`{}` cannot be written inside", shown(path)));
        }
        if self.first_process {
            return Some("the memory of PID 1 can be written inside".to_owned());
        }
        if self.unix_socket {
            return Some("a Unix socket can be made inside".to_owned());
        }
        (!self.socketpair).then(|| "no socketpair can be made inside".to_owned())
    }
}
