//! One scan from settings to written reports.

use std::{
    ffi::OsString,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::Mutex,
    time::{Duration, Instant},
};

use ash_config::Settings;
use ash_intake::{Index, NoFollowReader, OwnResults, ScanSet, Vendored, Walk};
use ash_model::{
    finding::Finding,
    notice::Notice,
    path::{RelPath, printable},
    report::{ScanMeta, ScanReport, ScannerReport},
    status::Status,
};
use ash_sandbox::{Cancel, Confinement, Launcher, Mode, Site};
use serde_json::Value;

use crate::{
    clock::now,
    event::{Event, Sink},
    gate::{Gate, Verdict, judge},
    merge::{Judgement, sort},
    publish::{self, PublishError},
    run::{self, Part, Shared},
    schedule::{self, Claim, Turns},
    select::{Selected, Selection, UnknownScanners, select},
    tools::Lookup,
};

/// Everything a scan depends on. Paths are absolute.
pub struct Request {
    /// The directory to scan, as given.
    pub source: PathBuf,
    /// Where results go.
    pub output: PathBuf,
    /// The operator did not name it: it is where a scanned tree can expect it.
    pub output_is_default: bool,
    /// The resolved settings.
    pub settings: Settings,
    /// What loading the settings had to say.
    pub notices: Vec<Notice>,
    /// Which scanners.
    pub selection: Selection,
    /// The sandbox asked for.
    pub mode: Mode,
    /// No network for anyone.
    pub offline: bool,
    /// Facts of this machine.
    pub site: Site,
    /// Where programs are found.
    pub lookup: Lookup,
    /// One scanner after the other.
    pub sequential: bool,
    /// Which findings do not count.
    pub judgement: Box<dyn Judgement + Send + Sync>,
    /// When the result fails.
    pub gate: Gate,
    /// Where temporary directories are made.
    pub temp: PathBuf,
    /// The caller's environment.
    pub environment: Vec<(OsString, OsString)>,
}

impl std::fmt::Debug for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Request")
            .field("source", &self.source)
            .field("output", &self.output)
            .field("mode", &self.mode)
            .finish_non_exhaustive()
    }
}

impl Request {
    /// A variable of the caller's environment.
    pub fn variable(&self, name: &str) -> Option<OsString> {
        self.environment.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone())
    }
}

/// A finished scan, reports written.
#[derive(Debug)]
pub struct Outcome {
    /// Everything.
    pub report: ScanReport,
    /// What it means.
    pub verdict: Verdict,
    /// The report files, absolute.
    pub written: Vec<PathBuf>,
}

/// Why there is no result at all.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    /// Nothing to scan.
    #[error("`{0}` is not a directory that can be scanned: {1}")]
    Source(String, String),
    /// `--scanners` names nobody.
    #[error(transparent)]
    Unknown(#[from] UnknownScanners),
    /// The output directory is not acceptable or not writable.
    #[error(transparent)]
    Publish(#[from] PublishError),
}

/// Runs a scan.
///
/// # Errors
/// When nothing can be scanned or nothing can be written. A scanner's own trouble is its status, not an error.
pub fn scan(
    request: &Request,
    launcher: &Launcher,
    cancel: &Cancel,
    sink: &mut dyn Sink,
) -> Result<Outcome, ScanError> {
    let begun = Instant::now();
    let started = now();
    if let Err(error) = std::fs::read_dir(&request.source) {
        return Err(ScanError::Source(printable(request.source.as_os_str()), error.to_string()));
    }
    let (selected, unknown) = select(&request.selection, &request.settings)?;
    let index = Index::around(&request.source);
    let earlier = OwnResults::within(&request.source, &request.output)
        .earlier(&request.source, index.as_ref());
    let (output, _claim) = publish::prepare(request)?;
    let own = OwnResults::within(&request.source, &output);

    let mut notices = request.notices.clone();
    notices.extend(unknown.iter().map(|name| unknown_scanner(name)));
    notices.extend(crate::suppress::expiring(&request.settings));
    notices.extend(crate::steered::by_config(&request.settings));
    let running = selected.iter().filter(|choice| choice.skipped.is_none());
    let running: Vec<_> = running.map(|choice| choice.scanner.id()).collect();
    notices.extend(crate::steered::by_options(&request.settings, &running));
    let (confinement, passed_over) = choose(request, launcher, &selected);
    notices.extend(passed_over);
    let ignored = crate::suppress::Ignored::new(&request.settings);
    let walk = Walk {
        source: &request.source,
        own: &own,
        excluded: Some(&ignored),
        confined_root: request.site.is_root() && request.mode != Mode::Off,
    };
    let set = ash_intake::scan_set(&walk).map_err(|error| {
        ScanError::Source(printable(request.source.as_os_str()), error.to_string())
    })?;
    notices.extend(crate::steered::by_ignore_files(&set));
    notices.extend(earlier.iter().filter_map(crate::steered::by_results));
    let vendored = Vendored::of(&request.source, index.as_ref(), &set.passed_over);
    notices.extend(crate::steered::by_directory_names(&vendored));
    notices.extend(set.notices.iter().cloned());
    notices.extend(unread_notices(&set));
    let reader = NoFollowReader::new(&request.source).map_err(|error| {
        ScanError::Source(printable(request.source.as_os_str()), error.to_string())
    })?;
    let variable = |name: &str| request.variable(name);
    let source = confinement
        .as_ref()
        .map_or_else(|_| request.source.clone(), |confinement| confinement.told(&request.source));
    let shared = Shared {
        request,
        source: &source,
        launcher,
        cancel,
        confinement: &confinement,
        files: &set.files,
        reader: &reader,
        output: &output,
        own: &own,
        variable: &variable,
    };

    let sandbox = confinement.as_ref().map_or("unavailable", name_of).to_owned();
    sink.event(Event::Started { scanners: running, sandbox: sandbox.clone() });
    notices.iter().for_each(|notice| sink.event(Event::Notice(notice.clone())));
    let parts = run_all(&shared, &selected, request.sequential, &Mutex::new(&mut *sink));
    let mut late = request.judgement.notices();
    late.extend(crate::suppress::excused(parts.iter().map(|part| (&part.report.id, part.excused))));
    late.iter().for_each(|notice| sink.event(Event::Notice(notice.clone())));
    notices.extend(late);
    sink.event(Event::Reporting);

    let scan = ScanMeta {
        ash_version: env!("CARGO_PKG_VERSION").to_owned(),
        project_name: request.settings.project_name.clone(),
        started,
        finished: now(),
        duration: begun.elapsed(),
        source_dir: request.source.clone(),
        output_dir: output.clone(),
        offline: request.offline,
        sandbox_mode: request.mode.to_string(),
        sandbox_backend: confinement
            .as_ref()
            .ok()
            .filter(|confinement| !confinement.is_off())
            .map(|confinement| name_of(confinement).to_owned()),
        threshold: request.settings.threshold,
        fail_on_findings: request.gate.on_findings,
        interrupted: cancel.is_cancelled(),
    };
    let report = assemble(scan, parts, notices, request);
    let verdict = judge(&report, set.unread.len(), request.gate);
    let written = publish::write(request, &output, &report, &set)?;
    Ok(Outcome { report, verdict, written })
}

/// The first of the files and directories that could not be read; the verdict has their number.
fn unread_notices(set: &ScanSet) -> impl Iterator<Item = Notice> + '_ {
    const SHOWN: usize = 20;
    set.unread.iter().take(SHOWN).map(|unread| {
        Notice::new(format!("`{}`", unread.path), format!("not scanned: {}", unread.reason))
            .hint("make it readable, or name it in `ignore_paths`")
    })
}

/// `off`, or the backend's name.
fn name_of(confinement: &Confinement) -> &'static str {
    confinement.backend().map_or("off", |backend| backend.as_str())
}

fn unknown_scanner(name: &str) -> Notice {
    let nearest = crate::select::closest(
        name,
        ash_scanners::SCANNERS
            .iter()
            .map(|scanner| scanner.id())
            .collect::<Vec<_>>()
            .iter()
            .map(|id| id.as_str()),
    )
    .map(|name| format!("did you mean `{name}`?"));
    Notice {
        key: "--scanners".to_owned(),
        file: None,
        reason: format!("no scanner is named `{name}`"),
        hint: nearest,
    }
}

/// The sandbox for all scanners, or why there is none. Nothing is probed when nothing will run.
fn choose(
    request: &Request,
    launcher: &Launcher,
    selected: &[Selected],
) -> (Result<Confinement, String>, Vec<Notice>) {
    if selected.iter().all(|choice| choice.skipped.is_some()) {
        return (Err("no scanner runs".to_owned()), vec![]);
    }
    match Confinement::choose(request.mode, &request.site, launcher) {
        Ok(chosen) => (Ok(chosen.confinement), chosen.notices),
        Err(refusal) => (Err(refusal.reason), vec![]),
    }
}

fn run_all(
    shared: &Shared<'_>,
    selected: &[Selected],
    sequential: bool,
    sink: &Mutex<&mut dyn Sink>,
) -> Vec<Part> {
    let one = |choice: &Selected| match &choice.skipped {
        Some(reason) => skipped(choice, reason, shared.request),
        None => run_one(shared, choice, sink),
    };
    if sequential {
        return selected.iter().map(one).collect();
    }
    let claim = |choice: &Selected| {
        let needs = choice.scanner.requirements();
        let waits = needs.network && !needs.network_requires_grant && !shared.request.offline;
        Claim { effort: choice.scanner.effort(), is_free: choice.skipped.is_some() || waits }
    };
    let parts = schedule::run(selected, Turns::here(), claim, one);
    let whole = |(part, choice): (Option<Part>, &Selected)| {
        part.unwrap_or_else(|| failed(choice, shared.request))
    };
    parts.into_iter().zip(selected).map(whole).collect()
}

fn run_one(shared: &Shared<'_>, choice: &Selected, sink: &Mutex<&mut dyn Sink>) -> Part {
    let tell = |event: Event| {
        if let Ok(mut sink) = sink.lock() {
            sink.event(event);
        }
    };
    let scanner = choice.scanner.id();
    let started = || tell(Event::Running { scanner: scanner.clone() });
    // A scanner's output is hostile: should reading it panic, that scanner failed and no other.
    let part = catch_unwind(AssertUnwindSafe(|| run::run(shared, choice.scanner, &started)))
        .unwrap_or_else(|_| failed(choice, shared.request));
    let findings = part.findings.iter().filter(|finding| !finding.is_suppressed()).count() as u64;
    let duration = part.report.duration.unwrap_or(Duration::ZERO);
    part.notices.iter().for_each(|notice| tell(Event::Notice(notice.clone())));
    tell(Event::Ended {
        scanner,
        status: part.report.status.clone(),
        findings,
        actionable: part.report.actionable,
        duration,
    });
    part
}

fn skipped(choice: &Selected, reason: &str, request: &Request) -> Part {
    let mut report = run::blank(choice.scanner.id(), request, None);
    report.status = Status::Skipped(reason.to_owned());
    report.excluded = choice.excluded;
    Part { report, findings: vec![], sbom: None, notices: vec![], excused: 0 }
}

fn failed(choice: &Selected, request: &Request) -> Part {
    let mut report = run::blank(choice.scanner.id(), request, None);
    report.status =
        Status::Error("ash failed while reading its results (a bug: please report it)".to_owned());
    Part { report, findings: vec![], sbom: None, notices: vec![], excused: 0 }
}

fn assemble(
    scan: ScanMeta,
    parts: Vec<Part>,
    mut notices: Vec<Notice>,
    request: &Request,
) -> ScanReport {
    let mut scanners: Vec<ScannerReport> = Vec::with_capacity(parts.len());
    let mut findings: Vec<Finding> = Vec::new();
    let mut sbom: Option<Value> = None;
    for part in parts {
        scanners.push(part.report);
        findings.extend(part.findings);
        notices.extend(part.notices);
        sbom = sbom.or(part.sbom);
    }
    scanners.sort_by(|a, b| a.id.cmp(&b.id));
    sort(&mut findings);
    let suppressions = request.judgement.records(&scanners, request.offline);
    notices.extend(crate::suppress::unused(&suppressions));
    ScanReport {
        scan,
        scanners,
        findings,
        notices,
        suppressions,
        sbom,
        settings: request.settings.resolved.clone(),
    }
}

/// The default output directory of a scanned directory.
pub fn default_output(source: &Path) -> PathBuf {
    source.join(ash_model::results::DEFAULT_OUTPUT)
}

/// The file list as written for people: one printable path a line.
pub(crate) fn file_list(files: &[RelPath]) -> Vec<u8> {
    files.iter().map(|file| file.printable() + "\n").collect::<String>().into_bytes()
}
