//! Every public shape of a configuration loads, what no version takes does not, and the published schema says the same.
#![expect(clippy::unwrap_used, reason = "a lab that cannot be built is a failed test")]

use std::{fs, path::Path};

use ash_config::{ConfigErrors, Loaded, Request, json_schema, keys, load};
use ash_testkit::shapes::{BAD, BAD_TOGETHER, BASE, EVERYTHING, GOOD, Shape};
use serde_json::Value;

/// Loads a file of a scanned checkout, as a scan finds it.
fn load_shape(shape: &Shape) -> Result<Loaded, ConfigErrors> {
    let lab = tempfile::tempdir().unwrap();
    let root = lab.path().canonicalize().unwrap();
    for directory in [".git", ".ash"] {
        fs::create_dir(root.join(directory)).unwrap();
    }
    for base in ["base.yaml", ".ash/base.yaml"] {
        fs::write(root.join(base), BASE).unwrap();
    }
    fs::write(root.join(shape.file), shape.text).unwrap();
    let loaded = load(&Request {
        source: root.clone(),
        config: None,
        ash_config_env: None,
        overrides: vec![],
        sandbox_flag: None,
        cwd: root.clone(),
        pwd_env: None,
        home: None,
        env: &|_| None,
        known_scanners: &["bandit"],
        workspace: None,
        identify: None,
    })?;
    assert_eq!(loaded.used, Some(root.join(shape.file)), "{}", shape.name);
    Ok(loaded)
}

fn yaml(text: &'static str) -> Shape {
    Shape { name: text, file: ".ash/.ash.yaml", text, published: true }
}

/// The text as data, as an editor with the schema sees it.
fn data(shape: &Shape) -> Value {
    let name = Path::new(shape.file);
    let text = shape.text.trim_start_matches('\u{feff}');
    if name.extension().is_some_and(|extension| extension == "toml") {
        let table: toml::Value = toml::from_str(text).unwrap();
        let mut value = as_json(&table);
        if name.ends_with("pyproject.toml") {
            value = value["tool"]["ash"].take();
        }
        return value;
    }
    let options = serde_saphyr::options! { strict_booleans: true };
    match serde_saphyr::from_str_with_options(text, options).unwrap() {
        Value::Null => serde_json::json!({}),
        value => value,
    }
}

fn as_json(value: &toml::Value) -> Value {
    match value {
        toml::Value::Table(table) => {
            Value::Object(table.iter().map(|(key, value)| (key.clone(), as_json(value))).collect())
        }
        toml::Value::Array(items) => items.iter().map(as_json).collect(),
        toml::Value::Datetime(date) => Value::String(date.to_string()),
        other => serde_json::to_value(other).unwrap(),
    }
}

fn validator() -> jsonschema::Validator {
    jsonschema::options().should_validate_formats(true).build(&json_schema()).unwrap()
}

#[test]
fn every_public_shape_loads() {
    for shape in GOOD {
        if let Err(errors) = load_shape(shape) {
            panic!("{} does not load:\n{errors}", shape.name);
        }
    }
}

#[test]
fn what_no_version_takes_is_refused_with_its_reason() {
    for (text, reason) in BAD.iter().chain(BAD_TOGETHER) {
        match load_shape(&yaml(text)) {
            Ok(_) => panic!("it loads:\n{text}"),
            Err(errors) => assert!(errors.to_string().contains(reason), "{text}{errors}"),
        }
    }
}

#[test]
fn the_published_schema_takes_every_published_shape_and_nothing_else() {
    let validator = validator();
    for shape in GOOD {
        let data = data(shape);
        let wrong: Vec<String> =
            validator.iter_errors(&data).map(|error| error.to_string()).collect();
        assert_eq!(wrong.is_empty(), shape.published, "{}: {wrong:?}", shape.name);
    }
    for (text, _) in BAD {
        assert!(!validator.is_valid(&data(&yaml(text))), "the schema takes:\n{text}");
    }
}

#[test]
fn the_schema_is_one_that_validators_take() {
    assert!(jsonschema::meta::is_valid(&json_schema()));
}

/// Whether a value holds something at a path of [`keys`].
fn holds(value: &Value, path: &str) -> bool {
    let (first, rest) = path.split_once('.').unwrap_or((path, ""));
    let (key, is_list) = match first.strip_suffix("[]") {
        Some(key) => (key, true),
        None => (first, false),
    };
    let Some(map) = value.as_object() else { return false };
    let below: Vec<&Value> =
        if key == "<name>" { map.values().collect() } else { map.get(key).into_iter().collect() };
    let below = below.into_iter().flat_map(|value| match value {
        Value::Array(items) if is_list => items.iter().collect::<Vec<_>>(),
        value => vec![value],
    });
    below.into_iter().any(|value| rest.is_empty() || holds(value, rest))
}

#[test]
fn the_file_with_everything_has_every_key() {
    let everything = data(&yaml(EVERYTHING));
    let missing: Vec<String> =
        keys().into_iter().map(|key| key.path).filter(|path| !holds(&everything, path)).collect();
    assert_eq!(missing, [""; 0]);
}

#[test]
fn a_shape_means_what_it_says() {
    let find = |name: &str| GOOD.iter().find(|shape| shape.name == name).unwrap();
    let settings = |name: &str| load_shape(find(name)).unwrap().settings;
    let everything = settings("every key of every version");
    assert_eq!(
        (everything.project_name.as_str(), everything.fail_on_findings),
        ("everything", true)
    );
    assert_eq!(everything.suppressions.len(), 3);
    assert_eq!(everything.sandbox.mode.as_deref(), Some("bwrap"));
    assert_eq!(everything.sandbox.network.granted, None, "a file of the tree grants nothing");
    let limit = everything.sandbox.network.limit.unwrap();
    assert_eq!(limit, ["grype", "npm-audit"]);
    let bandit = &everything.scanners["bandit"];
    assert_eq!(bandit.options["confidence_level"], "high");
    assert_eq!(bandit.options["offline"], true);
    let old = settings("old words for yes and no");
    assert_eq!((old.fail_on_findings, old.fail_on_incomplete), (true, false));
    assert_eq!(old.scanners["bandit"].enabled, Some(false));
    assert_eq!(settings("the sandbox without quotes").sandbox.mode.as_deref(), Some("off"));
    assert_eq!(settings("one base").project_name, "everything");
    assert_eq!(settings("variables that are not substituted").project_name, "${HOME}");
    let merged = settings("an anchor, an alias and a merge key").scanners;
    assert!(merged.values().all(|scanner| scanner.enabled == Some(true)));
}
