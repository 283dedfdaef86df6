//! The one table of system-call rules. Everything else — the program, its tests, the documentation — is made from it.
//!
//! Rules for one call are tried in order; the first whose tests all hold decides; a call no rule decides is allowed. Only the low 32 bits of an
//! argument are ever compared: the kernel reads every argument tested here as an `int`, an `unsigned int` or a mode, and a test of
//! the whole register could be passed by setting its upper half.

use super::{Action, Options, Rule, Test};
use crate::wire::Sockets;

const EPERM: Action = Action::Errno(1);
const EACCES: Action = Action::Errno(13);
const ENOSYS: Action = Action::Errno(38);
const EPROTONOSUPPORT: Action = Action::Errno(93);
const EOPNOTSUPP: Action = Action::Errno(95);
const EAFNOSUPPORT: Action = Action::Errno(97);
/// Reports success and does nothing.
const INERT: Action = Action::Errno(0);

const SETID_BITS: u32 = 0o6000;
const S_IFMT: u32 = 0o170_000;
const S_IFCHR: u32 = 0o020_000;
const S_IFBLK: u32 = 0o060_000;
/// `CLONE_NEWNS | NEWCGROUP | NEWUTS | NEWIPC | NEWUSER | NEWPID | NEWNET`. `CLONE_NEWTIME` (0x80) shares its bit with the exit signal of
/// `clone`, which therefore cannot make a time namespace; only `unshare` can.
const NAMESPACES: u32 =
    0x0002_0000 | 0x0200_0000 | 0x0400_0000 | 0x0800_0000 | 0x1000_0000 | 0x2000_0000 | 0x4000_0000;
const NEWTIME: u32 = 0x80;
const O_ACCMODE: u32 = 0o3;
const O_CREAT: u32 = 0o100;
const O_TRUNC: u32 = 0o1000;
/// `__O_TMPFILE` without the `O_DIRECTORY` it comes with.
const O_TMPFILE: u32 = 0o20_000_000;

const AF_UNIX: u32 = 1;
const AF_INET: u32 = 2;
const AF_INET6: u32 = 10;
const AF_NETLINK: u32 = 16;
/// The kind of a socket: what is left of the type without `SOCK_NONBLOCK` and `SOCK_CLOEXEC`.
const SOCK_TYPE: u32 = 0xf;
const STREAM: u32 = 1;
const DGRAM: u32 = 2;
const SEQPACKET: u32 = 5;
const ALL: u32 = u32::MAX;

/// The newest call this table knows: `file_setattr` (Linux 6.17). What comes after it does not exist for the tool, so that a future call cannot
/// be a way round this table; programs cope with `ENOSYS`, as older kernels answer it too.
pub(super) const NEWEST: u32 = 469;

/// One call by name and number on both architectures.
const fn call(name: &'static str, x86_64: u32, aarch64: u32) -> Rule {
    Rule {
        name,
        x86_64: Some(x86_64),
        aarch64: Some(aarch64),
        tests: vec![],
        action: Action::Allow,
        why: "",
    }
}

/// A call that only x86-64 has.
const fn x86_only(name: &'static str, x86_64: u32) -> Rule {
    Rule {
        name,
        x86_64: Some(x86_64),
        aarch64: None,
        tests: vec![],
        action: Action::Allow,
        why: "",
    }
}

/// A call with the same number everywhere (all since Linux 5.1).
const fn same(name: &'static str, number: u32) -> Rule {
    call(name, number, number)
}

impl Rule {
    fn when(mut self, tests: impl IntoIterator<Item = Test>) -> Self {
        self.tests.extend(tests);
        self
    }

    fn then(mut self, action: Action, why: &'static str) -> Self {
        (self.action, self.why) = (action, why);
        self
    }
}

/// Every rule, in the order they are tried.
pub(super) fn rules(options: &Options) -> Vec<Rule> {
    let mut rules = Vec::new();
    rules.extend(set_id_bits());
    if options.landlock_alone {
        rules.extend(without_mount_namespace(options.landlock_abi));
    }
    rules.extend(terminal());
    rules.extend(namespaces_and_mounts());
    rules.extend(sockets(options.sockets));
    rules.extend(bypasses());
    rules.extend(other_processes());
    rules.extend(kernel());
    rules
}

/// The calls that change a mode, and where each takes it.
fn mode_calls() -> [(Rule, u8); 4] {
    [
        (x86_only("chmod", 90), 1),
        (call("fchmod", 91, 52), 1),
        (call("fchmodat", 268, 53), 2),
        (same("fchmodat2", 452), 2),
    ]
}

fn set_id_bits() -> Vec<Rule> {
    const WHY: &str = "a set-user-id or set-group-id file left behind would run with the user's rights for others";
    let creates = |flags| [Test::AnyBit { arg: flags, mask: O_CREAT | O_TMPFILE }];
    let set_id = |mode| [Test::AnyBit { arg: mode, mask: SETID_BITS }];
    let mut rules = vec![
        call("openat", 257, 56).when(creates(2)).when(set_id(3)).then(EPERM, WHY),
        x86_only("open", 2).when(creates(1)).when(set_id(2)).then(EPERM, WHY),
        x86_only("creat", 85).when(set_id(1)).then(EPERM, WHY),
        same("openat2", 437).then(ENOSYS, "its flags and mode are in memory, where a filter cannot see set-user-id bits; programs fall back to openat"),
        call("mkdirat", 258, 34).when(set_id(2)).then(EPERM, WHY),
        x86_only("mkdir", 83).when(set_id(1)).then(EPERM, WHY),
    ];
    rules.extend(
        mode_calls().into_iter().map(|(rule, mode)| rule.when(set_id(mode)).then(EPERM, WHY)),
    );
    for (rule, mode) in [(call("mknodat", 259, 33), 2), (x86_only("mknod", 133), 1)] {
        rules.push(rule.clone().when(set_id(mode)).then(EPERM, WHY));
        for kind in [S_IFCHR, S_IFBLK] {
            let device = Test::Is { arg: mode, mask: S_IFMT, value: kind };
            rules.push(
                rule.clone().when([device]).then(EPERM, "a device node is a door to the hardware"),
            );
        }
    }
    rules
}

/// Landlock mediates no metadata, and `fchmod` works on a read-only descriptor, so without a mount namespace these would reach any file the
/// user owns. What tools do as a matter of course on their own files must not fail, so modes and times are left unchanged in silence.
fn without_mount_namespace(abi: u32) -> Vec<Rule> {
    const METADATA: &str =
        "Landlock does not mediate metadata: success is reported, nothing changes";
    const OWNER: &str = "Landlock does not mediate ownership";
    const XATTR: &str = "Landlock does not mediate extended attributes";
    const IPC: &str = "System V objects and message queues of the host's processes are reachable without an IPC namespace";
    const WATCH: &str = "Landlock does not mediate watching files; programs fall back to polling";
    let mut rules = Vec::new();
    rules.extend(mode_calls().into_iter().map(|(rule, _)| rule.then(INERT, METADATA)));
    for rule in [
        x86_only("utime", 132),
        x86_only("utimes", 235),
        x86_only("futimesat", 261),
        call("utimensat", 280, 88),
    ] {
        rules.push(rule.then(INERT, METADATA));
    }
    for (rule, owner) in [
        (x86_only("chown", 92), 1),
        (x86_only("lchown", 94), 1),
        (call("fchown", 93, 55), 1),
        (call("fchownat", 260, 54), 2),
    ] {
        // tar, run by root, gives every file to root: what it is to be already. Nothing happens, and nothing fails.
        let to_root = [owner, owner + 1].map(|arg| Test::Is { arg, mask: ALL, value: 0 });
        rules.push(rule.clone().when(to_root).then(INERT, METADATA));
        rules.push(rule.then(EPERM, OWNER));
    }
    let xattr = [
        call("setxattr", 188, 5),
        call("lsetxattr", 189, 6),
        call("fsetxattr", 190, 7),
        call("removexattr", 197, 14),
    ];
    let more = [
        call("lremovexattr", 198, 15),
        call("fremovexattr", 199, 16),
        same("setxattrat", 463),
        same("removexattrat", 466),
        same("file_setattr", 469),
    ];
    rules.extend(xattr.into_iter().chain(more).map(|rule| rule.then(EOPNOTSUPP, XATTR)));
    rules.extend(file_ioctls());
    let shm = [
        call("shmget", 29, 194),
        call("shmat", 30, 196),
        call("shmctl", 31, 195),
        call("shmdt", 67, 197),
    ];
    let sem = [
        call("semget", 64, 190),
        call("semop", 65, 193),
        call("semctl", 66, 191),
        call("semtimedop", 220, 192),
    ];
    let msg = [
        call("msgget", 68, 186),
        call("msgsnd", 69, 189),
        call("msgrcv", 70, 188),
        call("msgctl", 71, 187),
    ];
    let queues = [
        call("mq_open", 240, 180),
        call("mq_unlink", 241, 181),
        call("mq_timedsend", 242, 182),
        call("mq_timedreceive", 243, 183),
    ];
    let queues =
        queues.into_iter().chain([call("mq_notify", 244, 184), call("mq_getsetattr", 245, 185)]);
    rules.extend(
        shm.into_iter().chain(sem).chain(msg).chain(queues).map(|rule| rule.then(EPERM, IPC)),
    );
    let inotify = [
        x86_only("inotify_init", 253),
        call("inotify_init1", 294, 26),
        call("inotify_add_watch", 254, 27),
        call("inotify_rm_watch", 255, 28),
    ];
    rules.extend(inotify.into_iter().map(|rule| rule.then(ENOSYS, WATCH)));
    if abi < 3 {
        rules.extend(truncation());
    }
    rules
}

/// Requests that change a file through a read-only descriptor: inode flags, attributes, encryption and verity. Those of Btrfs make
/// and delete subvolumes without asking Landlock; its three for cloning data write only through a writable descriptor.
fn file_ioctls() -> Vec<Rule> {
    const WHY: &str =
        "changes a file through a read-only descriptor, which Landlock does not mediate";
    const BTRFS: Test = Test::Is { arg: 1, mask: 0xff00, value: 0x9400 };
    const CLONING: [u32; 3] = [0x4004_9409, 0x4020_940d, 0xc018_9436];
    let flags = [0x4008_6602, 0x4004_6602, 0x401c_5820, 0x4008_7602, 0x4080_6685, 0x800c_6613];
    let mut rules: Vec<Rule> =
        flags.iter().map(|request| ioctl().when([is(1, *request)]).then(EOPNOTSUPP, WHY)).collect();
    rules.push(
        ioctl()
            .when([BTRFS])
            .when(CLONING.map(|request| Test::IsNot { arg: 1, mask: ALL, value: request }))
            .then(EOPNOTSUPP, WHY),
    );
    rules
}

/// Before ABI 3 Landlock does not mediate truncation.
fn truncation() -> Vec<Rule> {
    const WHY: &str = "before Landlock ABI 3 any file the user may write could be emptied";
    let unseen = |flags| {
        // Access modes 1 (write) and 2 (both) are mediated as writing; 0 and the odd 3 are not.
        let truncates = Test::AnyBit { arg: flags, mask: O_TRUNC };
        [0, 3].map(|mode| [truncates, Test::Is { arg: flags, mask: O_ACCMODE, value: mode }])
    };
    let mut rules = vec![call("truncate", 76, 45).then(EACCES, WHY)];
    rules.extend(unseen(2).map(|tests| call("openat", 257, 56).when(tests).then(EACCES, WHY)));
    rules.extend(unseen(1).map(|tests| x86_only("open", 2).when(tests).then(EACCES, WHY)));
    rules
}

const fn ioctl() -> Rule {
    call("ioctl", 16, 29)
}

const fn is(arg: u8, value: u32) -> Test {
    Test::Is { arg, mask: ALL, value }
}

const fn is_not(arg: u8, value: u32) -> Test {
    Test::IsNot { arg, mask: ALL, value }
}

fn terminal() -> Vec<Rule> {
    const WHY: &str = "types into the operator's terminal (CVE-2017-5226, CVE-2023-1523)";
    const TIOCSTI: u32 = 0x5412;
    const TIOCLINUX: u32 = 0x541c;
    [TIOCSTI, TIOCLINUX].map(|request| ioctl().when([is(1, request)]).then(EPERM, WHY)).to_vec()
}

fn namespaces_and_mounts() -> Vec<Rule> {
    const NESTED: &str =
        "a nested namespace gives capabilities back, and with them the kernel's least tested code";
    const MOUNT: &str = "changes what is mounted";
    const NEW_API: &str = "the new mount interface (CVE-2021-41133); older kernels answer the same";
    let mut rules = vec![
        call("clone", 56, 220)
            .when([Test::AnyBit { arg: 0, mask: NAMESPACES }])
            .then(EPERM, NESTED),
        same("clone3", 435).then(
            ENOSYS,
            "its flags are in memory, where a filter cannot see them; programs fall back to clone",
        ),
        call("unshare", 272, 97)
            .when([Test::AnyBit { arg: 0, mask: NAMESPACES | NEWTIME }])
            .then(EPERM, NESTED),
        call("setns", 308, 268).then(EPERM, NESTED),
        call("mount", 165, 40).then(EPERM, MOUNT),
        call("umount2", 166, 39).then(EPERM, MOUNT),
        call("pivot_root", 155, 41).then(EPERM, MOUNT),
        call("chroot", 161, 51).then(EPERM, "a root directory of its own confuses path checks"),
    ];
    let new_api = [
        same("open_tree", 428),
        same("move_mount", 429),
        same("fsopen", 430),
        same("fsconfig", 431),
        same("fsmount", 432),
        same("fspick", 433),
    ];
    rules.extend(
        new_api
            .into_iter()
            .chain([same("mount_setattr", 442), same("open_tree_attr", 467)])
            .map(|rule| rule.then(ENOSYS, NEW_API)),
    );
    rules
}

fn sockets(sockets: Sockets) -> Vec<Rule> {
    let socket = || call("socket", 41, 198);
    let kind_is_not = |kind| Test::IsNot { arg: 1, mask: SOCK_TYPE, value: kind };
    const PAIR: &str = "a datagram pair can send to any datagram socket of the host by its path, such as the system log's";
    let pair = || call("socketpair", 53, 199);
    let mut rules = vec![
        pair().when([kind_is_not(STREAM), kind_is_not(SEQPACKET)]).then(EACCES, PAIR),
        pair().when([is_not(0, AF_UNIX)]).then(EAFNOSUPPORT, "pairs are Unix sockets"),
    ];
    if sockets == Sockets::None {
        rules.push(socket().then(EACCES, "no network, and none of the host's sockets"));
        return rules;
    }
    rules.push(socket().when([is(0, AF_UNIX)]).then(
        EACCES,
        "Unix sockets reach the host's services: container runtimes, agents, the bus",
    ));
    rules.push(
        socket()
            .when([AF_INET, AF_INET6, AF_NETLINK].map(|family| is_not(0, family)))
            .then(EAFNOSUPPORT, "only IP and route netlink: no packet, vsock, alg, bluetooth, …"),
    );
    rules.push(
        socket()
            .when([is(0, AF_NETLINK), is_not(2, 0)])
            .then(EPROTONOSUPPORT, "only route netlink, which lists interfaces"),
    );
    let internet = || socket().when([is_not(0, AF_NETLINK)]);
    rules.push(
        internet().when([kind_is_not(STREAM), kind_is_not(DGRAM)]).then(EPERM, "no raw sockets"),
    );
    rules.push(
        internet().when([0, 6, 17].map(|protocol| is_not(2, protocol))).then(
            EPROTONOSUPPORT,
            "only TCP and UDP: multipath TCP, SCTP and ICMP pass by filters",
        ),
    );
    rules
}

fn bypasses() -> Vec<Rule> {
    const URING: &str = "makes sockets and opens files without the calls filtered here";
    const HANDLE: &str = "opens a file by number, around every mount";
    let uring =
        [same("io_uring_setup", 425), same("io_uring_enter", 426), same("io_uring_register", 427)];
    let mut rules: Vec<Rule> = uring.into_iter().map(|rule| rule.then(ENOSYS, URING)).collect();
    rules.extend(
        [call("open_by_handle_at", 304, 265), call("name_to_handle_at", 303, 264)]
            .map(|rule| rule.then(EPERM, HANDLE)),
    );
    rules.push(call("fanotify_init", 300, 262).then(EPERM, "watches whole file systems"));
    rules
}

fn other_processes() -> Vec<Rule> {
    const SPY: &str = "reads or changes another process";
    const KEYS: &str = "keyrings hold secrets and outlive the sandbox";
    const SCHEDULING: &str = "changes how other processes run";
    let spying = [
        call("ptrace", 101, 117),
        call("process_vm_readv", 310, 270),
        call("process_vm_writev", 311, 271),
        same("process_madvise", 440),
        same("process_mrelease", 448),
        same("pidfd_getfd", 438),
        call("kcmp", 312, 272),
    ];
    let mut rules: Vec<Rule> = spying.into_iter().map(|rule| rule.then(EPERM, SPY)).collect();
    rules.extend(
        [call("keyctl", 250, 219), call("add_key", 248, 217), call("request_key", 249, 218)]
            .map(|rule| rule.then(EPERM, KEYS)),
    );
    // A lease on a file of the scanned tree stops whoever opens it for up to 45 s; a directory can be watched like with inotify.
    const F_SETLEASE: u32 = 1024;
    const F_NOTIFY: u32 = 1026;
    const WATCH: &str =
        "a lease holds up other programs' opens, a directory notification watches other programs";
    for command in [F_SETLEASE, F_NOTIFY] {
        let is = Test::Is { arg: 1, mask: ALL, value: command };
        rules.push(call("fcntl", 72, 25).when([is]).then(EPERM, WATCH));
    }
    // Process number 0 means the caller.
    let others = [
        call("prlimit64", 302, 261),
        call("sched_setaffinity", 203, 122),
        call("sched_setscheduler", 144, 119),
        call("sched_setparam", 142, 118),
        call("sched_setattr", 314, 274),
        call("migrate_pages", 256, 238),
        call("move_pages", 279, 239),
    ];
    rules.extend(others.into_iter().map(|rule| rule.when([is_not(0, 0)]).then(EPERM, SCHEDULING)));
    for (rule, oneself) in [(call("setpriority", 141, 140), 0), (call("ioprio_set", 251, 30), 1)] {
        rules.push(rule.clone().when([is_not(0, oneself)]).then(EPERM, SCHEDULING));
        rules.push(rule.when([is_not(1, 0)]).then(EPERM, SCHEDULING));
    }
    rules
}

fn kernel() -> Vec<Rule> {
    const ATTACK: &str = "a large attack surface that scanners do not need";
    const MACHINE: &str = "changes the machine";
    const OLD: &str = "obsolete, and little tested";
    let attack = [
        call("bpf", 321, 280),
        call("perf_event_open", 298, 241),
        call("userfaultfd", 323, 282),
        x86_only("modify_ldt", 154),
    ];
    let machine = [
        call("kexec_load", 246, 104),
        call("kexec_file_load", 320, 294),
        call("init_module", 175, 105),
        call("finit_module", 313, 273),
        call("delete_module", 176, 106),
        call("swapon", 167, 224),
        call("swapoff", 168, 225),
        call("quotactl", 179, 60),
        same("quotactl_fd", 443),
        call("acct", 163, 89),
        call("syslog", 103, 116),
        call("reboot", 169, 142),
        call("settimeofday", 164, 170),
        call("clock_settime", 227, 112),
        call("adjtimex", 159, 171),
        call("clock_adjtime", 305, 266),
        call("sethostname", 170, 161),
        call("setdomainname", 171, 162),
        x86_only("iopl", 172),
        x86_only("ioperm", 173),
        call("vhangup", 153, 58),
    ];
    let old = [
        call("lookup_dcookie", 212, 18),
        call("nfsservctl", 180, 42),
        x86_only("_sysctl", 156),
        x86_only("uselib", 134),
        x86_only("ustat", 136),
        x86_only("sysfs", 139),
    ];
    let deny = |rules: Vec<Rule>, why| rules.into_iter().map(move |rule| rule.then(EPERM, why));
    deny(attack.into(), ATTACK)
        .chain(deny(machine.into(), MACHINE))
        .chain(deny(old.into(), OLD))
        .collect()
}
