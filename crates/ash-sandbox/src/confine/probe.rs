//! `ash __confine probe`: run as the tool of a sandbox that is being judged, tries what must fail and what must work.

use std::{ffi::OsString, fs::OpenOptions, io, path::Path};

use rustix::net::{AddressFamily, SocketFlags, SocketType};

use crate::wire::{ProbeFindings, ProbeTask};

/// Runs the attempts and prints what came of them.
#[expect(clippy::print_stdout, reason = "the answer of a probe is its standard output")]
pub(super) fn run(arguments: &[OsString]) -> i32 {
    let task = arguments
        .first()
        .and_then(|task| task.to_str())
        .and_then(|task| serde_json::from_str::<ProbeTask>(task).ok());
    let Some(findings) =
        task.map(|task| attempt(&task)).and_then(|findings| serde_json::to_string(&findings).ok())
    else {
        return super::FAILED;
    };
    println!("{findings}");
    0
}

fn attempt(task: &ProbeTask) -> ProbeFindings {
    let makes = |directory: &OsString| make_file(Path::new(directory)).is_ok();
    let pick = |paths: &[OsString], keep: &dyn Fn(&OsString) -> bool| {
        paths.iter().filter(|path| keep(path)).cloned().collect()
    };
    ProbeFindings {
        read: pick(&task.unreadable, &|path| std::fs::read(path).is_ok()),
        wrote: pick(&task.unwritable, &makes),
        refused: pick(&task.writable, &|path| !makes(path)),
        first_process: OpenOptions::new().write(true).open("/proc/1/mem").is_ok(),
        unix_socket: rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None).is_ok(),
        socketpair: rustix::net::socketpair(
            AddressFamily::UNIX,
            SocketType::STREAM,
            SocketFlags::CLOEXEC,
            None,
        )
        .is_ok(),
    }
}

fn make_file(directory: &Path) -> io::Result<()> {
    let path = directory.join(format!(".ash-probe-{}", std::process::id()));
    OpenOptions::new().write(true).create_new(true).open(&path)?;
    // What stays behind inside is removed with the sandbox, or by whoever planted the directory.
    drop(std::fs::remove_file(&path));
    Ok(())
}
