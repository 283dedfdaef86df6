//! Turns a checked document into settings. Nothing here can fail: what could be wrong was found before.

use std::{collections::BTreeMap, time::Duration};

use ash_model::severity::Threshold;
use serde_json::{Map, Value, json};

use crate::{
    schema::{self, Field, Shape},
    settings::{
        IgnorePath, PackageRule, ReporterSettings, SandboxSettings, ScannerSettings, Settings,
        Staleness, StalenessOverride, SuppressionRule,
    },
    tree::{Entry, Kind, Node, normal, same_key},
    validate::{as_bool, as_int, as_number},
};

/// What the document alone does not say.
pub(crate) struct Context<'a> {
    pub(crate) sandbox: SandboxSettings,
    /// Whether a file of the tree took part.
    pub(crate) in_tree: bool,
    /// What the operator says without the tree.
    pub(crate) operators: &'a Node,
    /// `ASH_PROJECT_NAME`.
    pub(crate) project_name: Option<String>,
    /// `ASH_DEFAULT_SEVERITY_LEVEL`.
    pub(crate) threshold: Option<Threshold>,
}

/// Builds the settings.
pub(crate) fn settings(document: &Node, context: Context<'_>) -> Settings {
    let defaults = Settings::default();
    let flag = |node: &Node, key: &str| node.get(key).and_then(as_bool);
    let fail_on_incomplete = flag(document, "fail_on_incomplete_scanners").unwrap_or(true);
    let operators = context.operators;
    let global = |key: &str| document.at_path(&["global_settings", key]);
    let threshold =
        global("severity_threshold").and_then(threshold).or(context.threshold).unwrap_or_default();
    let same =
        |key: &str| document.get(key).map(Node::to_value) == operators.get(key).map(Node::to_value);
    let mut settings = Settings {
        project_name: text(document, "project_name")
            .or(context.project_name)
            .unwrap_or(defaults.project_name),
        fail_on_findings: flag(document, "fail_on_findings").unwrap_or(true),
        fail_on_incomplete,
        threshold,
        scanners: named(document, "scanners", scanner),
        reporters: named(document, "reporters", |key, node| {
            reporter(node, schema::REPORTERS.options_of(key))
        }),
        converters: named(document, "converters", |_, node| reporter(node, None)),
        ignore_paths: items(global("ignore_paths"), ignore_path),
        suppressions: items(global("suppressions"), suppression),
        sandbox: context.sandbox,
        resolved: Map::new(),
        incomplete_rule_is_in_tree: context.in_tree
            && !fail_on_incomplete
            && flag(operators, "fail_on_incomplete_scanners") != Some(false),
        staleness: document.get("content_db_staleness").map_or(Staleness::Fail, staleness),
        staleness_is_in_tree: context.in_tree
            && !(same("content_db_staleness") && same("content_db_staleness_overrides")),
        staleness_overrides: items(
            document.get("content_db_staleness_overrides"),
            staleness_override,
        ),
        external_reports: texts(document.get("external_reports_to_include")),
        max_parallel_projects: document
            .at_path(&["workspace", "max_parallel_projects"])
            .and_then(as_int)
            .and_then(|n| u32::try_from(n).ok()),
        project_timeout: document.at_path(&["workspace", "project_timeout"]).and_then(seconds),
        config_in_tree: context.in_tree,
    };
    settings.resolved = resolved(document, &settings);
    settings
}

fn text(node: &Node, key: &str) -> Option<String> {
    node.get(key).and_then(Node::text).map(str::to_owned)
}

fn texts(list: Option<&Node>) -> Vec<String> {
    list.map(Node::items)
        .unwrap_or_default()
        .iter()
        .filter_map(Node::text)
        .map(str::to_owned)
        .collect()
}

fn items<T>(list: Option<&Node>, one: fn(&Node) -> T) -> Vec<T> {
    list.map(Node::items).unwrap_or_default().iter().map(one).collect()
}

fn seconds(node: &Node) -> Option<Duration> {
    as_number(node).and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
}

fn threshold(node: &Node) -> Option<Threshold> {
    node.text().and_then(Threshold::parse)
}

fn staleness(node: &Node) -> Staleness {
    if node.text() == Some("warn") { Staleness::Warn } else { Staleness::Fail }
}

/// Plugins by their kebab-case name.
fn named<T>(document: &Node, section: &str, one: fn(&str, &Node) -> T) -> BTreeMap<String, T> {
    let entries = document.get(section).map(Node::entries).unwrap_or_default();
    entries.iter().map(|entry| (kebab(&entry.key), one(&entry.key, &entry.value))).collect()
}

fn kebab(name: &str) -> String {
    name.replace('_', "-")
}

fn scanner(key: &str, node: &Node) -> ScannerSettings {
    let options = node.get("options");
    let timeout = options.and_then(|options| options.get_with_null("scan_timeout"));
    let mut others = option_map(options, schema::SCANNERS.options_of(key));
    others.remove("severity_threshold");
    others.remove("scan_timeout");
    ScannerSettings {
        enabled: node.get("enabled").and_then(as_bool),
        threshold: options
            .and_then(|options| options.get("severity_threshold"))
            .and_then(threshold),
        scan_timeout: timeout.map(seconds),
        options: others,
        renamed: text(node, "name").filter(|name| !same_key(name, key)),
        narrowed: None,
    }
}

fn reporter(node: &Node, fields: Option<Vec<Field>>) -> ReporterSettings {
    ReporterSettings {
        enabled: node.get("enabled").and_then(as_bool),
        options: option_map(node.get("options"), fields),
    }
}

/// Options with their keys in snake case and, where the option is known, its value in the one form readers know.
fn option_map(options: Option<&Node>, fields: Option<Vec<Field>>) -> Map<String, Value> {
    let fields = fields.unwrap_or_default();
    let value = |entry: &Entry| {
        let field = fields.iter().find(|field| same_key(field.key, &entry.key));
        field.map_or_else(|| entry.value.to_value(), |field| canonical(&entry.value, &field.shape))
    };
    let entries = options.map(Node::entries).unwrap_or_default();
    entries.iter().map(|entry| (normal(&entry.key), value(entry))).collect()
}

fn ignore_path(node: &Node) -> IgnorePath {
    IgnorePath {
        path: text(node, "path").unwrap_or_default(),
        reason: text(node, "reason").unwrap_or_default(),
        expiration: text(node, "expiration"),
    }
}

fn suppression(node: &Node) -> SuppressionRule {
    let line = |key: &str| node.get(key).and_then(as_int).and_then(|line| u64::try_from(line).ok());
    SuppressionRule {
        path: text(node, "path").unwrap_or_default(),
        reason: text(node, "reason").unwrap_or_default(),
        rule_id: text(node, "rule_id"),
        line_start: line("line_start"),
        line_end: line("line_end"),
        expiration: text(node, "expiration"),
        symbol: text(node, "symbol"),
        package: PackageRule {
            name: text(node, "package_name"),
            version: text(node, "package_version"),
            path: text(node, "package_path"),
        },
    }
}

fn staleness_override(node: &Node) -> StalenessOverride {
    StalenessOverride {
        database: text(node, "database").unwrap_or_default(),
        policy: node.get("policy").map_or(Staleness::Fail, staleness),
        expiration: text(node, "expiration").unwrap_or_default(),
        reason: text(node, "reason").unwrap_or_default(),
    }
}

/// The configuration in force as data: canonical keys, defaults filled in, the sandbox after the trust rules.
fn resolved(document: &Node, settings: &Settings) -> Map<String, Value> {
    let mut map = canonical_section(document, schema::ROOT);
    map.insert("project_name".to_owned(), json!(settings.project_name));
    map.insert("fail_on_findings".to_owned(), json!(settings.fail_on_findings));
    map.insert("fail_on_incomplete_scanners".to_owned(), json!(settings.fail_on_incomplete));
    map.insert(
        "content_db_staleness".to_owned(),
        json!(if settings.staleness == Staleness::Warn { "warn" } else { "fail" }),
    );
    let global = map.entry("global_settings").or_insert_with(|| json!({}));
    if let Value::Object(global) = global {
        global.insert("severity_threshold".to_owned(), json!(settings.threshold.name()));
    }
    let sandbox = &settings.sandbox;
    let mut section = json!({
        "mode": sandbox.mode.as_deref().unwrap_or("off"),
        "network_scanners": sandbox.network.granted,
        "extra_read_paths": sandbox.extra_read_paths.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>(),
    });
    if let (Some(limit), Value::Object(section)) = (&sandbox.network.limit, &mut section) {
        section.insert("network_limit".to_owned(), json!(limit));
    }
    map.insert("sandbox".to_owned(), section);
    map
}

fn canonical_section(node: &Node, fields: &[Field]) -> Map<String, Value> {
    let entries = node.entries().iter().filter(|entry| !entry.value.is_null());
    let pairs =
        entries.map(|entry| match fields.iter().find(|field| same_key(field.key, &entry.key)) {
            Some(field) => (field.key.to_owned(), canonical(&entry.value, &field.shape)),
            None => (entry.key.clone(), entry.value.to_value()),
        });
    pairs.collect()
}

fn canonical(node: &Node, shape: &Shape) -> Value {
    match (shape, &node.kind) {
        (_, Kind::Null) => Value::Null,
        (Shape::Bool, _) => as_bool(node).map_or_else(|| node.to_value(), Value::Bool),
        (Shape::Int(..), _) => as_int(node).map_or_else(|| node.to_value(), Value::from),
        (Shape::Number(..), _) if node.text().is_some() => {
            as_number(node).map_or_else(|| node.to_value(), Value::from)
        }
        (Shape::Section(fields), Kind::Map(_)) => Value::Object(canonical_section(node, fields)),
        (Shape::List(item), Kind::List(items)) => {
            items.iter().map(|node| canonical(node, item)).collect()
        }
        (Shape::Named(names), Kind::Map(entries)) => {
            let pairs = entries
                .iter()
                .map(|entry| (kebab(&entry.key), canonical(&entry.value, &names.entry)));
            Value::Object(pairs.collect())
        }
        _ => node.to_value(),
    }
}
