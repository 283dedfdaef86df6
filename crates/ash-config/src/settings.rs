//! The validated result of loading: what the engine runs with. Only this crate makes one.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use ash_model::severity::Threshold;
use serde_json::{Map, Value};

/// Everything a scan depends on, after precedence and trust.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// For reports.
    pub project_name: String,
    /// Whether actionable findings give exit code 2.
    pub fail_on_findings: bool,
    /// Whether an incomplete scan gives exit code 1. Never applies to scanners that are MISSING because of the sandbox when an in-tree file said it.
    pub fail_on_incomplete: bool,
    /// The least severity that fails.
    pub threshold: Threshold,
    /// Per-scanner settings by scanner name (kebab-case).
    pub scanners: BTreeMap<String, ScannerSettings>,
    /// Per-reporter settings by reporter name.
    pub reporters: BTreeMap<String, ReporterSettings>,
    /// Findings here are dropped; globs over the relative path.
    pub ignore_paths: Vec<IgnorePath>,
    /// Findings that do not count.
    pub suppressions: Vec<SuppressionRule>,
    /// The sandbox.
    pub sandbox: SandboxSettings,
    /// The resolved configuration as data, for `ash_config` in the results and `ash config get`.
    pub resolved: Map<String, Value>,
}

/// `scanners.<name>`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ScannerSettings {
    /// `enabled`; `None` when nobody said.
    pub enabled: Option<bool>,
    /// `options.severity_threshold`.
    pub threshold: Option<Threshold>,
    /// `options.scan_timeout`; `None` = the default, `Some(None)` = no limit.
    pub scan_timeout: Option<Option<Duration>>,
    /// The other options.
    pub options: Map<String, Value>,
}

/// `reporters.<name>`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReporterSettings {
    /// `enabled`.
    pub enabled: Option<bool>,
    /// `options`.
    pub options: Map<String, Value>,
}

/// One entry of `global_settings.ignore_paths`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IgnorePath {
    /// The glob.
    pub path: String,
    /// Why.
    pub reason: String,
}

/// One entry of `global_settings.suppressions`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuppressionRule {
    /// Path glob.
    pub path: String,
    /// Why.
    pub reason: String,
    /// Rule id glob.
    pub rule_id: Option<String>,
    /// First line.
    pub line_start: Option<u64>,
    /// Last line.
    pub line_end: Option<u64>,
    /// `YYYY-MM-DD`: no longer applied from that day on.
    pub expiration: Option<String>,
}

/// `sandbox`, after the trust rules.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SandboxSettings {
    /// The mode, as its config word (`off`, `auto`, `bwrap`, …); `None` when nobody said: off.
    pub mode: Option<String>,
    /// Who may have a network.
    pub network: NetworkPolicy,
    /// Extra read-only paths, expanded, absolute.
    pub extra_read_paths: Vec<PathBuf>,
}

/// Who may have a network when the scan is online.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NetworkPolicy {
    /// A trusted `network_scanners`: replaces the declared needs. `None`: declared needs.
    pub granted: Option<Vec<String>>,
    /// An untrusted `network_scanners`: scanners it does not name lose the network. `None`: no limit.
    pub limit: Option<Vec<String>>,
}

impl NetworkPolicy {
    /// Whether a scanner gets a network: its declaration, whether that alone is not enough, and the offline flag, which beats all.
    pub fn allows(&self, scanner: &str, declared: bool, requires_grant: bool, offline: bool) -> bool {
        let named = |list: &Vec<String>| list.iter().any(|name| name == scanner);
        let granted = self.granted.as_ref().map_or(declared && !requires_grant, named);
        granted && self.limit.as_ref().is_none_or(named) && !offline
    }
}
