//! The settings' ignore paths and suppressions, as a judgement over findings.

use ash_config::{Matcher, Settings, SuppressionRule};
use ash_model::{
    finding::{Finding, Suppression},
    notice::Notice,
};

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
        finding
            .location
            .as_ref()
            .is_some_and(|location| self.matcher.ignored(&location.path) || is_vendored(finding))
    }

    fn obeys_comments(&self) -> bool {
        self.suppress
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

/// Directories of installed packages: what is in them is somebody else's code, and what is known of it comes from the lock files.
const VENDORED: [&str; 3] = ["node_modules", ".venv", "venv"];

/// Whether a finding is inside an installed package. npm's audit names a package by the place it would be installed to.
fn is_vendored(finding: &Finding) -> bool {
    let inside = finding.location.as_ref().is_some_and(|location| {
        location
            .path
            .as_path()
            .components()
            .any(|part| VENDORED.iter().any(|name| part.as_os_str() == *name))
    });
    inside && finding.scanner.as_str() != "npm-audit"
}

/// Suppressions that stop applying within a month, one notice each.
pub fn expiring(settings: &Settings) -> Vec<Notice> {
    let today = today();
    let soon = |rule: &&SuppressionRule| {
        rule.days_left(&today).is_some_and(|days| (0..=30).contains(&days))
    };
    let notice = |rule: &SuppressionRule| {
        let date = rule.expiration.as_deref().unwrap_or_default();
        Notice::new(
            format!(
                "suppression of `{}` in `{}`",
                rule.rule_id.as_deref().unwrap_or("*"),
                rule.path
            ),
            format!("expires on {date}"),
        )
        .hint("mend what it covers, or set a later `expiration`")
    };
    settings.suppressions.iter().filter(soon).map(notice).collect()
}
