//! Bind mounts. Nothing in a mounted directory tells what it was mounted from, so a checkout above the original is not found: a known
//! gap, and the rows that show it fail when it closes.

use super::{
    DEFAULTS, GRANTED, GRANTS,
    Make::{Bind, Dir, File, InRepo},
    REFUSED, Row, SCAN, Typed, config, row,
};

pub(super) const ROWS: &[Row] = &[
    row(
        "a bind mount of a directory inside a checkout cannot be traced back",
        &[Dir("plain/bound"), Bind("repo/app", "plain/bound"), File("repo/c.yaml", GRANTS)],
        Typed { source: "plain/bound", ..config("repo/c.yaml") },
        GRANTED,
    ),
    row(
        "the directory that was mounted is in its checkout under its own name",
        &[Dir("plain/bound"), Bind("repo/app", "plain/bound"), File("repo/c.yaml", GRANTS)],
        Typed { source: "repo/app", ..config("repo/c.yaml") },
        REFUSED,
    ),
    row(
        "the grants of that layout can be taken back with overrides",
        &[Dir("plain/bound"), Bind("repo/app", "plain/bound"), File("repo/c.yaml", GRANTS)],
        Typed {
            source: "plain/bound",
            overrides: &["sandbox.network_scanners=null", "sandbox.extra_read_paths=[]"],
            ..config("repo/c.yaml")
        },
        DEFAULTS,
    ),
    row(
        "a bind mount of a single file inside a checkout cannot be traced back",
        &[File("repo/c.yaml", GRANTS), File("ops/c.yaml", ""), Bind("repo/c.yaml", "ops/c.yaml")],
        config("ops/c.yaml"),
        GRANTED,
    ),
    row(
        "a bind mount of the whole checkout is the same tree",
        &[Dir("plain/bound"), Bind("repo", "plain/bound"), File("repo/c.yaml", GRANTS)],
        Typed { source: "plain/bound", ..config("repo/c.yaml") },
        REFUSED,
    ),
    row(
        "a file under a bind mount of the scanned directory is inside",
        &[Dir("plain/bound"), Bind("repo", "plain/bound"), File("repo/c.yaml", GRANTS)],
        config("plain/bound/c.yaml"),
        REFUSED,
    ),
    row(
        "what a mounted directory brings along is its own configuration",
        &[Dir("plain/bound"), Bind("repo", "plain/bound"), InRepo(GRANTS)],
        Typed { source: "plain/bound", ..SCAN },
        REFUSED,
    ),
];
