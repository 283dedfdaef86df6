//! Which rule a result is about.

use std::collections::HashMap;

use ash_model::{finding::Rule, severity::Level};
use serde_json::{Map, Value};

use crate::log::{SarifResult, Tool, ToolComponent};

/// All rules of a tool, by id and by place.
pub(crate) struct Rules<'a> {
    driver: &'a ToolComponent,
    extensions: &'a [ToolComponent],
    by_id: HashMap<&'a str, &'a Map<String, Value>>,
}

impl<'a> Rules<'a> {
    pub(crate) fn new(tool: &'a Tool) -> Self {
        let extensions = tool.extensions.as_deref().unwrap_or_default();
        let mut by_id = HashMap::new();
        for rule in std::iter::once(&tool.driver)
            .chain(extensions)
            .flat_map(|component| component.rules.iter().flatten())
        {
            if let Some(id) = id(rule) {
                by_id.entry(id).or_insert(rule);
            }
        }
        Self { driver: &tool.driver, extensions, by_id }
    }

    /// The rule of a result. An index that points at a rule of another name is wrong, and the name wins.
    pub(crate) fn of(&self, result: &SarifResult) -> Option<&'a Map<String, Value>> {
        let name = named(result);
        let indexed = self.indexed(result).filter(|rule| {
            name.is_none_or(|name| id(rule).is_some_and(|id| is_or_within(name, id)))
        });
        indexed.or_else(|| self.by_name(name?))
    }

    fn indexed(&self, result: &SarifResult) -> Option<&'a Map<String, Value>> {
        let reference = result.rule.as_ref();
        let index = reference.and_then(|rule| rule.index).or(result.rule_index)?;
        let component = match reference.and_then(|rule| rule.tool_component.as_ref()) {
            Some(component) => self.component(component)?,
            None => self.driver,
        };
        component.rules.as_ref()?.get(usize::try_from(index).ok()?)
    }

    fn component(&self, reference: &Map<String, Value>) -> Option<&'a ToolComponent> {
        if let Some(index) = reference.get("index").and_then(Value::as_i64)
            && index >= 0
        {
            return self.extensions.get(usize::try_from(index).ok()?);
        }
        let name = reference.get("name").and_then(Value::as_str);
        std::iter::once(self.driver)
            .chain(self.extensions)
            .find(|component| name.is_some() && component.name.as_deref() == name)
    }

    /// `CA1000/1` is a sub-rule of `CA1000` (§3.52.4).
    fn by_name(&self, name: &str) -> Option<&'a Map<String, Value>> {
        let mut name = name;
        loop {
            if let Some(rule) = self.by_id.get(name) {
                return Some(rule);
            }
            name = name.rsplit_once('/')?.0;
        }
    }
}

/// The name a result gives its rule.
pub(crate) fn named(result: &SarifResult) -> Option<&str> {
    let reference = result.rule.as_ref().and_then(|rule| rule.id.as_deref());
    result.rule_id.as_deref().filter(|id| !id.is_empty()).or(reference).filter(|id| !id.is_empty())
}

/// A descriptor's id.
pub(crate) fn id(rule: &Map<String, Value>) -> Option<&str> {
    rule.get("id").and_then(Value::as_str)
}

/// The level of results that name none.
pub(crate) fn default_level(rule: &Map<String, Value>) -> Option<Level> {
    Level::parse(rule.get("defaultConfiguration")?.get("level")?.as_str()?)
}

/// A descriptor as ash keeps it.
pub(crate) fn to_model(rule_id: &str, descriptor: &Map<String, Value>) -> Rule {
    Rule { id: rule_id.to_owned(), cvss: cvss(descriptor), descriptor: descriptor.clone() }
}

/// `properties.security-severity`: GitHub's convention, a CVSS score as text; some tools write a number.
pub(crate) fn cvss(rule: &Map<String, Value>) -> Option<f64> {
    let score = match rule.get("properties")?.get("security-severity")? {
        Value::String(text) => text.trim().parse().ok()?,
        number => number.as_f64()?,
    };
    (0.0..=10.0).contains(&score).then_some(score)
}

fn is_or_within(name: &str, id: &str) -> bool {
    name.strip_prefix(id).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool() -> Tool {
        serde_json::from_value(json!({
            "driver": {"name": "main", "rules": [{"id": "A"}, {"id": "B"}]},
            "extensions": [{"name": "pack", "rules": [{"id": "P"}, {"id": "A", "name": "of the pack"}]}],
        }))
        .unwrap()
    }

    fn found(result: Value) -> Option<String> {
        let tool = tool();
        let result = serde_json::from_value(result).unwrap();
        Rules::new(&tool).of(&result).map(|rule| {
            format!("{}{}", id(rule).unwrap(), rule.get("name").map(|_| "*").unwrap_or_default())
        })
    }

    #[test]
    fn a_rule_is_found_by_index_by_id_and_in_an_extension() {
        assert_eq!(found(json!({"ruleIndex": 1})).as_deref(), Some("B"));
        assert_eq!(found(json!({"ruleId": "B"})).as_deref(), Some("B"));
        assert_eq!(found(json!({"ruleId": "P"})).as_deref(), Some("P"));
        assert_eq!(
            found(json!({"rule": {"id": "A", "index": 1, "toolComponent": {"index": 0}}}))
                .as_deref(),
            Some("A*")
        );
        assert_eq!(
            found(json!({"rule": {"index": 0, "toolComponent": {"name": "pack"}}})).as_deref(),
            Some("P")
        );
        assert_eq!(found(json!({"ruleId": "A/1", "ruleIndex": 0})).as_deref(), Some("A"));
    }

    #[test]
    fn a_wrong_index_does_not_rename_a_result() {
        assert_eq!(found(json!({"ruleId": "A", "ruleIndex": 1})).as_deref(), Some("A"));
        assert_eq!(found(json!({"ruleId": "A", "ruleIndex": 99})).as_deref(), Some("A"));
        assert_eq!(found(json!({"ruleId": "unlisted", "ruleIndex": 0})), None);
        assert_eq!(found(json!({"ruleIndex": -1})), None);
    }

    #[test]
    fn a_score_is_text_or_number_and_within_its_range() {
        let score = |value: Value| {
            cvss(json!({"properties": {"security-severity": value}}).as_object().unwrap())
        };
        assert_eq!(score(json!("9.8")), Some(9.8));
        assert_eq!(score(json!(4)), Some(4.0));
        for bad in [json!("high"), json!("NaN"), json!(11), json!(null)] {
            assert_eq!(score(bad.clone()), None, "{bad}");
        }
    }
}
