//! Runs one program under a deadline and keeps what it said.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests start the program under test"
)]

use std::{
    ffi::{OsStr, OsString},
    fs,
    io::Read,
    os::unix::process::{CommandExt, ExitStatusExt},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// How much of a stream is kept at each end.
const KEPT: usize = 256 << 10;

/// A program to run: nothing is inherited but what is named here.
#[derive(Debug, Clone)]
pub struct Run {
    words: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    directory: Option<PathBuf>,
    timeout: Duration,
    stdin: Option<PathBuf>,
}

/// How it ended.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The exit code, unless a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// The first and the last quarter MiB of its standard output.
    pub stdout: Vec<u8>,
    /// The same of its standard error.
    pub stderr: Vec<u8>,
    /// Bytes written to standard output in all.
    pub stdout_bytes: u64,
    /// Whether it had to be killed at the deadline.
    pub timed_out: bool,
    /// The most memory it was seen to use, in KiB.
    pub peak_kib: u64,
    /// How long it ran.
    pub elapsed: Duration,
}

impl Run {
    /// A program and its arguments; sixty seconds, an empty environment.
    pub fn new<W: AsRef<OsStr>>(words: impl IntoIterator<Item = W>) -> Self {
        Self {
            words: words.into_iter().map(|word| word.as_ref().to_owned()).collect(),
            environment: Vec::new(),
            directory: None,
            timeout: Duration::from_secs(60),
            stdin: None,
        }
    }

    /// `ash sandbox run` with these options and this command.
    pub fn sandboxed(
        ash: &str,
        options: impl IntoIterator<Item = OsString>,
        command: impl IntoIterator<Item = OsString>,
    ) -> Self {
        let words = [ash, "sandbox", "run"].map(OsString::from);
        Self::new(words.into_iter().chain(options).chain(["--".into()]).chain(command))
    }

    /// Adds a variable.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.environment.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Adds variables.
    #[must_use]
    pub fn envs(mut self, variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        self.environment.extend(variables);
        self
    }

    /// Sets the working directory.
    #[must_use]
    pub fn directory(mut self, directory: impl AsRef<Path>) -> Self {
        self.directory = Some(directory.as_ref().to_owned());
        self
    }

    /// Sets the deadline.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Gives it a file as standard input instead of `/dev/null`.
    #[must_use]
    pub fn stdin(mut self, path: impl AsRef<Path>) -> Self {
        self.stdin = Some(path.as_ref().to_owned());
        self
    }

    /// Starts it in a process group of its own.
    pub fn start(&self) -> Running {
        let stdin = self
            .stdin
            .as_ref()
            .map_or_else(Stdio::null, |path| Stdio::from(fs::File::open(path).unwrap()));
        let mut command = Command::new(&self.words[0]);
        command
            .args(&self.words[1..])
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.process_group(0).stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        let mut child = command
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {:?}: {error}", self.words[0]));
        let stdout = Stream::read(child.stdout.take().unwrap());
        let stderr = Stream::read(child.stderr.take().unwrap());
        Running {
            child,
            stdout,
            stderr,
            began: Instant::now(),
            deadline: self.timeout * patience(),
            peak_kib: 0,
        }
    }

    /// Runs it to its end, or to the deadline.
    pub fn finish(&self) -> Outcome {
        self.start().finish()
    }
}

/// How many times longer than usual everything may take: `ASH_TEST_PATIENCE`, for machines that emulate their processor.
fn patience() -> u32 {
    let wanted = std::env::var("ASH_TEST_PATIENCE").ok().and_then(|text| text.parse().ok());
    wanted.unwrap_or(1).max(1)
}

/// A program that runs. Dropping it kills its process group.
#[derive(Debug)]
pub struct Running {
    child: Child,
    stdout: Stream,
    stderr: Stream,
    began: Instant,
    deadline: Duration,
    peak_kib: u64,
}

impl Running {
    /// Its process.
    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Sends a signal to the process alone.
    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Whether it has ended already.
    pub fn ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }

    /// What it has written to standard output so far.
    pub fn stdout_so_far(&self) -> String {
        String::from_utf8_lossy(&self.stdout.kept()).into_owned()
    }

    /// What it has written to standard error so far.
    pub fn stderr_so_far(&self) -> String {
        String::from_utf8_lossy(&self.stderr.kept()).into_owned()
    }

    /// Waits for its end, or kills its group at the deadline.
    pub fn finish(mut self) -> Outcome {
        let mut timed_out = false;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if self.began.elapsed() > self.deadline {
                timed_out = true;
                let _ = kill_process_group(self.pid(), Signal::KILL);
                break self.child.wait().unwrap();
            }
            self.peak_kib = self.peak_kib.max(peak_kib(self.pid()));
            thread::sleep(Duration::from_millis(5));
        };
        self.outcome(status, timed_out)
    }

    fn outcome(&self, status: ExitStatus, timed_out: bool) -> Outcome {
        let elapsed = self.began.elapsed();
        // A survivor may hold the pipes open for ever: what it says later does not matter.
        let patience = Instant::now() + Duration::from_millis(if timed_out { 200 } else { 1000 });
        while Instant::now() < patience && !(self.stdout.ended() && self.stderr.ended()) {
            thread::sleep(Duration::from_millis(2));
        }
        Outcome {
            code: status.code(),
            signal: status.signal(),
            stdout: self.stdout.kept(),
            stderr: self.stderr.kept(),
            stdout_bytes: self.stdout.0.lock().unwrap().total,
            timed_out,
            peak_kib: self.peak_kib,
            elapsed,
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = kill_process_group(self.pid(), Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

fn peak_kib(process: Pid) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", process.as_raw_nonzero()))
        .unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// A stream read by a thread of its own, its middle thrown away.
#[derive(Debug, Clone)]
struct Stream(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    head: Vec<u8>,
    tail: Vec<u8>,
    total: u64,
    ended: bool,
}

impl Stream {
    fn read(mut pipe: impl Read + Send + 'static) -> Self {
        let kept = Arc::new(Mutex::new(Kept::default()));
        let writer = Arc::clone(&kept);
        thread::spawn(move || {
            let mut buffer = vec![0; 64 << 10];
            while let Ok(got @ 1..) = pipe.read(&mut buffer) {
                writer.lock().unwrap().add(&buffer[..got]);
            }
            writer.lock().unwrap().ended = true;
        });
        Self(kept)
    }

    fn kept(&self) -> Vec<u8> {
        let kept = self.0.lock().unwrap();
        [kept.head.as_slice(), kept.tail.as_slice()].concat()
    }

    fn ended(&self) -> bool {
        self.0.lock().unwrap().ended
    }
}

impl Kept {
    fn add(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (head, rest) = bytes.split_at(bytes.len().min(KEPT - self.head.len()));
        self.head.extend_from_slice(head);
        self.tail.extend_from_slice(rest);
        if self.tail.len() > 2 * KEPT {
            self.tail.drain(..self.tail.len() - KEPT);
        }
    }
}

impl Outcome {
    /// Its standard output as text.
    pub fn out(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Its standard error as text.
    pub fn err(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    /// The JSON object on the last line of its standard error (`ash sandbox run --json`).
    pub fn json(&self) -> Option<serde_json::Value> {
        let text = self.err();
        text.lines()
            .rev()
            .find(|line| !line.is_empty())
            .and_then(|line| serde_json::from_str(line).ok())
    }

    /// Everything there is to say about it, for a failure message.
    pub fn describe(&self) -> String {
        format!(
            "code {:?}, signal {:?}, timed out {}, {:.1} s\n--- stdout\n{}\n--- stderr\n{}",
            self.code,
            self.signal,
            self.timed_out,
            self.elapsed.as_secs_f32(),
            shorten(&self.out()),
            shorten(&self.err())
        )
    }
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(3000) {
        Some((cut, _)) => format!("{} [...]", &text[..cut]),
        None => text.to_owned(),
    }
}
