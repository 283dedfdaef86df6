//! The one file of xtask that starts processes.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "xtask is a developer's tool: it runs cargo, apt and ash itself, never a scanner on its own account"
)]

use std::{
    ffi::{OsStr, OsString},
    fmt::Write as _,
    io::{BufRead, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};

/// A command to run.
#[derive(Debug)]
pub(crate) struct Call {
    command: Command,
    quiet: bool,
}

/// What a finished command said.
#[derive(Debug)]
pub(crate) struct Said {
    /// Its exit code; `None` when a signal ended it.
    pub(crate) code: Option<i32>,
    /// Its standard output.
    pub(crate) stdout: String,
    /// Its standard error.
    pub(crate) stderr: String,
}

/// Prints one line at once, also into a pipe.
pub(crate) fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // A reader that went away is no reason to stop.
    writeln!(out, "{line}").and_then(|()| out.flush()).unwrap_or_default();
}

impl Call {
    pub(crate) fn new(program: impl AsRef<OsStr>) -> Self {
        Self { command: Command::new(program), quiet: false }
    }

    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    pub(crate) fn args<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(mut self, args: I) -> Self {
        self.command.args(args);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn without_env(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    pub(crate) fn cwd(mut self, dir: &Path) -> Self {
        self.command.current_dir(dir);
        self
    }

    /// Does not show the command line.
    pub(crate) const fn quiet(mut self) -> Self {
        self.quiet = true;
        self
    }

    /// The command as a person would type it.
    fn line(&self) -> String {
        let mut line = self.command.get_program().to_string_lossy().into_owned();
        for arg in self.command.get_args() {
            write!(line, " {}", arg.to_string_lossy()).unwrap_or_default();
        }
        line
    }

    fn announce(&self) {
        if !self.quiet {
            say(&format!("+ {}", self.line()));
        }
    }

    /// Runs it with this terminal; its exit code, 128 plus the signal where one ended it.
    pub(crate) fn code(mut self) -> Result<i32> {
        self.announce();
        let status =
            self.command.status().with_context(|| format!("cannot start `{}`", self.line()))?;
        Ok(status.code().unwrap_or(128))
    }

    /// Runs it with this terminal; an exit code other than 0 is an error.
    pub(crate) fn run(self) -> Result<()> {
        let line = self.line();
        let code = self.code()?;
        ensure!(code == 0, "`{line}` ended with exit code {code}");
        Ok(())
    }

    /// Runs it silently and returns what it said.
    pub(crate) fn said(mut self) -> Result<Said> {
        let output = self
            .command
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("cannot start `{}`", self.line()))?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ok(Said {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        })
    }

    /// Runs it with its standard error shown, and returns its exit code and standard output.
    pub(crate) fn stdout(mut self) -> Result<(Option<i32>, String)> {
        self.announce();
        let child = self
            .command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start `{}`", self.line()))?;
        let output = child
            .wait_with_output()
            .with_context(|| format!("cannot wait for `{}`", self.line()))?;
        Ok((output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned()))
    }

    /// Runs it silently; whether it could be started and ended with 0.
    pub(crate) fn works(self) -> bool {
        self.said().is_ok_and(|said| said.code == Some(0))
    }

    /// Runs it, showing its standard output and handing each line on.
    pub(crate) fn each_line(mut self, mut line: impl FnMut(&str)) -> Result<i32> {
        self.announce();
        let what = self.line();
        let mut child = self
            .command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start `{what}`"))?;
        if let Some(stdout) = child.stdout.take() {
            for bytes in BufReader::new(stdout).split(b'\n') {
                let text = String::from_utf8_lossy(
                    &bytes.with_context(|| format!("cannot read from `{what}`"))?,
                )
                .into_owned();
                say(&text);
                line(&text);
            }
        }
        Ok(child.wait().with_context(|| format!("cannot wait for `{what}`"))?.code().unwrap_or(128))
    }

    /// Runs it with nothing attached and says how long it took and how it ended.
    pub(crate) fn timed(mut self) -> Result<(Duration, Option<i32>)> {
        self.command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let started = Instant::now();
        let status =
            self.command.status().with_context(|| format!("cannot start `{}`", self.line()))?;
        Ok((started.elapsed(), status.code()))
    }

    /// Runs it with nothing attached; its exit code and the most memory it held, in bytes, as the kernel counts it.
    pub(crate) fn peak_memory(mut self) -> Result<(i32, u64)> {
        self.command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child =
            self.command.spawn().with_context(|| format!("cannot start `{}`", self.line()))?;
        let status = PathBuf::from(format!("/proc/{}/status", child.id()));
        let mut peak = 0;
        loop {
            let text = std::fs::read_to_string(&status).unwrap_or_default();
            let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let kib: u64 =
                line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0);
            peak = peak.max(kib << 10);
            if let Some(ended) = child.try_wait()? {
                return Ok((ended.code().unwrap_or(128), peak));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// The cargo that runs this.
pub(crate) fn cargo() -> Call {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    // What `cargo run` set for xtask would make cargo build everything again.
    ["CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH", "CARGO_PKG_NAME", "CARGO_PKG_VERSION"]
        .iter()
        .fold(Call::new(cargo), |call, name| call.without_env(name))
}

/// A program on `PATH`.
pub(crate) fn which(name: &str) -> Option<PathBuf> {
    let path: OsString = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|dir| dir.join(name)).find(|file| file.is_file())
}
