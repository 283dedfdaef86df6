//! A process of the same user, with secrets worth stealing.
#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "a victim is a process")]

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// A running victim: the secret is in its environment, memory, a descriptor, shared memory and a message queue, and it owns a
/// terminal. Dropping it removes everything, even if the victim was killed.
#[derive(Debug)]
pub struct Victim {
    keeper: Child,
    parameters: Vec<String>,
    process: i32,
}

impl Victim {
    /// Starts one.
    pub fn start(
        hostile: &Path,
        name: &str,
        secret: &str,
        private_file: &Path,
        terminal_log: &Path,
    ) -> Self {
        let mut keeper = Command::new(hostile)
            .args(["victim", name, secret])
            .args([private_file, terminal_log])
            .env_clear()
            .env("VICTIM_PASSWORD", secret)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the victim starts");
        let mut line = String::new();
        BufReader::new(keeper.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let parameters: Vec<String> = line
            .split_whitespace()
            .map(str::to_owned)
            .chain([format!("victim-name={name}")])
            .collect();
        let process = parameters
            .iter()
            .find_map(|word| word.strip_prefix("victim="))
            .and_then(|number| number.parse().ok());
        let process = process.unwrap_or_else(|| panic!("the victim said `{line}`"));
        Self { keeper, parameters, process }
    }

    /// The parameters that tell an attack where everything is.
    pub fn parameters(&self) -> &[String] {
        &self.parameters
    }

    /// The victim's process number.
    pub fn process(&self) -> i32 {
        self.process
    }

    /// Whether it still lives (a zombie does not).
    pub fn alive(&self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.process)).unwrap_or_default();
        stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
    }

    /// What its `oom_score_adj` is.
    pub fn oom_score(&self) -> String {
        fs::read_to_string(format!("/proc/{}/oom_score_adj", self.process))
            .unwrap_or_default()
            .trim()
            .to_owned()
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let patience = Instant::now() + Duration::from_secs(2);
        while matches!(self.keeper.try_wait(), Ok(None)) {
            if Instant::now() > patience {
                let _ = self.keeper.kill();
            }
            thread::sleep(Duration::from_millis(2));
        }
    }
}
