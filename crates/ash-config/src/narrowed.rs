//! Options by which the scanned tree decides what a scanner looks for or reports. It may, and they are obeyed; each scanner's are said.

use std::collections::BTreeSet;

use ash_model::notice::Notice;

use crate::{
    schema::{Field, Narrows, SCANNERS},
    tree::{Entry, Kind, Node, Sources, same_key},
    trust, yaml,
};

/// One notice, by the scanner's name, for each scanner of which a configuration with a part in the tree sets such options, unless the
/// operator sets the same.
pub(crate) fn by_tree(
    document: &Node,
    operators: &Node,
    known_scanners: &[&str],
    sources: &Sources,
) -> Vec<(String, Notice)> {
    let scanners = document.get("scanners").map(Node::entries).unwrap_or_default();
    let of_scanner = |entry: &Entry| {
        let name = known_scanners.iter().find(|name| same_key(name, &entry.key))?;
        let options = entry.value.get("options")?;
        let own = operators.at_path(&["scanners", name, "options"]);
        let fields = SCANNERS.options_of(name)?;
        let set: Vec<(&Field, &Node)> = fields
            .iter()
            .filter_map(|field| Some((field, options.get(field.key)?)))
            .filter(|(field, value)| may_narrow(field, value))
            .filter(|(field, value)| {
                let own = own.and_then(|own| own.get(field.key));
                own.is_none_or(|own| own.to_value() != value.to_value())
            })
            .collect();
        let (_, first) = set.first()?;
        let keys: Vec<String> = set.iter().map(|(field, _)| format!("`{}`", field.key)).collect();
        let decides = if keys.len() == 1 { "decides" } else { "decide" };
        let mut reason = format!(
            "{}, set by the scanned tree, {decides} what this scanner looks for or reports",
            keys.join(", ")
        );
        // What a base of the file sets is in another file.
        let files: BTreeSet<String> =
            set.iter().filter_map(|(_, value)| trust::file_of(sources, value)).collect();
        if files.len() > 1 {
            let files: Vec<String> = files.iter().map(|file| format!("`{file}`")).collect();
            reason += &format!(" ({})", files.join(", "));
        }
        let file = trust::file_of(sources, first);
        let notice = Notice { file, ..Notice::new(format!("scanners.{name}.options"), reason) };
        let notice = notice.hint("`--config FILE` with a file of your own replaces it");
        Some(((*name).to_owned(), notice))
    };
    scanners.iter().filter_map(of_scanner).collect()
}

/// Whether a value may take something out. Nothing, an empty list or section, and what holds anyway do not.
fn may_narrow(field: &Field, value: &Node) -> bool {
    if field.narrows != Narrows::Yes {
        return false;
    }
    let is_empty = match &value.kind {
        Kind::Null => true,
        Kind::List(items) => items.is_empty(),
        Kind::Map(entries) => entries.is_empty(),
        _ => false,
    };
    let default = yaml::parse(field.default, 0).map(|default| default.to_value()).ok();
    let as_list = default.clone().map(|default| serde_json::json!([default]));
    let value = Some(value.to_value());
    !is_empty && value != default && value != as_list
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;
    use crate::{
        load::{Loaded, Request, load},
        schema::Shape,
    };

    /// The outcome of a load on a checkout `repo`, with these files and overrides.
    fn loaded(
        files: &[(&str, &str)],
        config: Option<&str>,
        overrides: &[&str],
        scanners: &[&str],
    ) -> Loaded {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("repo/.git")).unwrap();
        for (path, text) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let request = Request {
            source: dir.path().join("repo"),
            config: config.map(|path| dir.path().join(path)),
            ash_config_env: None,
            overrides: overrides.iter().map(|text| (*text).to_owned()).collect(),
            sandbox_flag: None,
            cwd: dir.path().to_owned(),
            pwd_env: None,
            home: None,
            env: &|_| None,
            known_scanners: scanners,
            workspace: None,
            identify: None,
        };
        load(&request).unwrap()
    }

    /// What is said of a scanner's options: the name of the file and the reason.
    fn said(found: &Loaded, scanner: &str) -> Option<(String, String)> {
        let notice = found.settings.scanners.get(scanner)?.narrowed.as_ref()?;
        assert_eq!(notice.key, format!("scanners.{scanner}.options"));
        let file = Path::new(notice.file.as_deref().unwrap()).file_name().unwrap();
        Some((file.to_string_lossy().into_owned(), notice.reason.clone()))
    }

    /// A value of a shape that is not the default, as YAML.
    fn other_than(default: &str, shape: &Shape) -> String {
        match shape {
            Shape::Bool => (default != "true").to_string(),
            Shape::Choice(words) => {
                (*words.iter().find(|word| **word != default).unwrap()).to_owned()
            }
            Shape::Int(..) | Shape::Number(..) => "7".to_owned(),
            Shape::List(item) | Shape::OneOrMore(item) => format!("[{}]", other_than("", item)),
            Shape::Text | Shape::Pattern | Shape::Any => "x".to_owned(),
            Shape::Date | Shape::Section(_) | Shape::Named(_) => panic!("no option has this shape"),
        }
    }

    #[test]
    fn every_option_of_every_scanner_is_declared_and_said_if_it_narrows() {
        let scanners = SCANNERS.known;
        let mut seen = 0;
        for scanner in scanners {
            for field in SCANNERS.options_of(scanner).unwrap() {
                let what = format!("{scanner}.options.{}", field.key);
                assert_ne!(field.narrows, Narrows::Undeclared, "{what}: does it narrow the scan?");
                if field.instead.is_some() {
                    continue;
                }
                let value = other_than(field.default, &field.shape);
                let text =
                    format!("scanners: {{{scanner}: {{options: {{{}: {value}}}}}}}", field.key);
                let found = loaded(&[("repo/.ash.yaml", &text)], None, &[], scanners);
                let named = format!("`{}`", field.key);
                let own = said(&found, scanner);
                // Some a tree may not set at all, which is said as well.
                let is_refused =
                    found.notices.iter().any(|notice| notice.key == format!("scanners.{what}"));
                match field.narrows {
                    Narrows::Yes if is_refused => assert_eq!(own, None, "{what}: {value}"),
                    Narrows::Yes => {
                        let (_, reason) =
                            own.unwrap_or_else(|| panic!("{what}: {value} is not said"));
                        assert!(reason.contains(&named), "{reason}");
                        seen += 1;
                    }
                    _ => assert_eq!(own, None, "{what}: {value}"),
                }
                // The controls: the same in a file of the operator, and as an override.
                let ops = loaded(&[("ops/c.yaml", &text)], Some("ops/c.yaml"), &[], scanners);
                assert_eq!(said(&ops, scanner), None, "{what}");
                let typed = format!("scanners.{what}={value}");
                assert_eq!(said(&loaded(&[], None, &[&typed], scanners), scanner), None, "{what}");
                let both = loaded(&[("repo/.ash.yaml", &text)], None, &[&typed], scanners);
                assert_eq!(said(&both, scanner), None, "{what}: the operator says it too");
            }
        }
        assert!(seen >= 20, "{seen}");
    }

    #[test]
    fn a_scanner_has_one_notice_with_all_its_options_and_their_files() {
        let files = [
            (
                "repo/.ash.yaml",
                "extends: base.yaml\nscanners: {cfn_lint: {options: {ignore-checks: [E], regions: []}}, checkov: {options: {frameworks: [all]}}, bandit: {options: {confidence_level: all}}, gone: {options: {exclude: [x]}}}",
            ),
            (
                "repo/base.yaml",
                "scanners: {semgrep: {options: {config: p/ci, exclude_rule: [x], exclude: ['*-converted.py']}}, cfn-lint: {options: {regions: [x]}}}",
            ),
        ];
        let scanners = ["bandit", "cfn-lint", "checkov", "semgrep"];
        let found = loaded(&files, None, &[], &scanners);
        let reason = |what: &str| format!("{what} what this scanner looks for or reports");
        let one = reason("`ignore_checks`, set by the scanned tree, decides");
        assert_eq!(said(&found, "cfn-lint"), Some((".ash.yaml".to_owned(), one)));
        let two = reason("`exclude`, `exclude_rule`, set by the scanned tree, decide");
        assert_eq!(said(&found, "semgrep"), Some(("base.yaml".to_owned(), two)));
        for quiet in ["bandit", "checkov", "gone"] {
            assert_eq!(said(&found, quiet), None, "what holds anyway, or does nothing");
        }
        let over = "scanners.semgrep.options.exclude+=[y]";
        let found = loaded(&files, None, &[over], &scanners);
        assert!(
            said(&found, "semgrep").unwrap().1.contains("`exclude`, "),
            "the rest is the tree's"
        );
    }
}
