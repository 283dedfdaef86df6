//! What Landlock refuses, on this kernel and as on older ones.

use libtest_mimic::Trial;
use serde_json::{Value, json};

use crate::support::{Ended, Lab, PYTHON, Running, bare, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("only_what_is_granted_can_be_read_written_or_run", grants),
        trial("the_evidence_is_full_here_and_partial_as_on_an_older_kernel", evidence),
        trial("before_abi_3_files_outside_cannot_be_emptied_either", truncation),
        trial("each_older_abi_keeps_its_promises_and_says_what_it_cannot", older),
        trial("metadata_of_files_outside_does_not_change", metadata),
        trial("a_device_node_or_a_socket_cannot_be_made_in_a_granted_directory", special_files),
        trial("files_move_between_granted_directories", refer),
        trial("a_signal_to_a_process_outside_is_refused", signals),
        trial("the_probe_tells_a_sandbox_that_holds_from_none", probe),
    ]
}

fn with_abi(lab: &Lab, abi: u32, argv: &[&str]) -> Value {
    let mut stage = lab.stage(argv);
    stage["landlock"]["force_abi"] = json!(abi);
    stage
}

fn run(lab: &Lab, stage: Value) -> Ended {
    Running::start(&lab.spec(stage)).finish()
}

fn grants(lab: &Lab) {
    let outside = lab.outside.display().to_string();
    std::fs::write(lab.outside.join("data"), "data").unwrap();
    std::fs::copy("/bin/true", lab.outside.join("program")).unwrap();
    let script = format!(
        "cat {outside}/file; ls {outside}; echo x > {outside}/new; {outside}/program && echo ran; echo in > inside && cat inside"
    );
    let ended = lab.sh(&script);
    assert_eq!(ended.stdout, "in\n", "{ended:?}");
    assert_eq!(
        bare(
            &["/bin/sh", "-c", &format!("cat {outside}/file && {outside}/program && echo ran")],
            &lab.work
        )
        .stdout,
        b"contentsran\n",
        "control"
    );
    let mut stage = lab.stage(&[
        "/bin/sh",
        "-c",
        &format!("cat {outside}/data; {outside}/program && echo ran; ls {outside} | wc -l"),
    ]);
    stage["landlock"]["read_data"] = json!([lab.outside]);
    run(lab, stage).printed("data3");
    let mut stage =
        lab.stage(&["/bin/sh", "-c", &format!("cat {outside}/data; ls {outside} | wc -l")]);
    stage["landlock"]["list"] = json!([lab.outside]);
    run(lab, stage).printed("3");
}

fn evidence(lab: &Lab) {
    let applied = |stage| run(lab, stage).stage("Applied").unwrap()["landlock"].clone();
    let here = applied(lab.stage(&["/bin/true"]));
    let abi = here["abi"].as_u64().unwrap();
    assert_eq!(
        (here["enforced"].as_str(), here["missing"] == json!([])),
        (Some(if abi >= 6 { "full" } else { "partial" }), abi >= 6),
        "{here}"
    );
    let old = applied(with_abi(lab, 1, &["/bin/true"]));
    assert_eq!((&old["abi"], &old["enforced"]), (&json!(1), &json!("partial")));
    assert_eq!(old["missing"].as_array().unwrap().len(), 5, "{old}");
    // A level beyond the kernel's asks for no more than the kernel has.
    assert_eq!(applied(with_abi(lab, 99, &["/bin/true"]))["abi"], json!(abi));
}

fn truncation(lab: &Lab) {
    let file = lab.outside.join("file");
    // A read grant is enough for the kernel to let `O_RDONLY | O_TRUNC` through.
    let script = format!(
        "
import os, errno
path = {file:?}
attempts = [lambda: os.truncate(path, 0), lambda: os.open(path, os.O_RDONLY | os.O_TRUNC), lambda: os.open(path, 3 | os.O_TRUNC), lambda: os.open(path, os.O_WRONLY | os.O_TRUNC)]
for attempt in attempts:
    try: attempt(); print('done')
    except OSError as error: print(errno.errorcode[error.errno])
handle = os.open('own', os.O_RDWR); os.ftruncate(handle, 1); print(os.path.getsize('own'))
"
    );
    for abi in [1, 2, 3, 99] {
        std::fs::write(lab.work.join("own"), "mine").unwrap();
        let mut stage = with_abi(lab, abi, &[PYTHON, "-I", "-c", &script]);
        stage["landlock"]["read_data"] = json!([lab.outside]);
        let ended = run(lab, stage);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "contents", "abi {abi}: {ended:?}");
        ended.printed("EACCES\nEACCES\nEACCES\nEACCES\n1");
    }
    bare(&[PYTHON, "-I", "-c", &format!("import os; os.truncate({file:?}, 0)")], &lab.work);
    assert_eq!(file.metadata().unwrap().len(), 0, "control");
}

/// What the stage promises on a kernel of each ABI: with a network, so that TCP is Landlock's to refuse.
fn older(lab: &Lab) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let script = format!(
        "
import ctypes, errno, os, socket
def attempt(name, act):
    try: act(); print(name, 'done')
    except OSError as error: print(name, errno.errorcode[error.errno])
def openat2():
    how = (ctypes.c_uint64 * 3)(os.O_RDONLY | os.O_TRUNC, 0, 0)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(437, -100, {file:?}.encode(), how, 24) < 0: raise OSError(ctypes.get_errno(), '')
attempt('truncate', lambda: os.truncate({file:?}, 0))
attempt('O_TRUNC', lambda: os.open({file:?}, os.O_RDONLY | os.O_TRUNC))
attempt('openat2', openat2)
attempt('write', lambda: os.open({file:?}, os.O_WRONLY))
attempt('signal', lambda: os.kill({pid}, 0))
attempt('abstract', lambda: socket.socket(socket.AF_UNIX).connect(chr(0) + 'x'))
attempt('tcp', lambda: socket.create_connection(('127.0.0.1', {port})))
os.makedirs('a', exist_ok=True); open('a/f', 'w').close()
attempt('move', lambda: os.rename('a/f', 'f'))
",
        file = lab.outside.join("file"),
        pid = std::process::id(),
    );
    let newest = landlock_abi(lab);
    for abi in 1..=newest.min(6) {
        let mut stage = with_abi(lab, abi, &[PYTHON, "-I", "-c", &script]);
        stage["landlock"]["read_data"] = json!([lab.outside]);
        stage["sockets"] = json!("Internet");
        let ended = run(lab, stage);
        let from = |since: u32, refused: &'static str| if abi < since { "done" } else { refused };
        let expected = format!(
            "truncate EACCES\nO_TRUNC EACCES\nopenat2 ENOSYS\nwrite EACCES\nsignal {}\nabstract EACCES\ntcp {}\nmove {}",
            from(6, "EPERM"),
            from(4, "EACCES"),
            if abi < 2 { "EXDEV" } else { "done" },
        );
        ended.printed(&expected);
        let applied = ended.stage("Applied").unwrap();
        let missing = applied["landlock"]["missing"].to_string();
        for (word, since) in
            [("truncating", 3), ("TCP", 4), ("ioctl", 5), ("abstract", 6), ("signals", 6)]
        {
            assert_eq!(missing.contains(word), abi < since, "{word} at abi {abi}: {missing}");
        }
        assert_eq!(applied["notes"].to_string().contains("move files"), abi < 2, "{applied}");
        assert_eq!(applied["landlock"]["abi"], json!(abi));
    }
    assert_eq!(std::fs::read_to_string(lab.outside.join("file")).unwrap(), "contents");
    bare(&[PYTHON, "-I", "-c", &script], &lab.work);
    assert_eq!(lab.outside.join("file").metadata().unwrap().len(), 0, "control");
}

fn landlock_abi(lab: &Lab) -> u32 {
    let ended = lab.run(&["/bin/true"]);
    let abi = &ended.stage("Applied").unwrap()["landlock"]["abi"];
    abi.as_u64().and_then(|abi| u32::try_from(abi).ok()).unwrap()
}

fn metadata(lab: &Lab) {
    use std::os::unix::fs::MetadataExt as _;
    let file = lab.outside.join("file");
    let attack = format!(
        "
import os, errno
path = {file:?}
def attempt(name, act):
    try: act(); print(name, 'ok')
    except OSError as error: print(name, errno.errorcode[error.errno])
attempt('chmod', lambda: os.chmod(path, 0o777))
attempt('utime', lambda: os.utime(path, (1, 1)))
attempt('chown to root', lambda: os.chown(path, 0, 0))
attempt('chown', lambda: os.chown(path, 0, 1))
attempt('setxattr', lambda: os.setxattr(path, 'user.x', b'x'))
"
    );
    let before = file.metadata().unwrap();
    lab.python(&attack)
        .printed("chmod ok\nutime ok\nchown to root ok\nchown EPERM\nsetxattr ENOTSUP");
    let after = file.metadata().unwrap();
    assert_eq!(
        (after.mode(), after.mtime(), after.ctime(), after.ctime_nsec()),
        (before.mode(), before.mtime(), before.ctime(), before.ctime_nsec())
    );
    bare(&[PYTHON, "-I", "-c", &attack], &lab.work);
    assert_ne!(
        (file.metadata().unwrap().mode(), file.metadata().unwrap().mtime()),
        (before.mode(), before.mtime()),
        "control"
    );
}

fn special_files(lab: &Lab) {
    let script = "
import os, stat, errno
for kind in (stat.S_IFCHR, stat.S_IFBLK, stat.S_IFSOCK, stat.S_IFIFO, stat.S_IFREG):
    try: os.mknod('node%o' % kind, kind | 0o600, os.makedev(1, 3)); print('made')
    except OSError as error: print(errno.errorcode[error.errno])
";
    lab.python(script).printed("EPERM\nEPERM\nEACCES\nmade\nmade");
}

fn refer(lab: &Lab) {
    lab.sh("mkdir a b && echo x > a/f && mv a/f b/g && ln b/g a/h && cat a/h").printed("x");
    let outside = lab.outside.display();
    lab.sh(&format!("ln {outside}/file stolen 2>/dev/null || echo refused")).printed("refused");
}

fn signals(lab: &Lab) {
    let ended = lab.sh(&format!(
        "kill -0 {} 2>/dev/null && echo reached || echo refused; sleep 5 & kill $! && echo own",
        std::process::id()
    ));
    let abi = ended.stage("Applied").unwrap()["landlock"]["abi"].as_u64().unwrap();
    ended.printed(if abi >= 6 { "refused\nown" } else { "reached\nown" });
    assert!(
        bare(&["/bin/sh", "-c", &format!("kill -0 {}", std::process::id())], &lab.work)
            .status
            .success(),
        "control"
    );
}

fn probe(lab: &Lab) {
    let exe = std::env::current_exe().unwrap();
    let exe = exe.to_str().unwrap();
    let task = json!({"unreadable": [lab.outside.join("file")], "unwritable": [lab.outside], "writable": [lab.work]}).to_string();
    let mut stage = lab.stage(&[exe, "__confine", "probe", &task]);
    stage["landlock"]["read"].as_array_mut().unwrap().push(json!(exe));
    let inside: Value = serde_json::from_str(&run(lab, stage).stdout).unwrap();
    assert_eq!(
        inside,
        json!({"read": [], "wrote": [], "refused": [], "first_process": false, "unix_socket": false, "socketpair": true})
    );
    let bare: Value =
        serde_json::from_slice(&bare(&[exe, "__confine", "probe", &task], &lab.work).stdout)
            .unwrap();
    // The host's PID 1 may be protected in its own ways: only what is inside has to hold.
    let is_open = bare["first_process"].clone();
    assert_eq!(
        bare,
        json!({"read": [lab.outside.join("file")], "wrote": [lab.outside], "refused": [], "first_process": is_open, "unix_socket": true, "socketpair": true})
    );
}
