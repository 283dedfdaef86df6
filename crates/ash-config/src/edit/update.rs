//! `KEY.PATH=VALUE` written into a configuration text.

use std::path::Path;

use serde_json::Value;

use super::{
    editor::Editor,
    path::{self, Edit, Step},
    write::Language,
};
use crate::{
    documents::Document,
    error::{ConfigErrors, Mistake},
    formats::{self, Format},
    overrides,
    tree::{At, Entry, Kind, Node, Sources},
    validate::Checker,
};

/// Why a text is not updated. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum UpdateError {
    /// It is in a format that is not edited.
    #[error("`{0}` is TOML, and ash edits only YAML and JSON")]
    Toml(String),
    /// Its values come from other files too.
    #[error("`{file}` uses `{key}`, so a value may belong in another place than this file")]
    Composed {
        /// The file.
        file: String,
        /// `extends` or `patch`.
        key: &'static str,
    },
    /// A `KEY=VALUE` does not apply here.
    #[error("`{set}` cannot be written: {reason}")]
    Set {
        /// As typed.
        set: String,
        /// Why.
        reason: String,
    },
    /// The text or a `KEY=VALUE` does not parse, or the new text would be wrong where the old one was not.
    #[error("{0}")]
    Wrong(ConfigErrors),
}

/// The text with every `KEY.PATH=VALUE` and `KEY.PATH+=VALUE` written into it, comments and order kept.
///
/// # Errors
/// When one of them cannot be written, or the result would have a mistake that the text has not.
pub fn update(
    file: &Path,
    text: &str,
    sets: &[String],
    known_scanners: &[&str],
) -> Result<String, UpdateError> {
    let name = file.display().to_string();
    let language = language(file).ok_or_else(|| UpdateError::Toml(shown(&name)))?;
    let (before, document) =
        mistakes(&name, text, language, known_scanners).map_err(UpdateError::Wrong)?;
    if let Some(key) = ["extends", "patch"].into_iter().find(|key| document.get(key).is_some()) {
        return Err(UpdateError::Composed { file: shown(&name), key });
    }
    let mut editor = Editor::new(text, language);
    for set in sets {
        let edits = edits(set).map_err(|mistake| UpdateError::Wrong(mistake.into()))?;
        for edit in edits {
            editor
                .apply(&[edit])
                .map_err(|error| UpdateError::Set { set: shown(set), reason: error.to_string() })?;
        }
    }
    let text = editor.text();
    let (after, _) =
        mistakes(&name, &text, language, known_scanners).map_err(UpdateError::Wrong)?;
    let is_new = |mistake: &Mistake| !before.iter().any(|known| known.message == mistake.message);
    let new: Vec<Mistake> = after.into_iter().filter(is_new).collect();
    if new.is_empty() { Ok(text) } else { Err(UpdateError::Wrong(ConfigErrors(new))) }
}

/// The language a file is edited in; `None`: it is not edited.
pub(crate) fn language(file: &Path) -> Option<Language> {
    match Format::of(file) {
        Format::Yaml => Some(Language::Yaml),
        Format::Json => Some(Language::Json),
        Format::Toml | Format::Pyproject => None,
    }
}

fn shown(text: &str) -> String {
    ash_model::path::printable(text.as_ref())
}

/// What is wrong with a text, and the text read.
fn mistakes(
    name: &str,
    text: &str,
    language: Language,
    known_scanners: &[&str],
) -> Result<(Vec<Mistake>, Node), ConfigErrors> {
    let mut sources = Sources::default();
    let source = sources.add(name.to_owned(), None, text.to_owned());
    let format = if language == Language::Json { Format::Json } else { Format::Yaml };
    let document = formats::parse(format, text, source).map_err(|error| {
        let message = format!("the configuration does not parse: {}", error.message);
        ConfigErrors::from(Mistake::at(&sources, error.at, message))
    })?;
    let document =
        document.filter(|node| !node.is_null()).unwrap_or_else(|| Document::empty().node);
    let mut checker =
        Checker { sources: &sources, known_scanners, mistakes: Vec::new(), notices: Vec::new() };
    checker.document(&document);
    Ok((checker.mistakes, document))
}

/// What one `KEY=VALUE` comes to.
fn edits(set: &str) -> Result<Vec<Edit>, Mistake> {
    let mut sources = Sources::default();
    let parsed = overrides::parse(set, &mut sources)?;
    let mut made = Node::empty_map(At::default());
    parsed.apply(&mut made, &sources)?;
    let left = set.split('=').next().unwrap_or_default();
    let appends = left.ends_with('+');
    let path: Vec<Step> = path::keys(left.trim_end_matches('+'))
        .into_iter()
        .map(|step| match step {
            Step::Key(key) => Step::Key(key.trim().to_owned()),
            step @ Step::Item(_) => step,
        })
        .collect();
    // The override was applied to nothing, so its value is all there is.
    let mut value = &made;
    for _ in &path {
        if let Kind::Map(entries) = &value.kind
            && let [Entry { value: below, .. }] = entries.as_slice()
        {
            value = below;
        }
    }
    Ok(match value.to_value() {
        Value::Array(items) if appends => {
            items.into_iter().map(|item| Edit::Append(path.clone(), item)).collect()
        }
        value => vec![Edit::Set(path, value)],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn updated(file: &str, text: &str, sets: &[&str]) -> Result<String, String> {
        let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
        update(Path::new(file), text, &sets, &[]).map_err(|error| error.to_string())
    }

    #[test]
    fn values_are_typed_and_appended_as_in_overrides() {
        let text = "# c\nscanners:\n  bandit: # b\n    enabled: true\nash_plugin_modules: [a_ash_plugins]\n";
        let sets = [
            "scanners.bandit.enabled=false",
            "scanners.bandit.options={\"scan_timeout\": 60}",
            "ash-plugin-modules+=[b_ash_plugins, c_ash_plugins]",
            "global_settings.severity_threshold=HIGH",
            "project_name=null",
        ];
        let expected = "# c\nscanners:\n  bandit: # b\n    enabled: false\n    options:\n      scan_timeout: 60\nash_plugin_modules: [a_ash_plugins, b_ash_plugins, c_ash_plugins]\nglobal_settings:\n  severity_threshold: HIGH\nproject_name: null\n";
        assert_eq!(updated("a.yaml", text, &sets).unwrap(), expected);
    }

    #[test]
    fn json_stays_json() {
        let text = "{\n  \"project_name\": \"x\",\n  \"scanners\": {}\n}\n";
        let done =
            updated("a.json", text, &["scanners.bandit.enabled=true", "fail_on_findings=false"]);
        assert_eq!(
            done.unwrap(),
            "{\n  \"project_name\": \"x\",\n  \"scanners\": {\"bandit\": {\"enabled\":true}},\n  \"fail_on_findings\": false\n}\n"
        );
    }

    #[test]
    fn what_would_make_the_file_wrong_is_refused() {
        for (file, text, set, reason) in [
            ("a.yaml", "a: [", "project_name=x", "does not parse"),
            ("a.yaml", "{}", "global_settings.severity_threshold=high", "did you mean `HIGH`"),
            ("a.yaml", "{}", "nothing", "sets nothing"),
            ("a.yaml", "project_name: x", "project_name.y=1", "`project_name` is not a section"),
            ("pyproject.toml", "[tool.ash]\n", "project_name=x", "is TOML"),
            ("a.yaml", "extends: b.yaml\n", "project_name=x", "uses `extends`"),
            ("a.yaml", "patch: [{op: remove, path: /a}]\n", "project_name=x", "uses `patch`"),
        ] {
            let error = updated(file, text, &[set]).unwrap_err();
            assert!(error.contains(reason), "{set}: {error}");
        }
        // A mistake that was there before is no reason to refuse.
        assert!(updated("a.yaml", "unknown: 1\n", &["project_name=x"]).is_ok());
    }
}
