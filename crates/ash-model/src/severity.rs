//! The one severity ladder, and what each report derives from it.

use serde::{Deserialize, Serialize};

/// How bad a finding is. Ordered: `Info < Low < Medium < High < Critical`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Severity {
    /// Worth knowing; never fails a scan unless the threshold is `ALL`.
    Info,
    /// Low.
    Low,
    /// Medium.
    Medium,
    /// High.
    High,
    /// Critical.
    Critical,
}

impl Severity {
    /// Every severity, worst first.
    pub const ALL: [Self; 5] = [Self::Critical, Self::High, Self::Medium, Self::Low, Self::Info];

    /// The upper-case name used in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Info => "INFO",
            Self::Low => "LOW",
            Self::Medium => "MEDIUM",
            Self::High => "HIGH",
            Self::Critical => "CRITICAL",
        }
    }

    /// Reads a name in any letter case.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|severity| severity.name().eq_ignore_ascii_case(text.trim()))
    }

    /// From a CVSS base score, 0.0 to 10.0 (SARIF `security-severity`): ≥ 9 critical, ≥ 7 high, ≥ 4 medium, > 0 low.
    pub fn from_cvss(score: f64) -> Self {
        match score {
            s if s >= 9.0 => Self::Critical,
            s if s >= 7.0 => Self::High,
            s if s >= 4.0 => Self::Medium,
            s if s > 0.0 => Self::Low,
            _ => Self::Info,
        }
    }

    /// From a SARIF level alone, when a tool says nothing finer.
    pub const fn from_level(level: Level) -> Self {
        match level {
            Level::Error => Self::Critical,
            Level::Warning => Self::Medium,
            Level::Note => Self::Low,
            Level::None => Self::Info,
        }
    }
}

/// A SARIF 2.1.0 result level (§3.27.10).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// No level.
    None,
    /// A note.
    Note,
    /// A warning; SARIF's default when a result has none.
    #[default]
    Warning,
    /// An error.
    Error,
}

impl Level {
    /// Reads SARIF's lower-case name.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "none" => Some(Self::None),
            "note" => Some(Self::Note),
            "warning" => Some(Self::Warning),
            "error" => Some(Self::Error),
            _ => None,
        }
    }

    /// SARIF's lower-case name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// The least severity that fails a scan. Ordered from the strictest, `All`, to the most lenient.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "UPPERCASE")]
pub enum Threshold {
    /// Everything, `Info` included.
    All,
    /// Low and worse.
    Low,
    /// Medium and worse. The default.
    #[default]
    Medium,
    /// High and worse.
    High,
    /// Critical only.
    Critical,
}

impl Threshold {
    /// Whether a finding of this severity counts against the scan.
    pub fn is_actionable(self, severity: Severity) -> bool {
        severity >= self.least()
    }

    const fn least(self) -> Severity {
        match self {
            Self::All => Severity::Info,
            Self::Low => Severity::Low,
            Self::Medium => Severity::Medium,
            Self::High => Severity::High,
            Self::Critical => Severity::Critical,
        }
    }

    /// The upper-case name used in config and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::All => "ALL",
            Self::Low => "LOW",
            Self::Medium => "MEDIUM",
            Self::High => "HIGH",
            Self::Critical => "CRITICAL",
        }
    }

    /// Reads the upper-case name; config values are case-sensitive.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::All, Self::Low, Self::Medium, Self::High, Self::Critical]
            .into_iter()
            .find(|t| t.name() == text)
    }
}

/// Findings counted by severity; suppressed ones apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SeverityCounts {
    /// Suppressed findings, whatever their severity.
    pub suppressed: u64,
    /// Critical.
    pub critical: u64,
    /// High.
    pub high: u64,
    /// Medium.
    pub medium: u64,
    /// Low.
    pub low: u64,
    /// Info.
    pub info: u64,
}

impl SeverityCounts {
    /// Adds one unsuppressed finding.
    pub fn add(&mut self, severity: Severity) {
        match severity {
            Severity::Critical => self.critical += 1,
            Severity::High => self.high += 1,
            Severity::Medium => self.medium += 1,
            Severity::Low => self.low += 1,
            Severity::Info => self.info += 1,
        }
    }

    /// All unsuppressed findings.
    pub const fn total(&self) -> u64 {
        self.critical + self.high + self.medium + self.low + self.info
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_follow_the_ladder() {
        let table = [
            (Threshold::All, Severity::Info),
            (Threshold::Low, Severity::Low),
            (Threshold::Medium, Severity::Medium),
            (Threshold::High, Severity::High),
            (Threshold::Critical, Severity::Critical),
        ];
        for (threshold, least) in table {
            for severity in Severity::ALL {
                assert_eq!(
                    threshold.is_actionable(severity),
                    severity >= least,
                    "{threshold:?} {severity:?}"
                );
            }
        }
    }

    #[test]
    fn cvss_bands_have_their_published_edges() {
        for (score, severity) in [
            (10.0, Severity::Critical),
            (9.0, Severity::Critical),
            (8.9, Severity::High),
            (7.0, Severity::High),
            (4.0, Severity::Medium),
            (0.1, Severity::Low),
            (0.0, Severity::Info),
            (f64::NAN, Severity::Info),
        ] {
            assert_eq!(Severity::from_cvss(score), severity, "{score}");
        }
    }
}
