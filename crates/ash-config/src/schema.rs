//! Every key of every published version, as data: what it holds, and what ash does with it.

/// What a value may be.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    Bool,
    Text,
    /// A whole number in these bounds.
    Int(i64, i64),
    /// A number in these bounds; null allowed.
    Number(f64, f64),
    /// One of these words, exactly.
    Choice(&'static [&'static str]),
    /// `YYYY-MM-DD`.
    Date,
    /// A list of one shape.
    List(&'static Shape),
    /// One value of a shape or a list of them.
    OneOrMore(&'static Shape),
    /// Known keys; others are mistakes.
    Section(&'static [Field]),
    /// Names the user chooses, or that plugins bring.
    Named(&'static Names),
    /// Anything.
    Any,
}

/// A key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field {
    pub(crate) key: &'static str,
    pub(crate) shape: Shape,
    pub(crate) required: bool,
    /// For a key of a published version that ash reads and does not use: what ash does instead.
    pub(crate) instead: Option<&'static str>,
}

/// A section keyed by plugin names.
#[derive(Debug)]
pub(crate) struct Names {
    /// What the names are called in messages.
    pub(crate) kind: &'static str,
    /// The names ash ships besides the scanners it was told of.
    pub(crate) known: &'static [&'static str],
    /// The keys of each entry.
    pub(crate) entry: Shape,
    /// The options of each plugin by name.
    pub(crate) options: &'static [(&'static str, &'static [Field])],
}

const fn field(key: &'static str, shape: Shape) -> Field {
    Field { key, shape, required: false, instead: None }
}

const fn required(key: &'static str, shape: Shape) -> Field {
    Field { key, shape, required: true, instead: None }
}

const fn unused(key: &'static str, shape: Shape, instead: &'static str) -> Field {
    Field { key, shape, required: false, instead: Some(instead) }
}

pub(crate) const MODES: &[&str] =
    &["off", "auto", "bwrap", "firejail", "landlock", "sandbox-exec", "gvisor"];
pub(crate) const THRESHOLDS: &[&str] = &["ALL", "LOW", "MEDIUM", "HIGH", "CRITICAL"];
/// Seconds a scanner may take when nobody says otherwise.
pub(crate) const SCAN_TIMEOUT: f64 = 1800.0;
const YEARS: f64 = 1e9;

const TEXTS: Shape = Shape::List(&Shape::Text);

/// The whole configuration.
pub(crate) const ROOT: &[Field] = &[
    field("project_name", Shape::Text),
    field("fail_on_findings", Shape::Bool),
    field("fail_on_incomplete_scanners", Shape::Bool),
    field("content_db_staleness", Shape::Choice(&["fail", "warn"])),
    field("content_db_staleness_overrides", Shape::List(&Shape::Section(STALENESS))),
    field("global_settings", Shape::Section(GLOBAL)),
    field("scanners", Shape::Named(&SCANNERS)),
    field("reporters", Shape::Named(&REPORTERS)),
    field("converters", Shape::Named(&CONVERTERS)),
    field("ash_plugin_modules", TEXTS),
    field("external_reports_to_include", TEXTS),
    unused("build", Shape::Any, "ash builds no images from configuration"),
    field("mcp-resource-management", Shape::Section(MCP_RESOURCES)),
    field("sandbox", Shape::Section(SANDBOX)),
    field("workspace", Shape::Section(WORKSPACE)),
    field("extends", Shape::OneOrMore(&Shape::Text)),
    field("patch", Shape::List(&Shape::Any)),
];

const STALENESS: &[Field] = &[
    required("database", Shape::Text),
    required("policy", Shape::Choice(&["fail", "warn"])),
    required("expiration", Shape::Date),
    required("reason", Shape::Text),
];

pub(crate) const SANDBOX: &[Field] = &[
    field("mode", Shape::Choice(MODES)),
    field("network_scanners", TEXTS),
    field("extra_read_paths", TEXTS),
    unused(
        "read_path_scanners",
        TEXTS,
        "ash grants no read paths derived from options; name the paths in `sandbox.extra_read_paths`",
    ),
    unused("env_scanners", TEXTS, "ash grants no environment derived from options"),
    unused("network_limit", Shape::Any, "it was internal; use `sandbox.network_scanners`"),
];

const WORKSPACE: &[Field] = &[
    field("max_parallel_projects", Shape::Int(1, 1024)),
    field("project_timeout", Shape::Number(0.0, YEARS)),
];

pub(crate) const GLOBAL: &[Field] = &[
    field("severity_threshold", Shape::Choice(THRESHOLDS)),
    field("ignore_paths", Shape::List(&Shape::Section(IGNORE_PATH))),
    field("suppressions", Shape::List(&Shape::Section(SUPPRESSION))),
    field("mcp", Shape::Section(&[field("runtime_overrides", Shape::Section(RUNTIME_OVERRIDES))])),
];

const IGNORE_PATH: &[Field] = &[
    required("path", Shape::Text),
    required("reason", Shape::Text),
    field("expiration", Shape::Date),
];

const SUPPRESSION: &[Field] = &[
    required("path", Shape::Text),
    required("reason", Shape::Text),
    field("rule_id", Shape::Text),
    field("line_start", Shape::Int(0, i64::MAX)),
    field("line_end", Shape::Int(0, i64::MAX)),
    field("expiration", Shape::Date),
    field("symbol", Shape::Text),
    field("package_name", Shape::Text),
    field("package_version", Shape::Text),
    field("package_path", Shape::Text),
];

const RUNTIME_OVERRIDES: &[Field] = &[
    field("enabled", Shape::Bool),
    field("allowed_paths", TEXTS),
    field("denied_paths", TEXTS),
    field("denied_value_patterns", TEXTS),
];

const MCP_RESOURCES: &[Field] = &[
    field("max_concurrent_scans", Shape::Int(1, 10)),
    field("max_concurrent_tasks", Shape::Int(1, 50)),
    field("thread_pool_max_workers", Shape::Int(1, 20)),
    field("scan_timeout_seconds", Shape::Int(60, 7200)),
    field("operation_timeout_seconds", Shape::Int(30, 600)),
    field("shutdown_timeout_seconds", Shape::Int(5, 300)),
    field("memory_warning_threshold_mb", Shape::Int(100, 8192)),
    field("memory_critical_threshold_mb", Shape::Int(200, 16384)),
    field("task_count_warning_threshold", Shape::Int(5, 100)),
    field("max_message_size_bytes", Shape::Int(1024, 104_857_600)),
    field("max_path_length", Shape::Int(256, 8192)),
    field("max_directory_size_mb", Shape::Int(10, 10240)),
    field("enable_health_checks", Shape::Bool),
    field("health_check_interval_seconds", Shape::Int(10, 300)),
    field("enable_resource_logging", Shape::Bool),
    field("log_resource_operations", Shape::Bool),
];

const PLUGIN: &[Field] = &[
    field("enabled", Shape::Bool),
    field("options", Shape::Any),
    field("name", Shape::Text),
    field("extension", Shape::Text),
    field("tool_version", Shape::Text),
    field("install_timeout", Shape::Number(0.0, YEARS)),
];

const PATHS_WITH_REASON: Shape = Shape::List(&Shape::Section(&[
    required("path", Shape::Text),
    field("reason", Shape::Text),
    field("expiration", Shape::Date),
]));

/// Options every scanner has.
pub(crate) const COMMON_OPTIONS: &[Field] = &[
    field("severity_threshold", Shape::Choice(THRESHOLDS)),
    field("scan_timeout", Shape::Number(0.0, YEARS)),
    field("offline", Shape::Bool),
    field("tool_version", Shape::Text),
    field("install_timeout", Shape::Number(0.0, YEARS)),
    field("additional_formats", TEXTS),
];

/// `scanners`.
pub(crate) const SCANNERS: Names = Names {
    kind: "scanner",
    known: &[
        "bandit",
        "cdk-nag",
        "cfn-nag",
        "checkov",
        "detect-secrets",
        "grype",
        "npm-audit",
        "opengrep",
        "semgrep",
        "syft",
        "actionlint",
        "cfn-lint",
        "cfn-guard",
        "gitleaks",
        "trivy",
        "zizmor",
        "hadolint",
        "guarddog",
        "snyk-code",
        "trivy-repo",
        "ferret-scan",
    ],
    entry: Shape::Section(PLUGIN),
    options: &[
        (
            "bandit",
            &[
                field("config_file", Shape::Text),
                field("confidence_level", Shape::Choice(&["all", "low", "medium", "high"])),
                field("ignore_nosec", Shape::Bool),
                field("excluded_paths", PATHS_WITH_REASON),
            ],
        ),
        (
            "checkov",
            &[
                field("config_file", Shape::Text),
                field("frameworks", TEXTS),
                field("skip_frameworks", TEXTS),
                field("skip_path", Shape::List(&Shape::Any)),
                field("skip_ash_output_dir", Shape::Bool),
            ],
        ),
        ("semgrep", SEMGREP),
        ("opengrep", SEMGREP),
        (
            "detect-secrets",
            &[field("baseline_file", Shape::Text), field("scan_settings", Shape::Any)],
        ),
        (
            "cdk-nag",
            &[field("nag_packs", Shape::Any), field("include_compliant_checks", Shape::Bool)],
        ),
        ("cfn-nag", &[]),
        ("npm-audit", &[]),
        ("grype", &[field("config_file", Shape::Text)]),
        (
            "syft",
            &[
                field("config_file", Shape::Text),
                field("exclude", PATHS_WITH_REASON),
                field("additional_outputs", TEXTS),
            ],
        ),
        (
            "actionlint",
            &[
                field("config_file", Shape::Text),
                field("shellcheck", Shape::Any),
                field("pyflakes", Shape::Any),
            ],
        ),
        (
            "cfn-lint",
            &[
                field("config_file", Shape::Text),
                field("regions", TEXTS),
                field("ignore_checks", TEXTS),
                field("include_checks", TEXTS),
            ],
        ),
        ("cfn-guard", &[field("rule_sets", TEXTS), field("rules_paths", TEXTS)]),
        (
            "gitleaks",
            &[
                field("config_file", Shape::Text),
                field("baseline_path", Shape::Text),
                field("max_target_megabytes", Shape::Number(0.0, YEARS)),
            ],
        ),
        ("trivy", TRIVY),
        ("trivy-repo", TRIVY),
        (
            "zizmor",
            &[
                field("config_file", Shape::Text),
                field("persona", Shape::Text),
                field("online_audits", Shape::Bool),
            ],
        ),
        (
            "ferret-scan",
            &[
                field("config_file", Shape::Text),
                field("confidence_levels", Shape::Any),
                field("checks", Shape::Any),
                field("recursive", Shape::Bool),
                field("profile", Shape::Text),
                field("exclude_patterns", TEXTS),
                field("show_match", Shape::Bool),
                field("enable_preprocessors", Shape::Bool),
                field("ferret_debug", Shape::Bool),
                field("ferret_verbose", Shape::Bool),
            ],
        ),
        ("hadolint", &[field("config_file", Shape::Text)]),
        ("guarddog", &[field("risk_levels", Shape::Any), field("verify", Shape::Any)]),
        ("snyk-code", &[]),
    ],
};

const SEMGREP: &[Field] = &[
    field("config", Shape::OneOrMore(&Shape::Text)),
    field("exclude", Shape::List(&Shape::Any)),
    field("exclude_rule", Shape::List(&Shape::Any)),
    field("severity", Shape::OneOrMore(&Shape::Text)),
    field("metrics", Shape::Text),
    field("patterns", Shape::Any),
    field("version", Shape::Text),
];

const TRIVY: &[Field] = &[
    field("config_file", Shape::Text),
    field("ignore_file", Shape::Text),
    field("secret_config", Shape::Text),
    field("module_dir", Shape::Text),
    field("scanners", TEXTS),
    field("ignore_unfixed", Shape::Bool),
    field("license_full", Shape::Bool),
    field("disable_telemetry", Shape::Bool),
];

const SUMMARY: &[Field] = &[
    field("include_summary", Shape::Bool),
    field("include_findings_table", Shape::Bool),
    field("include_detailed_findings", Shape::Bool),
    field("max_detailed_findings", Shape::Int(0, i64::MAX)),
    field("top_hotspots_limit", Shape::Int(0, i64::MAX)),
    field("use_collapsible_details", Shape::Bool),
    field("compact", Shape::Bool),
];

/// `reporters`.
pub(crate) const REPORTERS: Names = Names {
    kind: "reporter",
    known: &[
        "sarif",
        "github-ghas",
        "flat-json",
        "csv",
        "html",
        "markdown",
        "text",
        "junitxml",
        "ocsf",
        "cyclonedx",
        "gitlab-sast",
        "gitlab-cyclonedx",
        "unused-suppressions",
        "spdx",
        "yaml",
        "aggregated",
        "s3",
        "aws-security-hub",
        "cloudwatch-logs",
        "bedrock-summary-reporter",
        "asff",
        "dict",
        "custom",
    ],
    entry: Shape::Section(PLUGIN),
    options: &[
        ("markdown", SUMMARY),
        ("text", SUMMARY),
        (
            "flat-json",
            &[
                field("include_metadata", Shape::Bool),
                field("include_scanner_metrics", Shape::Bool),
                field("include_summary_metrics", Shape::Bool),
            ],
        ),
        ("github-ghas", &[field("exclude_suppressed", Shape::Bool)]),
        ("gitlab-sast", &[field("exclude_suppressed", Shape::Bool)]),
        (
            "gitlab-cyclonedx",
            &[
                field("category", Shape::Text),
                field("package_manager_override", Shape::Text),
                field("language_override", Shape::Text),
                field("input_file_path_override", Shape::Text),
            ],
        ),
        ("junitxml", &[field("respect_severity_threshold", Shape::Bool)]),
        (
            "unused-suppressions",
            &[field("output_format", Shape::Choice(&["both", "json", "markdown"]))],
        ),
    ],
};

/// `converters`.
pub(crate) const CONVERTERS: Names = Names {
    kind: "converter",
    known: &["archive", "jupyter"],
    entry: Shape::Section(PLUGIN),
    options: &[("jupyter", &[])],
};
