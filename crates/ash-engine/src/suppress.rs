//! The settings' ignore paths and suppressions, as a judgement over findings.

use ash_config::{Matcher, Settings, SuppressionRule};
use ash_model::finding::{Finding, Suppression};

use crate::{clock::today, merge::Judgement};

struct FromSettings {
    matcher: Matcher,
    rules: Vec<SuppressionRule>,
    /// Suppressions are looked at; ignore paths always are.
    suppress: bool,
}

/// The judgement the settings ask for. With `ignore_suppressions` every finding that is not in an ignored path counts.
pub fn judgement(
    settings: &Settings,
    ignore_suppressions: bool,
) -> Box<dyn Judgement + Send + Sync> {
    Box::new(FromSettings {
        matcher: Matcher::new(&settings.ignore_paths, &settings.suppressions, &today()),
        rules: settings.suppressions.clone(),
        suppress: !ignore_suppressions,
    })
}

impl Judgement for FromSettings {
    fn ignored(&self, finding: &Finding) -> bool {
        finding.location.as_ref().is_some_and(|location| self.matcher.ignored(&location.path))
    }

    fn suppressed(&self, finding: &Finding) -> Option<Suppression> {
        let rule = self
            .suppress
            .then(|| self.matcher.suppression(finding))
            .flatten()
            .and_then(|index| self.rules.get(index))?;
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
}
