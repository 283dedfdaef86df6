//! `ash.sarif`: one run, ash as its driver, every scanner an extension with the rules it used.

use std::{collections::HashMap, io};

use ash_model::{
    finding::{Finding, Rule},
    ids::ScannerId,
    notice::Notice,
    path::RelPath,
    report::{Invocation, ScanReport, ScannerReport},
    status::Status,
};
use ash_sarif::{Written, WrittenComponent, WrittenRule};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::{Reporter, json};

/// The merged SARIF log.
#[derive(Debug)]
pub(crate) struct Sarif;

impl Reporter for Sarif {
    fn id(&self) -> &'static str {
        "sarif"
    }

    fn file_name(&self) -> &'static str {
        "reports/ash.sarif"
    }

    fn render(&self, report: &ScanReport, out: &mut dyn io::Write) -> io::Result<()> {
        json::write(out, &document(report))
    }
}

/// The whole log, written as it is serialised.
pub(crate) fn document(report: &ScanReport) -> impl Serialize + '_ {
    Document {
        schema: "https://json.schemastore.org/sarif-2.1.0.json",
        version: "2.1.0",
        runs: [Run::of(report)],
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
    invocations: Vec<Value>,
    results: Results<'a>,
}

#[derive(Serialize)]
struct Tool<'a> {
    driver: Value,
    extensions: Vec<Extension<'a>>,
}

#[derive(Serialize)]
struct Extension<'a> {
    name: &'a ScannerId,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
    rules: Rules<'a>,
    properties: Value,
}

struct Rules<'a>(&'a [Rule]);

impl Serialize for Rules<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(ash_sarif::written_rule))
    }
}

impl<'a> Run<'a> {
    fn of(report: &'a ScanReport) -> Self {
        let driver = json!({
            "name": "AWS Labs - Automated Security Helper",
            "fullName": "awslabs/automated-security-helper",
            "organization": "Amazon Web Services",
            "version": report.scan.ash_version,
            "informationUri": "https://github.com/awslabs/automated-security-helper",
        });
        let extensions = report.scanners.iter().map(|scanner| Extension {
            name: &scanner.id,
            version: scanner.version.as_deref(),
            rules: Rules(&scanner.rules),
            properties: json!({"tags": [scanner.id], "scanner_details": details(scanner)}),
        });
        let invocations = std::iter::once(own_invocation(report))
            .chain(report.scanners.iter().flat_map(invocations));
        Self {
            tool: Tool { driver, extensions: extensions.collect() },
            invocations: invocations.collect(),
            results: Results(report),
        }
    }
}

/// What every result says about the scanner behind it. The command line is in the run's invocations, once.
fn details(scanner: &ScannerReport) -> Value {
    let mut invocation = Map::new();
    if let (Some(first), Some(last)) = (scanner.invocations.first(), scanner.invocations.last()) {
        invocation.insert("start_time".to_owned(), json!(first.started));
        invocation.insert("end_time".to_owned(), json!(last.finished));
    }
    if let Some(code) = scanner.exit_code {
        invocation.insert("exit_code".to_owned(), json!(code));
    }
    json!({"tool_name": scanner.id, "tool_version": scanner.version, "tool_invocation": invocation})
}

/// What a result needs to know of its scanner.
struct Origin<'a> {
    index: usize,
    rules: HashMap<&'a str, usize>,
    name: Value,
    version: Option<Value>,
    details: Value,
}

impl<'a> Origin<'a> {
    fn of(index: usize, scanner: &'a ScannerReport) -> Self {
        let rules = scanner
            .rules
            .iter()
            .enumerate()
            .map(|(index, rule)| (rule.id.as_str(), index))
            .collect();
        Self {
            index,
            rules,
            name: json!(scanner.id),
            version: scanner.version.as_ref().map(|version| json!(version)),
            details: details(scanner),
        }
    }
}

struct Results<'a>(&'a ScanReport);

impl Serialize for Results<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let origins: HashMap<&ScannerId, Origin<'_>> = self
            .0
            .scanners
            .iter()
            .enumerate()
            .map(|(index, scanner)| (&scanner.id, Origin::of(index, scanner)))
            .collect();
        serializer.collect_seq(
            self.0
                .findings
                .iter()
                .map(|finding| MergedResult { finding, origin: origins.get(&finding.scanner) }),
        )
    }
}

/// A result with what ash says about it.
struct MergedResult<'a> {
    finding: &'a Finding,
    origin: Option<&'a Origin<'a>>,
}

impl Serialize for MergedResult<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let finding = self.finding;
        let (tags, severity) = (
            tags(finding.properties.get("tags"), &finding.scanner),
            json!(finding.severity.name()),
        );
        let mut properties = vec![("tags", &tags), ("ash_severity", &severity)];
        if let Some(origin) = self.origin {
            properties.push(("scanner_name", &origin.name));
            properties.extend(origin.version.as_ref().map(|version| ("scanner_version", version)));
            properties.push(("scanner_details", &origin.details));
        }
        Written {
            finding,
            rule: self.origin.map(|origin| rule(finding, origin)),
            properties: &properties,
        }
        .serialize(serializer)
    }
}

fn rule<'a>(finding: &'a Finding, origin: &Origin<'_>) -> WrittenRule<'a> {
    let component = WrittenComponent { name: finding.scanner.as_str(), index: origin.index };
    WrittenRule {
        id: &finding.rule_id,
        index: origin.rules.get(finding.rule_id.as_str()).copied(),
        component,
    }
}

/// The tool's tags, each once and only texts, and the scanner's name.
fn tags(own: Option<&Value>, scanner: &ScannerId) -> Value {
    let mut tags: Vec<&str> = Vec::new();
    for tag in own
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .chain([scanner.as_str()])
    {
        if !tags.contains(&tag) {
            tags.push(tag);
        }
    }
    json!(tags)
}

/// ash's own run, with what the whole scan has to say.
fn own_invocation(report: &ScanReport) -> Value {
    let mut invocation = json!({
        "executionSuccessful": !report.scan.interrupted,
        "startTimeUtc": report.scan.started,
        "endTimeUtc": report.scan.finished,
        "properties": {"scanner_name": "ash", "sandbox": {"mode": report.scan.sandbox_mode, "backend": report.scan.sandbox_backend}, "offline": report.scan.offline},
    });
    if !report.notices.is_empty() {
        let notices = report
            .notices
            .iter()
            .map(|notice: &Notice| notification("ash-notice", "warning", &notice.line()));
        invocation["toolConfigurationNotifications"] = notices.collect();
    }
    invocation
}

/// A scanner's runs; one without a process for a scanner that has none, so that its absence shows.
fn invocations(scanner: &ScannerReport) -> Vec<Value> {
    let mut invocations: Vec<Value> =
        scanner.invocations.iter().map(|invocation| invocation_of(scanner, invocation)).collect();
    let notifications = notifications(scanner);
    if invocations.is_empty() {
        invocations.push(json!({"executionSuccessful": !scanner.status.is_incomplete(), "properties": {"scanner_name": scanner.id}}));
    }
    if let Some(last) = invocations.last_mut()
        && !notifications.is_empty()
    {
        last["toolExecutionNotifications"] = Value::Array(notifications);
    }
    invocations
}

fn invocation_of(scanner: &ScannerReport, invocation: &Invocation) -> Value {
    let mut value = json!({
        "commandLine": invocation.command_line.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
        "arguments": invocation.command_line.get(1..).unwrap_or_default(),
        "workingDirectory": {"uri": file_uri(&invocation.working_directory)},
        "startTimeUtc": invocation.started,
        "endTimeUtc": invocation.finished,
        "executionSuccessful": invocation.successful && !scanner.status.is_incomplete(),
        "properties": {"scanner_name": scanner.id},
    });
    if let Some(code) = invocation.exit_code {
        value["exitCode"] = json!(code);
    }
    if let Some(signal) = invocation.signal {
        value["exitSignalNumber"] = json!(signal);
    }
    value
}

/// Why a scanner's part is not a verdict. Level `error` wherever the scan counts as incomplete.
fn notifications(scanner: &ScannerReport) -> Vec<Value> {
    let level = if scanner.status.is_incomplete() { "error" } else { "note" };
    let id = match &scanner.status {
        Status::Passed | Status::Failed => None,
        Status::Skipped(_) => Some("ash-scanner-skipped"),
        Status::Missing(_) => Some("ash-scanner-missing"),
        Status::Error(_) => Some("ash-scanner-error"),
    };
    let reason = id.map(|id| {
        notification(
            id,
            level,
            &format!(
                "{} {}: {}",
                scanner.id,
                scanner.status.name(),
                scanner.status.reason().unwrap_or_default()
            ),
        )
    });
    let unevaluated = scanner.unevaluated.iter().map(|target| {
        notification(
            "ash-target-unevaluated",
            "error",
            &format!("{}: not evaluated: {target}", scanner.id),
        )
    });
    reason.into_iter().chain(unevaluated).collect()
}

fn notification(id: &str, level: &str, text: &str) -> Value {
    json!({"descriptor": {"id": id}, "level": level, "message": {"text": text}})
}

/// The word as a POSIX shell would take it.
fn quoted(word: &str) -> String {
    let plain = !word.is_empty()
        && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c));
    if plain { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// An absolute path as a URI.
fn file_uri(path: &str) -> String {
    let relative =
        RelPath::new(path.trim_start_matches('/')).map(|path| path.to_uri()).unwrap_or_default();
    format!("file:///{relative}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn rendered(report: &ScanReport) -> Value {
        serde_json::to_value(document(report)).unwrap()
    }

    #[test]
    fn the_log_is_one_run_with_every_scanner_an_extension() {
        let log = rendered(&sample::hostile());
        assert_eq!(log["runs"].as_array().unwrap().len(), 1);
        let run = &log["runs"][0];
        assert_eq!(run["tool"]["driver"]["name"], "AWS Labs - Automated Security Helper");
        let names: Vec<_> = run["tool"]["extensions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|extension| extension["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["bandit", "cfn-nag", "grype", "npm-audit", "semgrep"]);
    }

    #[test]
    fn a_result_points_at_its_rule_and_names_its_scanner() {
        let log = rendered(&sample::hostile());
        let run = &log["runs"][0];
        let result = &run["results"][0];
        let rule = &result["rule"];
        let component = usize::try_from(rule["toolComponent"]["index"].as_u64().unwrap()).unwrap();
        let index = usize::try_from(rule["index"].as_u64().unwrap()).unwrap();
        assert_eq!(run["tool"]["extensions"][component]["rules"][index]["id"], result["ruleId"]);
        assert_eq!(result["properties"]["scanner_name"], "bandit");
        assert_eq!(result["properties"]["tags"], json!(["security", "bandit"]));
        assert_eq!(result["properties"]["scanner_details"]["tool_invocation"]["exit_code"], 1);
    }

    #[test]
    fn whoever_did_not_run_says_so_at_the_level_the_gate_goes_by() {
        let log = rendered(&sample::hostile());
        let notifications: Vec<_> = log["runs"][0]["invocations"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|invocation| {
                invocation["toolExecutionNotifications"].as_array().cloned().unwrap_or_default()
            })
            .collect();
        let seen: Vec<_> = notifications
            .iter()
            .map(|notification| {
                (
                    notification["descriptor"]["id"].as_str().unwrap(),
                    notification["level"].as_str().unwrap(),
                )
            })
            .collect();
        assert_eq!(
            seen,
            [
                ("ash-scanner-missing", "error"),
                ("ash-scanner-error", "error"),
                ("ash-scanner-skipped", "note"),
                ("ash-target-unevaluated", "error")
            ]
        );
    }

    #[test]
    fn members_the_schema_does_not_know_move_to_the_property_bag() {
        let log = rendered(&sample::hostile());
        let result = &log["runs"][0]["results"][0];
        assert_eq!(
            (result.get("invented"), &result["properties"]["invented"]),
            (None, &json!([1]))
        );
        let rule = &log["runs"][0]["tool"]["extensions"][0]["rules"][0];
        assert_eq!((rule.get("invented"), &rule["properties"]["invented"]), (None, &json!(true)));
    }

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(
            (quoted("a b'c"), quoted("--x=1"), quoted("")),
            (r"'a b'\''c'".to_owned(), "--x=1".to_owned(), "''".to_owned())
        );
        assert_eq!(
            (file_uri("/a b/#"), file_uri("/")),
            ("file:///a%20b/%23".to_owned(), "file:///".to_owned())
        );
    }

    #[test]
    fn the_log_can_be_read_back() {
        let mut bytes = Vec::new();
        Sarif.render(&sample::hostile(), &mut bytes).unwrap();
        let log = ash_sarif::read(&bytes).unwrap();
        assert_eq!(log.runs[0].results.as_ref().unwrap().len(), sample::hostile().findings.len());
    }

    #[test]
    fn the_log_of_the_sample() {
        insta::assert_json_snapshot!(rendered(&sample::hostile()));
    }
}
