//! `ash.ghas.sarif`: a lean SARIF log for GitHub code scanning. One driver with all rules, each with the score GitHub derives its severity
//! from; suppressed findings are left out, because GitHub would open them.

use std::{
    collections::{BTreeMap, HashMap},
    io,
};

use ash_model::{
    finding::{Finding, Location, Region, Rule},
    report::ScanReport,
    severity::Severity,
};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::{
    Reporter,
    flat::{self, RuleIndex},
    json,
};

/// SARIF for GitHub code scanning.
#[derive(Debug)]
pub(crate) struct GithubGhas;

impl Reporter for GithubGhas {
    fn id(&self) -> &'static str {
        "github-ghas"
    }

    fn file_name(&self) -> &'static str {
        "reports/ash.ghas.sarif"
    }

    fn render(&self, report: &ScanReport, out: &mut dyn io::Write) -> io::Result<()> {
        let rules = rules(report);
        let indexes = rules.keys().enumerate().map(|(index, id)| (*id, index)).collect();
        let driver = Driver {
            name: "ASH - Automated Security Helper",
            organization: "Amazon Web Services",
            version: &report.scan.ash_version,
            information_uri: "https://github.com/awslabs/automated-security-helper",
            rules: rules.values().collect(),
        };
        let run = Run { tool: Tool { driver }, results: Results { report, indexes } };
        json::write(
            out,
            &Document {
                schema: "https://json.schemastore.org/sarif-2.1.0.json",
                version: "2.1.0",
                runs: [run],
            },
        )
    }
}

#[derive(Serialize)]
struct Document<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run<'a>; 1],
}

#[derive(Serialize)]
struct Run<'a> {
    tool: Tool<'a>,
    results: Results<'a>,
}

#[derive(Serialize)]
struct Tool<'a> {
    driver: Driver<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Driver<'a> {
    name: &'static str,
    organization: &'static str,
    version: &'a str,
    information_uri: &'static str,
    rules: Vec<&'a Value>,
}

struct Results<'a> {
    report: &'a ScanReport,
    indexes: HashMap<&'a str, usize>,
}

impl Serialize for Results<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(
            open(self.report).map(|finding| {
                Slim::of(finding, self.indexes.get(finding.rule_id.as_str()).copied())
            }),
        )
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Slim<'a> {
    rule_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule_index: Option<usize>,
    level: &'static str,
    message: Text<'a>,
    locations: Vec<Place>,
    partial_fingerprints: BTreeMap<&'static str, String>,
}

#[derive(Serialize)]
struct Text<'a> {
    text: &'a str,
}

impl<'a> Slim<'a> {
    fn of(finding: &'a Finding, rule_index: Option<usize>) -> Self {
        Self {
            rule_id: &finding.rule_id,
            rule_index,
            level: finding.level.name(),
            message: Text { text: &finding.message },
            locations: finding.location.iter().map(place).collect(),
            partial_fingerprints: BTreeMap::from([("ashFindingId/v1", flat::id(finding))]),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Place {
    physical_location: PhysicalLocation,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: Artifact,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<Lines>,
}

#[derive(Serialize)]
struct Artifact {
    uri: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Lines {
    start_line: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_column: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_column: Option<u64>,
}

fn place(location: &Location) -> Place {
    let lines = |region: Region| Lines {
        start_line: region.start_line,
        start_column: region.start_column,
        end_line: region.end_line,
        end_column: region.end_column,
    };
    Place {
        physical_location: PhysicalLocation {
            artifact_location: Artifact { uri: location.path.to_uri() },
            region: location.region.map(lines),
        },
    }
}

fn open(report: &ScanReport) -> impl Iterator<Item = &Finding> {
    report.findings.iter().filter(|finding| !finding.is_suppressed())
}

/// The rules of all open findings by id, with the worst severity any of them has.
fn rules(report: &ScanReport) -> BTreeMap<&str, Value> {
    let known = RuleIndex::of(report);
    let mut worst: BTreeMap<&str, (Severity, Option<&Rule>)> = BTreeMap::new();
    for finding in open(report) {
        let rule = known.get(finding);
        let entry = worst.entry(&finding.rule_id).or_insert((finding.severity, rule));
        entry.0 = entry.0.max(finding.severity);
        entry.1 = entry.1.or(rule);
    }
    worst.into_iter().map(|(id, (severity, rule))| (id, slim_rule(id, severity, rule))).collect()
}

fn slim_rule(id: &str, severity: Severity, rule: Option<&Rule>) -> Value {
    let kept = |name: &str| rule.and_then(|rule| rule.descriptor.get(name)).cloned();
    let mut slim = Map::from_iter([("id".to_owned(), json!(id))]);
    for name in ["name", "shortDescription", "fullDescription", "helpUri", "help"] {
        slim.extend(kept(name).map(|value| (name.to_owned(), value)));
    }
    // GitHub shows nothing for a rule without a description.
    slim.entry("shortDescription").or_insert_with(|| json!({"text": id}));
    let score = rule
        .and_then(|rule| rule.cvss)
        .map_or_else(|| score(severity).to_owned(), |cvss| format!("{cvss:.1}"));
    let mut properties = Map::from_iter([("security-severity".to_owned(), json!(score))]);
    if let Some(tags) = rule
        .and_then(|rule| rule.descriptor.get("properties"))
        .and_then(|properties| properties.get("tags"))
        .filter(|tags| tags.is_array())
    {
        properties.insert("tags".to_owned(), tags.clone());
    }
    slim.insert("properties".to_owned(), Value::Object(properties));
    Value::Object(slim)
}

/// A score in the middle of the band GitHub shows under the same name.
fn score(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "9.5",
        Severity::High => "8.0",
        Severity::Medium => "6.0",
        Severity::Low => "3.0",
        Severity::Info => "1.0",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn rendered(report: &ScanReport) -> Value {
        let mut bytes = Vec::new();
        GithubGhas.render(report, &mut bytes).unwrap();
        serde_json::from_slice(&bytes).unwrap()
    }

    #[test]
    fn suppressed_findings_are_left_out_and_every_rule_has_a_score() {
        let report = sample::hostile();
        let log = rendered(&report);
        let run = &log["runs"][0];
        assert_eq!(run["results"].as_array().unwrap().len(), 3);
        let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
        let scores: Vec<_> = rules
            .iter()
            .map(|rule| rule["properties"]["security-severity"].as_str().unwrap())
            .collect();
        assert_eq!(scores, ["3.0", "8.0", "8.0"]);
        for result in run["results"].as_array().unwrap() {
            let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
            assert_eq!(rules[index]["id"], result["ruleId"]);
        }
    }

    #[test]
    fn the_lean_log_of_the_sample() {
        insta::assert_json_snapshot!(rendered(&sample::hostile()));
    }
}
