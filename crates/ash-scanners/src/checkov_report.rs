//! checkov's own JSON report: which files it could not parse, and where it looked at something.
//!
//! Its report for people says the first of these too, but the scanned tree has a say in that text: a line break in a file name or in the
//! name of a resource makes lines of it. The SARIF report says neither.

use std::{collections::HashMap, path::Path};

use ash_model::path::RelPath;
use serde::{Deserialize, de::DeserializeOwned};

use crate::{
    InterpretError, Site, manifests,
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
    passed_checks: Option<Vec<Check>>,
    failed_checks: Vec<Check>,
    skipped_checks: Option<Vec<Check>>,
}

#[derive(Debug, Deserialize)]
struct Check {
    file_abs_path: Option<String>,
    file_line_range: Option<Vec<Option<i64>>>,
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
    /// What two runs say together.
    pub(crate) fn append(&mut self, mut other: Self) {
        self.0.append(&mut other.0);
    }

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

    /// Workloads and Dockerfiles of the scan set about which checkov says nothing, not even that all is well, since one of its loaders gave
    /// them up without a word; and, apart from those, templates of manifests, which it does not fill in.
    pub(crate) fn not_looked_at(
        &self,
        site: &Site<'_>,
        renamed: &Renamed,
        is_on: impl Fn(&str) -> bool,
    ) -> (Vec<String>, Vec<RelPath>) {
        let mut missed = vec![];
        let mut templates = vec![];
        if is_on("kubernetes") {
            let lines = self.first_lines(site, renamed, "kubernetes");
            for file in site.files {
                let known = lines.get(file).map_or(&[][..], Vec::as_slice);
                let documents = manifests::workloads(site, file).into_iter();
                let mut missing = documents
                    .filter(|document| {
                        !known.iter().any(|line| {
                            (document.first..=document.last).contains(&(line - document.shift))
                        })
                    })
                    .peekable();
                if missing.peek().is_none() {
                    continue;
                }
                match missing.find(|document| !document.is_template) {
                    Some(document) => missed.push(format!(
                        "{file}: checkov says nothing about the manifest at line {}",
                        document.first
                    )),
                    None => templates.push(file.clone()),
                }
            }
        }
        if is_on("dockerfile") {
            let lines = self.first_lines(site, renamed, "dockerfile");
            let left_out = site
                .files
                .iter()
                .filter(|file| !lines.contains_key(*file) && manifests::is_dockerfile(site, file));
            missed.extend(
                left_out.map(|file| format!("{file}: checkov says nothing about this Dockerfile")),
            );
        }
        (missed, templates)
    }

    /// The first line of all that a framework looked at, whatever came of it, by file.
    fn first_lines(
        &self,
        site: &Site<'_>,
        renamed: &Renamed,
        framework: &str,
    ) -> HashMap<RelPath, Vec<i64>> {
        let mut lines: HashMap<RelPath, Vec<i64>> = HashMap::new();
        for framework in self.0.iter().filter(|own| own.check_type == framework) {
            let Results { passed_checks, failed_checks, skipped_checks, .. } = &framework.results;
            let others = [passed_checks, skipped_checks].into_iter().flatten().flatten();
            for check in failed_checks.iter().chain(others) {
                let file =
                    check.file_abs_path.as_deref().and_then(|path| file(site, renamed, path));
                if let (Some(file), Some([Some(first), ..])) =
                    (file, check.file_line_range.as_deref())
                {
                    let own = lines.entry(file).or_default();
                    // Dozens of rules look at one thing.
                    if !own.contains(first) {
                        own.push(*first);
                    }
                }
            }
        }
        lines
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
