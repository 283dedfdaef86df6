//! The way from a tool's SARIF log to findings, for the scanners that write one.

use std::{borrow::Cow, path::PathBuf};

use ash_model::{finding::Finding, ids::ScannerId, severity::Severity};
use ash_sarif::{Converted, Log, SeverityFacts};
use serde_json::Value;

use crate::{
    InterpretError, Interpreted, Site,
    outcome::{quoted, without_lone_surrogates},
    renamed::Renamed,
};

/// How a tool spells the files it names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spelling {
    /// The plain path: a `%` in it is a `%`.
    Path,
    /// Percent-encoded and relative to `/`.
    UriFromRoot,
}

/// How one tool's log is read.
pub(crate) struct Reading<'a> {
    pub(crate) scanner: ScannerId,
    pub(crate) spelling: Spelling,
    /// The severity rule, where the common one does not fit.
    pub(crate) severity: &'a dyn Fn(&SeverityFacts<'_>) -> Option<Severity>,
    /// Copies the tool read in place of files whose names it cannot take.
    pub(crate) renamed: &'a Renamed,
}

/// Something a tool says went wrong.
pub(crate) struct Notification {
    pub(crate) level: String,
    pub(crate) text: String,
}

impl Reading<'_> {
    /// Parses a log. One without a run, with a run that lists no results, or that says it failed, is not a clean one.
    pub(crate) fn parse(&self, bytes: &[u8]) -> Result<Log, InterpretError> {
        let unusable = |why: &dyn std::fmt::Display| {
            InterpretError(format!("{} wrote results ash cannot use: {why}", self.scanner))
        };
        let log =
            ash_sarif::read(&without_lone_surrogates(bytes)).map_err(|error| unusable(&error))?;
        if log.runs.is_empty() {
            return Err(unusable(&"the sarif log has no run"));
        }
        if log.runs.iter().any(|run| run.results.is_none()) {
            return Err(unusable(&"the sarif log has a run without a list of results"));
        }
        let failed = |run: &ash_sarif::Run| {
            run.invocations.iter().flatten().any(|invocation| {
                invocation.get("executionSuccessful") == Some(&Value::Bool(false))
            })
        };
        if log.runs.iter().any(failed) {
            return Err(unusable(&"the log says that the run was not successful"));
        }
        Ok(log)
    }

    /// Turns a parsed log into findings with locations of the scanned tree.
    pub(crate) fn convert(&self, site: &Site<'_>, mut log: Log) -> Converted {
        for result in log.runs.iter_mut().flat_map(|run| run.results.iter_mut().flatten()) {
            for location in result.locations.iter_mut().flatten() {
                let artifact = location
                    .physical_location
                    .as_mut()
                    .and_then(|physical| physical.artifact_location.as_mut());
                if let Some(uri) = artifact.and_then(|artifact| artifact.uri.as_mut()) {
                    *uri = self.respell(site, uri);
                }
            }
            result.extra.values_mut().for_each(|value| self.respell_all(site, value));
        }
        let options = ash_sarif::Options {
            native_suppressions_count: true,
            severity: self.severity,
            ..ash_sarif::Options::new(&self.scanner, site.source)
        };
        ash_sarif::to_findings(log, &options)
    }

    /// A name as the tool wrote it, as a URI that means the same everywhere.
    fn respell(&self, site: &Site<'_>, name: &str) -> String {
        let uri: Cow<'_, str> = match self.spelling {
            Spelling::UriFromRoot => Cow::Owned(format!("/{}", name.trim_start_matches('/'))),
            Spelling::Path => {
                let name = name.replace('%', "%25");
                Cow::Owned(if name.starts_with('/') { name } else { format!("./{name}") })
            }
        };
        let plain = PathBuf::from(uri.strip_prefix("file://").unwrap_or(&uri));
        match self.renamed.original(site.results, &plain) {
            Some(original) => original.to_uri(),
            None => uri.into_owned(),
        }
    }

    fn respell_all(&self, site: &Site<'_>, value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.respell_all(site, item)),
            Value::Object(members) => {
                if let Some(Value::String(uri)) =
                    members.get_mut("artifactLocation").and_then(|artifact| artifact.get_mut("uri"))
                {
                    *uri = self.respell(site, uri);
                }
                members.values_mut().for_each(|member| self.respell_all(site, member));
            }
            _ => {}
        }
    }
}

/// Everything the log says about its own run.
pub(crate) fn notifications(log: &Log) -> Vec<Notification> {
    let lists = ["toolExecutionNotifications", "toolConfigurationNotifications"];
    let of = |invocation: &Value| -> Vec<Notification> {
        lists
            .iter()
            .filter_map(|list| invocation.get(list)?.as_array())
            .flatten()
            .map(notification)
            .collect()
    };
    log.runs.iter().flat_map(|run| run.invocations.iter().flatten()).flat_map(of).collect()
}

fn notification(value: &Value) -> Notification {
    let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str);
    Notification {
        level: text("/level").unwrap_or("warning").to_owned(),
        text: quoted(text("/message/text").unwrap_or("no text")),
    }
}

/// The interpretation that a converted log is by itself.
pub(crate) fn interpreted(converted: Converted) -> Interpreted {
    Interpreted {
        findings: converted.findings,
        rules: converted.rules,
        version: converted.tool_version,
        ..Interpreted::default()
    }
}

/// Takes away the text of a secret that a tool quotes.
pub(crate) fn without_snippet(finding: &mut Finding) {
    if let Some(location) = &mut finding.location {
        location.snippet = None;
    }
    // Kept members may repeat the lines around it.
    finding.extra.shift_remove("locations");
}
