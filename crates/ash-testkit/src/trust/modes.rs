//! The mode is a floor: a file in the tree may turn the sandbox on, and neither off nor to another backend.

use super::{
    DEFAULTS, GRANTS, GREEDY,
    Make::{Dir, File, InRepo},
    Outcome, REFUSED_BWRAP, Row, SCAN, Typed, ash_config, config, mode, mode_kept, over, refused,
    row,
};

const OFF: &str = "sandbox: {mode: off}";
const BWRAP: &str = "sandbox: {mode: bwrap}";
const LANDLOCK: &str = "sandbox: {mode: landlock}";

pub(super) const ROWS: &[Row] = &[
    // When nobody else sets one.
    row("an in-tree mode applies when nobody else sets one", &[InRepo(BWRAP)], SCAN, mode("bwrap")),
    row("an in-tree auto alone", &[InRepo("sandbox: {mode: auto}")], SCAN, mode("auto")),
    row(
        "an in-tree firejail alone",
        &[InRepo("sandbox: {mode: firejail}")],
        SCAN,
        mode("firejail"),
    ),
    row("an in-tree landlock alone", &[InRepo(LANDLOCK)], SCAN, mode("landlock")),
    row(
        "an in-tree sandbox-exec alone",
        &[InRepo("sandbox: {mode: sandbox-exec}")],
        SCAN,
        mode("sandbox-exec"),
    ),
    row("an in-tree off alone is off", &[InRepo(OFF)], SCAN, mode("off")),
    row(
        "an unquoted off is the word, not the opposite of on",
        &[InRepo("sandbox:\n  mode: off\n")],
        SCAN,
        mode("off"),
    ),
    refused(
        "a mode that is none is refused",
        &[InRepo("sandbox: {mode: bwarp}")],
        SCAN,
        "did you mean `bwrap`?",
    ),
    refused(
        "a mode of null is refused",
        &[InRepo("sandbox: {mode: null}")],
        SCAN,
        "`sandbox.mode` must be one of",
    ),
    refused(
        "an override to a mode that is none is refused",
        &[],
        over(&["sandbox.mode=none-such"]),
        "`sandbox.mode` must be one of",
    ),
    refused(
        "an override to no mode is refused",
        &[InRepo(BWRAP)],
        over(&["sandbox.mode=null"]),
        "`sandbox.mode` must be one of",
    ),
    // The flag alone.
    row("--sandbox off alone", &[], Typed { flag: Some("off"), ..SCAN }, mode("off")),
    row("--sandbox auto alone", &[], Typed { flag: Some("auto"), ..SCAN }, mode("auto")),
    row(
        "--sandbox firejail alone",
        &[],
        Typed { flag: Some("firejail"), ..SCAN },
        mode("firejail"),
    ),
    row(
        "--sandbox landlock alone",
        &[],
        Typed { flag: Some("landlock"), ..SCAN },
        mode("landlock"),
    ),
    row(
        "--sandbox sandbox-exec alone",
        &[],
        Typed { flag: Some("sandbox-exec"), ..SCAN },
        mode("sandbox-exec"),
    ),
    // Against the flag.
    row(
        "in-tree off against the flag",
        &[InRepo(OFF)],
        Typed { flag: Some("bwrap"), ..SCAN },
        mode_kept("bwrap"),
    ),
    row(
        "another in-tree backend against the flag",
        &[InRepo(LANDLOCK)],
        Typed { flag: Some("bwrap"), ..SCAN },
        mode_kept("bwrap"),
    ),
    row(
        "an in-tree auto against the flag",
        &[InRepo("sandbox: {mode: auto}")],
        Typed { flag: Some("bwrap"), ..SCAN },
        mode_kept("bwrap"),
    ),
    row(
        "the same mode in the tree and on the command line",
        &[InRepo(BWRAP)],
        Typed { flag: Some("bwrap"), ..SCAN },
        mode("bwrap"),
    ),
    // Against an override.
    row(
        "in-tree off against an override",
        &[InRepo(OFF)],
        over(&["sandbox.mode=bwrap"]),
        mode_kept("bwrap"),
    ),
    row(
        "another in-tree backend against an override",
        &[InRepo(LANDLOCK)],
        over(&["sandbox.mode=bwrap"]),
        mode_kept("bwrap"),
    ),
    row(
        "in-tree off against a whole-section override",
        &[InRepo(OFF)],
        over(&["sandbox={\"mode\": \"bwrap\"}"]),
        mode_kept("bwrap"),
    ),
    // Against ASH_CONFIG and a configuration outside.
    row(
        "in-tree off against ASH_CONFIG",
        &[InRepo(OFF), File("ops/c.yaml", BWRAP)],
        ash_config("ops/c.yaml"),
        mode_kept("bwrap"),
    ),
    row(
        "another in-tree backend against ASH_CONFIG",
        &[InRepo(LANDLOCK), File("ops/c.yaml", BWRAP)],
        ash_config("ops/c.yaml"),
        mode_kept("bwrap"),
    ),
    row(
        "in-tree off against --config outside",
        &[InRepo(OFF), File("ops/c.yaml", BWRAP)],
        config("ops/c.yaml"),
        mode("bwrap"),
    ),
    row(
        "another in-tree backend against --config outside",
        &[InRepo(LANDLOCK), File("ops/c.yaml", BWRAP)],
        config("ops/c.yaml"),
        mode("bwrap"),
    ),
    row(
        "--config outside comes before ASH_CONFIG, whose mode has no say",
        &[File("ops/c.yaml", "{}"), File("ops/d.yaml", BWRAP)],
        Typed { ash_config: Some("ops/d.yaml"), ..config("ops/c.yaml") },
        DEFAULTS,
    ),
    row(
        "an in-tree file with a mistake has nothing to say beside ASH_CONFIG",
        &[InRepo("sandbox: {mode: evil, network_scanners: []}"), File("ops/c.yaml", BWRAP)],
        ash_config("ops/c.yaml"),
        mode("bwrap"),
    ),
    row(
        "an in-tree mode turns on what ASH_CONFIG leaves off",
        &[InRepo(BWRAP), File("ops/c.yaml", "{}")],
        ash_config("ops/c.yaml"),
        mode("bwrap"),
    ),
    row(
        "an in-tree mode turns on what ASH_CONFIG says is off, since only the command line turns off",
        &[InRepo(BWRAP), File("ops/c.yaml", OFF)],
        ash_config("ops/c.yaml"),
        mode("bwrap"),
    ),
    // The operator's own file inside the tree is a floor.
    row(
        "ASH_CONFIG in the tree: grants go, the mode holds",
        &[File("repo/c.yaml", GREEDY)],
        ash_config("repo/c.yaml"),
        REFUSED_BWRAP,
    ),
    row(
        "--config in the tree: grants go, the mode holds",
        &[File("repo/c.yaml", GREEDY)],
        config("repo/c.yaml"),
        REFUSED_BWRAP,
    ),
    row(
        "an operator's file in a home that is a checkout: grants go, the mode holds",
        &[Dir("home/.git"), Dir("home/src"), File("home/c.yaml", GREEDY)],
        Typed { source: "home/src", ..ash_config("home/c.yaml") },
        REFUSED_BWRAP,
    ),
    row(
        "a mode of the operator's own file in the tree holds against the project's off",
        &[Dir("home/.git"), File("home/src/.ash.yaml", OFF), File("home/c.yaml", BWRAP)],
        Typed { source: "home/src", ..config("home/c.yaml") },
        mode("bwrap"),
    ),
    row(
        "a file outside comes before --config in the tree",
        &[File("repo/c.yaml", LANDLOCK), File("ops/c.yaml", BWRAP)],
        Typed { ash_config: Some("ops/c.yaml"), ..config("repo/c.yaml") },
        mode_kept("bwrap"),
    ),
    row(
        "--config in the tree cannot turn off what ASH_CONFIG outside turns on",
        &[File("repo/c.yaml", OFF), File("ops/c.yaml", BWRAP)],
        Typed { ash_config: Some("ops/c.yaml"), ..config("repo/c.yaml") },
        mode_kept("bwrap"),
    ),
    row(
        "--config in the tree cannot turn off what ASH_CONFIG in the tree turns on",
        &[File("repo/c.yaml", OFF), File("repo/d.yaml", BWRAP)],
        Typed { ash_config: Some("repo/d.yaml"), ..config("repo/c.yaml") },
        mode_kept("bwrap"),
    ),
    row(
        "a mode that turns nothing off grants nothing either",
        &[InRepo("sandbox: {mode: bwrap, network_scanners: [bandit]}"), File("ops/c.yaml", "{}")],
        ash_config("ops/c.yaml"),
        Outcome { network: &[], dropped: &["sandbox.network_scanners"], ..mode("bwrap") },
    ),
    // Only these two turn it off.
    row(
        "the flag turns off an operator's mode",
        &[File("ops/c.yaml", BWRAP)],
        Typed { flag: Some("off"), ..config("ops/c.yaml") },
        mode("off"),
    ),
    row(
        "an override turns off an operator's mode",
        &[File("ops/c.yaml", BWRAP)],
        Typed { overrides: &["sandbox.mode=off"], ..config("ops/c.yaml") },
        mode("off"),
    ),
    row(
        "the flag turns off the mode of ASH_CONFIG",
        &[File("ops/c.yaml", BWRAP)],
        Typed { flag: Some("off"), ..ash_config("ops/c.yaml") },
        mode("off"),
    ),
    row(
        "an override turns off the mode of ASH_CONFIG",
        &[File("ops/c.yaml", BWRAP)],
        Typed { overrides: &["sandbox.mode=off"], ..ash_config("ops/c.yaml") },
        mode("off"),
    ),
    row(
        "the flag turns off a floor in the tree",
        &[File("repo/c.yaml", BWRAP)],
        Typed { flag: Some("off"), ..config("repo/c.yaml") },
        mode_kept("off"),
    ),
    row(
        "an override turns off a floor in the tree",
        &[File("repo/c.yaml", BWRAP)],
        Typed { overrides: &["sandbox.mode=off"], ..config("repo/c.yaml") },
        mode_kept("off"),
    ),
    row(
        "the flag turns off an in-tree mode",
        &[InRepo(BWRAP)],
        Typed { flag: Some("off"), ..SCAN },
        mode_kept("off"),
    ),
    row(
        "an override turns off an in-tree mode",
        &[InRepo(BWRAP)],
        over(&["sandbox.mode=off"]),
        mode_kept("off"),
    ),
    row(
        "a whole-section override turns off an in-tree mode",
        &[InRepo(BWRAP)],
        over(&["sandbox={\"mode\": \"off\"}"]),
        mode_kept("off"),
    ),
    row(
        "the flag comes before an override",
        &[],
        Typed { flag: Some("bwrap"), ..over(&["sandbox.mode=off"]) },
        mode("bwrap"),
    ),
    row(
        "a whole section without a mode does not turn it off",
        &[File("ops/c.yaml", BWRAP)],
        Typed {
            overrides: &["sandbox={\"network_scanners\": [\"semgrep\", \"npm-audit\"]}"],
            ..config("ops/c.yaml")
        },
        mode("bwrap"),
    ),
    row(
        "a later override of the whole section does not take back an earlier mode",
        &[],
        over(&["sandbox.mode=bwrap", "sandbox={\"extra_read_paths\": []}"]),
        mode("bwrap"),
    ),
    row(
        "nor does an empty section",
        &[],
        over(&["sandbox.mode=bwrap", "sandbox={}", "sandbox=null"]),
        mode("bwrap"),
    ),
    row(
        "nor does it hand the choice to a file",
        &[File("ops/c.yaml", "sandbox: {mode: firejail}")],
        Typed {
            overrides: &["sandbox.mode=bwrap", "sandbox={\"network_scanners\": null}"],
            ..config("ops/c.yaml")
        },
        mode("bwrap"),
    ),
    row(
        "a later section that names a mode decides",
        &[],
        over(&["sandbox.mode=bwrap", "sandbox={\"mode\": \"off\"}"]),
        mode("off"),
    ),
    row(
        "an override of grants does not turn it off",
        &[File("ops/c.yaml", BWRAP), InRepo(GRANTS)],
        Typed { overrides: &["sandbox.network_scanners=null"], ..config("ops/c.yaml") },
        mode("bwrap"),
    ),
];
