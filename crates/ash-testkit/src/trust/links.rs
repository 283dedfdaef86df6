//! Files are compared, not the way their names are written.

use super::{
    DEFAULTS, Expect, GRANTED, GRANTS,
    Make::{Dir, File, HardLink, InRepo, Link},
    REFUSED, Row, SCAN, Typed, ash_config, config, refused, row,
};

/// The row that only holds where letter case counts.
pub(super) const CASE_COUNTS: &str = "another letter case is another directory where case counts";

/// A row of a file system that ignores letter case.
const fn folded(what: &'static str, make: &'static [super::Make], typed: Typed) -> Row {
    Row { what, make, typed, expect: Expect::Settings(REFUSED), folds_case: true }
}

pub(super) const ROWS: &[Row] = &[
    row(
        "a scanned link out of a checkout counts the checkout it sits in",
        &[Link("repo/out", "../plain"), File("repo/c.yaml", GRANTS)],
        Typed { source: "repo/out", ..config("repo/c.yaml") },
        REFUSED,
    ),
    row(
        "a scanned link into a checkout counts that checkout",
        &[Link("plain/in", "../repo/app"), File("repo/c.yaml", GRANTS)],
        Typed { source: "plain/in", ..config("repo/c.yaml") },
        REFUSED,
    ),
    row(
        "a chain of links counts every checkout on the way",
        &[
            Link("plain/one", "../repo/two"),
            Link("repo/two", "../ops"),
            File("repo/c.yaml", GRANTS),
        ],
        Typed { source: "plain/one", ..config("repo/c.yaml") },
        REFUSED,
    ),
    row(
        "a link above the scanned directory counts too",
        &[Dir("plain/deep/app"), Link("repo/out", "../plain"), File("repo/c.yaml", GRANTS)],
        Typed { source: "repo/out/deep/app", ..config("repo/c.yaml") },
        REFUSED,
    ),
    row(
        "a scanned link and dots are followed as the kernel does",
        &[Dir("plain/deep"), Link("repo/out", "../plain/deep"), File("repo/c.yaml", GRANTS)],
        Typed { source: "repo/out/..", ..config("repo/c.yaml") },
        REFUSED,
    ),
    row(
        "a link outside to a file inside is inside",
        &[Link("ops/c.yaml", "../repo/c.yaml"), File("repo/c.yaml", GRANTS)],
        config("ops/c.yaml"),
        REFUSED,
    ),
    row(
        "a link inside to a file outside is inside",
        &[Link("repo/c.yaml", "../ops/c.yaml"), File("ops/c.yaml", GRANTS)],
        config("repo/c.yaml"),
        REFUSED,
    ),
    row(
        "ASH_CONFIG by a link inside to a file outside is inside",
        &[Link("repo/c.yaml", "../ops/c.yaml"), File("ops/c.yaml", GRANTS)],
        ash_config("repo/c.yaml"),
        REFUSED,
    ),
    row(
        "a discovered link to a file outside is inside",
        &[Link("repo/.ash.yaml", "../ops/c.yaml"), File("ops/c.yaml", GRANTS)],
        SCAN,
        REFUSED,
    ),
    row(
        "a link in the middle of a chain counts",
        &[
            Link("ops/one.yaml", "../repo/two.yaml"),
            Link("repo/two.yaml", "../plain/c.yaml"),
            File("plain/c.yaml", GRANTS),
        ],
        config("ops/one.yaml"),
        REFUSED,
    ),
    row(
        "a linked directory into the tree is inside",
        &[Link("ops/d", "../repo"), File("repo/c.yaml", GRANTS)],
        config("ops/d/c.yaml"),
        REFUSED,
    ),
    row(
        "links outside to a file outside are outside",
        &[
            Link("ops/d", "../other"),
            Link("other/c.yaml", "../plain/c.yaml"),
            File("plain/c.yaml", GRANTS),
        ],
        config("ops/d/c.yaml"),
        GRANTED,
    ),
    row(
        "a file under an alias of the scanned directory is inside",
        &[Link("ops/alias", "../plain"), File("plain/c.yaml", GRANTS)],
        Typed { source: "plain", ..config("ops/alias/c.yaml") },
        REFUSED,
    ),
    row(
        "a file is inside too when the scanned directory goes by an alias",
        &[Link("ops/alias", "../plain"), File("plain/c.yaml", GRANTS)],
        Typed { source: "ops/alias", ..config("plain/c.yaml") },
        REFUSED,
    ),
    row(
        "dots do not hide a file",
        &[File("repo/c.yaml", GRANTS)],
        config("ops/../repo/./app/../c.yaml"),
        REFUSED,
    ),
    row(
        "doubled slashes do not hide a file",
        &[File("repo/c.yaml", GRANTS)],
        Typed { source: "repo//app/", ..config("repo///c.yaml") },
        REFUSED,
    ),
    row(
        "dots through a link are followed as the kernel does",
        &[Link("ops/d", "../repo/app"), File("repo/c.yaml", GRANTS)],
        config("ops/d/../c.yaml"),
        REFUSED,
    ),
    row(
        "dots that lead out again are outside",
        &[File("ops/c.yaml", GRANTS)],
        config("repo/app/../../ops/c.yaml"),
        GRANTED,
    ),
    row(
        "a dotted scan root is the same tree",
        &[InRepo(GRANTS)],
        Typed { source: "repo/app/..", ..SCAN },
        REFUSED,
    ),
    row(
        "a file of the same name outside is outside",
        &[Dir("plain/repo"), File("plain/repo/c.yaml", GRANTS)],
        config("plain/repo/c.yaml"),
        GRANTED,
    ),
    row(
        "a directory whose name starts like the tree's is outside",
        &[File("repo-ops/c.yaml", GRANTS)],
        config("repo-ops/c.yaml"),
        GRANTED,
    ),
    row(CASE_COUNTS, &[File("REPO/c.yaml", GRANTS)], config("REPO/c.yaml"), GRANTED),
    folded(
        "another letter case of the tree is inside where case is ignored",
        &[File("REPO/c.yaml", GRANTS)],
        config("REPO/c.yaml"),
    ),
    folded(
        "another letter case in ASH_CONFIG is inside where case is ignored",
        &[File("Repo/deep/c.yaml", GRANTS)],
        ash_config("Repo/deep/c.yaml"),
    ),
    folded(
        "another letter case of a base is inside where case is ignored",
        &[File("REPO/b.yaml", GRANTS), File("c.yaml", "extends: REPO/b.yaml\n")],
        config("c.yaml"),
    ),
    // A hard link is the file itself: nothing leads back. Only the operator can make one outside.
    row(
        "a hard link outside to a file inside cannot be traced back",
        &[File("repo/c.yaml", GRANTS), HardLink("ops/c.yaml", "repo/c.yaml")],
        config("ops/c.yaml"),
        GRANTED,
    ),
    refused(
        "links in a circle are no configuration",
        &[Link("ops/a.yaml", "b.yaml"), Link("ops/b.yaml", "a.yaml")],
        config("ops/a.yaml"),
        "a.yaml",
    ),
    refused(
        "a dangling link in the tree is no reason for defaults",
        &[Link("repo/.ash.yaml", "nowhere")],
        SCAN,
        ".ash.yaml",
    ),
    row(
        "a tree without any configuration has nothing to say",
        &[File("repo/README", GRANTS)],
        SCAN,
        DEFAULTS,
    ),
];
