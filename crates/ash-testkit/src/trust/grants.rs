//! What the two granting settings do where they hold, and who may set them.

use super::{
    DEFAULTS, GRANTED, GRANTED_BWRAP, GRANTS,
    Make::{Dir, File, InRepo, Link},
    NET, Outcome, READ, REFUSED, Row, SCAN, Typed, ash_config, config, network, over, refused, row,
};

pub(super) const ROWS: &[Row] = &[
    row("no configuration: declared defaults", &[], SCAN, DEFAULTS),
    row("offline beats the declared defaults", &[], Typed { offline: true, ..SCAN }, network(&[])),
    row(
        "offline beats every grant",
        &[],
        Typed {
            offline: true,
            ..over(&["sandbox.network_scanners=[semgrep, bandit, detect-secrets]"])
        },
        network(&[]),
    ),
    row(
        "a list replaces the defaults",
        &[File("ops/c.yaml", GRANTS)],
        config("ops/c.yaml"),
        GRANTED,
    ),
    row(
        "an empty list takes every network away",
        &[File("ops/c.yaml", "sandbox: {network_scanners: []}")],
        config("ops/c.yaml"),
        network(&[]),
    ),
    row(
        "null means the declared defaults",
        &[File("ops/c.yaml", "sandbox: {network_scanners: null}")],
        config("ops/c.yaml"),
        DEFAULTS,
    ),
    row(
        "a list may take away and give at once",
        &[File("ops/c.yaml", "sandbox: {network-scanners: [semgrep, bandit]}")],
        config("ops/c.yaml"),
        network(&["semgrep", "bandit"]),
    ),
    row(
        "a scanner whose settings could ask for a network has one only when it is named",
        &[],
        over(&["sandbox.network_scanners=[detect-secrets]"]),
        network(&["detect-secrets"]),
    ),
    row(
        "underscores in a list are the same scanners",
        &[],
        over(&["sandbox.network_scanners=[detect_secrets, npm_audit]"]),
        network(&["npm-audit", "detect-secrets"]),
    ),
    row(
        "a secrets baseline in the tree asks for verification and gets no network",
        &[File(
            "repo/.secrets.baseline",
            r#"{"version": "1.5.0", "plugins_used": [{"name": "AWSKeyDetector"}], "results": {},
                "filters_used": [{"path": "detect_secrets.filters.common.is_ignored_due_to_verification_policies", "min_level": 2}]}"#,
        )],
        SCAN,
        DEFAULTS,
    ),
    row(
        "settings in the tree ask for verification and get no network",
        &[InRepo(
            "scanners: {detect-secrets: {options: {scan_settings: {filters_used: [{path: detect_secrets.filters.common.is_ignored_due_to_verification_policies, min_level: 2}]}}}}\n",
        )],
        SCAN,
        DEFAULTS,
    ),
    row(
        "a list in the tree that names detect-secrets gives it no network",
        &[InRepo("sandbox: {network_scanners: [detect-secrets, semgrep]}\n")],
        SCAN,
        Outcome { network: &["semgrep"], dropped: &[NET], ..DEFAULTS },
    ),
    // Overrides.
    row(
        "an override grants",
        &[],
        over(&["sandbox.network_scanners=[bandit]", "sandbox.extra_read_paths=[~/ca]"]),
        GRANTED,
    ),
    row(
        "an override in dashes grants",
        &[],
        over(&["sandbox.network-scanners=[bandit]", "sandbox.extra-read-paths=[\"~/ca\"]"]),
        GRANTED,
    ),
    row(
        "an override may name a path by a variable of the operator's",
        &[],
        over(&["sandbox.network_scanners=[bandit]", "sandbox.extra_read_paths=[$CA]"]),
        GRANTED,
    ),
    row(
        "a whole-section override grants",
        &[],
        over(&[
            "sandbox={\"mode\": \"bwrap\", \"network_scanners\": [\"bandit\"], \"extra_read_paths\": [\"~/ca\"]}",
        ]),
        GRANTED_BWRAP,
    ),
    row(
        "an append override grants what it names",
        &[],
        over(&["sandbox.network_scanners+=[bandit]", "sandbox.extra_read_paths+=~/ca"]),
        GRANTED,
    ),
    row(
        "an append override extends a trusted list",
        &[File("ops/c.yaml", "sandbox: {network_scanners: [semgrep]}")],
        Typed { overrides: &["sandbox.network_scanners+=bandit"], ..config("ops/c.yaml") },
        network(&["semgrep", "bandit"]),
    ),
    row(
        "an override replaces a trusted list",
        &[File("ops/c.yaml", GRANTS)],
        Typed { overrides: &["sandbox.network_scanners=[]"], ..config("ops/c.yaml") },
        Outcome { network: &[], reads: true, ..DEFAULTS },
    ),
    row(
        "a later override replaces an earlier one",
        &[],
        over(&["sandbox.network_scanners=[semgrep, bandit]", "sandbox.network_scanners=[bandit]"]),
        network(&["bandit"]),
    ),
    // Files in the tree.
    row("a discovered .ash.yaml grants nothing", &[InRepo(GRANTS)], SCAN, REFUSED),
    row("nor does .ash/.ash.yaml", &[File("repo/.ash/.ash.yaml", GRANTS)], SCAN, REFUSED),
    row("nor does ash.yml", &[File("repo/ash.yml", GRANTS)], SCAN, REFUSED),
    row(
        "nor does .ash/ash.json",
        &[File(
            "repo/.ash/ash.json",
            r#"{"sandbox": {"network_scanners": ["bandit"], "extra_read_paths": ["~/ca"]}}"#,
        )],
        SCAN,
        REFUSED,
    ),
    row("nor does .ashrc.yaml", &[File("repo/.ashrc.yaml", GRANTS)], SCAN, REFUSED),
    row(
        "nor does .ashrc.toml",
        &[File(
            "repo/.ashrc.toml",
            "[sandbox]\nnetwork_scanners = ['bandit']\nextra_read_paths = ['~/ca']\n",
        )],
        SCAN,
        REFUSED,
    ),
    row(
        "nor does pyproject.toml",
        &[File(
            "repo/pyproject.toml",
            "[tool.ash.sandbox]\nnetwork-scanners = ['bandit']\nextra-read-paths = ['~/ca']\n",
        )],
        SCAN,
        REFUSED,
    ),
    row(
        "nor does a .ash directory that is a link out of the tree",
        &[File("ops/.ash.yaml", GRANTS), Link("repo/.ash", "../ops")],
        SCAN,
        REFUSED,
    ),
    row(
        "nor does --config into the tree",
        &[File("repo/ops/c.yaml", GRANTS)],
        config("repo/ops/c.yaml"),
        REFUSED,
    ),
    row(
        "nor does a relative --config into the tree",
        &[File("repo/c.yaml", GRANTS)],
        Typed { cwd: "repo", ..config("./c.yaml") },
        REFUSED,
    ),
    row(
        "nor does ASH_CONFIG into the tree",
        &[File("repo/ops/c.yaml", GRANTS)],
        ash_config("repo/ops/c.yaml"),
        REFUSED,
    ),
    row(
        "nor does a file of .git",
        &[File("repo/.git/c.yaml", GRANTS)],
        config("repo/.git/c.yaml"),
        REFUSED,
    ),
    row(
        "ASH_CONFIG outside grants",
        &[File("ops/c.yaml", GRANTS)],
        ash_config("ops/c.yaml"),
        GRANTED,
    ),
    row(
        "--config outside grants beside a configuration in the tree",
        &[File("ops/c.yaml", GRANTS), InRepo("sandbox: {network_scanners: []}")],
        config("ops/c.yaml"),
        GRANTED,
    ),
    row(
        "--config comes before ASH_CONFIG",
        &[File("ops/c.yaml", "{}"), File("ops/d.yaml", GRANTS)],
        Typed { ash_config: Some("ops/d.yaml"), ..config("ops/c.yaml") },
        DEFAULTS,
    ),
    row("an empty ASH_CONFIG names nothing", &[InRepo(GRANTS)], ash_config(""), REFUSED),
    // With a file in the tree, grants are the defaults and the overrides.
    row(
        "an override grants beside a configuration in the tree",
        &[InRepo("sandbox: {network_scanners: [semgrep], extra_read_paths: [/usr]}")],
        over(&["sandbox.network_scanners=[bandit]", "sandbox.extra_read_paths=[~/ca]"]),
        Outcome { dropped: &[NET, READ], ..GRANTED },
    ),
    row(
        "an override that says what the tree says vouches for it",
        &[InRepo(GRANTS)],
        over(&["sandbox.network_scanners=[bandit]", "sandbox.extra_read_paths=[~/ca]"]),
        GRANTED,
    ),
    row(
        "an override of one setting leaves the other dropped",
        &[InRepo(GRANTS)],
        over(&["sandbox.extra_read_paths=[~/ca]"]),
        Outcome { network: &[], reads: true, dropped: &[NET], ..DEFAULTS },
    ),
    row(
        "an append override does not keep the repository's entries",
        &[InRepo("sandbox: {network_scanners: [npm-audit], extra_read_paths: [/usr]}")],
        over(&["sandbox.network_scanners+=[bandit]"]),
        Outcome { network: &["bandit"], dropped: &[NET, READ], ..DEFAULTS },
    ),
    row(
        "an append override of read paths does not keep the repository's",
        &[InRepo("sandbox: {extra_read_paths: [~/ca]}"), Dir("home/other")],
        over(&["sandbox.extra_read_paths+=~/other"]),
        Outcome { dropped: &[READ], ..DEFAULTS },
    ),
    row(
        "a whole-section override does not keep the repository's entries",
        &[InRepo(GRANTS)],
        over(&["sandbox={\"network_scanners\": []}"]),
        Outcome { network: &[], ..REFUSED },
    ),
    row(
        "a whole section without a list leaves the tree's limit",
        &[InRepo("sandbox: {network_scanners: [semgrep]}")],
        over(&["sandbox={\"mode\": \"bwrap\"}"]),
        Outcome { mode: Some("bwrap"), network: &["semgrep"], dropped: &[NET], ..DEFAULTS },
    ),
    row(
        "a later override of the whole section leaves an earlier list",
        &[],
        over(&["sandbox.network_scanners=[]", "sandbox={\"mode\": \"bwrap\"}"]),
        Outcome { mode: Some("bwrap"), network: &[], ..DEFAULTS },
    ),
    row(
        "an override to null restores the declared defaults",
        &[InRepo("sandbox: {network_scanners: [bandit]}")],
        over(&["sandbox.network_scanners=null"]),
        Outcome { dropped: &[NET], ..DEFAULTS },
    ),
    row(
        "--config in the tree, ASH_CONFIG outside: the latter is what is trusted",
        &[
            File("ops/c.yaml", GRANTS),
            File("repo/x.yaml", "sandbox: {network_scanners: [semgrep, bandit]}"),
        ],
        Typed { ash_config: Some("ops/c.yaml"), ..config("repo/x.yaml") },
        Outcome { dropped: &[NET], ..GRANTED },
    ),
    row(
        "keys of another lineage grant nothing",
        &[InRepo("sandbox: {read_path_scanners: [semgrep], env_scanners: [semgrep]}")],
        SCAN,
        Outcome { dropped: &["sandbox.read_path_scanners", "sandbox.env_scanners"], ..DEFAULTS },
    ),
    // The tree's list takes away.
    row(
        "an in-tree list limits",
        &[InRepo("sandbox: {network_scanners: [semgrep]}")],
        SCAN,
        Outcome { network: &["semgrep"], dropped: &[NET], ..DEFAULTS },
    ),
    row(
        "an in-tree empty list keeps the scan offline",
        &[InRepo("sandbox: {network_scanners: []}")],
        SCAN,
        network(&[]),
    ),
    row(
        "an in-tree null limits nobody",
        &[InRepo("sandbox: {network_scanners: null}")],
        SCAN,
        DEFAULTS,
    ),
    row(
        "an in-tree list beside ASH_CONFIG limits its grants",
        &[
            InRepo("sandbox: {network_scanners: [semgrep]}"),
            File("ops/c.yaml", "sandbox: {network_scanners: [semgrep, bandit]}"),
        ],
        ash_config("ops/c.yaml"),
        Outcome { network: &["semgrep"], dropped: &[NET], ..DEFAULTS },
    ),
    row(
        "an in-tree empty list beside ASH_CONFIG takes every network away",
        &[InRepo("sandbox: {network_scanners: []}"), File("ops/c.yaml", GRANTS)],
        ash_config("ops/c.yaml"),
        Outcome { network: &[], ..GRANTED },
    ),
    row(
        "a trusted grant passes a limit that names it",
        &[InRepo("sandbox: {network_scanners: [bandit]}"), File("ops/c.yaml", GRANTS)],
        ash_config("ops/c.yaml"),
        GRANTED,
    ),
    row(
        "an override comes before an in-tree limit",
        &[InRepo("sandbox: {network_scanners: []}")],
        over(&["sandbox.network_scanners=[bandit]"]),
        network(&["bandit"]),
    ),
    // What cannot be meant is refused, and no default takes its place.
    refused(
        "a bare string is no list",
        &[],
        over(&["sandbox.network_scanners=bandit"]),
        "must be a list",
    ),
    refused(
        "the root directory is no read path",
        &[],
        over(&["sandbox.extra_read_paths=[/]"]),
        "the whole system",
    ),
    refused(
        "the home is no read path",
        &[],
        over(&["sandbox.extra_read_paths=[\"~\"]"]),
        "would open a whole home",
    ),
    refused(
        "a relative path is no read path",
        &[],
        over(&["sandbox.extra_read_paths=[ca]"]),
        "is relative",
    ),
    refused(
        "a missing --config is no configuration",
        &[InRepo("{}")],
        config("ops/gone.yaml"),
        "gone.yaml",
    ),
    refused(
        "a missing ASH_CONFIG is no configuration",
        &[InRepo("{}")],
        ash_config("ops/gone.yaml"),
        "gone.yaml",
    ),
    refused(
        "a configuration that does not parse is never replaced by defaults",
        &[InRepo("sandbox: {network_scanners: [\n")],
        SCAN,
        "does not parse",
    ),
];
