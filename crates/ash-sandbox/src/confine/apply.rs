//! The last stage: restricts itself, step by step, then becomes the tool (or its parent).
//!
//! A step that fails is reported, and nothing runs.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this is where a sandboxed tool replaces the stage, or is started as its child"
)]

use std::{
    ffi::OsStr,
    io,
    os::unix::{
        net::UnixStream,
        process::{CommandExt as _, ExitStatusExt as _},
    },
    path::Path,
    process::Command,
};

use super::{CANNOT_EXEC, FAILED, NOT_FOUND, process};
use crate::wire::{Applied, End, Frames, StageReport, StageSpec, send};

/// A step that failed, by name.
struct Failed {
    step: &'static str,
    reason: String,
}

fn at<T>(step: &'static str, result: Result<T, String>) -> Result<T, Failed> {
    result.map_err(|reason| Failed { step, reason })
}

/// Descriptors cannot be closed one by one without `unsafe`; an exec of the stage itself closes them all. Returns only when that fails.
pub(super) fn reopen(stage: &str, sealed: &str) -> io::Error {
    process::seal();
    let program = if cfg!(target_os = "linux") {
        Ok("/proc/self/exe".into())
    } else {
        std::env::current_exe()
    };
    let program = match program {
        Ok(program) => program,
        Err(error) => return error,
    };
    Command::new(program).args([super::MARK, stage, sealed]).exec()
}

/// Runs the stage; returns the exit code when there is nothing to become.
pub(super) fn run() -> i32 {
    // Before the specification is read: if the supervisor dies earlier, there is none to read; if it dies later, this signal ends the tool.
    if let Err(reason) = platform::die_with_supervisor() {
        return complain(&reason);
    }
    let mut socket = match process::take_stdin() {
        Ok(socket) => UnixStream::from(socket),
        Err(reason) => return complain(&reason),
    };
    let spec: StageSpec = match Frames::default().wait(&mut socket) {
        Ok(spec) => spec,
        Err(error) => return complain(&error.to_string()),
    };
    match restrict(&spec) {
        Ok(applied) => start(&spec, applied, &mut socket),
        Err(Failed { step, reason }) => {
            drop(send(&mut socket, &StageReport::Failed { step: step.to_owned(), reason }));
            FAILED
        }
    }
}

/// Something is wrong before the supervisor can be told: it sees the exit code, the operator the reason.
fn complain(reason: &str) -> i32 {
    super::refuse(&format!("cannot confine: {reason}"))
}

/// Every restriction, in the order in which each is still possible.
fn restrict(spec: &StageSpec) -> Result<Applied, Failed> {
    let mut applied = Applied::default();
    platform::default_dispositions();
    at("session", process::new_session())?;
    platform::before_limits(&mut applied)?;
    applied.rlimits = at("limits", process::limit(&spec.rlimits))?;
    platform::after_limits(spec, &mut applied)?;
    Ok(applied)
}

fn enter(directory: &OsStr) -> Result<(), Failed> {
    let entered = rustix::process::chdir(directory);
    at(
        "directory",
        entered
            .map_err(|error| format!("cannot enter `{}`: {error}", Path::new(directory).display())),
    )
}

#[cfg(target_os = "linux")]
mod platform {
    use std::{io::Read as _, os::unix::process::ExitStatusExt as _, process::ExitStatus};

    use rustix::{
        event::{PollFd, PollFlags},
        process::Signal,
    };
    use signal_hook::consts::SIGCHLD;

    pub(super) use super::super::privileges::{default_dispositions, hide_from_child};
    use super::{
        super::{links, privileges, ruleset, seccomp, signals, tree},
        Applied, Failed, StageSpec, UnixStream, at, enter,
    };
    use crate::places;

    pub(super) fn die_with_supervisor() -> Result<(), String> {
        let asked = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
        asked.map_err(|error| format!("cannot ask to die with the supervisor: {error}"))
    }

    /// Makes everything the tool leaves this process's, which must not end with the supervisor: whoever kills ash and the supervisor in one go has
    /// killed nobody who would end the tool's daemons. In the host's PID namespace the stage must outlive the supervisor for that; elsewhere its
    /// parent is the backend, with which the whole namespace goes. Returns what becomes readable when a child has ended.
    pub(super) fn outlive_supervisor(is_parent: bool) -> Result<UnixStream, String> {
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
            .map_err(|error| format!("cannot become a subreaper: {error}"))?;
        if is_parent {
            rustix::process::set_parent_process_death_signal(None)
                .map_err(|error| error.to_string())?;
        }
        signals::watch(&[SIGCHLD]).map_err(|error| format!("cannot handle signals: {error}"))
    }

    /// Waits for the end of a child, collecting the tool's orphans. `None`: the supervisor's end of the socket has closed, and everything below
    /// this process was ended.
    pub(super) fn wait_for(
        child: i32,
        mut socket: &UnixStream,
        mut ended: UnixStream,
    ) -> Option<ExitStatus> {
        loop {
            signals::drain(&mut ended);
            while let Some((pid, status)) = tree::reap().ok()? {
                if pid.as_raw_pid() == child {
                    return Some(ExitStatus::from_raw(status.as_raw()));
                }
            }
            let mut polled = [socket, &ended].map(|socket| PollFd::new(socket, PollFlags::IN));
            // An interrupted wait is another turn of the loop.
            let _ = rustix::event::poll(&mut polled, None);
            // Nothing is ever sent this way after the specification.
            if !polled[0].revents().is_empty() && !matches!(socket.read(&mut [0; 64]), Ok(1..)) {
                tree::end_all(None);
                return None;
            }
        }
    }

    /// Nobody is there to end what the tool left.
    pub(super) fn end_rest() {
        tree::end_all(None);
    }

    pub(super) fn before_limits(applied: &mut Applied) -> Result<(), Failed> {
        applied.notes.extend(at("keyring", privileges::new_keyring())?);
        Ok(())
    }

    pub(super) fn after_limits(spec: &StageSpec, applied: &mut Applied) -> Result<(), Failed> {
        at("capabilities", privileges::drop_capabilities())?;
        at(
            "no_new_privs",
            rustix::thread::set_no_new_privs(true).map_err(|error| error.to_string()),
        )?;
        at("places", places::check(&spec.places))?;
        at("places", links::are_shown(&spec.shown))?;
        at("links", links::make(&spec.links))?;
        if let Some(ruleset) = &spec.landlock {
            let restricted = at("landlock", ruleset::restrict(ruleset, &spec.places))?;
            applied.notes.extend(restricted.notes);
            applied.landlock = Some(restricted.evidence);
        }
        let landlock_abi = applied.landlock.as_ref().map_or(0, |evidence| evidence.abi);
        if spec.landlock_alone {
            if landlock_abi == 0 {
                let reason = "there is no other wall, and this kernel has no Landlock".to_owned();
                return Err(Failed { step: "landlock", reason });
            }
            applied.notes.push("metadata: inert".to_owned());
        }
        enter(&spec.cwd)?;
        let options = seccomp::Options {
            sockets: spec.sockets,
            landlock_alone: spec.landlock_alone,
            landlock_abi,
        };
        at("filter", seccomp::install(&options))
    }
}

/// Elsewhere the backend around the stage does the restricting (on macOS the profile); ash itself ends what it started.
#[cfg(not(target_os = "linux"))]
mod platform {
    use std::{os::unix::process::ExitStatusExt as _, process::ExitStatus};

    use super::{Applied, Failed, StageSpec, UnixStream, enter};

    pub(super) fn default_dispositions() {}

    pub(super) fn hide_from_child() -> Result<(), String> {
        Ok(())
    }

    pub(super) fn end_rest() {}

    pub(super) fn outlive_supervisor(_: bool) -> Result<(), String> {
        Ok(())
    }

    pub(super) fn wait_for(child: i32, _: &UnixStream, (): ()) -> Option<ExitStatus> {
        loop {
            match rustix::process::wait(rustix::process::WaitOptions::empty()) {
                Ok(Some((pid, status))) if pid.as_raw_pid() == child => {
                    return Some(ExitStatus::from_raw(status.as_raw()));
                }
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => return None,
            }
        }
    }

    pub(super) fn die_with_supervisor() -> Result<(), String> {
        Ok(())
    }

    pub(super) fn before_limits(_: &mut Applied) -> Result<(), Failed> {
        Ok(())
    }

    pub(super) fn after_limits(spec: &StageSpec, _: &mut Applied) -> Result<(), Failed> {
        if spec.landlock.is_some() || spec.landlock_alone {
            return Err(Failed { step: "landlock", reason: "only Linux has Landlock".to_owned() });
        }
        enter(&spec.cwd)
    }
}

/// Becomes the tool, or starts it and waits for it.
fn start(spec: &StageSpec, applied: Applied, socket: &mut UnixStream) -> i32 {
    let Some((program, arguments)) =
        spec.argv.split_first().filter(|(program, _)| Path::new(program).is_absolute())
    else {
        let reason = "the program is not an absolute path".to_owned();
        drop(send(socket, &StageReport::Failed { step: "program".to_owned(), reason }));
        return FAILED;
    };
    if send(socket, &StageReport::Applied(applied)).is_err() {
        // Nobody is there to supervise it.
        return FAILED;
    }
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(spec.env.iter().map(|(name, value)| (name, value)));
    if spec.stay {
        stay(program, command, socket, spec.landlock_alone)
    } else {
        cannot_exec(program, &command.exec(), socket)
    }
}

fn cannot_exec(program: &OsStr, error: &io::Error, socket: &mut UnixStream) -> i32 {
    let code = if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { CANNOT_EXEC };
    let path = Path::new(program);
    let reason = if code == NOT_FOUND && path.exists() {
        format!(
            "cannot run `{}`: its interpreter does not exist inside the sandbox",
            path.display()
        )
    } else {
        format!("cannot run `{}`: {error}", path.display())
    };
    drop(send(socket, &StageReport::CannotExec { code, reason }));
    code
}

/// Stays the tool's parent, says how it ended (in a PID namespace nobody outside can see that) and ends what it left, should nobody else be there.
fn stay(
    program: &OsStr,
    mut command: Command,
    socket: &mut UnixStream,
    below_supervisor: bool,
) -> i32 {
    let ready =
        platform::hide_from_child().and_then(|()| platform::outlive_supervisor(below_supervisor));
    let ended = match ready {
        Ok(ended) => ended,
        Err(reason) => {
            drop(send(socket, &StageReport::Failed { step: "stage".to_owned(), reason }));
            return FAILED;
        }
    };
    // A tool that signals its own group means its own processes.
    command.process_group(0);
    let child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return cannot_exec(program, &error, socket),
    };
    let Some(status) = platform::wait_for(child.id().cast_signed(), socket, ended) else {
        return FAILED;
    };
    let end =
        status.signal().map_or_else(|| End::Code(status.code().unwrap_or(FAILED)), End::Signal);
    if send(socket, &StageReport::Ended(end)).is_err() {
        platform::end_rest();
    }
    match end {
        End::Code(code) => code,
        End::Signal(signal) => 128 + signal,
    }
}
