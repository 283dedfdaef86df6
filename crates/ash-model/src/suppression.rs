//! What became of the suppressions of the settings in one scan.

use serde::Serialize;

/// One suppression of the settings.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct SuppressionRecord {
    /// `path|rule or *|start or *|end or start or *`, as `ash config lint --fix-unused` reads it.
    pub id: String,
    /// The path pattern.
    pub path: String,
    /// The rule pattern.
    pub rule_id: Option<String>,
    /// First line.
    pub line_start: Option<u64>,
    /// Last line.
    pub line_end: Option<u64>,
    /// The symbol findings must lie in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbol: Option<String>,
    /// Pattern of the package's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package_name: Option<String>,
    /// Pattern of the package's version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package_version: Option<String>,
    /// Pattern of the package's place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package_path: Option<String>,
    /// Why.
    pub reason: String,
    /// `YYYY-MM-DD`: no longer applied from that day on.
    pub expiration: Option<String>,
    /// Findings it covers.
    #[serde(rename = "findings")]
    pub covered: u64,
    /// What can be said of it.
    #[serde(skip)]
    pub fate: Fate,
}

/// What a scan can say of a suppression.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Fate {
    /// It covers a finding.
    Used,
    /// Every scanner it is about ran wholly, and none reported anything it covers.
    #[default]
    Unused,
    /// Its day has come: it covers nothing any more.
    Expired,
    /// It covers nothing, which may be because of this.
    NotJudged(String),
}
