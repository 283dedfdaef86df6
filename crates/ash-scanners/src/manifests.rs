//! Kubernetes manifests and Dockerfiles, by content: files of which checkov has something to say, be it that all is well.
//!
//! When one of its loaders fails, checkov leaves the file out without a word. Where it says nothing about such a file, it did not look. YAML
//! is read line by line, as for CloudFormation templates: what is malformed, or odd enough to make checkov's YAML parser give up, is what
//! this is for.

use std::path::Path;

use ash_model::path::RelPath;
use serde_json::Value;

use crate::Site;

/// Larger files are not judged.
const MAX_BYTES: u64 = 8 << 20;
/// Kinds that checkov has rules for, whatever else is in them.
const KINDS: [&str; 8] = [
    "Pod",
    "Deployment",
    "StatefulSet",
    "DaemonSet",
    "Job",
    "CronJob",
    "ReplicaSet",
    "ReplicationController",
];

/// A document of a YAML or JSON file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Document {
    /// Its first and last line; the last document has no end.
    pub(crate) first: i64,
    pub(crate) last: i64,
    /// How many lines too low checkov places it.
    pub(crate) shift: i64,
    /// It is text for a template engine and cannot be deployed as it is.
    pub(crate) is_template: bool,
}

/// The documents of a file of the scan set that describe a workload.
pub(crate) fn workloads(site: &Site<'_>, file: &RelPath) -> Vec<Document> {
    let extension = file.as_path().extension().and_then(|extension| extension.to_str());
    if !matches!(extension, Some("yaml" | "yml" | "json")) {
        return vec![];
    }
    let text = decoded(&site.reader.read(file, MAX_BYTES).unwrap_or_default());
    let mut found = workloads_in(&text);
    let in_chart = is_in_chart(site, file);
    found.iter_mut().for_each(|document| document.is_template |= in_chart);
    found
}

/// Whether checkov takes the file for a Dockerfile, and it has a `FROM`.
pub(crate) fn is_dockerfile(site: &Site<'_>, file: &RelPath) -> bool {
    let name = file.as_path().file_name().unwrap_or_default().to_string_lossy();
    let name = name
        .strip_prefix('D')
        .map_or_else(|| name.to_string(), |rest| format!("d{rest}"))
        .replace(".Dockerfile", ".dockerfile");
    let is_named = name == "dockerfile"
        || name.starts_with("dockerfile.")
        || name.ends_with(".dockerfile")
        || name.contains(".dockerfile.");
    if !is_named || name.to_lowercase().ends_with(".dockerignore") {
        return false;
    }
    let text = decoded(&site.reader.read(file, MAX_BYTES).unwrap_or_default());
    text.lines().any(|line| {
        line.split_whitespace().next().is_some_and(|word| word.eq_ignore_ascii_case("from"))
    })
}

/// The file is a template of a Helm chart, which checkov leaves to Helm.
fn is_in_chart(site: &Site<'_>, file: &RelPath) -> bool {
    let templates =
        file.as_path().ancestors().skip(1).filter(|directory| directory.ends_with("templates"));
    let chart = |directory: &Path| RelPath::new(directory.parent()?.join("Chart.yaml")).ok();
    templates.filter_map(chart).any(|chart| site.files.binary_search(&chart).is_ok())
}

/// Text in UTF-8, or in UTF-16 with its mark.
fn decoded(bytes: &[u8]) -> String {
    let wide = |unit: fn([u8; 2]) -> u16, rest: &[u8]| {
        let units: Vec<u16> = rest.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
        String::from_utf16_lossy(&units)
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => wide(u16::from_le_bytes, rest),
        [0xfe, 0xff, rest @ ..] => wide(u16::from_be_bytes, rest),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}

fn workloads_in(text: &str) -> Vec<Document> {
    if !text.contains("kind") && !text.contains("\\x") && !text.contains("\\u") {
        return vec![];
    }
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        let whole = Document { first: 1, last: i64::MAX, shift: 1, is_template: false };
        return Vec::from_iter(is_json_workload(&value).then_some(whole));
    }
    let shift = i64::from(text.trim_start().starts_with('{'));
    let mut lines = lines(text);
    // After the mark of another document nothing of the last one is looked at.
    lines.push("---");
    let mut found = vec![];
    let mut begin = 0;
    for (number, line) in lines.iter().enumerate() {
        let begins = line
            .strip_prefix("---")
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']));
        if !begins || number == begin {
            continue;
        }
        let own = &lines[begin..number];
        if is_workload(own) {
            let last = if number + 1 == lines.len() { i64::MAX } else { line_number(number) - 1 };
            found.push(Document {
                first: line_number(begin),
                last,
                shift,
                is_template: is_template(own),
            });
        }
        begin = number;
    }
    found
}

fn line_number(index: usize) -> i64 {
    i64::try_from(index).map_or(i64::MAX, |index| index + 1)
}

/// Lines as YAML counts them.
fn lines(text: &str) -> Vec<&str> {
    let mut lines = vec![];
    let mut rest = text;
    while let Some(at) = rest.find(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']) {
        let (line, after) = rest.split_at(at);
        lines.push(line);
        rest = after.strip_prefix("\r\n").unwrap_or_else(|| {
            let mut characters = after.chars();
            characters.next();
            characters.as_str()
        });
    }
    lines.push(rest);
    lines
}

fn is_json_workload(value: &Value) -> bool {
    let kind = value.get("kind").and_then(Value::as_str).unwrap_or_default();
    let of_list = || {
        value
            .get("items")
            .and_then(Value::as_array)
            .is_some_and(|items| items.iter().any(is_json_workload))
    };
    value.get("apiVersion").is_some() && (KINDS.contains(&kind) || kind == "List" && of_list())
}

/// Whether the document has a workload's kind and a version at its top level, or is a list of such.
fn is_workload(lines: &[&str]) -> bool {
    let content = |line: &&&str| {
        !matches!(line.trim_start().chars().next(), None | Some('#' | '%')) && line.trim() != "..."
    };
    let lines: Vec<&str> = lines
        .iter()
        .filter(content)
        .map(|line| line.strip_prefix("---").unwrap_or(line))
        .filter(|line| !line.trim().is_empty())
        .collect();
    let first = lines.iter().find(|line| !line.trim_start().starts_with(['!', '&', '#']));
    let Some(first) = first else { return false };
    let indent = indent(first);
    let top: Vec<(usize, &str)> = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| self::indent(line) == indent)
        .map(|(at, line)| (at, line.trim()))
        .collect();
    if top.iter().any(|(_, line)| line.starts_with(['{', '?'])) {
        return flow_kind(&lines.join("\n"));
    }
    let mut kind = None;
    let mut has_version = false;
    for (at, line) in top {
        let Some((key, value)) = line.split_once(':') else { continue };
        let key = bare(key);
        has_version |= key == "apiVersion" || key.contains('\\');
        if key == "kind" || key.contains('\\') {
            let next = lines.get(at + 1).map_or("", |line| line.trim());
            let value = plain_value(value);
            kind = kind.or(Some(if value.is_empty() || value.starts_with(['|', '>']) {
                plain_value(next)
            } else {
                value
            }));
        }
    }
    match kind {
        Some("List") => flow_kind(&lines.join("\n")),
        // An alias or an escape: nobody writes a kind so who has nothing to hide.
        Some(kind) => {
            has_version && (KINDS.contains(&kind) || kind.starts_with('*') || kind.contains('\\'))
        }
        None => false,
    }
}

/// Whether a key `kind` with a workload as its value is anywhere in the text.
fn flow_kind(text: &str) -> bool {
    text.contains("apiVersion")
        && text.match_indices("kind").any(|(at, word)| {
            let starts = text[..at].chars().next_back().is_none_or(|c| " \t\n{,\"'".contains(c));
            let rest = text[at + word.len()..].trim_start_matches(['"', '\'']).trim_start();
            let Some(value) = rest.strip_prefix(':') else { return false };
            let value = plain_value(value.lines().next().unwrap_or_default());
            let end = value.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(value.len());
            starts && KINDS.contains(&&value[..end])
        })
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

fn bare(text: &str) -> &str {
    let text = text.trim();
    ['"', '\'']
        .iter()
        .find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote))
        .unwrap_or(text)
}

/// A value without its comment, tag, anchor and quotes.
fn plain_value(value: &str) -> &str {
    let mut value = value.split(" #").next().unwrap_or_default().trim();
    while value.starts_with(['!', '&']) {
        value = value.split_once(char::is_whitespace).map_or("", |(_, rest)| rest.trim_start());
    }
    bare(value).trim_start_matches(['"', '\''])
}

/// Whether a template engine has to fill the text in first: a value begins with `{{`, a line with `{%`, or there are braces in the name of
/// the object, none of which Kubernetes takes.
fn is_template(lines: &[&str]) -> bool {
    let mut scalar = None;
    // How far the members of the top-level `metadata` are indented; 0 before the first.
    let mut metadata = None;
    for line in lines.iter().filter(|line| !line.trim().is_empty()) {
        let at = indent(line);
        if scalar.is_some_and(|scalar| at > scalar) {
            continue;
        }
        let text = line.trim();
        // The text of a block scalar is only text.
        scalar = text
            .rsplit([' ', ':'])
            .next()
            .is_some_and(|word| word.starts_with(['|', '>']))
            .then_some(at);
        metadata = match metadata {
            _ if at == 0 => (text == "metadata:").then_some(0),
            Some(0) => Some(at),
            other => other,
        };
        let is_name = metadata == Some(at) && text.starts_with("name:") && text.contains("{{");
        let value = text.trim_start_matches("- ");
        if is_name
            || value.starts_with("{{")
            || value.starts_with("{%")
            || !value.starts_with('#') && value.contains(": {{")
        {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scanners::tests::Tree;

    const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n";

    fn spans(text: &str) -> Vec<(i64, i64)> {
        workloads_in(text).iter().map(|document| (document.first, document.last)).collect()
    }

    #[test]
    fn workloads_are_known_however_they_are_written() {
        let indented = POD.replace('\n', "\n  ");
        for text in [
            POD,
            &format!("  {indented}"),
            &POD.replace('\n', "\r\n"),
            "\"apiVersion\": v1\n'kind' : \"Pod\" # c\n",
            "apiVersion: v1\nkind: !!str &a Pod\n",
            "apiVersion: v1\nkind:\n  Pod\n",
            "apiVersion: v1\nkind: >-\n  Pod\n",
            "a: &k Pod\napiVersion: v1\nkind: *k\n",
            "apiVersion: v1\n\"\\x6bind\": Pod\n",
            "? apiVersion\n: v1\n? kind\n: Pod\n",
            "{apiVersion: v1, kind: Pod, metadata: {name: =}}\n",
            "--- {apiVersion: v1, kind: Pod, metadata: {name: =}}\n",
            "--- !!map\n{apiVersion: v1, kind: Pod, metadata: {name: =}}\n",
            "{\"apiVersion\": \"v1\", \"kind\": \"Pod\"}",
            "{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"broken\"}",
            "{\"apiVersion\": \"v1\", \"kind\": \"List\", \"items\": [{\"apiVersion\": \"v1\", \"kind\": \"Pod\"}]}",
            "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n",
            "# c\n%YAML 1.1\n---\napiVersion: batch/v1\nkind: CronJob\n...\n",
        ] {
            assert_eq!(workloads_in(text).len(), 1, "{text}");
        }
    }

    #[test]
    fn other_documents_are_no_workloads() {
        for text in [
            "",
            "kind: Pod\n",
            "apiVersion: v1\nkind: Service\n",
            "apiVersion: v1\nkind: ConfigMap\ndata:\n  a: |\n    apiVersion: v1\n    kind: Pod\n",
            "apiVersion: autoscaling/v1\nkind: HorizontalPodAutoscaler\nspec:\n  scaleTargetRef:\n    apiVersion: apps/v1\n    kind: Deployment\n",
            "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\npatches:\n- target:\n    kind: Deployment\n",
            "{\"apiVersion\": \"v1\", \"kind\": \"List\", \"items\": [{\"apiVersion\": \"v1\", \"kind\": \"Service\"}]}",
            "{\"apiVersion\": \"v1\", \"kind\": \"Service\", \"of\": {\"apiVersion\": \"v1\", \"kind\": \"Pod\"}}",
            "apiVersion: v1\nkind: Podcast\n",
        ] {
            assert_eq!(workloads_in(text), [], "{text}");
        }
    }

    #[test]
    fn each_document_has_its_lines() {
        assert_eq!(spans(&format!("{POD}---\na: [\n--- # c\n{POD}")), [(1, 3), (6, i64::MAX)]);
        assert_eq!(spans(&format!("# a\u{85}b\u{2028}\r\n---\n{POD}")), [(4, i64::MAX)]);
    }

    #[test]
    fn a_template_is_told_from_a_manifest_that_speaks_of_one() {
        let is_template = |more: &str| workloads_in(&format!("{POD}{more}"))[0].is_template;
        for more in [
            "a: {{ b }}\n",
            "{{- if a }}\nb: c\n{{- end }}\n",
            "a:\n  - {{ b }}\n",
            "{% if a %}\n",
            "metadata:\n  labels:\n    a: b\n  name: a-{{ b }}\n",
        ] {
            assert!(is_template(more), "{more}");
        }
        for more in [
            "",
            "# {{ a }}\n",
            "a: '{{ b }}'\n",
            "a: b-{{ c }}\n",
            "a: |-\n  {{ b }}\n  c: {{ d }}\n",
            "metadata:\n  labels:\n    name: '{{ a }}'\n",
            "spec:\n  name: '{{ a }}'\n",
        ] {
            assert!(!is_template(more), "{more}");
        }
    }

    #[test]
    fn a_template_of_a_chart_is_one_whatever_it_looks_like() {
        let mut tree = Tree::new(&["chart/Chart.yaml"]);
        for (name, is_template) in [
            ("chart/templates/x/pod.yaml", true),
            ("templates/pod.yaml", false),
            ("chart/pod.yaml", false),
        ] {
            tree.put(name, POD.as_bytes());
            let file = RelPath::new(name).unwrap();
            assert_eq!(
                tree.site(|site| workloads(site, &file)[0].is_template),
                is_template,
                "{name}"
            );
        }
    }

    #[test]
    fn dockerfiles_are_known_by_their_name_and_a_from() {
        let wide: Vec<u8> = "\u{feff}FROM a\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let mut tree = Tree::new(&[]);
        for (name, bytes, expected) in [
            ("Dockerfile", &b"# \xff\nfrom a\n"[..], true),
            ("a.Dockerfile", b"FROM a\n", true),
            ("x/Dockerfile.dev", &wide, true),
            ("a.dockerfile.b", b"FROM a\n", true),
            ("Dockerfile.dockerignore", b"FROM a\n", false),
            ("Dockerfiles", b"FROM a\n", false),
            ("dockerfile", b"# FROM a\n", false),
        ] {
            tree.put(name, bytes);
            let file = RelPath::new(name).unwrap();
            assert_eq!(tree.site(|site| is_dockerfile(site, &file)), expected, "{name}");
        }
    }
}
