//! What the scanned tree itself took out of the scan or changed about its verdict, said in so many words: it may, and it may not do it quietly.

use ash_config::Settings;
use ash_intake::{COUNTED, Earlier, ScanSet, Vendored};
use ash_model::{ids::ScannerId, notice::Notice, path::printable, severity::Threshold};

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

/// The options of each running scanner by which the tree's own configuration decides what is looked for or reported.
pub(crate) fn by_options<'a>(
    settings: &'a Settings,
    running: &'a [ScannerId],
) -> impl Iterator<Item = Notice> + 'a {
    running.iter().filter_map(|id| settings.scanners.get(id.as_str())?.narrowed.clone())
}

/// How many are named of what there may be many.
const NAMED: usize = 5;

/// The tree's ignore files, where they hide anything.
pub(crate) fn by_ignore_files(set: &ScanSet) -> Option<Notice> {
    let mut files: Vec<_> = set.left_out.iter().collect();
    files.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let all: u64 = set.left_out.values().sum();
    let each = files
        .iter()
        .take(NAMED)
        .map(|(path, count)| format!("{count} by `{}`", printable(path.as_os_str())));
    let mut each = each.collect::<Vec<_>>().join(", ");
    if files.len() > NAMED {
        let rest: u64 = files[NAMED..].iter().map(|(_, count)| **count).sum();
        each += &format!(", {rest} by {} more", files.len() - NAMED);
    }
    (all > 0).then(|| {
        let reason = format!(
            "{all} files or directories are left out of the scan set by ignore files of the scanned tree ({each})"
        );
        Notice::new("scan set", reason).hint("ash-ignore-report.txt has the rules")
    })
}

/// What the scanned tree came with under the names of ash's own results. It is not scanned, and anybody can give code such a name; only
/// where git tells that it is no part of the repository there is nothing to say.
pub(crate) fn by_results(earlier: &Earlier) -> Option<Notice> {
    let files = match earlier.files {
        1 => "1 file that has the name".to_owned(),
        COUNTED => format!("{COUNTED} or more files that have names"),
        files => format!("{files} files that have names"),
    };
    (!earlier.untracked).then(|| {
        let directory = &earlier.directory;
        Notice::new(
            "scan set",
            format!("`{directory}` held {files} of ash's own results; they are not scanned"),
        )
        .hint("if they are not results of an earlier scan, move them")
    })
}

/// Files in directories that no scan enters, because most often a package manager fills them: those of the repository, and those of which
/// nothing tells whose they are.
pub(crate) fn by_directory_names(vendored: &Vendored) -> Vec<Notice> {
    let hint = "move code of your own elsewhere";
    let mut notices = vec![];
    let files = vendored.tracked;
    if files > 0 {
        let some = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
        let reason = format!(
            "the repository has {some} in `node_modules`, `venv`, `.venv` or `cdk.out/asset.*`; they are not scanned"
        );
        notices.push(Notice::new("scan set", reason).hint(hint));
    }
    if !vendored.untold.is_empty() {
        let named = vendored.untold.iter().take(NAMED);
        let named = named.map(|path| format!("`{}`", printable(path.as_os_str())));
        let mut named = named.collect::<Vec<_>>().join(", ");
        if vendored.untold.len() > NAMED {
            named += &format!(" and {} more", vendored.untold.len() - NAMED);
        }
        let are = if vendored.untold.len() == 1 { "is" } else { "are" };
        let reason = format!(
            "{named} {are} not scanned, and no index of git tells whether the repository's own code is there"
        );
        notices.push(Notice::new("scan set", reason).hint(hint));
    }
    notices
}

/// Findings of a scanner in ash's own results, which do not count.
pub(crate) fn in_results(scanner: &ScannerId, dropped: u64) -> Option<Notice> {
    let findings =
        if dropped == 1 { "1 finding".to_owned() } else { format!("{dropped} findings") };
    (dropped > 0).then(|| {
        let reason = format!(
            "{findings} in ash's own results, which are no part of the scanned code, left out"
        );
        Notice::new(scanner.as_str(), reason)
    })
}

#[cfg(test)]
mod tests {
    use ash_config::IgnorePath;

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
    fn what_each_ignore_file_hides_is_counted() {
        let left_out = (0..7u64).map(|n| (format!("d{n}/.gitignore").into(), n + 1)).collect();
        let set = ScanSet { left_out, ..ScanSet::default() };
        let reason = by_ignore_files(&set).unwrap().reason;
        for part in ["28 files or directories", "(7 by `d6/.gitignore`, 6 by", ", 3 by 2 more)"] {
            assert!(reason.contains(part), "{reason}");
        }
        assert_eq!(by_ignore_files(&ScanSet::default()), None);
    }

    #[test]
    fn code_where_no_scan_looks_is_said_and_so_is_what_cannot_be_told() {
        let reasons = |tracked: u64, untold: u64| {
            let untold = (0..untold).map(|n| format!("{n}/venv").into()).collect();
            let notices = by_directory_names(&Vendored { tracked, untold });
            notices.into_iter().map(|notice| notice.reason).collect::<Vec<_>>()
        };
        assert_eq!(reasons(0, 0), [""; 0]);
        assert!(reasons(1, 0)[0].starts_with("the repository has 1 file in `node_modules`"));
        assert!(reasons(0, 1)[0].starts_with("`0/venv` is not scanned, and no index"));
        let both = reasons(2, 7);
        assert!(both[0].starts_with("the repository has 2 files in"), "{both:?}");
        assert!(both[1].contains("`4/venv` and 2 more are not scanned"), "{both:?}");
    }

    #[test]
    fn files_with_the_names_of_results_are_news_unless_git_does_not_have_them() {
        let directory = ash_model::path::RelPath::new(".ash/ash_output").unwrap();
        let earlier = |files, untracked| Earlier { directory: directory.clone(), files, untracked };
        assert_eq!(by_results(&earlier(3, true)), None);
        for (files, said) in [
            (1, "`.ash/ash_output` held 1 file that has the name of ash's own results"),
            (3, "held 3 files that have names of"),
            (COUNTED, "held 10000 or more files"),
        ] {
            let reason = by_results(&earlier(files, false)).unwrap().reason;
            assert!(reason.contains(said), "{reason}");
        }
    }
}
