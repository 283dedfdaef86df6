//! From a finding back to a SARIF result, written straight from the finding: a report can hold a hundred thousand of them.

use ash_model::finding::{Finding, Location, Region, Suppression};
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Map, Value, value::RawValue};

use crate::{kept, log};

/// Members of a result (§3.27) that a finding keeps as they are. The schema refuses members it does not know, so those are written into
/// the property bag.
const KEPT: [&str; 21] = [
    "analysisTarget",
    "guid",
    "correlationGuid",
    "occurrenceCount",
    "partialFingerprints",
    "fingerprints",
    "stacks",
    "codeFlows",
    "graphs",
    "graphTraversals",
    "relatedLocations",
    "baselineState",
    "rank",
    "attachments",
    "hostedViewerUri",
    "workItemUris",
    "provenance",
    "fixes",
    "taxa",
    "webRequest",
    "webResponse",
];
/// Members that are written from the finding's own fields.
const OWN: [&str; 9] = [
    "ruleId",
    "ruleIndex",
    "rule",
    "kind",
    "level",
    "message",
    "locations",
    "suppressions",
    "properties",
];

/// A finding as a SARIF result: its fields, and every other member the tool wrote.
#[derive(Debug, Clone, Copy)]
pub struct Written<'a> {
    /// The finding.
    pub finding: &'a Finding,
    /// Where its rule is in the run that is written.
    pub rule: Option<WrittenRule<'a>>,
    /// Properties that replace the finding's own of the same name.
    pub properties: &'a [(&'static str, &'a Value)],
}

/// A reference to a rule of an extension.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct WrittenRule<'a> {
    /// The rule's id.
    pub id: &'a str,
    /// Its place in the extension.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<usize>,
    /// The extension.
    #[serde(rename = "toolComponent")]
    pub component: WrittenComponent<'a>,
}

/// A reference to an extension.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct WrittenComponent<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its place among the extensions.
    pub index: usize,
}

impl Serialize for Written<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let finding = self.finding;
        let mut result = serializer.serialize_map(None)?;
        result.serialize_entry("ruleId", &finding.rule_id)?;
        if let Some(rule) = &self.rule {
            result.serialize_entry("rule", rule)?;
        }
        if let Some(kind) = finding.extra.get("kind") {
            result.serialize_entry("kind", kind)?;
        }
        result.serialize_entry("level", finding.level.name())?;
        result.serialize_entry("message", &Message(finding))?;
        let locations = locations(finding);
        if !locations.is_empty() {
            result.serialize_entry("locations", &locations)?;
        }
        if !finding.suppressions.is_empty() {
            result.serialize_entry(
                "suppressions",
                &in_force(finding).map(WrittenSuppression::of).collect::<Vec<_>>(),
            )?;
        }
        let properties = Properties(self);
        if !properties.is_empty() {
            result.serialize_entry("properties", &properties)?;
        }
        for (name, value) in finding.extra.iter().filter(|(name, _)| KEPT.contains(&name.as_str()))
        {
            match packed(name, value) {
                Some(raw) => result.serialize_entry(name, raw)?,
                None => result.serialize_entry(name, value)?,
            }
        }
        result.end()
    }
}

/// The JSON text of a member that is kept packed.
fn packed<'a>(name: &str, value: &'a Value) -> Option<&'a RawValue> {
    kept::is_packed(name).then(|| serde_json::from_str(value.as_str()?).ok())?
}

struct Message<'a>(&'a Finding);

impl Serialize for Message<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let more = self.0.extra.get("message").and_then(Value::as_object);
        let mut message = serializer.serialize_map(None)?;
        message.serialize_entry("text", &self.0.message)?;
        for (name, value) in more.into_iter().flatten().filter(|(name, _)| *name != "text") {
            message.serialize_entry(name, value)?;
        }
        message.end()
    }
}

/// The property bag: the finding's own properties, those given, and members no SARIF result has.
struct Properties<'a>(&'a Written<'a>);

impl Properties<'_> {
    fn own(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.0
            .finding
            .properties
            .iter()
            .filter(|(name, _)| !self.0.properties.iter().any(|(given, _)| given == name))
    }

    fn unknown(&self) -> impl Iterator<Item = (&String, &Value)> {
        let taken = |name: &str| {
            let is_given = self.0.properties.iter().any(|(given, _)| *given == name);
            is_given
                || self.0.finding.properties.contains_key(name)
                || KEPT.contains(&name)
                || OWN.contains(&name)
        };
        self.0.finding.extra.iter().filter(move |(name, _)| !taken(name))
    }

    fn is_empty(&self) -> bool {
        self.0.properties.is_empty()
            && self.own().next().is_none()
            && self.unknown().next().is_none()
            && self.not_obeyed().next().is_none()
    }

    /// The suppressions that are not written as such.
    fn not_obeyed(&self) -> impl Iterator<Item = &Suppression> {
        let finding = self.0.finding;
        let suppressed = finding.is_suppressed();
        finding.suppressions.iter().filter(move |suppression| suppressed && !suppression.counts)
    }
}

impl Serialize for Properties<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut properties = serializer.serialize_map(None)?;
        for (name, value) in self.own().chain(self.unknown()) {
            properties.serialize_entry(name, value)?;
        }
        let not_obeyed: Vec<_> = self.not_obeyed().map(WrittenSuppression::of).collect();
        if !not_obeyed.is_empty() {
            properties.serialize_entry(NOT_OBEYED, &not_obeyed)?;
        }
        for (name, value) in self.0.properties {
            properties.serialize_entry(name, value)?;
        }
        properties.end()
    }
}

/// The property that holds a suppressed finding's other suppressions.
const NOT_OBEYED: &str = "ash_suppressions_not_obeyed";

/// The suppressions to write. A reader takes a result for suppressed only when all of them are accepted, so a suppressed finding has
/// only those.
fn in_force(finding: &Finding) -> impl Iterator<Item = &Suppression> {
    let suppressed = finding.is_suppressed();
    finding.suppressions.iter().filter(move |suppression| suppression.counts || !suppressed)
}

/// One suppression. One that ash does not obey is written as rejected, so that no reader of the report obeys it either.
#[derive(Serialize)]
struct WrittenSuppression<'a> {
    kind: &'a str,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    justification: Option<&'a str>,
}

impl<'a> WrittenSuppression<'a> {
    fn of(suppression: &'a Suppression) -> Self {
        let status = if suppression.counts { "accepted" } else { "rejected" };
        Self {
            kind: &suppression.kind,
            status,
            justification: suppression.justification.as_deref(),
        }
    }
}

/// What the tool kept of its locations, with the finding's own as the first: it may have been corrected since.
fn locations(finding: &Finding) -> Vec<log::Location> {
    let mut locations: Vec<log::Location> = match finding.extra.get("locations") {
        Some(Value::String(packed)) => serde_json::from_str(packed).unwrap_or_default(),
        Some(value) => serde_json::from_value(value.clone()).unwrap_or_default(),
        None => Vec::new(),
    };
    if let Some(location) = &finding.location {
        if locations.is_empty() {
            locations.push(log::Location::default());
        }
        place(&mut locations[0], location);
    }
    locations
}

fn place(kept: &mut log::Location, location: &Location) {
    let physical = kept.physical_location.get_or_insert_with(Box::default);
    let artifact = physical.artifact_location.get_or_insert_with(log::ArtifactLocation::default);
    (artifact.uri, artifact.uri_base_id, artifact.index) =
        (Some(location.path.to_uri()), None, None);
    if let Some(lines) = &location.region {
        lay(physical.region.get_or_insert_with(log::Region::default), lines);
    }
    if let Some(text) = &location.snippet {
        let region = physical.region.get_or_insert_with(log::Region::default);
        region.snippet.get_or_insert_with(log::Snippet::default).text = Some(text.clone());
    }
}

fn lay(region: &mut log::Region, lines: &Region) {
    let signed = |number: Option<u64>| number.and_then(|number| i64::try_from(number).ok());
    region.start_line = signed(Some(lines.start_line));
    region.start_column = signed(lines.start_column);
    region.end_line = signed(lines.end_line);
    region.end_column = signed(lines.end_column);
}

/// The members a rule may have (§3.49).
const RULE: [&str; 14] = [
    "id",
    "deprecatedIds",
    "guid",
    "deprecatedGuids",
    "name",
    "deprecatedNames",
    "shortDescription",
    "fullDescription",
    "messageStrings",
    "defaultConfiguration",
    "helpUri",
    "help",
    "relationships",
    "properties",
];

/// A rule's descriptor, with members the schema does not know moved to its property bag.
pub fn written_rule(rule: &ash_model::finding::Rule) -> Map<String, Value> {
    let known = |(name, _): &(String, Value)| RULE.contains(&name.as_str());
    let (mut descriptor, unknown): (Map<String, Value>, Map<String, Value>) =
        rule.descriptor.clone().into_iter().partition(known);
    descriptor.insert("id".to_owned(), Value::String(rule.id.clone()));
    if !unknown.is_empty()
        && let Value::Object(properties) =
            descriptor.entry("properties").or_insert_with(|| Value::Object(Map::new()))
    {
        for (name, value) in unknown {
            properties.entry(name).or_insert(value);
        }
    }
    descriptor
}

#[cfg(test)]
mod tests {
    use ash_model::{
        ids::ScannerId,
        severity::{Level, Severity},
    };
    use serde_json::json;

    use super::*;

    fn finding() -> Finding {
        Finding {
            scanner: ScannerId::builtin("demo"),
            rule_id: "R".into(),
            severity: Severity::High,
            level: Level::Error,
            message: "m".into(),
            location: None,
            suppressions: vec![Suppression {
                kind: "inSource".into(),
                justification: None,
                counts: false,
            }],
            properties: Map::new(),
            extra: Map::new(),
        }
    }

    fn written(finding: &Finding) -> Value {
        serde_json::to_value(Written { finding, rule: None, properties: &[] }).unwrap()
    }

    #[test]
    fn a_suppression_that_does_not_count_is_written_as_rejected() {
        let mut finding = finding();
        assert_eq!(written(&finding)["suppressions"][0]["status"], "rejected");
        finding.suppressions[0].counts = true;
        assert_eq!(written(&finding)["suppressions"][0]["status"], "accepted");
    }

    #[test]
    fn a_suppressed_finding_is_written_so_that_every_reader_takes_it_for_suppressed() {
        let mut finding = finding();
        finding.suppressions[0].justification = Some("under review".to_owned());
        finding.suppressions.push(Suppression {
            kind: "external".into(),
            justification: Some("agreed".into()),
            counts: true,
        });
        let written = written(&finding);
        assert_eq!(
            written["suppressions"],
            json!([{"kind": "external", "status": "accepted", "justification": "agreed"}])
        );
        assert_eq!(
            written["properties"],
            json!({"ash_suppressions_not_obeyed": [{"kind": "inSource", "status": "rejected", "justification": "under review"}]})
        );
    }

    #[test]
    fn given_properties_replace_the_findings_own() {
        let mut finding = finding();
        finding.properties = Map::from_iter([
            ("a".to_owned(), json!(1)),
            ("scanner_name".to_owned(), json!("claimed")),
        ]);
        let name = json!("demo");
        let written = serde_json::to_value(Written {
            finding: &finding,
            rule: None,
            properties: &[("scanner_name", &name)],
        })
        .unwrap();
        assert_eq!(written["properties"], json!({"a": 1, "scanner_name": "demo"}));
    }

    #[test]
    fn members_no_result_has_go_into_the_property_bag() {
        let mut finding = finding();
        finding.extra =
            Map::from_iter([("invented".to_owned(), json!([1])), ("rank".to_owned(), json!(3.5))]);
        let written = written(&finding);
        assert_eq!(
            (&written["properties"], &written["rank"], written.get("invented")),
            (&json!({"invented": [1]}), &json!(3.5), None)
        );
    }

    #[test]
    fn members_no_rule_has_go_into_its_property_bag() {
        let descriptor = json!({"id": "claimed", "odd": 1}).as_object().cloned().unwrap();
        let rule = ash_model::finding::Rule { id: "R".into(), cvss: None, descriptor };
        assert_eq!(
            Value::Object(written_rule(&rule)),
            json!({"id": "R", "properties": {"odd": 1}})
        );
    }
}
