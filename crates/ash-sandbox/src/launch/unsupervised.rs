//! Running a command where there is no supervisor: without a sandbox, or under one the system's own program makes.
#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "starts the command")]

use std::{
    io::{self, PipeReader, Read as _},
    path::Path,
    process::{Child, Command, ExitStatus},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    time::{Duration, Instant},
};

use super::{
    Captures, LaunchError, Outcome, Request, Stdio,
    capture::{OnLine, Stream},
    pass_on::PassOn,
};
use crate::wire::{End, SupervisorSpec};

/// How often an unfinished command is looked at.
const TICK: Duration = Duration::from_millis(20);
/// How long output may still arrive after the command has ended.
const LATE_OUTPUT: Duration = Duration::from_millis(200);

/// Runs a command to its end.
pub(super) fn run(
    _: &Path,
    spec: &SupervisorSpec,
    request: &Request<'_>,
    on_line: &mut OnLine<'_>,
) -> Result<Outcome, LaunchError> {
    let cannot = |error: io::Error| {
        let program = spec.argv.first().map_or("".into(), |program| program.to_string_lossy());
        LaunchError::CannotStart { reason: format!("cannot start `{program}`: {error}") }
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
        .current_dir(&spec.cwd);
    let stage = Stage::attach(&mut command, spec)?;
    let (output, passed_on) = match request.stdio {
        Stdio::Capture(captures) => (Some((attach(&mut command).map_err(cannot)?, captures)), None),
        Stdio::PassOn => (None, Some(PassOn::attach(&mut command).map_err(cannot)?)),
    };
    let mut child = command.spawn().map_err(cannot)?;
    // The writing ends, and the stage's end of the socket, live in the command.
    drop(command);
    let stage = stage.map(|stage| stage.begin(spec));
    let mut outcome = Outcome::default();
    let status = attend(&mut child, output, request, &mut outcome, on_line);
    outcome.end = Some(end_of(status));
    outcome.await_passed_on(passed_on, request.cancel);
    if let Some(stage) = stage {
        stage.finish(&mut outcome);
    }
    Ok(outcome)
}

/// The socket to the stage inside, if there is to be one.
#[cfg(unix)]
struct Stage {
    socket: std::os::unix::net::UnixStream,
}

#[cfg(unix)]
impl Stage {
    fn attach(command: &mut Command, spec: &SupervisorSpec) -> Result<Option<Self>, LaunchError> {
        if spec.stage.is_none() {
            command.stdin(std::process::Stdio::null());
            own_group(command);
            return Ok(None);
        }
        // The stage makes a session of its own, which the leader of a group could not.
        let cannot = |error: io::Error| LaunchError::CannotStart {
            reason: format!("cannot make a socket: {error}"),
        };
        let (socket, theirs) = std::os::unix::net::UnixStream::pair().map_err(cannot)?;
        command.stdin(std::os::fd::OwnedFd::from(theirs));
        Ok(Some(Self { socket }))
    }

    /// Says what to apply, and takes the answers until the stage has become the tool.
    fn begin(mut self, spec: &SupervisorSpec) -> StageAnswers {
        let stage = spec.stage.clone();
        let thread = std::thread::spawn(move || {
            drop(crate::wire::send(&mut self.socket, &stage));
            let mut frames = crate::wire::Frames::default();
            let mut reports = Vec::new();
            while let Ok(report) = frames.wait(&mut self.socket) {
                reports.push(report);
            }
            reports
        });
        StageAnswers { thread }
    }
}

#[cfg(unix)]
struct StageAnswers {
    thread: std::thread::JoinHandle<Vec<crate::wire::StageReport>>,
}

#[cfg(unix)]
impl StageAnswers {
    /// The command has ended, so the other end of the socket is closed.
    fn finish(self, outcome: &mut Outcome) {
        for report in self.thread.join().unwrap_or_default() {
            outcome.take_stage(report);
        }
    }
}

/// There are no stages here.
#[cfg(not(unix))]
enum Stage {}

#[cfg(not(unix))]
impl Stage {
    fn attach(command: &mut Command, spec: &SupervisorSpec) -> Result<Option<Self>, LaunchError> {
        command.stdin(std::process::Stdio::null());
        match spec.stage {
            None => Ok(None),
            Some(_) => Err(LaunchError::Unsupported {
                reason: "no sandbox of ash works on this system".to_owned(),
            }),
        }
    }

    fn begin(self, _: &SupervisorSpec) -> Self {
        self
    }

    fn finish(self, _: &mut Outcome) {}
}

#[cfg(unix)]
fn own_group(command: &mut Command) {
    std::os::unix::process::CommandExt::process_group(command, 0);
}

/// Ends the command's process group; elsewhere the process.
fn end(child: &mut Child) {
    #[cfg(unix)]
    if let Some(pid) = rustix::process::Pid::from_raw(child.id().cast_signed()) {
        let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
    }
    drop(child.kill());
}

/// What was read, and from which stream.
type Pieces = Receiver<(usize, Vec<u8>)>;

/// One thread for each stream sends what it reads.
fn attach(command: &mut Command) -> io::Result<Pieces> {
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
    output: Option<(Pieces, Captures)>,
    request: &Request<'_>,
    outcome: &mut Outcome,
    on_line: &mut OnLine<'_>,
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

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use crate::launch::Cancel;

    fn run_sh(
        script: &str,
        captures: Captures,
        timeout: Option<Duration>,
        cancel: &Cancel,
    ) -> Outcome {
        let argv = ["/bin/sh", "-c", script].map(Into::into).to_vec();
        let env = vec![("PATH".into(), "/usr/bin:/bin".into())];
        let spec = SupervisorSpec {
            argv,
            options: 0,
            env,
            cwd: "/".into(),
            stage: None,
            tool_depth: 1,
            grace_ms: 100,
            cleanup: vec![],
        };
        let request = Request { stdio: Stdio::Capture(captures), timeout, cancel };
        run(Path::new("/"), &spec, &request, &mut None).unwrap()
    }

    #[test]
    fn output_and_exit_code_arrive() {
        let outcome =
            run_sh("echo out; echo err >&2; exit 3", Captures::default(), None, &Cancel::new());
        assert_eq!(
            (outcome.stdout.text().as_ref(), outcome.stderr.text().as_ref()),
            ("out\n", "err\n")
        );
        assert_eq!(outcome.end, Some(End::Code(3)));
    }

    #[test]
    fn time_output_and_the_operator_end_it_with_what_it_started() {
        let begun = Instant::now();
        let cancel = Cancel::new();
        let timed = run_sh(
            "sleep 60 & sleep 60",
            Captures::default(),
            Some(Duration::from_millis(50)),
            &cancel,
        );
        assert!(timed.timed_out && timed.end == Some(End::Signal(9)), "{timed:?}");
        let flood = run_sh("yes", Captures { keep: 10, total: 1000 }, None, &cancel);
        assert!(flood.overflowed && flood.stdout.bytes.len() == 10, "{flood:?}");
        cancel.cancel();
        let cancelled = run_sh("sleep 60", Captures::default(), None, &cancel);
        assert!(cancelled.cancelled && begun.elapsed() < Duration::from_secs(30), "{cancelled:?}");
    }

    #[test]
    fn a_child_that_keeps_the_output_open_does_not_hold_it_up() {
        let begun = Instant::now();
        let outcome = run_sh("sleep 60 & echo done", Captures::default(), None, &Cancel::new());
        assert_eq!(outcome.stdout.text(), "done\n");
        assert!(begun.elapsed() < Duration::from_secs(30));
    }
}
