//! The JSON Schema of a configuration, for editors; made from the same table the checks use.

use serde_json::{Map, Value, json};

use crate::schema::{self, Field, Names, Shape};

/// The schema (draft 2020-12). Only the published spelling of each key is in it; ash also takes the other.
pub fn json_schema() -> Value {
    let mut schema = Map::new();
    schema.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    schema.insert("title".to_owned(), json!("AshConfig"));
    if let Value::Object(root) = section(schema::ROOT) {
        schema.extend(root);
    }
    schema.insert("$defs".to_owned(), definitions());
    Value::Object(schema)
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
    if let Value::Object(map) = &mut schema {
        describe(field, map);
    }
    schema
}

/// What editors show: the meaning, the default, and that a key does nothing.
fn describe(field: &Field, schema: &mut Map<String, Value>) {
    let no_effect = field.instead.map(|instead| format!("Has no effect: {instead}."));
    let words: Vec<String> = (!field.about.is_empty())
        .then(|| field.about.to_owned())
        .into_iter()
        .chain(no_effect)
        .collect();
    if !words.is_empty() {
        schema.insert("description".to_owned(), json!(words.join(" ")));
    }
    if let (false, Ok(default)) = (field.default.is_empty(), crate::yaml::parse(field.default, 0)) {
        schema.insert("default".to_owned(), default.to_value());
    }
    if field.instead.is_some() {
        schema.insert("deprecated".to_owned(), json!(true));
    }
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
        Shape::Date => {
            json!({"type": "string", "format": "date", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"})
        }
        Shape::List(item) => json!({"type": "array", "items": shape(item)}),
        Shape::OneOrMore(item) => {
            json!({"anyOf": [shape(item), {"type": "array", "items": shape(item)}, {"type": "null"}]})
        }
        Shape::Pattern => json!({"anyOf": [{"type": "string"}, section(schema::PATTERN)]}),
        Shape::Section(fields) => section(fields),
        Shape::Named(names) => named(names),
    }
}

/// Known plugins with their options; other names may come from plugins.
fn named(names: &Names) -> Value {
    let reference = |what: &str| format!("#/$defs/{}{what}", names.kind);
    let plugin = |name: &&str| {
        let own = names.options.iter().find(|(known, _)| known == name).map(|(_, own)| *own);
        let options = own
            .filter(|own| !own.is_empty())
            .map(|own| json!({"$ref": reference("-options"), "properties": properties(own)}));
        let mut plugin = json!({"$ref": reference("")});
        if let Some(options) = options {
            plugin["properties"] = json!({"options": options});
        }
        ((*name).to_owned(), plugin)
    };
    let known: Map<String, Value> = names.known.iter().map(plugin).collect();
    json!({"type": "object", "properties": known, "additionalProperties": {"$ref": reference("")}})
}

/// What all plugins of a kind have in common, said once.
fn definitions() -> Value {
    let mut all = Map::new();
    for names in [&schema::SCANNERS, &schema::REPORTERS, &schema::CONVERTERS] {
        let mut entry = shape(&names.entry);
        entry["type"] = json!(["object", "null"]);
        entry["properties"]["options"] = json!({"$ref": format!("#/$defs/{}-options", names.kind)});
        all.insert(names.kind.to_owned(), entry);
        let options = json!({
            "description": "Its options.",
            "type": ["object", "null"],
            "properties": properties(names.common),
        });
        all.insert(format!("{}-options", names.kind), options);
    }
    Value::Object(all)
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
            schema["$defs"]["scanner-options"]["properties"]["scan_timeout"],
            json!({
                "type": ["number", "null"],
                "exclusiveMinimum": 0.0,
                "description": "Seconds it may take; `null`: no limit. A file inside the scanned tree can only shorten it.",
                "default": 1800,
            })
        );
        let suppression =
            &schema["properties"]["global_settings"]["properties"]["suppressions"]["items"];
        assert_eq!(suppression["required"], json!(["path", "reason"]));
    }
}
