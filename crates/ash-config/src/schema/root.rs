//! The keys at the top level, and the sections that belong to no plugin.

use super::{
    CONVERTERS, Field, MODES, REPORTERS, SCANNERS, Shape, TEXTS, THRESHOLDS, YEARS, field,
    required, unused,
};

const NO_DATABASES: &str = "no scanner of this version reads a content database";
const NO_MCP: &str = "this version has no MCP server";
const NO_WORKSPACES: &str = "this version scans no workspaces";

/// The whole configuration.
pub(crate) const ROOT: &[Field] = &[
    field(
        "project_name",
        Shape::Text,
        "ash-scan",
        "The name in reports. `ASH_PROJECT_NAME` gives another default.",
    ),
    field(
        "fail_on_findings",
        Shape::Bool,
        "true",
        "Whether actionable findings give exit code 2. `--fail-on-findings` and `--no-fail-on-findings` win.",
    ),
    field(
        "fail_on_incomplete_scanners",
        Shape::Bool,
        "true",
        "Whether a scanner that did not run, or not over everything, gives exit code 1. Said inside the scanned tree, `false` does not cover scanners that the sandbox refused.",
    ),
    unused("content_db_staleness", Shape::Choice(&["fail", "warn"]), "fail", NO_DATABASES),
    unused(
        "content_db_staleness_overrides",
        Shape::List(&Shape::Section(STALENESS)),
        "[]",
        NO_DATABASES,
    ),
    field("global_settings", Shape::Section(GLOBAL), "", "What holds for all scanners."),
    field("scanners", Shape::Named(&SCANNERS), "", "One section per scanner, by its name."),
    field("reporters", Shape::Named(&REPORTERS), "", "One section per report, by its name."),
    field("converters", Shape::Named(&CONVERTERS), "", "One section per converter, by its name."),
    field(
        "ash_plugin_modules",
        TEXTS,
        "[]",
        "Python modules with plugins. The scanners of the known ones are built in; this version loads no other module, so naming one is a mistake, and does nothing from inside the scanned tree.",
    ),
    unused(
        "external_reports_to_include",
        TEXTS,
        "[]",
        "this version merges no reports of other tools, so their findings do not count",
    ),
    unused("build", Shape::Any, "", "ash builds no images from configuration"),
    unused("mcp-resource-management", Shape::Section(MCP_RESOURCES), "", NO_MCP),
    field("sandbox", Shape::Section(SANDBOX), "", "How scanners are confined."),
    unused("workspace", Shape::Section(WORKSPACE), "", NO_WORKSPACES),
    field(
        "extends",
        Shape::OneOrMore(&Shape::Text),
        "",
        "Files this one builds on, relative to it.",
    ),
    field(
        "patch",
        Shape::List(&Shape::Section(STEP)),
        "",
        "Changes to what the file and its bases say together, as JSON Patch.",
    ),
];

const STEP: &[Field] = &[
    required("op", Shape::Choice(&["add", "remove", "replace", "test"]), "What to do."),
    required("path", Shape::Text, "Where: a JSON Pointer, such as `/scanners/bandit/enabled`."),
    field("value", Shape::Any, "", "The value to add, to put there or to compare with."),
];

const STALENESS: &[Field] = &[
    required("database", Shape::Text, "The database, such as `grype-db`."),
    required("policy", Shape::Choice(&["fail", "warn"]), "What its staleness does."),
    required("expiration", Shape::Date, "The day from which the exception no longer holds."),
    required("reason", Shape::Text, "Why."),
];

/// `sandbox`.
pub(crate) const SANDBOX: &[Field] = &[
    field(
        "mode",
        Shape::Choice(MODES),
        "off",
        "How scanners are confined. A file inside the scanned tree can turn the sandbox on, not off. `--sandbox` wins.",
    ),
    field(
        "network_scanners",
        TEXTS,
        "null",
        "The scanners that may have a network; `null`: those that need one, `[]`: none. A file inside the scanned tree only takes networks away.",
    ),
    field(
        "extra_read_paths",
        TEXTS,
        "[]",
        "More absolute paths that scanners may read; `~` and `$VAR` are expanded. Not from inside the scanned tree.",
    ),
    unused(
        "read_path_scanners",
        TEXTS,
        "[]",
        "ash grants no read paths derived from options; name the paths in `sandbox.extra_read_paths`",
    ),
    unused("env_scanners", TEXTS, "[]", "ash grants no environment derived from options"),
    unused("network_limit", Shape::Any, "", "it was internal; use `sandbox.network_scanners`"),
];

const WORKSPACE: &[Field] = &[
    field("max_parallel_projects", Shape::Int(1, 1024), "", ""),
    field("project_timeout", Shape::Number(0.0, YEARS), "null", ""),
];

/// `global_settings`.
pub(crate) const GLOBAL: &[Field] = &[
    field(
        "severity_threshold",
        Shape::Choice(THRESHOLDS),
        "MEDIUM",
        "The least severity that fails a scan. `ASH_DEFAULT_SEVERITY_LEVEL` gives another default.",
    ),
    field(
        "ignore_paths",
        Shape::List(&Shape::Section(IGNORE_PATH)),
        "[]",
        "Files whose findings are dropped.",
    ),
    field(
        "suppressions",
        Shape::List(&Shape::Section(SUPPRESSION)),
        "[]",
        "Findings that are shown and do not count.",
    ),
    field(
        "mcp",
        Shape::Section(&[unused(
            "runtime_overrides",
            Shape::Section(RUNTIME_OVERRIDES),
            "",
            NO_MCP,
        )]),
        "",
        "",
    ),
];

const IGNORE_PATH: &[Field] = &[
    required("path", Shape::Text, "The pattern, relative to the scanned directory."),
    required("reason", Shape::Text, "Why."),
    field("expiration", Shape::Date, "", "The day from which it no longer holds."),
];

const SUPPRESSION: &[Field] = &[
    required("path", Shape::Text, "The file's pattern, relative to the scanned directory."),
    required("reason", Shape::Text, "Why."),
    field("rule_id", Shape::Text, "", "The rule's pattern, in any letter case."),
    field(
        "line_start",
        Shape::Int(0, i64::MAX),
        "",
        "The first line; alone: from there to the end of the file.",
    ),
    field("line_end", Shape::Int(0, i64::MAX), "", "The last line."),
    field("expiration", Shape::Date, "", "The day from which it no longer holds."),
    field(
        "symbol",
        Shape::Text,
        "",
        "The qualified name of the function or class that holds the finding.",
    ),
    field("package_name", Shape::Text, "", "The pattern of the package a finding is about."),
    field("package_version", Shape::Text, "", "The pattern of its version."),
    field("package_path", Shape::Text, "", "The pattern of its path."),
];

const RUNTIME_OVERRIDES: &[Field] = &[
    field("enabled", Shape::Bool, "false", ""),
    field("allowed_paths", TEXTS, "", ""),
    field("denied_paths", TEXTS, "", ""),
    field("denied_value_patterns", TEXTS, "", ""),
];

const MCP_RESOURCES: &[Field] = &[
    field("max_concurrent_scans", Shape::Int(1, 10), "3", ""),
    field("max_concurrent_tasks", Shape::Int(1, 50), "20", ""),
    field("thread_pool_max_workers", Shape::Int(1, 20), "4", ""),
    field("scan_timeout_seconds", Shape::Int(60, 7200), "1800", ""),
    field("operation_timeout_seconds", Shape::Int(30, 600), "180", ""),
    field("shutdown_timeout_seconds", Shape::Int(5, 300), "30", ""),
    field("memory_warning_threshold_mb", Shape::Int(100, 8192), "1024", ""),
    field("memory_critical_threshold_mb", Shape::Int(200, 16384), "2048", ""),
    field("task_count_warning_threshold", Shape::Int(5, 100), "15", ""),
    field("max_message_size_bytes", Shape::Int(1024, 104_857_600), "10485760", ""),
    field("max_path_length", Shape::Int(256, 8192), "4096", ""),
    field("max_directory_size_mb", Shape::Int(10, 10240), "1000", ""),
    field("enable_health_checks", Shape::Bool, "true", ""),
    field("health_check_interval_seconds", Shape::Int(10, 300), "60", ""),
    field("enable_resource_logging", Shape::Bool, "true", ""),
    field("log_resource_operations", Shape::Bool, "false", ""),
];
