//! Every attack: what it tries, where its success would show, and what a sandbox must make of it.

use ash_testkit::Ear;

/// Where the attacker's success shows. All but `Said` are looked at from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Only the attacker can tell.
    Said,
    /// A planted file is not what it was.
    Changed(&'static str),
    /// Any planted file or watched directory is not what it was.
    AnyChanged,
    /// A file of the lab exists that did not.
    Appears(&'static [&'static str]),
    /// A file with the lab's unique name exists, at `prefix` + name.
    AppearsAt(&'static [&'static str]),
    /// A service of the host heard the secret.
    Heard(Ear),
    /// The victim is dead.
    VictimDead,
    /// The victim's `oom_score_adj` is not what it was.
    VictimOom,
    /// The victim's terminal showed the secret.
    VictimTerminal,
    /// ash, or in a control its stand-in, was killed.
    AshKilled,
    /// The results still hold a link, a special file, a special bit or an unreadable entry once ash is done.
    Trap,
    /// Something still writes to the results once ash is done.
    StillWriting,
    /// A file in the results is larger than the documented limit.
    TooLarge,
    /// Text is waiting in the input of the user's terminal.
    Typed,
    /// ash needed too much memory, or lost output.
    Overwhelmed,
}

/// What may happen in a sandbox. The effect must never show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Inside {
    /// It must be refused, with one of the attack's errors.
    Refused,
    /// It may seem to succeed, on something private that goes away.
    Private,
    /// It must succeed on an overlay that goes away, where the evidence says that caches are overlaid, and be refused elsewhere.
    Overlaid,
    /// It must succeed: real tools need it.
    Works,
    /// Allowed by design, online; refused offline.
    Granted,
    /// Allowed by design. ash must only survive it.
    Allowed,
}

/// How the attack proves that it works at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Control {
    /// Without a sandbox it reaches its goal.
    Reaches,
    /// Only uid 0 reaches it.
    AsRoot,
    /// It cannot, for this reason.
    Impossible(&'static str),
}

/// What surrounds the program under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scene {
    /// Nothing special.
    Plain,
    /// A terminal of its own.
    Terminal,
    /// A session keyring with a key.
    Keyring,
}

/// One attack.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attack {
    /// Its id, as the hostile program knows it.
    pub(crate) id: &'static str,
    /// What it tries.
    pub(crate) tries: &'static str,
    pub(crate) effect: Effect,
    pub(crate) inside: Inside,
    pub(crate) control: Control,
    pub(crate) scene: Scene,
    /// The refusals that mean "the sandbox said no", not "the attack is broken".
    pub(crate) errors: &'static [&'static str],
}

/// No such file, not allowed, read-only: files that are not there or not to be touched.
const FILE: &[&str] = &["ENOENT", "EACCES", "EROFS", "EPERM", "EXDEV"];
/// The file is there and stays as it is: one that is not shown would prove nothing.
const SHOWN: &[&str] = &["EACCES", "EROFS", "EPERM"];
/// As [`FILE`], and metadata calls that return 0 and do nothing (Landlock alone).
const METADATA: &[&str] = &["ENOENT", "EACCES", "EROFS", "EPERM", "INERT"];
/// The same, and EOPNOTSUPP, which programs take for a file system without attributes.
const ATTRIBUTE: &[&str] = &["EOPNOTSUPP", "EPERM", "EACCES", "EROFS"];
const DEVICE: &[&str] = &["ENOENT", "EACCES", "EPERM"];
const DESCRIPTOR: &[&str] = &["EBADF", "ENOTDIR"];
/// The process is not there, or not to be touched. `ENODATA`: another process has its number inside.
const PROCESS: &[&str] = &["ESRCH", "EPERM", "EACCES", "ENOENT", "ENOSYS", "ENODATA", "EROFS"];
const KERNEL: &[&str] = &["EPERM", "ENOSYS", "EACCES", "SIGSYS"];
/// Nobody answers there, or no socket is to be had.
const NETWORK: &[&str] = &[
    "EACCES",
    "EPERM",
    "ECONNREFUSED",
    "EAFNOSUPPORT",
    "ENETUNREACH",
    "EPROTONOSUPPORT",
    "EADDRNOTAVAIL",
];
const SOCKET: &[&str] = &["EACCES", "EPERM", "EAFNOSUPPORT", "EPROTONOSUPPORT", "ESOCKTNOSUPPORT"];
const IPC: &[&str] = &["ENOENT", "EACCES", "EPERM", "ENOSYS"];
const KEYS: &[&str] = &["EPERM", "EACCES", "ENOSYS", "ENOKEY"];
const TERMINAL: &[&str] = &["ENXIO", "EACCES", "EPERM", "ENOTTY", "ENOENT", "EIO", "ENODEV"];
const LIMIT: &[&str] = &["EAGAIN", "EFBIG", "ENOSPC", "EDQUOT", "ENOMEM", "EACCES", "EMFILE"];

const fn attack(
    id: &'static str,
    tries: &'static str,
    effect: Effect,
    errors: &'static [&'static str],
) -> Attack {
    Attack {
        id,
        tries,
        effect,
        inside: Inside::Refused,
        control: Control::Reaches,
        scene: Scene::Plain,
        errors,
    }
}

impl Attack {
    const fn inside(mut self, inside: Inside) -> Self {
        self.inside = inside;
        self
    }

    const fn as_root(mut self) -> Self {
        self.control = Control::AsRoot;
        self
    }

    const fn no_control(mut self, reason: &'static str) -> Self {
        self.control = Control::Impossible(reason);
        self
    }

    const fn scene(mut self, scene: Scene) -> Self {
        self.scene = scene;
        self
    }
}

use Effect::*;
use Inside::*;

/// The attacks, in the order of the hostile program's areas.
pub(crate) const ATTACKS: &[Attack] = &[
    attack("F01", "read the private key by its path", Said, FILE),
    attack("F02", "read credentials through a link in the results", Said, FILE),
    attack("F03", "read the private key through /proc/self/root", Said, FILE),
    attack("F04", "read the private key through another process", Said, PROCESS),
    attack("F07", "read through an inherited directory", Said, DESCRIPTOR),
    attack("F10", "leave through an inherited directory", Said, DESCRIPTOR),
    attack("F24", "learn size and time of the private key", Said, FILE),
    attack("F28", "probe for directories with chdir", Said, FILE),
    attack("F43", "read the kernel log", Said, KERNEL).as_root(),
    attack("F51", "open a file by its handle", Said, &["EPERM", "ENOSYS", "EACCES", "EOPNOTSUPP"])
        .as_root(),
    attack("F54", "open any device of the host", Said, DEVICE),
    attack("F35", "run a program written to the results", Said, FILE).inside(Allowed),
    attack("F47", "gain capabilities from a setuid program", Said, &["EPERM", "ENOENT", "EACCES"]),
    attack("F48", "run a program without a file", Said, KERNEL).inside(Allowed),
    attack("F08", "write through an inherited descriptor", Changed("open.txt"), DESCRIPTOR),
    attack("F11", "create a file in the home", Appears(&["home/created.txt"]), FILE)
        .inside(Private),
    attack("F12", "append to ~/.bashrc", Changed("home/.bashrc"), FILE).inside(Private),
    attack("F13", "change a scanned file", Changed("source/main.py"), FILE),
    attack("F14", "plant a git hook", Appears(&["source/.git/hooks/post-checkout"]), FILE),
    attack(
        "F15",
        "change another scanner's results",
        Changed("output/scanners/other/source/other.sarif"),
        FILE,
    ),
    attack("F16", "change the report", Changed("output/ash_aggregated_results.json"), FILE),
    attack("F17", "write to the home through a hard link", Changed("home/outside.txt"), FILE),
    attack("F18", "write to the source through a hard link", Changed("source/main.py"), FILE),
    attack("F19", "set an extended attribute of a scanned file", Said, ATTRIBUTE),
    attack("F20", "make a scanned file writable", Changed("source/main.py"), METADATA),
    attack("F21", "publish the private key", Changed("home/.ssh/id_rsa"), METADATA),
    attack("F22", "set the times of a scanned file", Changed("source/main.py"), METADATA),
    attack(
        "F23",
        "set inode flags of a scanned file",
        Said,
        &["EPERM", "EACCES", "EROFS", "ENOTTY", "EOPNOTSUPP", "INERT"],
    ),
    attack("F26", "empty a file by its path", Changed("home/outside.txt"), FILE),
    attack("F37", "leave a file in /tmp", AppearsAt(&["/tmp/"]), FILE).inside(Private),
    attack("F38", "leave a file in /dev/shm", AppearsAt(&["/dev/shm/"]), FILE).inside(Private),
    attack(
        "F39",
        "install a systemd user unit",
        Appears(&["home/.config/systemd/user/persist.service"]),
        FILE,
    )
    .inside(Private),
    attack("F40", "poison uv's cache", Changed("home/.cache/uv/wheels/module.py"), FILE)
        .inside(Private),
    attack("F41", "plant a fake git", Appears(&["home/.local/bin/git"]), FILE).inside(Private),
    attack(
        "K01",
        "change a tool through its other name in uv's cache",
        Changed("home/.local/share/uv/tools/probe/module.py"),
        SHOWN,
    )
    .inside(Overlaid),
    attack("K02", "poison a vulnerability database and a set of checks", AnyChanged, SHOWN)
        .inside(Overlaid),
    attack(
        "K03",
        "leave settings for the next run",
        Appears(&["home/.cache/semgrep/settings.yml", "home/.config/configstore/attacker.json"]),
        FILE,
    )
    .inside(Private),
    attack(
        "K04",
        "leave a trusted temporary name",
        AppearsAt(&["/tmp/jsii-", "/var/tmp/uv-"]),
        FILE,
    )
    .inside(Private),
    attack("K05", "leave something that starts by itself", Appears(AUTOSTART), FILE)
        .inside(Private),
    attack("K10", "plant a program beside its own", Appears(&["tools/bin/git-lfs"]), FILE),
    attack("F29", "leave a block device", Trap, &["EPERM", "EACCES"]).as_root(),
    attack("F30", "leave a FIFO for the reader", Trap, &["EPERM", "EACCES"]).inside(Private),
    attack("F31", "leave a bound socket", Trap, SOCKET),
    attack("F32", "leave a link for the reporter", Trap, &["EPERM", "EACCES"]).inside(Private),
    attack("F33", "make the results unreadable", Trap, METADATA).inside(Private),
    attack("F34", "leave a setuid program", Trap, METADATA),
    attack("O01", "leave links at the names ash writes", Trap, FILE).inside(Private),
    attack("O02", "leave a link to the home in the results", Trap, FILE).inside(Private),
    attack("O03", "swap a directory for a link after the end", Trap, FILE).inside(Private),
    attack("O04", "leave what a reader blocks on", Trap, FILE).inside(Private),
    attack("O06", "set modes that stop the cleanup", Trap, METADATA).inside(Private),
    attack("O08", "leave a sparse file of 1 TiB", TooLarge, &["EFBIG", "ENOSPC"]),
    attack("O21", "flood the output", Overwhelmed, LIMIT)
        .inside(Works)
        .no_control("the flood is the caller's own without ash"),
    attack("O23", "leave setuid and setgid bits", Trap, METADATA),
    attack("O24", "leave hostile names", Trap, FILE).inside(Private),
    attack("P01", "see other processes' command lines", Said, &["ENOENT", "EACCES", "EPERM"]),
    attack("P02", "read another process's environment", Said, PROCESS),
    attack("P03", "trace another process", Said, PROCESS),
    attack("P04", "read another process's memory", Said, PROCESS),
    attack("P05", "steal another process's descriptor", Said, PROCESS),
    attack("P06", "kill another process", VictimDead, PROCESS),
    attack("P07", "kill ash", AshKilled, PROCESS),
    attack("P08", "touch another process by every other call", Said, PROCESS),
    attack("P09", "signal another process through a descriptor", VictimDead, PROCESS)
        .inside(Private),
    attack("P11", "make another process the first to be killed", VictimOom, PROCESS),
    attack("P14", "leave a daemon behind", StillWriting, KERNEL).inside(Private),
    attack("E01", "find a secret in its own environment", Said, &["ENOENT"]),
    attack("E02", "find a secret in the environment of init", Said, &["ENOENT", "EACCES", "EPERM"])
        .no_control("the host's init never had the secret"),
    attack("E04", "find a secret in any environment", Said, &["ENOENT", "EACCES", "EPERM"]),
    attack("S10", "make an io_uring", Said, KERNEL),
    attack("S11", "make a BPF map", Said, KERNEL).as_root(),
    attack("S12", "open a perf event", Said, KERNEL),
    attack("S13", "open a userfaultfd", Said, KERNEL),
    attack("S14", "read a key of the user keyring", Said, KEYS).scene(Scene::Keyring),
    attack("S15", "add a key", Said, KEYS).scene(Scene::Keyring),
    attack("S16", "find a key in any keyring", Said, KEYS).scene(Scene::Keyring),
    attack("S17", "call the kernel by the 32-bit ABI", Said, &["SIGSYS"]),
    attack("S18", "call the kernel by the x32 ABI", Said, &["SIGSYS", "ENOSYS"])
        .no_control("most kernels have no x32"),
    attack("S19", "change the limits of another process", Said, PROCESS),
    attack("S23", "read a key of the session keyring", Said, KEYS).scene(Scene::Keyring),
    attack("S01", "enter a nested user namespace", Said, KERNEL),
    attack("S02", "mount a tmpfs in a nested namespace", Said, KERNEL),
    attack("S03", "remount the source read-write", Changed("source/main.py"), KERNEL)
        .no_control("the source is no mount point outside"),
    attack("S04", "uncover the home", Said, &["EPERM", "ENOSYS", "EACCES", "EINVAL"])
        .no_control("nothing covers the home outside"),
    attack("S05", "mount a fresh procfs", Said, KERNEL),
    attack("S06", "enter a nested user namespace with clone3", Said, KERNEL),
    attack("S07", "clone a mount tree", Said, KERNEL).as_root(),
    attack("S08", "mount with the new interface", Said, KERNEL).as_root(),
    attack("S09", "change the root directory", Said, KERNEL),
    attack("N01", "tell a host service by TCP", Heard(Ear::Tcp4), NETWORK).inside(Granted),
    attack("N02", "tell a host service on ::1", Heard(Ear::Tcp6), NETWORK).inside(Granted),
    attack("N03", "tell a host service by MPTCP", Heard(Ear::Tcp4), NETWORK),
    attack("N04", "tell a host service by TCP fast open", Heard(Ear::Tcp4), NETWORK)
        .inside(Granted),
    attack("N05", "tell a host service by UDP", Heard(Ear::Udp), NETWORK).inside(Granted),
    attack(
        "N06",
        "listen and wait for the attacker",
        Heard(Ear::CalledIn),
        &["EACCES", "EPERM", "ETIMEDOUT", "EAFNOSUPPORT"],
    )
    .inside(Granted),
    attack("N15", "make a packet socket", Said, SOCKET).as_root(),
    attack("N16", "make a raw socket", Said, SOCKET).as_root(),
    attack("N17", "make a vsock socket", Said, SOCKET),
    attack("N18", "make a socket of another family", Said, SOCKET),
    attack("N19", "make a socket of another protocol", Said, SOCKET),
    attack("N20", "use its own loopback", Said, NETWORK).inside(Works),
    attack("N07", "tell a container runtime", Heard(Ear::Stream), SOCKET),
    attack("N08", "tell a socket in a readable directory", Heard(Ear::Mounted), SOCKET),
    attack("N09", "tell an abstract socket", Heard(Ear::Abstract), SOCKET),
    attack("N10", "tell a log socket", Heard(Ear::Datagram), SOCKET),
    attack("N11", "tell a log socket from a datagram pair", Heard(Ear::Datagram), SOCKET),
    attack("N12", "use a stream pair", Said, SOCKET).inside(Works),
    attack("I01", "read another program's POSIX shared memory", Said, IPC),
    attack("I02", "read another program's SysV shared memory", Said, IPC),
    attack("I03", "open another program's message queue", Said, IPC),
    attack("T01", "type into /dev/tty", Typed, TERMINAL).scene(Scene::Terminal),
    attack("T02", "type into an inherited terminal", Typed, TERMINAL).scene(Scene::Terminal),
    attack("T04", "write on another terminal", VictimTerminal, TERMINAL),
    attack("T05", "change an inherited terminal", Said, TERMINAL).scene(Scene::Terminal),
    attack("T06", "read an inherited terminal", Said, TERMINAL).scene(Scene::Terminal),
    attack("R01", "start more processes than the limit", Said, LIMIT),
    attack("R02", "touch 3 GiB of memory", Said, LIMIT),
    attack("R03", "fill /tmp", Said, LIMIT),
    attack("R04", "write a file of more than 4 GiB", TooLarge, LIMIT),
    attack("R06", "leave 50000 files", Overwhelmed, LIMIT).inside(Allowed),
    attack("R07", "leave a tree of 3000 levels", Overwhelmed, LIMIT).inside(Allowed),
    attack("R08", "dump core", Said, &["EPERM"]),
    attack("D01", "bomb with forks", Said, LIMIT),
    attack("D03", "fill the home", Said, LIMIT),
    attack("D04", "take inotify instances", Said, &["EPERM", "EACCES", "ENOSYS", "EMFILE"])
        .inside(Allowed),
    attack("F45", "write the core pattern", Said, FILE).as_root(),
    attack("U01", "write kernel settings", Said, FILE).as_root(),
    attack("U02", "read host secrets", Said, FILE).as_root(),
    attack("U03", "set the host name", Said, KERNEL).as_root(),
    attack("U04", "change a readable file's mode and owner", Changed("mounted/hostname"), METADATA),
    attack("U06", "open cgroup control files", Said, FILE).as_root(),
    attack("U07", "open any control file of the kernel for writing", Said, FILE).as_root(),
];

const AUTOSTART: &[&str] = &[
    "home/.profile",
    "home/.zshenv",
    "home/.config/git/template/hooks/pre-commit",
    "home/.config/systemd/user/persist.timer",
    "source/.vscode/tasks.json",
    "source/.pre-commit-config.yaml",
    "source/.git/hooks/pre-commit",
    "source/.envrc",
];
