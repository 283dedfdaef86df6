//! semgrep: patterns of insecure code in many languages.
//!
//! A pack of rules comes with ash, so the scanner works without a network; online the registry's `p/ci` is added. Offline,
//! `SEMGREP_RULES_CACHE_DIR` may name a directory of further rules.
//!
//! semgrep is told not to look for a newer version of itself (98 seconds without a network) and to send nothing home. It asks git which
//! files are tracked. In a user namespace, or run by another user, git calls the tree's ownership dubious and semgrep then drops
//! `.gitignore`; `safe.directory` keeps the scan set the same everywhere, and the settings of a repository that would make git start a
//! program are overruled. What it leaves out by itself, for its size or its place, it is told to look at. A `.semgrepignore` of the tree is not obeyed; `nosemgrep` comments are, and reported as suppressed. The tree is its working directory and its target `.`: semgrep refuses a target that is a link.

mod gaps;

use std::{collections::BTreeSet, ffi::OsString, path::Path};

use ash_model::{
    finding::Finding,
    ids::ScannerId,
    path::RelPath,
    requirements::{Requirements, texts},
    tool::{Program, ToolCall, ToolOutput},
};

use self::gaps::Gaps;
use crate::{
    Effort, Install, InterpretError, Interpreted, Plan, Scanner, Site, Tool,
    call::{joined, own, version_probe},
    options::Options,
    outcome,
    renamed::Renamed,
    sarif::{self, Notification, Reading, Spelling},
    skipped,
};

/// The longest file of git that is read.
const MAX_OF_GIT: u64 = 1 << 20;
const REPORT: &str = "results_sarif.sarif";
/// Its report in its own form: what it gave up stands only there.
const OWN_REPORT: &str = "semgrep.json";
/// The rules that come with ash, by file name.
const RULES: [(&str, &str); 5] = [
    ("generic.yaml", include_str!("../../data/semgrep/generic.yaml")),
    ("go.yaml", include_str!("../../data/semgrep/go.yaml")),
    ("java.yaml", include_str!("../../data/semgrep/java.yaml")),
    ("javascript.yaml", include_str!("../../data/semgrep/javascript.yaml")),
    ("python.yaml", include_str!("../../data/semgrep/python.yaml")),
];
/// The directory of rules an operator keeps for scans without a network.
const RULES_CACHE: &str = "SEMGREP_RULES_CACHE_DIR";
/// Ends of the names the bundled rules and most of `p/ci` are about.
const SOURCE_CODE: [&str; 24] = [
    "py", "js", "jsx", "mjs", "cjs", "ts", "tsx", "java", "go", "rb", "php", "c", "h", "cpp", "cs", "kt", "scala", "rs", "swift", "sh", "bash", "tf", "yaml", "yml",
];
/// The rule whose matches are passwords.
const PASSWORD_RULE: &str = "ash.generic.sqlplus-password-on-command-line";

pub(crate) struct Semgrep;

impl Scanner for Semgrep {
    fn id(&self) -> ScannerId {
        ScannerId::builtin("semgrep")
    }

    fn about(&self) -> &'static str {
        "patterns of insecure code in many languages"
    }

    fn tool(&self) -> Tool {
        let mut probe = version_probe("semgrep", &["--version"], 60);
        // Relative, so in the directory the probe starts in, which is thrown away.
        probe.call.env = environment(Path::new(""));
        Tool { program: "semgrep", companions: &[], version: Some(probe), install: Install::Uv { requirement: "semgrep==1.185.0", with: &[] } }
    }

    fn requirements(&self) -> Requirements {
        Requirements {
            network: true,
            network_reason: Some("fetches the rule pack `p/ci` from the Semgrep registry"),
            // The operator's own rules for scans without a network; absent unless the variable is set.
            read_paths: texts(&["$SEMGREP_RULES_CACHE_DIR"]),
            cache_paths: texts(&["~/.semgrep"]),
            cache_env: texts(&["XDG_CONFIG_HOME"]),
            env_prefixes: texts(&["SEMGREP_"]),
            system_trust_roots: true,
            ..Requirements::NONE
        }
    }

    fn effort(&self) -> Effort {
        Effort::Long
    }

    fn plan(&self, site: &Site<'_>) -> Plan {
        if site.files.is_empty() {
            return Plan::Skip("no file to look at".to_owned());
        }
        call(site).map_or_else(|plan| plan, |call| Plan::Run(vec![call]))
    }

    fn interpret(&self, site: &Site<'_>, calls: &[(ToolCall, ToolOutput)]) -> Result<Interpreted, InterpretError> {
        let (call, output) = outcome::only(calls)?;
        let renamed = renamed(site);
        let reading = Reading { scanner: self.id(), spelling: Spelling::Path, severity: &|_| None, renamed: &renamed };
        let log = outcome::file(call, output, REPORT).and_then(|bytes| reading.parse(bytes));
        let notifications = log.as_ref().map(sarif::notifications).unwrap_or_default();
        // A failed run leaves a log too, without results, "successful", and with the reason in its notifications.
        outcome::accepted(call, output).map_err(|error| with_reason(error, &notifications))?;
        let mut interpreted = sarif::interpreted(reading.convert(site, log?));
        interpreted.findings.iter_mut().filter(|finding| finding.rule_id == PASSWORD_RULE).for_each(sarif::without_snippet);
        interpreted.findings.iter_mut().for_each(without_login);
        if git_hides_files(site) {
            interpreted.findings.retain(|finding| skipped::is_in_scan_set(site, finding));
        }
        interpreted.unevaluated = renamed.left_out.clone();
        let gaps = Gaps::of(site, &outcome::json(call, outcome::file(call, output, OWN_REPORT)?)?)?;
        interpreted.notices = gaps.notices(&self.id());
        interpreted.unevaluated.extend(gaps.unevaluated);
        Ok(interpreted)
    }
}

/// The variables every start needs; its own files go to the directory.
fn environment(directory: &Path) -> Vec<(String, OsString)> {
    let git = [("safe.directory", "*"), ("core.fsmonitor", "false"), ("core.hooksPath", "/dev/null"), ("core.excludesFile", "/dev/null")];
    let mut variables = vec![
        ("SEMGREP_ENABLE_VERSION_CHECK".to_owned(), "0".into()),
        ("SEMGREP_SEND_METRICS".to_owned(), "off".into()),
        // Both would go to the home directory, and semgrep stops when it cannot write there. Never a device: semgrep *replaces* the
        // settings file, and as root without a sandbox it would put a plain file in the place of `/dev/null`.
        ("SEMGREP_SETTINGS_FILE".to_owned(), directory.join("semgrep-settings.yml").into()),
        ("SEMGREP_LOG_FILE".to_owned(), directory.join("semgrep-tool.log").into()),
        ("GIT_CONFIG_COUNT".to_owned(), git.len().to_string().into()),
    ];
    for (number, (key, value)) in git.into_iter().enumerate() {
        variables.push((format!("GIT_CONFIG_KEY_{number}"), key.into()));
        variables.push((format!("GIT_CONFIG_VALUE_{number}"), value.into()));
    }
    variables
}

/// Files with names that are not UTF-8. semgrep reads them and loses what it finds.
fn renamed(site: &Site<'_>) -> Renamed {
    let is_code = |file: &RelPath| file.as_path().extension().is_some_and(|extension| SOURCE_CODE.iter().any(|known| extension == *known));
    Renamed::of(site, |file| file.as_path().to_str().is_none() && is_code(file))
}

/// A repository around the scanned directory does not decide what is scanned: a sandbox does not show it, and the findings are to be
/// the same with it and without.
fn no_repository_above(site: &Site<'_>) -> Option<(String, OsString)> {
    let above = site.source.parent()?;
    Some(("GIT_CEILING_DIRECTORIES".to_owned(), above.as_os_str().to_owned()))
}

/// Whether git may leave out files of the scan set when semgrep asks it for the files: it lists none of a repository inside the repository,
/// and obeys `.git/info/exclude`. Then semgrep does without git and looks at what is ignored too, which takes longer; findings there are dropped.
fn git_hides_files(site: &Site<'_>) -> bool {
    let read = |directory: &Path, name: &str| site.reader.read(&RelPath::new(directory.join(name)).ok()?, MAX_OF_GIT);
    if let Some(excluded) = read(Path::new(""), ".git/info/exclude") {
        if excluded.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).any(|line| !line.is_empty() && !line.starts_with(b"#")) {
            return true;
        }
    } else if read(Path::new(""), ".git/HEAD").is_some() || read(Path::new(""), ".git").is_some() {
        // There may be rules all the same: behind a link, or where the file `.git` leads to.
        return true;
    }
    let directories: BTreeSet<&Path> = site.files.iter().flat_map(|file| file.as_path().ancestors().skip(1)).filter(|directory| *directory != Path::new("")).collect();
    directories.into_iter().any(|directory| read(directory, ".git").is_some() || read(directory, ".git/HEAD").is_some())
}

/// semgrep gives up a rule on a file after five seconds of the clock: on a busy machine that is now this file and now that one.
const SECONDS_A_RULE_AND_FILE: u32 = 30;

/// Without it semgrep leaves out files of more than a megabyte, and its log says nothing of them.
const ANY_SIZE: &str = "--max-target-bytes=0";

/// Neither a `.semgrepignore` of the scanned tree nor semgrep's own list (`tests/`, `build/`, `dist/`, `vendor/`, `*.min.js` and more) may
/// take files out of the scan without a word.
const NO_IGNORE_FILES: &str = "--x-ignore-semgrepignore-files";

fn call(site: &Site<'_>) -> Result<ToolCall, Plan> {
    let options = Options::of(site);
    let mut call = ToolCall::new(Program::Tool("semgrep"), "semgrep").args(["scan", "--metrics", "off", "--disable-version-check", "--no-rewrite-rule-ids", ANY_SIZE, NO_IGNORE_FILES]).args([format!("--timeout={SECONDS_A_RULE_AND_FILE}")]);
    if git_hides_files(site) {
        call = call.args(["--no-git-ignore"]);
    }
    call = call.args([joined("--config=", site.results.join("rules"))]);
    let named = options.one_or_more("config")?;
    let online = if named.is_empty() { vec!["p/ci"] } else { named };
    match (site.offline, (site.variable)(RULES_CACHE).filter(|directory| !directory.is_empty())) {
        (false, _) => call = call.args(online.into_iter().map(|rules| joined("--config=", rules))),
        (true, Some(directory)) => call = call.args([joined("--config=", directory)]),
        (true, None) => {}
    }
    for name in skipped::DIRECTORIES {
        // A file may have such a name, and is looked at.
        call = call.args([format!("--exclude={name}/")]);
    }
    call = call.args([joined("--exclude=", skipped::GIT)]);
    for results in skipped::result_directories(site).chain(skipped::result_files(site)) {
        call = call.args([joined("--exclude=/", ignore_pattern(&results))]);
    }
    for (flag, values) in [
        ("--exclude=", options.patterns("exclude")?),
        ("--exclude-rule=", options.list("exclude_rule")?),
        ("--severity=", options.choices("severity", &["INFO", "WARNING", "ERROR"])?),
    ] {
        call = call.args(values.into_iter().map(|value| joined(flag, value)));
    }
    call = call.args(["--sarif".into(), joined("--sarif-output=", site.results.join(REPORT)), joined("--json-output=", site.results.join(OWN_REPORT)), OsString::from(".")]);
    let renamed = renamed(site);
    call = call.args(renamed.names().map(|(copy, _)| site.results.join(copy.as_path())));
    call.env = environment(site.results);
    call.env.extend(no_repository_above(site));
    call.inputs = RULES.iter().map(|(name, text)| (own(format!("rules/{name}")), text.as_bytes().to_vec())).collect();
    renamed.write_for(&mut call);
    call.outputs = vec![own(REPORT), own(OWN_REPORT)];
    Ok(call)
}

/// The path in the syntax of `.gitignore`.
fn ignore_pattern(path: &RelPath) -> OsString {
    skipped::escaped(path, b"*?[]\\!# ")
}

fn with_reason(error: InterpretError, notifications: &[Notification]) -> InterpretError {
    let reasons: Vec<&str> = notifications.iter().filter(|notification| notification.level == "error").map(|notification| notification.text.as_str()).collect();
    if reasons.is_empty() { error } else { InterpretError(format!("{error}; {}", reasons.join("; "))) }
}

/// semgrep puts an advertisement where a fingerprint belongs.
fn without_login(finding: &mut Finding) {
    let fingerprints = finding.extra.get_mut("fingerprints").and_then(serde_json::Value::as_object_mut);
    if let Some(fingerprints) = fingerprints {
        fingerprints.retain(|_, value| value != "requires login");
        if fingerprints.is_empty() {
            finding.extra.shift_remove("fingerprints");
        }
    }
}

#[cfg(test)]
mod tests {
    use ash_model::severity::Severity;
    use serde_json::json;

    use super::*;
    use crate::{
        InterpretError,
        scanners::tests::{Tree, interpret, recorded, run},
    };

    /// A run that left this SARIF log and gave up nothing.
    fn read(tree: &Tree, code: i32, log: Vec<u8>) -> Result<Interpreted, InterpretError> {
        interpret(&Semgrep, tree, code, &[(REPORT, log), (OWN_REPORT, br#"{"errors": []}"#.to_vec())])
    }

    fn words(tree: &Tree) -> String {
        tree.words(&run(&Semgrep, tree)[0])
    }

    #[test]
    fn offline_only_the_rules_that_come_with_ash_are_used() {
        let mut tree = Tree::new(&["a.py"]);
        tree.offline = true;
        let names = "reports scanners converted analysis inspect projects ash_aggregated_results.json ash-scan-set-files-list.txt ash-ignore-report.txt ash.log ash.log.jsonl .ash-output";
        let results: Vec<_> = names.split(' ').map(|name| format!("--exclude=/.ash/ash_output/{name}")).collect();
        assert_eq!(
            words(&tree).replace(&results.join(" "), "{results of ash}"),
            "semgrep scan --metrics off --disable-version-check --no-rewrite-rule-ids --max-target-bytes=0 --x-ignore-semgrepignore-files --timeout=30 --config={results}/rules --exclude=.venv/ --exclude=venv/ \
             --exclude=node_modules/ --exclude=.git {results of ash} --sarif --sarif-output={results}/results_sarif.sarif --json-output={results}/semgrep.json ."
        );
        tree.variables.insert(RULES_CACHE.to_owned(), "/var/rules".into());
        assert!(words(&tree).contains("--config={results}/rules --config=/var/rules --exclude"), "{}", words(&tree));
    }

    #[test]
    fn online_the_registrys_pack_is_added() {
        let mut tree = Tree::new(&["a.py"]);
        assert!(words(&tree).contains("--config={results}/rules --config=p/ci --exclude"), "{}", words(&tree));
        tree.options.insert("config".to_owned(), "p/python".into());
        assert!(words(&tree).contains("--config=p/python "), "{}", words(&tree));
    }

    #[test]
    fn neither_version_check_nor_metrics_nor_gits_idea_of_ownership_depends_on_the_machine() {
        let call = run(&Semgrep, &Tree::new(&["a.py"])).remove(0);
        let probe = Semgrep.tool().version.unwrap().call;
        for call in [call, probe] {
            let variable = |name: &str| call.env.iter().find(|(key, _)| key == name).and_then(|(_, value)| value.to_str());
            assert_eq!((variable("SEMGREP_ENABLE_VERSION_CHECK"), variable("SEMGREP_SEND_METRICS")), (Some("0"), Some("off")));
            assert_eq!((variable("GIT_CONFIG_COUNT"), variable("GIT_CONFIG_KEY_0"), variable("GIT_CONFIG_VALUE_0")), (Some("4"), Some("safe.directory"), Some("*")));
            assert_eq!((variable("GIT_CONFIG_KEY_1"), variable("GIT_CONFIG_VALUE_1")), (Some("core.fsmonitor"), Some("false")));
        }
    }

    #[test]
    fn a_repository_around_the_scanned_directory_does_not_decide_what_is_scanned() {
        let tree = Tree::new(&["a.py"]);
        let call = run(&Semgrep, &tree).remove(0);
        let (_, ceiling) = call.env.iter().find(|(name, _)| name == "GIT_CEILING_DIRECTORIES").unwrap();
        assert_eq!(Some(Path::new(ceiling)), tree.source.parent());
    }

    #[test]
    fn git_is_not_asked_where_it_would_leave_out_files_of_the_scan_set() {
        let asks_git = |files: &[(&str, &str)]| {
            let mut tree = Tree::new(&["a.py", "x/y/b.py"]);
            tree.contents.extend(files.iter().map(|(name, text)| (own(name), text.as_bytes().to_vec())));
            !words(&tree).contains(" --no-git-ignore ")
        };
        let plain = (".git/info/exclude", "# git ls-files --others\n \n");
        let head = (".git/HEAD", "ref: refs/heads/main\n");
        assert!(asks_git(&[]) && asks_git(&[plain, head]) && asks_git(&[plain, head, ("z/.git/HEAD", "")]));
        assert!(!asks_git(&[(".git/info/exclude", "# a\n*.py\n"), head]));
        assert!(!asks_git(&[head]), "the rules may be behind a link");
        assert!(!asks_git(&[(".git", "gitdir: /elsewhere\n")]));
        assert!(!asks_git(&[plain, head, ("x/.git/HEAD", "")]));
        assert!(!asks_git(&[plain, head, ("x/y/.git", "gitdir: ../../.git/modules/y\n")]));
    }

    #[test]
    fn semgreps_own_files_are_never_a_device() {
        let tree = Tree::new(&["a.py"]);
        let call = run(&Semgrep, &tree).remove(0);
        for name in ["SEMGREP_SETTINGS_FILE", "SEMGREP_LOG_FILE"] {
            let (_, value) = call.env.iter().find(|(key, _)| key == name).unwrap();
            assert!(Path::new(value).starts_with(&tree.results), "{name}: {value:?}");
        }
    }

    #[test]
    fn the_rules_are_written_into_the_results_and_keep_their_ids() {
        let call = run(&Semgrep, &Tree::new(&["a.py"])).remove(0);
        let names: Vec<String> = call.inputs.iter().map(|(name, _)| name.printable()).collect();
        assert_eq!(names, ["rules/generic.yaml", "rules/go.yaml", "rules/java.yaml", "rules/javascript.yaml", "rules/python.yaml"]);
        let ids: Vec<&str> = RULES.iter().flat_map(|(_, text)| text.lines()).filter_map(|line| line.strip_prefix("  - id: ")).collect();
        let mut unique = ids.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), ids.len(), "an id is used twice");
        assert!(ids.len() >= 20 && ids.iter().all(|id| id.starts_with("ash.")), "{ids:?}");
        for member in ["cwe: [", "category: security", "security-severity: "] {
            let count: usize = RULES.iter().map(|(_, text)| text.matches(member).count()).sum();
            assert_eq!(count, ids.len(), "each rule has `{member}`");
        }
    }

    #[test]
    fn a_name_that_is_no_text_is_given_as_a_copy() {
        let mut tree = Tree::new(&["new\nline.py"]);
        tree.put_path(b"n\xff.py", b"import os");
        assert!(words(&tree).ends_with(" . {results}/renamed/0/n_.py"), "{}", words(&tree));
    }

    #[test]
    fn the_recorded_log_gives_its_findings_with_the_severity_of_their_rule() {
        let tree = Tree::of_recorded();
        let read = read(&tree, 0, recorded("semgrep/findings.sarif")).unwrap();
        assert_eq!((read.findings.len(), read.unevaluated.len(), read.version.as_deref()), (6, 0, Some("1.185.0")));
        assert!(read.findings.iter().all(|finding| finding.location.is_some() && !finding.extra.contains_key("fingerprints")));
        assert!(read.findings.iter().any(|finding| finding.severity == Severity::Critical));
    }

    #[test]
    fn a_failed_run_is_an_error_with_semgreps_own_reason_although_its_log_says_success() {
        let tree = Tree::of_recorded();
        for (code, name, reason) in [(2, "missing", "Invalid scanning root"), (7, "no-rules", "unable to find a config")] {
            let error = read(&tree, code, recorded(&format!("semgrep/{name}.sarif"))).unwrap_err();
            assert!(error.0.contains(reason), "{error}");
        }
    }

    #[test]
    fn a_log_that_says_it_failed_is_an_error_although_it_lists_no_reason() {
        let tree = Tree::of_recorded();
        let log = |successful: bool| {
            json!({"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "Semgrep OSS"}}, "results": [], "invocations": [{"executionSuccessful": successful}]}]})
                .to_string()
                .into_bytes()
        };
        assert!(read(&tree, 0, log(true)).is_ok(), "the control");
        assert!(read(&tree, 0, log(false)).is_err());
    }

    #[test]
    fn a_file_semgrep_gave_up_is_a_gap_and_without_its_own_report_nobody_knows() {
        let tree = Tree::new(&["J.java", "a.py", "chart/Chart.yaml", "chart/templates/helm.yaml", "j.js", "tab.yaml"]);
        let (log, report) = ((REPORT, recorded("semgrep/clean.sarif")), (OWN_REPORT, recorded("semgrep/given-up.json")));
        let read = interpret(&Semgrep, &tree, 0, &[log.clone(), report]).unwrap();
        assert_eq!((read.unevaluated.len(), read.notices.len()), (3, 2), "{read:?}");
        assert!(read.unevaluated[2].starts_with("Other syntax error at line a.py:1:"), "{:?}", read.unevaluated);
        let InterpretError(reason) = interpret(&Semgrep, &tree, 0, &[log]).unwrap_err();
        assert!(reason.contains(OWN_REPORT), "{reason}");
    }

    #[test]
    fn nosemgrep_is_shown_as_suppressed_and_a_password_is_not_shown() {
        let tree = Tree::of_recorded();
        let result = |rule: &str, suppressions: serde_json::Value| {
            json!({"ruleId": rule, "message": {"text": "m"}, "suppressions": suppressions, "locations": [{"physicalLocation": {
                "artifactLocation": {"uri": "d 1%41/x.sh", "uriBaseId": "%SRCROOT%"}, "region": {"startLine": 1, "snippet": {"text": "sqlplus scott/tiger@db"}}}}]})
        };
        let results = [result(PASSWORD_RULE, json!([])), result("other", json!([{"kind": "inSource"}]))];
        let log = json!({"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "Semgrep OSS"}}, "results": results}]});
        let read = read(&tree, 0, log.to_string().into_bytes()).unwrap();
        assert_eq!((read.findings[0].is_suppressed(), read.findings[1].is_suppressed()), (false, true));
        assert!(!format!("{:?}", read.findings[0]).contains("tiger"));
        assert_eq!(read.findings[0].location.as_ref().unwrap().path.printable(), "d 1%41/x.sh");
    }
}
