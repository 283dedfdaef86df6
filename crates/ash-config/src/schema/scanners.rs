//! The scanners of every published version, and their options.

use super::{
    Field, Names,
    Narrows::{Never, Yes},
    PATTERNS, Shape, TEXTS, YEARS, field,
    plugins::{COMMON_OPTIONS, SCANNER},
    unused,
};

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
    shipped: None,
    entry: Shape::Section(SCANNER),
    common: COMMON_OPTIONS,
    options: &[
        ("bandit", BANDIT),
        ("checkov", CHECKOV),
        ("semgrep", SEMGREP),
        ("opengrep", SEMGREP),
        ("detect-secrets", DETECT_SECRETS),
        ("cdk-nag", CDK_NAG),
        ("cfn-nag", &[]),
        ("npm-audit", &[]),
        ("grype", &[CONFIG_FILE]),
        ("syft", SYFT),
        ("actionlint", ACTIONLINT),
        ("cfn-lint", CFN_LINT),
        ("cfn-guard", CFN_GUARD),
        ("gitleaks", GITLEAKS),
        ("trivy", TRIVY),
        ("trivy-repo", TRIVY),
        ("zizmor", ZIZMOR),
        ("ferret-scan", FERRET),
        ("hadolint", &[CONFIG_FILE]),
        ("guarddog", GUARDDOG),
        ("snyk-code", &[]),
    ],
};

/// Where the tool may be led to run code by it, a file inside the scanned tree does not count.
const CONFIG_FILE: Field =
    field("config_file", Shape::Text, "null", "The tool's own configuration file.").narrows(Yes);

const BANDIT: &[Field] = &[
    CONFIG_FILE,
    field(
        "confidence_level",
        Shape::Choice(&["all", "low", "medium", "high"]),
        "all",
        "The least confidence of a finding.",
    )
    .narrows(Yes),
    field("ignore_nosec", Shape::Bool, "false", "Whether `# nosec` comments are ignored.")
        .narrows(Never),
    unused("excluded_paths", PATTERNS, "[]", "name the paths in `global_settings.ignore_paths`"),
];

const CHECKOV: &[Field] = &[
    CONFIG_FILE,
    field("frameworks", TEXTS, "[all]", "The frameworks to check.").narrows(Yes),
    field("skip_frameworks", TEXTS, "[]", "The frameworks not to check.").narrows(Yes),
    field("skip_path", PATTERNS, "[]", "Paths to leave out, as regular expressions.").narrows(Yes),
    unused(
        "skip_ash_output_dir",
        Shape::Bool,
        "true",
        "results of ash in the tree are never scanned",
    ),
];

const SEMGREP: &[Field] = &[
    field(
        "config",
        Shape::OneOrMore(&Shape::Text),
        "p/ci",
        "The rules to use online, besides ash's own. A file inside the scanned tree may not name an address.",
    ).narrows(Yes),
    field("exclude", PATTERNS, "[]", "Paths to leave out.").narrows(Yes),
    field("exclude_rule", TEXTS, "[]", "Rules to leave out.").narrows(Yes),
    field(
        "severity",
        Shape::OneOrMore(&Shape::Choice(&["INFO", "WARNING", "ERROR"])),
        "[]",
        "Only findings of these severities.",
    ).narrows(Yes),
    unused("metrics", Shape::Choice(&["auto", "on", "off"]), "auto", "metrics are never sent"),
    unused("patterns", Shape::Any, "[]", "name a file of rules in `config`"),
    unused("version", Shape::Text, "", "ash installs the versions it was tested with"),
];

const DETECT_SECRETS: &[Field] = &[
    field(
        "baseline_file",
        Shape::Text,
        "null",
        "The baseline with accepted secrets, relative to the scanned directory; else `.ash/.secrets.baseline` or `.secrets.baseline`.",
    ).narrows(Yes),
    field(
        "scan_settings",
        Shape::Any,
        "null",
        "Plugins and filters in the form of a baseline. What loads code, a file inside the scanned tree may not name.",
    ).narrows(Yes),
];

const CDK_NAG: &[Field] = &[
    field("nag_packs", Shape::Any, "", "The packs to check.").narrows(Yes),
    field(
        "include_compliant_checks",
        Shape::Bool,
        "false",
        "Whether checks that passed are shown.",
    )
    .narrows(Never),
];

const SYFT: &[Field] = &[
    CONFIG_FILE,
    field(
        "exclude",
        PATTERNS,
        "[]",
        "Paths to leave out, as syft writes them: `./dir/**`, `**/x`.",
    )
    .narrows(Yes),
    unused("additional_outputs", TEXTS, "[]", "ash asks syft for CycloneDX"),
];

const ACTIONLINT: &[Field] = &[
    CONFIG_FILE,
    field("shellcheck", Shape::Any, "null", "The shellcheck program to use.").narrows(Yes),
    field("pyflakes", Shape::Any, "null", "The pyflakes program to use.").narrows(Yes),
];

const CFN_LINT: &[Field] = &[
    CONFIG_FILE,
    field("regions", TEXTS, "[]", "The regions to check against.").narrows(Yes),
    field("ignore_checks", TEXTS, "[]", "Checks to leave out.").narrows(Yes),
    field("include_checks", TEXTS, "[]", "Checks to add.").narrows(Never),
];

const CFN_GUARD: &[Field] = &[
    field("rule_sets", TEXTS, "[wa-Security-Pillar]", "The rule sets of the registry to check.")
        .narrows(Yes),
    field("rules_paths", TEXTS, "[]", "More files of rules.").narrows(Never),
];

const GITLEAKS: &[Field] = &[
    CONFIG_FILE,
    field("baseline_path", Shape::Text, "null", "A report with accepted secrets.").narrows(Yes),
    field("max_target_megabytes", Shape::Number(0.0, YEARS), "null", "Larger files are left out.")
        .narrows(Yes),
];

const TRIVY: &[Field] = &[
    CONFIG_FILE,
    field("ignore_file", Shape::Text, "null", "The tool's own file of suppressions.").narrows(Yes),
    field("secret_config", Shape::Text, "null", "The rules for secrets.").narrows(Yes),
    field("module_dir", Shape::Text, "null", "The tool's modules.").narrows(Never),
    field("scanners", TEXTS, "[vuln]", "What to look for: vuln, secret, misconfig, license.")
        .narrows(Yes),
    field(
        "ignore_unfixed",
        Shape::Bool,
        "false",
        "Whether vulnerabilities without a fix are left out.",
    )
    .narrows(Yes),
    field("license_full", Shape::Bool, "true", "Whether licences are looked for in files.")
        .narrows(Yes),
    field("disable_telemetry", Shape::Bool, "true", "Whether the tool reports its use.")
        .narrows(Never),
];

const ZIZMOR: &[Field] = &[
    CONFIG_FILE,
    field(
        "persona",
        Shape::Choice(&["regular", "pedantic", "auditor"]),
        "regular",
        "How strict it is.",
    )
    .narrows(Never),
    unused("online_audits", Shape::Bool, "false", "zizmor always works offline"),
];

const FERRET: &[Field] = &[
    CONFIG_FILE,
    field("confidence_levels", Shape::Any, "all", "The confidences to show.").narrows(Yes),
    field("checks", Shape::Any, "all", "What to look for.").narrows(Yes),
    field("recursive", Shape::Bool, "true", "Whether directories are entered.").narrows(Yes),
    field("profile", Shape::Text, "null", "A profile of its configuration.").narrows(Yes),
    field("exclude_patterns", TEXTS, "[]", "Paths to leave out.").narrows(Yes),
    field("show_match", Shape::Bool, "false", "Whether the found text is shown.").narrows(Never),
    field("enable_preprocessors", Shape::Bool, "true", "Whether documents are unpacked.")
        .narrows(Yes),
    field("ferret_debug", Shape::Bool, "false", "").narrows(Never),
    field("ferret_verbose", Shape::Bool, "false", "").narrows(Never),
];

const GUARDDOG: &[Field] = &[
    field("risk_levels", Shape::Any, "", "The levels to show.").narrows(Yes),
    field("verify", Shape::Any, "", "What to verify.").narrows(Yes),
];
