//! `ash.gl-dependency-scanning-report.cdx.json`: the SBOM with the properties GitLab's dependency scanning looks for.

use std::{collections::BTreeMap, io};

use ash_model::report::ScanReport;
use serde_json::{Map, Value, json};

use crate::{Reporter, json};

/// GitLab's name of a package manager and of its language, by the type in a package URL.
const ECOSYSTEMS: [(&str, &str, &str); 10] = [
    ("npm", "npm", "JavaScript"),
    ("pypi", "pip", "Python"),
    ("gem", "bundler", "Ruby"),
    ("golang", "go", "Go"),
    ("maven", "maven", "Java"),
    ("composer", "composer", "PHP"),
    ("nuget", "nuget", "C#"),
    ("cargo", "cargo", "Rust"),
    ("conan", "conan", "C++"),
    ("swift", "swift", "Swift"),
];

/// The SBOM for GitLab.
#[derive(Debug)]
pub(crate) struct GitlabCycloneDx;

impl Reporter for GitlabCycloneDx {
    fn id(&self) -> &'static str {
        "gitlab-cyclonedx"
    }

    fn file_name(&self) -> &'static str {
        "reports/ash.gl-dependency-scanning-report.cdx.json"
    }

    fn render(&self, report: &ScanReport, out: &mut dyn io::Write) -> io::Result<()> {
        let empty = || json!({"bomFormat": "CycloneDX", "specVersion": "1.4", "version": 1, "components": []});
        let mut sbom = report.sbom.clone().unwrap_or_else(empty);
        let properties = properties(&sbom);
        if let Value::Object(document) = &mut sbom {
            let metadata = document.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(metadata) = metadata {
                let kept = metadata
                    .get("properties")
                    .and_then(Value::as_array)
                    .cloned()
                    .unwrap_or_default();
                metadata
                    .insert("properties".to_owned(), kept.into_iter().chain(properties).collect());
            }
        }
        json::write(out, &sbom)
    }
}

/// What GitLab asks for. A document has one package manager and one input file, so those with the most components are named.
fn properties(sbom: &Value) -> Vec<Value> {
    let components = || sbom.get("components").and_then(Value::as_array).into_iter().flatten();
    let mut properties = vec![property("meta:schema_version", "1")];
    if components().next().is_none() {
        return properties;
    }
    properties.push(property("dependency_scanning:category", "production"));
    let is_known = |kind: &&str| ECOSYSTEMS.iter().any(|(name, ..)| name == kind);
    let ecosystem = most_common(components().filter_map(kind).filter(is_known));
    if let Some((_, manager, language)) =
        ECOSYSTEMS.iter().find(|(name, ..)| Some(*name) == ecosystem)
    {
        properties.push(property("dependency_scanning:package_manager:name", manager));
        properties.push(property("dependency_scanning:language:name", language));
    }
    if let Some(path) = most_common(
        components().filter(|component| kind(component) == ecosystem).filter_map(input_file),
    ) {
        properties
            .push(property("dependency_scanning:input_file:path", path.trim_start_matches('/')));
    }
    properties
}

/// The type in a component's package URL.
fn kind(component: &Value) -> Option<&str> {
    component.get("purl")?.as_str()?.strip_prefix("pkg:")?.split('/').next()
}

/// Where syft found a component.
fn input_file(component: &Value) -> Option<&str> {
    let properties = component.get("properties")?.as_array()?;
    properties
        .iter()
        .find(|property| {
            property.get("name").and_then(Value::as_str) == Some("syft:location:0:path")
        })?
        .get("value")?
        .as_str()
}

fn property(name: &str, value: &str) -> Value {
    json!({"name": format!("gitlab:{name}"), "value": value})
}

/// The most common text; of several, the first in order.
fn most_common<'a>(texts: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    texts.for_each(|text| *counts.entry(text).or_default() += 1);
    counts.into_iter().rev().max_by_key(|(_, count)| *count).map(|(text, _)| text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn rendered(sbom: Option<Value>) -> Value {
        let report = ScanReport { sbom, ..sample::hostile() };
        let mut bytes = Vec::new();
        GitlabCycloneDx.render(&report, &mut bytes).unwrap();
        serde_json::from_slice(&bytes).unwrap()
    }

    #[test]
    fn the_most_common_package_manager_and_file_are_named() {
        let component = |purl: &str, path: &str| json!({"purl": purl, "properties": [{"name": "syft:location:0:path", "value": path}]});
        let actions = ["a", "b", "c"]
            .map(|name| component(&format!("pkg:github/{name}@v1"), "/.github/workflows/ci.yml"));
        let components = [
            component("pkg:pypi/a@1", "/requirements.txt"),
            component("pkg:npm/b@1", "/web/package-lock.json"),
            component("pkg:npm/c@1", "/web/package-lock.json"),
        ];
        let sbom = rendered(Some(
            json!({"components": components.iter().chain(&actions).collect::<Vec<_>>(), "metadata": {"properties": [{"name": "own", "value": "x"}]}}),
        ));
        let properties: Vec<_> = sbom["metadata"]["properties"]
            .as_array()
            .unwrap()
            .iter()
            .map(|p| (p["name"].as_str().unwrap(), p["value"].as_str().unwrap()))
            .collect();
        assert_eq!(
            properties,
            [
                ("own", "x"),
                ("gitlab:meta:schema_version", "1"),
                ("gitlab:dependency_scanning:category", "production"),
                ("gitlab:dependency_scanning:package_manager:name", "npm"),
                ("gitlab:dependency_scanning:language:name", "JavaScript"),
                ("gitlab:dependency_scanning:input_file:path", "web/package-lock.json"),
            ]
        );
    }

    #[test]
    fn without_an_sbom_it_is_the_smallest_document_gitlab_takes() {
        let expected = json!({"bomFormat": "CycloneDX", "specVersion": "1.4", "version": 1, "components": [], "metadata": {"properties": [{"name": "gitlab:meta:schema_version", "value": "1"}]}});
        assert_eq!(rendered(None), expected);
    }
}
