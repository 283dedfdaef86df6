//! The program against a specification written on its own: lists of numbers from the kernel's tables, not from ours.

use super::{
    Machine, Options, assemble,
    interpret::{Call, run},
};
use crate::wire::Sockets;

const ALLOW: u32 = 0x7fff_0000;
const KILL: u32 = 0x8000_0000;
const NONE: u32 = u32::MAX;

const fn errno(number: u32) -> u32 {
    0x0005_0000 | number
}

/// Name, number on x86-64, number on aarch64.
type Numbers = (&'static str, u32, u32);

const PERM: &[Numbers] = &[
    ("ptrace", 101, 117),
    ("process_vm_readv", 310, 270),
    ("process_vm_writev", 311, 271),
    ("process_madvise", 440, 440),
    ("process_mrelease", 448, 448),
    ("pidfd_getfd", 438, 438),
    ("kcmp", 312, 272),
    ("keyctl", 250, 219),
    ("add_key", 248, 217),
    ("request_key", 249, 218),
    ("bpf", 321, 280),
    ("perf_event_open", 298, 241),
    ("userfaultfd", 323, 282),
    ("modify_ldt", 154, NONE),
    ("mount", 165, 40),
    ("umount2", 166, 39),
    ("pivot_root", 155, 41),
    ("setns", 308, 268),
    ("chroot", 161, 51),
    ("open_by_handle_at", 304, 265),
    ("name_to_handle_at", 303, 264),
    ("fanotify_init", 300, 262),
    ("kexec_load", 246, 104),
    ("kexec_file_load", 320, 294),
    ("init_module", 175, 105),
    ("finit_module", 313, 273),
    ("delete_module", 176, 106),
    ("swapon", 167, 224),
    ("swapoff", 168, 225),
    ("quotactl", 179, 60),
    ("quotactl_fd", 443, 443),
    ("acct", 163, 89),
    ("syslog", 103, 116),
    ("reboot", 169, 142),
    ("settimeofday", 164, 170),
    ("clock_settime", 227, 112),
    ("adjtimex", 159, 171),
    ("clock_adjtime", 305, 266),
    ("sethostname", 170, 161),
    ("setdomainname", 171, 162),
    ("iopl", 172, NONE),
    ("ioperm", 173, NONE),
    ("vhangup", 153, 58),
    ("lookup_dcookie", 212, 18),
    ("nfsservctl", 180, 42),
    ("_sysctl", 156, NONE),
    ("uselib", 134, NONE),
    ("ustat", 136, NONE),
    ("sysfs", 139, NONE),
];
const NOSYS: &[Numbers] = &[
    ("io_uring_setup", 425, 425),
    ("io_uring_enter", 426, 426),
    ("io_uring_register", 427, 427),
    ("clone3", 435, 435),
    ("open_tree", 428, 428),
    ("move_mount", 429, 429),
    ("fsopen", 430, 430),
    ("fsconfig", 431, 431),
    ("fsmount", 432, 432),
    ("fspick", 433, 433),
    ("mount_setattr", 442, 442),
    ("open_tree_attr", 467, 467),
    ("openat2", 437, 437),
];
const ALONE_PERM: &[Numbers] = &[
    ("shmget", 29, 194),
    ("shmat", 30, 196),
    ("shmctl", 31, 195),
    ("shmdt", 67, 197),
    ("semget", 64, 190),
    ("semop", 65, 193),
    ("semctl", 66, 191),
    ("semtimedop", 220, 192),
    ("msgget", 68, 186),
    ("msgsnd", 69, 189),
    ("msgrcv", 70, 188),
    ("msgctl", 71, 187),
    ("mq_open", 240, 180),
    ("mq_unlink", 241, 181),
    ("mq_timedsend", 242, 182),
    ("mq_timedreceive", 243, 183),
    ("mq_notify", 244, 184),
    ("mq_getsetattr", 245, 185),
];
const ALONE_NOSYS: &[Numbers] = &[
    ("inotify_init", 253, NONE),
    ("inotify_init1", 294, 26),
    ("inotify_add_watch", 254, 27),
    ("inotify_rm_watch", 255, 28),
];
const ALONE_NOTSUP: &[Numbers] = &[
    ("setxattr", 188, 5),
    ("lsetxattr", 189, 6),
    ("fsetxattr", 190, 7),
    ("removexattr", 197, 14),
    ("lremovexattr", 198, 15),
    ("fremovexattr", 199, 16),
    ("setxattrat", 463, 463),
    ("removexattrat", 466, 466),
    ("file_setattr", 469, 469),
];
const ALONE_INERT: &[Numbers] = &[
    ("utime", 132, NONE),
    ("utimes", 235, NONE),
    ("futimesat", 261, NONE),
    ("utimensat", 280, 88),
];
const SELF_ONLY: &[Numbers] = &[
    ("prlimit64", 302, 261),
    ("sched_setaffinity", 203, 122),
    ("sched_setscheduler", 144, 119),
    ("sched_setparam", 142, 118),
    ("sched_setattr", 314, 274),
    ("migrate_pages", 256, 238),
    ("move_pages", 279, 239),
];
/// With the index of the mode.
const CHMOD: &[(Numbers, usize)] = &[
    (("chmod", 90, NONE), 1),
    (("fchmod", 91, 52), 1),
    (("fchmodat", 268, 53), 2),
    (("fchmodat2", 452, 452), 2),
];
const OPEN: &[(Numbers, usize)] = &[(("open", 2, NONE), 1), (("openat", 257, 56), 2)];
const MKNOD: &[(Numbers, usize)] = &[(("mknod", 133, NONE), 1), (("mknodat", 259, 33), 2)];
const MODED: &[(Numbers, usize)] =
    &[(("creat", 85, NONE), 1), (("mkdir", 83, NONE), 1), (("mkdirat", 258, 34), 2)];

const CHOWN: &[(Numbers, usize)] = &[
    (("chown", 92, NONE), 1),
    (("lchown", 94, NONE), 1),
    (("fchown", 93, 55), 1),
    (("fchownat", 260, 54), 2),
];

/// What must happen, decided without the table.
fn expected(machine: Machine, options: &Options, call: &Call) -> u32 {
    let (own, x32) = match machine {
        Machine::X86_64 => (0xc000_003e, 0x4000_0000_u64),
        // Arm has no such interface; large numbers are merely unknown.
        Machine::Aarch64 => (0xc000_00b7, u64::MAX),
    };
    if call.architecture != own || u64::from(call.number) >= x32 {
        return KILL;
    }
    let number = call.number;
    if number > 469 {
        return errno(38);
    }
    let is = |entry: &Numbers| number == if machine == Machine::X86_64 { entry.1 } else { entry.2 };
    let any = |list: &[Numbers]| list.iter().any(is);
    let indexed = |list: &[(Numbers, usize)]| {
        list.iter().find(|(entry, _)| is(entry)).map(|(_, index)| *index)
    };
    let arg = |index: usize| call.arguments[index] as u32;
    let number_is = |x86_64: u32, aarch64: u32| is(&("", x86_64, aarch64));

    if any(PERM) {
        return errno(1);
    }
    if any(NOSYS) {
        return errno(38);
    }
    if any(SELF_ONLY) && arg(0) != 0 {
        return errno(1);
    }
    if number_is(72, 25) && [1024, 1026].contains(&arg(1)) {
        return errno(1);
    }
    if number_is(141, 140) && (arg(0), arg(1)) != (0, 0)
        || number_is(251, 30) && (arg(0), arg(1)) != (1, 0)
    {
        return errno(1);
    }
    if number_is(56, 220) && arg(0) & 0x7e02_0000 != 0
        || number_is(272, 97) && arg(0) & 0x7e02_0080 != 0
    {
        return errno(1);
    }
    if number_is(41, 198) {
        return socket(options.sockets, arg(0), arg(1) & 0xf, arg(2));
    }
    if number_is(53, 199) {
        return match (arg(0), arg(1) & 0xf) {
            (_, kind) if kind != 1 && kind != 5 => errno(13),
            (1, _) => ALLOW,
            _ => errno(97),
        };
    }
    if number_is(16, 29) {
        return ioctl(options, arg(1));
    }
    if let Some(mode) = indexed(CHMOD) {
        return match (arg(mode) & 0o6000, options.landlock_alone) {
            (0, false) => ALLOW,
            (0, true) => errno(0),
            _ => errno(1),
        };
    }
    if indexed(MODED).is_some_and(|mode| arg(mode) & 0o6000 != 0) {
        return errno(1);
    }
    if let Some(mode) = indexed(MKNOD) {
        let is_device = [0o020_000, 0o060_000].contains(&(arg(mode) & 0o170_000));
        return if is_device || arg(mode) & 0o6000 != 0 { errno(1) } else { ALLOW };
    }
    if let Some(flags) = indexed(OPEN) {
        let creates = arg(flags) & 0o20_000_100 != 0;
        if creates && arg(flags + 1) & 0o6000 != 0 {
            return errno(1);
        }
        let empties_unseen = arg(flags) & 0o1000 != 0 && matches!(arg(flags) & 3, 0 | 3);
        return if options.landlock_alone && options.landlock_abi < 3 && empties_unseen {
            errno(13)
        } else {
            ALLOW
        };
    }
    if options.landlock_alone {
        if let Some(owner) = indexed(CHOWN) {
            let to_root = (arg(owner), arg(owner + 1)) == (0, 0);
            return errno(if to_root { 0 } else { 1 });
        }
        if options.landlock_abi < 3 && number_is(76, 45) {
            return errno(13);
        }
        for (list, result) in
            [(ALONE_PERM, 1), (ALONE_NOSYS, 38), (ALONE_NOTSUP, 95), (ALONE_INERT, 0)]
        {
            if any(list) {
                return errno(result);
            }
        }
    }
    ALLOW
}

impl Machine {
    /// Calls with rules that look at several arguments.
    fn pairs(self) -> &'static [u32] {
        match self {
            Self::X86_64 => &[2, 41, 53, 92, 93, 94, 141, 251, 257, 260],
            Self::Aarch64 => &[30, 54, 55, 56, 140, 198, 199],
        }
    }
}

fn socket(sockets: Sockets, family: u32, kind: u32, protocol: u32) -> u32 {
    match (sockets, family) {
        (Sockets::None, _) | (_, 1) => errno(13),
        (_, 16) => {
            if protocol == 0 {
                ALLOW
            } else {
                errno(93)
            }
        }
        (_, 2 | 10) if kind != 1 && kind != 2 => errno(1),
        (_, 2 | 10) => {
            if [0, 6, 17].contains(&protocol) {
                ALLOW
            } else {
                errno(93)
            }
        }
        _ => errno(97),
    }
}

fn ioctl(options: &Options, request: u32) -> u32 {
    let changes_a_file =
        [0x4008_6602, 0x4004_6602, 0x401c_5820, 0x4008_7602, 0x4080_6685, 0x800c_6613]
            .contains(&request);
    let is_btrfs =
        request >> 8 & 0xff == 0x94 && ![0x4004_9409, 0x4020_940d, 0xc018_9436].contains(&request);
    match request {
        0x5412 | 0x541c => errno(1),
        _ if options.landlock_alone && (changes_a_file || is_btrfs) => errno(95),
        _ => ALLOW,
    }
}

/// The ABI matters only where Landlock is alone.
fn every_option() -> Vec<Options> {
    let walls = [(false, 7), (true, 2), (true, 3)];
    let with = |sockets| {
        walls.map(|(landlock_alone, landlock_abi)| Options {
            sockets,
            landlock_alone,
            landlock_abi,
        })
    };
    [with(Sockets::None), with(Sockets::Internet)].concat()
}

/// Values that matter to some rule, and neighbours of them.
fn interesting() -> Vec<u64> {
    let mut values: Vec<u64> = vec![
        0,
        1,
        2,
        3,
        4,
        5,
        6,
        10,
        16,
        17,
        40,
        262,
        1024,
        1026,
        0x80,
        0o644,
        0o755,
        0o4755,
        0o2755,
        0o6000,
        0o1777,
        u64::MAX,
    ];
    values.extend([
        0o100,
        0o1000,
        0o1001,
        0o1002,
        0o1003,
        0o1101,
        0o20_200_002,
        0o10_644,
        0o20_644,
        0o60_644,
        0o100_644,
        0o104_755,
        0o140_644,
    ]);
    values.extend([
        0x0002_0000,
        0x0200_0000,
        0x0400_0000,
        0x0800_0000,
        0x1000_0000,
        0x2000_0000,
        0x4000_0000,
        0x11,
        0x0080_0001,
        0x0008_0002,
    ]);
    values.extend([
        0x5412,
        0x541c,
        0x5413,
        0x4008_6602,
        0x4080_6685,
        0x5000_940e,
        0x4004_9409,
        0x8000_0000,
    ]);
    // The upper half must not matter.
    let high: Vec<u64> =
        values.iter().step_by(4).map(|value| value | 0xdead_beef_0000_0000).collect();
    values.into_iter().chain(high).collect()
}

#[test]
fn the_program_does_what_the_specification_says_for_every_number_and_argument() {
    let values = interesting();
    for machine in [Machine::X86_64, Machine::Aarch64] {
        let own = machine.audit();
        for options in every_option() {
            let program = assemble::program(machine, &options);
            for number in (0..=600).map(|number| number | 0x4000_0000).chain([
                0x3fff_ffff,
                0x7fff_ffff,
                u32::MAX,
            ]) {
                let call = Call { architecture: own, number, arguments: [0; 6] };
                assert_eq!(
                    run(&program, &call),
                    expected(machine, &options, &call),
                    "{machine:?} {options:?} {call:x?}"
                );
            }
            for number in 0..=600 {
                let check = |arguments: [u64; 6]| {
                    let call = Call { architecture: own, number, arguments };
                    assert_eq!(
                        run(&program, &call),
                        expected(machine, &options, &call),
                        "{machine:?} {options:?} {call:x?}"
                    );
                };
                for first in &values {
                    for index in 0..4 {
                        let mut arguments = [0; 6];
                        arguments[index] = *first;
                        check(arguments);
                    }
                }
                // Rules with several tests: sockets and opens.
                if machine.pairs().contains(&number) {
                    for (first, second, third) in values
                        .iter()
                        .flat_map(|a| values.iter().map(move |b| (a, b)))
                        .flat_map(|(a, b)| [0, 17, 262].map(|c| (*a, *b, c)))
                    {
                        check([first, second, third, 0o4755, 0, 0]);
                        check([first, 2, second, third, 0, 0]);
                    }
                }
            }
        }
    }
}

#[test]
fn a_call_for_another_architecture_is_killed_whatever_it_is() {
    for (machine, foreign) in [
        (Machine::X86_64, 0x4000_0003),
        (Machine::X86_64, 0xc000_00b7),
        (Machine::Aarch64, 0x4000_0028),
        (Machine::Aarch64, 0xc000_003e),
    ] {
        for options in every_option() {
            let program = assemble::program(machine, &options);
            for number in 0..=600 {
                let call = Call { architecture: foreign, number, arguments: [0; 6] };
                assert_eq!(run(&program, &call), KILL);
            }
        }
    }
}

#[test]
fn every_program_is_short_enough_for_the_kernel_and_every_jump_stays_inside() {
    for machine in [Machine::X86_64, Machine::Aarch64] {
        for options in every_option() {
            let program = assemble::program(machine, &options);
            assert!(program.len() < 1024, "{}", program.len());
            for (at, op) in program.iter().enumerate() {
                let is_jump = op.code & 7 == 5;
                assert!(!is_jump || at + 1 + usize::from(op.jt.max(op.jf)) < program.len());
            }
            assert_eq!(program.last().map(|op| op.code), Some(0x06));
        }
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[test]
fn the_numbers_are_those_of_this_machine() {
    let known = [
        ("socket", libc::SYS_socket),
        ("openat", libc::SYS_openat),
        ("fchmodat", libc::SYS_fchmodat),
        ("prlimit64", libc::SYS_prlimit64),
        ("setns", libc::SYS_setns),
        ("shmget", libc::SYS_shmget),
        ("keyctl", libc::SYS_keyctl),
    ];
    let options = Options { sockets: Sockets::None, landlock_alone: true, landlock_abi: 1 };
    let rules = super::table::rules(&options);
    for (name, number) in known {
        let rule = rules.iter().find(|rule| rule.name == name).unwrap();
        assert_eq!(rule.number(Machine::current().unwrap()), u32::try_from(number).ok(), "{name}");
    }
}

#[test]
fn the_documentation_rows_tell_both_walls_apart() {
    let rows = super::rows(false);
    let row = |call: &str, then: &str| {
        rows.iter().find(|row| row.call == call && row.then == then).unwrap()
    };
    assert!(row("fchmod", "success, nothing done").landlock_alone);
    assert!(!row("ptrace", "EPERM").landlock_alone);
    assert_eq!(row("ioctl", "EPERM").when, "arg1 == 0x5412");
    assert!(rows.iter().all(|row| !row.why.is_empty()));
    assert!(
        super::rows(true).iter().any(|row| row.call == "socket" && row.then == "EPROTONOSUPPORT")
    );
}
