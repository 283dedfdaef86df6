//! Starts one call of a scanner's tool and takes back what it left.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::Path,
    time::{Duration, Instant},
};

use ash_model::{
    ids::ScannerId,
    path::{RelPath, printable},
    report::Invocation,
    status::Status,
    tool::{Exit, ToolCall, ToolOutput},
};
use ash_sandbox::{
    Captures, Command, Confinement, Finished, Grants, Ground, Policy, Prepared, ReadLimits,
    ResultsDir, Stdio, Swept,
};

use super::{Run, Stop};
use crate::{
    clock::now,
    tools::{Located, NotLocated},
};

impl Run<'_> {
    /// The version of a tool in ash's own directory is what ash installed; any other tool is asked, once, in the same sandbox and
    /// with a results directory that is thrown away.
    pub(super) fn version(
        &mut self,
        confinement: &Confinement,
        tool: &Located,
    ) -> Result<Option<String>, Stop> {
        if tool.own {
            return Ok(self.shared.request.lookup.tools.version_of(self.tool.program));
        }
        let Some(probe) = self.tool.version.clone() else { return Ok(None) };
        let throwaway = ResultsDir::throwaway(&self.shared.request.temp).map_err(|error| {
            Stop::error(format!("cannot make a directory for the version probe: {error}"))
        })?;
        let timeout = self
            .time_left()
            .map_or(Duration::MAX, |left| left)
            .min(Duration::from_secs(probe.timeout_seconds));
        let timeout = Some(timeout);
        let path = throwaway.path().to_owned();
        let output = self.spawn(confinement, &throwaway, &path, &probe.call, timeout);
        if let Err(error) = throwaway.discard() {
            tracing::warn!("cannot remove {}: {error}", path.display());
        }
        let output = match output {
            Ok(output) => output,
            // A sandbox that cannot be had ends the run; a tool that does not say its version may still work.
            Err(Stop(Status::Missing(missing))) => return Err(Stop(Status::Missing(missing))),
            Err(Stop(status)) => {
                tracing::warn!(
                    "{}: no version: {}",
                    self.report.id,
                    status.reason().unwrap_or_default()
                );
                return Ok(None);
            }
        };
        Ok(first_version(&output.stdout.text()).or_else(|| first_version(&output.stderr.text())))
    }

    pub(super) fn time_left(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    pub(super) fn call(
        &mut self,
        confinement: &Confinement,
        results: &ResultsDir,
        own_results: &Path,
        call: &ToolCall,
    ) -> Result<ToolOutput, Stop> {
        for (name, bytes) in &call.inputs {
            results.write_file(&under_source(name), bytes).map_err(|error| {
                Stop::error(format!("cannot write `{name}` for the tool: {error}"))
            })?;
        }
        let timeout = self.time_left();
        if timeout == Some(Duration::ZERO) {
            return Err(Stop::error(out_of_time(&self.report.id, self.limit)));
        }
        let mut output = self.spawn(confinement, results, own_results, call, timeout)?;
        self.keep_logs(results, call, &output);
        output.files = self.read_back(results, call)?;
        Ok(output)
    }

    /// Starts one process tree and waits until none of it is left. The only caller of the launcher for scanners.
    fn spawn(
        &mut self,
        confinement: &Confinement,
        results: &ResultsDir,
        own_results: &Path,
        call: &ToolCall,
        timeout: Option<Duration>,
    ) -> Result<ToolOutput, Stop> {
        let request = self.shared.request;
        let located = request.lookup.locate(&call.program).map_err(|error: NotLocated| {
            Stop::missing(format!("{error}; {}", self.how_to_install()))
        })?;
        let cwd = crate::planned::working_directory(&call.cwd, &request.source, own_results);
        let command = Command { program: located.path.clone(), args: call.args.clone() };
        let prepared = if confinement.is_off() {
            let environment = with(&request.environment, &call.env);
            confinement.unconfined(&command, environment, &cwd).map_err(|error| error.to_string())
        } else {
            self.confine(confinement, results, &command, &cwd, &call.env)
        };
        let prepared = prepared.map_err(Stop::refused)?;

        let started = now();
        let finished = self
            .shared
            .launcher
            .run(prepared, Stdio::Capture(Captures::default()), timeout, self.shared.cancel)
            .map_err(|error| Stop::error(error.to_string()))?;
        let swept = if confinement.is_off() {
            Swept::default()
        } else {
            results.sweep(&ReadLimits::default()).map_err(|error| {
                Stop::error(format!("cannot clean the results directory: {error}"))
            })?
        };
        self.record(&finished, &located.path, call, &cwd, started, swept.removed);
        if swept.failed > 0 {
            return Err(Stop::error(format!(
                "{} left {} entries in its results that cannot be examined or removed",
                self.report.id, swept.failed
            )));
        }
        if let Some(over) = swept.over {
            return Err(Stop::error(over.to_string()));
        }
        if let Some(reason) = unusable(&finished, &self.report.id, self.limit) {
            self.keep_logs(results, call, &output_of(finished));
            return Err(Stop::error(reason));
        }
        Ok(output_of(finished))
    }

    /// What this scanner may touch, wrapped around one of its commands.
    fn confine(
        &self,
        confinement: &Confinement,
        results: &ResultsDir,
        command: &Command,
        cwd: &Path,
        variables: &[(String, OsString)],
    ) -> Result<Prepared, String> {
        let request = self.shared.request;
        let requirements = self.scanner.requirements();
        let id = self.scanner.id();
        let ground = Ground {
            source: request.source.clone(),
            output: Some(self.shared.output.to_owned()),
            targets: vec![],
            results: results.path().to_owned(),
            cwd: cwd.to_owned(),
        };
        let grants = Grants {
            network: self.has_network(),
            offline: self.offline(),
            extra_read_paths: request.settings.sandbox.extra_read_paths.clone(),
        };
        let policy = Policy::resolve(
            id.as_str(),
            &requirements,
            &request.site,
            &ground,
            &grants,
            &command.program,
            variables,
        )
        .map_err(|error| error.to_string())?;
        confinement.prepare(&policy, command).map_err(|error| error.to_string())
    }

    fn record(
        &mut self,
        finished: &Finished,
        program: &Path,
        call: &ToolCall,
        cwd: &Path,
        started: String,
        swept: u64,
    ) {
        let mut evidence = finished.evidence.clone();
        if let Some(details) = &mut evidence.details {
            details.swept = swept;
        }
        if self.report.invocations.is_empty() {
            self.report.sandbox = evidence;
        } else {
            self.report.sandbox.join(&evidence);
        }
        let (exit_code, signal) = match finished.exit {
            Exit::Code(code) => (Some(code), None),
            Exit::Signal(signal) => (None, Some(signal)),
        };
        self.report.exit_code = Some(finished.exit.shell_code());
        let words =
            std::iter::once(program.as_os_str()).chain(call.args.iter().map(OsString::as_os_str));
        self.report.invocations.push(Invocation {
            command_line: words.map(printable).collect(),
            working_directory: printable(cwd.as_os_str()),
            started,
            finished: now(),
            exit_code,
            signal,
            successful: exit_code.is_some_and(|code| call.accepts.contains(&code)),
        });
    }

    /// Stream logs are for people; a scan does not fail because one cannot be written.
    fn keep_logs(&self, results: &ResultsDir, call: &ToolCall, output: &ToolOutput) {
        for (stream, captured) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
            if captured.bytes.is_empty() {
                continue;
            }
            let written = RelPath::new(format!("source/{}.{stream}.log", call.log))
                .map(|name| results.write_file(&name, &captured.bytes));
            if let Ok(Err(error)) = written {
                tracing::warn!("{}: cannot write the {stream} log: {error}", self.report.id);
            }
        }
    }

    fn read_back(
        &self,
        results: &ResultsDir,
        call: &ToolCall,
    ) -> Result<BTreeMap<RelPath, Vec<u8>>, Stop> {
        let mut files = BTreeMap::new();
        for name in &call.outputs {
            match results.read_file(&under_source(name), ReadLimits::default().bytes) {
                Ok(Some(bytes)) => drop(files.insert(name.clone(), bytes)),
                Ok(None) => {}
                Err(error) => {
                    return Err(Stop::error(format!(
                        "cannot use the result file `{name}`: {error}"
                    )));
                }
            }
        }
        Ok(files)
    }
}

/// An environment with further variables, which replace those of the same name.
fn with(
    environment: &[(OsString, OsString)],
    more: &[(String, OsString)],
) -> Vec<(OsString, OsString)> {
    let replaced = |name: &OsString| more.iter().any(|(other, _)| name == other.as_str());
    let kept = environment.iter().filter(|(name, _)| !replaced(name)).cloned();
    kept.chain(more.iter().map(|(name, value)| (OsString::from(name), value.clone()))).collect()
}

/// A scanner's own files live in `source/` of its results directory.
fn under_source(name: &RelPath) -> RelPath {
    RelPath::new(Path::new("source").join(name.as_path())).unwrap_or_else(|_| name.clone())
}

/// Why a finished process cannot have given whole results, if that is certain already.
fn unusable(finished: &Finished, id: &ScannerId, limit: Option<Duration>) -> Option<String> {
    if finished.cancelled {
        return Some("stopped: the scan was interrupted before it ended".to_owned());
    }
    if finished.timed_out {
        return Some(out_of_time(id, limit));
    }
    if finished.overflowed {
        return Some(format!(
            "{id} printed more than ash accepts ({} bytes)",
            finished.stdout.total + finished.stderr.total
        ));
    }
    match finished.exit {
        Exit::Signal(signal) => Some(format!(
            "{id} was ended by signal {signal}{}{}",
            signal_name(signal),
            stderr_tail(&finished.stderr.text())
        )),
        Exit::Code(_) => None,
    }
}

fn out_of_time(id: &ScannerId, limit: Option<Duration>) -> String {
    let seconds = limit.map_or(0.0, |limit| limit.as_secs_f64());
    format!(
        "{id} timed out after {seconds} s; raise `scanners.{id}.options.scan_timeout` or exclude what takes so long"
    )
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        4 => " (SIGILL)",
        6 => " (SIGABRT)",
        8 => " (SIGFPE)",
        9 => " (SIGKILL: out of memory, or somebody killed it)",
        11 => " (SIGSEGV)",
        15 => " (SIGTERM)",
        31 => " (SIGSYS: a system call the sandbox forbids)",
        _ => "",
    }
}

/// The last line of what a tool complained about, made safe to print.
pub(crate) fn stderr_tail(text: &str) -> String {
    let last = text.lines().rev().find(|line| !line.trim().is_empty());
    last.map(|line| {
        format!(": {}", printable(line.trim().chars().take(300).collect::<String>().as_ref()))
    })
    .unwrap_or_default()
}

fn output_of(finished: Finished) -> ToolOutput {
    ToolOutput {
        exit: finished.exit,
        stdout: finished.stdout,
        stderr: finished.stderr,
        files: BTreeMap::new(),
        duration: finished.duration,
    }
}

/// The first thing in a text that looks like a version: digits with at least one dot.
fn first_version(text: &str) -> Option<String> {
    text.split(|c: char| c.is_whitespace() || c == ',' || c == '(' || c == ')')
        .map(|word| word.trim_start_matches('v'))
        .find(|word| {
            word.starts_with(|c: char| c.is_ascii_digit())
                && word.contains('.')
                && word.len() < 40
                && word.chars().all(|c| c.is_ascii_alphanumeric() || ".-+".contains(c))
        })
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_in_what_tools_print() {
        for (text, version) in [
            ("bandit 1.9.4\n  python version = 3.11.2", Some("1.9.4")),
            ("v2.0.1", Some("2.0.1")),
            ("3.3.30", Some("3.3.30")),
            ("no version", None),
        ] {
            assert_eq!(first_version(text).as_deref(), version, "{text}");
        }
    }

    #[test]
    fn the_last_words_of_a_tool_cannot_drive_the_terminal() {
        assert_eq!(stderr_tail("a\n\u{1b}[31mboom\n\n"), ": \\u{1b}[31mboom");
    }
}
