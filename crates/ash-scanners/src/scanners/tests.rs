//! What every scanner has to do, and the tools their own tests use.

use std::{
    collections::{BTreeMap, HashMap},
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

use ash_model::{
    path::RelPath,
    source::SourceReader,
    tool::{Captured, Cwd, Exit, Program, ToolCall, ToolOutput},
};
use serde_json::{Map, Value};

use super::*;
use crate::{InterpretError, Interpreted, Plan, Site};

/// A scanned tree that exists only here.
pub(crate) struct Tree {
    pub(crate) source: PathBuf,
    pub(crate) results: PathBuf,
    pub(crate) outputs: Vec<RelPath>,
    pub(crate) files: Vec<RelPath>,
    pub(crate) contents: HashMap<RelPath, Vec<u8>>,
    pub(crate) offline: bool,
    pub(crate) network: bool,
    pub(crate) ignore_suppressions: bool,
    pub(crate) options: Map<String, Value>,
    pub(crate) variables: HashMap<String, OsString>,
}

struct Contents<'a>(&'a HashMap<RelPath, Vec<u8>>);

impl SourceReader for Contents<'_> {
    fn read(&self, path: &RelPath, limit: u64) -> Option<Vec<u8>> {
        self.0.get(path).filter(|bytes| bytes.len() as u64 <= limit).cloned()
    }
}

impl Tree {
    /// A tree of empty files.
    pub(crate) fn new(files: &[&str]) -> Self {
        let source = PathBuf::from("/the tree");
        let mut tree = Self {
            results: PathBuf::from("/the tree/.ash/ash_output/scanners/x/source"),
            outputs: vec![RelPath::new(ash_model::results::DEFAULT_OUTPUT).unwrap()],
            source,
            files: vec![],
            contents: HashMap::new(),
            offline: false,
            network: false,
            ignore_suppressions: false,
            options: Map::new(),
            variables: HashMap::new(),
        };
        files.iter().for_each(|file| tree.put(file, b""));
        tree
    }

    /// The tree the recorded outputs are about.
    pub(crate) fn of_recorded() -> Self {
        let mut tree = Self::new(&["app/server.py", "web/package.json"]);
        tree.source = PathBuf::from("/src");
        tree.results = PathBuf::from("/results");
        tree.outputs = vec![];
        tree
    }

    /// Names no tool likes.
    pub(crate) fn awkward() -> Self {
        let mut tree = Self::new(&[]);
        for name in [
            b"a b/-x.py".as_slice(),
            b"a'\"b/n\xff.py",
            b"a'\"b/n\xff.tf",
            b"new\nline.yaml",
            b"star[*]?.yaml",
            b"x/.github/workflows/w\xfe.yml",
            b".github/workflows/ok, 1%41.yml",
        ] {
            tree.put_path(name, b"Resources:\n  A:\n    Type: AWS::S3::Bucket\n");
        }
        tree.put("web app/package.json", br#"{"name": "a"}"#);
        tree.put("web app/package-lock.json", br#"{"lockfileVersion": 3, "packages": {}}"#);
        tree
    }

    pub(crate) fn put(&mut self, name: &str, bytes: &[u8]) {
        self.put_path(name.as_bytes(), bytes);
    }

    pub(crate) fn put_path(&mut self, name: &[u8], bytes: &[u8]) {
        let path = RelPath::new(PathBuf::from(ash_model::path::os_string(name.to_vec()))).unwrap();
        self.files.push(path.clone());
        self.files.sort();
        self.contents.insert(path, bytes.to_vec());
    }

    pub(crate) fn site<T>(&self, look: impl FnOnce(&Site<'_>) -> T) -> T {
        let variable = |name: &str| self.variables.get(name).cloned();
        look(&Site {
            source: &self.source,
            results: &self.results,
            outputs: &self.outputs,
            files: &self.files,
            reader: &Contents(&self.contents),
            offline: self.offline,
            network: self.network,
            ignore_suppressions: self.ignore_suppressions,
            options: &self.options,
            variable: &variable,
        })
    }

    /// A call as one line for people, with the places named.
    pub(crate) fn words(&self, call: &ToolCall) -> String {
        let program = match &call.program {
            Program::Tool(name) => (*name).to_owned(),
            Program::PythonOf(name) => format!("python-of-{name}"),
            Program::Path(path) => path.display().to_string(),
        };
        let words = call.args.iter().map(|argument| {
            let text = ash_model::path::printable(argument);
            text.replace(self.results.to_str().unwrap(), "{results}")
                .replace(self.source.to_str().unwrap(), "{source}")
        });
        std::iter::once(program).chain(words).collect::<Vec<_>>().join(" ")
    }
}

/// The calls of a plan that makes some.
pub(crate) fn run(scanner: &dyn Scanner, tree: &Tree) -> Vec<ToolCall> {
    match tree.site(|site| scanner.plan(site)) {
        Plan::Run(calls) => calls,
        other => panic!("{} does not run: {other:?}", scanner.id()),
    }
}

/// A file of the recordings.
pub(crate) fn recorded(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/recorded").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub(crate) fn output(
    exit: Exit,
    stdout: &[u8],
    stderr: &[u8],
    files: &[(&str, Vec<u8>)],
) -> ToolOutput {
    let captured = |bytes: &[u8]| Captured { bytes: bytes.to_vec(), total: bytes.len() as u64 };
    ToolOutput {
        exit,
        stdout: captured(stdout),
        stderr: captured(stderr),
        files: files
            .iter()
            .map(|(name, bytes)| (RelPath::new(name).unwrap(), bytes.clone()))
            .collect::<BTreeMap<_, _>>(),
        duration: Duration::ZERO,
    }
}

/// Interprets one output file as if the planned call had left it.
pub(crate) fn interpret(
    scanner: &dyn Scanner,
    tree: &Tree,
    code: i32,
    files: &[(&str, Vec<u8>)],
) -> Result<Interpreted, InterpretError> {
    interpret_output(scanner, tree, output(Exit::Code(code), b"", b"", files))
}

pub(crate) fn interpret_output(
    scanner: &dyn Scanner,
    tree: &Tree,
    output: ToolOutput,
) -> Result<Interpreted, InterpretError> {
    let mut calls = run(scanner, tree);
    assert_eq!(calls.len(), 1, "one call");
    tree.site(|site| scanner.interpret(site, &[(calls.remove(0), output)]))
}

/// A tree in which every scanner has something to do.
fn busy() -> Tree {
    let mut tree = Tree::awkward();
    tree.put("main.py", b"");
    tree.put("template.yaml", b"Resources:\n  A:\n    Type: AWS::S3::Bucket\n");
    tree.put(".github/workflows/ci.yml", b"");
    tree
}

#[test]
fn the_folder_and_the_list_are_the_same() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/scanners");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    files.retain(|name| name != "mod" && name != "tests");
    files.sort();
    assert_eq!(files, MODULES);
    let ids: Vec<String> =
        SCANNERS.iter().map(|scanner| scanner.id().as_str().replace('-', "_")).collect();
    assert_eq!(ids, MODULES, "each scanner is named like its file, and the list is sorted");
}

#[test]
fn every_scanner_has_a_well_formed_name_and_is_found_by_it() {
    for scanner in SCANNERS {
        let id = ScannerId::parse(scanner.id().as_str()).unwrap();
        assert_eq!(by_id(&id).unwrap().id(), id);
        assert!(!scanner.about().is_empty() && !scanner.about().ends_with('.'));
    }
    assert!(by_id(&ScannerId::builtin("nobody")).is_none());
}

#[test]
fn whoever_asks_for_a_network_says_why() {
    for scanner in SCANNERS {
        let requirements = scanner.requirements();
        assert_eq!(requirements.network, requirements.network_reason.is_some(), "{}", scanner.id());
    }
    let networked: Vec<_> = SCANNERS
        .iter()
        .filter(|scanner| scanner.requirements().network)
        .map(|scanner| scanner.id().as_str().to_owned())
        .collect();
    assert_eq!(networked, ["detect-secrets", "npm-audit", "semgrep"]);
}

#[test]
fn every_python_tool_is_pinned() {
    for scanner in SCANNERS {
        if let crate::Install::Uv { requirement, with } = scanner.tool().install {
            for requirement in std::iter::once(requirement).chain(with.iter().copied()) {
                let (_, version) =
                    requirement.split_once("==").unwrap_or_else(|| panic!("{requirement}"));
                assert!(
                    version.split('.').count() >= 2
                        && version.chars().all(|c| c.is_ascii_digit() || c == '.'),
                    "{requirement}"
                );
            }
        }
    }
}

#[test]
fn every_plan_survives_awkward_names_and_writes_and_reads_only_its_results() {
    for tree in [Tree::awkward(), busy()] {
        for scanner in SCANNERS {
            let Plan::Run(calls) = tree.site(|site| scanner.plan(site)) else { continue };
            let mut logs: Vec<&str> = calls.iter().map(|call| call.log.as_str()).collect();
            logs.dedup();
            assert_eq!(logs.len(), calls.len(), "{}: each call has a log of its own", scanner.id());
            for call in &calls {
                assert!(
                    call.args.iter().all(|argument| !argument.as_encoded_bytes().contains(&0)),
                    "{}",
                    scanner.id()
                );
                assert!(
                    call.args.iter().map(|argument| argument.len()).sum::<usize>() < 1_000_000,
                    "{}",
                    scanner.id()
                );
                assert!(
                    !matches!(call.cwd, Cwd::Within(_)),
                    "{}: npm would read a .npmrc there",
                    scanner.id()
                );
            }
        }
    }
}

#[test]
fn an_empty_tree_is_skipped_by_everybody() {
    let tree = Tree::new(&[]);
    for scanner in SCANNERS {
        assert!(matches!(tree.site(|site| scanner.plan(site)), Plan::Skip(_)), "{}", scanner.id());
    }
}

#[test]
fn an_option_of_the_wrong_type_stops_the_scanner_that_reads_it() {
    let wrong = [
        ("bandit", "confidence_level", Value::from("some")),
        ("bandit", "ignore_nosec", Value::from("yes")),
        ("cfn-lint", "regions", Value::from("eu-west-1")),
        ("checkov", "frameworks", Value::from(1)),
        ("detect-secrets", "baseline_file", Value::from("../x")),
        ("semgrep", "exclude", Value::from(true)),
        ("semgrep", "config", serde_json::json!({"a": 1})),
        ("semgrep", "severity", serde_json::json!(["ERROR", "LOUD"])),
        ("checkov", "skip_path", serde_json::json!([{"reason": "no path"}])),
        ("syft", "exclude", serde_json::json!([1])),
        ("zizmor", "persona", Value::from("loud")),
    ];
    for (id, option, value) in wrong {
        let mut tree = busy();
        tree.options.insert(option.to_owned(), value);
        let plan = tree.site(|site| by_id(&ScannerId::builtin(id)).unwrap().plan(site));
        assert!(
            matches!(&plan, Plan::Missing(reason) if reason.contains(option)),
            "{id}: {plan:?}"
        );
    }
}

#[test]
fn an_option_may_be_one_word_or_a_list_and_a_pattern_may_have_its_reason() {
    let given = [
        ("semgrep", "config", serde_json::json!(["p/a", "p/b"]), "--config=p/a --config=p/b"),
        ("semgrep", "severity", serde_json::json!("ERROR"), "--severity=ERROR"),
        (
            "semgrep",
            "severity",
            serde_json::json!(["ERROR", "INFO"]),
            "--severity=ERROR --severity=INFO",
        ),
        (
            "semgrep",
            "exclude",
            serde_json::json!(["a", {"path": "b", "reason": "c"}]),
            "--exclude=a --exclude=b",
        ),
        (
            "checkov",
            "skip_path",
            serde_json::json!([{"path": "b", "reason": "c"}]),
            "--skip-path=b",
        ),
        ("syft", "exclude", serde_json::json!([{"path": "./b", "reason": "c"}]), "--exclude=./b"),
    ];
    for (id, option, value, words) in given {
        let mut tree = busy();
        tree.options.insert(option.to_owned(), value);
        let calls = run(by_id(&ScannerId::builtin(id)).unwrap(), &tree);
        assert!(tree.words(&calls[0]).contains(words), "{id}: {}", tree.words(&calls[0]));
    }
}

/// Outputs a hostile or broken tool may leave, for its results file and its standard output alike.
fn hostile() -> Vec<(&'static str, Vec<u8>)> {
    let deep = |open: &str| open.repeat(100_000).into_bytes();
    vec![
        ("empty", vec![]),
        ("white space", b" \n".to_vec()),
        ("not JSON", b"Traceback (most recent call last):".to_vec()),
        ("cut JSON", br#"{"version": "2.1.0", "runs": [{"tool": {"driver": {"na"#.to_vec()),
        ("null", b"null".to_vec()),
        ("a list", b"[]".to_vec()),
        ("an empty object", b"{}".to_vec()),
        ("no runs", br#"{"version": "2.1.0", "runs": []}"#.to_vec()),
        ("no results", br#"{"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "x"}}}]}"#.to_vec()),
        ("wrong types", br#"{"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "x"}}, "results": {"a": 1}}]}"#.to_vec()),
        ("another version", br#"{"version": "9.9", "runs": [{"tool": {"driver": {"name": "x"}}, "results": []}]}"#.to_vec()),
        ("deep lists", deep("[")),
        ("deep objects", deep("{\"a\":")),
        ("bytes", vec![0xff; 64]),
    ]
}

#[test]
fn no_broken_output_is_taken_for_a_clean_result() {
    let tree = busy();
    for scanner in SCANNERS {
        let calls = run(*scanner, &tree);
        for (name, bytes) in hostile() {
            let outputs = calls.iter().map(|call| {
                let files: Vec<(&str, Vec<u8>)> = call
                    .outputs
                    .iter()
                    .map(|file| (file.as_path().to_str().unwrap(), bytes.clone()))
                    .collect();
                (call.clone(), output(Exit::Code(0), &bytes, b"", &files))
            });
            let outputs: Vec<_> = outputs.collect();
            let read = tree.site(|site| scanner.interpret(site, &outputs));
            assert!(read.is_err(), "{}: {name}: {read:?}", scanner.id());
        }
    }
}

#[test]
fn a_missing_file_a_signal_or_a_strange_exit_is_an_error() {
    let tree = busy();
    for scanner in SCANNERS {
        let calls = run(*scanner, &tree);
        for exit in [
            Exit::Code(0),
            Exit::Code(1),
            Exit::Code(99),
            Exit::Code(127),
            Exit::Signal(9),
            Exit::Signal(11),
        ] {
            let outputs: Vec<_> = calls
                .iter()
                .map(|call| (call.clone(), output(exit, b"", b"a\x1b[31mlast words\n", &[])))
                .collect();
            let InterpretError(reason) =
                tree.site(|site| scanner.interpret(site, &outputs)).unwrap_err();
            assert!(!reason.contains('\u{1b}'), "{reason}");
        }
        assert!(tree.site(|site| scanner.interpret(site, &[])).is_err(), "{}", scanner.id());
    }
}
