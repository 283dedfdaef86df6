//! The one aggregate that every report is rendered from.

use std::{path::PathBuf, time::Duration};

use serde_json::{Map, Value};

use crate::{
    evidence::SandboxEvidence,
    finding::{Finding, Rule},
    ids::ScannerId,
    notice::Notice,
    severity::{SeverityCounts, Threshold},
    status::Status,
    suppression::SuppressionRecord,
};

/// A finished scan.
#[derive(Debug, Clone, PartialEq)]
pub struct ScanReport {
    /// About the scan itself.
    pub scan: ScanMeta,
    /// One entry per known scanner that was considered, sorted by name.
    pub scanners: Vec<ScannerReport>,
    /// All findings, sorted by scanner, path, line, column, rule, message.
    pub findings: Vec<Finding>,
    /// What was dropped, passed over or could not be done, for the summary.
    pub notices: Vec<Notice>,
    /// Every suppression of the settings and what became of it, in the settings' order.
    pub suppressions: Vec<SuppressionRecord>,
    /// The merged CycloneDX document, when an SBOM scanner ran.
    pub sbom: Option<Value>,
    /// The settings the scan ran with, as `ash_config` in the aggregated results.
    pub settings: Map<String, Value>,
}

/// About the scan itself. Times are RFC 3339 in UTC with second precision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScanMeta {
    /// ash's version.
    pub ash_version: String,
    /// From config.
    pub project_name: String,
    /// When it started.
    pub started: String,
    /// When it ended.
    pub finished: String,
    /// How long it took.
    pub duration: Duration,
    /// The scanned directory, absolute, as given.
    pub source_dir: PathBuf,
    /// Where the results are, absolute.
    pub output_dir: PathBuf,
    /// Whether no scanner had a network.
    pub offline: bool,
    /// The sandbox mode asked for.
    pub sandbox_mode: String,
    /// The backend that was used, when there is one for all.
    pub sandbox_backend: Option<String>,
    /// The threshold for scanners without their own.
    pub threshold: Threshold,
    /// Whether findings fail the scan.
    pub fail_on_findings: bool,
    /// Whether the user stopped the scan before it ended.
    pub interrupted: bool,
}

/// One scanner's part.
#[derive(Debug, Clone, PartialEq)]
pub struct ScannerReport {
    /// Which.
    pub id: ScannerId,
    /// How it ended.
    pub status: Status,
    /// The tool's version as its own program printed it.
    pub version: Option<String>,
    /// Whether the tool was found.
    pub dependencies_satisfied: bool,
    /// Whether the operator excluded it.
    pub excluded: bool,
    /// The least severity that fails it.
    pub threshold: Threshold,
    /// Whether that threshold is its own (`config`) or everyone's (`global`).
    pub threshold_is_own: bool,
    /// Findings by severity.
    pub counts: SeverityCounts,
    /// Unsuppressed findings at or above the threshold.
    pub actionable: u64,
    /// How long its processes ran, from the first start to the last end.
    pub duration: Option<Duration>,
    /// The last call's exit code, or 128 plus the signal.
    pub exit_code: Option<i32>,
    /// Rules its findings refer to.
    pub rules: Vec<Rule>,
    /// What it was run as, for SARIF invocations.
    pub invocations: Vec<Invocation>,
    /// What the sandbox really did.
    pub sandbox: SandboxEvidence,
    /// Targets (files, templates, lock files) it was given and could not evaluate, with the reason.
    pub unevaluated: Vec<String>,
    /// How many targets it was given, where it counts them.
    pub targets: Option<u64>,
}

/// One finished call of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// The tool's own command line, without the sandbox around it.
    pub command_line: Vec<String>,
    /// Working directory.
    pub working_directory: String,
    /// RFC 3339, UTC.
    pub started: String,
    /// RFC 3339, UTC.
    pub finished: String,
    /// Exit code, if it ended by itself.
    pub exit_code: Option<i32>,
    /// Signal, if one ended it.
    pub signal: Option<i32>,
    /// Whether its output was accepted.
    pub successful: bool,
}
