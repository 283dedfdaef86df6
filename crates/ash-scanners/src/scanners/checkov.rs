//! checkov: misconfiguration in infrastructure code, images, pipelines, and secrets in them.
//!
//! checkov reads `.checkov.yaml` of the directory it runs in, and of the directory it scans when that is given as *two* words
//! (`--directory DIR`): such a file skips checks and names Python to load. So it runs in `/` and gets `--directory=DIR` as one word. The
//! operator's `options.config_file` is used, after the trust rules. It exits 1 for findings and for crashes, and 0 for a directory that is
//! not there; only a whole report counts. `checkov:skip` comments are its own business: reported as suppressed.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    path::Path,
};

use ash_model::{
    finding::Finding,
    ids::ScannerId,
    notice::Notice,
    path::RelPath,
    requirements::{Requirements, texts},
    tool::{Cwd, Program, ToolCall, ToolOutput},
};

use crate::{
    Effort, Install, InterpretError, Interpreted, Plan, Scanner, Site, Tool,
    call::{joined, own, version_probe},
    checkov_report::Report,
    excused::counted,
    options::Options,
    outcome,
    renamed::{Renamed, is_faithful},
    sarif::{self, Reading, Spelling},
    skipped,
};

/// Its two reports on the tree: findings, and what those do not say.
const TREE: [&str; 2] = ["results_sarif.sarif", "results_json.json"];
/// The same on the copies of files with odd names.
const COPIES: [&str; 2] = ["copies_sarif.sarif", "copies_json.json"];
/// By itself it enters no directory and looks at no file whose name begins with a dot, and takes Kubernetes files from nowhere below one.
const HIDDEN: (&str, &str) = ("CKV_IGNORE_HIDDEN_DIRECTORIES", "False");
/// Names of directories it does not enter, wherever they are; in place of its own list.
const IGNORED: &str = "CKV_IGNORED_DIRECTORIES";
/// Where modules it fetched would be. ash lets it fetch none; Terraform files in the place it has by itself, `.external_modules`, are left out.
const MODULES: &str = "EXTERNAL_MODULES_DIR";
/// Directories programs fill, most often ignored by git and large: entered only for files of the scan set.
const FILLED: [&str; 5] = [".terraform", ".terragrunt-cache", ".serverless", ".aws-sam", ".tox"];
/// Takes out files that are given as copies: checkov reports `\` in a name as `/`, a path that is another file's or nobody's; it cannot write
/// a name that is not UTF-8 into its report, where Python stands such bytes for by the last of these code points; and control characters.
///
/// Given only when there is such a name. With any `--skip-path` checkov 3.3.30 joins the *characters* of its patterns into one regular
/// expression: it then loads no Terraform modules up front, and hangs when the characters happen to be no valid expression.
const ODD: &str = r"--skip-path=[\\\x00-\x1f\x7f-\x9f\udc80-\udcff]";
/// The largest file that is looked for where a finding is.
const LARGEST: u64 = 64 << 20;
/// Ends of names checkov has a framework for, in lower case.
const KINDS: [&str; 12] = [".tf", ".tf.json", ".tfvars", ".yaml", ".yml", ".json", ".template", ".bicep", ".hcl", "dockerfile", ".dockerfile", "containerfile"];

pub(crate) struct Checkov;

impl Scanner for Checkov {
    fn id(&self) -> ScannerId {
        ScannerId::builtin("checkov")
    }

    fn about(&self) -> &'static str {
        "misconfiguration in Terraform, CloudFormation, Kubernetes, Dockerfiles and pipelines"
    }

    fn tool(&self) -> Tool {
        Tool {
            program: "checkov",
            companions: &[],
            version: Some(version_probe("checkov", &["--version"], 60)),
            install: Install::Uv { requirement: "checkov==3.3.30", with: &[] },
        }
    }

    fn requirements(&self) -> Requirements {
        Requirements { env_prefixes: texts(&["CHECKOV_"]), ..Requirements::NONE }
    }

    fn rule_ids(&self) -> &'static [&'static str] {
        &["CKV_", "CKV2_"]
    }

    fn effort(&self) -> Effort {
        Effort::Long
    }

    fn plan(&self, site: &Site<'_>) -> Plan {
        if site.files.is_empty() {
            return Plan::Skip("no file to look at".to_owned());
        }
        if !is_faithful(site.source) {
            return Plan::Missing("checkov cannot report on a directory whose path is not UTF-8 or has `\\` or a control character in it; scan it under another name".to_owned());
        }
        // It takes the places of its two reports apart at the comma, and leaves out copies below an odd name.
        if !is_faithful(site.results) || site.results.as_os_str().as_encoded_bytes().contains(&b',') {
            return Plan::Missing("checkov cannot write to a directory whose path is not UTF-8 or has a comma, `\\` or a control character in it; choose another one with `--output-dir`".to_owned());
        }
        planned(site).map_or_else(|plan| plan, Plan::Run)
    }

    fn interpret(&self, site: &Site<'_>, calls: &[(ToolCall, ToolOutput)]) -> Result<Interpreted, InterpretError> {
        let renamed = renamed(site);
        let expected = [Some(TREE), (!renamed.is_empty()).then_some(COPIES)];
        let expected: Vec<_> = expected.into_iter().flatten().collect();
        if calls.len() != expected.len() {
            return Err(InterpretError(format!("expected the output of {} calls, got {}", expected.len(), calls.len())));
        }
        let mut all = Interpreted { unevaluated: renamed.left_out.clone(), ..Interpreted::default() };
        let mut report = Report::default();
        for ((call, output), names) in calls.iter().zip(expected) {
            let (mut one, details) = self.interpret_one(site, &renamed, (call, output), names)?;
            report.append(details);
            all.findings.append(&mut one.findings);
            all.unevaluated.append(&mut one.unevaluated);
            all.rules.append(&mut one.rules);
            all.version = all.version.or(one.version);
        }
        all.rules.sort_by(|a, b| a.id.cmp(&b.id));
        all.rules.dedup_by(|a, b| a.id == b.id);
        judge(site, &renamed, &report, &mut all);
        Ok(all)
    }
}

impl Checkov {
    fn interpret_one(&self, site: &Site<'_>, renamed: &Renamed, (call, output): (&ToolCall, &ToolOutput), [findings, details]: [&str; 2]) -> Result<(Interpreted, Report), InterpretError> {
        let code = outcome::accepted(call, output)?;
        let reading = Reading { scanner: self.id(), spelling: Spelling::UriFromRoot, severity: &|_| None, renamed };
        let log = reading.parse(outcome::file(call, output, findings)?)?;
        let report = Report::parse(outcome::file(call, output, details)?)?;
        let mut interpreted = sarif::interpreted(reading.convert(site, log));
        if code == 1 && interpreted.findings.iter().all(Finding::is_suppressed) {
            return Err(outcome::failed(call, output, "exited with code 1 and reports no finding"));
        }
        interpreted.unevaluated = strays(site, &interpreted.findings);
        // It is made to look at hidden files, but not at ignored ones for that.
        interpreted.findings.retain(|finding| skipped::is_in_scan_set(site, finding) || !is_hidden(finding) || !exists(site, finding));
        interpreted.findings.iter_mut().filter(|finding| finding.rule_id.starts_with("CKV_SECRET_")).for_each(sarif::without_snippet);
        Ok((interpreted, report))
    }
}

/// Adds what checkov did not evaluate, by its own reports.
fn judge(site: &Site<'_>, renamed: &Renamed, report: &Report, all: &mut Interpreted) {
    let not_parsed = report.not_parsed(site, renamed);
    if report.is_quiet() {
        all.notices.push(Notice::new("checkov", "its configuration file says `quiet`, so files that it cannot parse are not named"));
    } else if is_whole(site) {
        let (mut missed, templates) = report.not_looked_at(site, renamed, |framework| is_on(site, framework));
        missed.retain(|missed| !not_parsed.iter().any(|named| named.split(": ").next() == missed.split(": ").next()));
        all.unevaluated.append(&mut missed);
        if let Some(first) = templates.first() {
            let files = counted(u64::try_from(templates.len()).unwrap_or(u64::MAX), "template");
            all.notices.push(Notice::new("checkov", format!("{files} of Kubernetes manifests not evaluated, since nobody fills them in: {first}{}", if templates.len() > 1 { " and others" } else { "" })));
        }
    }
    all.unevaluated.extend(not_parsed);
}

/// Whether the operator leaves it to the tree what checkov looks at: neither a configuration file of checkov's nor a pattern says otherwise.
fn is_whole(site: &Site<'_>) -> bool {
    let options = Options::of(site);
    options.text("config_file").is_ok_and(|config| config.is_none()) && options.patterns("skip_path").is_ok_and(|patterns| patterns.is_empty())
}

/// Whether the options let checkov use a framework.
fn is_on(site: &Site<'_>, framework: &str) -> bool {
    let options = Options::of(site);
    let list = |name| options.list(name).unwrap_or_default();
    let chosen = list("frameworks");
    (chosen.is_empty() || chosen.iter().any(|name| *name == "all" || *name == framework)) && !list("skip_frameworks").contains(&framework)
}

fn renamed(site: &Site<'_>) -> Renamed {
    Renamed::of(site, |file| {
        let name = file.as_path().file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        KINDS.iter().any(|kind| name.ends_with(kind)) || name.starts_with("dockerfile.")
    })
}

/// One call for the tree, and one for the copies: its frameworks keep what they read in one directory when they come to another one.
fn planned(site: &Site<'_>) -> Result<Vec<ToolCall>, Plan> {
    let patterns = Options::of(site).patterns("skip_path")?;
    let skip: Vec<_> = patterns.into_iter().map(|pattern| joined("--skip-path=", pattern)).collect();
    let renamed = renamed(site);
    if renamed.is_empty() {
        return Ok(vec![call(site, "checkov", skip, site.source, TREE)?]);
    }
    let skip = skip.into_iter().chain([ODD.into()]).collect();
    let tree = call(site, "checkov", skip, site.source, TREE)?;
    let mut copies = call(site, "checkov-copies", vec![], &site.results.join("renamed"), COPIES)?;
    renamed.write_for(&mut copies);
    Ok(vec![tree, copies])
}

fn call(site: &Site<'_>, log: &str, skip: Vec<OsString>, directory: &Path, reports: [&str; 2]) -> Result<ToolCall, Plan> {
    let options = Options::of(site);
    let mut call = ToolCall::new(Program::Tool("checkov"), log).args(["--output", "sarif"]);
    if let Some(config) = options.text("config_file")? {
        call = call.args(["--config-file", config]);
    }
    call = call.args(["--output", "json", "--skip-download", "--compact"]);
    let frameworks = options.list("frameworks")?;
    for framework in if frameworks.is_empty() { vec!["all"] } else { frameworks } {
        call = call.args(["--framework", framework]);
    }
    for framework in options.list("skip_frameworks")? {
        call = call.args(["--skip-framework", framework]);
    }
    call = call.args(skip).args([joined("--directory=", directory)]);
    // With one place for each, neither is printed.
    let [findings, details] = reports.map(|name| site.results.join(name).into_os_string());
    call = call.args([OsString::from("--output-file-path"), [findings, details].join(OsStr::new(","))]);
    call.cwd = Cwd::Root;
    call.env = vec![
        (HIDDEN.0.to_owned(), HIDDEN.1.into()),
        (IGNORED.to_owned(), ignored(site).join(",").into()),
        (MODULES.to_owned(), site.results.join("modules").into()),
    ];
    call.outputs = reports.map(own).to_vec();
    call.accepts = vec![0, 1];
    Ok(call)
}

/// Names of directories that hold no file of the scan set: those ash never looks into, and others where this scan has nothing to look at.
fn ignored<'s>(site: &Site<'s>) -> Vec<&'s str> {
    let outputs = site.outputs.iter().filter_map(|output| output.as_path().file_name()?.to_str());
    let is_empty = |name: &&str| !name.contains(',') && !site.files.iter().any(|file| file.as_path().components().any(|part| part.as_os_str() == *name));
    skipped::names().chain(FILLED.into_iter().chain(outputs).filter(is_empty)).collect()
}

/// Whether some part of the file's path begins with a dot.
fn is_hidden(finding: &Finding) -> bool {
    finding.location.as_ref().is_some_and(|at| at.path.as_path().iter().any(|part| part.as_encoded_bytes().starts_with(b".")))
}

/// Whether there is a file where the finding lies. A link is none.
fn exists(site: &Site<'_>, finding: &Finding) -> bool {
    finding.location.as_ref().is_none_or(|at| site.reader.read(&at.path, LARGEST).is_some())
}

/// Places with findings that ash drops, as installed packages, although no such file is there: checkov spelled another file's name so.
fn strays(site: &Site<'_>, findings: &[Finding]) -> Vec<String> {
    let dropped = |path: &RelPath| path.as_path().iter().any(|part| skipped::names().any(|name| part == name));
    let stray = |finding: &&Finding| !skipped::is_in_scan_set(site, finding) && !exists(site, finding);
    let places = findings.iter().filter(stray).filter_map(|finding| finding.location.as_ref());
    let places: BTreeSet<_> = places.map(|at| &at.path).filter(|path| dropped(path)).collect();
    places.into_iter().map(|path| format!("{path}: checkov reports findings there, but there is no such file")).collect()
}

#[cfg(test)]
mod tests {
    use ash_model::{severity::Severity, tool::Exit};
    use serde_json::json;

    use super::*;
    use crate::scanners::tests::{Tree, interpret, interpret_output, output, recorded, run};

    /// What checkov writes when there is nothing to say.
    const NOTHING: &[u8] = br#"{"passed": 0, "failed": 0, "skipped": 0, "parsing_errors": 0, "resource_count": 0, "checkov_version": "3.3.30"}"#;

    #[test]
    fn the_command_line_is_the_documented_one_and_the_directory_is_one_word() {
        let tree = Tree::new(&["main.tf", ".checkov.yaml"]);

        let calls = run(&Checkov, &tree);
        assert_eq!(
            tree.words(&calls[0]),
            "checkov --output sarif --output json --skip-download --compact --framework all --directory={source} --output-file-path {results}/results_sarif.sarif,{results}/results_json.json"
        );
        assert_eq!(calls[0].cwd, Cwd::Root);
        assert!(!calls[0].args.iter().any(|argument| argument == "--directory" || argument == "-d"), "two words would let `.checkov.yaml` in");
    }

    #[test]
    fn hidden_directories_are_entered_and_of_those_programs_fill_the_ones_with_files_of_the_scan_set() {
        let variable = |files: &[&str], name: &str| {
            let call = run(&Checkov, &Tree::new(files)).remove(0);
            let (_, value) = call.env.iter().find(|(variable, _)| variable == name).unwrap();
            value.to_str().unwrap().to_owned()
        };
        assert_eq!(variable(&["main.tf"], HIDDEN.0), "False");
        assert_eq!(variable(&["main.tf", "x.terraform/a.tf"], IGNORED), ".venv,venv,node_modules,.git,.terraform,.terragrunt-cache,.serverless,.aws-sam,.tox,ash_output");
        assert_eq!(
            variable(&["a/.terraform/b/main.tf", "ash_output/main.tf", ".serverless/s.yaml"], IGNORED),
            ".venv,venv,node_modules,.git,.terragrunt-cache,.aws-sam,.tox",
            "a name counts wherever it is, for checkov knows no places"
        );
    }

    #[test]
    fn an_odd_name_is_read_as_a_copy() {
        for (name, copy) in [(&b"x/n\xff.TF"[..], "x/n_.TF"), (b"venv\\x/main.tf", "venv_x/main.tf"), (b"x/n\n.tf", "x/n_.tf"), (b"n\xc2\x85.tf", "n__.tf")] {
            let mut tree = Tree::new(&["a.png", "b.tf", "\u{e9}.tf"]);
            tree.put_path(name, b"resource {}");
            tree.put_path(b"x/n\xff.png", b"");
            tree.options = json!({"skip_path": ["x"]}).as_object().cloned().unwrap();
            let calls = run(&Checkov, &tree);
            assert!(tree.words(&calls[0]).contains(&format!("--skip-path=x {ODD} --directory={{source}}")), "the file itself would end the run, or be reported under another name");
            assert!(tree.words(&calls[1]).contains(" --framework all --directory={results}/renamed --output"), "{}", tree.words(&calls[1]));
            assert!(calls[0].inputs.is_empty());
            assert_eq!(calls[1].inputs, [(own(format!("renamed/0/{copy}")), b"resource {}".to_vec())]);
        }
    }

    #[test]
    fn a_directory_whose_path_checkov_would_spell_otherwise_is_refused() {
        for place in ["/a\\b", "/a\nb", "/a,b"] {
            let mut tree = Tree::new(&["main.tf"]);
            tree.results = place.into();
            assert!(matches!(tree.site(|site| Checkov.plan(site)), Plan::Missing(reason) if reason.contains("--output-dir")), "{place:?}");
            tree.results = "/results".into();
            tree.source = place.into();
            assert_eq!(matches!(tree.site(|site| Checkov.plan(site)), Plan::Missing(_)), place != "/a,b", "{place:?}");
        }
    }

    /// One result in a file.
    fn result(uri: &str) -> Vec<u8> {
        let log = json!({"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "Checkov", "rules": []}}, "results": [
            {"ruleId": "CKV_AWS_24", "level": "error", "message": {"text": "m"},
             "locations": [{"physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": 1, "endLine": 3}}}]}]}]});
        log.to_string().into_bytes()
    }

    #[test]
    fn a_finding_where_no_file_is_is_not_dropped_in_silence() {
        let mut tree = Tree::of_recorded();
        // There, but ignored by git.
        tree.contents.insert(own(".ignored/main.tf"), vec![]);
        for (path, findings, unevaluated) in [
            (".ignored/main.tf", 0, 0),
            (".gone/main.tf", 1, 0),
            ("gone/main.tf", 1, 0),
            ("a/node_modules/main.tf", 1, 1),
            ("venv/x/main.tf", 1, 1),
        ] {
            let read = interpret(&Checkov, &tree, 1, &[(TREE[0], result(&format!("src/{path}"))), (TREE[1], NOTHING.to_vec())]);
            let read = read.unwrap_or_else(|error| panic!("{path}: {error}"));
            assert_eq!((read.findings.len(), read.unevaluated.len()), (findings, unevaluated), "{path}: {:?}", read.unevaluated);
        }
    }

    #[test]
    fn frameworks_and_a_config_file_of_the_operator_are_passed_on() {
        let mut tree = Tree::new(&["main.tf"]);
        tree.options = json!({"frameworks": ["terraform"], "skip_frameworks": ["secrets"], "config_file": "/etc/ck.yaml"}).as_object().cloned().unwrap();
        let words = tree.words(&run(&Checkov, &tree)[0]);
        assert!(words.contains("--config-file /etc/ck.yaml ") && words.contains("--framework terraform --skip-framework secrets"), "{words}");
    }

    #[test]
    fn the_recorded_log_gives_its_findings_relative_to_the_source() {
        let mut tree = Tree::of_recorded();
        tree.put(".github/workflows/triage.yml", b"");
        tree.contents.insert(own(".github/workflows/release.yml"), vec![]);
        let read = interpret(&Checkov, &tree, 1, &[(TREE[0], recorded("checkov/findings.sarif")), (TREE[1], NOTHING.to_vec())]).unwrap();
        let in_workflows = |name: &str| read.findings.iter().filter(|finding| finding.location.as_ref().is_some_and(|at| at.path.as_path().ends_with(name))).count();
        assert_eq!((in_workflows("triage.yml"), in_workflows("release.yml")), (3, 0), "the latter is hidden and not of the scan set");
        assert!(read.findings.len() > 20);
        assert!(read.findings.iter().all(|finding| finding.severity == Severity::Critical && finding.location.as_ref().is_some_and(|at| !at.path.as_path().starts_with("src"))));
        let secret = read.findings.iter().find(|finding| finding.rule_id.starts_with("CKV_SECRET_")).unwrap();
        assert_eq!(secret.location.as_ref().unwrap().snippet, None);
    }

    #[test]
    fn files_checkov_could_not_parse_are_named() {
        let mut tree = Tree::new(&["bad.tf", "x.json"]);
        tree.source = "/src-broken".into();
        let framework = |name: &str, files: &[&str]| json!({"check_type": name, "results": {"failed_checks": [], "passed_checks": [], "skipped_checks": [], "parsing_errors": files}});
        let report = json!([
            framework("terraform_plan", &["/src-broken/x.json"]),
            framework("terraform", &["/src-broken/bad.tf", "/elsewhere/bad.tf", "/src-broken/not-scanned.tf"]),
        ]);
        // What it prints is not believed: the tree has a say in it.
        let printed = b"terraform scan results:\n\nError parsing file /src-broken/x.json\n";
        let files = [(TREE[0], recorded("checkov/clean.sarif")), (TREE[1], report.to_string().into_bytes())];
        let read = interpret_output(&Checkov, &tree, output(Exit::Code(0), printed, b"", &files)).unwrap();
        assert_eq!(read.unevaluated, ["bad.tf: checkov cannot parse it as terraform"]);
        assert_eq!(read.notices, []);

        let quiet = json!({"check_type": "terraform", "results": {"failed_checks": []}}).to_string().into_bytes();
        let read = interpret(&Checkov, &tree, 0, &[(TREE[0], recorded("checkov/clean.sarif")), (TREE[1], quiet)]).unwrap();
        assert!(read.notices[0].line().contains("quiet"), "{:?}", read.notices);
    }

    #[test]
    fn what_is_said_of_a_copy_is_said_of_its_file() {
        let mut tree = Tree::new(&["main.tf"]);
        tree.put("ba\nd.tf", b"");
        tree.put("a\\b.tf", b"");
        tree.results = "/results".into();
        let calls = run(&Checkov, &tree);
        let errors = json!({"check_type": "terraform", "results": {"failed_checks": [], "parsing_errors": ["/results/renamed/1/ba_d.tf"]}});
        let outputs = [
            output(Exit::Code(1), b"", b"", &[(TREE[0], result("the tree/main.tf")), (TREE[1], NOTHING.to_vec())]),
            output(Exit::Code(1), b"", b"", &[(COPIES[0], result("results/renamed/0/a_b.tf")), (COPIES[1], errors.to_string().into_bytes())]),
        ];
        let outputs: Vec<_> = calls.into_iter().zip(outputs).collect();
        let read = tree.site(|site| Checkov.interpret(site, &outputs)).unwrap();
        let places: Vec<_> = read.findings.iter().map(|finding| finding.location.as_ref().unwrap().path.printable()).collect();
        assert_eq!(places, ["main.tf", r"a\b.tf"]);
        assert_eq!(read.unevaluated, ["ba\\nd.tf: checkov cannot parse it as terraform"]);
        assert!(tree.site(|site| Checkov.interpret(site, &outputs[..1])).is_err(), "the copies were not looked at");
    }

    #[test]
    fn an_exit_that_reports_findings_without_any_is_a_crash() {
        let tree = Tree::of_recorded();
        let clean = || (TREE[0], recorded("checkov/clean.sarif"));
        assert!(interpret(&Checkov, &tree, 1, &[clean(), (TREE[1], NOTHING.to_vec())]).is_err());
        assert!(interpret(&Checkov, &tree, 0, &[clean(), (TREE[1], NOTHING.to_vec())]).is_ok());
        assert!(interpret(&Checkov, &tree, 0, &[clean()]).is_err(), "without its own report nobody knows what it could not parse");
        assert!(interpret(&Checkov, &tree, 0, &[clean(), (TREE[1], b"{}".to_vec())]).is_err());
    }

    #[test]
    fn a_skip_comment_is_shown_as_suppressed() {
        let tree = Tree::of_recorded();
        let log = json!({"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "Checkov", "rules": []}}, "results": [
            {"ruleId": "CKV_DOCKER_2", "level": "warning", "message": {"text": "m"}, "suppressions": [{"kind": "inSource", "justification": "because"}],
             "locations": [{"physicalLocation": {"artifactLocation": {"uri": "src/a%20b/Dockerfile"}, "region": {"startLine": 1, "endLine": 3}}}]}]}]});
        let read = interpret(&Checkov, &tree, 0, &[(TREE[0], log.to_string().into_bytes()), (TREE[1], NOTHING.to_vec())]).unwrap();
        assert!(read.findings[0].is_suppressed());
        assert_eq!(read.findings[0].location.as_ref().unwrap().path.printable(), "a b/Dockerfile");
    }
}
