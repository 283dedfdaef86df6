//! cfn-lint: errors in CloudFormation templates.
//!
//! cfn-lint reads `.cfnlintrc` of the directory it runs in, and such a file can ignore every check. It runs in `/` with an empty
//! configuration; the operator's `options.config_file` takes its place, after the trust rules. `Metadata: cfn-lint:` inside a template
//! is the tool's own kind of suppression and obeyed; that there is some is said. Its arguments are glob patterns, so file names are escaped. Usage errors and
//! crashes exit 1; findings set the bits 2, 4 and 8.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use ash_model::{
    finding::Finding,
    ids::ScannerId,
    path::{RelPath, os_string, printable},
    severity::Severity,
    tool::{Cwd, Program, ToolCall, ToolOutput},
};
use ash_sarif::{Log, SeverityFacts};

use crate::{
    Install, InterpretError, Interpreted, Plan, Scanner, Site, Tool,
    call::{groups, joined, own, version_probe},
    excused,
    options::Options,
    outcome,
    parts::{self, Parts},
    renamed::{Renamed, is_plain},
    sarif::{self, Reading, Spelling},
    templates::templates,
};

/// A configuration that says nothing.
const CONFIG: &str = "cfn-lint.config.yaml";
/// Rules that say a template was not looked at: it does not parse, its transform failed, a check broke, it is not there.
const NOT_EVALUATED: [&str; 4] = ["E0000", "E0001", "E0002", "E0003"];

pub(crate) struct CfnLint;

impl Scanner for CfnLint {
    fn id(&self) -> ScannerId {
        ScannerId::builtin("cfn-lint")
    }

    fn about(&self) -> &'static str {
        "errors and bad practice in CloudFormation templates"
    }

    fn tool(&self) -> Tool {
        Tool {
            program: "cfn-lint",
            companions: &[],
            version: Some(version_probe("cfn-lint", &["--version"], 60)),
            install: Install::Uv { requirement: "cfn-lint[sarif]==1.58.0", with: &[] },
        }
    }

    fn rule_ids(&self) -> &'static [&'static str] {
        &["E#", "I#", "W####"]
    }

    fn plan(&self, site: &Site<'_>) -> Plan {
        let (templates, renamed) = targets(site);
        if templates.is_empty() {
            return Plan::Skip("no CloudFormation template".to_owned());
        }
        calls(site, &templates, &renamed).map_or_else(|plan| plan, Plan::Run)
    }

    fn smaller(&self, site: &Site<'_>, call: &ToolCall, output: &ToolOutput) -> Vec<ToolCall> {
        let reading = Reading { scanner: self.id(), spelling: Spelling::Path, severity: &severity, renamed: &Renamed::default() };
        if log(&reading, call, output).is_ok() {
            return vec![];
        }
        let old = report_to(site, call);
        let report_of_its_own = |mut part: ToolCall| {
            let new = report_to(site, &part);
            part.args.iter_mut().filter(|argument| **argument == old).for_each(|argument| argument.clone_from(&new));
            part.outputs = vec![own(report(&part))];
            part
        };
        parts::halves(call).into_iter().map(report_of_its_own).collect()
    }

    fn interpret(&self, site: &Site<'_>, calls: &[(ToolCall, ToolOutput)]) -> Result<Interpreted, InterpretError> {
        let (templates, renamed) = targets(site);
        let reading = Reading { scanner: self.id(), spelling: Spelling::Path, severity: &severity, renamed: &renamed };
        let mut all = Interpreted { unevaluated: renamed.left_out.clone(), targets: u64::try_from(templates.len()).ok(), ..Interpreted::default() };
        if calls.is_empty() {
            return Err(InterpretError("cfn-lint was not run".to_owned()));
        }
        let excused = if site.ignore_suppressions { 0 } else { excused::files_with(site, templates.iter().copied(), "ignore_checks") };
        if excused > 0 {
            let said = format!("`ignore_checks` in the metadata of {} can leave findings out of its report", excused::counted(excused as u64, "template"));
            all.notices.push(excused::notice(&self.id(), &said));
        }
        let parts = Parts::of(calls, |call, output| {
            let read = sarif::interpreted(reading.convert(site, log(&reading, call, output)?));
            let (gaps, findings): (Vec<Finding>, _) = read.findings.into_iter().partition(|finding| NOT_EVALUATED.contains(&finding.rule_id.as_str()));
            let unevaluated = gaps.iter().map(|finding| not_evaluated(call, output, finding)).collect::<Result<Vec<_>, _>>()?;
            Ok(Interpreted { findings, unevaluated, ..read })
        })?;
        for read in parts.read {
            all.version = read.version;
            all.rules.extend(read.rules);
            all.findings.extend(read.findings);
            all.unevaluated.extend(read.unevaluated);
        }
        for (given, why) in parts.failed {
            let file = paths(site, &templates, &renamed).find(|(path, _)| escaped(path) == given);
            let file = file.map_or_else(|| printable(&given), |(_, file)| file.printable());
            all.unevaluated.push(format!("{file}: {why}"));
        }
        all.rules.sort_by(|a, b| a.id.cmp(&b.id));
        all.rules.dedup_by(|a, b| a.id == b.id);
        Ok(all)
    }
}

/// E is MEDIUM, W is LOW, I is INFO: a template error is seldom a security problem.
fn severity(facts: &SeverityFacts<'_>) -> Option<Severity> {
    match facts.rule_id.as_bytes().first() {
        Some(b'W') => Some(Severity::Low),
        Some(b'I') => Some(Severity::Info),
        _ => Some(Severity::Medium),
    }
}

/// A template cfn-lint cannot find ends its run: the others were not linted either.
fn not_evaluated(call: &ToolCall, output: &ToolOutput, finding: &Finding) -> Result<String, InterpretError> {
    match &finding.location {
        Some(location) => Ok(format!("{}: {} {}", location.path, finding.rule_id, outcome::quoted(&finding.message))),
        None => Err(outcome::failed(call, output, &format!("gave up: {} {}", finding.rule_id, outcome::quoted(&finding.message)))),
    }
}

/// What a call reported, if it got to its end.
fn log(reading: &Reading<'_>, call: &ToolCall, output: &ToolOutput) -> Result<Log, InterpretError> {
    let code = outcome::accepted(call, output)?;
    let log = reading.parse(outcome::file(call, output, &report(call))?)?;
    if code != 0 && log.runs.iter().flat_map(|run| run.results.iter().flatten()).next().is_none() {
        return Err(outcome::failed(call, output, &format!("exited with code {code} and reports no finding")));
    }
    Ok(log)
}

fn report(call: &ToolCall) -> String {
    format!("{}.sarif", call.log)
}

fn report_to(site: &Site<'_>, call: &ToolCall) -> OsString {
    joined("--output-file=", site.results.join(report(call)))
}

/// The templates as cfn-lint is given them, each with the file it is.
fn paths<'t>(site: &Site<'t>, templates: &'t [&'t RelPath], renamed: &'t Renamed) -> impl Iterator<Item = (PathBuf, &'t RelPath)> {
    let (source, results) = (site.source, site.results);
    let plain = templates.iter().filter(|file| is_plain(file)).map(move |file| (source.join(file.as_path()), *file));
    plain.chain(renamed.names().map(move |(copy, original)| (results.join(copy.as_path()), original)))
}

fn targets<'s>(site: &Site<'s>) -> (Vec<&'s RelPath>, Renamed) {
    let templates = templates(site);
    let renamed = Renamed::of(site, |file| templates.contains(&file));
    (templates, renamed)
}

fn calls(site: &Site<'_>, templates: &[&RelPath], renamed: &Renamed) -> Result<Vec<ToolCall>, Plan> {
    let options = Options::of(site);
    let config = options.text("config_file")?.map_or_else(|| site.results.join(CONFIG).into(), OsString::from);
    let lists =
        [("--regions", options.list("regions")?), ("--ignore-checks", options.list("ignore_checks")?), ("--include-checks", options.list("include_checks")?)];
    let paths: Vec<_> = paths(site, templates, renamed).map(|(path, _)| path).collect();
    let calls = groups(paths, |path| path.as_os_str().len()).into_iter().enumerate().map(|(number, paths)| {
        let mut call = ToolCall::new(Program::Tool("cfn-lint"), &format!("cfn-lint-{number}"))
            .args(["--format".into(), "sarif".into(), "--config-file".into(), config.clone()]);
        let report_to = report_to(site, &call);
        call = call.args([report_to]);
        for (flag, values) in lists.iter().filter(|(_, values)| !values.is_empty()) {
            call = call.args([*flag]).args(values.iter().copied());
        }
        if site.ignore_suppressions {
            // Every rule, whatever a template says of itself.
            call = call.args(["--mandatory-checks", "E", "W", "I"]);
        }
        call = call.args(["--"]).args(paths.iter().map(|path| escaped(path)));
        call.cwd = Cwd::Root;
        call.outputs = vec![own(report(&call))];
        // Any sum of 2 (errors), 4 (warnings) and 8 (informational).
        call.accepts = (0..16).step_by(2).collect();
        if number == 0 {
            call.inputs = vec![(own(CONFIG), b"{}\n".to_vec())];
            renamed.write_for(&mut call);
        }
        call
    });
    Ok(calls.collect())
}

/// The path as a pattern of Python's `glob` that matches only itself.
fn escaped(path: &Path) -> OsString {
    let mut pattern = vec![];
    for byte in path.as_os_str().as_encoded_bytes() {
        if b"*?[".contains(byte) { pattern.extend([b'[', *byte, b']']) } else { pattern.push(*byte) }
    }
    os_string(pattern)
}

#[cfg(test)]
mod tests {
    use ash_model::tool::Exit;

    use super::*;
    use crate::scanners::tests::{Tree, interpret, output, recorded, run};

    const TEMPLATE: &[u8] = b"Resources:\n  A:\n    Type: AWS::S3::Bucket\n";
    const REPORT: &str = "cfn-lint-0.sarif";

    fn recorded_tree() -> Tree {
        let mut tree = Tree::of_recorded();
        tree.put("infra/cloudformation/broken.yaml", TEMPLATE);
        tree.put("infra/cloudformation/orders.yaml", TEMPLATE);
        tree
    }

    #[test]
    fn the_command_line_is_the_documented_one_and_names_are_no_patterns() {
        let mut tree = Tree::new(&["a.yaml", "a.json"]);
        tree.put("b [1]*?.yaml", TEMPLATE);
        tree.put_path(b"n\xff.yaml", TEMPLATE);
        let calls = run(&CfnLint, &tree);
        assert_eq!(
            tree.words(&calls[0]),
            "cfn-lint --format sarif --config-file {results}/cfn-lint.config.yaml --output-file={results}/cfn-lint-0.sarif -- {source}/b [[]1][*][?].yaml {results}/renamed/0/n_.yaml"
        );
        assert_eq!(calls[0].cwd, Cwd::Root);
        assert_eq!(calls[0].inputs, [(own(CONFIG), b"{}\n".to_vec()), (own("renamed/0/n_.yaml"), TEMPLATE.to_vec())]);
    }

    #[test]
    fn checks_that_a_template_ignores_are_said_and_can_be_asked_for() {
        let mut tree = recorded_tree();
        let template = [TEMPLATE, b"Metadata:\n  cfn-lint: {config: {ignore_checks: [W2001]}}\n"].concat();
        tree.contents.insert(own("infra/cloudformation/orders.yaml"), template);
        let read = |tree: &Tree| interpret(&CfnLint, tree, 6, &[(REPORT, recorded("cfn-lint/findings.sarif"))]).unwrap();
        let lines: Vec<_> = read(&tree).notices.iter().map(ash_model::notice::Notice::line).collect();
        assert_eq!(lines, ["cfn-lint: `ignore_checks` in the metadata of 1 template can leave findings out of its report; `--ignore-suppressions` reports them"]);
        tree.ignore_suppressions = true;
        assert_eq!(read(&tree).notices, []);
        assert!(tree.words(&run(&CfnLint, &tree)[0]).contains(" --mandatory-checks E W I -- "));
    }

    #[test]
    fn checks_that_a_template_ignores_are_said_however_they_are_spelled() {
        let notices = |config: &str| {
            let mut tree = recorded_tree();
            let template = [TEMPLATE, format!("    Metadata: {{cfn-lint: {{config: {config}}}}}\n").as_bytes()].concat();
            tree.contents.insert(own("infra/cloudformation/orders.yaml"), template);
            interpret(&CfnLint, &tree, 6, &[(REPORT, recorded("cfn-lint/findings.sarif"))]).unwrap().notices.len()
        };
        for spelled in [r#"{"ignore\x5fchecks": [E]}"#, r#"{"\u0069gnore\U0000005fchecks": [E]}"#, "{\"ignore_\\\n      checks\": [E]}"] {
            assert_eq!(notices(spelled), 1, "{spelled}");
        }
        assert_eq!(notices(r#"{"ignored\x5fchecks": [E]}"#), 0);
    }

    #[test]
    fn many_templates_are_linted_in_several_calls() {
        let mut tree = Tree::new(&[]);
        for number in 0..900 {
            tree.put(&format!("{}/{number}.yaml", "d".repeat(200)), TEMPLATE);
        }
        let calls = run(&CfnLint, &tree);
        assert!(calls.len() > 1);
        let named: usize = calls.iter().map(|call| call.args.iter().skip_while(|argument| *argument != "--").count() - 1).sum();
        assert_eq!(named, 900);
    }

    #[test]
    fn the_letter_of_the_rule_decides_the_severity() {
        let read = interpret(&CfnLint, &recorded_tree(), 6, &[(REPORT, recorded("cfn-lint/findings.sarif"))]).unwrap();
        let of = |severity| read.findings.iter().filter(|finding| finding.severity == severity).count();
        assert_eq!((of(Severity::Medium), of(Severity::Low), read.findings.len()), (8, 5, 13));
        assert!(read.findings.iter().all(|finding| finding.location.as_ref().is_some_and(|at| at.path.as_path().starts_with("infra/cloudformation"))));
        assert_eq!((read.unevaluated.len(), read.version.as_deref()), (0, Some("1.58.0")));
    }

    #[test]
    fn a_template_that_does_not_parse_is_no_finding_but_a_gap() {
        let mut tree = Tree::new(&[]);
        tree.put("template.yaml", TEMPLATE);
        tree.source = "/src-broken".into();
        let read = interpret(&CfnLint, &tree, 2, &[(REPORT, recorded("cfn-lint/broken.sarif"))]).unwrap();
        assert!(read.findings.is_empty());
        assert!(read.unevaluated[0].starts_with("template.yaml: E0000 "), "{:?}", read.unevaluated);
    }

    #[test]
    fn a_run_that_stopped_at_a_missing_template_is_an_error() {
        let error = interpret(&CfnLint, &recorded_tree(), 2, &[(REPORT, recorded("cfn-lint/missing.sarif"))]).unwrap_err();
        assert!(error.0.contains("E0003"), "{error}");
    }

    #[test]
    fn an_exit_code_without_findings_is_not_believed() {
        let tree = recorded_tree();
        assert!(interpret(&CfnLint, &tree, 4, &[(REPORT, recorded("cfn-lint/clean.sarif"))]).is_err());
        assert!(interpret(&CfnLint, &tree, 0, &[(REPORT, recorded("cfn-lint/clean.sarif"))]).unwrap().findings.is_empty());
    }

    #[test]
    fn a_template_that_ends_the_run_is_not_evaluated_and_the_others_are() {
        let mut tree = recorded_tree();
        tree.put_path(b"n\xff.yaml", TEMPLATE);
        let call = run(&CfnLint, &tree).remove(0);
        let crash = || output(Exit::Code(32), b"", b"TypeError: boom\n", &[]);
        let smaller = |call: &ToolCall| tree.site(|site| CfnLint.smaller(site, call, &crash()));
        let [broken, rest] = smaller(&call).try_into().unwrap();
        let [orders, odd] = smaller(&rest).try_into().unwrap();
        assert!(
            tree.words(&orders).ends_with(" --output-file={results}/cfn-lint-0.1.0.sarif -- {source}/infra/cloudformation/orders.yaml"),
            "{}",
            tree.words(&orders)
        );
        assert_eq!((&orders.outputs, smaller(&odd)), (&vec![own("cfn-lint-0.1.0.sarif")], vec![]));
        let found = output(Exit::Code(6), b"", b"", &[("cfn-lint-0.1.0.sarif", recorded("cfn-lint/findings.sarif"))]);
        assert_eq!(tree.site(|site| CfnLint.smaller(site, &orders, &found)), []);
        let read = tree.site(|site| CfnLint.interpret(site, &[(broken, crash()), (orders, found), (odd, crash())])).unwrap();
        assert_eq!(read.findings.len(), 13);
        let why = "exited with code 32: TypeError: boom";
        assert_eq!(read.unevaluated, [format!("infra/cloudformation/broken.yaml: cfn-lint-0.0 {why}"), format!("n\\xff.yaml: cfn-lint-0.1.1 {why}")]);
    }

    #[test]
    fn a_renamed_template_gets_its_own_name_back() {
        let mut tree = Tree::new(&[]);
        tree.put_path(b"d/n\xff.yaml", TEMPLATE);
        let call = run(&CfnLint, &tree).remove(0);
        let log = String::from_utf8(recorded("cfn-lint/warnings.sarif")).unwrap().replace("/src/infra/cloudformation/orders.yaml", "/the tree/.ash/ash_output/scanners/x/source/renamed/0/d/n_.yaml");
        let read = tree.site(|site| CfnLint.interpret(site, &[(call, output(Exit::Code(4), b"", b"", &[(REPORT, log.into_bytes())]))])).unwrap();
        assert!(!read.findings.is_empty());
        assert!(read.findings.iter().all(|finding| finding.location.as_ref().unwrap().path.printable() == "d/n\\xff.yaml"));
    }
}
