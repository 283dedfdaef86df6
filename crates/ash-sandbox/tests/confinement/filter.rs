//! The installed filter, tried with real system calls.

use libtest_mimic::Trial;
use serde_json::json;

use crate::support::{Ended, Lab, PYTHON, Running, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("without_a_network_no_socket_can_be_made", no_sockets),
        trial("with_a_network_only_tcp_udp_and_route_netlink_can", internet),
        trial("pairs_of_stream_kind_work_and_datagram_pairs_are_refused", pairs),
        trial("dangerous_calls_are_refused_each_in_its_way", refused_calls),
        trial("other_processes_cannot_be_limited_or_rescheduled", only_oneself),
        trial("set_user_id_files_cannot_be_made_by_any_call", set_id),
        trial("the_32_bit_interface_kills", foreign),
        trial("threads_processes_and_pools_work", works),
        trial("shells_archives_and_git_work_where_files_may_be_written", works_list),
    ]
}

/// Helpers for raw calls; `call` prints the error's name, or `ok`.
const PRELUDE: &str = "
import ctypes, errno, os, platform, socket
X86 = platform.machine() == 'x86_64'
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def call(x86, arm, *arguments):
    ctypes.set_errno(0)
    number = x86 if X86 else arm
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])
    return errno.errorcode[ctypes.get_errno()] if result < 0 else 'ok'
def made(*arguments):
    try: socket.socket(*arguments).close(); return 'ok'
    except OSError as error: return errno.errorcode[error.errno]
";

fn python(lab: &Lab, alone: bool, sockets: &str, script: &str) -> Ended {
    let script = format!("{PRELUDE}{script}");
    let mut stage = lab.stage(&[PYTHON, "-I", "-c", &script]);
    stage["landlock_alone"] = json!(alone);
    stage["sockets"] = json!(sockets);
    stage["landlock"]["no_tcp"] = json!(sockets == "None");
    Running::start(&lab.spec(stage)).finish()
}

fn no_sockets(lab: &Lab) {
    let script = "print({family: made(family, kind) for family in (1, 2, 10, 16, 17, 40) for kind in (1, 2)})";
    python(lab, true, "None", script).printed(
        "{1: 'EACCES', 2: 'EACCES', 10: 'EACCES', 16: 'EACCES', 17: 'EACCES', 40: 'EACCES'}",
    );
}

fn internet(lab: &Lab) {
    let script = "
print('inet', made(2, 1), made(2, 2), made(2, 1 | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK, 6), made(2, 2, 17))
print('raw', made(2, 3, 1), made(2, 1, 262), made(2, 2, 1))
print('netlink', made(16, 3, 0), made(16, 3, 15))
print('others', made(1, 1), made(1, 2), made(17, 3), made(38, 5), made(40, 1))
listener = socket.socket(); listener.bind(('127.0.0.1', 0)); listener.listen()
client = socket.create_connection(listener.getsockname()); print('loopback ok')
";
    let expected = "inet ok ok ok ok\nraw EPERM EPROTONOSUPPORT EPROTONOSUPPORT\nnetlink ok EPROTONOSUPPORT\nothers EACCES EACCES EAFNOSUPPORT EAFNOSUPPORT EAFNOSUPPORT\nloopback ok";
    python(lab, true, "Internet", script).printed(expected);
}

fn pairs(lab: &Lab) {
    let script = "
def pair(kind):
    try: socket.socketpair(1, kind); return 'ok'
    except OSError as error: return errno.errorcode[error.errno]
print(pair(1), pair(5), pair(1 | socket.SOCK_CLOEXEC), pair(2), pair(2 | socket.SOCK_NONBLOCK), pair(3))
";
    for sockets in ["None", "Internet"] {
        python(lab, true, sockets, script).printed("ok ok ok EACCES EACCES EACCES");
    }
}

fn refused_calls(lab: &Lab) {
    let script = "
print('enosys', call(425, 425, 1, 0), call(435, 435, 0, 0), call(437, 437, 0, 0, 0, 0), call(428, 428, 0, 0, 0), call(430, 430, 0, 0), call(500, 500))
print('namespaces', call(272, 97, 0x10000000), call(272, 97, 0x80), call(56, 220, 0x10000011, 0, 0, 0, 0), call(308, 268, 0, 0), call(272, 97, 0))
print('mounts', call(165, 40, b'x', b'/', b'tmpfs', 0, 0), call(166, 39, b'/', 0), call(161, 51, b'/'))
print('processes', call(101, 117, 0, 0, 0, 0), call(310, 270, os.getpid(), 0, 0, 0, 0, 0), call(438, 438, 0, 0, 0), call(250, 219, 0, 0), call(321, 280, 0, 0, 0), call(298, 241, 0, 0, 0, 0, 0), call(323, 282, 0))
print('kernel', call(103, 116, 3, 0, 0), call(169, 142, 0, 0, 0, 0), call(246, 104, 0, 0, 0, 0), call(170, 161, b'x', 1), call(304, 265, 0, 0, 0))
print('terminal', call(16, 29, 1, 0x5412, b'x'), call(16, 29, 1, 0x5412 | 1 << 40, b'x'), call(16, 29, 1, 0x541c, b'x'))
";
    let everywhere = "enosys ENOSYS ENOSYS ENOSYS ENOSYS ENOSYS ENOSYS\nnamespaces EPERM EPERM EPERM EPERM ok\nmounts EPERM EPERM EPERM\nprocesses EPERM EPERM EPERM EPERM EPERM EPERM EPERM\nkernel EPERM EPERM EPERM EPERM EPERM\nterminal EPERM EPERM EPERM";
    for alone in [false, true] {
        python(lab, alone, "None", script).printed(everywhere);
    }
    let alone = "print(call(29, 194, 0, 4096, 0o1600), call(240, 180, b'x', 0, 0, 0), call(294, 26, 0), call(76, 45, b'/etc/passwd', 0))";
    python(lab, true, "None", alone).printed("EPERM EPERM ENOSYS EACCES");
    python(lab, false, "None", "print(call(294, 26, 0))").printed("ok");
}

fn only_oneself(lab: &Lab) {
    let script = "
me, parent = os.getpid(), os.getppid()
print('own', call(302, 261, 0, 7, 0, 0), call(141, 140, 0, 0, 1), call(203, 122, 0, 8, b'\\xff' * 8))
print('other', call(302, 261, parent, 7, 0, 0), call(302, 261, 1 << 32 | parent, 7, 0, 0), call(141, 140, 0, parent, 1), call(141, 140, 2, 0, 1), call(203, 122, parent, 8, b'\\xff' * 8), call(251, 30, 1, parent, 0))
";
    python(lab, true, "None", script)
        .printed("own ok ok ok\nother EPERM EPERM EPERM EPERM EPERM EPERM");
}

fn set_id(lab: &Lab) {
    let script = "
AT = -100
def tried(act):
    try: act(); return 'ok'
    except OSError as error: return errno.errorcode[error.errno]
open('f', 'w')
print(tried(lambda: os.chmod('f', 0o4755)), tried(lambda: os.fchmod(os.open('f', 0), 0o2755)), call(452, 452, AT, b'f', 0o4755, 0), call(257, 56, AT, b'g', 0o101, 0o4755))
print(tried(lambda: os.open('.', os.O_TMPFILE | os.O_RDWR, 0o4700)), tried(lambda: os.mknod('h', 0o104755)), tried(lambda: os.mkdir('d', 0o2755)))
print(tried(lambda: os.chmod('f', 0o755)), call(257, 56, AT, b'f', 0, 0o4755), tried(lambda: os.open('k', os.O_CREAT | os.O_WRONLY, 0o755)))
";
    for alone in [false, true] {
        python(lab, alone, "None", script)
            .printed("EPERM EPERM EPERM EPERM\nEPERM EPERM EPERM\nok ok ok");
    }
    for entry in std::fs::read_dir(&lab.work).unwrap().flatten() {
        use std::os::unix::fs::MetadataExt as _;
        assert_eq!(entry.metadata().unwrap().mode() & 0o6000, 0, "{entry:?}");
    }
}

/// `int 0x80` from a page of machine code: getpid in the 32-bit numbering. Only x86-64 has it.
fn foreign(lab: &Lab) {
    let script = "
import mmap
if not X86: raise SystemExit(99)
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes([0x53, 0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0x5b, 0xc3]))
address = ctypes.addressof(ctypes.c_char.from_buffer(code))
print(ctypes.CFUNCTYPE(ctypes.c_int)(address)())
";
    if cfg!(target_arch = "x86_64") {
        let ended = python(lab, false, "None", script);
        assert_eq!((ended.stdout.as_str(), ended.end()), ("", &json!({"Signal": 31})), "{ended:?}");
        let x32 = python(lab, false, "None", "print(call(0x40000000 | 39, 0))");
        assert_eq!(x32.end(), &json!({"Signal": 31}), "{x32:?}");
    }
}

fn works(lab: &Lab) {
    let script = "
import multiprocessing, subprocess, tempfile, threading
context = multiprocessing.get_context('fork')
with context.Pool(2) as pool: print(pool.map(abs, [-1, -2]))
print(subprocess.run(['/bin/echo', 'child'], capture_output=True, text=True).stdout.strip())
thread = threading.Thread(target=print, args=['thread']); thread.start(); thread.join()
with tempfile.TemporaryDirectory() as directory: print(os.path.isdir(directory))
";
    let mut stage = lab.stage(&[PYTHON, "-I", "-c", &format!("{PRELUDE}{script}")]);
    // POSIX semaphores live there.
    stage["landlock"]["write"].as_array_mut().unwrap().push(json!("/dev/shm"));
    Running::start(&lab.spec(stage)).finish().printed("[1, 2]\nchild\nthread\nTrue");
}

fn works_list(lab: &Lab) {
    lab.sh("mkdir tree && echo x > tree/f && tar cf a.tar tree && mkdir out && tar xf a.tar --no-same-owner -C out && cat out/tree/f").printed("x");
    if std::path::Path::new("/usr/bin/git").exists() {
        lab.sh("git init -q r && cd r && git config user.email a@example.org && git config user.name a && echo x > f && git add f && git commit -qm m && git log --format=%s").printed("m");
    }
    lab.sh("/usr/bin/python3 -m venv --without-pip v && v/bin/python -c 'print(1)'").printed("1");
}
