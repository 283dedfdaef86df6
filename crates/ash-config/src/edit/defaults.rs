//! The configuration file that says every default.

use serde_json::Value;

use super::write::{self, Language};
use crate::schema;

/// The text of a new configuration file. It means the same as no file at all, apart from the project's name.
pub fn default_text(project_name: &str, scanners: &[&str], reporters: &[(&str, bool)]) -> String {
    let name = write::inline(&Value::from(project_name), Language::Yaml, false);
    let modes = schema::MODES.join(", ");
    let mut text = format!(
        "\
# `ash config schema` prints what editors can complete and check this file with; `ash config schema --help` says how.
# Every value here is the default. `ash config get` shows what a scan would use, `ash config lint` what could be better.
project_name: {name}

# Exit code 2 when there are findings at or above the threshold.
fail_on_findings: true
# Exit code 1 when a scanner did not run, or not over everything.
fail_on_incomplete_scanners: true
# What a vulnerability database does that is too old: fail or warn.
content_db_staleness: fail
content_db_staleness_overrides: []

global_settings:
  # The least severity that fails a scan: ALL, LOW, MEDIUM, HIGH or CRITICAL.
  severity_threshold: MEDIUM
  # Findings in these files are dropped.
  # - {{path: 'vendor/**', reason: not ours}}
  ignore_paths: []
  # Findings that are shown and do not count.
  # - {{path: 'src/hash.py', rule_id: B303, line_start: 10, line_end: 12, reason: no secret, expiration: '2030-12-31'}}
  suppressions: []

# Scanners run in an OS sandbox when the mode is not off: {modes}.
# A file inside the scanned tree can turn the sandbox on and take network access away. It cannot grant anything.
sandbox:
  mode: off
  network_scanners: null
  extra_read_paths: []

# Modules of the Python tool. ash loads no code of others: only one whose scanners are built in here may be named.
ash_plugin_modules: []
# Reports of other tools; this version merges none.
external_reports_to_include: []

# A scan_timeout is in seconds; a severity_threshold of null means the global one.
scanners:
"
    );
    for name in scanners {
        text.push_str(&format!(
            "  {name}:\n    enabled: true\n    options:\n      severity_threshold: null\n      scan_timeout: {}\n",
            schema::SCAN_TIMEOUT
        ));
    }
    text.push_str("\nreporters:\n");
    for (name, enabled) in reporters {
        text.push_str(&format!("  {name}:\n    enabled: {enabled}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::edit::lint::{Lint, lint};

    #[test]
    fn the_default_file_has_nothing_to_put_right() {
        for name in ["demo", "x: # y", "'", "no"] {
            let text =
                default_text(name, &["bandit", "semgrep"], &[("sarif", true), ("spdx", false)]);
            let node = crate::yaml::parse(&text, 0).unwrap();
            assert_eq!(node.get("project_name").and_then(crate::tree::Node::text), Some(name));
            let options = Lint {
                file: Path::new(".ash.yaml"),
                known_scanners: &[],
                today: "2026-01-01",
                is_directory: &|_| false,
                unused: &[],
            };
            assert!(lint(&text, &options).is_empty(), "{:?}", lint(&text, &options));
        }
    }
}
