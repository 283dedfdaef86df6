//! The JSON Schema of a configuration, and the list of its keys in `docs/configuration.md`.

use std::fmt::Write as _;

use ash_config::{Key, json_schema, keys};

use super::{code, table};

/// Where the list stands in the page.
const FROM: &str = "<!-- The keys: made by `cargo xtask gen`. Do not edit from here. -->\n";
const TO: &str = "<!-- To here. -->\n";

/// The schema as a file.
pub(super) fn schema() -> String {
    format!("{:#}\n", json_schema())
}

/// The page with a new list in it; one without its marks is not touched.
pub(super) fn page(old: &str) -> String {
    match (old.split_once(FROM), old.split_once(TO)) {
        (Some((before, _)), Some((_, after))) => {
            format!("{before}{FROM}\n{}\n{TO}{after}", lists())
        }
        _ => old.to_owned(),
    }
}

/// The parts of the list: a heading, and the beginning of the paths below it.
const PARTS: &[(&str, &str)] = &[
    ("Top level", ""),
    ("`global_settings`", "global_settings."),
    ("`sandbox`", "sandbox."),
    ("`scanners`", "scanners."),
    ("`reporters`", "reporters."),
    ("`converters`", "converters."),
    ("`patch`", "patch[]."),
    ("`content_db_staleness_overrides`", "content_db_staleness_overrides[]."),
    ("`workspace`", "workspace."),
    ("`mcp-resource-management`", "mcp-resource-management."),
];

fn lists() -> String {
    let keys = keys();
    let mut text = String::new();
    for (heading, start) in PARTS {
        let mine = keys.iter().filter(|key| match key.path.strip_prefix(start) {
            Some(rest) => !start.is_empty() || !rest.contains('.'),
            None => false,
        });
        let rows = mine.map(|key| row(key, start));
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "### {heading}\n\n{}\n",
            table(&["key", "takes", "default", "what it is for"], rows)
        );
    }
    text.trim_end().to_owned() + "\n"
}

fn row(key: &Key, start: &str) -> Vec<String> {
    let name = key.path.strip_prefix(start).unwrap_or(&key.path);
    let about = match &key.without_effect {
        Some(instead) if key.about.is_empty() => format!("No effect: {instead}."),
        Some(instead) => format!("{} No effect: {instead}.", key.about),
        None => key.about.clone(),
    };
    let default = if key.required { "required".to_owned() } else { code(&key.default) };
    vec![code(name), key.takes.clone(), default, about]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_in_one_part() {
        let text = lists();
        for key in keys() {
            let parts = PARTS.iter().filter(|(_, start)| match start.is_empty() {
                true => !key.path.contains('.'),
                false => key.path.starts_with(start),
            });
            assert_eq!(parts.count(), 1, "{}", key.path);
        }
        assert!(
            text.contains("| `bandit.options.ignore_nosec` | true or false | `false` |"),
            "{text}"
        );
    }
}
