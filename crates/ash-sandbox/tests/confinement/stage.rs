//! What the tool finds itself in.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "these tests start the stages themselves"
)]

use std::{fs::OpenOptions, process::Command};

use libtest_mimic::Trial;
use serde_json::json;

use crate::support::{Lab, PYTHON, Running, bare, driver, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial(
            "the_tool_gets_no_descriptor_but_the_standard_three_and_nothing_to_read",
            inherited_descriptors,
        ),
        trial("exit_codes_signals_and_both_streams_arrive_as_they_are", ends),
        trial("a_stage_that_stays_reports_how_the_tool_ended", stays),
        trial("a_failed_step_runs_nothing_and_exits_with_126", failed_step),
        trial("a_missing_program_is_127_and_one_that_cannot_be_run_126", cannot_exec),
        trial("a_relative_program_is_refused", relative_program),
        trial("the_tool_has_the_default_signals_also_when_ash_ignored_some", dispositions),
        trial("limits_are_in_force_and_reported", limits),
        trial("no_capability_is_left_nor_can_one_come_back", capabilities),
        trial("the_terminal_cannot_be_typed_into_or_reached", terminal),
        trial("the_session_keyring_of_the_caller_is_out_of_reach", keyring),
        trial("the_environment_is_exactly_the_given_one", environment),
        trial("confine_is_not_a_command", not_a_command),
    ]
}

fn inherited_descriptors(lab: &Lab) {
    let leak = OpenOptions::new().read(true).write(true).open(lab.outside.join("file")).unwrap();
    rustix::io::fcntl_setfd(&leak, rustix::io::FdFlags::empty()).unwrap();
    let number = std::os::fd::AsRawFd::as_raw_fd(&leak);
    let attack = format!(
        "
import os, stat
def works(act):
    try: act(); return True
    except OSError: return False
print(sorted(n for n in range(1024) if works(lambda: os.fstat(n)) and n != {number}), works(lambda: os.write({number}, b'x')), os.read(0, 1), os.fstat(0).st_rdev == os.stat('/dev/null').st_rdev)
"
    );
    let control = bare(&[PYTHON, "-I", "-c", &attack], &lab.work);
    assert!(String::from_utf8_lossy(&control.stdout).contains("] True"), "control: {control:?}");
    for stay in [false, true] {
        let mut stage = lab.stage(&[PYTHON, "-I", "-c", &attack]);
        stage["stay"] = json!(stay);
        Running::start(&lab.spec(stage)).finish().printed("[0, 1, 2] False b'' True");
    }
}

fn ends(lab: &Lab) {
    let both = lab.sh("echo out; echo err >&2");
    assert_eq!((both.stdout.as_str(), both.stderr.as_str()), ("out\n", "err\n"));
    assert_eq!(lab.sh("exit 7").end(), &json!({"Code": 7}));
    assert_eq!(lab.sh("kill -KILL $$").end(), &json!({"Signal": 9}));
    assert_eq!(lab.sh("kill -SEGV $$").end(), &json!({"Signal": 11}));
}

fn stays(lab: &Lab) {
    for (script, end) in [("exit 7", json!({"Code": 7})), ("kill -KILL $$", json!({"Signal": 9}))] {
        let mut stage = lab.stage(&["/bin/sh", "-c", script]);
        stage["stay"] = json!(true);
        let ended = Running::start(&lab.spec(stage)).finish();
        assert_eq!(ended.stage("Ended"), Some(&end), "{ended:?}");
    }
}

fn failed_step(lab: &Lab) {
    let script = format!("touch {}/ran", lab.work.display());
    let mut stage = lab.stage(&["/bin/sh", "-c", &script]);
    stage["landlock"]["force_abi"] = json!(0);
    let ended = Running::start(&lab.spec(stage.clone())).finish();
    assert_eq!(
        (ended.end(), &ended.stage("Failed").unwrap()["step"]),
        (&json!({"Code": 126}), &json!("landlock")),
        "{ended:?}"
    );
    assert!(!lab.work.join("ran").exists());
    stage["landlock"]["force_abi"] = json!(null);
    stage["cwd"] = json!("/nonexistent");
    assert_eq!(
        Running::start(&lab.spec(stage.clone())).finish().stage("Failed").unwrap()["step"],
        "directory"
    );
    stage["cwd"] = json!(lab.work);
    assert_eq!(Running::start(&lab.spec(stage)).finish().end(), &json!({"Code": 0}));
    assert!(lab.work.join("ran").exists(), "control");
}

fn cannot_exec(lab: &Lab) {
    for (program, code) in [("/usr/bin/no-such-program", 127), ("/etc/passwd", 126)] {
        let ended = lab.run(&[program]);
        assert_eq!(
            (&ended.stage("CannotExec").unwrap()["code"], ended.end()),
            (&json!(code), &json!({"Code": code})),
            "{ended:?}"
        );
    }
    std::fs::write(lab.work.join("script"), "#!/no/such/interpreter\n").unwrap();
    std::fs::set_permissions(
        lab.work.join("script"),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    let ended = lab.run(&[lab.work.join("script").to_str().unwrap()]);
    assert!(
        ended.stage("CannotExec").unwrap()["reason"].as_str().unwrap().contains("interpreter"),
        "{ended:?}"
    );
}

fn relative_program(lab: &Lab) {
    let ended = lab.run(&["sh", "-c", "echo ran"]);
    assert_eq!((ended.stdout.as_str(), ended.end()), ("", &json!({"Code": 126})), "{ended:?}");
}

fn dispositions(lab: &Lab) {
    // Bits: 1 HUP, 2 INT, 12 PIPE, 14 TERM.
    let script = "grep -E 'SigIgn|SigBlk' /proc/self/status";
    let spec = lab.spec(lab.stage(&["/bin/sh", "-c", script]));
    let exe = std::env::current_exe().unwrap();
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", r#"trap '' HUP INT PIPE TERM CHLD; exec "$0" __confine supervise"#])
        .arg(exe);
    let ended = Running::start_with(&spec, &mut command).finish();
    let masks: Vec<u64> = ended
        .stdout
        .lines()
        .map(|line| u64::from_str_radix(line.split_whitespace().last().unwrap(), 16).unwrap())
        .collect();
    assert_eq!(masks.len(), 2, "{ended:?}");
    for mask in masks {
        assert_eq!(mask & 0x7fff_ffff, 0, "{ended:?}");
    }
}

fn limits(lab: &Lab) {
    let script = "ulimit -c; ulimit -f; ulimit -H -f; head -c 3000 /dev/zero > big; ls -l big | awk '{print $5}'";
    let mut stage = lab.stage(&["/bin/sh", "-c", script]);
    stage["rlimits"] = json!([["core", 0], ["file_size", 2048]]);
    let ended = Running::start(&lab.spec(stage)).finish();
    ended.printed("0\n4\n4\n2048");
    assert_eq!(
        ended.stage("Applied").unwrap()["rlimits"],
        json!([["core", 0], ["file_size", 2048]])
    );
}

fn capabilities(lab: &Lab) {
    let ended = lab.sh(
        "grep -E 'CapPrm|CapEff|CapInh|CapAmb|NoNewPrivs|Seccomp:' /proc/self/status | tr -d '\\t'",
    );
    let zero = "0000000000000000";
    ended.printed(&format!(
        "CapInh:{zero}\nCapPrm:{zero}\nCapEff:{zero}\nCapAmb:{zero}\nNoNewPrivs:1\nSeccomp:2"
    ));
    if rustix::process::geteuid().is_root() {
        lab.sh("grep CapBnd /proc/self/status | tr -d '\\t'").printed(&format!("CapBnd:{zero}"));
    }
}

/// The driver gets a terminal of its own; the tool inside tries to type into it.
fn terminal(lab: &Lab) {
    let attack = r"
import fcntl, os
for number in (0, 1, 2):
    try: fcntl.ioctl(number, 0x5412, b'x'); print('typed', number)
    except OSError: pass
try: os.open('/dev/tty', os.O_RDWR); print('opened')
except OSError: pass
print('leader' if os.getsid(0) == os.getpid() else 'not leader')
";
    let outer = r"
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0: os.execv(sys.argv[1], sys.argv[1:])
seen = b''
while True:
    try: piece = os.read(terminal, 4096)
    except OSError: break
    if not piece: break
    seen += piece
os.waitpid(pid, 0)
print(seen.decode())
";
    let exe = std::env::current_exe().unwrap();
    let spec = lab.spec(lab.stage(&[PYTHON, "-I", "-c", attack])).to_string();
    let confined =
        bare(&[PYTHON, "-I", "-c", outer, exe.to_str().unwrap(), "drive", &spec], &lab.work);
    let seen = String::from_utf8_lossy(&confined.stdout);
    assert!(
        seen.contains("leader")
            && !seen.contains("not leader")
            && !seen.contains("typed")
            && !seen.contains("opened"),
        "{confined:?}"
    );
    let control = bare(&[PYTHON, "-I", "-c", outer, PYTHON, "-I", "-c", attack], &lab.work);
    assert!(String::from_utf8_lossy(&control.stdout).contains("opened"), "control: {control:?}");
}

fn keyring(lab: &Lab) {
    let attack = "import ctypes, platform; call = 250 if platform.machine() == 'x86_64' else 219; libc = ctypes.CDLL(None, use_errno=True); found = libc.syscall(call, 10, -3, b'user', b'ash-test', 0); print('found' if found > 0 else ctypes.get_errno())";
    // Joined by this thread only, which starts both attempts.
    let mut keyring = keyutils::Keyring::join_anonymous_session().unwrap();
    keyring.add_key::<keyutils::keytypes::User, _, _>("ash-test", &b"secret"[..]).unwrap();
    assert_eq!(bare(&[PYTHON, "-I", "-c", attack], &lab.work).stdout, b"found\n", "control");
    lab.python(attack).printed("1");
}

fn environment(lab: &Lab) {
    let ended = lab.run(&["/usr/bin/env"]);
    let mut names: Vec<&str> =
        ended.stdout.lines().filter_map(|line| line.split('=').next()).collect();
    names.sort_unstable();
    assert_eq!(names, ["HOME", "PATH", "TMPDIR"]);
}

fn not_a_command(lab: &Lab) {
    let exe = std::env::current_exe().unwrap();
    let output = bare(&[exe.to_str().unwrap(), "__confine"], &lab.work);
    assert_eq!(output.status.code(), Some(126));
    assert!(String::from_utf8_lossy(&output.stderr).contains("not a command"));
    // The driver is used by other tests; here it only proves that it is not a stage.
    assert_ne!(driver(&json!({})).get_args().next(), Some(std::ffi::OsStr::new("__confine")));
}
