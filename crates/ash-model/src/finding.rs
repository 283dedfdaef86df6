//! What a scanner reports.

use serde_json::{Map, Value};

use crate::{
    ids::ScannerId,
    path::RelPath,
    severity::{Level, Severity},
};

/// One problem, as one scanner sees it.
///
/// The members of the tool's own SARIF result that ash has no field for (fingerprints, code flows, fixes, …) stay in `extra`, so that
/// nothing a tool said is lost on the way to `ash.sarif`.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Who reports it.
    pub scanner: ScannerId,
    /// The tool's own rule id, unchanged: suppressions match on it.
    pub rule_id: String,
    /// On the one ladder.
    pub severity: Severity,
    /// The SARIF level the tool gave, or the one its severity implies.
    pub level: Level,
    /// The message, as the tool wrote it: hostile text until a reporter escapes it.
    pub message: String,
    /// Where, if anywhere.
    pub location: Option<Location>,
    /// Why it does not count, if it does not. The first entry decides; a tool's own suppressions never decide alone (see `Suppression::counts`).
    pub suppressions: Vec<Suppression>,
    /// SARIF `properties` of the result.
    pub properties: Map<String, Value>,
    /// Every other member of the tool's SARIF result.
    pub extra: Map<String, Value>,
}

impl Finding {
    /// Whether the finding is out of the gate's count.
    pub fn is_suppressed(&self) -> bool {
        self.suppressions.iter().any(|suppression| suppression.counts)
    }
}

/// Where a finding is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    /// The file, relative to the scanned directory.
    pub path: RelPath,
    /// Lines and columns, when the tool knows them.
    pub region: Option<Region>,
    /// The lines themselves, as the tool printed them.
    pub snippet: Option<String>,
}

/// A span of lines. Lines and columns count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Region {
    /// First line.
    pub start_line: u64,
    /// First column.
    pub start_column: Option<u64>,
    /// Last line, inclusive.
    pub end_line: Option<u64>,
    /// Column after the last character.
    pub end_column: Option<u64>,
}

/// One reason a finding does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suppression {
    /// SARIF kind: `inSource` or `external`.
    pub kind: String,
    /// The reason given.
    pub justification: Option<String>,
    /// Whether it takes the finding out of the gate. A suppression found inside a scanner's own output is shown and does not count.
    pub counts: bool,
}

/// One rule of one scanner: its SARIF `reportingDescriptor`, kept whole.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// The rule's id.
    pub id: String,
    /// `properties.security-severity` (a CVSS score), when the tool gives one.
    pub cvss: Option<f64>,
    /// The descriptor as the tool wrote it, `id` included.
    pub descriptor: Map<String, Value>,
}
