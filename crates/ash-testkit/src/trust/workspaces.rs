//! Workspaces: the tree is looked up from the workspace's root, and the operator's configuration decides for each project.

use super::{
    DEFAULTS, GRANTED, GRANTED_BWRAP, GRANTS, GREEDY, MODE,
    Make::{Dir, File, Link},
    NET, Outcome, READ, REFUSED, Row, SCAN, Typed, ash_config, config, mode, mode_kept, refused,
    row,
};

const ONE: super::Make = File("plain/all.code-workspace", r#"{"folders": [{"path": "p"}]}"#);
const TWO: super::Make =
    File("plain/all.code-workspace", r#"{"folders": [{"path": "p"}, {"path": "q"}]}"#);

/// Project `p` of the workspace in `plain`.
const fn project(typed: Typed) -> Typed {
    Typed { source: "plain/p", workspace: Some("plain/all.code-workspace"), ..typed }
}

pub(super) const ROWS: &[Row] = &[
    row(
        "in workspace mode the tree is looked up from the workspace",
        &[ONE, Dir("plain/p"), File("plain/c.yaml", GRANTS)],
        project(config("plain/c.yaml")),
        REFUSED,
    ),
    row(
        "without workspace mode the same file is outside",
        &[ONE, Dir("plain/p"), File("plain/c.yaml", GRANTS)],
        Typed { source: "plain/p", ..config("plain/c.yaml") },
        GRANTED,
    ),
    row(
        "ASH_CONFIG in the workspace grants nothing",
        &[ONE, Dir("plain/p"), File("plain/c.yaml", GRANTS)],
        project(ash_config("plain/c.yaml")),
        REFUSED,
    ),
    row(
        "a configuration of another project of the workspace",
        &[TWO, Dir("plain/p"), File("plain/q/c.yaml", GRANTS)],
        project(config("plain/q/c.yaml")),
        REFUSED,
    ),
    row(
        "a configuration above the workspace, in the checkout around it",
        &[
            File("repo/w/all.code-workspace", r#"{"folders": [{"path": "p"}]}"#),
            Dir("repo/w/p"),
            File("repo/c.yaml", GRANTS),
        ],
        Typed {
            source: "repo/w/p",
            workspace: Some("repo/w/all.code-workspace"),
            ..config("repo/c.yaml")
        },
        REFUSED,
    ),
    row(
        "a project that is a checkout of its own does not end the workspace",
        &[ONE, Dir("plain/p/.git"), File("plain/c.yaml", GRANTS)],
        project(config("plain/c.yaml")),
        REFUSED,
    ),
    row(
        "the configuration of a project grants it nothing",
        &[ONE, File("plain/p/.ash.yaml", GRANTS)],
        project(SCAN),
        REFUSED,
    ),
    row(
        "the operator's configuration decides for a project with its own",
        &[
            ONE,
            File("plain/p/.ash.yaml", "sandbox: {mode: off, network_scanners: [bandit, semgrep]}"),
            File("ops/c.yaml", GREEDY),
        ],
        project(config("ops/c.yaml")),
        Outcome { dropped: &[MODE, NET], ..GRANTED_BWRAP },
    ),
    row(
        "and for one without",
        &[ONE, Dir("plain/p"), File("ops/c.yaml", GREEDY)],
        project(config("ops/c.yaml")),
        GRANTED_BWRAP,
    ),
    row(
        "a project's own list still takes away",
        &[
            ONE,
            File("plain/p/.ash.yaml", "sandbox: {network_scanners: []}"),
            File("ops/c.yaml", GREEDY),
        ],
        project(config("ops/c.yaml")),
        Outcome { network: &[], ..GRANTED_BWRAP },
    ),
    row(
        "a project's own read paths are dropped beside the operator's",
        &[
            ONE,
            File("plain/p/.ash.yaml", "sandbox: {extra_read_paths: [/usr]}"),
            File("ops/c.yaml", GREEDY),
        ],
        project(config("ops/c.yaml")),
        Outcome { dropped: &[READ], ..GRANTED_BWRAP },
    ),
    row(
        "a project's own mode turns on what the operator's configuration leaves open",
        &[ONE, File("plain/p/.ash.yaml", "sandbox: {mode: bwrap}"), File("ops/c.yaml", "{}")],
        project(config("ops/c.yaml")),
        mode("bwrap"),
    ),
    row(
        "an operator's configuration inside the workspace keeps only its mode",
        &[ONE, File("plain/p/.ash.yaml", "sandbox: {mode: off}"), File("plain/c.yaml", GREEDY)],
        project(config("plain/c.yaml")),
        mode_kept("bwrap"),
    ),
    row(
        "the flag turns off the floor of a workspace",
        &[ONE, File("plain/p/.ash.yaml", "{}"), File("plain/c.yaml", "sandbox: {mode: bwrap}")],
        Typed { flag: Some("off"), ..project(config("plain/c.yaml")) },
        mode("off"),
    ),
    row(
        "a restriction on the command line holds in workspace mode",
        &[ONE, File("plain/p/.ash.yaml", "{}"), File("ops/c.yaml", GREEDY)],
        Typed { overrides: &["sandbox.network_scanners=[]"], ..project(config("ops/c.yaml")) },
        Outcome { network: &[], ..GRANTED_BWRAP },
    ),
    row(
        "a workspace file under a link counts where it sits and where it is",
        &[
            File("plain/all.code-workspace", r#"{"folders": [{"path": "p"}]}"#),
            Dir("plain/p"),
            Link("repo/w", "../plain"),
            File("repo/c.yaml", GRANTS),
        ],
        Typed {
            source: "repo/w/p",
            workspace: Some("repo/w/all.code-workspace"),
            ..config("repo/c.yaml")
        },
        REFUSED,
    ),
    refused(
        "an operator's configuration that is wrong is refused beside a project's own",
        &[ONE, File("plain/p/.ash.yaml", "{}"), File("ops/c.yaml", "sandbox: {mode: bwarp}")],
        project(config("ops/c.yaml")),
        "did you mean `bwrap`?",
    ),
    row("a workspace without any configuration", &[ONE, Dir("plain/p")], project(SCAN), DEFAULTS),
];
