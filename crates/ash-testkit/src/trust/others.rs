//! What else a scanned repository cannot choose: versions and configuration of tools, where reports go, looser limits, code to load.

use super::{
    DEFAULTS,
    Make::{Dir, File, InRepo},
    Row, SCAN, Typed, config, dropped, over, refused, row,
};

const CHECKOV: &str = "scanners.checkov.options.config_file";
const TIMEOUT: &str = "scanners.bandit.options.scan_timeout";
const MODULES: &str = "ash_plugin_modules";

pub(super) const ROWS: &[Row] = &[
    row(
        "the tree chooses no tool version",
        &[InRepo(
            "scanners: {bandit: {tool_version: '==1.7.0'}, checkov: {options: {tool_version: '==3.2.0'}}}",
        )],
        SCAN,
        dropped(&["scanners.bandit.tool_version", "scanners.checkov.options.tool_version"]),
    ),
    row(
        "an operator chooses a tool version",
        &[File("ops/c.yaml", "scanners: {bandit: {tool_version: '==1.7.0'}}")],
        config("ops/c.yaml"),
        DEFAULTS,
    ),
    row(
        "the tree names no configuration file of a tool",
        &[InRepo("scanners: {checkov: {options: {config_file: /opt/checkov.yaml}}}")],
        SCAN,
        dropped(&[CHECKOV]),
    ),
    row(
        "not of any tool",
        &[InRepo(
            "scanners: {bandit: {options: {config_file: .bandit}}, syft: {options: {config_file: s.yaml}}, grype: {options: {config_file: g.yaml}}}",
        )],
        SCAN,
        dropped(&[
            "scanners.bandit.options.config_file",
            "scanners.syft.options.config_file",
            "scanners.grype.options.config_file",
        ]),
    ),
    row(
        "a dashed spelling is the same option",
        &[InRepo("scanners: {cfn_lint: {options: {config-file: /opt/x}}}")],
        SCAN,
        dropped(&["scanners.cfn_lint.options.config-file"]),
    ),
    row(
        "an operator names a configuration file of a tool outside the tree",
        &[
            File("ops/checkov.yaml", ""),
            File(
                "ops/c.yaml",
                "scanners: {checkov: {options: {config_file: ../ops/checkov.yaml}}}",
            ),
        ],
        config("ops/c.yaml"),
        DEFAULTS,
    ),
    row(
        "an override names one as well",
        &[InRepo("scanners: {checkov: {options: {config_file: /evil.yaml}}}")],
        over(&["scanners.checkov.options.config_file=/opt/checkov.yaml"]),
        DEFAULTS,
    ),
    row(
        "a tool's configuration inside the tree is dropped whoever names it",
        &[File("repo/checkov.yaml", "")],
        over(&["scanners.checkov.options.config_file=checkov.yaml"]),
        dropped(&[CHECKOV]),
    ),
    row(
        "a tool's configuration in the checkout above the scanned directory is dropped too",
        &[File("repo/checkov.yaml", "")],
        Typed {
            source: "repo/app",
            ..over(&["scanners.checkov.options.config_file=../checkov.yaml"])
        },
        dropped(&[CHECKOV]),
    ),
    row(
        "the tree starts no program through a linter's option",
        &[InRepo("scanners: {actionlint: {options: {shellcheck: /tmp/evil, pyflakes: true}}}")],
        SCAN,
        dropped(&[
            "scanners.actionlint.options.shellcheck",
            "scanners.actionlint.options.pyflakes",
        ]),
    ),
    row(
        "the tree may switch such an option off",
        &[InRepo("scanners: {actionlint: {options: {shellcheck: '', pyflakes: false}}}")],
        SCAN,
        DEFAULTS,
    ),
    row(
        "the tree loads no plugin file into a scanner",
        &[InRepo(
            "scanners: {detect-secrets: {options: {scan_settings: {plugins_used: [{name: P, path: 'file:///repo/p.py'}]}}}}",
        )],
        SCAN,
        dropped(&["scanners.detect-secrets.options.scan_settings"]),
    ),
    row(
        "the tree makes no tool fetch rules from an address",
        &[InRepo("scanners: {semgrep: {options: {config: 'https://example.com/rules'}}}")],
        SCAN,
        dropped(&["scanners.semgrep.options.config"]),
    ),
    row(
        "the tree lengthens no time limit",
        &[InRepo("scanners: {bandit: {options: {scan_timeout: 7200}}}")],
        SCAN,
        dropped(&[TIMEOUT]),
    ),
    row(
        "the tree removes no time limit",
        &[InRepo("scanners: {bandit: {options: {scan_timeout: null}}}")],
        SCAN,
        dropped(&[TIMEOUT]),
    ),
    row(
        "the tree shortens a time limit",
        &[InRepo("scanners: {bandit: {options: {scan_timeout: 60}}}")],
        SCAN,
        DEFAULTS,
    ),
    row(
        "an operator lengthens a time limit, and the tree may use what he gives",
        &[InRepo("scanners: {bandit: {options: {scan_timeout: 7200}}}")],
        over(&["scanners.bandit.options.scan_timeout=null"]),
        DEFAULTS,
    ),
    row(
        "the tree sends reports nowhere",
        &[InRepo(
            "reporters: {s3: {enabled: true}, cloudwatch-logs: {options: {log_group_name: evil}}}",
        )],
        SCAN,
        dropped(&["reporters.s3.enabled", "reporters.cloudwatch-logs.options"]),
    ),
    row(
        "the tree changes nothing an MCP client may do",
        &[InRepo(
            "mcp-resource-management: {max_concurrent_scans: 10}\nglobal_settings: {mcp: {runtime_overrides: {enabled: true}}}\n",
        )],
        SCAN,
        dropped(&["mcp-resource-management", "global_settings.mcp"]),
    ),
    row(
        "a base in the tree chooses nothing of this either",
        &[
            File("repo/base.yaml", "scanners: {checkov: {options: {config_file: /x}}}"),
            File("ops/c.yaml", "extends: ../repo/base.yaml\n"),
        ],
        config("ops/c.yaml"),
        dropped(&[CHECKOV]),
    ),
    row(
        "the tree loads no plugin module",
        &[Dir("repo/evil_ash_plugins"), InRepo("ash_plugin_modules: [evil_ash_plugins]")],
        SCAN,
        dropped(&[MODULES]),
    ),
    refused(
        "a plugin module that an operator names and that cannot be loaded is refused",
        &[],
        over(&["ash_plugin_modules=[my_ash_plugins]"]),
        "loads no foreign code",
    ),
    refused(
        "an override vouches for a module of the tree and is refused as well",
        &[InRepo("ash_plugin_modules: [my_ash_plugins, evil_ash_plugins]")],
        over(&["ash_plugin_modules+=[my_ash_plugins]"]),
        "`my_ash_plugins`",
    ),
];
