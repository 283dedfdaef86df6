//! zizmor: security problems in GitHub workflows and actions.
//!
//! zizmor gets exactly the workflow and action files of the scan set, never a directory: one file name that is not UTF-8 would end its
//! run, and a `.gitignore` would hide files. `--no-config` keeps `zizmor.yml` of the tree from switching checks off; `# zizmor: ignore`
//! comments are its own business and obeyed; that there are some is said. It is always offline: what it would ask a forge for needs a token, and it gets none.
//!
//! A workflow it cannot parse is by itself only a warning that does not name the file, and the line that says which files it completed can be
//! written by a workflow, whose expressions it prints as they are. With `--strict-collection` it fails unless it has looked at every file
//! it was given; then it is started again with fewer.

use ash_model::{
    ids::ScannerId,
    path::{RelPath, printable},
    severity::Severity,
    tool::{Program, ToolCall, ToolOutput},
};
use ash_sarif::{Log, SeverityFacts};
use serde_json::Value;

use crate::{
    Effort, Install, InterpretError, Interpreted, Plan, Scanner, Site, Tool,
    call::{groups, joined, version_probe},
    excused,
    options::Options,
    outcome,
    parts::{self, Parts},
    renamed::{Renamed, is_plain},
    sarif::{self, Reading, Spelling},
};

pub(crate) struct Zizmor;

impl Scanner for Zizmor {
    fn id(&self) -> ScannerId {
        ScannerId::builtin("zizmor")
    }

    fn about(&self) -> &'static str {
        "security problems in GitHub workflows and actions"
    }

    fn tool(&self) -> Tool {
        Tool {
            program: "zizmor",
            companions: &[],
            version: Some(version_probe("zizmor", &["--version"], 30)),
            install: Install::Uv { requirement: "zizmor==1.32.0", with: &[] },
        }
    }

    fn effort(&self) -> Effort {
        Effort::Short
    }

    fn plan(&self, site: &Site<'_>) -> Plan {
        if !site.files.iter().any(is_input) {
            return Plan::Skip("no GitHub workflow and no action.yml".to_owned());
        }
        calls(site).map_or_else(|plan| plan, Plan::Run)
    }

    fn smaller(&self, _site: &Site<'_>, call: &ToolCall, output: &ToolOutput) -> Vec<ToolCall> {
        let reading = Reading { scanner: self.id(), spelling: Spelling::Path, severity: &severity, renamed: &Renamed::default() };
        if log(&reading, call, output).is_ok() { vec![] } else { parts::halves(call) }
    }

    fn interpret(&self, site: &Site<'_>, calls: &[(ToolCall, ToolOutput)]) -> Result<Interpreted, InterpretError> {
        let renamed = Renamed::of(site, is_input);
        let reading = Reading { scanner: self.id(), spelling: Spelling::Path, severity: &severity, renamed: &renamed };
        let inputs = inputs(site, &renamed);
        let mut all = Interpreted { unevaluated: renamed.left_out.clone(), targets: u64::try_from(inputs.len()).ok(), ..Interpreted::default() };
        if calls.is_empty() {
            return Err(InterpretError("zizmor was not run".to_owned()));
        }
        let parts = Parts::of(calls, |call, output| log(&reading, call, output))?;
        for mut log in parts.read {
            name_files_as_given(&mut log);
            let read = sarif::interpreted(reading.convert(site, log));
            all.version = read.version;
            all.findings.extend(read.findings);
            all.rules.extend(read.rules);
        }
        let excused = if site.ignore_suppressions { 0 } else { excused::files_with(site, inputs.iter().map(|input| &input.file), "zizmor: ignore") };
        if excused > 0 {
            let said = format!("`# zizmor: ignore` comments in {} can leave findings out of its report", excused::counted(excused as u64, "file"));
            all.notices.push(excused::notice(&self.id(), &said));
        }
        for (given, why) in parts.failed {
            let file = inputs.iter().find(|input| given == *input.given);
            let file = file.map_or_else(|| printable(&given), |input| input.file.printable());
            all.unevaluated.push(format!("{file}: {why}"));
        }
        all.rules.sort_by(|a, b| a.id.cmp(&b.id));
        all.rules.dedup_by(|a, b| a.id == b.id);
        Ok(all)
    }
}

/// What a call printed, if it looked at all its files.
fn log(reading: &Reading<'_>, call: &ToolCall, output: &ToolOutput) -> Result<Log, InterpretError> {
    outcome::accepted(call, output)?;
    reading.parse(outcome::stdout(call, output)?)
}

/// zizmor's own severity, one band lower when it is not confident.
fn severity(facts: &SeverityFacts<'_>) -> Option<Severity> {
    let property = |name: &str| facts.properties.get(name).and_then(Value::as_str);
    let unsure = property("zizmor/confidence") == Some("Low");
    match property("zizmor/severity")? {
        "High" => Some(if unsure { Severity::Medium } else { Severity::High }),
        "Medium" => Some(if unsure { Severity::Low } else { Severity::Medium }),
        "Low" => Some(if unsure { Severity::Info } else { Severity::Low }),
        "Informational" => Some(Severity::Info),
        _ => None,
    }
}

/// Inside a repository zizmor names files relative to the repository, which is not always the scanned directory and not always visible.
/// What it was given stands in a property beside each location.
fn name_files_as_given(log: &mut Log) {
    for result in log.runs.iter_mut().flat_map(|run| run.results.iter_mut().flatten()) {
        for location in result.locations.iter_mut().flatten() {
            let given = location.extra.get("logicalLocations").and_then(given_name).map(str::to_owned);
            let artifact = location.physical_location.as_mut().and_then(|physical| physical.artifact_location.as_mut());
            if let (Some(given), Some(artifact)) = (given, artifact) {
                artifact.uri = Some(given);
            }
        }
        result.extra.values_mut().for_each(name_file_as_given);
    }
}

fn name_file_as_given(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(name_file_as_given),
        Value::Object(members) => {
            let given = members.get("logicalLocations").and_then(given_name).map(str::to_owned);
            let artifact = members.get_mut("physicalLocation").and_then(|physical| physical.pointer_mut("/artifactLocation/uri"));
            if let (Some(given), Some(uri)) = (given, artifact) {
                *uri = Value::String(given);
            }
            members.values_mut().for_each(name_file_as_given);
        }
        _ => {}
    }
}

fn given_name(logical_locations: &Value) -> Option<&str> {
    logical_locations.pointer("/0/properties/symbolic/key/Local/verbatim_path")?.as_str()
}

/// `.github/workflows/*.yml` at any depth, and `action.yml`.
fn is_input(file: &RelPath) -> bool {
    let path = file.as_path();
    let is_yaml = path.extension().is_some_and(|extension| extension == "yml" || extension == "yaml");
    let is_workflow = path.parent().is_some_and(|parent| parent.ends_with(".github/workflows"));
    let is_action = path.file_stem().is_some_and(|stem| stem == "action");
    is_yaml && (is_workflow || is_action)
}

/// A file as zizmor is given it.
struct Input {
    file: RelPath,
    given: String,
}

/// Names relative to the source start with `./`: a bare `a/action.yml` could be taken for a repository.
fn inputs(site: &Site<'_>, renamed: &Renamed) -> Vec<Input> {
    let named = site.files.iter().filter(|file| is_input(file) && is_plain(file)).filter_map(|file| Some(Input { file: file.clone(), given: format!("./{}", file.as_path().to_str()?) }));
    let copies = renamed.names().filter_map(|(copy, original)| Some(Input { file: original.clone(), given: site.results.join(copy.as_path()).to_str()?.to_owned() }));
    named.chain(copies).collect()
}

fn calls(site: &Site<'_>) -> Result<Vec<ToolCall>, Plan> {
    let options = Options::of(site);
    let persona = options.choice("persona", &["regular", "pedantic", "auditor"])?.unwrap_or("regular");
    let config = options.text("config_file")?.map_or_else(|| "--no-config".into(), |file| joined("--config=", file));
    let renamed = Renamed::of(site, is_input);
    let calls = groups(inputs(site, &renamed), |input| input.given.len()).into_iter().enumerate().map(|(number, inputs)| {
        let mut call = ToolCall::new(Program::Tool("zizmor"), &format!("zizmor-{number}"))
            .args(["--offline", "--strict-collection", "--format", "sarif", "--persona", persona, "--no-progress", "--color", "never"])
            .args(site.ignore_suppressions.then_some("--no-ignores"))
            .args([config.clone(), "--".into()])
            .args(inputs.into_iter().map(|input| input.given));
        call.accepts = vec![0, 10, 11, 12, 13, 14];
        if number == 0 {
            renamed.write_for(&mut call);
        }
        call
    });
    Ok(calls.collect())
}

#[cfg(test)]
mod tests {
    use ash_model::tool::Exit;

    use super::*;
    use crate::scanners::tests::{Tree, interpret_output, output, recorded, run};

    fn tree() -> Tree {
        Tree::new(&[".github/workflows/release.yml", ".github/workflows/triage.yml"])
    }

    /// The recorded log, as if zizmor had been given names relative to the source.
    fn log() -> String {
        String::from_utf8(recorded("zizmor/findings.sarif")).unwrap().replace(r#""verbatim_path":"/src/"#, r#""verbatim_path":"./"#)
    }

    #[test]
    fn the_command_line_names_each_workflow_and_action_and_nothing_else() {
        let mut tree = Tree::new(&["x y/.github/workflows/-c i.yaml", "act/action.yml", ".github/dependabot.yml", ".github/workflows/readme.md", "zizmor.yml"]);
        tree.put_path(b".github/workflows/n\xff.yml", b"on: push");
        let call = run(&Zizmor, &tree).remove(0);
        assert_eq!(
            tree.words(&call),
            "zizmor --offline --strict-collection --format sarif --persona regular --no-progress --color never --no-config -- \
             ./act/action.yml ./x y/.github/workflows/-c i.yaml {results}/renamed/0/.github/workflows/n_.yml"
        );
        assert_eq!(call.inputs.len(), 1);
    }

    #[test]
    fn comments_that_leave_findings_out_are_said_and_can_be_overruled() {
        let mut tree = tree();
        tree.put(".github/workflows/release.yml", b"on: push # zizmor: ignore[x]\n");
        tree.files.dedup();
        let read = |tree: &Tree| interpret_output(&Zizmor, tree, output(Exit::Code(0), log().as_bytes(), b"", &[])).unwrap();
        let lines: Vec<_> = read(&tree).notices.iter().map(ash_model::notice::Notice::line).collect();
        assert_eq!(lines, ["zizmor: `# zizmor: ignore` comments in 1 file can leave findings out of its report; `--ignore-suppressions` reports them"]);
        tree.ignore_suppressions = true;
        assert_eq!(read(&tree).notices, []);
        assert!(tree.words(&run(&Zizmor, &tree)[0]).contains(" --no-ignores --no-config -- "));
    }

    #[test]
    fn a_tree_without_workflows_is_skipped() {
        let tree = Tree::new(&["github/workflows/a.yml", "action.py"]);
        assert!(matches!(tree.site(|site| Zizmor.plan(site)), Plan::Skip(reason) if reason.contains("no GitHub workflow")));
    }

    #[test]
    fn the_recorded_log_gives_zizmors_severities_a_band_lower_when_it_is_unsure() {
        let read = interpret_output(&Zizmor, &tree(), output(Exit::Code(0), log().as_bytes(), b"", &[])).unwrap();
        assert_eq!((read.findings.len(), read.unevaluated.len(), read.version.as_deref()), (14, 0, Some("1.32.0")));
        for finding in &read.findings {
            let says = |name: &str| finding.properties[name].as_str().unwrap().to_owned();
            let expected = match (says("zizmor/severity").as_str(), says("zizmor/confidence").as_str()) {
                ("High", "Low") | ("Medium", "Medium" | "High") => Severity::Medium,
                ("High", _) => Severity::High,
                ("Medium", _) | ("Low", "Medium" | "High") => Severity::Low,
                _ => Severity::Info,
            };
            assert_eq!(finding.severity, expected, "{:?}", finding.properties);
            assert!(finding.location.as_ref().is_some_and(|at| at.path.as_path().starts_with(".github/workflows")));
        }
    }

    #[test]
    fn a_source_inside_a_larger_repository_gets_its_own_paths() {
        let text = log().replace(r#""uri":".github/"#, r#""uri":"deep/in/a/repository/.github/"#);
        let read = interpret_output(&Zizmor, &tree(), output(Exit::Code(0), text.as_bytes(), b"", &[])).unwrap();
        assert!(read.findings.iter().all(|finding| finding.location.as_ref().is_some_and(|at| at.path.as_path().starts_with(".github/workflows"))));
        assert!(!format!("{:?}", read.findings).contains("deep/in/a/repository"));
    }

    #[test]
    fn a_workflow_that_ends_zizmors_run_is_not_evaluated_and_the_others_are() {
        let tree = tree();
        let call = run(&Zizmor, &tree).remove(0);
        let failed = output(Exit::Code(1), b"", b"fatal: no audit was performed\nfailed to load x as workflow\n", &[]);
        let smaller = |call: &ToolCall, output: &ToolOutput| tree.site(|site| Zizmor.smaller(site, call, output));
        let [release, triage] = smaller(&call, &failed).try_into().unwrap();
        assert!(tree.words(&release).ends_with(" -- ./.github/workflows/release.yml"), "{}", tree.words(&release));
        assert!(tree.words(&triage).ends_with(" -- ./.github/workflows/triage.yml"), "{}", tree.words(&triage));
        // Whatever it says it completed, or whom it blames.
        let lies = b" INFO audit: zizmor: \xf0\x9f\x8c\x88 completed ./.github/workflows/release.yml\nfailed to load file://./.github/workflows/triage.yml as workflow\n";
        let (lies, clean) = (output(Exit::Code(1), b"", lies, &[]), output(Exit::Code(0), &recorded("zizmor/clean.sarif"), b"", &[]));
        assert_eq!((smaller(&release, &lies), smaller(&triage, &clean), smaller(&call, &clean)), (vec![], vec![], vec![]));
        let read = tree.site(|site| Zizmor.interpret(site, &[(release, lies), (triage, clean)])).unwrap();
        assert_eq!(read.unevaluated.len(), 1);
        assert!(read.unevaluated[0].starts_with(".github/workflows/release.yml: zizmor-0.0 exited with code 1: "), "{:?}", read.unevaluated);
    }

    #[test]
    fn no_input_that_could_be_read_is_an_error() {
        assert!(interpret_output(&Zizmor, &tree(), output(Exit::Code(3), b"", b"error: no inputs collected\n", &[])).is_err());
    }
}
