//! What is said of suppressions before a scan.

use ash_config::{Settings, days_left};
use ash_model::{
    ids::ScannerId,
    notice::Notice,
    suppression::{Fate, SuppressionRecord},
};

use crate::clock::today;

/// How many days ahead the end of a suppression is said.
const SOON: i64 = 30;

/// Suppressions and ignored paths that stop applying within a month, and those that did, one notice each.
pub fn expiring(settings: &Settings) -> Vec<Notice> {
    on(settings, &today())
}

fn on(settings: &Settings, today: &str) -> Vec<Notice> {
    let suppressions = settings.suppressions.iter().map(|rule| {
        let rule_id = rule.rule_id.as_deref().unwrap_or("*");
        (format!("suppression of `{rule_id}` in `{}`", rule.path), rule.expiration.as_deref())
    });
    let paths = settings
        .ignore_paths
        .iter()
        .map(|rule| (format!("ignored path `{}`", rule.path), rule.expiration.as_deref()));
    let notice = |(key, expiration): (String, Option<&str>)| {
        let date = expiration?;
        let reason = match days_left(date, today)? {
            ..=0 => format!("expired on {date} and no longer applies"),
            1..=SOON => format!("expires on {date}"),
            _ => return None,
        };
        Some(Notice::new(key, reason).hint("mend what it covers, or set a later `expiration`"))
    };
    suppressions.chain(paths).filter_map(notice).collect()
}

/// How many findings only the scanned files themselves excuse, by scanner: with comments, or with a baseline among them.
pub(crate) fn excused<'a>(by: impl Iterator<Item = (&'a ScannerId, u64)>) -> Option<Notice> {
    let mut by: Vec<_> = by.filter(|(_, count)| *count > 0).collect();
    by.sort_unstable();
    let total: u64 = by.iter().map(|(_, count)| count).sum();
    let each: Vec<String> =
        by.iter().map(|(scanner, count)| format!("{scanner} {count}")).collect();
    let findings =
        if total == 1 { "1 finding does".to_owned() } else { format!("{total} findings do") };
    (total > 0).then(|| {
        let said = format!("{findings} not count ({})", each.join(", "));
        Notice::new("suppressions in the scanned files", said)
            .hint("`--ignore-suppressions` counts them")
    })
}

/// How many suppressions of the configuration cover nothing.
pub(crate) fn unused(records: &[SuppressionRecord]) -> Option<Notice> {
    let count = records.iter().filter(|record| record.fate == Fate::Unused).count();
    let cover = if count == 1 { "1 covers".to_owned() } else { format!("{count} cover") };
    (count > 0).then(|| {
        Notice::new("suppressions of the configuration", format!("{cover} nothing that was found"))
            .hint("reports/ash.unused-suppressions.md has them, and `ash config lint --fix-unused` comments them out")
    })
}

#[cfg(test)]
mod tests {
    use ash_config::{IgnorePath, SuppressionRule};

    use super::*;

    #[test]
    fn suppressions_that_cover_nothing_are_counted() {
        let record = |fate| SuppressionRecord { fate, ..SuppressionRecord::default() };
        let said = |records: &[SuppressionRecord]| unused(records).map(|notice| notice.reason);
        assert_eq!(
            said(&[
                record(Fate::Used),
                record(Fate::Expired),
                record(Fate::NotJudged(String::new()))
            ]),
            None
        );
        let one = record(Fate::Unused);
        assert_eq!(
            said(std::slice::from_ref(&one)).as_deref(),
            Some("1 covers nothing that was found")
        );
        assert_eq!(said(&[one.clone(), one]).as_deref(), Some("2 cover nothing that was found"));
    }

    #[test]
    fn what_the_scanned_files_excuse_is_said_by_scanner() {
        let (a, b) = (ScannerId::builtin("semgrep"), ScannerId::builtin("bandit"));
        assert_eq!(excused([(&a, 0)].into_iter()), None);
        let said = |by: &[(&ScannerId, u64)]| excused(by.iter().copied()).unwrap().line();
        assert_eq!(
            said(&[(&a, 2), (&b, 1)]),
            "suppressions in the scanned files: 3 findings do not count (bandit 1, semgrep 2); `--ignore-suppressions` counts them"
        );
        assert_eq!(
            said(&[(&a, 1)]),
            "suppressions in the scanned files: 1 finding does not count (semgrep 1); `--ignore-suppressions` counts them"
        );
    }

    #[test]
    fn a_suppression_is_said_to_end_a_month_before_and_to_have_ended_afterwards() {
        let rule = |expiration: Option<&str>| SuppressionRule {
            path: "a.py".to_owned(),
            rule_id: Some("B1*".to_owned()),
            expiration: expiration.map(str::to_owned),
            ..SuppressionRule::default()
        };
        let dates = ["2026-06-14", "2026-06-15", "2026-06-16", "2026-07-15", "2026-07-16"];
        let mut suppressions: Vec<_> = dates.iter().map(|date| rule(Some(date))).collect();
        suppressions.push(rule(None));
        let ignore_paths = vec![IgnorePath {
            path: "x/**".to_owned(),
            expiration: Some("2026-06-01".to_owned()),
            ..IgnorePath::default()
        }];
        let settings = Settings { suppressions, ignore_paths, ..Settings::default() };
        let said: Vec<_> =
            on(&settings, "2026-06-15").into_iter().map(|notice| notice.reason).collect();
        assert_eq!(
            said,
            [
                "expired on 2026-06-14 and no longer applies",
                "expired on 2026-06-15 and no longer applies",
                "expires on 2026-06-16",
                "expires on 2026-07-15",
                "expired on 2026-06-01 and no longer applies",
            ]
        );
        assert_eq!(on(&settings, "2026-06-15")[0].key, "suppression of `B1*` in `a.py`");
    }
}
