//! Members of a result that ash only hands on. The bulky ones are kept as JSON text: as values, the nested objects of one code flow take
//! more memory than the finding itself.

use serde_json::{Map, Value};

use crate::{
    locate::Locator,
    log::{self, ArtifactLocation, SarifResult},
};

/// Members kept as text. SARIF has no text in these places, so a text is always a packed one.
const PACKED: [&str; 9] = [
    "locations",
    "relatedLocations",
    "codeFlows",
    "stacks",
    "graphs",
    "graphTraversals",
    "fixes",
    "attachments",
    "analysisTarget",
];

/// Whether a member is kept as text.
pub(crate) fn is_packed(name: &str) -> bool {
    PACKED.contains(&name)
}

/// Every member of a result that a finding has no field for. `is_placed`: the first location became the finding's own.
pub(crate) fn members(
    result: SarifResult,
    is_placed: bool,
    locator: &Locator<'_>,
) -> Map<String, Value> {
    let mut kept = result.extra;
    if let Some(kind) = result.kind.filter(|kind| kind != "fail") {
        kept.insert("kind".to_owned(), Value::String(kind));
    }
    if !result.message.extra.is_empty() {
        kept.insert("message".to_owned(), Value::Object(result.message.extra));
    }
    if let Some(locations) = result.locations.and_then(|locations| remaining(locations, is_placed))
    {
        kept.insert("locations".to_owned(), locations);
    }
    // Many tools write every list, most of them empty.
    kept.retain(|_, value| {
        !value.is_null() && value.as_array().is_none_or(|items| !items.is_empty())
    });
    for (name, value) in &mut kept {
        locator.rewrite(value);
        if is_packed(name) {
            *value = Value::String(value.to_string());
        }
    }
    kept
}

/// The locations without what the finding says itself.
fn remaining(mut locations: Vec<log::Location>, is_placed: bool) -> Option<Value> {
    if let Some(first) = locations.first_mut().filter(|_| is_placed) {
        strip(first);
    }
    if locations.iter().all(|location| *location == log::Location::default()) {
        return None;
    }
    serde_json::to_value(locations).ok()
}

fn strip(location: &mut log::Location) {
    let Some(mut physical) = location.physical_location.take() else { return };
    if let Some(mut artifact) = physical.artifact_location.take() {
        (artifact.uri, artifact.uri_base_id, artifact.index) = (None, None, None);
        physical.artifact_location =
            Some(artifact).filter(|artifact| *artifact != ArtifactLocation::default());
    }
    if let Some(region) = physical.region.take() {
        let snippet = region
            .snippet
            .map(|snippet| log::Snippet { text: None, ..snippet })
            .filter(|snippet| *snippet != log::Snippet::default());
        let region = log::Region { snippet, extra: region.extra, ..log::Region::default() };
        physical.region = Some(region).filter(|region| *region != log::Region::default());
    }
    location.physical_location =
        Some(physical).filter(|physical| **physical != log::PhysicalLocation::default());
}
