//! Every configuration in the documentation loads, and the published schema takes it.

use std::{fs, path::Path};

use ash_config::{Request, json_schema, load};

/// The texts of all `yaml` blocks of a page.
fn blocks(page: &str) -> Vec<String> {
    let starts = page.split("```yaml\n").skip(1);
    starts.filter_map(|rest| Some(rest.split_once("```")?.0.to_owned())).collect()
}

#[test]
fn every_example_in_the_documentation_loads() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let validator = jsonschema::validator_for(&json_schema()).unwrap();
    let mut seen = 0;
    for page in ["configuration.md", "migration.md"] {
        for text in blocks(&fs::read_to_string(docs.join(page)).unwrap()) {
            let lab = tempfile::tempdir().unwrap();
            let root = lab.path().canonicalize().unwrap();
            let base = "fail_on_findings: true\nglobal_settings: {ignore_paths: []}\n";
            fs::write(root.join("base.yaml"), base).unwrap();
            fs::write(root.join(".ash.yaml"), &text).unwrap();
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
                known_scanners: &["bandit", "detect-secrets", "semgrep"],
                workspace: None,
                identify: None,
            });
            match loaded {
                Ok(loaded) => assert_eq!(loaded.notices, [], "{page}:\n{text}"),
                Err(errors) => panic!("{page}:\n{text}\n{errors}"),
            }
            let options = serde_saphyr::options! { strict_booleans: true };
            let data: serde_json::Value =
                serde_saphyr::from_str_with_options(&text, options).unwrap();
            assert!(validator.is_valid(&data), "{page}:\n{text}");
            seen += 1;
        }
    }
    assert!(seen >= 4, "only {seen} examples were found");
}
