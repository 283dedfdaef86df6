//! Which files are CloudFormation templates: by content, since nothing in their names says so.
//!
//! A template has a top-level `Resources` whose entries have a `Type` such as `AWS::S3::Bucket`. Names may be spelled with escapes and
//! the text laid out in many ways, so a text with these words in it is parsed. Where the parsers give up, the linter's may not: then the
//! text is read line by line. The test errs on the side of yes: the linter has the last word about what it is given.

mod structure;

use ash_model::path::RelPath;
use serde_json::Value;

use crate::{Site, escapes};

/// CloudFormation refuses templates above 1 MB.
const MAX_BYTES: u64 = 4 * 1024 * 1024;
/// A key at the top of templates.
const VERSION: &str = "AWSTemplateFormatVersion";

/// The templates among the scanned files, in order.
pub(crate) fn templates<'s>(site: &Site<'s>) -> Vec<&'s RelPath> {
    let is_candidate = |file: &&RelPath| {
        file.as_path().extension().is_some_and(|extension| {
            ["json", "yaml", "yml", "template"].iter().any(|known| extension == *known)
        })
    };
    let is_template = |file: &&RelPath| {
        site.reader.read(file, MAX_BYTES).is_some_and(|bytes| is_template(&bytes))
    };
    site.files.iter().filter(is_candidate).filter(is_template).collect()
}

fn is_template(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes));
    let plain = escapes::undone(&text);
    // Cheap, and true for nearly every file that is none.
    if !plain.contains("Resources") || !plain.contains("::") {
        return false;
    }
    let is_json = text.trim_start().starts_with('{');
    if is_json && serde_json::from_str(&text).is_ok_and(|value: Value| is_json_template(&value)) {
        return true;
    }
    match structure::has_template(&with_line_breaks(&text)) {
        Some(true) => true,
        Some(false) if is_json => false,
        // A YAML flow mapping, or JSON the linter should complain about.
        None if is_json => serde_json::from_str::<Value>(&text).is_err() && type_in(&plain),
        _ => is_yaml_template(&with_line_breaks(&plain)),
    }
}

fn is_json_template(value: &Value) -> bool {
    value.get("Resources").is_some_and(|resources| {
        resources.is_object() && (has_type(resources) || value.get(VERSION).is_some())
    })
}

fn has_type(value: &Value) -> bool {
    match value {
        Value::Object(members) => {
            members.get("Type").and_then(Value::as_str).is_some_and(is_type)
                || members.values().any(has_type)
        }
        Value::Array(items) => items.iter().any(has_type),
        _ => false,
    }
}

/// `AWS::S3::Bucket`, `Custom::My-Thing`.
fn is_type(text: &str) -> bool {
    text.contains("::")
        && text.split("::").all(|part| !part.is_empty() && part.bytes().all(in_type))
}

fn in_type(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_@-".contains(&byte)
}

/// Every line break of YAML 1.1, which the linter reads, as the one of YAML 1.2.
fn with_line_breaks(text: &str) -> String {
    text.replace("\r\n", "\n").replace(['\r', '\u{85}', '\u{2028}', '\u{2029}'], "\n")
}

/// Looks for a type below a key `Resources` of the outermost mapping.
fn is_yaml_template(text: &str) -> bool {
    let mut inside = false;
    let mut outermost = None;
    for line in text.lines() {
        // A document may begin behind its marker.
        let line = line.strip_prefix("---").map_or(line, |rest| {
            outermost = None;
            rest
        });
        let content = line.trim_start();
        if content.is_empty() || content.starts_with(['#', '%']) {
            continue;
        }
        let column = line.len() - content.len();
        let outermost = *outermost.get_or_insert(column);
        if column > outermost {
            if inside && type_in(line) {
                return true;
            }
            continue;
        }
        // Anything else as far to the left ends the mapping before it.
        match key_value(content) {
            Some(("Resources", rest)) => {
                inside = true;
                if type_in(rest) {
                    return true;
                }
            }
            // The closing brackets of a flow mapping may stand there.
            _ if inside && content.starts_with(['}', ']']) => {}
            _ => inside = false,
        }
    }
    false
}

/// `key: value` with or without quotes round the key.
fn key_value(line: &str) -> Option<(&str, &str)> {
    let (key, rest) = line.split_once(':')?;
    let key = key.trim_end();
    let bare = ['"', '\''].iter().find_map(|quote| key.strip_prefix(*quote)?.strip_suffix(*quote));
    Some((bare.unwrap_or(key), rest))
}

/// Whether a piece of YAML has a key `Type` with a resource type as its value, anywhere.
fn type_in(text: &str) -> bool {
    text.match_indices("Type").any(|(position, word)| {
        let before = text[..position].chars().next_back();
        if before.is_some_and(|c| !" \t\n{,\"'".contains(c)) {
            return false;
        }
        let rest = text[position + word.len()..].trim_start_matches(['"', '\'']).trim_start();
        let Some(value) = rest.strip_prefix(':') else { return false };
        let value = value.trim_start().trim_start_matches(['"', '\'']);
        let in_value = |byte: &u8| *byte == b':' || in_type(*byte);
        let end = value.bytes().take_while(in_value).count();
        is_type(value[..end].trim_end_matches(':'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_known_by_their_resources() {
        for text in [
            "Resources:\n  A:\n    Type: AWS::S3::Bucket\n",
            "AWSTemplateFormatVersion: '2010-09-09'\r\nResources:\r\n  A:\r\n    Type: 'AWS::S3::Bucket'\r\n",
            "# c\n---\n\"Resources\" :\n  A:\n    Properties: {X: !Sub 'a'}\n    Type: Custom::Thing # c\n",
            "Resources: {A: {Type: AWS::SNS::Topic}}\n",
            "Resources:\n\n  # c\n  A: { \"Type\": \"AWS::SNS::Topic\" }\n",
            "Resources:\n  A:\n    Type: AWS::S3::Bucket\n  broken: [\n",
            "\u{feff}Resources:\n  A:\n    Type: AWS::S3::Bucket\n",
            "{\"Resources\": {\"A\": {\"Type\": \"AWS::S3::Bucket\"}}}",
            "{\"Resources\": {\"A\": {\"Type\": \"AWS::S3::Bucket\"}}, \"broken\": ",
            "Parameters:\n  P:\n    Type: String\nResources:\n  A:\n    Type: AWS::S3::Bucket\n",
            "  # c\n  Description: d\n  Resources:\n    A:\n      Type: AWS::S3::Bucket\n",
            "  Resources:\n    A:\n      Type: AWS::S3::Bucket\n  broken: [\n",
            "\"\\x52esources\":\n  A:\n    Type: AWS::S3::Bucket\n",
            "\"Resour\\\n  ces\":\n  A:\n    \"T\\u0079pe\": \"AWS\\x3a\\u003aS3::Bucket\"\n",
            "\"\\x52esources\":\n  A:\n    Type: AWS::S3::Bucket\nbroken: [\n",
            "--- {\"Resources\": {\"B\": {\"Type\": \"AWS::S3::Bucket\"}}}\n",
            "%YAML 1.1\n---\nResources: {B: {Type: AWS::S3::Bucket}}\n",
            "--- # c\n{Description: d,\nResources: {B: {Type: AWS::S3::Bucket}}}\n",
            "# c\n{Resources: {B: {Type: AWS::S3::Bucket}}}\n",
            "? Resources\n: A:\n    ? Type\n    : AWS::S3::Bucket\n",
            "? [a, {b: c}]\n: d\nResources:\n  A:\n    Type: AWS::S3::Bucket\n",
            "!!str Resources: &r\n  &a A: !!map\n    Type: !!str >-\n      AWS::S3::Bucket\n",
            "# c\u{2028}Resources:\u{85}  A: {Type: AWS::S3::Bucket}\n",
            "Description: d\rResources:\r  A:\r    Type: AWS::S3::Bucket\r",
            "Metadata: &m {A: {Type: AWS::S3::Bucket}}\nResources: *m\n",
            "Metadata: [&t AWS::S3::Bucket]\nResources:\n  A: {Type: *t}\n",
            "Metadata: &m {Resources: {A: {Type: AWS::S3::Bucket}}}\n<<: *m\n",
            "Metadata: [&k Resources]\n*k : {A: {Type: AWS::S3::Bucket}}\n",
            "AWSTemplateFormatVersion: '2010-09-09'\nResources:\n  Fn::Transform: {Name: AWS::Include}\n",
            "Resources:\n  Fn::ForEach::T:\n    - N\n    - [a]\n    - T${N}: {Type: AWS::SNS::Topic}\n",
            "Resources:\n  A:\n    Type: Custom::My-own_thing@1\n",
            "{\"\\u0052esources\": {\"A\": {\"Type\": \"AWS\\u003a:S3::Bucket\"}}}",
            "{\"Resources\": {\"Fn::ForEach::T\": [\"N\", [\"a\"], {\"T\": {\"Type\": \"AWS::SNS::Topic\"}}]}}",
            "{\"Resources\": {\"A\": {\"Type\": \"AWS::S3::Bucket\"}}, \"Resources\": {}}",
            "{\"AWSTemplateFormatVersion\": \"2010-09-09\", \"Resources\": {\"Fn::Transform\": {\"Name\": \"AWS::Include\"}}}",
            "{\n\t\"Resources\": {\n\t\t\"A\": {\"Type\": \"AWS::S3::Bucket\", \"e\": \"\\ud83d\\ude00\"}}}",
        ] {
            assert!(is_template(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn other_yaml_and_json_is_not_taken_for_a_template() {
        for text in [
            "",
            "kind: Deployment\nspec:\n  Resources:\n    A:\n      Type: AWS::S3::Bucket\n",
            "Parameters:\n  P:\n    Type: AWS::SSM::Parameter\nResources: []\n",
            "Resources:\n  A:\n    Type: plain\n    Value: a::b\n",
            "Resources:\n  A: 1\nOther:\n  B:\n    Type: AWS::S3::Bucket\n",
            "Resources:\n  A:\n    NotType: AWS::S3::Bucket\n",
            "[\"Resources\", \"Type: A::B\"]",
            "{\"Resources\": {\"A\": {\"Type\": \"x\"}}, \"text\": \"Type: AWS::S3::Bucket\"}",
            "{\"x\": {\"Resources\": {\"A\": {\"Type\": \"AWS::S3::Bucket\"}}}}",
            "service: s\nresources:\n  Resources:\n    A:\n      Type: AWS::S3::Bucket\n",
            "  resources:\n    Resources:\n      A:\n        Type: AWS::S3::Bucket\n",
            "resources:\n  Resources:\n    A:\n      Type: AWS::S3::Bucket\nbroken: {{ helm }} x\n",
            "{resources: {Resources: {A: {Type: AWS::S3::Bucket}}}}\n",
            "- Resources:\n    A:\n      Type: AWS::S3::Bucket\n",
            "data:\n  template: |\n    Resources:\n      A:\n        Type: AWS::S3::Bucket\n",
            "data: \"Resources:\\n  A:\\n    Type: AWS::S3::Bucket\"\n",
            "data: {template: \"\\x52esources: {A: {Type: AWS::S3::Bucket}}\"}\n",
            "{\"template\": \"\\nResources:\\n  A:\\n    Type: AWS::S3::Bucket\"}",
            "{\"template\": \"\\u000aResources:\\u000a  A:\\u000a    Type: AWS::S3::Bucket\"}",
            "x: &r [Resources]\ny: *r\nz: AWS::S3::Bucket\n",
            "services:\n  web: {image: nginx, environment: [\"Resources=a::b\"]}\n",
            "on: push\njobs:\n  a:\n    steps:\n      - run: echo ::group::Resources\n",
            "openapi: 3.0.0\ncomponents:\n  schemas:\n    Resources:\n      type: object\n      Type: a::b\n",
            "<<: &b {x: 1}\nimage: a::b\nname: Resources\n",
        ] {
            assert!(!is_template(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn hostile_text_is_only_text() {
        let deep = format!("{{\"Resources\": {}", "[".repeat(100_000));
        assert!(!is_template(deep.as_bytes()));
        assert!(!is_template(b"\xff\xfeResources:\n Type: \xf0\x28::\n"));
        assert!(!is_template("Resources:\n  é: Type: é::é".as_bytes()));
    }
}
