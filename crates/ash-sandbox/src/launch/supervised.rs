//! Running a command under the supervisor: one loop over its socket and both pipes.
//!
//! The end is the supervisor's word that no process is left. End of file on a pipe means nothing: a process that escaped the tree could hold it open for ever.
#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "starts the supervisor")]

use std::{
    collections::BTreeSet,
    io::{self, PipeReader, Read as _},
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::net::UnixStream,
    },
    path::Path,
    process::{Child, Command},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags, Timespec};

use super::{
    Captures, LaunchError, Outcome, Request, Stdio,
    capture::{OnLine, Stream},
    pass_on::PassOn,
};
use crate::{
    confine::{MARK, SUPERVISE, seal, tree},
    wire::{Frames, Order, SupervisorReport, SupervisorSpec, send},
};

/// Between SIGTERM and SIGKILL when the operator interrupts.
const INTERRUPT_GRACE: Duration = Duration::from_millis(300);

/// How long after its last moment a supervisor may stay silent. One that takes longer was stopped by what it supervises, or hangs.
const UNANSWERED: Duration = Duration::from_secs(20);

/// Process numbers of the live supervisors of all threads. Held while one is started and while orphans are ended, so that a supervisor is
/// never mistaken for an orphan.
static SUPERVISORS: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

fn supervisors() -> MutexGuard<'static, BTreeSet<i32>> {
    SUPERVISORS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A supervisor that has not been told yet what to start, and where the command's output will go.
#[derive(Debug)]
pub(super) struct Waiting {
    supervisor: Supervisor,
    socket: UnixStream,
    output: Output,
    /// Between its SIGTERM and its SIGKILL.
    grace: Duration,
}

/// Where a command's output goes.
#[derive(Debug)]
enum Output {
    Captured([PipeReader; 2]),
    PassedOn(PassOn),
}

impl Waiting {
    /// One for a command that is started at once.
    pub(super) fn start(exe: &Path, stdio: Stdio) -> Result<Self, LaunchError> {
        let attach = |command: &mut Command| match stdio {
            Stdio::Capture(_) => attach_pipes(command).map(Output::Captured),
            Stdio::PassOn => PassOn::attach(command).map(Output::PassedOn),
        };
        Self::attached(exe, attach).map_err(|error| lost(exe, &error))
    }

    /// One for a command that may come later, whose output is captured.
    pub(super) fn in_advance(exe: &Path) -> io::Result<Self> {
        Self::attached(exe, |command| attach_pipes(command).map(Output::Captured))
    }

    fn attached(
        exe: &Path,
        attach: impl FnOnce(&mut Command) -> io::Result<Output>,
    ) -> io::Result<Self> {
        let (socket, theirs) = UnixStream::pair()?;
        let mut command = Command::new(exe);
        command.args([MARK, SUPERVISE]).env_clear().stdin(OwnedFd::from(theirs));
        let output = attach(&mut command)?;
        let supervisor = Supervisor::start(command)?;
        Ok(Self { supervisor, socket, output, grace: Duration::ZERO })
    }

    /// Whether it still waits: one that waits for long may have been killed meanwhile, or stopped.
    pub(super) fn is_ready(&mut self) -> bool {
        matches!(self.supervisor.child.try_wait(), Ok(None))
            && !tree::is_stopped(self.supervisor.child.id().cast_signed())
    }

    /// Tells it what to start.
    pub(super) fn tell(
        mut self,
        spec: &SupervisorSpec,
        exe: &Path,
    ) -> Result<Attended, LaunchError> {
        self.supervisor.is_told = true;
        self.grace = Duration::from_millis(spec.grace_ms);
        // A supervisor that dies before it reads this is noticed by the loop.
        drop(send(&mut self.socket, spec));
        self.socket.set_nonblocking(true).map_err(|error| lost(exe, &error))?;
        Ok(Attended(self))
    }
}

/// A supervisor at work.
#[derive(Debug)]
pub(super) struct Attended(Waiting);

impl Attended {
    /// Attends to a command to the end of its tree.
    pub(super) fn finish(self, request: &Request<'_>, on_line: &mut OnLine<'_>) -> Outcome {
        let Waiting { mut supervisor, socket, output, grace } = self.0;
        let (pipes, passed_on) = match output {
            Output::Captured(readers) => (Some(Pipes::new(readers, request.captures())), None),
            Output::PassedOn(passed_on) => (None, Some(passed_on)),
        };
        let mut run = Run {
            socket,
            reports: Frames::default(),
            pipes,
            outcome: Outcome::default(),
            stop_sent: false,
            kill_at: None,
            give_up_at: None,
            grace,
            over: false,
        };
        run.attend(request, on_line);
        let is_lost = run.outcome.end.is_none() && run.outcome.error.is_none();
        supervisor.finish(is_lost);
        run.outcome.await_passed_on(passed_on, request.cancel);
        if let Some(pipes) = run.pipes.take() {
            (run.outcome.stdout, run.outcome.stderr) = pipes.finish(on_line);
        }
        run.outcome
    }
}

fn lost(exe: &Path, error: &io::Error) -> LaunchError {
    LaunchError::Supervisor { program: exe.display().to_string(), reason: error.to_string() }
}

/// A live supervisor process.
#[derive(Debug)]
struct Supervisor {
    child: Child,
    /// It may have started something.
    is_told: bool,
    is_collected: bool,
}

impl Supervisor {
    fn start(mut command: Command) -> io::Result<Self> {
        let mut live = supervisors();
        // If a supervisor is killed, what it had started comes to this process, which then ends it.
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        // A supervisor that finds more than the standard descriptors has to load itself once more to be rid of them.
        seal();
        let child = command.spawn()?;
        live.insert(child.id().cast_signed());
        Ok(Self { child, is_told: false, is_collected: false })
    }

    /// Collects it. `is_lost`: it never said that its tree is gone.
    fn finish(&mut self, is_lost: bool) {
        self.is_collected = true;
        if is_lost || !self.is_told {
            drop(self.child.kill());
        }
        // Fails only where ash was started with SIGCHLD ignored, and then there is nothing to collect.
        drop(self.child.wait());
        let mut live = supervisors();
        live.remove(&self.child.id().cast_signed());
        if is_lost {
            tree::end_orphans(&live);
        }
    }
}

impl Drop for Supervisor {
    /// One that nobody attends to any more. If it was never told what to start, there is nothing to end but itself.
    fn drop(&mut self) {
        if !self.is_collected {
            self.finish(self.is_told);
        }
    }
}

/// The reading ends of a command's output.
struct Pipes {
    readers: [Option<PipeReader>; 2],
    streams: [Stream; 2],
    limit: u64,
}

/// Makes pipes a command's output and returns their reading ends.
fn attach_pipes(command: &mut Command) -> io::Result<[PipeReader; 2]> {
    let (stdout, to_stdout) = io::pipe()?;
    let (stderr, to_stderr) = io::pipe()?;
    for reader in [&stdout, &stderr] {
        rustix::io::ioctl_fionbio(reader, true)?;
    }
    command.stdout(to_stdout).stderr(to_stderr);
    Ok([stdout, stderr])
}

impl Pipes {
    fn new(readers: [PipeReader; 2], captures: Captures) -> Self {
        Self {
            readers: readers.map(Some),
            streams: [Stream::new(captures.keep), Stream::new(captures.keep)],
            limit: captures.total,
        }
    }

    /// Reads what is there, a bounded amount of it so that a flood does not starve the rest of the loop. Says whether anything was.
    fn read(&mut self, rounds: usize, on_line: &mut OnLine<'_>) -> bool {
        let mut buffer = vec![0; 64 << 10];
        let mut any = false;
        for (reader, stream) in self.readers.iter_mut().zip(&mut self.streams) {
            for _ in 0..rounds {
                let Some(pipe) = reader else { break };
                match pipe.read(&mut buffer) {
                    Ok(0) => *reader = None,
                    Ok(read) => {
                        stream.push(&buffer[..read], on_line);
                        any = true;
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(_) => *reader = None,
                }
            }
        }
        any
    }

    fn overflows(&self) -> bool {
        self.streams.iter().map(|stream| stream.captured.total).sum::<u64>() > self.limit
    }

    fn finish(
        self,
        on_line: &mut OnLine<'_>,
    ) -> (ash_model::tool::Captured, ash_model::tool::Captured) {
        let [stdout, stderr] = self.streams;
        (stdout.finish(on_line), stderr.finish(on_line))
    }
}

/// One command being attended to.
struct Run {
    socket: UnixStream,
    reports: Frames,
    pipes: Option<Pipes>,
    outcome: Outcome,
    stop_sent: bool,
    kill_at: Option<Instant>,
    /// When a supervisor that was told to end everything counts as lost.
    give_up_at: Option<Instant>,
    grace: Duration,
    over: bool,
}

impl Run {
    fn attend(&mut self, request: &Request<'_>, on_line: &mut OnLine<'_>) {
        let timeout_at = request.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        while !self.over {
            self.wait(request, timeout_at);
            if let Some(pipes) = &mut self.pipes {
                pipes.read(4, on_line);
                if pipes.overflows() && !self.outcome.overflowed {
                    self.outcome.overflowed = true;
                    self.order(Order::Kill);
                }
            }
            self.read_reports();
            self.enforce(request, timeout_at);
        }
        // What was written before the end is still in the pipes; they are finite, as the writers are gone.
        if let Some(pipes) = &mut self.pipes {
            while pipes.read(1, on_line) && !pipes.overflows() {}
        }
    }

    fn wait(&self, request: &Request<'_>, timeout_at: Option<Instant>) {
        let mut polled = vec![PollFd::new(&self.socket, PollFlags::IN)];
        if let Some(pipes) = &self.pipes {
            polled.extend(
                pipes
                    .readers
                    .iter()
                    .flatten()
                    .map(|pipe| PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN)),
            );
        }
        let mut until = self.kill_at.into_iter().chain(self.give_up_at).min();
        if !self.outcome.timed_out {
            until = until.into_iter().chain(timeout_at).min();
        }
        if !self.outcome.cancelled {
            match request.cancel.wake() {
                Some(wake) => polled.push(PollFd::from_borrowed_fd(wake, PollFlags::IN)),
                None => {
                    until =
                        until.into_iter().chain([Instant::now() + Duration::from_millis(50)]).min()
                }
            }
        }
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let timeout = left.and_then(|left| Timespec::try_from(left).ok());
        // An interrupted wait is another turn of the loop.
        let _ = rustix::event::poll(&mut polled, timeout.as_ref());
    }

    /// Sends what time and operator demand.
    fn enforce(&mut self, request: &Request<'_>, timeout_at: Option<Instant>) {
        let now = Instant::now();
        let is_due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        if is_due(timeout_at) && !self.outcome.timed_out && !self.over {
            self.outcome.timed_out = true;
            self.stop();
        }
        if request.cancel.is_cancelled() && !self.outcome.cancelled && !self.over {
            self.outcome.cancelled = true;
            self.stop();
            self.kill_at = Some(now + INTERRUPT_GRACE);
        }
        if is_due(self.kill_at) {
            self.kill_at = None;
            self.order(Order::Kill);
        }
        self.over |= is_due(self.give_up_at);
    }

    fn stop(&mut self) {
        if !std::mem::replace(&mut self.stop_sent, true) {
            self.order(Order::Stop);
        }
    }

    fn order(&mut self, order: Order) {
        let grace = match order {
            Order::Stop => self.grace,
            Order::Kill => Duration::ZERO,
        };
        let last = Instant::now() + grace + UNANSWERED;
        self.give_up_at = Some(self.give_up_at.map_or(last, |at| at.min(last)));
        // Some tens of bytes into an empty buffer; if the supervisor is gone, the socket says so next.
        drop(send(&mut self.socket, &order));
    }

    fn read_reports(&mut self) {
        if self.reports.fill(&mut self.socket).is_err() {
            self.over = true;
        }
        while let Ok(Some(report)) = self.reports.next::<SupervisorReport>() {
            self.take(report);
        }
        self.over |= self.reports.closed();
    }

    fn take(&mut self, report: SupervisorReport) {
        let outcome = &mut self.outcome;
        match report {
            SupervisorReport::Stage(report) => outcome.take_stage(report),
            SupervisorReport::CannotStart { reason } => {
                outcome.error = Some(LaunchError::CannotStart { reason });
                self.over = true;
            }
            SupervisorReport::Done { end, leftovers } => {
                (outcome.end, outcome.leftovers) = (Some(end), leftovers);
                self.over = true;
            }
        }
    }
}
