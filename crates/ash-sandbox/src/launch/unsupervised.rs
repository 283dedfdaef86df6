//! Running a command where there is no supervisor: without a sandbox, or under one the system's own program makes.
#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "starts the command")]

use std::{
    io::{self, PipeReader, Read as _},
    process::{Child, Command, ExitStatus},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    time::{Duration, Instant},
};

use super::{Captures, LaunchError, Outcome, Request, Stdio, capture::Stream};
use crate::wire::{End, SupervisorSpec};

/// How often an unfinished command is looked at.
const TICK: Duration = Duration::from_millis(20);
/// How long output may still arrive after the command has ended.
const LATE_OUTPUT: Duration = Duration::from_millis(200);

/// Runs a command to its end.
pub(super) fn run(
    spec: &SupervisorSpec,
    request: &Request<'_>,
    on_line: &mut dyn FnMut(&str),
) -> Result<Outcome, LaunchError> {
    if spec.stage.is_some() {
        return Err(LaunchError::Unsupported {
            reason: "this sandbox ends in a stage that exists only on Linux".to_owned(),
        });
    }
    let cannot = |error: io::Error| LaunchError::CannotStart {
        reason: format!(
            "cannot start `{}`: {error}",
            spec.argv.first().map_or("".into(), |program| program.to_string_lossy())
        ),
    };
    let (program, arguments) = spec
        .argv
        .split_first()
        .ok_or_else(|| LaunchError::CannotStart { reason: "there is no command".to_owned() })?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .envs(spec.env.iter().map(|(name, value)| (name, value)))
        .current_dir(&spec.cwd)
        .stdin(std::process::Stdio::null());
    own_group(&mut command);
    let output = match request.stdio {
        Stdio::Capture(captures) => Some((attach(&mut command).map_err(cannot)?, captures)),
        Stdio::Inherit => None,
    };
    let mut child = command.spawn().map_err(cannot)?;
    // The writing ends live in the command.
    drop(command);
    let mut outcome = Outcome::default();
    let status = attend(&mut child, output, request, &mut outcome, on_line);
    outcome.end = Some(end_of(status));
    Ok(outcome)
}

#[cfg(unix)]
fn own_group(command: &mut Command) {
    std::os::unix::process::CommandExt::process_group(command, 0);
}

#[cfg(not(unix))]
fn own_group(_: &mut Command) {}

/// Ends the command's process group; elsewhere the process.
fn end(child: &mut Child) {
    #[cfg(unix)]
    if let Some(pid) = rustix::process::Pid::from_raw(child.id().cast_signed()) {
        drop(rustix::process::kill_process_group(pid, rustix::process::Signal::KILL));
    }
    drop(child.kill());
}

/// One thread for each stream sends what it reads.
fn attach(command: &mut Command) -> io::Result<Receiver<(usize, Vec<u8>)>> {
    let (stdout, to_stdout) = io::pipe()?;
    let (stderr, to_stderr) = io::pipe()?;
    command.stdout(to_stdout).stderr(to_stderr);
    let (sender, receiver) = mpsc::sync_channel(4);
    for (index, mut pipe) in [stdout, stderr].into_iter().enumerate() {
        let sender = sender.clone();
        let read = move |pipe: &mut PipeReader| {
            let mut buffer = vec![0; 64 << 10];
            while let Ok(read @ 1..) = pipe.read(&mut buffer) {
                if sender.send((index, buffer[..read].to_vec())).is_err() {
                    return;
                }
            }
        };
        std::thread::spawn(move || read(&mut pipe));
    }
    Ok(receiver)
}

fn attend(
    child: &mut Child,
    output: Option<(Receiver<(usize, Vec<u8>)>, Captures)>,
    request: &Request<'_>,
    outcome: &mut Outcome,
    on_line: &mut dyn FnMut(&str),
) -> io::Result<ExitStatus> {
    let timeout_at = request.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let (receiver, captures) = output
        .map_or((None, Captures::default()), |(receiver, captures)| (Some(receiver), captures));
    let mut streams = [Stream::new(captures.keep), Stream::new(captures.keep)];
    let mut ended: Option<(io::Result<ExitStatus>, Instant)> = None;
    loop {
        let received = match &receiver {
            Some(receiver) => receiver.recv_timeout(TICK),
            None => {
                std::thread::sleep(TICK);
                Err(RecvTimeoutError::Timeout)
            }
        };
        let is_drained = match received {
            Ok((index, bytes)) => {
                streams[index].push(&bytes, on_line);
                false
            }
            Err(RecvTimeoutError::Timeout) => receiver.is_none(),
            Err(RecvTimeoutError::Disconnected) => true,
        };
        if ended.is_none() {
            match child.try_wait() {
                Ok(Some(status)) => ended = Some((Ok(status), Instant::now())),
                Ok(None) => {}
                Err(error) => ended = Some((Err(error), Instant::now())),
            }
        }
        if let Some((_, at)) = &ended
            && (is_drained || at.elapsed() > LATE_OUTPUT)
        {
            break;
        }
        enforce(child, &streams, captures, request, timeout_at, outcome);
    }
    end(child);
    let [stdout, stderr] = streams;
    (outcome.stdout, outcome.stderr) = (stdout.finish(on_line), stderr.finish(on_line));
    ended.map_or_else(|| child.wait(), |(status, _)| status)
}

fn enforce(
    child: &mut Child,
    streams: &[Stream; 2],
    captures: Captures,
    request: &Request<'_>,
    timeout_at: Option<Instant>,
    outcome: &mut Outcome,
) {
    let printed: u64 = streams.iter().map(|stream| stream.captured.total).sum();
    let causes = [
        (printed > captures.total, &mut outcome.overflowed),
        (timeout_at.is_some_and(|at| at <= Instant::now()), &mut outcome.timed_out),
        (request.cancel.is_cancelled(), &mut outcome.cancelled),
    ];
    for (holds, seen) in causes {
        if holds && !*seen {
            *seen = true;
            end(child);
        }
    }
}

fn end_of(status: io::Result<ExitStatus>) -> End {
    let Ok(status) = status else { return End::Code(-1) };
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return End::Signal(signal);
    }
    End::Code(status.code().unwrap_or(-1))
}
