//! Driving the supervisor over its socket.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "these tests start the stages themselves"
)]

use std::{
    io::{Read, Write},
    os::{fd::OwnedFd, unix::net::UnixStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

/// A directory the tool may write, removed afterwards.
pub(crate) struct Lab {
    _keep: tempfile::TempDir,
    pub(crate) work: PathBuf,
    pub(crate) outside: PathBuf,
}

impl Lab {
    pub(crate) fn new() -> Self {
        let keep = tempfile::tempdir().unwrap();
        let real = keep.path().canonicalize().unwrap();
        let (work, outside) = (real.join("work"), real.join("outside"));
        for directory in [&work, &outside] {
            std::fs::create_dir(directory).unwrap();
        }
        std::fs::write(outside.join("file"), "contents").unwrap();
        Self { _keep: keep, work, outside }
    }

    /// The strictest stage for Landlock alone, running a command.
    pub(crate) fn stage(&self, argv: &[&str]) -> Value {
        let read: Vec<&str> = [
            "/usr",
            "/bin",
            "/sbin",
            "/lib",
            "/lib64",
            "/etc",
            "/proc",
            "/dev/zero",
            "/dev/urandom",
        ]
        .into();
        json!({
            "argv": argv, "env": [["PATH", "/usr/local/bin:/usr/bin:/bin"], ["TMPDIR", &self.work], ["HOME", &self.work]], "cwd": self.work, "sockets": "None",
            "landlock": {"read": read, "read_data": [], "list": [], "write": [self.work], "write_files": ["/dev/null"], "no_tcp": true, "required": true, "force_abi": null},
            "landlock_alone": true, "rlimits": [["core", 0]], "stay": false,
        })
    }

    /// What the supervisor is told to run that stage.
    pub(crate) fn spec(&self, stage: Value) -> Value {
        let exe = std::env::current_exe().unwrap();
        json!({"argv": [exe, "__confine", "apply"], "env": [], "cwd": "/", "stage": stage, "tool_depth": 1, "grace_ms": 300})
    }

    /// Runs a command in the strictest stage.
    pub(crate) fn run(&self, argv: &[&str]) -> Ended {
        Running::start(&self.spec(self.stage(argv))).finish()
    }

    /// Runs a shell script in it.
    pub(crate) fn sh(&self, script: &str) -> Ended {
        self.run(&["/bin/sh", "-c", script])
    }

    /// Runs Python in it. Raw system calls need it: these tests have no `unsafe` either.
    pub(crate) fn python(&self, script: &str) -> Ended {
        self.run(&[PYTHON, "-I", "-c", script])
    }
}

pub(crate) const PYTHON: &str = "/usr/bin/python3";

/// A supervisor at work.
pub(crate) struct Running {
    pub(crate) child: Child,
    pub(crate) socket: UnixStream,
}

/// How it went.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) reports: Vec<Value>,
}

impl Ended {
    /// The end of the command, such as `{"Code": 0}`.
    pub(crate) fn end(&self) -> &Value {
        &self.done()["end"]
    }

    pub(crate) fn done(&self) -> &Value {
        &self.reports.last().unwrap_or_else(|| panic!("no report: {self:?}"))["Done"]
    }

    /// What the stage said, by kind.
    pub(crate) fn stage(&self, kind: &str) -> Option<&Value> {
        self.reports.iter().find_map(|report| report["Stage"].get(kind))
    }

    /// Panics unless the tool ran to the end with this output.
    #[track_caller]
    pub(crate) fn printed(&self, expected: &str) {
        assert_eq!(
            (self.stdout.trim_end(), self.end()),
            (expected, &json!({"Code": 0})),
            "{self:?}"
        );
    }
}

impl Running {
    pub(crate) fn start(spec: &Value) -> Self {
        Self::start_with(
            spec,
            Command::new(std::env::current_exe().unwrap()).args(["__confine", "supervise"]),
        )
    }

    /// Starts it by way of another command, which must end in `__confine supervise`.
    pub(crate) fn start_with(spec: &Value, command: &mut Command) -> Self {
        let (mut socket, theirs) = UnixStream::pair().unwrap();
        let child = command
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        command.stdin(Stdio::null());
        send(&mut socket, spec);
        Self { child, socket }
    }

    pub(crate) fn order(&mut self, order: &str) {
        send(&mut self.socket, &json!(order));
    }

    /// Waits until the tool has made this file.
    pub(crate) fn wait_for(&mut self, file: &Path) {
        eventually("the tool starts", || file.exists() || self.child.try_wait().unwrap().is_some());
        assert!(file.exists(), "the tool did not start");
    }

    /// Reads everything to the end. Output is small in these tests.
    pub(crate) fn finish(mut self) -> Ended {
        let mut reports = Vec::new();
        while let Some(report) = receive(&mut self.socket) {
            reports.push(report);
        }
        let output = self.child.wait_with_output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ended { stdout: text(output.stdout), stderr: text(output.stderr), reports }
    }
}

fn send(socket: &mut UnixStream, message: &Value) {
    let body = message.to_string();
    let length = u32::try_from(body.len()).unwrap();
    socket.write_all(&[&length.to_le_bytes()[..], body.as_bytes()].concat()).unwrap();
}

fn receive(socket: &mut UnixStream) -> Option<Value> {
    let mut length = [0; 4];
    socket.read_exact(&mut length).ok()?;
    let mut body = vec![0; u32::from_le_bytes(length) as usize];
    socket.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}

/// Panics if it does not come true within ten seconds.
#[track_caller]
pub(crate) fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < Duration::from_secs(10), "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a process with this environment or argument text is alive: its command line is searched.
pub(crate) fn is_alive(mark: &str) -> bool {
    let processes = std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(|name| name.parse::<u32>().is_ok()));
    let own = std::process::id().to_string();
    processes.filter(|entry| entry.file_name().to_str() != Some(&own)).any(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        line.windows(mark.len()).any(|window| window == mark.as_bytes())
    })
}

/// `drive SPEC`: hands a specification to a supervisor and waits, as ash would, so that this can be killed or given a terminal.
pub(crate) fn intercept() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.get(1).is_some_and(|argument| argument == "drive") {
        let spec: Value = serde_json::from_str(&arguments[2]).unwrap();
        let (mut socket, theirs) = UnixStream::pair().unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["__confine", "supervise"])
            .stdin(OwnedFd::from(theirs))
            .spawn()
            .unwrap();
        send(&mut socket, &spec);
        while receive(&mut socket).is_some() {}
        child.wait().unwrap();
        #[expect(clippy::exit, reason = "the driver is the whole process")]
        std::process::exit(0);
    }
}

/// A command that is this program as a driver.
pub(crate) fn driver(spec: &Value) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["drive", &spec.to_string()]);
    command
}

/// A control: the same without any sandbox.
pub(crate) fn bare(argv: &[&str], cwd: &Path) -> std::process::Output {
    Command::new(argv[0]).args(&argv[1..]).current_dir(cwd).output().unwrap()
}

/// One test.
pub(crate) fn trial(name: &str, test: fn(&Lab)) -> libtest_mimic::Trial {
    libtest_mimic::Trial::test(name, move || {
        test(&Lab::new());
        Ok(())
    })
}
