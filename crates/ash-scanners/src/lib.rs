//! Every scanner ash knows, one file each.
//!
//! A scanner is a declaration and two pure functions: [`Scanner::plan`] says which programs to run, [`Scanner::interpret`] reads what
//! they left behind, and [`Scanner::requirements`] says what the sandbox must let through. This crate does not depend on
//! `ash-sandbox`, so a scanner cannot start anything; it opens no file either: [`Site`] hands in what it may look at.
#![forbid(clippy::disallowed_methods, clippy::disallowed_types)]

use std::path::Path;

use ash_model::{
    finding::{Finding, Rule},
    ids::ScannerId,
    notice::Notice,
    path::RelPath,
    requirements::Requirements,
    source::SourceReader,
    tool::{ToolCall, ToolOutput},
};
use serde_json::{Map, Value};

mod bandit_report;
mod call;
mod checkov_report;
mod escapes;
mod excused;
mod manifests;
mod options;
mod outcome;
mod parts;
mod renamed;
mod sarif;
mod scanners;
mod skipped;
mod templates;
mod version_range;

pub use scanners::{SCANNERS, by_id};

/// Where a scanner looks, and how.
#[derive(Clone, Copy)]
pub struct Site<'a> {
    /// The directory to scan, absolute, as given.
    pub source: &'a Path,
    /// Where this scanner may write, absolute.
    pub results: &'a Path,
    /// The output directories inside the source, whose results are not to be scanned.
    pub outputs: &'a [RelPath],
    /// The files of the scan set, sorted.
    pub files: &'a [RelPath],
    /// Reads scanned files safely.
    pub reader: &'a dyn SourceReader,
    /// No network for anyone.
    pub offline: bool,
    /// Whether this scanner's calls have a network.
    pub network: bool,
    /// Findings that their own files excuse are to be reported like others, where the tool can be told so.
    pub ignore_suppressions: bool,
    /// This scanner's `options` from config, after the trust rules.
    pub options: &'a Map<String, Value>,
    /// Operator-given variables a plan may depend on, by name (`SEMGREP_RULES_CACHE_DIR`, …).
    pub variable: &'a dyn Fn(&str) -> Option<std::ffi::OsString>,
}

impl std::fmt::Debug for Site<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Site")
            .field("source", &self.source)
            .field("results", &self.results)
            .field("offline", &self.offline)
            .finish_non_exhaustive()
    }
}

/// What a scanner wants done.
#[derive(Debug, Clone, PartialEq)]
pub enum Plan {
    /// These calls, one after the other.
    Run(Vec<ToolCall>),
    /// Nothing, for this reason: no file of its kind, or nothing it can do offline.
    Skip(String),
    /// It cannot run here although it should: recorded MISSING with this reason and hint.
    Missing(String),
}

/// The program behind a scanner.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// Bare name of the program.
    pub program: &'static str,
    /// Other programs it cannot do without, by bare name (`node`).
    pub companions: &'static [&'static str],
    /// How to ask its version. `None`: the tool is part of ash's own worker and its version comes with the results.
    pub version: Option<VersionProbe>,
    /// How `ash dependencies install` gets it.
    pub install: Install,
}

/// One call whose output holds the version.
#[derive(Debug, Clone, PartialEq)]
pub struct VersionProbe {
    /// The call: program, arguments, variables.
    pub call: ToolCall,
    /// Seconds before it counts as broken.
    pub timeout_seconds: u64,
}

/// Where a tool comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum Install {
    /// A Python package, into an environment of its own by uv.
    Uv {
        /// Requirement with extras and pinned version, such as `bandit[sarif,toml]==1.9.4`.
        requirement: &'static str,
        /// Further pinned requirements of the same environment.
        with: &'static [&'static str],
    },
    /// Part of another package manager's own installation; the text says which package of the system to install.
    System {
        /// What to type or install.
        hint: &'static str,
    },
}

/// What was read from a tool's output.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Interpreted {
    /// Findings, locations relative to the source.
    pub findings: Vec<Finding>,
    /// Rules the findings refer to (all the tool lists may be given; the engine keeps those used).
    pub rules: Vec<Rule>,
    /// A CycloneDX document.
    pub sbom: Option<Value>,
    /// The tool's version, when its output says it and ash knows the program it came from.
    pub version: Option<String>,
    /// What there is to say besides: settings that were dropped, findings that comments left out.
    pub notices: Vec<Notice>,
    /// Targets given and not evaluated, with the reason: the scanner's part is incomplete.
    pub unevaluated: Vec<String>,
    /// How many targets were given, where the scanner counts them.
    pub targets: Option<u64>,
}

/// A tool's output cannot be trusted to be whole. The scanner's status becomes ERROR with this text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InterpretError(pub String);

/// How long a scanner works on a usual tree, beside the others: those with more to do start first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effort {
    /// A fraction of a second.
    Short,
    /// A second or so.
    Usual,
    /// Several seconds, be it only to load itself.
    Long,
}

/// One scanner.
pub trait Scanner: Sync {
    /// The name used on the command line, in config and in results.
    fn id(&self) -> ScannerId;
    /// One line for people: what it looks for.
    fn about(&self) -> &'static str;
    /// Its program.
    fn tool(&self) -> Tool;
    /// What it needs of the sandbox. Settings may not widen it.
    fn requirements(&self) -> Requirements {
        Requirements::NONE
    }
    /// How much it has to do.
    fn effort(&self) -> Effort {
        Effort::Usual
    }
    /// How the ids of its rules begin, `#` standing for a digit, where no other scanner's begin so: a suppression of such a rule is this
    /// scanner's alone. None: its ids have no form of their own.
    fn rule_ids(&self) -> &'static [&'static str] {
        &[]
    }
    /// The calls to make.
    fn plan(&self, site: &Site<'_>) -> Plan;
    /// The calls to make in place of one whose output cannot be used, each with some of its files, so that one file does not cost the
    /// others their findings. None: the output can be used, or there is nothing smaller to ask for.
    fn smaller(&self, site: &Site<'_>, call: &ToolCall, output: &ToolOutput) -> Vec<ToolCall> {
        let _ = (site, call, output);
        vec![]
    }
    /// Reads the outputs of all calls that were made, in order: those planned, or the smaller ones in their place.
    ///
    /// # Errors
    /// When an exit code, a missing file or unreadable output means the results are not whole.
    fn interpret(
        &self,
        site: &Site<'_>,
        calls: &[(ToolCall, ToolOutput)],
    ) -> Result<Interpreted, InterpretError>;
}
