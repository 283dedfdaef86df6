//! The trust truth table as data: who may turn the sandbox on, off and open, and what a scanned repository may choose.
//!
//! Two drivers read it. `ash-config` loads each row in its own process, where the identity of files can be replaced; `ash` builds the
//! same directories and asks the real program by `ash sandbox explain SCANNER --json`.

mod checkouts;
mod extends;
mod grants;
mod lab;
mod links;
mod modes;
mod mounts;
mod others;
mod workspaces;

use std::{fs, path::Path};

pub use lab::Lab;

/// Scanners that every row is asked about.
pub const SCANNERS: [&str; 4] = ["semgrep", "npm-audit", "bandit", "detect-secrets"];

/// Those of [`SCANNERS`] that declare a network.
pub const NETWORKED: [&str; 3] = ["semgrep", "npm-audit", "detect-secrets"];

/// The one of them whose declaration is not enough: its settings, which the tree can set, decide whether it needs one.
pub const ON_REQUEST: &str = "detect-secrets";

/// One row.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// What it shows, as a sentence; unique.
    pub what: &'static str,
    /// How the directories are prepared.
    pub make: &'static [Make],
    /// What the operator types.
    pub typed: Typed,
    /// What comes of it.
    pub expect: Expect,
    /// The file system is played as one that ignores letter case: only where the identity of files can be replaced.
    pub folds_case: bool,
}

/// One step of preparing a [`Lab`]. Paths are below its root.
#[derive(Debug, Clone, Copy)]
pub enum Make {
    /// A file and its text; directories above it are made.
    File(&'static str, &'static str),
    /// The configuration that is discovered in the scanned checkout, and its text.
    InRepo(&'static str),
    /// A link and what it says.
    Link(&'static str, &'static str),
    /// A hard link and the file it names.
    HardLink(&'static str, &'static str),
    /// A directory.
    Dir(&'static str),
    /// A directory that is taken away.
    Gone(&'static str),
    /// A bind mount: what is mounted, and where. Only in a mount namespace of its own.
    Bind(&'static str, &'static str),
}

/// What the operator types. Paths that begin with `.` stay as they are, others are below the root of the [`Lab`].
#[derive(Debug, Clone, Copy)]
pub struct Typed {
    /// `--source-dir`.
    pub source: &'static str,
    /// `--config`.
    pub config: Option<&'static str>,
    /// `ASH_CONFIG`.
    pub ash_config: Option<&'static str>,
    /// Every `--config-overrides`.
    pub overrides: &'static [&'static str],
    /// `--sandbox`.
    pub flag: Option<&'static str>,
    /// `--offline`.
    pub offline: bool,
    /// The working directory.
    pub cwd: &'static str,
    /// `PWD`.
    pub pwd: Option<&'static str>,
    /// `--workspace`: the definition file.
    pub workspace: Option<&'static str>,
}

/// What comes of a row.
#[derive(Debug, Clone, Copy)]
pub enum Expect {
    /// The configuration loads.
    Settings(Outcome),
    /// It does not, and these words say why: exit code 3.
    Refused(&'static str),
}

/// The settings that a row comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// The mode; `None` when nobody said, which is off.
    pub mode: Option<&'static str>,
    /// Those of [`SCANNERS`] that get a network, in that order.
    pub network: &'static [&'static str],
    /// Whether `~/ca` becomes readable.
    pub reads: bool,
    /// Keys of settings that were dropped, in the order of their notices.
    pub dropped: &'static [&'static str],
}

/// Every row.
pub fn rows() -> Vec<Row> {
    let tables = [
        grants::ROWS,
        checkouts::ROWS,
        links::ROWS,
        mounts::ROWS,
        modes::ROWS,
        extends::ROWS,
        workspaces::ROWS,
        others::ROWS,
    ];
    // Elsewhere the usual file system ignores letter case.
    let is_shown = |row: &Row| cfg!(target_os = "linux") || row.what != links::CASE_COUNTS;
    tables.concat().into_iter().filter(is_shown).collect()
}

/// Whether a notice by this key is about a setting; a run of the program has others, about the machine.
pub fn is_setting(key: &str) -> bool {
    let first = key.split('.').next().unwrap_or(key);
    [
        "sandbox",
        "scanners",
        "reporters",
        "global_settings",
        "mcp-resource-management",
        "ash_plugin_modules",
    ]
    .contains(&first)
}

/// Whether a notice about a dropped setting says in which file it really stands, why, and what to type.
///
/// # Errors
/// When it does not: the notice.
pub fn explains_itself(
    key: &str,
    file: Option<&str>,
    reason: &str,
    hint: Option<&str>,
) -> Result<(), String> {
    let last = key.rsplit('.').next().unwrap_or(key);
    let says = |text: String| text.contains(last) || text.contains(&last.replace('_', "-"));
    let stands_there = file.is_some_and(|file| {
        file == "--config-overrides"
            || Path::new(file).is_absolute() && fs::read_to_string(file).is_ok_and(says)
    });
    // A key without effect needs no hint: its reason says what to use instead.
    if stands_there && (hint.is_some() || reason.starts_with("has no effect: ")) {
        Ok(())
    } else {
        Err(format!("does not explain itself: {key}, {file:?}, {reason}, {hint:?}"))
    }
}

/// Whether a notice says only that nothing comes of a setting, whoever names it. For the sandbox's own settings that is news too.
pub fn is_without_effect(key: &str, reason: &str) -> bool {
    reason.starts_with("has no effect: ") && !key.starts_with("sandbox.")
}

const MODE: &str = "sandbox.mode";
const NET: &str = "sandbox.network_scanners";
const READ: &str = "sandbox.extra_read_paths";

/// Asks for what a repository may not have.
const GRANTS: &str = "sandbox: {network_scanners: [bandit], extra_read_paths: [~/ca]}\n";
/// The same, and for a mode.
const GREEDY: &str =
    "sandbox: {mode: bwrap, network_scanners: [bandit], extra_read_paths: [~/ca]}\n";

const SCAN: Typed = Typed {
    source: "repo",
    config: None,
    ash_config: None,
    overrides: &[],
    flag: None,
    offline: false,
    cwd: "",
    pwd: None,
    workspace: None,
};

const DEFAULTS: Outcome =
    Outcome { mode: None, network: &["semgrep", "npm-audit"], reads: false, dropped: &[] };
/// [`GRANTS`] where they hold.
const GRANTED: Outcome = Outcome { mode: None, network: &["bandit"], reads: true, dropped: &[] };
const GRANTED_BWRAP: Outcome = Outcome { mode: Some("bwrap"), ..GRANTED };
/// [`GRANTS`] in the tree: nothing is granted, and the list limits everybody else away.
const REFUSED: Outcome = Outcome { mode: None, network: &[], reads: false, dropped: &[NET, READ] };
const REFUSED_BWRAP: Outcome = Outcome { mode: Some("bwrap"), ..REFUSED };

const fn row(what: &'static str, make: &'static [Make], typed: Typed, outcome: Outcome) -> Row {
    Row { what, make, typed, expect: Expect::Settings(outcome), folds_case: false }
}

const fn refused(
    what: &'static str,
    make: &'static [Make],
    typed: Typed,
    words: &'static str,
) -> Row {
    Row { what, make, typed, expect: Expect::Refused(words), folds_case: false }
}

const fn config(path: &'static str) -> Typed {
    Typed { config: Some(path), ..SCAN }
}

const fn ash_config(path: &'static str) -> Typed {
    Typed { ash_config: Some(path), ..SCAN }
}

const fn over(overrides: &'static [&'static str]) -> Typed {
    Typed { overrides, ..SCAN }
}

/// The defaults in a mode.
const fn mode(mode: &'static str) -> Outcome {
    Outcome { mode: Some(mode), ..DEFAULTS }
}

/// The same, and another mode of the tree was dropped.
const fn mode_kept(mode: &'static str) -> Outcome {
    Outcome { mode: Some(mode), dropped: &[MODE], ..DEFAULTS }
}

const fn network(network: &'static [&'static str]) -> Outcome {
    Outcome { network, ..DEFAULTS }
}

/// The defaults, and these settings were dropped.
const fn dropped(dropped: &'static [&'static str]) -> Outcome {
    Outcome { dropped, ..DEFAULTS }
}
