//! The reports of every published version, and their options.

use super::{Field, Names, Shape, field, plugins::PLUGIN, unused};

const FIXED: &str = "this version writes each report in one form";

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
    shipped: Some(&[
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
        "aggregated",
    ]),
    entry: Shape::Section(PLUGIN),
    common: &[],
    options: &[
        ("markdown", SUMMARY),
        ("text", SUMMARY),
        (
            "flat-json",
            &[
                unused("include_metadata", Shape::Bool, "true", FIXED),
                unused("include_scanner_metrics", Shape::Bool, "true", FIXED),
                unused("include_summary_metrics", Shape::Bool, "true", FIXED),
            ],
        ),
        ("github-ghas", &[unused("exclude_suppressed", Shape::Bool, "true", FIXED)]),
        ("gitlab-sast", &[unused("exclude_suppressed", Shape::Bool, "false", FIXED)]),
        (
            "gitlab-cyclonedx",
            &[
                unused("category", Shape::Text, "production", FIXED),
                unused("package_manager_override", Shape::Text, "null", FIXED),
                unused("language_override", Shape::Text, "null", FIXED),
                unused("input_file_path_override", Shape::Text, "null", FIXED),
            ],
        ),
        ("junitxml", &[unused("respect_severity_threshold", Shape::Bool, "true", FIXED)]),
        (
            "unused-suppressions",
            &[field(
                "output_format",
                Shape::Choice(&["both", "json", "markdown"]),
                "both",
                "Which of its two files are written.",
            )],
        ),
    ],
};

const SUMMARY: &[Field] = &[
    unused("include_summary", Shape::Bool, "true", FIXED),
    unused("include_findings_table", Shape::Bool, "false", FIXED),
    unused("include_detailed_findings", Shape::Bool, "true", FIXED),
    unused("max_detailed_findings", Shape::Int(0, i64::MAX), "20", FIXED),
    unused("top_hotspots_limit", Shape::Int(0, i64::MAX), "10", FIXED),
    unused("use_collapsible_details", Shape::Bool, "true", FIXED),
    unused("compact", Shape::Bool, "false", FIXED),
];
