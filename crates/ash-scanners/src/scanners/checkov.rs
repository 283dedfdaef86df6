//! checkov: misconfiguration in infrastructure code, images, pipelines, and secrets in them.
//!
//! checkov reads `.checkov.yaml` of the directory it runs in, and of the directory it scans when that is given as *two* words
//! (`--directory DIR`): such a file skips checks and names Python to load. So it runs in `/` and gets `--directory=DIR` as one word. The
//! operator's `options.config_file` is used, after the trust rules. It exits 1 for findings and for crashes, and 0 for a directory that is
//! not there; only a whole report counts. `checkov:skip` comments are its own business: reported as suppressed.

use std::{ffi::OsString, path::Path};

use ash_model::{
    finding::Finding,
    ids::ScannerId,
    path::RelPath,
    requirements::{Requirements, texts},
    tool::{Cwd, Program, ToolCall, ToolOutput},
};

use crate::{
    Effort, Install, InterpretError, Interpreted, Plan, Scanner, Site, Tool,
    call::{joined, own, version_probe},
    options::Options,
    outcome,
    renamed::Renamed,
    sarif::{self, Reading, Spelling},
    skipped,
};

const REPORT: &str = "results_sarif.sarif";
/// By itself it enters no directory and looks at no file whose name begins with a dot, and takes Kubernetes files from nowhere below one.
const HIDDEN: (&str, &str) = ("CKV_IGNORE_HIDDEN_DIRECTORIES", "False");
/// Names of directories it does not enter, wherever they are; in place of its own list.
const IGNORED: &str = "CKV_IGNORED_DIRECTORIES";
/// Where modules it fetched would be. ash lets it fetch none; Terraform files in the place it has by itself, `.external_modules`, are left out.
const MODULES: &str = "EXTERNAL_MODULES_DIR";
/// Directories programs fill, most often ignored by git and large: entered only for files of the scan set.
const FILLED: [&str; 5] = [".terraform", ".terragrunt-cache", ".serverless", ".aws-sam", ".tox"];
/// Takes out names that are not UTF-8, which checkov cannot write into its report: Python stands such bytes for by these code points.
///
/// Given only when there is such a name. With any `--skip-path` checkov 3.3.30 joins the *characters* of its patterns into one regular
/// expression: it then loads no Terraform modules up front, and hangs when the characters happen to be no valid expression.
const NOT_UTF8: &str = r"--skip-path=[\udc80-\udcff]";
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
        if site.source.to_str().is_none() {
            return Plan::Missing("checkov cannot report on a directory whose path is not UTF-8; scan it under another name".to_owned());
        }
        call(site).map_or_else(|plan| plan, |call| Plan::Run(vec![call]))
    }

    fn interpret(&self, site: &Site<'_>, calls: &[(ToolCall, ToolOutput)]) -> Result<Interpreted, InterpretError> {
        let (call, output) = outcome::only(calls)?;
        let code = outcome::accepted(call, output)?;
        let renamed = renamed(site);
        let reading = Reading { scanner: self.id(), spelling: Spelling::UriFromRoot, severity: &|_| None, renamed: &renamed };
        let log = reading.parse(outcome::file(call, output, REPORT)?)?;
        let mut interpreted = sarif::interpreted(reading.convert(site, log));
        if code == 1 && interpreted.findings.iter().all(Finding::is_suppressed) {
            return Err(outcome::failed(call, output, "exited with code 1 and reports no finding"));
        }
        // It is made to look at hidden files, but not at ignored ones for that.
        interpreted.findings.retain(|finding| skipped::is_in_scan_set(site, finding) || !is_hidden(finding));
        interpreted.findings.iter_mut().filter(|finding| finding.rule_id.starts_with("CKV_SECRET_")).for_each(sarif::without_snippet);
        interpreted.unevaluated = renamed.left_out.clone();
        interpreted.unevaluated.extend(not_parsed(site, &renamed, &output.stdout.text()));
        if output.stdout.is_cut() {
            interpreted.unevaluated.push("checkov printed more than ash keeps, so files it could not parse may not be named".to_owned());
        }
        Ok(interpreted)
    }
}

fn renamed(site: &Site<'_>) -> Renamed {
    Renamed::of(site, |file| {
        if file.as_path().to_str().is_some() {
            return false;
        }
        let name = file.as_path().file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        KINDS.iter().any(|kind| name.ends_with(kind)) || name.starts_with("dockerfile.")
    })
}

fn call(site: &Site<'_>) -> Result<ToolCall, Plan> {
    let options = Options::of(site);
    let mut call = ToolCall::new(Program::Tool("checkov"), "checkov").args(["--output", "sarif"]);
    if let Some(config) = options.text("config_file")? {
        call = call.args(["--config-file", config]);
    }
    call = call.args(["--output", "cyclonedx_json", "--skip-download", "--compact"]);
    let frameworks = options.list("frameworks")?;
    for framework in if frameworks.is_empty() { vec!["all"] } else { frameworks } {
        call = call.args(["--framework", framework]);
    }
    for framework in options.list("skip_frameworks")? {
        call = call.args(["--skip-framework", framework]);
    }
    for pattern in options.patterns("skip_path")? {
        call = call.args([joined("--skip-path=", pattern)]);
    }
    call = call.args([joined("--directory=", site.source)]);
    let renamed = renamed(site);
    if !renamed.is_empty() {
        call = call.args([NOT_UTF8]);
        call = call.args([joined("--directory=", site.results.join("renamed"))]);
        renamed.write_for(&mut call);
    }
    call = call.args([OsString::from("--output-file-path"), site.results.into()]);
    call.cwd = Cwd::Root;
    call.env = vec![
        (HIDDEN.0.to_owned(), HIDDEN.1.into()),
        (IGNORED.to_owned(), ignored(site).join(",").into()),
        (MODULES.to_owned(), site.results.join("modules").into()),
    ];
    call.outputs = vec![own(REPORT)];
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

/// Files checkov could not parse. Its report for people is the only place that names them.
///
/// Its Terraform plan framework tries every JSON file, so what it cannot parse means nothing.
fn not_parsed(site: &Site<'_>, renamed: &Renamed, printed: &str) -> Vec<String> {
    let mut framework = "";
    let mut found = vec![];
    for line in printed.lines() {
        if let Some(name) = line.strip_suffix(" scan results:") {
            framework = name;
        } else if let Some(name) = line.strip_prefix("Error parsing file ").filter(|_| framework != "terraform_plan") {
            let path = Path::new("/").join(name);
            let below = path.strip_prefix(site.source).ok().and_then(|below| RelPath::new(below).ok());
            let file = renamed.original(site.results, &path).cloned().or(below);
            if let Some(file) = file.filter(|file| site.files.binary_search(file).is_ok()) {
                found.push(format!("{file}: checkov cannot parse it as {}", outcome::quoted(framework)));
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use ash_model::{severity::Severity, tool::Exit};
    use serde_json::json;

    use super::*;
    use crate::scanners::tests::{Tree, interpret, interpret_output, output, recorded, run};

    #[test]
    fn the_command_line_is_the_documented_one_and_the_directory_is_one_word() {
        let tree = Tree::new(&["main.tf", ".checkov.yaml"]);

        let calls = run(&Checkov, &tree);
        assert_eq!(
            tree.words(&calls[0]),
            "checkov --output sarif --output cyclonedx_json --skip-download --compact --framework all --directory={source} --output-file-path {results}"
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
        let mut tree = Tree::new(&["a.png"]);
        tree.put_path(b"x/n\xff.TF", b"resource {}");
        tree.put_path(b"x/n\xff.png", b"");
        let call = run(&Checkov, &tree).remove(0);
        assert!(call.args.contains(&joined("--directory=", tree.results.join("renamed"))));
        assert!(call.args.contains(&NOT_UTF8.into()), "the file itself would end the run");
        assert_eq!(call.inputs, [(own("renamed/0/x/n_.TF"), b"resource {}".to_vec())]);
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
        let read = interpret(&Checkov, &tree, 1, &[(REPORT, recorded("checkov/findings.sarif"))]).unwrap();
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
        let printed = b"terraform_plan scan results:\n\nError parsing file /src-broken/x.json\n\nterraform scan results:\n\nError parsing file /src-broken/bad.tf\nError parsing file /elsewhere/bad.tf\nError parsing file /src-broken/not-scanned.tf\n";
        let read = interpret_output(&Checkov, &tree, output(Exit::Code(0), printed, b"", &[(REPORT, recorded("checkov/clean.sarif"))])).unwrap();
        assert_eq!(read.unevaluated, ["bad.tf: checkov cannot parse it as terraform"]);
    }

    #[test]
    fn an_exit_that_reports_findings_without_any_is_a_crash() {
        let tree = Tree::of_recorded();
        assert!(interpret(&Checkov, &tree, 1, &[(REPORT, recorded("checkov/clean.sarif"))]).is_err());
        assert!(interpret(&Checkov, &tree, 0, &[(REPORT, recorded("checkov/clean.sarif"))]).is_ok());
    }

    #[test]
    fn a_skip_comment_is_shown_as_suppressed() {
        let tree = Tree::of_recorded();
        let log = json!({"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "Checkov", "rules": []}}, "results": [
            {"ruleId": "CKV_DOCKER_2", "level": "warning", "message": {"text": "m"}, "suppressions": [{"kind": "inSource", "justification": "because"}],
             "locations": [{"physicalLocation": {"artifactLocation": {"uri": "src/a%20b/Dockerfile"}, "region": {"startLine": 1, "endLine": 3}}}]}]}]});
        let read = interpret(&Checkov, &tree, 0, &[(REPORT, log.to_string().into_bytes())]).unwrap();
        assert!(read.findings[0].is_suppressed());
        assert_eq!(read.findings[0].location.as_ref().unwrap().path.printable(), "a b/Dockerfile");
    }
}
