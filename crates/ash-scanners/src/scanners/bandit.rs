//! bandit: security problems in Python code.
//!
//! bandit looks for a file `.bandit` anywhere in its target and obeys it: tests to skip, paths to leave out, other targets. Two such
//! files end its run. So it always gets an ini file of ash's own that says nothing, and configuration of the scanned tree is never
//! used; the operator's `options.config_file` is, after the trust rules. `# nosec` comments are bandit's own business and obeyed; how many
//! findings they leave out is said.

use std::ffi::OsString;

use ash_model::{
    finding::Finding,
    ids::ScannerId,
    path::RelPath,
    tool::{Cwd, Program, ToolCall, ToolOutput},
};

use crate::{
    Install, InterpretError, Interpreted, Plan, Scanner, Site, Tool,
    bandit_report::Report,
    call::{joined, own, version_probe},
    excused,
    options::Options,
    outcome, sarif, skipped,
};

const REPORT: &str = "bandit.json";
const INI: &str = "bandit.ini";
/// An ini file with the section bandit wants and nothing in it.
const NOTHING: &[u8] = b"[bandit]\n";

pub(crate) struct Bandit;

impl Scanner for Bandit {
    fn id(&self) -> ScannerId {
        ScannerId::builtin("bandit")
    }

    fn about(&self) -> &'static str {
        "security problems in Python code"
    }

    fn tool(&self) -> Tool {
        Tool {
            program: "bandit",
            companions: &[],
            version: Some(version_probe("bandit", &["--version"], 30)),
            install: Install::Uv { requirement: "bandit[sarif,toml]==1.9.4", with: &[] },
        }
    }

    fn rule_ids(&self) -> &'static [&'static str] {
        &["B#"]
    }

    fn plan(&self, site: &Site<'_>) -> Plan {
        if !site.files.iter().any(is_python) {
            return Plan::Skip("no Python file to look at".to_owned());
        }
        call(site).map_or_else(|plan| plan, |call| Plan::Run(vec![call]))
    }

    fn interpret(&self, site: &Site<'_>, calls: &[(ToolCall, ToolOutput)]) -> Result<Interpreted, InterpretError> {
        let (call, output) = outcome::only(calls)?;
        let code = outcome::accepted(call, output)?;
        let report = report(call, output)?;
        let (unevaluated, rules, left_out) = (report.unevaluated(site), report.rules(), report.left_out());
        let mut findings: Vec<Finding> = report.results.into_iter().map(|issue| issue.finding(&self.id(), site.source)).collect();
        if code == 1 && findings.is_empty() {
            return Err(outcome::failed(call, output, "exited with code 1 and reports no finding"));
        }
        findings.iter_mut().for_each(hide_password);
        let targets = u64::try_from(site.files.iter().filter(|file| is_python(file)).count()).ok();
        let said = format!("`# nosec` comments leave {} out of its report", excused::counted(left_out, "finding"));
        let notices = (left_out > 0).then(|| excused::notice(&self.id(), &said)).into_iter().collect();
        Ok(Interpreted { findings, rules, unevaluated, targets, notices, ..Interpreted::default() })
    }
}

/// The report; an empty one is what bandit leaves when it breaks down while it writes.
fn report(call: &ToolCall, output: &ToolOutput) -> Result<Report, InterpretError> {
    let bytes = outcome::file(call, output, REPORT)?;
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(outcome::failed(call, output, "wrote an empty report"));
    }
    Report::parse(bytes).map_err(|why| outcome::failed(call, output, &format!("wrote a report ash cannot use ({why})")))
}

fn is_python(file: &RelPath) -> bool {
    file.as_path().extension().is_some_and(|extension| extension == "py" || extension == "pyw")
}

fn call(site: &Site<'_>) -> Result<ToolCall, Plan> {
    let options = Options::of(site);
    let confidence = options.choice("confidence_level", &["all", "low", "medium", "high"])?.unwrap_or("all");
    let mut call = ToolCall::new(Program::Tool("bandit"), "bandit").args(["--format", "json", "--recursive", "--ini"]).args([site.results.join(INI)]);
    if let Some(config) = options.text("config_file")? {
        call = call.args(["--configfile", config]);
    }
    call = call.args(["--confidence-level", confidence, "--severity-level", "all"]);
    if options.switch("ignore_nosec")? || site.ignore_suppressions {
        call = call.args(["--ignore-nosec"]);
    }
    call = call.args([joined("--exclude=", excluded(site)), OsString::from(site.source), OsString::from("--output"), site.results.join(REPORT).into()]);
    call.cwd = Cwd::Results;
    call.inputs = vec![(own(INI), NOTHING.to_vec())];
    call.outputs = vec![own(REPORT)];
    call.accepts = vec![0, 1];
    Ok(call)
}

/// Patterns for bandit's `fnmatch`, each starting with the scanned directory.
///
/// bandit also leaves out every file whose path merely *contains* a pattern, its own default `.git` for instance takes out all of
/// `.github`. A pattern that starts with the whole path of the source and holds a wildcard can match only what is meant.
fn excluded(site: &Site<'_>) -> OsString {
    let source = site.source.as_os_str();
    let mut patterns = vec![];
    for name in skipped::names() {
        patterns.push(anchored(source.as_encoded_bytes(), &format!("/{name}/*")));
        patterns.push(anchored(source.as_encoded_bytes(), &format!("/*/{name}/*")));
    }
    for results in skipped::result_directories(site) {
        let mut pattern = escaped(source.as_encoded_bytes());
        pattern.push(b'/');
        pattern.extend(escaped(results.as_path().as_os_str().as_encoded_bytes()));
        pattern.extend(b"/*");
        patterns.push(pattern);
    }
    ash_model::path::os_string(patterns.join(&b','))
}

fn anchored(source: &[u8], rest: &str) -> Vec<u8> {
    let mut pattern = escaped(source);
    pattern.extend(rest.bytes());
    pattern
}

/// The literal bytes as a pattern. A comma would end the pattern, so it becomes the wildcard for one character.
fn escaped(literal: &[u8]) -> Vec<u8> {
    let mut pattern = vec![];
    for byte in literal {
        match byte {
            b'*' | b'?' | b'[' => pattern.extend([b'[', *byte, b']']),
            b',' => pattern.push(b'?'),
            byte => pattern.push(*byte),
        }
    }
    pattern
}

/// B105, B106 and B107 quote the password they found, in the message and in the source line.
fn hide_password(finding: &mut Finding) {
    if !matches!(finding.rule_id.as_str(), "B105" | "B106" | "B107") {
        return;
    }
    if let Some((said, _)) = finding.message.split_once(':') {
        finding.message = format!("{said}: ***");
    }
    sarif::without_snippet(finding);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scanners::tests::{Tree, interpret, recorded, run};

    #[test]
    fn the_command_line_is_the_documented_one_and_no_file_of_the_tree_is_obeyed() {
        let tree = Tree::new(&["a b.py", "x/.bandit"]);
        let calls = run(&Bandit, &tree);
        let names = ["reports", "scanners", "converted", "analysis", "inspect", "projects"];
        let results = names.map(|name| format!("{{source}}/.ash/ash_output/{name}/*")).join(",");
        assert_eq!(
            tree.words(&calls[0]).replace(&results, "{results of ash}"),
            "bandit --format json --recursive --ini {results}/bandit.ini --confidence-level all --severity-level all \
             --exclude={source}/.venv/*,{source}/*/.venv/*,{source}/venv/*,{source}/*/venv/*,{source}/node_modules/*,{source}/*/node_modules/*,\
             {source}/.git/*,{source}/*/.git/*,{results of ash} {source} --output {results}/bandit.json"
        );
        assert_eq!(calls[0].inputs, [(own(INI), b"[bandit]\n".to_vec())]);
    }

    #[test]
    fn a_source_with_a_comma_and_wildcards_is_excluded_from_nothing_else() {
        assert_eq!(String::from_utf8(escaped(b"/a,b/[x]*?")).unwrap(), "/a?b/[[]x][*][?]");
    }

    #[test]
    fn a_tree_without_python_is_skipped() {
        let tree = Tree::new(&["a.js", "py"]);
        assert!(matches!(tree.site(|site| Bandit.plan(site)), Plan::Skip(_)));
    }

    #[test]
    fn the_recorded_report_gives_its_findings_with_bandits_own_severities() {
        let tree = Tree::of_recorded();
        let read = interpret(&Bandit, &tree, 1, &[(REPORT, recorded("bandit/findings.json"))]).unwrap();
        assert_eq!((read.findings.len(), read.unevaluated.len()), (35, 0));
        assert!(read.findings.iter().all(|finding| finding.location.is_some()));
        let text = format!("{:?}", read.findings);
        assert!(!text.contains("hunter2"), "a password is quoted");
        let medium = read.findings.iter().find(|finding| finding.properties["issue_severity"] == "MEDIUM").unwrap();
        assert_eq!(medium.severity, ash_model::severity::Severity::Medium);
    }

    #[test]
    fn a_file_bandit_cannot_parse_is_named_as_not_evaluated() {
        let mut tree = Tree::new(&["bad.py", "ok.py"]);
        tree.source = "/src-broken".into();
        let read = interpret(&Bandit, &tree, 1, &[(REPORT, recorded("bandit/broken.json"))]).unwrap();
        assert_eq!(read.unevaluated, ["bad.py: syntax error while parsing AST from file"], "taint.py is not of the scan set");
    }

    #[test]
    fn findings_that_comments_leave_out_are_counted_and_can_be_asked_for() {
        let mut tree = Tree::new(&["a.py"]);
        assert!(!tree.words(&run(&Bandit, &tree)[0]).contains("--ignore-nosec"));
        let report = |totals: &str| format!(r#"{{"errors": [], "results": [], "metrics": {{"odd\udcfe.py": {{"nosec": 9}}, "_totals": {totals}}}}}"#).into_bytes();
        let said = |totals: &str| interpret(&Bandit, &tree, 0, &[(REPORT, report(totals))]).unwrap().notices;
        let lines: Vec<_> = said(r#"{"loc": 4, "nosec": 2, "skipped_tests": 1}"#).iter().map(ash_model::notice::Notice::line).collect();
        assert_eq!(lines, ["bandit: `# nosec` comments leave 3 findings out of its report; `--ignore-suppressions` reports them"]);
        for none in [r#"{"nosec": 0, "skipped_tests": 0}"#, "{}", "7", r#"{"nosec": -1}"#] {
            assert_eq!(said(none), []);
        }
        tree.ignore_suppressions = true;
        assert!(tree.words(&run(&Bandit, &tree)[0]).contains("--ignore-nosec"));
    }

    #[test]
    fn a_target_that_is_not_there_is_not_clean() {
        let mut tree = Tree::new(&["a.py"]);
        tree.source = "/no/such".into();
        let read = interpret(&Bandit, &tree, 0, &[(REPORT, recorded("bandit/missing.json"))]).unwrap();
        assert_eq!(read.unevaluated, ["No such file or directory"]);
    }

    #[test]
    fn an_exit_that_reports_findings_without_any_is_not_believed() {
        let tree = Tree::of_recorded();
        assert!(interpret(&Bandit, &tree, 1, &[(REPORT, recorded("bandit/clean.json"))]).is_err());
        assert!(interpret(&Bandit, &tree, 0, &[(REPORT, recorded("bandit/clean.json"))]).is_ok());
    }
}
