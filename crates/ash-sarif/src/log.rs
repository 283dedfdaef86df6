//! The objects of a SARIF log that ash looks into. Every object keeps the members it has no field for in `extra`.
//!
//! Boxes keep the many lists of one element small. Fields are optional wherever a tool is known to leave them out or write `null`: a missing detail costs the detail, not the finding.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

type Extra = Map<String, Value>;

/// A whole log (§3.13).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Log {
    /// `2.1.0`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The runs. A log without them says nothing about what was scanned, so they are required.
    pub runs: Vec<Run>,
    /// Everything else.
    #[serde(flatten)]
    pub extra: Extra,
}

/// One run of one tool (§3.14).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// The tool.
    #[serde(default)]
    pub tool: Tool,
    /// What it found. `null` means that it could not start its scan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results: Option<Vec<SarifResult>>,
    /// Files that results may refer to by index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<Vec<Value>>,
    /// What the `uriBaseId`s stand for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_uri_base_ids: Option<Map<String, Value>>,
    /// How it was run, with what went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invocations: Option<Vec<Value>>,
    /// Everything else.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A tool: its driver and its extensions (§3.18).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// The tool itself.
    #[serde(default)]
    pub driver: ToolComponent,
    /// Plug-ins and rule packs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Vec<ToolComponent>>,
    /// Everything else.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A driver or an extension (§3.19).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolComponent {
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its version, as it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Its version as semantic versioning has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub semantic_version: Option<String>,
    /// Its rules, each a `reportingDescriptor`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<Vec<Map<String, Value>>>,
    /// Messages shared by its rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub global_message_strings: Option<Map<String, Value>>,
    /// Everything else.
    #[serde(flatten)]
    pub extra: Extra,
}

/// One result (§3.27).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SarifResult {
    /// The rule's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule_id: Option<String>,
    /// Where the rule is in its component; -1 when it is in none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule_index: Option<i64>,
    /// The rule, when it is not the driver's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Box<RuleReference>>,
    /// `fail` unless it says otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// `none`, `note`, `warning` or `error`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
    /// What it says.
    #[serde(default)]
    pub message: Message,
    /// Where.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locations: Option<Vec<Location>>,
    /// Why it should not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suppressions: Option<Vec<Suppression>>,
    /// The property bag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub properties: Option<Map<String, Value>>,
    /// Everything else.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A `reportingDescriptorReference` (§3.52).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleReference {
    /// The rule's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its place in the component.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<i64>,
    /// The component: `index` into the extensions, or `name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_component: Option<Map<String, Value>>,
    /// Everything else.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A message (§3.11).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// The text, perhaps with placeholders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Which of the rule's `messageStrings` it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What the placeholders stand for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Vec<Value>>,
    /// Everything else.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A location (§3.28).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Location {
    /// The file and the lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub physical_location: Option<Box<PhysicalLocation>>,
    /// Everything else.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A physical location (§3.29).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PhysicalLocation {
    /// The file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact_location: Option<ArtifactLocation>,
    /// The lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<Region>,
    /// The lines around it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_region: Option<Box<Region>>,
    /// Everything else.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Where a file is (§3.4).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ArtifactLocation {
    /// A URI, absolute or relative; many tools write a plain path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// What a relative URI is relative to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri_base_id: Option<String>,
    /// Its place in the run's `artifacts`; -1 when it is not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<i64>,
    /// Everything else.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A span of a file (§3.30). Numbers are signed because tools write -1 for "none".
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Region {
    /// First line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_line: Option<i64>,
    /// First column, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_column: Option<i64>,
    /// Last line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_line: Option<i64>,
    /// Column after the last character.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_column: Option<i64>,
    /// The lines themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snippet: Option<Snippet>,
    /// Everything else.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The content of a region (§3.3).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Snippet {
    /// As text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Everything else.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A suppression (§3.35).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Suppression {
    /// `inSource` or `external`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// `accepted` (also when absent), `underReview` or `rejected`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// The reason given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub justification: Option<String>,
    /// Everything else.
    #[serde(flatten)]
    pub extra: Extra,
}
