//! checkov's own JSON report: which files it could not parse.
//!
//! Its report for people says so too, but the scanned tree has a say in that text: a line break in a file name or in the name of a
//! resource makes lines of it. The SARIF report does not say it.

use std::path::Path;

use ash_model::path::RelPath;
use serde::{
    Deserialize,
    de::{DeserializeOwned, IgnoredAny},
};

use crate::{
    InterpretError, Site,
    outcome::{quoted, without_lone_surrogates},
    renamed::Renamed,
};

/// What checkov's frameworks did, one entry for each that had something to say.
#[derive(Debug, Default)]
pub(crate) struct Report(Vec<Framework>);

#[derive(Debug, Deserialize)]
struct Framework {
    check_type: String,
    results: Results,
}

/// A configuration file of the operator with `quiet` leaves all but the failed checks out.
#[derive(Debug, Deserialize)]
struct Results {
    parsing_errors: Option<Vec<String>>,
    #[serde(rename = "failed_checks")]
    _failed_checks: Vec<IgnoredAny>,
}

/// What stands in the file when no framework has anything to say.
#[derive(Deserialize)]
struct Nothing {
    #[serde(rename = "passed")]
    _passed: u64,
    #[serde(rename = "parsing_errors")]
    _parsing_errors: u64,
}

impl Report {
    /// Parses the report: a list of frameworks, one framework alone, or a summary when there is none.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, InterpretError> {
        let bytes = without_lone_surrogates(bytes);
        if bytes.trim_ascii_start().starts_with(b"[") {
            return read(&bytes).map(Self);
        }
        match read::<Nothing>(&bytes) {
            Ok(_) => Ok(Self::default()),
            Err(_) => read(&bytes).map(|framework| Self(vec![framework])),
        }
    }

    /// Whether it was told to leave out the very things that are asked for here.
    pub(crate) fn is_quiet(&self) -> bool {
        self.0.iter().any(|framework| framework.results.parsing_errors.is_none())
    }

    /// Files of the scan set that could not be parsed, each with the framework that says so.
    ///
    /// The Terraform plan framework tries every JSON file, so what it cannot parse means nothing.
    pub(crate) fn not_parsed(&self, site: &Site<'_>, renamed: &Renamed) -> Vec<String> {
        let mut found = vec![];
        for framework in self.0.iter().filter(|framework| framework.check_type != "terraform_plan")
        {
            for path in framework.results.parsing_errors.iter().flatten() {
                if let Some(file) = file(site, renamed, path) {
                    found.push(format!(
                        "{file}: checkov cannot parse it as {}",
                        quoted(&framework.check_type)
                    ));
                }
            }
        }
        found.sort();
        found.dedup();
        found
    }
}

/// The file of the scan set that a path of the report means.
fn file(site: &Site<'_>, renamed: &Renamed, path: &str) -> Option<RelPath> {
    let path = Path::new("/").join(path);
    let below = || RelPath::new(path.strip_prefix(site.source).ok()?).ok();
    let file = renamed.original(site.results, &path).cloned().or_else(below)?;
    site.files.binary_search(&file).is_ok().then_some(file)
}

fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, InterpretError> {
    serde_json::from_slice(bytes).map_err(|error| {
        InterpretError(format!(
            "checkov wrote results ash cannot use: {}",
            quoted(&error.to_string())
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_framework_a_list_and_none_are_reports_and_nothing_else_is() {
        let one = r#"{"check_type": "arm", "results": {"failed_checks": []}}"#;
        for (text, frameworks) in [
            (one.to_owned(), 1),
            (format!(" [{one}, {one}]"), 2),
            (
                r#"{"passed": 0, "failed": 0, "parsing_errors": 0, "checkov_version": "3"}"#
                    .to_owned(),
                0,
            ),
        ] {
            assert_eq!(Report::parse(text.as_bytes()).unwrap().0.len(), frameworks, "{text}");
        }
        for text in [
            "",
            "{}",
            "null",
            "[{}]",
            r#"{"passed": 1}"#,
            r#"{"check_type": "arm", "results": {}}"#,
        ] {
            assert!(Report::parse(text.as_bytes()).is_err(), "{text}");
        }
    }
}
