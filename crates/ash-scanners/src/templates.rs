//! Which files are CloudFormation templates: by content, since nothing in their names says so.
//!
//! A template has a top-level `Resources` whose entries have a `Type` such as `AWS::S3::Bucket`. JSON is parsed. YAML is read line by
//! line: CloudFormation's own tags (`!Ref`, `!Sub`) and the aliases, depth and size tricks of hostile YAML are then no concern, and the
//! one question asked needs no more. The test errs on the side of yes: the linter has the last word about what it is given.

use ash_model::path::RelPath;
use serde_json::Value;

use crate::Site;

/// CloudFormation refuses templates above 1 MB.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

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
    // Cheap, and true for nearly every file that is none.
    if !text.contains("Resources") || !text.contains("::") {
        return false;
    }
    if text.trim_start().starts_with('{') {
        return match serde_json::from_str::<Value>(&text) {
            Ok(value) => value
                .get("Resources")
                .and_then(Value::as_object)
                .is_some_and(|resources| resources.values().any(has_type)),
            // A YAML flow mapping, or JSON the linter should complain about.
            Err(_) => type_in(&text),
        };
    }
    is_yaml_template(&text)
}

fn has_type(resource: &Value) -> bool {
    resource.get("Type").and_then(Value::as_str).is_some_and(is_type)
}

/// `AWS::S3::Bucket`, `Custom::Thing`.
fn is_type(text: &str) -> bool {
    text.contains("::")
        && text
            .split("::")
            .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

/// Looks for a type below a key `Resources` that starts in the first column.
fn is_yaml_template(text: &str) -> bool {
    let mut inside = false;
    for line in text.lines() {
        if line.starts_with([' ', '\t', '#']) || line.trim().is_empty() {
            if inside && type_in(line) {
                return true;
            }
            continue;
        }
        // Anything else in the first column ends the mapping before it.
        match key_value(line) {
            Some(("Resources", rest)) => {
                inside = true;
                if type_in(rest) {
                    return true;
                }
            }
            // The closing brackets of a flow mapping may stand in the first column.
            _ if inside && line.starts_with(['}', ']']) => {}
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
        let starts = before.is_none_or(|c| " \t\n{,\"'".contains(c));
        let rest = text[position + word.len()..].trim_start_matches(['"', '\'']).trim_start();
        let Some(value) = rest.strip_prefix(':') else { return false };
        let value = value.trim_start().trim_start_matches(['"', '\'']);
        let end =
            value.find(|c: char| !c.is_ascii_alphanumeric() && c != ':').unwrap_or(value.len());
        starts && is_type(value[..end].trim_end_matches(':'))
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
