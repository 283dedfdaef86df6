//! Configurations as people have them: every public shape, and what no version takes. The loader, the program and the published schema
//! are all asked about each.

/// One configuration file and what lies beside it.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// The sentence that fails.
    pub name: &'static str,
    /// The file's name in the scanned directory.
    pub file: &'static str,
    /// Its text.
    pub text: &'static str,
    /// Whether the published schema takes it as well: it knows one spelling of each key and one form of each value.
    pub published: bool,
}

/// A file that others extend; it lies beside each shape as `base.yaml`.
pub const BASE: &str = "project_name: everything\nfail_on_findings: true\n";

/// The file that holds every key there is.
pub const EVERYTHING: &str = include_str!("../shapes/everything.yaml");

const fn yaml(name: &'static str, text: &'static str) -> Shape {
    Shape { name, file: ".ash/.ash.yaml", text, published: true }
}

/// Only the loader takes it.
const fn lenient(name: &'static str, text: &'static str) -> Shape {
    Shape { published: false, ..yaml(name, text) }
}

const fn named(name: &'static str, file: &'static str, text: &'static str) -> Shape {
    Shape { file, ..yaml(name, text) }
}

/// What loads.
pub const GOOD: &[Shape] = &[
    yaml("every key of every version", EVERYTHING),
    yaml("nothing at all", ""),
    yaml("a comment", "# later\n"),
    yaml("an empty section", "{}\n"),
    yaml(
        "sections without content",
        "global_settings:\nscanners:\nreporters:\nconverters:\nsandbox:\nworkspace:\nmcp-resource-management:\n",
    ),
    yaml("a plugin without content", "scanners:\n  bandit:\n  grype: {}\nreporters:\n  html:\n"),
    yaml("options without content", "scanners:\n  bandit:\n    enabled: true\n    options:\n"),
    yaml(
        "null for what is not set",
        "project_name: null\nfail_on_findings: null\nbuild: null\nscanners: {bandit: {options: {scan_timeout: null, severity_threshold: null, config_file: null}}}\nsandbox: {network_scanners: null}\nworkspace: {project_timeout: null}\n",
    ),
    yaml(
        "the documented example of ignored paths",
        "global_settings:\n  severity_threshold: MEDIUM\n  ignore_paths:\n    - path: 'tests/test_data/**'\n      reason: 'Test data only'\n    - path: node_modules/\n      reason: not ours\n",
    ),
    yaml(
        "the documented example of suppressions",
        "global_settings:\n  suppressions:\n    - rule_id: 'RULE-123'\n      path: 'src/example.py'\n      line_start: 10\n      line_end: 15\n      reason: 'False positive'\n      expiration: '2099-12-31'\n",
    ),
    yaml(
        "a suppression with a first line only",
        "global_settings: {suppressions: [{path: a, reason: b, line_start: 3}]}\n",
    ),
    yaml(
        "a suppression with a last line only",
        "global_settings: {suppressions: [{path: a, reason: b, line_end: 3}]}\n",
    ),
    yaml(
        "a suppression by symbol and one by package",
        "global_settings: {suppressions: [{path: a.py, reason: b, symbol: a.B.c}, {path: '**', reason: b, package_name: x}]}\n",
    ),
    yaml(
        "every threshold",
        "global_settings: {severity_threshold: ALL}\nscanners: {bandit: {options: {severity_threshold: LOW}}, semgrep: {options: {severity_threshold: HIGH}}, checkov: {options: {severity_threshold: CRITICAL}}, grype: {options: {severity_threshold: MEDIUM}}}\n",
    ),
    yaml("the sandbox without quotes", "sandbox:\n  mode: off\n"),
    yaml("the sandbox with quotes", "sandbox:\n  mode: 'off'\n"),
    yaml("a sandbox for this machine", "sandbox: {mode: auto}\n"),
    yaml("nobody has a network", "sandbox: {network_scanners: []}\n"),
    yaml(
        "databases that may be old",
        "content_db_staleness: fail\ncontent_db_staleness_overrides: []\n",
    ),
    yaml("a time limit with a fraction", "scanners: {bandit: {options: {scan_timeout: 0.5}}}\n"),
    yaml("one base", "extends: ../base.yaml\n"),
    yaml("a list of bases", "extends: [../base.yaml, ../base.yaml]\n"),
    yaml(
        "a plugin nobody knows",
        "scanners: {ours: {enabled: true, options: {x: 1}}}\nreporters: {theirs: {options: {y: [z]}}}\n",
    ),
    yaml(
        "an anchor, an alias and a merge key",
        "scanners:\n  bandit: &on {enabled: true}\n  semgrep: *on\n  checkov: {<<: *on, options: {}}\n",
    ),
    yaml(
        "substituted variables",
        "project_name: ${ASH_PROJECT:demo}\nreporters: {s3: {options: {region: '${AWS_REGION:eu-west-1}'}}}\n",
    ),
    yaml("variables that are not substituted", "project_name: ${HOME}\n"),
    yaml(
        "a long text and a folded one",
        "global_settings:\n  ignore_paths:\n    - path: a\n      reason: >-\n        one line\n        and another\n    - path: b\n      reason: |\n        two\n        lines\n",
    ),
    yaml("a document start and end", "---\nproject_name: x\n...\n"),
    yaml(
        "a byte order mark and Windows lines",
        "\u{feff}project_name: x\r\nsandbox:\r\n  mode: auto\r\n",
    ),
    lenient(
        "dashes for underscores",
        "project-name: x\nfail-on-findings: false\nglobal-settings: {severity-threshold: LOW, ignore-paths: [{path: a, reason: b}]}\nash-plugin-modules: []\nsandbox: {network-scanners: [], extra-read-paths: []}\nscanners: {bandit: {options: {scan-timeout: 5, confidence-level: low}}}\n",
    ),
    lenient(
        "underscores for dashes",
        "mcp_resource_management: {max_concurrent_scans: 3}\nscanners: {npm_audit: {enabled: true}, detect_secrets: {options: {baseline_file: x}}, cdk_nag: {}}\nreporters: {github_ghas: {}, flat_json: {}}\n",
    ),
    lenient(
        "old words for yes and no",
        "fail_on_findings: yes\nfail_on_incomplete_scanners: off\nscanners: {bandit: {enabled: no, options: {ignore_nosec: 'true'}}}\nreporters: {html: {enabled: 0}}\n",
    ),
    lenient(
        "numbers in quotes",
        "workspace: {max_parallel_projects: '4'}\nscanners: {bandit: {options: {scan_timeout: '60'}}}\n",
    ),
    yaml(
        "old names of plugins",
        "converters: {ArchiveConverter: {enabled: true}, JupyterConverter: {enabled: true}}\n",
    ),
    named(
        "JSON",
        ".ash.json",
        "{\n  \"project_name\": \"x\",\n  \"global_settings\": {\"severity_threshold\": \"HIGH\"},\n  \"sandbox\": {\"mode\": \"off\"}\n}\n",
    ),
    named(
        "TOML",
        ".ashrc.toml",
        "project_name = 'x'\n\n[global_settings]\nseverity_threshold = 'HIGH'\n\n[[global_settings.ignore_paths]]\npath = 'a'\nreason = 'b'\nexpiration = 2030-12-31\n\n[scanners.bandit.options]\nscan_timeout = 60\n\n[sandbox]\nmode = 'off'\n",
    ),
    named(
        "pyproject",
        "pyproject.toml",
        "[project]\nname = 'x'\n\n[tool.ash]\nproject_name = 'x'\nash_plugin_modules = []\n\n[tool.ash.global_settings]\nseverity_threshold = 'LOW'\n\n[tool.ash.sandbox]\nmode = 'auto'\n",
    ),
    named("YAML by its other name", ".ash.yml", "project_name: x\n"),
    named("a run commands file", ".ashrc.yaml", "project_name: x\n"),
    named("a name without a dot", "ash.json", "{}"),
];

/// What does not load, and a word of the reason.
pub const BAD: &[(&str, &str)] = &[
    ("- a\n", "a section of keys"),
    ("text\n", "a section of keys"),
    ("nope: 1\n", "`nope` is not a key"),
    ("fail_on_finding: true\n", "did you mean `fail_on_findings`?"),
    ("project_name: 5\n", "must be text"),
    ("project_name: [x]\n", "must be text"),
    ("fail_on_findings: maybe\n", "true or false"),
    ("fail_on_findings: 2\n", "true or false"),
    ("content_db_staleness: never\n", "one of `fail`, `warn`"),
    ("content_db_staleness_overrides: [{database: x}]\n", "needs `policy`"),
    (
        "content_db_staleness_overrides: [{database: x, policy: warn, expiration: 2030-1-1, reason: y}]\n",
        "a date such as",
    ),
    ("global_settings: {fail_on_findings: true}\n", "it belongs at the top level"),
    ("global_settings: {severity_threshold: medium}\n", "did you mean `MEDIUM`?"),
    ("global_settings: {severity_threshold: INFO}\n", "must be one of"),
    ("global_settings: {ignore_paths: a}\n", "must be a list"),
    ("global_settings: {ignore_paths: [a]}\n", "a section of keys"),
    ("global_settings: {ignore_paths: [{path: a}]}\n", "needs `reason`"),
    ("global_settings: {suppressions: [{reason: a}]}\n", "needs `path`"),
    ("global_settings: {suppressions: [{path: a, reason: b, rule: c}]}\n", "`rule` is not a key"),
    ("global_settings: {suppressions: [{path: a, reason: b, line_start: x}]}\n", "a whole number"),
    ("global_settings: {suppressions: [{path: a, reason: b, line_start: -1}]}\n", "a whole number"),
    (
        "global_settings: {suppressions: [{path: a, reason: b, expiration: soon}]}\n",
        "a date such as",
    ),
    ("global_settings: {mcp: {runtime_overrides: {enable: true}}}\n", "did you mean `enabled`?"),
    ("scanners: [bandit]\n", "a section of scanner names"),
    ("scanners: {bandit: true}\n", "a section of keys"),
    ("scanners: {bandit: {enable: true}}\n", "did you mean `enabled`?"),
    ("scanners: {bandit: {options: [x]}}\n", "a section of keys"),
    ("scanners: {ours: {options: x}}\n", "a section of keys"),
    ("scanners: {bandit: {options: {scan_timeout: 0}}}\n", "a number above 0"),
    ("scanners: {bandit: {options: {scan_timeout: soon}}}\n", "a number above 0"),
    ("scanners: {bandit: {options: {confidence_level: HIGH}}}\n", "did you mean `high`?"),
    ("scanners: {semgrep: {options: {severity: [LOUD]}}}\n", "must be one of"),
    ("scanners: {checkov: {options: {skip_path: [1]}}}\n", "a pattern"),
    ("scanners: {zizmor: {options: {persona: loud}}}\n", "must be one of"),
    ("reporters: {html: {enabled: [no]}}\n", "true or false"),
    ("reporters: {unused-suppressions: {options: {output_format: xml}}}\n", "must be one of"),
    ("converters: [archive]\n", "a section of converter names"),
    ("ash_plugin_modules: ours.ash_plugins\n", "write `[ours.ash_plugins]`"),
    ("external_reports_to_include: [1]\n", "must be text"),
    ("mcp-resource-management: {max_concurrent_scans: 11}\n", "from 1 to 10"),
    ("mcp-resource-management: {nope: 1}\n", "`nope` is not a key"),
    ("sandbox: {mode: }\n", "must be one of"),
    ("sandbox: {mode: false}\n", "must be one of"),
    ("sandbox: {mode: bwarp}\n", "did you mean `bwrap`?"),
    ("sandbox: {network_scanners: grype}\n", "write `[grype]`"),
    ("sandbox: {network_scanners: [null]}\n", "must be set"),
    ("sandbox: {nework_scanners: []}\n", "did you mean `network_scanners`?"),
    ("workspace: {max_parallel_projects: 0}\n", "from 1 to 1024"),
    ("extends: {a: b}\n", "names files"),
    ("patch: {op: add}\n", "list"),
];

/// What only the loader refuses: the schema cannot say it.
pub const BAD_TOGETHER: &[(&str, &str)] = &[
    (
        "global_settings: {suppressions: [{path: a, reason: b, line_start: 5, line_end: 4}]}\n",
        "ends before it starts",
    ),
    (
        "global_settings: {suppressions: [{path: a, reason: b, expiration: 2027-02-29}]}\n",
        "a date such as",
    ),
    ("scanners: {bandit: {tool_version: '1 --index-url http://x'}}\n", "a version specifier"),
    ("scanners: {opengrep: {tool_version: ../x}}\n", "a release tag"),
    ("project_name: a\nproject-name: b\n", "set twice"),
    ("project_name: a\nproject_name: b\n", "duplicate"),
    ("project_name: ${ASH_NOT_SET}\n", "is not set"),
    ("extends: https://example.com/x.yaml\n", "is an address"),
    ("extends: nowhere.yaml\n", "cannot be read"),
    ("patch: [{op: remove, path: /nowhere}]\n", "is not there"),
    ("a: 1\n---\nb: 2\n", "does not parse"),
    ("a: !!python/object:os.system x\n", ""),
];
