//! Bases and patches: one file in the tree spoils the whole configuration, since the merge keeps no record of who set what.

use super::{
    DEFAULTS, GRANTED, GRANTS, GREEDY,
    Make::{Dir, File, InRepo, Link},
    Outcome, REFUSED, REFUSED_BWRAP, Row, SCAN, Typed, ash_config, config, mode, mode_kept,
    refused, row,
};

const ON_BASE: &str =
    "extends: ../repo/base.yaml\nsandbox: {network_scanners: [bandit], extra_read_paths: [~/ca]}\n";

pub(super) const ROWS: &[Row] = &[
    row(
        "a base inside takes the grants of the file outside",
        &[File("repo/base.yaml", "{}"), File("ops/c.yaml", ON_BASE)],
        config("ops/c.yaml"),
        REFUSED,
    ),
    row(
        "a base inside takes the grants of ASH_CONFIG outside",
        &[File("repo/base.yaml", "{}"), File("ops/c.yaml", ON_BASE)],
        ash_config("ops/c.yaml"),
        REFUSED,
    ),
    row(
        "and the grants of the base",
        &[File("repo/base.yaml", GREEDY), File("ops/c.yaml", "extends: [../repo/base.yaml]\n")],
        config("ops/c.yaml"),
        REFUSED_BWRAP,
    ),
    row(
        "overrides grant in that layout",
        &[File("repo/base.yaml", "{}"), File("ops/c.yaml", ON_BASE)],
        Typed {
            overrides: &["sandbox.network_scanners=[bandit]", "sandbox.extra_read_paths=[~/ca]"],
            ..config("ops/c.yaml")
        },
        GRANTED,
    ),
    row(
        "the mode of a file outside with a base inside holds",
        &[
            InRepo("sandbox: {mode: off}"),
            File("repo/base.yaml", "{}"),
            File("ops/c.yaml", "extends: ../repo/base.yaml\nsandbox: {mode: bwrap}\n"),
        ],
        config("ops/c.yaml"),
        mode("bwrap"),
    ),
    row(
        "the mode of a base inside is a floor as well",
        &[
            File("repo/base.yaml", "sandbox: {mode: bwrap}"),
            File("ops/c.yaml", "extends: ../repo/base.yaml\n"),
        ],
        config("ops/c.yaml"),
        mode("bwrap"),
    ),
    row(
        "a base inside cannot turn off what ASH_CONFIG turns on",
        &[
            File("repo/base.yaml", "sandbox: {mode: off}"),
            File("ops/c.yaml", "extends: ../repo/base.yaml\n"),
            File("plain/d.yaml", "sandbox: {mode: bwrap}"),
        ],
        Typed { ash_config: Some("plain/d.yaml"), ..config("ops/c.yaml") },
        mode_kept("bwrap"),
    ),
    row(
        "a base outside keeps the grants",
        &[File("ops/base.yaml", GRANTS), File("ops/c.yaml", "extends: base.yaml\n")],
        config("ops/c.yaml"),
        GRANTED,
    ),
    row(
        "one base inside among others outside counts",
        &[
            File("ops/a.yaml", "{}"),
            File("repo/base.yaml", "{}"),
            File("ops/z.yaml", GRANTS),
            File("ops/c.yaml", "extends: [a.yaml, ../repo/base.yaml, z.yaml]\n"),
        ],
        config("ops/c.yaml"),
        REFUSED,
    ),
    row(
        "a base of a base inside counts",
        &[
            File("repo/base.yaml", "{}"),
            File("ops/b.yaml", "extends: ../repo/base.yaml\n"),
            File(
                "ops/c.yaml",
                "extends: b.yaml\nsandbox: {network_scanners: [bandit], extra_read_paths: [~/ca]}\n",
            ),
        ],
        config("ops/c.yaml"),
        REFUSED,
    ),
    row(
        "a base above the scanned directory, in the same checkout, counts",
        &[File("repo/base.yaml", "{}"), File("ops/c.yaml", ON_BASE)],
        Typed { source: "repo/app", ..config("ops/c.yaml") },
        REFUSED,
    ),
    row(
        "a base in another checkout beside the file keeps the grants",
        &[
            Dir("ops/shared/.git"),
            File("ops/shared/b.yaml", GRANTS),
            File("ops/c.yaml", "extends: shared/b.yaml\n"),
        ],
        config("ops/c.yaml"),
        GRANTED,
    ),
    row(
        "a base through a link into the tree counts",
        &[
            Link("ops/b.yaml", "../repo/b.yaml"),
            File("repo/b.yaml", GRANTS),
            File("ops/c.yaml", "extends: b.yaml\n"),
        ],
        config("ops/c.yaml"),
        REFUSED,
    ),
    row(
        "a base in a section of pyproject.toml inside counts",
        &[
            File(
                "repo/pyproject.toml",
                "[tool.ash.sandbox]\nnetwork_scanners = ['bandit']\nextra_read_paths = ['~/ca']\n",
            ),
            File("ops/c.yaml", "extends: ../repo/pyproject.toml\n"),
        ],
        config("ops/c.yaml"),
        REFUSED,
    ),
    row(
        "a file of the tree on a base of the tree grants nothing",
        &[File("repo/base.yaml", GRANTS), InRepo("extends: base.yaml\n")],
        SCAN,
        REFUSED,
    ),
    refused(
        "a file of the tree reads no base outside",
        &[File("ops/base.yaml", GRANTS), InRepo("extends: ../ops/base.yaml\n")],
        SCAN,
        "lies outside the scanned tree",
    ),
    refused(
        "a file of the tree reads no base outside through a link either",
        &[
            File("ops/base.yaml", GRANTS),
            Link("repo/base.yaml", "../ops/base.yaml"),
            InRepo("extends: base.yaml\n"),
        ],
        SCAN,
        "lies outside the scanned tree",
    ),
    refused(
        "a file outside reads no base from anywhere",
        &[File("plain/base.yaml", "{}"), File("ops/c.yaml", "extends: ../plain/base.yaml\n")],
        config("ops/c.yaml"),
        "lies outside the scanned tree",
    ),
    refused(
        "bases in a circle are refused",
        &[File("ops/b.yaml", "extends: c.yaml\n"), File("ops/c.yaml", "extends: b.yaml\n")],
        config("ops/c.yaml"),
        "goes in a circle",
    ),
    refused(
        "an address is no base",
        &[File("ops/c.yaml", "extends: https://example.com/ash.yaml\n")],
        config("ops/c.yaml"),
        "is an address",
    ),
    row(
        "a patch in the tree grants nothing",
        &[InRepo(
            "patch: [{op: add, path: /sandbox, value: {network_scanners: [bandit], extra_read_paths: [~/ca]}}]\n",
        )],
        SCAN,
        REFUSED,
    ),
    row(
        "a patch outside grants",
        &[File(
            "ops/c.yaml",
            "patch: [{op: add, path: /sandbox, value: {network_scanners: [bandit], extra_read_paths: [~/ca]}}]\n",
        )],
        config("ops/c.yaml"),
        GRANTED,
    ),
    row(
        "a base of the tree may take away",
        &[
            File("repo/base.yaml", "sandbox: {network_scanners: [semgrep]}"),
            InRepo("extends: base.yaml\n"),
        ],
        SCAN,
        Outcome { network: &["semgrep"], dropped: &["sandbox.network_scanners"], ..DEFAULTS },
    ),
];
