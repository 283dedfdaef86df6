//! The validated result of loading: what the engine runs with. Only this crate makes one.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use ash_model::{notice::Notice, severity::Threshold};
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
    /// Whether `fail_on_incomplete: false` was said inside the scanned tree: it then does not cover scanners that are MISSING because of the sandbox.
    pub incomplete_rule_is_in_tree: bool,
    /// Whether a stale content database fails the scan.
    pub staleness: Staleness,
    /// Whether `staleness` or an override was said inside the scanned tree: it then does not cover scanners refused by the sandbox.
    pub staleness_is_in_tree: bool,
    /// Exceptions for single databases.
    pub staleness_overrides: Vec<StalenessOverride>,
    /// Per-converter settings by converter name.
    pub converters: BTreeMap<String, ReporterSettings>,
    /// `external_reports_to_include`, as written.
    pub external_reports: Vec<String>,
    /// `workspace.max_parallel_projects`.
    pub max_parallel_projects: Option<u32>,
    /// `workspace.project_timeout`.
    pub project_timeout: Option<Duration>,
    /// Whether any file the configuration was built from lies in the scanned tree.
    pub config_in_tree: bool,
}

impl Default for Settings {
    /// What a scan without any configuration runs with.
    fn default() -> Self {
        Self {
            project_name: "ash-scan".to_owned(),
            fail_on_findings: true,
            fail_on_incomplete: true,
            threshold: Threshold::default(),
            scanners: BTreeMap::new(),
            reporters: BTreeMap::new(),
            ignore_paths: Vec::new(),
            suppressions: Vec::new(),
            sandbox: SandboxSettings::default(),
            resolved: Map::new(),
            incomplete_rule_is_in_tree: false,
            staleness: Staleness::Fail,
            staleness_is_in_tree: false,
            staleness_overrides: Vec::new(),
            converters: BTreeMap::new(),
            external_reports: Vec::new(),
            max_parallel_projects: None,
            project_timeout: None,
            config_in_tree: false,
        }
    }
}

impl Settings {
    /// Whether a scanner works offline: because the whole scan does, or because its own `options.offline` says so.
    pub fn offline(&self, scanner: &str, scan: bool) -> bool {
        let own = self.scanners.get(scanner).and_then(|own| own.options.get("offline"));
        scan || own == Some(&Value::Bool(true))
    }

    /// Whether a report is written: every one is, unless `reporters.<name>.enabled` says no, or its `output_format` leaves this file out.
    pub fn writes(&self, reporter: &str) -> bool {
        let (name, form) = match reporter.strip_prefix(UNUSED) {
            Some("") => (UNUSED, "json"),
            Some("-markdown") => (UNUSED, "markdown"),
            _ => (reporter, ""),
        };
        let Some(own) = self.reporters.get(name) else { return true };
        let wanted = own.options.get("output_format").and_then(Value::as_str).unwrap_or("both");
        own.enabled != Some(false) && (form.is_empty() || ["both", form].contains(&wanted))
    }
}

/// The one report that is written in two files, under two names.
const UNUSED: &str = "unused-suppressions";

/// What a stale content database does to the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Staleness {
    /// The scan is incomplete.
    #[default]
    Fail,
    /// A warning only.
    Warn,
}

/// One entry of `content_db_staleness_overrides`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StalenessOverride {
    /// The database's name, such as `grype-db`.
    pub database: String,
    /// What its staleness does.
    pub policy: Staleness,
    /// `YYYY-MM-DD`: no longer applied from that day on.
    pub expiration: String,
    /// Why.
    pub reason: String,
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
    /// `name`, when it differs from the key: grants go by the scanner's own name, so a renamed scanner is not run.
    pub renamed: Option<String>,
    /// Which options of the scanned tree decide what it looks for or reports: to be said in each scan it takes part in.
    pub narrowed: Option<Notice>,
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
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IgnorePath {
    /// The glob.
    pub path: String,
    /// Why.
    pub reason: String,
    /// `YYYY-MM-DD`: no longer applied from that day on.
    pub expiration: Option<String>,
}

/// One entry of `global_settings.suppressions`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
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
    /// A qualified name the finding must lie in.
    pub symbol: Option<String>,
    /// Globs over name, version and path of the package a finding is about.
    pub package: PackageRule,
}

/// The package part of a suppression; all given globs must match.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PackageRule {
    /// `package_name`.
    pub name: Option<String>,
    /// `package_version`.
    pub version: Option<String>,
    /// `package_path`.
    pub path: Option<String>,
}

impl PackageRule {
    /// Whether nothing is asked of the package.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
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
    pub fn allows(
        &self,
        scanner: &str,
        declared: bool,
        requires_grant: bool,
        offline: bool,
    ) -> bool {
        let named = |list: &Vec<String>| list.iter().any(|name| name == scanner);
        let granted = self.granted.as_ref().map_or(declared && !requires_grant, named);
        granted && self.limit.as_ref().is_none_or(named) && !offline
    }
}
