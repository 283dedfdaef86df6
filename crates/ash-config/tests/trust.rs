//! The trust truth table: who may turn the sandbox on, off and open, on real directories.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a lab that cannot be built is a failed test")]

use std::{
    ffi::OsString,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use ash_config::{Loaded, Request, load};

/// Directories of one row:
/// `repo` a checkout, `repo/app` in it; `ops` outside; `plain` a directory that is no checkout; `other` an unrelated checkout.
struct Lab {
    dir: tempfile::TempDir,
}

impl Lab {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let lab = Self { dir };
        let root = lab.root();
        assert!(
            root.ancestors().all(|dir| dir.join(".git").symlink_metadata().is_err()),
            "the temporary directory lies in a checkout: every row would pass for the wrong reason"
        );
        for path in ["repo/.git", "repo/app/.ash", "ops", "plain", "other/.git", "home"] {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        lab
    }

    fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }
}

/// One step of preparing a lab.
#[derive(Clone, Copy)]
enum Make {
    File(&'static str, &'static str),
    /// The configuration discovered in the scanned checkout.
    InRepo(&'static str),
    Link(&'static str, &'static str),
    Dir(&'static str),
    Gone(&'static str),
}

/// What the operator types.
#[derive(Clone, Copy, Default)]
struct Typed {
    source: &'static str,
    config: Option<&'static str>,
    ash_config: Option<&'static str>,
    overrides: &'static [&'static str],
    flag: Option<&'static str>,
    cwd: &'static str,
    pwd: Option<&'static str>,
    workspace: Option<&'static str>,
}

/// What comes out.
#[derive(Debug, PartialEq, Default)]
struct Outcome {
    mode: Option<&'static str>,
    /// Scanners named `a`, `b` (declaring a network) and `c` (declaring none) that get one when online.
    network: &'static str,
    reads: bool,
    /// Keys of notices about dropped sandbox settings.
    dropped: &'static [&'static str],
}

struct Row {
    what: &'static str,
    make: &'static [Make],
    typed: Typed,
    expect: Outcome,
}

use Make::{Dir, File, Gone, InRepo, Link};

/// A configuration that asks for everything.
const GREEDY: &str = "sandbox: {mode: bwrap, network_scanners: [c], extra_read_paths: [/etc]}\n";
const GRANTS: &str = "sandbox: {network_scanners: [c], extra_read_paths: [/etc]}\n";
const MODE: &str = "sandbox.mode";
const NET: &str = "sandbox.network_scanners";
const READ: &str = "sandbox.extra_read_paths";

const SCAN: Typed = Typed {
    source: "repo",
    config: None,
    ash_config: None,
    overrides: &[],
    flag: None,
    cwd: "",
    pwd: None,
    workspace: None,
};
/// Nothing granted, the tree's list `[c]` limits everybody else away.
const REFUSED: Outcome = Outcome { mode: None, network: "", reads: false, dropped: &[NET, READ] };
const REFUSED_BWRAP: Outcome = Outcome { mode: Some("bwrap"), ..REFUSED };
const GRANTED: Outcome = Outcome { mode: None, network: "c", reads: true, dropped: &[] };
const GRANTED_BWRAP: Outcome = Outcome { mode: Some("bwrap"), ..GRANTED };
const DEFAULTS: Outcome = Outcome { mode: None, network: "ab", reads: false, dropped: &[] };

const fn outside(config: &'static str) -> Typed {
    Typed { config: Some(config), ..SCAN }
}

const fn over(overrides: &'static [&'static str]) -> Typed {
    Typed { overrides, ..SCAN }
}

const fn row(what: &'static str, make: &'static [Make], typed: Typed, expect: Outcome) -> Row {
    Row { what, make, typed, expect }
}

fn rows() -> Vec<Row> {
    let off = || Outcome { mode: Some("off"), ..DEFAULTS };
    let mode = |mode| Outcome { mode: Some(mode), ..DEFAULTS };
    let dropped_mode = |mode| Outcome { mode: Some(mode), dropped: &[MODE], ..DEFAULTS };
    vec![
        // R113, R114: what the keys do where they are trusted.
        row("no configuration: declared defaults", &[], SCAN, DEFAULTS),
        row(
            "a list replaces the defaults",
            &[File("ops/c.yaml", GRANTS)],
            outside("ops/c.yaml"),
            GRANTED,
        ),
        row(
            "an empty list takes every network away",
            &[File("ops/c.yaml", "sandbox: {network_scanners: []}")],
            outside("ops/c.yaml"),
            Outcome { network: "", ..DEFAULTS },
        ),
        row(
            "null means the declared defaults",
            &[File("ops/c.yaml", "sandbox: {network_scanners: null}")],
            outside("ops/c.yaml"),
            DEFAULTS,
        ),
        row(
            "a list may take away and give at once",
            &[File("ops/c.yaml", "sandbox: {network-scanners: [a, c]}")],
            outside("ops/c.yaml"),
            Outcome { network: "ac", ..DEFAULTS },
        ),
        // R115: overrides grant.
        row(
            "an override grants",
            &[],
            over(&["sandbox.network_scanners=[c]", "sandbox.extra_read_paths=[/etc]"]),
            GRANTED,
        ),
        row(
            "an override in dashes grants",
            &[],
            over(&["sandbox.network-scanners=[c]", "sandbox.extra-read-paths=[\"/etc\"]"]),
            GRANTED,
        ),
        row(
            "a whole-section override grants",
            &[],
            over(&[
                "sandbox={\"mode\": \"bwrap\", \"network_scanners\": [\"c\"], \"extra_read_paths\": [\"/etc\"]}",
            ]),
            GRANTED_BWRAP,
        ),
        row(
            "an append override grants what it names",
            &[],
            over(&["sandbox.network_scanners+=[c]", "sandbox.extra_read_paths+=/etc"]),
            GRANTED,
        ),
        row(
            "an append override extends a trusted list",
            &[File("ops/c.yaml", "sandbox: {network_scanners: [a]}")],
            Typed { overrides: &["sandbox.network_scanners+=c"], ..outside("ops/c.yaml") },
            Outcome { network: "ac", ..DEFAULTS },
        ),
        row(
            "an override replaces a trusted list",
            &[File("ops/c.yaml", GRANTS)],
            Typed { overrides: &["sandbox.network_scanners=[]"], ..outside("ops/c.yaml") },
            Outcome { network: "", reads: true, ..DEFAULTS },
        ),
        // R115-R118: files in the tree grant nothing, wherever and however named.
        row("a discovered .ash.yaml grants nothing", &[InRepo(GRANTS)], SCAN, REFUSED),
        row("nor does .ash/.ash.yaml", &[File("repo/.ash/.ash.yaml", GRANTS)], SCAN, REFUSED),
        row(
            "nor does .ash.json",
            &[File(
                "repo/.ash.json",
                "{\"sandbox\": {\"network_scanners\": [\"c\"], \"extra_read_paths\": [\"/etc\"]}}",
            )],
            SCAN,
            REFUSED,
        ),
        row(
            "nor does .ashrc.toml",
            &[File(
                "repo/.ashrc.toml",
                "[sandbox]\nnetwork_scanners = ['c']\nextra_read_paths = ['/etc']\n",
            )],
            SCAN,
            REFUSED,
        ),
        row(
            "nor does pyproject.toml",
            &[File(
                "repo/pyproject.toml",
                "[tool.ash.sandbox]\nnetwork-scanners = ['c']\nextra-read-paths = ['/etc']\n",
            )],
            SCAN,
            REFUSED,
        ),
        row(
            "nor does --config into the tree",
            &[File("repo/ops/c.yaml", GRANTS)],
            outside("repo/ops/c.yaml"),
            REFUSED,
        ),
        row(
            "nor does ASH_CONFIG into the tree",
            &[File("repo/ops/c.yaml", GRANTS)],
            Typed { ash_config: Some("repo/ops/c.yaml"), ..SCAN },
            REFUSED,
        ),
        row(
            "ASH_CONFIG outside grants",
            &[File("ops/c.yaml", GRANTS)],
            Typed { ash_config: Some("ops/c.yaml"), ..SCAN },
            GRANTED,
        ),
        row(
            "--config outside grants beside a configuration in the tree",
            &[File("ops/c.yaml", GRANTS), InRepo("sandbox: {network_scanners: []}")],
            outside("ops/c.yaml"),
            GRANTED,
        ),
        row(
            "--config comes before ASH_CONFIG",
            &[File("ops/c.yaml", "{}"), File("ops/d.yaml", GRANTS)],
            Typed { ash_config: Some("ops/d.yaml"), ..outside("ops/c.yaml") },
            DEFAULTS,
        ),
        row(
            "an empty ASH_CONFIG names nothing",
            &[InRepo(GRANTS)],
            Typed { ash_config: Some(""), ..SCAN },
            REFUSED,
        ),
        // R116: with a file in the tree, grants are the defaults plus the overrides.
        row(
            "an override grants beside a configuration in the tree",
            &[InRepo("sandbox: {network_scanners: [a], extra_read_paths: [/usr]}")],
            over(&["sandbox.network_scanners=[c]", "sandbox.extra_read_paths=[/etc]"]),
            Outcome { dropped: &[NET, READ], ..GRANTED },
        ),
        row(
            "an append override does not keep the repository's entries",
            &[InRepo("sandbox: {network_scanners: [b], extra_read_paths: [/usr]}")],
            over(&["sandbox.network_scanners+=[c]"]),
            Outcome { network: "c", dropped: &[NET, READ], ..DEFAULTS },
        ),
        row(
            "a whole-section override does not keep the repository's entries",
            &[InRepo(GRANTS)],
            over(&["sandbox={\"network_scanners\": []}"]),
            Outcome { network: "", ..REFUSED },
        ),
        row(
            "a whole section without a list leaves the tree's limit",
            &[InRepo("sandbox: {network_scanners: [a]}")],
            over(&["sandbox={\"mode\": \"bwrap\"}"]),
            Outcome { mode: Some("bwrap"), network: "a", reads: false, dropped: &[NET] },
        ),
        row(
            "an override to null restores the declared defaults",
            &[InRepo("sandbox: {network_scanners: [c]}")],
            over(&["sandbox.network_scanners=null"]),
            Outcome { dropped: &[NET], ..DEFAULTS },
        ),
        row(
            "--config in the tree, ASH_CONFIG outside: the latter is what is trusted",
            &[
                File("ops/c.yaml", GRANTS),
                File("repo/x.yaml", "sandbox: {network_scanners: [a, c]}"),
            ],
            Typed { ash_config: Some("ops/c.yaml"), ..outside("repo/x.yaml") },
            Outcome { dropped: &[NET], ..GRANTED },
        ),
        // R119-R122: the tree is the outermost checkout.
        row(
            "a configuration above the scanned directory, in the same checkout",
            &[File("repo/c.yaml", GRANTS)],
            Typed { source: "repo/app", ..outside("repo/c.yaml") },
            REFUSED,
        ),
        row(
            "a nested checkout does not end the tree",
            &[Dir("repo/app/.git"), File("repo/c.yaml", GRANTS)],
            Typed { source: "repo/app", ..outside("repo/c.yaml") },
            REFUSED,
        ),
        row(
            "a submodule's .git file does not end the tree",
            &[File("repo/app/.git", "gitdir: ../.git/modules/app"), File("repo/c.yaml", GRANTS)],
            Typed { source: "repo/app", ..outside("repo/c.yaml") },
            REFUSED,
        ),
        row(
            "a .git file makes a checkout (worktree)",
            &[
                Gone("repo/.git"),
                File("repo/.git", "gitdir: /elsewhere"),
                File("repo/c.yaml", GRANTS),
            ],
            Typed { source: "repo/app", ..outside("repo/c.yaml") },
            REFUSED,
        ),
        row(
            "a dangling .git link makes a checkout",
            &[Gone("repo/.git"), Link("repo/.git", "nowhere"), File("repo/c.yaml", GRANTS)],
            Typed { source: "repo/app", ..outside("repo/c.yaml") },
            REFUSED,
        ),
        row(
            "without .git a directory above is outside",
            &[Gone("repo/.git"), File("repo/c.yaml", GRANTS)],
            Typed { source: "repo/app", ..outside("repo/c.yaml") },
            GRANTED,
        ),
        row(
            "outside a checkout the scanned directory is the tree",
            &[File("plain/.ash.yaml", GRANTS)],
            Typed { source: "plain", ..SCAN },
            REFUSED,
        ),
        row(
            "outside a checkout a neighbour is outside",
            &[File("ops/c.yaml", GRANTS)],
            Typed { source: "plain", ..outside("ops/c.yaml") },
            GRANTED,
        ),
        row(
            "a configuration in an unrelated checkout keeps its grants",
            &[File("other/c.yaml", GRANTS)],
            outside("other/c.yaml"),
            GRANTED,
        ),
        row(
            "ASH_CONFIG in an unrelated checkout keeps its grants",
            &[File("other/c.yaml", GRANTS)],
            Typed { ash_config: Some("other/c.yaml"), ..SCAN },
            GRANTED,
        ),
        row(
            "a home that is a checkout is the tree",
            &[Dir("home/.git"), File("home/src/x", ""), File("home/c.yaml", GRANTS)],
            Typed { source: "home/src", ..outside("home/c.yaml") },
            REFUSED,
        ),
        row(
            "in workspace mode the tree is looked up from the workspace",
            &[Dir("plain/p"), File("plain/c.yaml", GRANTS)],
            Typed { source: "plain/p", workspace: Some("plain"), ..outside("plain/c.yaml") },
            REFUSED,
        ),
        row(
            "without workspace mode the same file is outside",
            &[Dir("plain/p"), File("plain/c.yaml", GRANTS)],
            Typed { source: "plain/p", ..outside("plain/c.yaml") },
            GRANTED,
        ),
        row(
            "a configuration of another project of the workspace",
            &[Dir("plain/p"), File("plain/q/c.yaml", GRANTS)],
            Typed { source: "plain/p", workspace: Some("plain"), ..outside("plain/q/c.yaml") },
            REFUSED,
        ),
        // R123, R124: links, dots and spellings.
        row(
            "a scanned link out of a checkout counts the checkout it sits in",
            &[Link("repo/out", "../plain"), File("repo/c.yaml", GRANTS)],
            Typed { source: "repo/out", ..outside("repo/c.yaml") },
            REFUSED,
        ),
        row(
            "a scanned link into a checkout counts that checkout",
            &[Link("plain/in", "../repo/app"), File("repo/c.yaml", GRANTS)],
            Typed { source: "plain/in", ..outside("repo/c.yaml") },
            REFUSED,
        ),
        row(
            "a chain of links counts every checkout on the way",
            &[
                Link("plain/one", "../repo/two"),
                Link("repo/two", "../ops"),
                File("repo/c.yaml", GRANTS),
            ],
            Typed { source: "plain/one", ..outside("repo/c.yaml") },
            REFUSED,
        ),
        row(
            "a link outside to a file inside is inside",
            &[Link("ops/c.yaml", "../repo/c.yaml"), File("repo/c.yaml", GRANTS)],
            outside("ops/c.yaml"),
            REFUSED,
        ),
        row(
            "a link inside to a file outside is inside",
            &[Link("repo/c.yaml", "../ops/c.yaml"), File("ops/c.yaml", GRANTS)],
            outside("repo/c.yaml"),
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
            outside("ops/one.yaml"),
            REFUSED,
        ),
        row(
            "a linked directory into the tree is inside",
            &[Link("ops/d", "../repo"), File("repo/c.yaml", GRANTS)],
            outside("ops/d/c.yaml"),
            REFUSED,
        ),
        row(
            "dots do not hide a file",
            &[File("repo/c.yaml", GRANTS)],
            outside("ops/../repo/./app/../c.yaml"),
            REFUSED,
        ),
        row(
            "dots through a link are followed as the kernel does",
            &[Link("ops/d", "../repo/app"), File("repo/c.yaml", GRANTS)],
            outside("ops/d/../c.yaml"),
            REFUSED,
        ),
        row(
            "dots that lead out again are outside",
            &[File("ops/c.yaml", GRANTS)],
            outside("repo/app/../../ops/c.yaml"),
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
            outside("plain/repo/c.yaml"),
            GRANTED,
        ),
        row(
            "a directory whose name starts like the tree's is outside",
            &[File("repo-ops/c.yaml", GRANTS)],
            outside("repo-ops/c.yaml"),
            GRANTED,
        ),
        // R125: the tree's list takes away.
        row(
            "an in-tree list limits",
            &[InRepo("sandbox: {network_scanners: [a]}")],
            SCAN,
            Outcome { network: "a", dropped: &[NET], ..DEFAULTS },
        ),
        row(
            "an in-tree empty list keeps the scan offline",
            &[InRepo("sandbox: {network_scanners: []}")],
            SCAN,
            Outcome { network: "", ..DEFAULTS },
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
                InRepo("sandbox: {network_scanners: [a]}"),
                File("ops/c.yaml", "sandbox: {network_scanners: [a, c]}"),
            ],
            Typed { ash_config: Some("ops/c.yaml"), ..SCAN },
            Outcome { network: "a", dropped: &[NET], ..DEFAULTS },
        ),
        row(
            "a trusted grant passes a limit that names it",
            &[InRepo("sandbox: {network_scanners: [c]}"), File("ops/c.yaml", GRANTS)],
            Typed { ash_config: Some("ops/c.yaml"), ..SCAN },
            GRANTED,
        ),
        row(
            "underscores in the list are the same scanners",
            &[InRepo("sandbox: {network_scanners: []}")],
            over(&["sandbox.network_scanners=[c]"]),
            Outcome { network: "c", ..DEFAULTS },
        ),
        // R126-R129, R132: the mode.
        row(
            "an in-tree mode applies when nobody else sets one",
            &[InRepo("sandbox: {mode: bwrap}")],
            SCAN,
            mode("bwrap"),
        ),
        row("an in-tree off alone is off", &[InRepo("sandbox: {mode: off}")], SCAN, off()),
        row(
            "in-tree off against the flag",
            &[InRepo("sandbox: {mode: off}")],
            Typed { flag: Some("bwrap"), ..SCAN },
            dropped_mode("bwrap"),
        ),
        row(
            "another in-tree backend against the flag",
            &[InRepo("sandbox: {mode: landlock}")],
            Typed { flag: Some("bwrap"), ..SCAN },
            dropped_mode("bwrap"),
        ),
        row(
            "in-tree off against an override",
            &[InRepo("sandbox: {mode: off}")],
            over(&["sandbox.mode=bwrap"]),
            dropped_mode("bwrap"),
        ),
        row(
            "in-tree off against ASH_CONFIG",
            &[InRepo("sandbox: {mode: off}"), File("ops/c.yaml", "sandbox: {mode: bwrap}")],
            Typed { ash_config: Some("ops/c.yaml"), ..SCAN },
            dropped_mode("bwrap"),
        ),
        row(
            "another in-tree backend against ASH_CONFIG",
            &[InRepo("sandbox: {mode: landlock}"), File("ops/c.yaml", "sandbox: {mode: bwrap}")],
            Typed { ash_config: Some("ops/c.yaml"), ..SCAN },
            dropped_mode("bwrap"),
        ),
        row(
            "an in-tree file with a mistake has nothing to say beside ASH_CONFIG",
            &[InRepo("sandbox: {mode: evil, network_scanners: []}"), File("ops/c.yaml", GRANTS)],
            Typed { ash_config: Some("ops/c.yaml"), ..SCAN },
            GRANTED,
        ),
        row(
            "an in-tree mode turns on what ASH_CONFIG leaves off",
            &[InRepo("sandbox: {mode: bwrap}"), File("ops/c.yaml", "{}")],
            Typed { ash_config: Some("ops/c.yaml"), ..SCAN },
            mode("bwrap"),
        ),
        row(
            "ASH_CONFIG in the tree: grants go, the mode holds",
            &[File("repo/c.yaml", GREEDY)],
            Typed { ash_config: Some("repo/c.yaml"), ..SCAN },
            REFUSED_BWRAP,
        ),
        row(
            "--config in the tree: grants go, the mode holds",
            &[File("repo/c.yaml", GREEDY)],
            outside("repo/c.yaml"),
            REFUSED_BWRAP,
        ),
        row(
            "a file outside comes before --config in the tree",
            &[
                File("repo/c.yaml", "sandbox: {mode: landlock}"),
                File("ops/c.yaml", "sandbox: {mode: bwrap}"),
            ],
            Typed { ash_config: Some("ops/c.yaml"), ..outside("repo/c.yaml") },
            dropped_mode("bwrap"),
        ),
        row(
            "--config in the tree cannot turn off what ASH_CONFIG turns on",
            &[
                File("repo/c.yaml", "sandbox: {mode: off}"),
                File("repo/d.yaml", "sandbox: {mode: bwrap}"),
            ],
            Typed { ash_config: Some("repo/d.yaml"), ..outside("repo/c.yaml") },
            dropped_mode("bwrap"),
        ),
        row(
            "the flag turns off an operator's mode",
            &[File("ops/c.yaml", "sandbox: {mode: bwrap}")],
            Typed { flag: Some("off"), ..outside("ops/c.yaml") },
            off(),
        ),
        row(
            "an override turns off an operator's mode",
            &[File("ops/c.yaml", "sandbox: {mode: bwrap}")],
            Typed { overrides: &["sandbox.mode=off"], ..outside("ops/c.yaml") },
            off(),
        ),
        row(
            "the flag turns off a floor in the tree",
            &[File("repo/c.yaml", "sandbox: {mode: bwrap}")],
            Typed { flag: Some("off"), ..outside("repo/c.yaml") },
            dropped_mode("off"),
        ),
        row(
            "an override turns off an in-tree mode",
            &[InRepo("sandbox: {mode: bwrap}")],
            over(&["sandbox.mode=off"]),
            dropped_mode("off"),
        ),
        row(
            "the flag comes before an override",
            &[],
            Typed { flag: Some("bwrap"), ..over(&["sandbox.mode=off"]) },
            mode("bwrap"),
        ),
        row(
            "a whole section without a mode does not turn it off",
            &[File("ops/c.yaml", "sandbox: {mode: bwrap}")],
            Typed {
                overrides: &["sandbox={\"network_scanners\": [\"a\", \"b\"]}"],
                ..outside("ops/c.yaml")
            },
            mode("bwrap"),
        ),
        // R130: $PWD.
        row(
            "$PWD through a link out of the checkout counts it",
            &[Link("repo/out", "../plain"), File("repo/c.yaml", GRANTS)],
            Typed { source: ".", cwd: "plain", pwd: Some("repo/out"), ..outside("../repo/c.yaml") },
            REFUSED,
        ),
        row(
            "$PWD and an absolute scan root",
            &[Link("repo/out", "../plain"), File("repo/c.yaml", GRANTS)],
            Typed {
                source: "plain",
                pwd: Some("repo/out"),
                cwd: "plain",
                ..outside("../repo/c.yaml")
            },
            REFUSED,
        ),
        row(
            "$PWD and a directory below",
            &[Link("repo/out", "../plain"), Dir("plain/sub"), File("repo/c.yaml", GRANTS)],
            Typed {
                source: "./sub",
                cwd: "plain",
                pwd: Some("repo/out"),
                ..outside("../repo/c.yaml")
            },
            REFUSED,
        ),
        row(
            "$PWD and a root above the link",
            &[Link("repo/out", "../plain/sub"), Dir("plain/sub"), File("repo/c.yaml", GRANTS)],
            Typed {
                source: "./..",
                cwd: "plain/sub",
                pwd: Some("repo/out"),
                ..outside("../../repo/c.yaml")
            },
            REFUSED,
        ),
        row(
            "without $PWD the same directory is not in the checkout",
            &[Link("repo/out", "../plain"), File("repo/c.yaml", GRANTS)],
            Typed { source: ".", cwd: "plain", ..outside("../repo/c.yaml") },
            GRANTED,
        ),
        row(
            "a $PWD that names another directory is ignored",
            &[File("repo/c.yaml", GRANTS)],
            Typed { source: ".", cwd: "plain", pwd: Some("repo/app"), ..outside("../repo/c.yaml") },
            GRANTED,
        ),
        row(
            "a $PWD that names a deleted directory is ignored",
            &[File("repo/c.yaml", GRANTS)],
            Typed {
                source: ".",
                cwd: "plain",
                pwd: Some("repo/gone"),
                ..outside("../repo/c.yaml")
            },
            GRANTED,
        ),
        row(
            "a $PWD does not replace the given name",
            &[InRepo(GRANTS), Link("plain/in", "../repo")],
            Typed { source: ".", cwd: "repo", pwd: Some("plain/in"), ..SCAN },
            REFUSED,
        ),
        // R133: workspace mode.
        row(
            "the operator's configuration decides for a project with its own",
            &[
                File("plain/p/.ash.yaml", "sandbox: {mode: off, network_scanners: [c, a]}"),
                File("ops/c.yaml", GREEDY),
            ],
            Typed { source: "plain/p", workspace: Some("plain"), ..outside("ops/c.yaml") },
            Outcome { dropped: &[MODE, NET], ..GRANTED_BWRAP },
        ),
        row(
            "and for one without",
            &[Dir("plain/p"), File("ops/c.yaml", GREEDY)],
            Typed { source: "plain/p", workspace: Some("plain"), ..outside("ops/c.yaml") },
            GRANTED_BWRAP,
        ),
        row(
            "an operator's configuration inside the workspace keeps only its mode",
            &[File("plain/p/.ash.yaml", "sandbox: {mode: off}"), File("plain/c.yaml", GREEDY)],
            Typed { source: "plain/p", workspace: Some("plain"), ..outside("plain/c.yaml") },
            Outcome { mode: Some("bwrap"), dropped: &[MODE], ..DEFAULTS },
        ),
        row(
            "a restriction on the command line holds in workspace mode",
            &[File("plain/p/.ash.yaml", "{}"), File("ops/c.yaml", GREEDY)],
            Typed {
                source: "plain/p",
                workspace: Some("plain"),
                overrides: &["sandbox.network_scanners=[]"],
                ..outside("ops/c.yaml")
            },
            Outcome { network: "", ..GRANTED_BWRAP },
        ),
        // R118, R134: extends.
        row(
            "a base inside takes the grants of the file outside",
            &[
                File("repo/base.yaml", "{}"),
                File(
                    "ops/c.yaml",
                    "extends: ../repo/base.yaml\nsandbox: {mode: bwrap, network_scanners: [c], extra_read_paths: [/etc]}\n",
                ),
            ],
            outside("ops/c.yaml"),
            REFUSED_BWRAP,
        ),
        row(
            "and the grants of the base",
            &[File("repo/base.yaml", GREEDY), File("ops/c.yaml", "extends: [../repo/base.yaml]\n")],
            outside("ops/c.yaml"),
            REFUSED_BWRAP,
        ),
        row(
            "overrides grant in that layout",
            &[
                File("repo/base.yaml", "{}"),
                File(
                    "ops/c.yaml",
                    "extends: ../repo/base.yaml\nsandbox: {network_scanners: [c], extra_read_paths: [/etc]}\n",
                ),
            ],
            Typed {
                overrides: &["sandbox.network_scanners=[c]", "sandbox.extra_read_paths=[/etc]"],
                ..outside("ops/c.yaml")
            },
            GRANTED,
        ),
        row(
            "a base outside keeps the grants",
            &[File("ops/base.yaml", GRANTS), File("ops/c.yaml", "extends: base.yaml\n")],
            outside("ops/c.yaml"),
            GRANTED,
        ),
        row(
            "a base of a base inside counts",
            &[
                File("repo/base.yaml", "{}"),
                File("ops/b.yaml", "extends: ../repo/base.yaml\n"),
                File(
                    "ops/c.yaml",
                    "extends: b.yaml\nsandbox: {network_scanners: [c], extra_read_paths: [/etc]}\n",
                ),
            ],
            outside("ops/c.yaml"),
            REFUSED,
        ),
        row(
            "a base in another checkout beside the file keeps the grants",
            &[
                Dir("ops/shared/.git"),
                File("ops/shared/b.yaml", GRANTS),
                File("ops/c.yaml", "extends: shared/b.yaml\n"),
            ],
            outside("ops/c.yaml"),
            GRANTED,
        ),
        row(
            "a base through a link into the tree counts",
            &[
                Link("ops/b.yaml", "../repo/b.yaml"),
                File("repo/b.yaml", GRANTS),
                File("ops/c.yaml", "extends: b.yaml\n"),
            ],
            outside("ops/c.yaml"),
            REFUSED,
        ),
        row(
            "a patch in the tree grants nothing",
            &[InRepo(
                "patch: [{op: add, path: /sandbox, value: {network_scanners: [c], extra_read_paths: [/etc]}}]\n",
            )],
            SCAN,
            REFUSED,
        ),
        row(
            "keys of another lineage grant nothing",
            &[InRepo("sandbox: {read_path_scanners: [a], env_scanners: [a]}")],
            SCAN,
            Outcome {
                dropped: &["sandbox.read_path_scanners", "sandbox.env_scanners"],
                ..DEFAULTS
            },
        ),
    ]
}

fn prepare(lab: &Lab, make: &[Make]) {
    let root = lab.root();
    for step in make {
        match *step {
            InRepo(text) => fs::write(root.join("repo/.ash.yaml"), text).unwrap(),
            File(path, text) => {
                let path = root.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            Link(path, target) => symlink(target, root.join(path)).unwrap(),
            Dir(path) => fs::create_dir_all(root.join(path)).unwrap(),
            Gone(path) => fs::remove_dir_all(root.join(path)).unwrap(),
        }
    }
}

fn run(lab: &Lab, typed: &Typed) -> Result<Loaded, ash_config::ConfigErrors> {
    let root = lab.root();
    let at = |path: &str| {
        if path.starts_with("./") || path.starts_with("../") || path == "." {
            PathBuf::from(path)
        } else {
            root.join(path)
        }
    };
    load(&Request {
        source: at(typed.source),
        config: typed.config.map(at),
        ash_config_env: typed
            .ash_config
            .map(|path| if path.is_empty() { OsString::new() } else { root.join(path).into() }),
        overrides: typed.overrides.iter().map(|text| (*text).to_owned()).collect(),
        sandbox_flag: typed.flag.map(str::to_owned),
        cwd: root.join(typed.cwd),
        pwd_env: typed.pwd.map(|path| root.join(path).into()),
        home: Some(root.join("home")),
        env: &|_| None,
        known_scanners: &["a", "b", "c"],
        workspace: typed.workspace.map(at),
        identify: None,
    })
}

#[test]
fn the_truth_table_holds() {
    let rows = rows();
    assert!(rows.len() >= 60, "{}", rows.len());
    let mut wrong = Vec::new();
    for row in &rows {
        let lab = Lab::new();
        prepare(&lab, row.make);
        let loaded = match run(&lab, &row.typed) {
            Ok(loaded) => loaded,
            Err(errors) => {
                wrong.push(format!("{}: {errors}", row.what));
                continue;
            }
        };
        let found = describe(&loaded);
        let expect = format!("{:?}", row.expect);
        if found != expect {
            wrong.push(format!("{}:\n    expected {expect}\n    found    {found}", row.what));
        }
        for notice in &loaded.notices {
            if notice.key.starts_with("sandbox.") {
                assert!(
                    notice.file.as_ref().is_some_and(|file| Path::new(file).is_absolute()),
                    "{}: {notice:?}",
                    row.what
                );
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

fn describe(loaded: &Loaded) -> String {
    let sandbox = &loaded.settings.sandbox;
    let network: String = ["a", "b", "c"]
        .into_iter()
        .filter(|name| sandbox.network.allows(name, *name != "c", false, false))
        .collect();
    assert!(
        ["a", "b", "c"].iter().all(|name| !sandbox.network.allows(name, true, false, true)),
        "offline beats every grant"
    );
    let dropped: Vec<&str> = loaded
        .notices
        .iter()
        .map(|notice| notice.key.as_str())
        .filter(|key| key.starts_with("sandbox."))
        .collect();
    let reads = sandbox.extra_read_paths == [PathBuf::from("/etc")];
    let mode = sandbox.mode.as_deref();
    format!(
        "Outcome {{ mode: {mode:?}, network: {network:?}, reads: {reads}, dropped: {dropped:?} }}"
    )
}
