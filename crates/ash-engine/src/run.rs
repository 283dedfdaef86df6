//! Runs one scanner: find its tool, ask its plan, confine and start each call, read back what it left.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use ash_model::{
    evidence::SandboxEvidence,
    finding::Finding,
    ids::ScannerId,
    path::{RelPath, printable},
    report::{Invocation, ScannerReport},
    severity::SeverityCounts,
    source::SourceReader,
    status::{Missing, Status},
    tool::{Cwd, Exit, ToolCall, ToolOutput},
};
use ash_sandbox::{
    Cancel, Captures, Command, Confinement, Finished, Grants, Ground, Launcher, Policy, ReadLimits,
    ResultsDir, Stdio, Swept,
};
use ash_scanners::{Install, Interpreted, Plan, Scanner, Site, Tool};
use serde_json::{Map, Value};

use crate::{
    clock::now,
    scan::Request,
    tools::{Located, NotLocated},
};

/// How long a scanner's calls may take together when nobody says.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(1800);

/// What every scanner's run shares.
pub(crate) struct Shared<'a> {
    pub(crate) request: &'a Request,
    pub(crate) launcher: &'a Launcher,
    pub(crate) cancel: &'a Cancel,
    /// The sandbox, or why there is none although one was asked for.
    pub(crate) confinement: &'a Result<Confinement, String>,
    pub(crate) files: &'a [RelPath],
    pub(crate) reader: &'a dyn SourceReader,
    pub(crate) ignore_paths: &'a [String],
    /// The output directory, absolute.
    pub(crate) output: &'a Path,
    /// The caller's variables.
    pub(crate) variable: &'a (dyn Fn(&str) -> Option<OsString> + Sync),
}

/// What one scanner contributes to the report.
pub(crate) struct Part {
    pub(crate) report: ScannerReport,
    pub(crate) findings: Vec<Finding>,
    pub(crate) sbom: Option<Value>,
}

/// Why a scanner has no findings: the status to record.
struct Stop(Status);

impl Stop {
    fn error(reason: impl Into<String>) -> Self {
        Self(Status::Error(reason.into()))
    }

    fn missing(reason: impl Into<String>) -> Self {
        Self(Status::Missing(Missing { reason: reason.into(), by_sandbox: false }))
    }

    fn refused(reason: impl Into<String>) -> Self {
        Self(Status::Missing(Missing { reason: reason.into(), by_sandbox: true }))
    }
}

/// A scanner's run while it lasts: what is known is in the report whatever happens next.
struct Run<'a> {
    shared: &'a Shared<'a>,
    scanner: &'static dyn Scanner,
    tool: Tool,
    report: ScannerReport,
    options: Map<String, Value>,
    deadline: Option<Instant>,
}

/// Runs a scanner to its end. `started` is called when its first process is about to start.
pub(crate) fn run(shared: &Shared<'_>, scanner: &'static dyn Scanner, started: &dyn Fn()) -> Part {
    let settings =
        shared.request.settings.scanners.get(scanner.id().as_str()).cloned().unwrap_or_default();
    let timeout = settings.scan_timeout.unwrap_or(Some(DEFAULT_TIMEOUT));
    let mut run = Run {
        shared,
        scanner,
        tool: scanner.tool(),
        report: blank(scanner.id(), shared.request, settings.threshold),
        options: settings.options,
        deadline: timeout.map(|timeout| Instant::now() + timeout),
    };
    let begun = Instant::now();
    match run.execute(started) {
        Ok(interpreted) => run.finish(interpreted, begun),
        Err(Stop(status)) => {
            run.report.duration = (run.report.exit_code.is_some()).then(|| begun.elapsed());
            run.report.status = status;
            Part { report: run.report, findings: vec![], sbom: None }
        }
    }
}

/// The report of a scanner that has not run.
pub(crate) fn blank(
    id: ScannerId,
    request: &Request,
    own: Option<ash_model::severity::Threshold>,
) -> ScannerReport {
    ScannerReport {
        id,
        status: Status::Skipped("not run".to_owned()),
        version: None,
        dependencies_satisfied: false,
        excluded: false,
        threshold: own.unwrap_or(request.settings.threshold),
        threshold_is_own: own.is_some(),
        counts: SeverityCounts::default(),
        actionable: 0,
        duration: None,
        exit_code: None,
        rules: vec![],
        invocations: vec![],
        sandbox: SandboxEvidence { mode: request.mode.to_string(), ..SandboxEvidence::off() },
        unevaluated: vec![],
        targets: None,
    }
}

impl Run<'_> {
    fn execute(&mut self, started: &dyn Fn()) -> Result<Interpreted, Stop> {
        let confinement =
            self.shared.confinement.as_ref().map_err(|reason| {
                Stop::refused(format!("scanner sandbox unavailable: {reason}"))
            })?;
        let tool = self.locate_tool()?;
        let results = self.results_dir()?;
        let own_results = results.path().join("source");
        let plan = self.scanner.plan(&self.site(&own_results));
        let calls = match plan {
            Plan::Run(calls) => calls,
            Plan::Skip(reason) => return Err(Stop(Status::Skipped(reason))),
            Plan::Missing(reason) => return Err(Stop::missing(reason)),
        };
        if self.shared.cancel.is_cancelled() {
            return Err(Stop::error("not started: the scan was interrupted"));
        }
        started();
        self.report.version = self.version(confinement, &tool)?;
        let mut outputs = Vec::with_capacity(calls.len());
        for call in calls {
            let output = self.call(confinement, &results, &own_results, &call)?;
            outputs.push((call, output));
        }
        self.scanner
            .interpret(&self.site(&own_results), &outputs)
            .map_err(|error| Stop::error(error.to_string()))
    }

    fn site<'s>(&'s self, results: &'s Path) -> Site<'s> {
        Site {
            source: &self.shared.request.source,
            results,
            output: self.shared.output,
            files: self.shared.files,
            reader: self.shared.reader,
            offline: self.shared.request.offline,
            options: &self.options,
            ignore_paths: self.shared.ignore_paths,
            variable: self.shared.variable,
        }
    }

    /// The scanner's program, or MISSING with what to type.
    fn locate_tool(&mut self) -> Result<Located, Stop> {
        let lookup = &self.shared.request.lookup;
        let program = ash_model::tool::Program::Tool(self.tool.program);
        let tool = lookup
            .locate(&program)
            .map_err(|error| Stop::missing(format!("{error}; {}", self.how_to_install())))?;
        for companion in self.tool.companions {
            lookup
                .locate(&ash_model::tool::Program::Tool(companion))
                .map_err(|error| Stop::missing(format!("{error}; {}", self.how_to_install())))?;
        }
        self.report.dependencies_satisfied = true;
        Ok(tool)
    }

    fn how_to_install(&self) -> String {
        match self.tool.install {
            Install::Uv { .. } => {
                format!("install it with `ash dependencies install --tool {}`", self.scanner.id())
            }
            Install::System { hint } => hint.to_owned(),
        }
    }

    fn results_dir(&self) -> Result<ResultsDir, Stop> {
        let name = RelPath::new(Path::new("scanners").join(self.scanner.id().as_str()))
            .map_err(|error| Stop::error(error.to_string()))?;
        let results = ResultsDir::create(self.shared.output, &name)
            .map_err(|error| Stop::refused(refused_results(self.shared.output, &name, &error)))?;
        RelPath::new("source")
            .map_err(|error| error.to_string())
            .and_then(|name| results.make_dir(&name).map_err(|error| error.to_string()))
            .map_err(Stop::error)?;
        Ok(results)
    }

    /// The version of a tool in ash's own directory is what ash installed; any other tool is asked, once, in the same sandbox and
    /// with a results directory that is thrown away.
    fn version(
        &mut self,
        confinement: &Confinement,
        tool: &Located,
    ) -> Result<Option<String>, Stop> {
        if tool.own {
            return Ok(self.shared.request.lookup.tools.version_of(self.tool.program));
        }
        let Some(probe) = self.tool.version.clone() else { return Ok(None) };
        let throwaway = ResultsDir::fresh(&self.shared.request.temp).map_err(|error| {
            Stop::error(format!("cannot make a directory for the version probe: {error}"))
        })?;
        let timeout = Some(Duration::from_secs(probe.timeout_seconds));
        let path = throwaway.path().to_owned();
        let output = self.spawn(confinement, &throwaway, &path, &probe.call, timeout);
        if let Err(error) = throwaway.discard() {
            tracing::warn!("cannot remove {}: {error}", path.display());
        }
        let output = output?;
        Ok(first_version(&output.stdout.text()).or_else(|| first_version(&output.stderr.text())))
    }

    fn call(
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
        let timeout =
            self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
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
        let cwd = match &call.cwd {
            Cwd::Source => request.source.clone(),
            Cwd::Results => own_results.to_owned(),
            Cwd::Root => PathBuf::from("/"),
            Cwd::Within(path) => request.source.join(path.as_path()),
        };
        let requirements = self.scanner.requirements();
        let id = self.scanner.id();
        let network = request.settings.sandbox.network.allows(
            id.as_str(),
            requirements.network,
            requirements.network_requires_grant,
            request.offline,
        );
        let ground = Ground {
            source: request.source.clone(),
            output: Some(self.shared.output.to_owned()),
            targets: vec![],
            results: results.path().to_owned(),
            cwd,
        };
        let grants = Grants {
            network,
            offline: request.offline,
            extra_read_paths: request.settings.sandbox.extra_read_paths.clone(),
        };
        let policy = Policy::resolve(
            id.as_str(),
            &requirements,
            &request.site,
            &ground,
            &grants,
            &located.path,
            &call.env,
        )
        .map_err(|error| Stop::refused(error.to_string()))?;
        let command = Command { program: located.path.clone(), args: call.args.clone() };
        let prepared = if confinement.is_off() {
            confinement.unconfined(&command, with(&request.environment, &call.env), &ground.cwd)
        } else {
            confinement.prepare(&policy, &command)
        };
        let prepared = prepared.map_err(|error| Stop::refused(error.to_string()))?;

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
        self.record(&finished, &located.path, call, &ground.cwd, started, swept.removed);
        if swept.failed > 0 {
            return Err(Stop::error(format!(
                "{id} left {} entries in its results that cannot be examined or removed",
                swept.failed
            )));
        }
        if let Some(over) = swept.over {
            return Err(Stop::error(over.to_string()));
        }
        if let Some(reason) = unusable(&finished, &self.report.id, timeout) {
            self.keep_logs(results, call, &output_of(finished));
            return Err(Stop::error(reason));
        }
        Ok(output_of(finished))
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

    fn finish(mut self, mut interpreted: Interpreted, begun: Instant) -> Part {
        crate::merge::apply(&mut interpreted.findings, self.shared.request.judgement.as_ref());
        let (counts, actionable) =
            crate::merge::count(&interpreted.findings, self.report.threshold);
        self.report.rules = crate::merge::used_rules(interpreted.rules, &interpreted.findings);
        self.report.counts = counts;
        self.report.actionable = actionable;
        self.report.status = if actionable > 0 { Status::Failed } else { Status::Passed };
        self.report.version = self.report.version.or(interpreted.version);
        self.report.unevaluated = interpreted.unevaluated;
        self.report.targets = interpreted.targets;
        self.report.duration = Some(begun.elapsed());
        Part { report: self.report, findings: interpreted.findings, sbom: interpreted.sbom }
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

fn refused_results(output: &Path, name: &RelPath, error: &std::io::Error) -> String {
    let path = output.join(name.as_path());
    let is_link = path.ancestors().take_while(|part| *part != output).any(|part| part.is_symlink());
    let why = if is_link {
        "it is a symlink or is reached through one".to_owned()
    } else {
        error.to_string()
    };
    format!(
        "the results directory `{}` is refused: {why}; remove it, or give another `--output-dir`",
        printable(path.as_os_str())
    )
}

/// A scanner's own files live in `source/` of its results directory.
fn under_source(name: &RelPath) -> RelPath {
    RelPath::new(Path::new("source").join(name.as_path())).unwrap_or_else(|_| name.clone())
}

/// Why a finished process cannot have given whole results, if that is certain already.
fn unusable(finished: &Finished, id: &ScannerId, timeout: Option<Duration>) -> Option<String> {
    if finished.cancelled {
        return Some("stopped: the scan was interrupted before it ended".to_owned());
    }
    if finished.timed_out {
        let seconds = timeout.map_or(0, |timeout| timeout.as_secs());
        return Some(format!(
            "{id} timed out after {seconds} s; raise `scanners.{id}.options.scan_timeout` or exclude what takes so long"
        ));
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
