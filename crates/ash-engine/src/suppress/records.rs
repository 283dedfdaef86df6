//! Which suppressions covered something, and which can be called unused.
//!
//! A suppression that covered nothing is unused only when every scanner it may be about looked at everything it should: `ash config lint
//! --fix-unused` comments it out, and the next whole scan would show what it hid.

use std::{collections::BTreeSet, sync::atomic::Ordering};

use ash_config::SuppressionRule;
use ash_model::{
    ids::ScannerId,
    report::ScannerReport,
    status::Status,
    suppression::{Fate, SuppressionRecord},
};

use super::{FromSettings, Rule, symbols};

/// What ran.
pub(super) struct Ran<'a> {
    pub(super) scanners: &'a [ScannerReport],
    /// Nobody had a network, without which some scanners skip their work.
    pub(super) all_offline: bool,
    /// Scanners that had none by an option of their own.
    pub(super) offline: &'a BTreeSet<String>,
    /// Scanners that the configuration turns off.
    pub(super) off: &'a BTreeSet<String>,
}

impl FromSettings {
    pub(super) fn all_records(&self, ran: &Ran<'_>) -> Vec<SuppressionRecord> {
        let mut records: Vec<_> = self.rules.iter().map(|rule| self.record(rule, ran)).collect();
        // `lint --fix-unused` knows a suppression by its id, and would comment out its namesakes with it.
        let is_needed =
            |record: &&SuppressionRecord| matches!(record.fate, Fate::Used | Fate::NotJudged(_));
        let needed: BTreeSet<String> =
            records.iter().filter(is_needed).map(|record| record.id.clone()).collect();
        for record in &mut records {
            if record.fate == Fate::Unused && needed.contains(&record.id) {
                let why = "another suppression of the same path, rule and lines may be needed";
                record.fate = Fate::NotJudged(why.to_owned());
            }
        }
        records
    }

    fn record(&self, rule: &Rule, ran: &Ran<'_>) -> SuppressionRecord {
        let covered = rule.covered.load(Ordering::Relaxed);
        let rule = &rule.rule;
        SuppressionRecord {
            id: rule.id(),
            path: rule.path.clone(),
            rule_id: rule.rule_id.clone(),
            line_start: rule.line_start,
            line_end: rule.line_end,
            symbol: rule.symbol.clone(),
            package_name: rule.package.name.clone(),
            package_version: rule.package.version.clone(),
            package_path: rule.package.path.clone(),
            reason: rule.reason.clone(),
            expiration: rule.expiration.clone(),
            covered,
            fate: self.fate(rule, covered, ran),
        }
    }

    fn fate(&self, rule: &SuppressionRule, covered: u64, ran: &Ran<'_>) -> Fate {
        if rule.is_expired(&self.today) {
            return Fate::Expired;
        }
        if !self.suppress {
            return Fate::NotJudged(
                "suppressions were ignored (`--ignore-suppressions`)".to_owned(),
            );
        }
        if covered > 0 {
            return Fate::Used;
        }
        if rule.symbol.is_some() && !symbols::AVAILABLE {
            return Fate::NotJudged(symbols::NOT_AVAILABLE.to_owned());
        }
        ran.missing_for(rule.rule_id.as_deref()).map_or(Fate::Unused, Fate::NotJudged)
    }
}

impl Ran<'_> {
    /// Why a suppression of this rule cannot be called unused, if it cannot.
    fn missing_for(&self, rule_id: Option<&str>) -> Option<String> {
        let claimants = rule_id.map(claimants).unwrap_or_default();
        let owned = !claimants.is_empty();
        let concerned =
            self.scanners.iter().filter(|scanner| !owned || claimants.contains(&scanner.id));
        let missed: Vec<String> =
            concerned.filter_map(|scanner| self.missed(scanner, owned)).collect();
        (!missed.is_empty()).then(|| missed.join(", "))
    }

    /// How a scanner did not look at everything, if it did not. `owned`: the suppression is about its rules in particular.
    fn missed(&self, scanner: &ScannerReport, owned: bool) -> Option<String> {
        let id = &scanner.id;
        match &scanner.status {
            Status::Passed | Status::Failed if scanner.unevaluated.is_empty() => None,
            Status::Passed | Status::Failed => Some(format!("{id} did not evaluate everything")),
            // There is no file of its kind, so it has nothing to say of any.
            Status::Skipped(_)
                if !owned && scanner.dependencies_satisfied && !self.is_offline(scanner) =>
            {
                None
            }
            Status::Skipped(_) if !owned && self.off.contains(id.as_str()) => None,
            status => Some(format!("{id} did not run ({})", status.name())),
        }
    }

    fn is_offline(&self, scanner: &ScannerReport) -> bool {
        self.all_offline || self.offline.contains(scanner.id.as_str())
    }
}

/// The scanners whose rules have ids of this form; none when that cannot be told.
fn claimants(rule_id: &str) -> BTreeSet<ScannerId> {
    let literal: String = rule_id
        .chars()
        .take_while(|c| !"*?[".contains(*c))
        .collect::<String>()
        .to_ascii_uppercase();
    let claims = |claim: &str| {
        let mut chars = literal.chars();
        claim.chars().all(|c| {
            chars.next().is_some_and(|own| if c == '#' { own.is_ascii_digit() } else { own == c })
        })
    };
    let scanners = ash_scanners::SCANNERS.iter();
    scanners
        .filter(|scanner| scanner.rule_ids().iter().any(|claim| claims(claim)))
        .map(|scanner| scanner.id())
        .collect()
}
