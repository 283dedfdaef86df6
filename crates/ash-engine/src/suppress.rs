//! The settings' ignore paths and suppressions, as a judgement over findings, with a record of what each suppression covered.

mod notices;
mod records;
mod symbols;

use std::{
    collections::BTreeSet,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use ash_config::{Matcher, Settings, SuppressionRule};
use ash_intake::Exclusion;
use ash_model::{
    finding::{Finding, Suppression},
    notice::Notice,
    report::ScannerReport,
    source::SourceReader,
    suppression::SuppressionRecord,
};

pub use notices::expiring;
pub(crate) use notices::{excused, unused};

use self::symbols::Symbols;
use crate::{clock::today, merge::Judgement};

struct FromSettings {
    matcher: Matcher,
    rules: Vec<Rule>,
    today: String,
    /// Suppressions are looked at; ignore paths always are.
    suppress: bool,
    symbols: Symbols,
    /// Scanners that the configuration turns off.
    off: BTreeSet<String>,
    /// Scanners that work offline by an option of their own.
    offline: BTreeSet<String>,
}

struct Rule {
    rule: SuppressionRule,
    covered: AtomicU64,
}

/// The judgement the settings ask for. With `ignore_suppressions` every finding that is not in an ignored path counts.
pub fn judgement(
    settings: &Settings,
    ignore_suppressions: bool,
) -> Box<dyn Judgement + Send + Sync> {
    Box::new(FromSettings::new(settings, ignore_suppressions, today()))
}

/// What is to be said of suppressions that this build of ash cannot judge.
pub fn not_judged(settings: &Settings) -> Vec<Notice> {
    FromSettings::new(settings, false, today()).notices()
}

impl FromSettings {
    fn new(settings: &Settings, ignore_suppressions: bool, today: String) -> Self {
        let turned_off = |(name, own): (&String, &ash_config::ScannerSettings)| {
            (own.enabled == Some(false)).then(|| name.clone())
        };
        Self {
            matcher: Matcher::new(&settings.ignore_paths, &settings.suppressions, &today),
            rules: settings
                .suppressions
                .iter()
                .map(|rule| Rule { rule: rule.clone(), covered: AtomicU64::new(0) })
                .collect(),
            today,
            suppress: !ignore_suppressions,
            symbols: Symbols::default(),
            off: settings.scanners.iter().filter_map(turned_off).collect(),
            offline: settings
                .scanners
                .keys()
                .filter(|name| settings.offline(name, false))
                .cloned()
                .collect(),
        }
    }
}

impl Judgement for FromSettings {
    fn ignored(&self, finding: &Finding) -> bool {
        finding.location.as_ref().is_some_and(|location| {
            self.matcher.ignored(location.path.as_path()) || is_vendored(finding)
        })
    }

    fn obeys_sources(&self) -> bool {
        self.suppress
    }

    fn suppressed(&self, finding: &Finding, reader: &dyn SourceReader) -> Option<Suppression> {
        if !self.suppress {
            return None;
        }
        let within = |symbol: &str, finding: &Finding| self.symbols.hold(symbol, finding, reader);
        let covering = self.matcher.suppressions(finding, &within);
        let covering: Vec<&Rule> =
            covering.into_iter().filter_map(|index| self.rules.get(index)).collect();
        for rule in &covering {
            rule.covered.fetch_add(1, Ordering::Relaxed);
        }
        let rule = &covering.first()?.rule;
        let path =
            finding.location.as_ref().map(|location| location.path.printable()).unwrap_or_default();
        let justification = format!(
            "(ASH) Suppressing finding for rule '{}' in '{path}' with reason: {}",
            finding.rule_id, rule.reason
        );
        Some(Suppression {
            kind: "inSource".to_owned(),
            justification: Some(justification),
            counts: true,
        })
    }

    fn records(&self, scanners: &[ScannerReport], offline: bool) -> Vec<SuppressionRecord> {
        self.all_records(&records::Ran {
            scanners,
            all_offline: offline,
            offline: &self.offline,
            off: &self.off,
        })
    }

    fn notices(&self) -> Vec<Notice> {
        if !self.suppress {
            return Vec::new();
        }
        let named = self.rules.iter().filter(|rule| !rule.rule.is_expired(&self.today));
        self.symbols.notices(named.filter_map(|rule| rule.rule.symbol.as_deref()))
    }
}

/// The settings' ignore paths, for the walk: what is not looked at is what findings would be dropped of.
#[derive(Debug)]
pub(crate) struct Ignored(Matcher);

impl Ignored {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self(Matcher::new(&settings.ignore_paths, &[], &today()))
    }
}

impl Exclusion for Ignored {
    fn file(&self, path: &Path) -> bool {
        self.0.ignored(path)
    }

    fn directory(&self, path: &Path) -> bool {
        self.0.ignored_below(path)
    }
}

/// Directories of installed packages: what is in them is somebody else's code, and what is known of it comes from the lock files.
const VENDORED: [&str; 3] = ["node_modules", ".venv", "venv"];

/// Whether a finding is inside an installed package. npm's audit names a package by the place it would be installed to.
fn is_vendored(finding: &Finding) -> bool {
    let inside = finding.location.as_ref().is_some_and(|location| {
        // The last name is the file's own.
        location
            .path
            .as_path()
            .ancestors()
            .skip(1)
            .filter_map(Path::file_name)
            .any(|directory| VENDORED.iter().any(|name| directory == *name))
    });
    inside && finding.scanner.as_str() != "npm-audit"
}

#[cfg(test)]
mod tests;
