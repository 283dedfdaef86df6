//! Which plugins and filters detect-secrets uses, and whether it asks issuers about candidates: from the option `scan_settings`, else from
//! the baseline of the scanned tree, in the form of a baseline.
//!
//! A baseline names plugins and filters by Python path or by file, so it can make the library import anything. Of the library's own
//! filters those that only look at text are used. A file is code: only `scan_settings` can name one, and only outside the scanned tree
//! (the configuration's trust rules have already taken away what the tree's own configuration names). Verification sends candidates
//! to their issuers: it happens only where the sandbox gives a network, and that the tree cannot grant.

use std::path::Path;

use ash_model::notice::Notice;
use serde_json::{Map, Value, json};

use super::Baseline;
use crate::{Plan, Site, options::wrong, outcome::quoted};

const VERIFY: &str = "detect_secrets.filters.common.is_ignored_due_to_verification_policies";
/// Filters of the library that look at nothing but text.
const TEXT_FILTERS: [&str; 2] = ["detect_secrets.filters.heuristic.", "detect_secrets.filters.regex."];
/// Filters for what ash does itself: it reports allowlisted lines as suppressed, and scans only files that exist and no baseline.
const OWN_WORK: [&str; 3] = [
    "detect_secrets.filters.allowlist.is_line_allowlisted",
    "detect_secrets.filters.common.is_baseline_file",
    "detect_secrets.filters.common.is_invalid_file",
];
/// The level of the library's `UNVERIFIED`: only what its issuer refuses is left out.
const UNVERIFIED: u64 = 2;
/// How many entries that are not used are named.
const NAMED: usize = 10;
const FILE: &str = "file://";
const OPTION: &str = "scan_settings";

/// What the worker is told.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Settings {
    /// `None`: all of the library's.
    pub(super) plugins: Option<Vec<Value>>,
    pub(super) filters: Vec<Value>,
    /// The least level that counts, when candidates are to be verified.
    pub(super) verify: Option<u64>,
    /// Where they come from, for people.
    from: String,
    /// Entries that are not obeyed, and why.
    dropped: Vec<(String, &'static str)>,
}

impl Settings {
    /// Reads the settings; a `scan_settings` that is no such thing stops the scanner, a strange baseline does not.
    pub(super) fn of(site: &Site<'_>, baseline: Option<&Baseline>) -> Result<Self, Plan> {
        let option = match site.options.get(OPTION) {
            None | Some(Value::Null) => None,
            Some(Value::Object(members)) => Some(members),
            Some(_) => return Err(wrong(OPTION, "a section like a baseline's (`plugins_used`, `filters_used`)")),
        };
        let of_baseline = baseline.and_then(|baseline| baseline.value.as_object());
        let mut settings = match (option, baseline) {
            (Some(_), _) => Self { from: format!("`{OPTION}`"), ..Self::default() },
            (None, Some(baseline)) => Self { from: format!("`{}`", baseline.name), ..Self::default() },
            (None, None) => Self::default(),
        };
        let files = if option.is_some() { Files::Outside(site.source) } else { Files::None };
        let Some(members) = option.or(of_baseline) else { return Ok(settings) };
        settings.read_plugins(members, files);
        settings.read_filters(members, files);
        Ok(settings)
    }

    fn read_plugins(&mut self, members: &Map<String, Value>, files: Files<'_>) {
        let Some(entries) = members.get("plugins_used").and_then(Value::as_array) else { return };
        let mut plugins = vec![];
        for entry in entries.iter().filter_map(Value::as_object) {
            let Some(name) = entry.get("name").and_then(Value::as_str) else { continue };
            match entry.get("path").map(|path| files.judge(path.as_str().unwrap_or_default())) {
                Some(Err(why)) => self.dropped.push((format!("plugin `{}`", quoted(name)), why)),
                Some(Ok(())) | None => plugins.push(Value::Object(entry.clone())),
            }
        }
        // A list that comes to nothing would find nothing.
        self.plugins = (!plugins.is_empty()).then_some(plugins);
    }

    fn read_filters(&mut self, members: &Map<String, Value>, files: Files<'_>) {
        let entries = members.get("filters_used").and_then(Value::as_array);
        for entry in entries.into_iter().flatten().filter_map(Value::as_object) {
            let Some(path) = entry.get("path").and_then(Value::as_str) else { continue };
            if path == VERIFY {
                let level = entry.get("min_level").and_then(Value::as_u64).filter(|level| (1..=3).contains(level));
                self.verify = Some(level.unwrap_or(UNVERIFIED));
            } else if path.starts_with(FILE) {
                match files.judge(path.split("::").next().unwrap_or_default()) {
                    Ok(()) => self.filters.push(Value::Object(entry.clone())),
                    Err(why) => self.dropped.push((format!("filter `{}`", quoted(path)), why)),
                }
            } else if TEXT_FILTERS.iter().any(|own| path.strip_prefix(own).is_some_and(is_word)) {
                self.filters.push(Value::Object(listed(entry)));
            } else if !OWN_WORK.contains(&path) {
                let why = "ash uses only the library's filters that look at nothing but text";
                self.dropped.push((format!("filter `{}`", quoted(path)), why));
            }
        }
    }

    /// What was asked for and what came of it.
    pub(super) fn notices(&self, site: &Site<'_>, left_out: u64, unknown: &[String]) -> Vec<Notice> {
        let key = || format!("detect-secrets: {}", self.from);
        let dropped = self.dropped.iter().map(|(what, why)| format!("{what} is not used: {why}"));
        let unknown = unknown.iter().map(|name| format!("`{}` is not in the installed version, so it is not used", quoted(name)));
        let unused: Vec<String> = dropped.chain(unknown).collect();
        let mut notices: Vec<Notice> = unused.iter().take(NAMED).map(|text| Notice::new(key(), text)).collect();
        if unused.len() > NAMED {
            notices.push(Notice::new(key(), format!("{} more plugins and filters are not used", unused.len() - NAMED)));
        }
        if self.plugins.is_some() || left_out > 0 {
            let counted = |count: usize| match count {
                1 => "only 1 plugin is used".to_owned(),
                count => format!("only {count} plugins are used"),
            };
            let plugins = self.plugins.as_ref().map(|plugins| counted(plugins.len()));
            let filtered = (left_out > 0).then(|| format!("filters leave out {left_out} candidates or files"));
            let said: Vec<String> = plugins.into_iter().chain(filtered).collect();
            notices.push(Notice::new(key(), said.join(", ")));
        }
        notices.extend(self.verify.map(|_| verification(key(), site)));
        notices
    }
}

/// Said about settings that verify.
fn verification(key: String, site: &Site<'_>) -> Notice {
    if site.network {
        return Notice::new(key, "candidates were sent to their issuers, as these settings ask").hint("`--offline` prevents it");
    }
    let unverified = "these settings verify candidates, and detect-secrets had no network: all are reported unverified, with those that verification would have dropped";
    if site.offline {
        return Notice::new(key, unverified).hint("an offline scan gives nobody a network, `sandbox.network_scanners` or not");
    }
    Notice::new(key, unverified)
        .hint("to let it verify, pass `--config-overrides 'sandbox.network_scanners=[detect-secrets]'`, with the other scanners that need a network in the list")
}

/// Which files may be loaded as code.
#[derive(Clone, Copy)]
enum Files<'a> {
    /// None: the scanned tree asks.
    None,
    /// Those outside this directory.
    Outside(&'a Path),
}

impl Files<'_> {
    fn judge(self, address: &str) -> Result<(), &'static str> {
        let Self::Outside(source) = self else {
            return Err("it is loaded from a file and runs as code, which a scanned repository may not choose");
        };
        let path = Path::new(address.strip_prefix(FILE).ok_or("ash loads plugins and filters from `file://` addresses only")?);
        if !path.is_absolute() || path.components().any(|part| part == std::path::Component::ParentDir) {
            return Err("its address must be an absolute path without `..`");
        }
        if path.starts_with(source) {
            return Err("it lies in the scanned tree and would run as code");
        }
        Ok(())
    }
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_') && !text.starts_with('_')
}

/// The library takes a pattern that is not in a list for one pattern per letter.
fn listed(entry: &Map<String, Value>) -> Map<String, Value> {
    let mut entry = entry.clone();
    if let Some(pattern @ Value::String(_)) = entry.get_mut("pattern") {
        *pattern = json!([pattern.take()]);
    }
    entry
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scanners::tests::Tree;

    fn baseline(value: Value) -> Baseline {
        Baseline { name: ".secrets.baseline".to_owned(), value }
    }

    fn read(baseline: Option<&Baseline>, option: Option<Value>) -> Settings {
        let mut tree = Tree::new(&["a.py"]);
        tree.options.extend(option.map(|value| (OPTION.to_owned(), value)));
        tree.site(|site| Settings::of(site, baseline)).unwrap()
    }

    fn said(settings: &Settings, offline: bool, network: bool) -> Vec<String> {
        let tree = Tree { offline, network, ..Tree::new(&["a.py"]) };
        tree.site(|site| settings.notices(site, 0, &[])).iter().map(Notice::line).collect()
    }

    #[test]
    fn a_baseline_of_the_tree_chooses_among_the_librarys_own_and_loads_nothing() {
        let settings = read(
            Some(&baseline(json!({
                "plugins_used": [{"name": "AWSKeyDetector"}, {"name": "Base64HighEntropyString", "limit": 5.0}, {"name": "Evil", "path": "file:///opt/evil.py"}],
                "filters_used": [
                    {"path": "detect_secrets.filters.allowlist.is_line_allowlisted"},
                    {"path": "detect_secrets.filters.heuristic.is_potential_uuid"},
                    {"path": "detect_secrets.filters.regex.should_exclude_line", "pattern": "x.*"},
                    {"path": "detect_secrets.filters.wordlist.should_exclude_secret", "file_name": "/etc/shadow"},
                    {"path": "detect_secrets.filters.heuristic.__class__"},
                    {"path": "file://evil.py::f"},
                    {"path": "os.system"},
                    7
                ]
            }))),
            None,
        );
        assert_eq!(settings.plugins, Some(vec![json!({"name": "AWSKeyDetector"}), json!({"name": "Base64HighEntropyString", "limit": 5.0})]));
        assert_eq!(
            settings.filters,
            [
                json!({"path": "detect_secrets.filters.heuristic.is_potential_uuid"}),
                json!({"path": "detect_secrets.filters.regex.should_exclude_line", "pattern": ["x.*"]})
            ]
        );
        assert_eq!(settings.verify, None);
        insta::assert_snapshot!(said(&settings, false, false).join("\n"));
    }

    #[test]
    fn scan_settings_may_load_files_outside_the_tree_and_win_over_a_baseline() {
        let tree = baseline(json!({"plugins_used": [{"name": "X"}], "filters_used": [{"path": VERIFY}]}));
        let plugin = |path: &str| json!({"name": "P", "path": path});
        let option = json!({
            "plugins_used": [plugin("file:///opt/p.py"), plugin("file:///the tree/p.py"), plugin("file://p.py"), plugin("file:///opt/../the tree/p.py"), plugin("/opt/p.py")],
            "filters_used": [{"path": "file:///opt/f.py::f"}]
        });
        let settings = read(Some(&tree), Some(option));
        assert_eq!(settings.plugins, Some(vec![plugin("file:///opt/p.py")]));
        assert_eq!(settings.filters, [json!({"path": "file:///opt/f.py::f"})]);
        assert_eq!((settings.verify, settings.dropped.len()), (None, 4));
    }

    #[test]
    fn verification_is_asked_for_by_either_and_said_with_the_setting_that_grants_it() {
        for (filter, level) in [
            (json!({"path": VERIFY, "min_level": 3}), 3),
            (json!({"path": VERIFY}), 2),
            (json!({"path": VERIFY, "min_level": 99}), 2),
        ] {
            let value = json!({"filters_used": [filter]});
            assert_eq!(read(Some(&baseline(value.clone())), None).verify, Some(level));
            assert_eq!(read(None, Some(value)).verify, Some(level));
        }
        let settings = read(Some(&baseline(json!({"filters_used": [{"path": VERIFY}]}))), None);
        insta::assert_snapshot!([said(&settings, false, false), said(&settings, true, false), said(&settings, false, true)].concat().join("\n"));
    }

    #[test]
    fn a_flood_of_entries_is_counted_and_not_listed() {
        let entries: Vec<Value> = (0..1_000).map(|n| json!({"path": format!("os.f{n}")})).collect();
        let settings = read(Some(&baseline(json!({"filters_used": entries}))), None);
        let said = said(&settings, false, false);
        assert_eq!((said.len(), said[10].as_str()), (11, "detect-secrets: `.secrets.baseline`: 990 more plugins and filters are not used"));
    }

    #[test]
    fn plugins_that_come_to_nothing_mean_all_plugins() {
        for value in [json!({"plugins_used": []}), json!({"plugins_used": [{"name": "E", "path": "file://e.py"}]}), json!({"plugins_used": "x"}), json!([])] {
            assert_eq!(read(Some(&baseline(value)), None).plugins, None);
        }
        let tree = Tree { options: Map::from_iter([(OPTION.to_owned(), json!("x"))]), ..Tree::new(&["a.py"]) };
        assert!(matches!(tree.site(|site| Settings::of(site, None)), Err(Plan::Missing(reason)) if reason.contains(OPTION)));
    }
}
