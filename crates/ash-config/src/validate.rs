//! Checks a merged document against the schema: every mistake in one run, each with its place and the nearest valid word.

use ash_model::notice::Notice;

use crate::{
    error::{Mistake, nearest, safe},
    schema::{self, Field, Names, Shape},
    tree::{At, Entry, Kind, Node, Sources, same_key},
    values::{is_release_tag, is_specifier},
};

pub(crate) use crate::values::{as_bool, as_int, as_number, is_date};

/// Mistakes and notices kept of one run: a hostile file can hold a hundred thousand, and each costs a look for its line.
const KEPT: usize = 200;

/// How the reason begins where a setting is read and not used.
pub(crate) const NO_EFFECT: &str = "has no effect";

/// One run of checks.
pub(crate) struct Checker<'a> {
    pub(crate) sources: &'a Sources,
    pub(crate) known_scanners: &'a [&'a str],
    pub(crate) mistakes: Vec<Mistake>,
    pub(crate) notices: Vec<Notice>,
}

/// Keys people put in the wrong section, and where they belong.
const HOMES: &[(&str, &[Field])] = &[
    ("at the top level", schema::ROOT),
    ("in `global_settings`", schema::GLOBAL),
    ("in `sandbox`", schema::SANDBOX),
];

impl Checker<'_> {
    /// Checks a whole document.
    pub(crate) fn document(&mut self, document: &Node) {
        self.section(document, schema::ROOT, "", false);
        self.scanner_lists(document);
        self.versions(document);
    }

    fn check(&mut self, node: &Node, shape: &Shape, path: &str) {
        if node.is_null() {
            if path == "sandbox.mode" {
                self.wrong(node, path, &format!("one of {}", words(schema::MODES)));
            }
            return;
        }
        match shape {
            Shape::Any => {}
            Shape::Bool => self.require(as_bool(node).is_some(), node, path, "true or false"),
            Shape::Text => self.text(node, path),
            Shape::Date => self.date(node, path),
            Shape::Int(least, most) => {
                let good = as_int(node).is_some_and(|value| (*least..=*most).contains(&value));
                self.require(good, node, path, &bounds("a whole number", *least, *most));
            }
            Shape::Number(least, most) => {
                let good = as_number(node).is_some_and(|value| *least < value && value <= *most);
                self.require(good, node, path, "a number above 0");
            }
            Shape::Choice(choices) => self.choice(node, choices, path),
            Shape::List(item) => self.list(node, item, path),
            Shape::OneOrMore(item) => match &node.kind {
                Kind::List(items) => items.iter().for_each(|node| self.check(node, item, path)),
                _ => self.check(node, item, path),
            },
            Shape::Pattern if node.text().is_some() => {}
            Shape::Pattern if matches!(node.kind, Kind::Map(_)) => {
                self.section(node, schema::PATTERN, path, false);
            }
            Shape::Pattern => self.wrong(node, path, "a pattern, or a section with `path`"),
            Shape::Section(fields) => self.section(node, fields, path, false),
            Shape::Named(names) => self.named(node, names, path),
        }
    }

    fn require(&mut self, good: bool, node: &Node, path: &str, expected: &str) {
        if !good {
            self.wrong(node, path, expected);
        }
    }

    fn wrong(&mut self, node: &Node, path: &str, expected: &str) {
        let found = shown(node);
        self.push(node.at, format!("`{path}` must be {expected}, not {found}"), None);
    }

    fn push(&mut self, at: At, message: String, hint: Option<String>) {
        if self.mistakes.len() >= KEPT {
            return;
        }
        self.mistakes.push(Mistake::at(self.sources, at, message).maybe_hint(hint));
    }

    fn text(&mut self, node: &Node, path: &str) {
        let hint = matches!(node.kind, Kind::Bool(_) | Kind::Int(_) | Kind::Float(_))
            .then(|| "put it in quotes".to_owned());
        if node.text().is_none() {
            self.push(node.at, format!("`{path}` must be text, not {}", shown(node)), hint);
        }
    }

    fn date(&mut self, node: &Node, path: &str) {
        self.require(node.text().is_some_and(is_date), node, path, "a date such as 2030-12-31");
    }

    fn choice(&mut self, node: &Node, choices: &[&'static str], path: &str) {
        let word = node.text().unwrap_or_default();
        if !choices.contains(&word) {
            let near = nearest(word, choices.iter().copied())
                .map(|near| format!("did you mean `{near}`?"));
            let message =
                format!("`{path}` must be one of {}, not {}", words(choices), shown(node));
            self.push(node.at, message, near);
        }
    }

    fn list(&mut self, node: &Node, item: &Shape, path: &str) {
        let Kind::List(items) = &node.kind else {
            let hint = node.text().map(|text| format!("write `[{text}]`"));
            self.push(node.at, format!("`{path}` must be a list, not {}", shown(node)), hint);
            return;
        };
        for (index, node) in items.iter().enumerate() {
            let path = format!("{path}[{index}]");
            if node.is_null() {
                self.wrong(node, &path, "set");
            }
            self.check(node, item, &path);
        }
    }

    fn section(&mut self, node: &Node, fields: &[Field], path: &str, open: bool) {
        let Kind::Map(entries) = &node.kind else {
            let what = if path.is_empty() { "the configuration" } else { path };
            self.push(
                node.at,
                format!("`{what}` must be a section of keys, not {}", shown(node)),
                None,
            );
            return;
        };
        for entry in entries {
            let below = join(path, &entry.key);
            match fields.iter().find(|field| same_key(field.key, &entry.key)) {
                Some(field) => self.field(entry, field, &below),
                None if open => self.unknown_option(entry, fields, &below),
                None => self.unknown_key(entry, fields, path),
            }
        }
        for field in fields.iter().filter(|field| field.required && node.get(field.key).is_none()) {
            self.push(node.at, format!("`{path}` needs `{}`", field.key), None);
        }
        if let (Some(first), Some(last)) =
            (node.get("line_start").and_then(as_int), node.get("line_end").and_then(as_int))
            && last < first
        {
            self.push(
                node.at,
                format!("`{path}` ends before it starts: `line_end` is less than `line_start`"),
                None,
            );
        }
    }

    fn field(&mut self, entry: &Entry, field: &Field, path: &str) {
        self.check(&entry.value, &field.shape, path);
        if let Some(instead) = field.instead.filter(|_| !says_nothing(&entry.value, field)) {
            self.note(Notice::new(path, format!("{NO_EFFECT}: {instead}")), entry.key_at);
        }
    }

    fn unknown_key(&mut self, entry: &Entry, fields: &[Field], path: &str) {
        if self.mistakes.len() >= KEPT {
            return;
        }
        let belongs =
            |home: &&(&str, &[Field])| home.1.iter().any(|field| same_key(field.key, &entry.key));
        let near = nearest(&entry.key, fields.iter().map(|field| field.key));
        let hint = match (HOMES.iter().find(belongs), near) {
            (Some((home, _)), _) => format!("it belongs {home}"),
            (None, Some(near)) => format!("did you mean `{near}`?"),
            (None, None) => format!(
                "known here: {}",
                words(&fields.iter().map(|field| field.key).collect::<Vec<_>>())
            ),
        };
        let place =
            if path.is_empty() { "at the top level".to_owned() } else { format!("in `{path}`") };
        self.push(entry.key_at, format!("`{}` is not a key {place}", entry.key), Some(hint));
    }

    fn unknown_option(&mut self, entry: &Entry, fields: &[Field], path: &str) {
        if self.notices.len() >= KEPT {
            return;
        }
        let near = nearest(&entry.key, fields.iter().map(|field| field.key));
        let notice =
            Notice::new(path, "no version of this plugin has this option, so it does nothing");
        let hint = near.map(|near| format!("did you mean `{near}`?"));
        self.note(Notice { hint, ..notice }, entry.key_at);
    }

    fn named(&mut self, node: &Node, names: &Names, path: &str) {
        let Kind::Map(entries) = &node.kind else {
            self.push(
                node.at,
                format!("`{path}` must be a section of {} names, not {}", names.kind, shown(node)),
                None,
            );
            return;
        };
        for entry in entries {
            let below = join(path, &entry.key);
            self.name(&entry.key, entry.key_at, names, &below);
            let noted = self.notices.len();
            self.plugin(entry, names, &below);
            if names.kind == "reporter" && same_key(&entry.key, "aggregated") {
                self.note_always_written(entry, &below);
            }
            if self.absent(entry, names) {
                self.note_absent(entry, names, &below, noted);
            }
        }
    }

    /// The presence of the aggregated results says that a scan is whole.
    fn note_always_written(&mut self, entry: &Entry, path: &str) {
        if entry.value.get("enabled").and_then(as_bool) == Some(false) {
            let reason = format!("{NO_EFFECT}: the aggregated results are always written");
            self.note(Notice::new(join(path, "enabled"), reason), entry.key_at);
        }
    }

    /// Where the whole plugin does nothing, its keys need no word of their own.
    fn note_absent(&mut self, entry: &Entry, names: &Names, path: &str, noted: usize) {
        let before = self.notices.split_off(noted);
        self.notices.extend(before.into_iter().filter(|one| !one.reason.starts_with(NO_EFFECT)));
        if entry.value.get("enabled").and_then(as_bool) != Some(false) {
            let reason = format!("{NO_EFFECT}: this version of ash has no such {}", names.kind);
            self.note(Notice::new(path, reason), entry.key_at);
        }
    }

    fn plugin(&mut self, entry: &Entry, names: &Names, path: &str) {
        self.check(&entry.value, &names.entry, path);
        let Some(options) = entry.value.get("options") else { return };
        let path = join(path, "options");
        match names.options_of(&entry.key) {
            Some(fields) => self.section(options, &fields, &path, true),
            None => {
                self.require(
                    matches!(options.kind, Kind::Map(_)),
                    options,
                    &path,
                    "a section of keys",
                );
            }
        }
    }

    /// Whether a published version had this plugin and this one has not.
    fn absent(&self, entry: &Entry, names: &Names) -> bool {
        let is = |known: &&str| same_key(known, &entry.key);
        let here = names.shipped.unwrap_or(self.known_scanners);
        // Nobody said which scanners there are: then nothing can be said about one.
        let told = names.shipped.is_some() || !self.known_scanners.is_empty();
        told && names.known.iter().any(is) && !here.iter().any(is)
    }

    /// A name no plugin has is kept, since a plugin may bring it, with a notice.
    fn name(&mut self, name: &str, at: At, names: &Names, path: &str) {
        let told: &[&str] = if names.kind == "scanner" { self.known_scanners } else { &[] };
        let known = || names.known.iter().chain(told).copied();
        if self.notices.len() < KEPT && !known().any(|known| same_key(known, name)) {
            let hint = nearest(name, known()).map(|near| format!("did you mean `{near}`?"));
            let notice = Notice::new(path, format!("ash has no {} named `{name}`", names.kind));
            self.note(Notice { hint, ..notice }, at);
        }
    }

    fn scanner_lists(&mut self, document: &Node) {
        let list = document.at_path(&["sandbox", "network_scanners"]);
        for item in list.map(Node::items).unwrap_or_default() {
            if let Some(name) = item.text() {
                self.name(name, item.at, &schema::SCANNERS, "sandbox.network_scanners");
            }
        }
    }

    /// A tool version ends on a command line of an installer, so its form is checked whoever set it.
    fn versions(&mut self, document: &Node) {
        for scanner in document.get("scanners").map(Node::entries).unwrap_or_default() {
            for node in [
                scanner.value.get("tool_version"),
                scanner.value.at_path(&["options", "tool_version"]),
            ]
            .into_iter()
            .flatten()
            {
                let text = node.text().unwrap_or_default();
                let (good, form) = if same_key(&scanner.key, "opengrep") {
                    (is_release_tag(text), "a release tag such as v1.30.2")
                } else {
                    (is_specifier(text), "a version specifier such as >=1.7.0,<2.0.0")
                };
                self.require(good, node, &format!("scanners.{}.tool_version", scanner.key), form);
            }
        }
    }

    fn note(&mut self, notice: Notice, at: At) {
        if self.notices.len() < KEPT {
            let file = self.file(at);
            // Keys and names are the file's own words.
            let hint = notice.hint.as_deref().map(safe);
            self.notices.push(Notice {
                key: safe(&notice.key),
                file,
                reason: safe(&notice.reason),
                hint,
            });
        }
    }

    fn file(&self, at: At) -> Option<String> {
        self.sources
            .get(at.source)
            .map(|source| ash_model::path::printable(std::ffi::OsStr::new(&source.name)))
    }
}

/// Whether a value leaves things as they are: nothing, the default, or an empty list or section.
pub(crate) fn says_nothing(node: &Node, field: &Field) -> bool {
    match &node.kind {
        Kind::Null => true,
        Kind::List(items) if items.is_empty() => true,
        Kind::Map(entries) if entries.is_empty() => true,
        kind => {
            let default = crate::yaml::parse(field.default, 0).map(|default| default.kind);
            let default_bool = matches!(default, Ok(Kind::Bool(_)));
            let is_same_bool = || {
                as_bool(node)
                    == default
                        .as_ref()
                        .ok()
                        .and_then(|kind| as_bool(&Node::new(kind.clone(), node.at)))
            };
            default.as_ref().is_ok_and(|default| default == kind)
                || (default_bool && is_same_bool())
        }
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

fn words(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

fn bounds(what: &str, least: i64, most: i64) -> String {
    if most == i64::MAX {
        format!("{what} of at least {least}")
    } else {
        format!("{what} from {least} to {most}")
    }
}

/// A value for a message: short texts as they are.
fn shown(node: &Node) -> String {
    match &node.kind {
        Kind::Text(text) if text.chars().count() <= 40 => format!("`{text}`"),
        Kind::Bool(value) => format!("`{value}`"),
        Kind::Int(value) => format!("`{value}`"),
        Kind::Float(value) => format!("`{value}`"),
        _ => node.kind_name().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> (Vec<String>, Vec<String>) {
        let mut sources = Sources::default();
        let source = sources.add("c.yaml".to_owned(), None, text.to_owned());
        let node = crate::yaml::parse(text, source).unwrap();
        let mut checker = Checker {
            sources: &sources,
            known_scanners: &["mine", "bandit"],
            mistakes: vec![],
            notices: vec![],
        };
        checker.document(&node);
        let mistakes = checker.mistakes.iter().map(Mistake::to_string).collect();
        (mistakes, checker.notices.iter().map(Notice::line).collect())
    }

    #[test]
    fn all_mistakes_are_reported_in_one_run() {
        let text = "fail_on_finding: true\nglobal_settings:\n  severity_threshold: medium\n  fail_on_findings: false\n  suppressions:\n  - {path: a, line_start: 5, line_end: 4}\nsandbox:\n  mode: bwarp\n  network_scanners: grype\n  nework_scanners: []\n";
        let expected = [
            "c.yaml:1:1: `fail_on_finding` is not a key at the top level; did you mean `fail_on_findings`?",
            "c.yaml:3:23: `global_settings.severity_threshold` must be one of `ALL`, `LOW`, `MEDIUM`, `HIGH`, `CRITICAL`, not `medium`; did you mean `MEDIUM`?",
            "c.yaml:4:3: `fail_on_findings` is not a key in `global_settings`; it belongs at the top level",
            "c.yaml:6:5: `global_settings.suppressions[0]` needs `reason`",
            "c.yaml:6:5: `global_settings.suppressions[0]` ends before it starts: `line_end` is less than `line_start`",
            "c.yaml:8:9: `sandbox.mode` must be one of `off`, `auto`, `bwrap`, `firejail`, `landlock`, `sandbox-exec`, `gvisor`, not `bwarp`; did you mean `bwrap`?",
            "c.yaml:9:21: `sandbox.network_scanners` must be a list, not `grype`; write `[grype]`",
            "c.yaml:10:3: `nework_scanners` is not a key in `sandbox`; did you mean `network_scanners`?",
        ];
        assert_eq!(check(text).0, expected);
    }

    #[test]
    fn unknown_plugins_and_options_are_notices() {
        let text = "scanners:\n  mine: {options: {x: 1}}\n  bandti: {enabled: no}\n  bandit: {options: {confidnece_level: all, scan-timeout: 5}}\nsandbox: {network_scanners: [gripe]}\n";
        let (mistakes, notices) = check(text);
        assert_eq!(mistakes, [""; 0]);
        assert_eq!(
            notices,
            [
                "scanners.bandti from c.yaml: ash has no scanner named `bandti`; did you mean `bandit`?",
                "scanners.bandit.options.confidnece_level from c.yaml: no version of this plugin has this option, so it does nothing; did you mean `confidence_level`?",
                "sandbox.network_scanners from c.yaml: ash has no scanner named `gripe`; did you mean `grype`?",
            ]
        );
    }

    #[test]
    fn what_this_version_does_not_do_is_said() {
        let text = "scanners:\n  grype: {options: {config_file: 1, confg: 2}}\n  trivy: {enabled: no}\n  bandit: {tool_version: '>=1', options: {excluded_paths: [{path: a, reason: b}], ignore_nosec: no}}\nreporters:\n  spdx: {enabled: true}\n  html: {enabled: false}\n  aggregated: {enabled: no}\n  markdown: {options: {compact: yes, include_summary: true, max_detailed_findings: 20}}\nconverters: {archive: {enabled: true}, jupyter: {enabled: false}}\ncontent_db_staleness: warn\nash_plugin_modules: []\nexternal_reports_to_include: [a.sarif]\nworkspace: {max_parallel_projects: 2}\nglobal_settings: {mcp: {runtime_overrides: {enabled: false}}}\n";
        let (mistakes, notices) = check(text);
        assert_eq!(mistakes.len(), 1, "{mistakes:?}");
        let expected = [
            "content_db_staleness",
            "external_reports_to_include",
            "workspace",
            "global_settings.mcp.runtime_overrides",
            "scanners.grype.options.confg",
            "scanners.grype",
            "scanners.bandit.tool_version",
            "scanners.bandit.options.excluded_paths",
            "reporters.spdx",
            "reporters.aggregated.enabled",
            "reporters.markdown.options.compact",
            "converters.archive",
        ];
        let mut keys: Vec<&str> =
            notices.iter().map(|line| line.split(" from ").next().unwrap()).collect();
        let mut expected = expected.to_vec();
        keys.sort_unstable();
        expected.sort_unstable();
        assert_eq!(keys, expected);
    }

    #[test]
    fn every_value_form_is_checked() {
        for good in [
            "sandbox: {mode: off, network_scanners: null}",
            "sandbox: {network-scanners: []}",
            "fail_on_findings: no",
            "scanners: {bandit: {options: {scan_timeout: null}}}",
            "scanners:",
            "mcp_resource_management: {max_concurrent_scans: 3}",
            "scanners: {bandit: {tool_version: '>=1.7.0,<2'}}",
            "workspace: {project_timeout: 1.5}",
            "content_db_staleness_overrides: [{database: d, policy: warn, expiration: 2028-02-29, reason: r}]",
        ] {
            assert_eq!(check(good).0, [""; 0], "{good}");
        }
        for bad in [
            "sandbox: {mode: }",
            "sandbox: {mode: false}",
            "sandbox: {mode: Off}",
            "sandbox: []",
            "sandbox: {network_scanners: [1]}",
            "sandbox: {network_scanners: [null]}",
            "fail_on_findings: maybe",
            "fail_on_findings: 2",
            "project_name: 1",
            "scanners: [bandit]",
            "scanners: {bandit: true}",
            "scanners: {bandit: {options: [x]}}",
            "scanners: {bandit: {tool_version: '1 --index-url http://x'}}",
            "scanners: {opengrep: {tool_version: '../x'}}",
            "scanners: {bandit: {options: {scan_timeout: 0}}}",
            "scanners: {bandit: {options: {scan_timeout: x}}}",
            "workspace: {max_parallel_projects: 0}",
            "global_settings: {ignore_paths: [{path: a}]}",
            "global_settings: {suppressions: [{path: a, reason: r, expiration: 2027-02-29}]}",
            "mcp-resource-management: {nope: 1}",
        ] {
            assert_eq!(check(bad).0.len(), 1, "{bad}: {:?}", check(bad).0);
        }
    }
}
