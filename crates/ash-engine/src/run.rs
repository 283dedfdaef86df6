//! Runs one scanner: find its tool, ask its plan, run its calls, understand what they left.

mod calls;
mod process;

use std::{
    ffi::OsString,
    path::Path,
    time::{Duration, Instant},
};

use ash_intake::OwnResults;
use ash_model::{
    evidence::SandboxEvidence,
    finding::Finding,
    ids::ScannerId,
    notice::Notice,
    path::{RelPath, printable},
    report::ScannerReport,
    severity::SeverityCounts,
    source::SourceReader,
    status::{Missing, Status},
};
use ash_sandbox::{Cancel, Confinement, Launcher, Mode, ResultsDir};
use ash_scanners::{Install, Interpreted, Plan, Scanner, Site, Tool};
use serde_json::{Map, Value};

use crate::{scan::Request, select, tools::Located};

/// How long a scanner's calls may take together when nobody says.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(1800);

/// What every scanner's run shares.
pub(crate) struct Shared<'a> {
    pub(crate) request: &'a Request,
    /// The scanned directory as tools are told it.
    pub(crate) source: &'a Path,
    pub(crate) launcher: &'a Launcher,
    pub(crate) cancel: &'a Cancel,
    /// The sandbox, or why there is none although one was asked for.
    pub(crate) confinement: &'a Result<Confinement, String>,
    pub(crate) files: &'a [RelPath],
    pub(crate) reader: &'a dyn SourceReader,
    /// The output directory, absolute.
    pub(crate) output: &'a Path,
    /// Results of this and of earlier scans in the source.
    pub(crate) own: &'a OwnResults,
    /// The caller's variables.
    pub(crate) variable: &'a (dyn Fn(&str) -> Option<OsString> + Sync),
}

/// What one scanner contributes to the report.
pub(crate) struct Part {
    pub(crate) report: ScannerReport,
    pub(crate) findings: Vec<Finding>,
    pub(crate) sbom: Option<Value>,
    pub(crate) notices: Vec<Notice>,
    /// Findings that only the scanned files themselves excuse.
    pub(crate) excused: u64,
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
    /// What all its calls may take together.
    limit: Option<Duration>,
    deadline: Option<Instant>,
}

/// Runs a scanner to its end. `started` is called when its first process is about to start.
pub(crate) fn run(shared: &Shared<'_>, scanner: &'static dyn Scanner, started: &dyn Fn()) -> Part {
    let settings =
        shared.request.settings.scanners.get(scanner.id().as_str()).cloned().unwrap_or_default();
    let renamed = select::renamed(scanner.id().as_str(), &settings);
    let timeout = settings.scan_timeout.unwrap_or(Some(DEFAULT_TIMEOUT));
    let mut run = Run {
        shared,
        scanner,
        tool: scanner.tool(),
        report: blank(scanner.id(), shared.request, settings.threshold),
        options: settings.options,
        limit: timeout,
        deadline: timeout.map(|timeout| Instant::now() + timeout),
    };
    let begun = Instant::now();
    // Whatever comes of this run, what lay in its results directory before is not of it.
    let ended = match (run.results_dir(), renamed) {
        (Err(stop), _) => Err(stop),
        (Ok(_), Some(reason)) => Err(Stop::refused(reason)),
        (Ok(results), None) => run.execute(&results, started),
    };
    match ended {
        Ok(interpreted) => run.finish(interpreted, begun),
        Err(Stop(status)) => {
            run.report.duration = (run.report.exit_code.is_some()).then(|| begun.elapsed());
            run.report.status = status;
            Part { report: run.report, findings: vec![], sbom: None, notices: vec![], excused: 0 }
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
    fn execute(&mut self, results: &ResultsDir, started: &dyn Fn()) -> Result<Interpreted, Stop> {
        let confinement =
            self.shared.confinement.as_ref().map_err(|reason| {
                Stop::refused(format!("scanner sandbox unavailable: {reason}"))
            })?;
        let tool = self.locate_tool()?;
        let own_results = confinement.told(results.path()).join("source");
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
        let outputs = self.make(confinement, results, &own_results, calls)?;
        self.scanner
            .interpret(&self.site(&own_results), &outputs)
            .map_err(|error| Stop::error(error.to_string()))
    }

    /// Whether this scanner's calls have a network. Without a sandbox nobody takes it away, and an offline scan asks that it be left alone.
    fn has_network(&self) -> bool {
        let request = self.shared.request;
        if self.shared.confinement.as_ref().is_ok_and(Confinement::is_off) {
            return !self.offline();
        }
        let requirements = self.scanner.requirements();
        request.settings.sandbox.network.allows(
            self.scanner.id().as_str(),
            requirements.network,
            requirements.network_requires_grant,
            self.offline(),
        )
    }

    fn site<'s>(&'s self, results: &'s Path) -> Site<'s> {
        Site {
            source: self.shared.source,
            results,
            outputs: self.shared.own.directories(),
            files: self.shared.files,
            reader: self.shared.reader,
            offline: self.offline(),
            network: self.has_network(),
            ignore_suppressions: !self.shared.request.judgement.obeys_sources(),
            options: &self.options,
            variable: self.shared.variable,
        }
    }

    fn offline(&self) -> bool {
        let request = self.shared.request;
        request.settings.offline(self.scanner.id().as_str(), request.offline)
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

    /// Its results directory, empty.
    fn results_dir(&self) -> Result<ResultsDir, Stop> {
        let name = RelPath::new(Path::new("scanners").join(self.scanner.id().as_str()))
            .map_err(|error| Stop::error(error.to_string()))?;
        let results = ResultsDir::create(self.shared.output, &name)
            .map_err(|error| Stop::refused(refused_results(self.shared.output, &name, &error)))?;
        let path = results.path().join("source");
        if self.shared.request.mode != Mode::Off && path.is_symlink() {
            let name = RelPath::new(name.as_path().join("source"))
                .map_err(|error| Stop::error(error.to_string()))?;
            let link = std::io::Error::other("it is a symlink");
            return Err(Stop::refused(refused_results(self.shared.output, &name, &link)));
        }
        // What lies here already was not written by this run, and would be read as if it were.
        results
            .clear()
            .map_err(|error| Stop::error(format!("cannot empty the results directory: {error}")))?;
        RelPath::new("source")
            .map_err(|error| error.to_string())
            .and_then(|name| results.make_dir(&name).map_err(|error| error.to_string()))
            .map_err(Stop::error)?;
        Ok(results)
    }

    fn finish(mut self, mut interpreted: Interpreted, begun: Instant) -> Part {
        let dropped = crate::merge::drop_own(&mut interpreted.findings, self.shared.own);
        interpreted.notices.extend(crate::steered::in_results(&self.report.id, dropped));
        let excused = crate::merge::apply(
            &mut interpreted.findings,
            self.shared.request.judgement.as_ref(),
            self.shared.reader,
        );
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
        Part {
            report: self.report,
            findings: interpreted.findings,
            sbom: interpreted.sbom,
            notices: interpreted.notices,
            excused,
        }
    }
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
