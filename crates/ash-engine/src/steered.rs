//! What the scanned tree itself took out of the scan or changed about its verdict, said in so many words: it may, and it may not do it quietly.

use ash_config::Settings;
use ash_intake::ScanSet;
use ash_model::{notice::Notice, severity::Threshold};

/// The tree's own configuration, where it makes the scan more lenient.
pub(crate) fn by_config(settings: &Settings) -> Option<Notice> {
    if !settings.config_in_tree {
        return None;
    }
    let mut said: Vec<String> = Vec::new();
    if settings.threshold > Threshold::default() {
        said.push(format!("the threshold is {}", settings.threshold.name()));
    }
    if !settings.fail_on_findings {
        said.push("findings do not fail the scan".to_owned());
    }
    if !settings.fail_on_incomplete {
        said.push("an incomplete scan does not fail".to_owned());
    }
    let off: Vec<&str> = settings
        .scanners
        .iter()
        .filter(|(_, own)| own.enabled == Some(false))
        .map(|(name, _)| name.as_str())
        .collect();
    if !off.is_empty() {
        said.push(format!("{} off", off.join(", ")));
    }
    let offline: Vec<&str> = settings
        .scanners
        .keys()
        .map(String::as_str)
        .filter(|name| settings.offline(name, false))
        .collect();
    if !offline.is_empty() {
        said.push(format!("{} offline", offline.join(", ")));
    }
    let lenient = settings
        .scanners
        .iter()
        .filter(|(_, own)| own.threshold.is_some_and(|own| own > Threshold::default()));
    said.extend(lenient.map(|(name, own)| {
        format!("the threshold of {name} is {}", own.threshold.unwrap_or_default().name())
    }));
    for (count, what) in [
        (settings.ignore_paths.len(), "ignored path"),
        (settings.suppressions.len(), "suppression"),
    ] {
        if count > 0 {
            said.push(format!("{count} {what}{}", if count == 1 { "" } else { "s" }));
        }
    }
    (!said.is_empty()).then(|| {
        Notice::new("configuration of the scanned tree", said.join(", "))
            .hint("`--config FILE` with a file of your own replaces it")
    })
}

/// The tree's ignore files, where they hide anything.
pub(crate) fn by_ignore_files(set: &ScanSet) -> Option<Notice> {
    (set.left_out > 0 && !set.ignore_files.is_empty()).then(|| {
        let files: Vec<String> = set.ignore_files.iter().take(3).map(|(path, _)| format!("`{path}`")).collect();
        let more = if set.ignore_files.len() > 3 { format!(" and {} more", set.ignore_files.len() - 3) } else { String::new() };
        let reason = format!(
            "{} files or directories are left out of the scan set by ignore files of the scanned tree ({}{more})",
            set.left_out,
            files.join(", ")
        );
        Notice::new("scan set", reason).hint("ash-ignore-report.txt has the rules")
    })
}

#[cfg(test)]
mod tests {
    use ash_config::IgnorePath;
    use ash_model::path::RelPath;

    use super::*;

    #[test]
    fn what_a_trees_configuration_loosens_is_said() {
        let quiet = Settings { config_in_tree: true, ..Settings::default() };
        assert_eq!(by_config(&quiet), None);
        let ignored = IgnorePath { path: "**/*.py".into(), reason: "no".into(), expiration: None };
        let loose = Settings {
            threshold: Threshold::Critical,
            fail_on_findings: false,
            ignore_paths: vec![ignored],
            ..quiet
        };
        assert_eq!(
            by_config(&loose).unwrap().reason,
            "the threshold is CRITICAL, findings do not fail the scan, 1 ignored path"
        );
        assert_eq!(
            by_config(&Settings { config_in_tree: false, ..loose }),
            None,
            "the operator's own choice is not news"
        );
    }

    #[test]
    fn what_ignore_files_hide_is_counted() {
        let set = ScanSet {
            left_out: 2,
            ignore_files: vec![(RelPath::new(".gitignore").unwrap(), "*.py".into())],
            ..ScanSet::default()
        };
        assert!(by_ignore_files(&set).unwrap().reason.starts_with("2 files or directories"));
        assert_eq!(by_ignore_files(&ScanSet::default()), None);
    }
}
