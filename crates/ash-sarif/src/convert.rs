//! From a tool's log to ash's findings: one conversion for every scanner that writes SARIF.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use ash_model::{
    finding::{Finding, Location, Region, Rule, Suppression},
    ids::ScannerId,
    path::RelPath,
    severity::{Level, Severity},
};
use serde_json::{Map, Value, json};

use crate::{
    kept,
    locate::{Locator, Place},
    log::{self, Log, Run, SarifResult},
    message,
    rules::{self, Rules},
};

/// The property that holds a location outside the scanned directory, as the tool wrote it.
const OUTSIDE: &str = "ash_location_outside";
/// The rule id of a result that names none.
const NO_RULE: &str = "no-rule-id";

/// How a log is read.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// Whose log it is. The log's own claim is not believed.
    pub scanner: &'a ScannerId,
    /// The scanned directory, absolute, as given.
    pub source: &'a Path,
    /// Where the tool was started when not in `source`: what its relative paths are relative to.
    pub start: Option<&'a RelPath>,
    /// Whether suppressions in this log count: only for tools whose own comments (`nosec`) are ordinary use, never for a plugin's.
    pub native_suppressions_count: bool,
    /// Decides a severity before the common rule does; `None` leaves it to the common rule.
    pub severity: &'a dyn Fn(&SeverityFacts<'_>) -> Option<Severity>,
}

impl<'a> Options<'a> {
    /// Options with the common severity rule and native suppressions not counting.
    pub fn new(scanner: &'a ScannerId, source: &'a Path) -> Self {
        Self { scanner, source, start: None, native_suppressions_count: false, severity: &|_| None }
    }
}

impl std::fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("scanner", self.scanner)
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}

/// What a scanner may decide a severity by.
#[derive(Debug, Clone, Copy)]
pub struct SeverityFacts<'a> {
    /// The rule's id.
    pub rule_id: &'a str,
    /// The level in effect, defaults applied.
    pub level: Level,
    /// The result's properties.
    pub properties: &'a Map<String, Value>,
    /// The rule's descriptor, when the log has one.
    pub rule: Option<&'a Map<String, Value>>,
    /// The rule's CVSS score.
    pub cvss: Option<f64>,
}

impl SeverityFacts<'_> {
    /// The common rule: the result's `issue_severity`, then the rule's CVSS score, then the level.
    pub fn common(&self) -> Severity {
        let named =
            self.properties.get("issue_severity").and_then(Value::as_str).and_then(Severity::parse);
        named
            .or_else(|| self.cvss.map(Severity::from_cvss))
            .unwrap_or_else(|| Severity::from_level(self.level))
    }
}

/// What a log holds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Converted {
    /// All results of all runs, in the log's order.
    pub findings: Vec<Finding>,
    /// The rules they refer to, sorted by id, each once.
    pub rules: Vec<Rule>,
    /// What the tool says went wrong: notifications of level `error`, unsuccessful invocations, runs without a list of results. Any
    /// entry means that the results may not be whole. Hostile text.
    pub problems: Vec<String>,
    /// The version the first run's driver gives itself. Hostile text.
    pub tool_version: Option<String>,
}

/// Converts a log.
///
/// Locations come out relative to the scanned directory; a result elsewhere is kept without a location and with the property
/// `ash_location_outside`. Besides what the log says, only the real path of [`Options::source`] is looked up.
pub fn to_findings(log: Log, options: &Options<'_>) -> Converted {
    let mut sources = vec![options.source.to_owned()];
    sources.extend(options.source.canonicalize().ok().filter(|real| real != options.source));
    let driver = log.runs.first().map(|run| &run.tool.driver);
    let tool_version = driver
        .and_then(|driver| driver.version.clone().or_else(|| driver.semantic_version.clone()));
    let mut converted = Converted { tool_version, ..Converted::default() };
    let mut used = BTreeMap::new();
    for run in log.runs {
        convert_run(run, options, &sources, &mut converted, &mut used);
    }
    converted.rules = used.into_values().collect();
    converted
}

fn convert_run(
    mut run: Run,
    options: &Options<'_>,
    sources: &[PathBuf],
    converted: &mut Converted,
    used: &mut BTreeMap<String, Rule>,
) {
    problems(&run, &mut converted.problems);
    let Some(results) = run.results.take() else { return };
    let rules = Rules::new(&run.tool);
    let locator = Locator::new(
        sources,
        options.start,
        run.original_uri_base_ids.as_ref(),
        run.artifacts.as_deref().unwrap_or_default(),
    );
    let run = RunContext {
        options,
        rules,
        locator,
        shared_messages: run.tool.driver.global_message_strings.as_ref(),
    };
    for result in results {
        let rule = run.rules.of(&result);
        let finding = run.finding(result, rule);
        if let Some(rule) = rule
            && !used.contains_key(&finding.rule_id)
        {
            used.insert(finding.rule_id.clone(), rules::to_model(&finding.rule_id, rule));
        }
        converted.findings.push(finding);
    }
}

/// What the conversion of one result needs of its run.
struct RunContext<'a> {
    options: &'a Options<'a>,
    rules: Rules<'a>,
    locator: Locator<'a>,
    shared_messages: Option<&'a Map<String, Value>>,
}

impl RunContext<'_> {
    fn finding(&self, mut result: SarifResult, rule: Option<&Map<String, Value>>) -> Finding {
        let rule_id = rules::named(&result)
            .or_else(|| rule.and_then(rules::id))
            .unwrap_or(NO_RULE)
            .to_owned();
        let level = level(&result, rule);
        let mut properties = result.properties.take().unwrap_or_default();
        let cvss = rule.and_then(rules::cvss);
        let facts = SeverityFacts { rule_id: &rule_id, level, properties: &properties, rule, cvss };
        let severity = (self.options.severity)(&facts).unwrap_or_else(|| facts.common());
        let message = self.message(&result, rule).unwrap_or_else(|| rule_id.clone());
        let suppressions = self.suppressions(result.suppressions.take());
        let (location, outside) = self.location(&mut result);
        if let Some(outside) = outside {
            properties.insert(OUTSIDE.to_owned(), Value::String(outside));
        }
        let extra = kept::members(result, location.is_some(), &self.locator);
        Finding {
            scanner: self.options.scanner.clone(),
            rule_id,
            severity,
            level,
            message,
            location,
            suppressions,
            properties,
            extra,
        }
    }

    fn message(&self, result: &SarifResult, rule: Option<&Map<String, Value>>) -> Option<String> {
        let of_rule = rule.and_then(|rule| rule.get("messageStrings")).and_then(Value::as_object);
        let described = |name: &str| rule?.get(name)?.get("text")?.as_str().map(str::to_owned);
        message::text(&result.message, &[of_rule, self.shared_messages])
            .or_else(|| described("shortDescription"))
            .or_else(|| described("fullDescription"))
    }

    /// §3.27.23, §3.35: a result is suppressed when it has suppressions and none of them is under review or rejected. A status the
    /// standard does not have settles nothing either.
    fn suppressions(&self, suppressions: Option<Vec<log::Suppression>>) -> Vec<Suppression> {
        let suppressions = suppressions.unwrap_or_default();
        let accepted = |suppression: &log::Suppression| {
            matches!(suppression.status.as_deref(), None | Some("accepted"))
        };
        let counts = self.options.native_suppressions_count && suppressions.iter().all(accepted);
        let convert = |suppression: log::Suppression| Suppression {
            counts,
            kind: if suppression.kind.as_deref() == Some("external") {
                "external".to_owned()
            } else {
                "inSource".to_owned()
            },
            justification: suppression.justification,
        };
        suppressions.into_iter().map(convert).collect()
    }

    /// The first location that names a file, moved to the front; and its text when it is outside the source.
    fn location(&self, result: &mut SarifResult) -> (Option<Location>, Option<String>) {
        let Some(locations) = result.locations.as_mut() else { return (None, None) };
        let places: Vec<Place> = locations.iter().map(|location| self.place(location)).collect();
        let chosen = places
            .iter()
            .position(|place| matches!(place, Place::Inside(_)))
            .or_else(|| places.iter().position(|place| *place != Place::Nowhere));
        let Some(chosen) = chosen else { return (None, None) };
        locations[..=chosen].rotate_right(1);
        match places.into_iter().nth(chosen) {
            Some(Place::Inside(path)) => {
                let physical =
                    locations.first().and_then(|location| location.physical_location.as_deref());
                let region = physical.and_then(|physical| physical.region.as_ref());
                (
                    Some(Location {
                        path,
                        region: region.and_then(region_of),
                        snippet: physical.and_then(snippet_of),
                    }),
                    None,
                )
            }
            Some(Place::Outside(text)) => (None, Some(text)),
            _ => (None, None),
        }
    }

    fn place(&self, location: &log::Location) -> Place {
        let artifact = location
            .physical_location
            .as_ref()
            .and_then(|physical| physical.artifact_location.as_ref());
        artifact.map_or(Place::Nowhere, |artifact| self.locator.place(artifact))
    }
}

/// §3.27.10: the result's own level, `none` for results that are not failures, the rule's default, `warning`.
fn level(result: &SarifResult, rule: Option<&Map<String, Value>>) -> Level {
    let own = result.level.as_deref().and_then(Level::parse);
    let is_failure = result.kind.as_deref().is_none_or(|kind| kind == "fail");
    own.or((!is_failure).then_some(Level::None))
        .or_else(|| rule.and_then(rules::default_level))
        .unwrap_or_default()
}

fn region_of(region: &log::Region) -> Option<Region> {
    let positive = |number: Option<i64>| {
        number.and_then(|number| u64::try_from(number).ok()).filter(|number| *number > 0)
    };
    let start_line = positive(region.start_line)?;
    let end_line = positive(region.end_line).filter(|end| *end >= start_line);
    Some(Region {
        start_line,
        start_column: positive(region.start_column),
        end_line,
        end_column: positive(region.end_column),
    })
}

fn snippet_of(physical: &log::PhysicalLocation) -> Option<String> {
    let own = physical
        .region
        .as_ref()
        .and_then(|region| region.snippet.as_ref())
        .and_then(|snippet| snippet.text.clone());
    let around = || {
        physical
            .extra
            .get("contextRegion")?
            .get("snippet")?
            .get("text")?
            .as_str()
            .map(str::to_owned)
    };
    own.or_else(around)
}

fn problems(run: &Run, problems: &mut Vec<String>) {
    if run.results.is_none() {
        problems.push("the log has a run without a list of results".to_owned());
    }
    let is_error = |notification: &&Value| notification.get("level") == Some(&json!("error"));
    for invocation in run.invocations.iter().flatten() {
        let notifications = ["toolExecutionNotifications", "toolConfigurationNotifications"]
            .into_iter()
            .filter_map(|name| invocation.get(name)?.as_array());
        let before = problems.len();
        problems.extend(notifications.flatten().filter(is_error).map(|notification| {
            let text = notification
                .get("message")
                .and_then(|message| message.get("text"))
                .and_then(Value::as_str);
            text.unwrap_or("the tool reports an error without a text").to_owned()
        }));
        if problems.len() == before
            && invocation.get("executionSuccessful") == Some(&Value::Bool(false))
        {
            problems.push("the log says that the run was not successful".to_owned());
        }
    }
}

#[cfg(test)]
mod tests;
