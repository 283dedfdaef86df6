//! From a finding back to a SARIF result.

use ash_model::finding::{Finding, Suppression};
use serde_json::{Map, Value};

use crate::log::{
    self, ArtifactLocation, Location, Message, PhysicalLocation, SarifResult, Snippet,
};

/// The SARIF result of a finding: its fields, and every other member the tool wrote. `ruleIndex` and `rule` are left to the writer of the
/// run, who knows where the rule is.
pub fn from_finding(finding: &Finding) -> SarifResult {
    let mut extra = finding.extra.clone();
    let message = Message {
        text: Some(finding.message.clone()),
        extra: object(extra.shift_remove("message")),
        ..Message::default()
    };
    let mut locations: Vec<Location> = extra
        .shift_remove("locations")
        .and_then(|kept| serde_json::from_value(kept).ok())
        .unwrap_or_default();
    if let Some(location) = &finding.location {
        if locations.is_empty() {
            locations.push(Location::default());
        }
        place(&mut locations[0], location);
    }
    let kind = extra.shift_remove("kind").and_then(|kind| kind.as_str().map(str::to_owned));
    SarifResult {
        rule_id: Some(finding.rule_id.clone()),
        kind,
        level: Some(finding.level.name().to_owned()),
        message,
        locations: (!locations.is_empty()).then_some(locations),
        suppressions: (!finding.suppressions.is_empty())
            .then(|| finding.suppressions.iter().map(suppression).collect()),
        properties: (!finding.properties.is_empty()).then(|| finding.properties.clone()),
        extra,
        ..SarifResult::default()
    }
}

/// The finding's own location wins over the one the tool wrote: it may have been corrected since.
fn place(kept: &mut Location, location: &ash_model::finding::Location) {
    let physical = kept.physical_location.get_or_insert_with(PhysicalLocation::default);
    physical.artifact_location =
        Some(ArtifactLocation { uri: Some(location.path.to_uri()), ..ArtifactLocation::default() });
    let Some(lines) = &location.region else { return };
    let signed = |number: Option<u64>| number.and_then(|number| i64::try_from(number).ok());
    let region = physical.region.get_or_insert_with(log::Region::default);
    region.start_line = signed(Some(lines.start_line));
    region.start_column = signed(lines.start_column);
    region.end_line = signed(lines.end_line);
    region.end_column = signed(lines.end_column);
    if let Some(text) = &location.snippet {
        region.snippet.get_or_insert_with(Snippet::default).text = Some(text.clone());
    }
}

/// One that ash does not obey is written as rejected, so that no reader of the report obeys it either.
fn suppression(suppression: &Suppression) -> log::Suppression {
    log::Suppression {
        kind: Some(suppression.kind.clone()),
        status: Some(if suppression.counts { "accepted" } else { "rejected" }.to_owned()),
        justification: suppression.justification.clone(),
        extra: Map::new(),
    }
}

fn object(value: Option<Value>) -> Map<String, Value> {
    match value {
        Some(Value::Object(members)) => members,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use ash_model::{
        ids::ScannerId,
        severity::{Level, Severity},
    };

    use super::*;

    #[test]
    fn a_suppression_that_does_not_count_is_written_as_rejected() {
        let mut finding = Finding {
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
        };
        let status = |finding: &Finding| {
            from_finding(finding).suppressions.unwrap()[0].status.clone().unwrap()
        };
        assert_eq!(status(&finding), "rejected");
        finding.suppressions[0].counts = true;
        assert_eq!(status(&finding), "accepted");
    }
}
