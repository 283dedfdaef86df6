//! The tree is the outermost checkout around the scanned directory, looked up from every name it goes by.

use super::{
    GRANTED, GRANTS,
    Make::{Dir, File, Gone, InRepo, Link},
    REFUSED, Row, SCAN, Typed, ash_config, config, row,
};

pub(super) const ROWS: &[Row] = &[
    row(
        "a configuration above the scanned directory, in the same checkout",
        &[File("repo/c.yaml", GRANTS)],
        Typed { source: "repo/app", ..config("repo/c.yaml") },
        REFUSED,
    ),
    row(
        "a configuration beside the scanned directory, in the same checkout",
        &[File("repo/ops/c.yaml", GRANTS)],
        Typed { source: "repo/app", ..config("repo/ops/c.yaml") },
        REFUSED,
    ),
    row(
        "a nested checkout does not end the tree",
        &[Dir("repo/app/.git"), File("repo/c.yaml", GRANTS)],
        Typed { source: "repo/app", ..config("repo/c.yaml") },
        REFUSED,
    ),
    row(
        "of three nested checkouts the outermost counts",
        &[
            Dir("plain/.git"),
            Dir("plain/a/.git"),
            Dir("plain/a/b/.git"),
            File("plain/c.yaml", GRANTS),
        ],
        Typed { source: "plain/a/b", ..config("plain/c.yaml") },
        REFUSED,
    ),
    row(
        "a checkout inside the scanned one is inside",
        &[Dir("repo/vendor/x/.git"), File("repo/vendor/x/c.yaml", GRANTS)],
        config("repo/vendor/x/c.yaml"),
        REFUSED,
    ),
    row(
        "a submodule's .git file does not end the tree",
        &[File("repo/app/.git", "gitdir: ../.git/modules/app"), File("repo/c.yaml", GRANTS)],
        Typed { source: "repo/app", ..config("repo/c.yaml") },
        REFUSED,
    ),
    row(
        "a .git file makes a checkout (worktree)",
        &[Gone("repo/.git"), File("repo/.git", "gitdir: /elsewhere"), File("repo/c.yaml", GRANTS)],
        Typed { source: "repo/app", ..config("repo/c.yaml") },
        REFUSED,
    ),
    row(
        "a worktree inside its checkout does not end the tree",
        &[File("repo/trees/w/.git", "gitdir: ../../.git/worktrees/w"), File("repo/c.yaml", GRANTS)],
        Typed { source: "repo/trees/w", ..config("repo/c.yaml") },
        REFUSED,
    ),
    row(
        "a worktree elsewhere is a tree of its own",
        &[File("plain/w/.git", "gitdir: ../../repo/.git/worktrees/w"), File("repo/c.yaml", GRANTS)],
        Typed { source: "plain/w", ..config("repo/c.yaml") },
        GRANTED,
    ),
    row(
        "an empty .git file makes a checkout",
        &[Gone("repo/.git"), File("repo/.git", ""), File("repo/c.yaml", GRANTS)],
        Typed { source: "repo/app", ..config("repo/c.yaml") },
        REFUSED,
    ),
    row(
        "a dangling .git link makes a checkout",
        &[Gone("repo/.git"), Link("repo/.git", "nowhere"), File("repo/c.yaml", GRANTS)],
        Typed { source: "repo/app", ..config("repo/c.yaml") },
        REFUSED,
    ),
    row(
        "a .git link in a circle makes a checkout",
        &[Gone("repo/.git"), Link("repo/.git", ".git"), File("repo/c.yaml", GRANTS)],
        Typed { source: "repo/app", ..config("repo/c.yaml") },
        REFUSED,
    ),
    row(
        "without .git a directory above is outside",
        &[Gone("repo/.git"), File("repo/c.yaml", GRANTS)],
        Typed { source: "repo/app", ..config("repo/c.yaml") },
        GRANTED,
    ),
    row(
        "names that only look like .git make no checkout",
        &[
            Gone("repo/.git"),
            File("repo/.gitignore", ""),
            Dir("repo/git"),
            Dir("repo/x.git"),
            File("repo/c.yaml", GRANTS),
        ],
        Typed { source: "repo/app", ..config("repo/c.yaml") },
        GRANTED,
    ),
    row(
        "outside a checkout the scanned directory is the tree",
        &[File("plain/.ash.yaml", GRANTS)],
        Typed { source: "plain", ..SCAN },
        REFUSED,
    ),
    row(
        "outside a checkout a directory below is inside",
        &[File("plain/deep/er/c.yaml", GRANTS)],
        Typed { source: "plain", ..config("plain/deep/er/c.yaml") },
        REFUSED,
    ),
    row(
        "outside a checkout a neighbour is outside",
        &[File("ops/c.yaml", GRANTS)],
        Typed { source: "plain", ..config("ops/c.yaml") },
        GRANTED,
    ),
    row(
        "a configuration in an unrelated checkout keeps its grants",
        &[File("other/c.yaml", GRANTS)],
        config("other/c.yaml"),
        GRANTED,
    ),
    row(
        "ASH_CONFIG in an unrelated checkout keeps its grants",
        &[File("other/c.yaml", GRANTS)],
        ash_config("other/c.yaml"),
        GRANTED,
    ),
    row(
        "a home that is a checkout is the tree",
        &[Dir("home/.git"), File("home/src/x", ""), File("home/c.yaml", GRANTS)],
        Typed { source: "home/src", ..config("home/c.yaml") },
        REFUSED,
    ),
    // The working directory as the shell names it.
    row(
        "$PWD through a link out of the checkout counts it",
        &[Link("repo/out", "../plain"), File("repo/c.yaml", GRANTS)],
        Typed { source: ".", cwd: "plain", pwd: Some("repo/out"), ..config("../repo/c.yaml") },
        REFUSED,
    ),
    row(
        "$PWD and an absolute scan root",
        &[Link("repo/out", "../plain"), File("repo/c.yaml", GRANTS)],
        Typed { source: "plain", cwd: "plain", pwd: Some("repo/out"), ..config("../repo/c.yaml") },
        REFUSED,
    ),
    row(
        "$PWD and a directory below",
        &[Link("repo/out", "../plain"), Dir("plain/sub"), File("repo/c.yaml", GRANTS)],
        Typed { source: "./sub", cwd: "plain", pwd: Some("repo/out"), ..config("../repo/c.yaml") },
        REFUSED,
    ),
    row(
        "$PWD and a root above the link",
        &[Link("repo/out", "../plain/sub"), Dir("plain/sub"), File("repo/c.yaml", GRANTS)],
        Typed {
            source: "./..",
            cwd: "plain/sub",
            pwd: Some("repo/out"),
            ..config("../../repo/c.yaml")
        },
        REFUSED,
    ),
    row(
        "$PWD through two links counts the checkout of the first",
        &[Link("repo/out", "../ops/on"), Link("ops/on", "../plain"), File("repo/c.yaml", GRANTS)],
        Typed { source: ".", cwd: "plain", pwd: Some("repo/out"), ..config("../repo/c.yaml") },
        REFUSED,
    ),
    row(
        "without $PWD the same directory is not in the checkout",
        &[Link("repo/out", "../plain"), File("repo/c.yaml", GRANTS)],
        Typed { source: ".", cwd: "plain", ..config("../repo/c.yaml") },
        GRANTED,
    ),
    row(
        "a $PWD that names another directory is ignored",
        &[File("repo/c.yaml", GRANTS)],
        Typed { source: ".", cwd: "plain", pwd: Some("repo/app"), ..config("../repo/c.yaml") },
        GRANTED,
    ),
    row(
        "a $PWD that names a deleted directory is ignored",
        &[File("repo/c.yaml", GRANTS)],
        Typed { source: ".", cwd: "plain", pwd: Some("repo/gone"), ..config("../repo/c.yaml") },
        GRANTED,
    ),
    row(
        "a $PWD does not replace the given name",
        &[InRepo(GRANTS), Link("plain/in", "../repo")],
        Typed { source: ".", cwd: "repo", pwd: Some("plain/in"), ..SCAN },
        REFUSED,
    ),
    row(
        "a $PWD does not replace the real name",
        &[Link("plain/in", "../repo/app"), File("repo/c.yaml", GRANTS)],
        Typed { source: ".", cwd: "repo/app", pwd: Some("plain/in"), ..config("../c.yaml") },
        REFUSED,
    ),
];
