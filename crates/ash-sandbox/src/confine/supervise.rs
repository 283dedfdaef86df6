//! The supervisor: ash's side of every backend.
//!
//! It starts the command, hands the stage inside its specification, and ends the whole tree when the command has ended, when ash says so, when
//! ash is gone, or when it is told to end itself. Parent-death signals alone are not enough: they are lost on a set-user-ID exec and tied to a thread.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the supervisor starts the backend, or the stage"
)]

use std::{
    ffi::OsString,
    io::{self, Seek as _, Write as _},
    os::{
        fd::{AsFd as _, IntoRawFd as _, OwnedFd},
        unix::{
            net::UnixStream,
            process::{CommandExt as _, ExitStatusExt as _},
        },
    },
    path::Path,
    process::{Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec},
    process::{Pid, Signal, WaitStatus},
};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};

use super::{
    FAILED,
    signals::{drain, watch},
    tree,
};
use crate::wire::{
    End, FrameError, Frames, Order, StageReport, SupervisorReport, SupervisorSpec, send,
};

/// How long a backend may take to start the stage, when the policy is too large for the socket's buffer.
const STARTING: Duration = Duration::from_secs(30);

/// Bytes of arguments, with a pointer each, that certainly fit into an exec together with an environment: it takes 2 MiB in all, or a quarter of
/// the stack.
const LONG: usize = 256 << 10;

/// Everything the supervisor waits on.
struct Supervisor {
    /// ash. Its end closing is the order to end everything.
    ash: UnixStream,
    orders: Frames,
    /// The stage inside; closes when it has become the tool.
    stage: Option<UnixStream>,
    reports: Frames,
    /// One byte for each signal that asks this process to end.
    ending: UnixStream,
    /// One byte for each child that ended.
    children: UnixStream,
    child: Pid,
    tool_depth: u32,
    grace: Duration,
    /// When SIGTERM turns into SIGKILL.
    deadline: Option<Instant>,
}

/// Runs the supervisor to the end of the tree.
pub(super) fn run() -> i32 {
    let Ok(socket) = io::stdin().as_fd().try_clone_to_owned() else { return FAILED };
    let mut ash = UnixStream::from(socket);
    match prepare(&mut ash) {
        Ok((supervisor, spec)) => supervisor.supervise(&spec),
        Err(reason) => {
            drop(send(&mut ash, &SupervisorReport::CannotStart { reason }));
            FAILED
        }
    }
}

/// Detaches from the terminal, takes in orphans, and reads what to start.
fn prepare(ash: &mut UnixStream) -> Result<(Setup, SupervisorSpec), String> {
    // Ctrl-C at the terminal is for ash, which then orders the end.
    rustix::process::setsid().map_err(|error| format!("cannot start a session: {error}"))?;
    let own = rustix::process::getpid();
    rustix::process::set_child_subreaper(Some(own))
        .map_err(|error| format!("cannot become a subreaper: {error}"))?;
    tree::check_visibility()?;
    let ending = watch(&[SIGTERM, SIGINT, SIGHUP])
        .map_err(|error| format!("cannot handle signals: {error}"))?;
    let children = watch(&[SIGCHLD]).map_err(|error| format!("cannot handle signals: {error}"))?;
    let mut orders = Frames::default();
    let spec = orders.wait(ash).map_err(|error| error.to_string())?;
    let ash = ash.try_clone().map_err(|error| error.to_string())?;
    Ok((Setup { ash, orders, ending, children }, spec))
}

/// What is ready before the command is started.
struct Setup {
    ash: UnixStream,
    orders: Frames,
    ending: UnixStream,
    children: UnixStream,
}

impl Setup {
    fn supervise(mut self, spec: &SupervisorSpec) -> i32 {
        match spawn(spec) {
            Ok((child, stage)) => {
                let Self { ash, orders, ending, children } = self;
                let grace = Duration::from_millis(spec.grace_ms);
                let supervisor = Supervisor {
                    ash,
                    orders,
                    stage,
                    reports: Frames::default(),
                    ending,
                    children,
                    child,
                    tool_depth: spec.tool_depth,
                    grace,
                    deadline: None,
                };
                supervisor.run(&spec.cleanup)
            }
            Err(reason) => {
                // What was started before something failed must not stay.
                tree::end_all(None);
                remove(&spec.cleanup);
                drop(send(&mut self.ash, &SupervisorReport::CannotStart { reason }));
                FAILED
            }
        }
    }
}

/// Words, each with a zero byte behind it, as a file that children inherit.
fn inheritable(words: &[OsString]) -> io::Result<OwnedFd> {
    let file = rustix::fs::memfd_create("arguments", rustix::fs::MemfdFlags::empty())?;
    let mut file = std::fs::File::from(file);
    let mut bytes = Vec::new();
    for word in words {
        bytes.extend_from_slice(word.as_encoded_bytes());
        bytes.push(0);
    }
    file.write_all(&bytes)?;
    file.rewind()?;
    Ok(file.into())
}

/// Starts the command, with a socket to the stage inside as its standard input if there is to be one.
fn spawn(spec: &SupervisorSpec) -> Result<(Pid, Option<UnixStream>), String> {
    let (program, arguments) = spec.argv.split_first().ok_or("there is no command")?;
    let shown = program.to_string_lossy();
    let mut command = Command::new(program);
    let by_file = arguments.len() >= spec.options
        && arguments.iter().map(|word| word.len() + 9).sum::<usize>() > LONG;
    let (options, rest) = arguments.split_at(if by_file { spec.options } else { 0 });
    if !options.is_empty() {
        let file = inheritable(options)
            .map_err(|error| format!("cannot hand `{shown}` its arguments as a file: {error}"))?;
        // It stays open in this process, which starts nothing else.
        command.arg("--args").arg(file.into_raw_fd().to_string());
    }
    command
        .args(rest)
        .env_clear()
        .envs(spec.env.iter().map(|(name, value)| (name, value)))
        .current_dir(&spec.cwd);
    let stage = match &spec.stage {
        Some(_) => {
            let (ours, theirs) =
                UnixStream::pair().map_err(|error| format!("cannot make a socket: {error}"))?;
            command.stdin(Stdio::from(OwnedFd::from(theirs)));
            Some(ours)
        }
        None => {
            // A group of its own can be signalled as a whole. The stage makes itself a session instead, which the leader of a group could not.
            command.stdin(Stdio::null()).process_group(0);
            None
        }
    };
    let child = command.spawn().map_err(|error| format!("cannot start `{shown}`: {error}"))?;
    let child =
        Pid::from_raw(child.id().cast_signed()).ok_or("the system gave no process number")?;
    // The child's end of the socket lives in the command until then; end of file must mean that the stage is gone.
    drop(command);
    let Some((mut socket, stage)) = stage.zip(spec.stage.as_ref()) else {
        return Ok((child, None));
    };
    socket.set_write_timeout(Some(STARTING)).map_err(|error| error.to_string())?;
    match send(&mut socket, stage) {
        Err(FrameError::TooLong(length)) => {
            return Err(format!("the policy is too long to send ({length} bytes)"));
        }
        Err(FrameError::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => {
            return Err(format!(
                "`{shown}` did not start the stage within {} s",
                STARTING.as_secs()
            ));
        }
        // A backend that fails at once never reads it; its exit code and its own words say why.
        Err(_) | Ok(()) => {}
    }
    socket.set_nonblocking(true).map_err(|error| error.to_string())?;
    Ok((child, Some(socket)))
}

/// Why the loop ended.
enum Over {
    /// The command ended.
    Ended(WaitStatus),
    /// It must end now.
    Kill,
}

impl Supervisor {
    fn run(mut self, cleanup: &[OsString]) -> i32 {
        let ended = match self.watch() {
            Over::Ended(status) => Some(status),
            Over::Kill => None,
        };
        let (killed, late) = tree::end_all(Some(self.child));
        self.read_stage();
        remove(cleanup);
        let status = ended.or(late);
        let leftovers = if ended.is_some() { killed } else { killed.saturating_sub(1) };
        let end = status.map_or(End::Signal(Signal::KILL.as_raw()), end_of);
        // ash may be gone; the tree is, too.
        drop(send(&mut self.ash, &SupervisorReport::Done { end, leftovers }));
        0
    }

    fn watch(&mut self) -> Over {
        // An order that came right behind the specification was read together with it: the socket will not announce it again.
        if self.obey().is_break() {
            return Over::Kill;
        }
        loop {
            if let Some(status) = self.collect() {
                return Over::Ended(status);
            }
            let left =
                self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return Over::Kill;
            }
            if self.wait(left).is_break() {
                return Over::Kill;
            }
        }
    }

    /// Collects ended children; orphans of the tool are among them.
    fn collect(&mut self) -> Option<WaitStatus> {
        drain(&mut self.children);
        while let Ok(Some((pid, status))) = tree::reap() {
            if pid == self.child {
                return Some(status);
            }
        }
        None
    }

    fn wait(&mut self, left: Option<Duration>) -> std::ops::ControlFlow<()> {
        let mut sockets = vec![&self.ash, &self.ending, &self.children];
        sockets.extend(&self.stage);
        let mut polled: Vec<PollFd<'_>> =
            sockets.iter().map(|socket| PollFd::new(*socket, PollFlags::IN)).collect();
        let timeout = left.and_then(|left| Timespec::try_from(left).ok());
        // An interrupted or failed wait is another turn of the loop.
        let _ = rustix::event::poll(&mut polled, timeout.as_ref());
        let ready: Vec<bool> = polled.iter().map(|socket| !socket.revents().is_empty()).collect();
        if ready[1] && drain(&mut self.ending) {
            return std::ops::ControlFlow::Break(());
        }
        if ready.get(3) == Some(&true) {
            self.read_stage();
        }
        if ready[0] { self.read_orders() } else { std::ops::ControlFlow::Continue(()) }
    }

    fn read_orders(&mut self) -> std::ops::ControlFlow<()> {
        let read = self.orders.fill(&mut self.ash);
        self.obey()?;
        if read.is_err() || self.orders.closed() {
            std::ops::ControlFlow::Break(())
        } else {
            std::ops::ControlFlow::Continue(())
        }
    }

    /// Carries out the orders that have arrived.
    fn obey(&mut self) -> std::ops::ControlFlow<()> {
        loop {
            match self.orders.next() {
                Ok(Some(Order::Stop)) => self.stop(),
                Ok(Some(Order::Kill)) | Err(_) => return std::ops::ControlFlow::Break(()),
                Ok(None) => return std::ops::ControlFlow::Continue(()),
            }
        }
    }

    /// Asks the tool to end, but not the backend's helpers around it: some of those would take the tool down unasked, or not at all.
    fn stop(&mut self) {
        self.deadline.get_or_insert_with(|| Instant::now() + self.grace);
        let all = tree::descendants(rustix::process::getpid().as_raw_pid());
        // firejail starts the stage through the account's shell, and some shells stay in between.
        let depth = all
            .iter()
            .find(|descendant| is_stage(descendant.pid))
            .map_or(self.tool_depth, |stage| self.tool_depth.max(stage.depth + 1));
        for descendant in all.iter().filter(|descendant| descendant.depth >= depth) {
            let _ = descendant.signal(Signal::TERM);
        }
    }

    /// Passes on what the stage says, until it has become the tool.
    fn read_stage(&mut self) {
        while let Some(socket) = &mut self.stage {
            let before = self.reports.closed();
            let read = self.reports.fill(socket);
            let mut arrived = false;
            while let Ok(Some(report)) = self.reports.next::<StageReport>() {
                arrived = true;
                drop(send(&mut self.ash, &SupervisorReport::Stage(report)));
            }
            if read.is_err() || self.reports.closed() {
                self.stage = None;
            } else if !arrived && !before {
                return;
            }
        }
    }
}

/// Whether a process is the stage, which stays the tool's parent. The words of a backend before it are others; those of the tool, which lies below,
/// come later in the order of depth.
fn is_stage(pid: i32) -> bool {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let mut words = line.split(|byte| *byte == 0).skip(1);
    [super::MARK, super::APPLY].iter().all(|known| words.next() == Some(known.as_bytes()))
}

/// Removes the private directories of the command. What fails here is tried again, and told, by ash, if that is still there.
fn remove(directories: &[OsString]) {
    for directory in directories {
        drop(crate::launch::remove_tree(Path::new(directory)));
    }
}

fn end_of(status: WaitStatus) -> End {
    let status = ExitStatus::from_raw(status.as_raw());
    status.signal().map_or_else(|| End::Code(status.code().unwrap_or(FAILED)), End::Signal)
}
