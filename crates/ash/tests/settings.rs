//! What the table of settings claims is what scanners and reports really read.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::path::Path;

use ash_config::{Key, keys, reporters};
use ash_model::{path::RelPath, source::SourceReader};
use ash_scanners::{Plan, SCANNERS, Scanner, Site};
use serde_json::{Map, Value, json};

/// A file for every scanner.
const FILES: &[(&str, &str)] = &[
    (".github/workflows/ci.yml", "on: push\njobs: {}\n"),
    ("Dockerfile", "FROM x\n"),
    ("app.py", "x = 1\n"),
    ("main.tf", ""),
    ("package-lock.json", r#"{"lockfileVersion": 3, "packages": {"": {"name": "a"}}}"#),
    ("package.json", r#"{"name": "a"}"#),
    ("stack.yaml", "Resources:\n  A:\n    Type: AWS::S3::Bucket\n"),
];

struct Files;

impl SourceReader for Files {
    fn read(&self, path: &RelPath, _limit: u64) -> Option<Vec<u8>> {
        let found = FILES.iter().find(|(name, _)| path.as_path() == Path::new(name));
        found.map(|(_, text)| text.as_bytes().to_vec())
    }
}

fn plan(scanner: &dyn Scanner, option: &str, value: Value) -> Plan {
    let mut options = Map::new();
    options.insert(option.to_owned(), value);
    let files: Vec<RelPath> = FILES.iter().map(|(name, _)| RelPath::new(name).unwrap()).collect();
    scanner.plan(&Site {
        source: Path::new("/src"),
        results: Path::new("/results"),
        outputs: &[],
        files: &files,
        reader: &Files,
        offline: false,
        network: true,
        ignore_suppressions: false,
        options: &options,
        variable: &|_| None,
    })
}

/// The options of a scanner's own.
fn options(scanner: &dyn Scanner) -> Vec<(String, Key)> {
    let prefix = format!("scanners.{}.options.", scanner.id());
    let own = keys().into_iter().filter_map(|key| {
        let option = key.path.strip_prefix(&prefix)?.to_owned();
        (!option.contains(['.', '['])).then_some((option, key))
    });
    own.collect()
}

#[test]
fn every_option_is_read_or_said_to_have_no_effect() {
    let mut read = 0;
    for scanner in SCANNERS {
        let untouched = plan(*scanner, "", Value::Null);
        assert!(matches!(untouched, Plan::Run(_)), "{}: {untouched:?}", scanner.id());
        for (option, key) in options(*scanner) {
            // What no option takes: a scanner that reads it stops and says so.
            let plans = [json!({"no": {"such": "value"}}), json!(5)]
                .map(|value| plan(*scanner, &option, value));
            let stops =
                |plan: &Plan| matches!(plan, Plan::Missing(reason) if reason.contains(&option));
            match key.without_effect {
                None => assert!(plans.iter().any(stops), "{} is not read: {plans:?}", key.path),
                Some(_) => plans.iter().for_each(|plan| {
                    assert_eq!(format!("{plan:?}"), format!("{untouched:?}"), "{}", key.path);
                }),
            }
            read += usize::from(key.without_effect.is_none());
        }
    }
    assert!(read >= 15, "only {read} options are read");
}

#[test]
fn the_reports_there_are_are_the_reports_of_the_settings() {
    // One report is written in two files, and each has a name of its own there.
    let names = ash_reports::REPORTERS.iter().map(|one| one.id());
    let mut written: Vec<&str> =
        names.filter(|name| *name != "unused-suppressions-markdown").collect();
    let mut said = reporters().to_vec();
    written.sort_unstable();
    said.sort_unstable();
    assert_eq!(said, written, "`shipped` in crates/ash-config/src/schema/reporters.rs lists them");
}
