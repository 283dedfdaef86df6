//! The last scan's report of suppressions that suppressed nothing.

use std::{path::PathBuf, time::SystemTime};

use ash_config::{SuppressionRule, edit::ConfigFile};
use ash_engine::scan::default_output;
use serde_json::Value;

use super::file::shown;
use crate::{
    commands::shared::{absolute, current_dir},
    environment::Environment,
    error::CommandError,
};

const REPORT: &str = "reports/ash.unused-suppressions.json";
/// A report older than this may be about other code.
const OLD: u64 = 60 * 60;

/// What the report says.
#[derive(Debug, Default)]
pub(super) struct Unused {
    /// The ids of the suppressions.
    pub(super) ids: Vec<String>,
    /// What to know before acting on it.
    pub(super) warning: Option<String>,
}

/// Reads the report, if there is one. It is a file of the scanned tree: no link is followed, and it decides only what is proposed.
pub(super) fn unused(
    config_written: Option<SystemTime>,
    environment: &Environment,
) -> Result<Unused, CommandError> {
    let here = current_dir()?;
    let output = environment.get("ASH_OUTPUT_DIR").filter(|value| !value.is_empty());
    let output =
        output.map_or_else(|| Ok(default_output(&here)), |dir| absolute(&PathBuf::from(dir)))?;
    let path = output.join(REPORT);
    let read = ConfigFile::open(&path, &here, false).and_then(|file| file.read());
    let Ok(report) = read else {
        let warning = format!(
            "there is no `{}` to tell unused suppressions by; `ash scan` writes it",
            shown(&path)
        );
        return Ok(Unused { ids: Vec::new(), warning: Some(warning) });
    };
    let Ok(value) = serde_json::from_str::<Value>(&report.text) else {
        let warning = format!("`{}` cannot be read as JSON; scan again", shown(&path));
        return Ok(Unused { ids: Vec::new(), warning: Some(warning) });
    };
    let entries = value.get("unused_suppressions").and_then(Value::as_array);
    let ids = entries.into_iter().flatten().filter_map(id).collect();
    let age = report.modified.and_then(|written| SystemTime::now().duration_since(written).ok());
    let seconds = age.map(|age| age.as_secs()).unwrap_or_default();
    let is_older =
        config_written.zip(report.modified).is_some_and(|(config, report)| report < config);
    let warning = match (seconds > OLD, is_older) {
        (true, _) => Some(format!(
            "`{}` is {} old; scan again for a current one",
            shown(&path),
            duration(seconds)
        )),
        (false, true) => Some(format!(
            "`{}` is older than the configuration; scan again for a current one",
            shown(&path)
        )),
        (false, false) => None,
    };
    Ok(Unused { ids, warning })
}

/// A suppression's id, as the entry says it or made from its fields.
fn id(entry: &Value) -> Option<String> {
    let text = |key: &str| entry.get(key).and_then(Value::as_str).map(str::to_owned);
    let line = |key: &str| entry.get(key).and_then(Value::as_u64);
    if let Some(id) = text("id").or_else(|| entry.as_str().map(str::to_owned)) {
        return Some(id);
    }
    let rule = SuppressionRule {
        path: text("path")?,
        rule_id: text("rule_id"),
        line_start: line("line_start"),
        line_end: line("line_end"),
        ..SuppressionRule::default()
    };
    Some(rule.id())
}

fn duration(seconds: u64) -> String {
    let (count, unit) = match seconds / 3600 {
        0 => (seconds / 60, "minute"),
        hours @ 1..48 => (hours, "hour"),
        hours => (hours / 24, "day"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ids_are_read_or_made() {
        assert_eq!(id(&json!({"id": "a|*|*|*"})).as_deref(), Some("a|*|*|*"));
        assert_eq!(
            id(&json!({"path": "a", "rule_id": "R", "line_start": 2, "line_end": null})).as_deref(),
            Some("a|R|2|2")
        );
        assert_eq!(id(&json!("a|R|*|*")).as_deref(), Some("a|R|*|*"));
        assert_eq!(id(&json!({"reason": "x"})), None);
    }

    #[test]
    fn ages_are_said_shortly() {
        assert_eq!(duration(61), "1 minute");
        assert_eq!(duration(2 * 3600), "2 hours");
        assert_eq!(duration(3 * 24 * 3600), "3 days");
    }
}
