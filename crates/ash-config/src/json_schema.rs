//! The JSON Schema of a configuration, for editors; made from the same table the checks use.

use serde_json::{Map, Value, json};

use crate::schema::{self, Field, Names, Shape};

/// The schema (draft 2020-12). Only the published spelling of each key is in it; ash also takes the other.
pub fn json_schema() -> Value {
    let mut schema = section(schema::ROOT);
    if let Value::Object(map) = &mut schema {
        map.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        map.insert("title".to_owned(), json!("AshConfig"));
    }
    schema
}

fn section(fields: &[Field]) -> Value {
    let required: Vec<&str> =
        fields.iter().filter(|field| field.required).map(|field| field.key).collect();
    let mut section = json!({
        "type": "object",
        "properties": properties(fields),
        "additionalProperties": false,
    });
    if let (Value::Object(map), false) = (&mut section, required.is_empty()) {
        map.insert("required".to_owned(), json!(required));
    }
    section
}

fn properties(fields: &[Field]) -> Map<String, Value> {
    fields.iter().map(|field| (field.key.to_owned(), property(field))).collect()
}

fn property(field: &Field) -> Value {
    let mut schema = shape(&field.shape);
    // Null means "not set", except where something must be said.
    let takes_null = !field.required && field.key != "mode";
    if let (Value::Object(map), true) = (&mut schema, takes_null) {
        if let Some(Value::String(kind)) = map.get("type").cloned() {
            map.insert("type".to_owned(), json!([kind, "null"]));
        } else if let Some(Value::Array(words)) = map.get_mut("enum") {
            words.push(Value::Null);
        }
    }
    if let (Value::Object(map), Some(instead)) = (&mut schema, field.instead) {
        map.insert("deprecated".to_owned(), json!(true));
        map.insert("description".to_owned(), json!(format!("Has no effect: {instead}.")));
    }
    schema
}

fn shape(of: &Shape) -> Value {
    match of {
        Shape::Any => json!({}),
        Shape::Bool => json!({"type": "boolean"}),
        Shape::Text => json!({"type": "string"}),
        Shape::Int(least, most) if *most == i64::MAX => {
            json!({"type": "integer", "minimum": least})
        }
        Shape::Int(least, most) => json!({"type": "integer", "minimum": least, "maximum": most}),
        Shape::Number(least, _) => json!({"type": "number", "exclusiveMinimum": least}),
        Shape::Choice(words) => json!({"enum": words}),
        Shape::Date => json!({"type": "string", "format": "date"}),
        Shape::List(item) => json!({"type": "array", "items": shape(item)}),
        Shape::OneOrMore(item) => {
            json!({"anyOf": [shape(item), {"type": "array", "items": shape(item)}, {"type": "null"}]})
        }
        Shape::Section(fields) => section(fields),
        Shape::Named(names) => named(names),
    }
}

/// Known plugins with their options; other names may come from plugins.
fn named(names: &Names) -> Value {
    let common = if names.kind == "scanner" { schema::COMMON_OPTIONS } else { &[] };
    let plugin = |options: Option<&&[Field]>| {
        let mut entry = shape(&names.entry);
        if let Some(options) = options {
            let all: Vec<Field> = options.iter().chain(common).copied().collect();
            entry["properties"]["options"] =
                json!({"type": ["object", "null"], "properties": properties(&all)});
        }
        entry["type"] = json!(["object", "null"]);
        entry
    };
    let options = |name: &str| {
        names.options.iter().find(|(known, _)| *known == name).map(|(_, fields)| fields)
    };
    let known: Map<String, Value> =
        names.known.iter().map(|name| ((*name).to_owned(), plugin(options(name)))).collect();
    json!({"type": "object", "properties": known, "additionalProperties": plugin(None)})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_knows_what_the_checks_know() {
        let schema = json_schema();
        assert_eq!(
            schema["properties"]["sandbox"]["properties"]["mode"]["enum"],
            json!(schema::MODES)
        );
        assert_eq!(schema["additionalProperties"], json!(false));
        let bandit = &schema["properties"]["scanners"]["properties"]["bandit"]["properties"]["options"]
            ["properties"];
        assert_eq!(
            bandit["confidence_level"]["enum"],
            json!(["all", "low", "medium", "high", null])
        );
        assert_eq!(
            bandit["scan_timeout"],
            json!({"type": ["number", "null"], "exclusiveMinimum": 0.0})
        );
        let suppression =
            &schema["properties"]["global_settings"]["properties"]["suppressions"]["items"];
        assert_eq!(suppression["required"], json!(["path", "reason"]));
    }
}
