//! The steps of the last stage that every Unix has: descriptors, session, limits.

use std::{
    fs::{File, OpenOptions},
    io,
    os::fd::{AsFd as _, OwnedFd},
};

use rustix::process::Resource;

#[cfg(target_os = "linux")]
use super::tree::is_session_leader;
use crate::wire::Rlimit;

/// Whether a descriptor other than the three standard ones is open: one that a backend, or whoever started ash, left behind.
pub(super) fn strays() -> bool {
    close_fds::iter_open_fds(3).next().is_some()
}

/// Marks every descriptor but the three standard ones to be closed by the next exec.
pub(crate) fn seal() {
    close_fds::set_fds_cloexec(3, &[]);
}

/// Takes the supervisor's socket away from descriptor 0 and leaves `/dev/null` there, read-only.
pub(super) fn take_stdin() -> Result<OwnedFd, String> {
    let socket = io::stdin()
        .as_fd()
        .try_clone_to_owned()
        .map_err(|error| format!("descriptor 0 is not the supervisor's socket: {error}"))?;
    let null =
        File::open("/dev/null").map_err(|error| format!("cannot open `/dev/null`: {error}"))?;
    rustix::stdio::dup2_stdin(&null)
        .map_err(|error| format!("cannot replace standard input: {error}"))?;
    Ok(socket)
}

/// Whether this process leads its session.
#[cfg(not(target_os = "linux"))]
fn is_session_leader() -> bool {
    rustix::process::getsid(None).is_ok_and(|session| session == rustix::process::getpid())
}

/// A session of its own has no controlling terminal to type into or to signal from.
pub(super) fn new_session() -> Result<(), String> {
    match rustix::process::setsid() {
        Ok(_) => {}
        // Already the leader of a session: the backend made one.
        Err(rustix::io::Errno::PERM) if is_session_leader() => {}
        Err(error) => return Err(format!("cannot start a new session: {error}")),
    }
    match OpenOptions::new().read(true).open("/dev/tty") {
        Ok(_) => Err("a controlling terminal is still attached".to_owned()),
        Err(_) => Ok(()),
    }
}

/// Sets limits, never above what is allowed, and returns those in force.
pub(super) fn limit(wanted: &[(Rlimit, u64)]) -> Result<Vec<(Rlimit, u64)>, String> {
    let mut set = Vec::new();
    for &(name, value) in wanted {
        let resource = match name {
            Rlimit::Core => Resource::Core,
            Rlimit::FileSize => Resource::Fsize,
            Rlimit::Processes => Resource::Nproc,
        };
        let value = rustix::process::getrlimit(resource)
            .maximum
            .map_or(value, |maximum| maximum.min(value));
        let limit = rustix::process::Rlimit { current: Some(value), maximum: Some(value) };
        rustix::process::setrlimit(resource, limit)
            .map_err(|error| format!("cannot limit {name:?} to {value}: {error}"))?;
        set.push((name, value));
    }
    Ok(set)
}
