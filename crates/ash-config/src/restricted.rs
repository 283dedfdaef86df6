//! Settings a repository may not choose about its own scan: versions and configuration of tools that can run code, where reports go,
//! limits looser than the defaults. A file inside the scanned tree that sets one is overruled by what the operator says, or the default.

use std::path::Path;

use ash_model::notice::Notice;

use crate::{
    checkout::Tree,
    schema,
    tree::{Kind, Node, Sources, same_key},
    trust,
    validate::{as_bool, as_number},
};

/// Whether a value from the tree takes effect against the operator's.
type Offends = fn(value: &Node, operators: Option<&Node>) -> bool;

struct Rule {
    /// Keys from the top; `*` stands for any.
    path: &'static [&'static str],
    offends: Offends,
    reason: &'static str,
}

const TOOL_CONFIG: &str = "a tool's configuration can make it run code or look away, so a scanned repository may not choose it";
const LOADS_CODE: &str = "plugins and filters loaded from files run as code, so a scanned repository may not choose them";
const VERSION: &str = "a scanned repository may not choose a tool's version";
const LOOSER: &str = "a scanned repository may shorten a scanner's time limit, not lengthen it";
const SENDS: &str = "a scanned repository may not choose where reports are sent";
const RESOURCES: &str = "a scanned repository may not change what an MCP client or server may do";
const REMOTE: &str = "a scanned repository may not make a tool fetch rules from an address";

const fn rule(path: &'static [&'static str], offends: Offends, reason: &'static str) -> Rule {
    Rule { path, offends, reason }
}

const RULES: &[Rule] = &[
    rule(&["scanners", "*", "tool_version"], set, VERSION),
    rule(&["scanners", "*", "options", "tool_version"], set, VERSION),
    rule(&["scanners", "*", "options", "version"], set, VERSION),
    rule(&["scanners", "*", "options", "scan_timeout"], looser_timeout, LOOSER),
    rule(&["scanners", "*", "options", "config_file"], set, TOOL_CONFIG),
    rule(&["scanners", "trivy", "options", "ignore_file"], set, TOOL_CONFIG),
    rule(&["scanners", "trivy", "options", "secret_config"], set, TOOL_CONFIG),
    rule(&["scanners", "trivy", "options", "module_dir"], set, TOOL_CONFIG),
    rule(&["scanners", "trivy-repo", "options", "ignore_file"], set, TOOL_CONFIG),
    rule(&["scanners", "trivy-repo", "options", "secret_config"], set, TOOL_CONFIG),
    rule(&["scanners", "trivy-repo", "options", "module_dir"], set, TOOL_CONFIG),
    rule(&["scanners", "actionlint", "options", "shellcheck"], switched_on, TOOL_CONFIG),
    rule(&["scanners", "actionlint", "options", "pyflakes"], switched_on, TOOL_CONFIG),
    rule(
        &["scanners", "zizmor", "options", "online_audits"],
        switched_on,
        "a scanned repository may not make a tool go online",
    ),
    rule(&["scanners", "cfn-guard", "options", "rules_paths"], set, TOOL_CONFIG),
    rule(&["scanners", "gitleaks", "options", "baseline_path"], set, TOOL_CONFIG),
    rule(&["scanners", "detect-secrets", "options", "scan_settings"], names_a_file, LOADS_CODE),
    rule(&["scanners", "semgrep", "options", "config"], names_an_address, REMOTE),
    rule(&["scanners", "opengrep", "options", "config"], names_an_address, REMOTE),
    rule(&["reporters", "s3", "*"], set, SENDS),
    rule(&["reporters", "asff", "*"], set, SENDS),
    rule(&["reporters", "aws-security-hub", "*"], set, SENDS),
    rule(&["reporters", "cloudwatch-logs", "*"], set, SENDS),
    rule(&["reporters", "bedrock-summary-reporter", "*"], set, SENDS),
    rule(&["mcp-resource-management"], set, RESOURCES),
    rule(&["global_settings", "mcp"], set, RESOURCES),
];

fn set(value: &Node, _: Option<&Node>) -> bool {
    !value.is_null()
}

fn switched_on(value: &Node, _: Option<&Node>) -> bool {
    !value.is_null() && as_bool(value) != Some(false) && value.text() != Some("")
}

fn looser_timeout(value: &Node, operators: Option<&Node>) -> bool {
    let limit = match operators {
        Some(node) if node.is_null() => return false,
        Some(node) => as_number(node).unwrap_or(schema::SCAN_TIMEOUT),
        None => schema::SCAN_TIMEOUT,
    };
    as_number(value).is_none_or(|seconds| seconds > limit)
}

fn names_a_file(value: &Node, _: Option<&Node>) -> bool {
    value.any_text(&|text| text.to_ascii_lowercase().contains("file:"))
}

fn names_an_address(value: &Node, _: Option<&Node>) -> bool {
    value.any_text(&|text| text.contains("://"))
}

/// Overrules what files of the scanned tree set against the rules: `document` gets the operator's value, or none.
pub(crate) fn confine(
    document: &mut Node,
    operators: &Node,
    sources: &Sources,
    notices: &mut Vec<Notice>,
) {
    for rule in RULES {
        overrule(
            document,
            Some(operators),
            rule.path,
            &mut Vec::new(),
            &mut |keys, value, operators| {
                let same = operators.is_some_and(|node| node.to_value() == value.to_value());
                if same || !(rule.offends)(value, operators) {
                    return false;
                }
                let notice = Notice {
                    file: trust::file_of(sources, value),
                    ..Notice::new(name(keys), rule.reason)
                };
                notices.push(notice.hint(how_to_set(keys)));
                true
            },
        );
    }
}

/// Drops tool configuration that lies inside the scanned tree, whoever named it: the tool would run the repository's code.
pub(crate) fn drop_tool_config_in_tree(
    document: &mut Node,
    tree: &Tree,
    root: &Path,
    sources: &Sources,
    notices: &mut Vec<Notice>,
) {
    for rule in RULES.iter().filter(|rule| [TOOL_CONFIG, LOADS_CODE].contains(&rule.reason)) {
        overrule(document, None, rule.path, &mut Vec::new(), &mut |keys, value, _| {
            let inside = value.any_text(&|text| {
                let file = if rule.reason == LOADS_CODE { addressed(text) } else { Some(text) };
                file.is_some_and(|file| !file.is_empty() && tree.holds(&root.join(file)))
            });
            if inside {
                let reason = "the file lies inside the scanned tree, and a tool's configuration can make it run code or look away";
                let notice = Notice {
                    file: trust::file_of(sources, value),
                    ..Notice::new(name(keys), reason)
                };
                notices.push(notice.hint("name a copy outside the scanned tree"));
            }
            inside
        });
    }
}

/// The file in `file:///a/b.py` and in `file:///a/b.py::function`.
fn addressed(text: &str) -> Option<&str> {
    text.strip_prefix("file://").map(|file| file.split("::").next().unwrap_or(file))
}

/// A key path for people: it may hold words of the file.
fn name(keys: &[String]) -> String {
    ash_model::path::printable(std::ffi::OsStr::new(&keys.join(".")))
}

fn how_to_set(keys: &[String]) -> String {
    let path = keys.join(".");
    if !trust::is_plain(&path) {
        return "set it in a configuration outside the scanned tree".to_owned();
    }
    format!(
        "pass `--config-overrides {path}=…`, or set it in a configuration outside the scanned tree"
    )
}

/// Whether a value goes: its keys from the top, the value, and the operator's.
type Drops<'a> = dyn FnMut(&[String], &Node, Option<&Node>) -> bool + 'a;

/// Visits every value at a path; one that is to be dropped becomes the operator's value, or goes.
fn overrule(
    node: &mut Node,
    operators: Option<&Node>,
    path: &[&str],
    above: &mut Vec<String>,
    drops: &mut Drops<'_>,
) {
    let (Some((key, below)), Kind::Map(entries)) = (path.split_first(), &mut node.kind) else {
        return;
    };
    entries.retain_mut(|entry| {
        if *key != "*" && !same_key(key, &entry.key) {
            return true;
        }
        let operators = operators.and_then(|node| node.get_with_null(&entry.key));
        above.push(entry.key.clone());
        let mut keep = true;
        if !below.is_empty() {
            overrule(&mut entry.value, operators, below, above, drops);
        } else if drops(above, &entry.value, operators) {
            match operators {
                Some(value) => entry.value = value.clone(),
                None => keep = false,
            }
        }
        above.pop();
        keep
    });
}
