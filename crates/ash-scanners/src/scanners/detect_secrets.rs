//! detect-secrets: credentials in any text file.
//!
//! A Python library without a report of its own, so ash brings a worker script that the tool's interpreter runs over exactly the scan
//! set. Every plugin is used and no filter. A `.secrets.baseline` of the tree can name plugins and filters to *load from the tree* and
//! ask for candidates to be sent to their issuers; of such a file only the list of accepted secrets is used, and it never reaches the
//! library. Accepted secrets and lines with `pragma: allowlist secret` are reported as suppressed, not left out.

use std::collections::HashMap;

use ash_model::{
    finding::{Finding, Location, Region, Rule, Suppression},
    ids::ScannerId,
    path::RelPath,
    severity::{Level, Severity},
    tool::{Program, ToolCall, ToolOutput},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{Install, InterpretError, Interpreted, Plan, Scanner, Site, Tool, call::own, options::Options, outcome};

const WORKER: &str = "detect_secrets_worker.py";
const REQUEST: &str = "request.json";
const LIST: &str = "files.nul";
const REPORT: &str = "detect-secrets.json";
/// How long one file may take: single lines of megabytes are slow to match, and nobody's secrets are in them.
const SECONDS_PER_FILE: u64 = 120;
/// How long a baseline is, at most.
const MAX_BASELINE: u64 = 64 * 1024 * 1024;
/// Files a package manager wrote: full of checksums, which look like secrets.
const LOCK_FILES: [&str; 7] = ["package-lock.json", "yarn.lock", "pnpm-lock.yaml", "npm-shrinkwrap.json", "poetry.lock", "uv.lock", "Pipfile.lock"];
const BASELINES: [&str; 2] = [".ash/.secrets.baseline", ".secrets.baseline"];

pub(crate) struct DetectSecrets;

impl Scanner for DetectSecrets {
    fn id(&self) -> ScannerId {
        ScannerId::builtin("detect-secrets")
    }

    fn about(&self) -> &'static str {
        "passwords, keys and tokens in any text file"
    }

    fn tool(&self) -> Tool {
        Tool { program: "detect-secrets", companions: &[], version: None, install: Install::Uv { requirement: "detect-secrets==1.5.0", with: &[] } }
    }

    fn rule_ids(&self) -> &'static [&'static str] {
        &["SECRET-"]
    }

    fn plan(&self, site: &Site<'_>) -> Plan {
        let files = files(site);
        if files.is_empty() {
            return Plan::Skip("no file to look at".to_owned());
        }
        match baseline(site) {
            Ok(baseline) => Plan::Run(vec![call(site, &files, baseline.as_ref())]),
            Err(plan) => plan,
        }
    }

    fn interpret(&self, site: &Site<'_>, calls: &[(ToolCall, ToolOutput)]) -> Result<Interpreted, InterpretError> {
        let (call, output) = outcome::only(calls)?;
        outcome::accepted(call, output)?;
        let value = outcome::json(call, outcome::file(call, output, REPORT)?)?;
        let report: Report =
            serde_json::from_value(value).map_err(|error| InterpretError(format!("the worker wrote a result ash cannot read: {}", outcome::quoted(&error.to_string()))))?;
        let files = files(site);
        if report.files != files.len() {
            return Err(InterpretError(format!("the worker read {} files of {}", report.files, files.len())));
        }
        let file = |position: usize| files.get(position).copied().ok_or_else(|| InterpretError(format!("the worker names file {position} of {}", files.len())));
        let findings = report.secrets.iter().map(|secret| Ok(self.finding(file(secret.file)?, secret))).collect::<Result<Vec<_>, InterpretError>>()?;
        let unevaluated =
            report.unread.iter().map(|unread| Ok(format!("{}: {}", file(unread.file)?, outcome::quoted(&unread.reason)))).collect::<Result<_, InterpretError>>()?;
        let rules = rules(&report.secrets);
        Ok(Interpreted { findings, rules, version: Some(report.version), unevaluated, targets: u64::try_from(files.len()).ok(), ..Interpreted::default() })
    }
}

/// What the worker writes.
#[derive(Deserialize)]
struct Report {
    version: String,
    files: usize,
    secrets: Vec<Secret>,
    unread: Vec<Unread>,
}

#[derive(Deserialize)]
struct Secret {
    file: usize,
    line: u64,
    #[serde(rename = "type")]
    kind: String,
    allowlisted: bool,
    accepted: bool,
}

#[derive(Deserialize)]
struct Unread {
    file: usize,
    reason: String,
}

impl DetectSecrets {
    fn finding(&self, file: &RelPath, secret: &Secret) -> Finding {
        let kind = outcome::quoted(&secret.kind);
        let pragma = secret.allowlisted.then(|| suppression("inSource", "pragma: allowlist secret"));
        let accepted = secret.accepted.then(|| suppression("external", "accepted in the secrets baseline"));
        let region = (secret.line > 0).then_some(Region { start_line: secret.line, start_column: None, end_line: Some(secret.line), end_column: None });
        Finding {
            scanner: self.id(),
            rule_id: rule_id(&secret.kind),
            severity: Severity::from_level(Level::Error),
            level: Level::Error,
            message: format!("Secret of type '{kind}' detected in file '{file}' at line {}", secret.line),
            location: Some(Location { path: file.clone(), region, snippet: None }),
            suppressions: pragma.into_iter().chain(accepted).collect(),
            properties: Map::new(),
            extra: Map::new(),
        }
    }
}

fn suppression(kind: &str, justification: &str) -> Suppression {
    Suppression { kind: kind.to_owned(), justification: Some(justification.to_owned()), counts: true }
}

/// `Secret Keyword` is `SECRET-SECRET-KEYWORD`, as Python ASH named it.
fn rule_id(kind: &str) -> String {
    format!("SECRET-{}", outcome::quoted(kind).to_uppercase().replace(' ', "-"))
}

fn rules(secrets: &[Secret]) -> Vec<Rule> {
    let mut rules: Vec<Rule> = vec![];
    for secret in secrets {
        let id = rule_id(&secret.kind);
        if rules.iter().any(|rule| rule.id == id) {
            continue;
        }
        let descriptor = json!({
            "id": id,
            "name": outcome::quoted(&secret.kind),
            "shortDescription": {"text": format!("{} in the source", outcome::quoted(&secret.kind))},
            "defaultConfiguration": {"level": "error"},
            "properties": {"tags": ["security", "secret", "external/cwe/cwe-798"]},
        });
        if let Value::Object(descriptor) = descriptor {
            rules.push(Rule { id, cvss: None, descriptor });
        }
    }
    rules
}

/// The scan set without what package managers wrote, ash's own directory, and baselines, which hold hashes of secrets.
fn files<'s>(site: &Site<'s>) -> Vec<&'s RelPath> {
    let wanted = |file: &&RelPath| {
        let path = file.as_path();
        let name = path.file_name().unwrap_or_default();
        let lock = LOCK_FILES.iter().any(|lock| name == *lock) || name.as_encoded_bytes().starts_with(b"conda-lock.");
        !lock && !path.starts_with(".ash") && name != ".secrets.baseline"
    };
    site.files.iter().filter(wanted).collect()
}

fn call(site: &Site<'_>, files: &[&RelPath], baseline: Option<&Value>) -> ToolCall {
    let mut list = vec![];
    for file in files {
        list.extend(file.as_path().as_os_str().as_encoded_bytes());
        list.push(0);
    }
    // The results directory may have a name that is no text, so the request names the list relative to the worker.
    let request = json!({"files": LIST, "accepted": accepted(files, baseline), "seconds_per_file": SECONDS_PER_FILE});
    // -I: neither the environment, nor the current directory, nor the user's packages can put code into the interpreter.
    let mut call = ToolCall::new(Program::PythonOf("detect-secrets"), "detect-secrets").args(["-I", "-X", "utf8"]).args([
        site.results.join(WORKER),
        site.results.join(REQUEST),
        site.results.join(REPORT),
    ]);
    call.inputs = vec![
        (own(WORKER), include_bytes!("../../data/detect_secrets_worker.py").to_vec()),
        (own(REQUEST), request.to_string().into_bytes()),
        (own(LIST), list),
    ];
    call.outputs = vec![own(REPORT)];
    call
}

/// The baseline's text as JSON, from where the option says or from the usual places.
fn baseline(site: &Site<'_>) -> Result<Option<Value>, Plan> {
    if let Some(named) = Options::of(site).text("baseline_file")? {
        let unreadable = |why: &str| Plan::Missing(format!("its option `baseline_file` names `{}`, {why}", outcome::quoted(named)));
        let path = RelPath::new(named).map_err(|_| unreadable("which is not a path relative to the scanned directory"))?;
        let bytes = site.reader.read(&path, MAX_BASELINE).ok_or_else(|| unreadable("which is not a readable file"))?;
        return serde_json::from_slice(&bytes).map(Some).map_err(|_| unreadable("which is not JSON"));
    }
    let found = BASELINES.iter().find_map(|name| site.reader.read(&own(name), MAX_BASELINE));
    // A baseline that cannot be read accepts nothing: more findings, never fewer.
    Ok(found.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
}

/// The accepted secrets of a baseline as `[position, type, hash]`.
fn accepted(files: &[&RelPath], baseline: Option<&Value>) -> Vec<Value> {
    let Some(results) = baseline.and_then(|baseline| baseline.get("results")).and_then(Value::as_object) else { return vec![] };
    let positions: HashMap<&RelPath, usize> = files.iter().enumerate().map(|(position, file)| (*file, position)).collect();
    let mut accepted = vec![];
    for (name, secrets) in results {
        let Some(position) = RelPath::new(name).ok().and_then(|path| positions.get(&path).copied()) else { continue };
        for secret in secrets.as_array().into_iter().flatten() {
            if let (Some(kind), Some(hash)) = (secret.get("type").and_then(Value::as_str), secret.get("hashed_secret").and_then(Value::as_str)) {
                accepted.push(json!([position, kind, hash]));
            }
        }
    }
    accepted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scanners::tests::{Tree, interpret, run};

    fn report(files: usize, secrets: &Value, unread: &Value) -> Vec<u8> {
        json!({"version": "1.5.0", "plugins": [], "files": files, "secrets": secrets, "unread": unread}).to_string().into_bytes()
    }

    #[test]
    fn the_worker_runs_isolated_over_exactly_the_scan_set_without_lock_files() {
        let mut tree = Tree::new(&["a.py", "package-lock.json", "x/poetry.lock", "conda-lock.yml", ".ash/old.json", ".secrets.baseline", "b c"]);
        tree.put_path(b"n\xff\n", b"");
        let call = run(&DetectSecrets, &tree).remove(0);
        assert_eq!(
            tree.words(&call),
            "python-of-detect-secrets -I -X utf8 {results}/detect_secrets_worker.py {results}/request.json {results}/detect-secrets.json"
        );
        let input = |name: &str| call.inputs.iter().find(|(path, _)| path.as_path().as_os_str() == name).unwrap().1.clone();
        assert_eq!(input(LIST), b"a.py\0b c\0n\xff\n\0");
        assert_eq!(String::from_utf8(input(REQUEST)).unwrap(), r#"{"files":"files.nul","accepted":[],"seconds_per_file":120}"#);
    }

    #[test]
    fn of_a_baseline_only_the_accepted_secrets_are_used() {
        let mut tree = Tree::new(&["a.py", "b.py"]);
        let baseline = json!({
            "plugins_used": [{"name": "Evil", "path": "file://evil.py"}],
            "filters_used": [{"path": "file://evil.py::f"}],
            "results": {"b.py": [{"type": "Secret Keyword", "hashed_secret": "abc", "line_number": 3}], "gone.py": [{"type": "x", "hashed_secret": "y"}], "../b.py": []}
        });
        tree.contents.insert(own(".secrets.baseline"), baseline.to_string().into_bytes());
        let call = run(&DetectSecrets, &tree).remove(0);
        let request = String::from_utf8(call.inputs[1].1.clone()).unwrap();
        assert_eq!(request, r#"{"files":"files.nul","accepted":[[1,"Secret Keyword","abc"]],"seconds_per_file":120}"#);
        tree.contents.insert(own(".secrets.baseline"), b"{".to_vec());
        assert!(String::from_utf8(run(&DetectSecrets, &tree)[0].inputs[1].1.clone()).unwrap().contains(r#""accepted":[]"#));
    }

    #[test]
    fn a_secret_becomes_a_finding_under_the_old_name_and_never_shows_itself() {
        let tree = Tree::new(&["a b.py", "c.py"]);
        let secrets = json!([
            {"file": 0, "line": 3, "type": "Public IP (ipv4)", "allowlisted": false, "accepted": false, "secret": "hunter2"},
            {"file": 1, "line": 1, "type": "Secret Keyword", "allowlisted": true, "accepted": false},
            {"file": 1, "line": 2, "type": "Secret Keyword", "allowlisted": false, "accepted": true},
        ]);
        let read = interpret(&DetectSecrets, &tree, 0, &[(REPORT, report(2, &secrets, &json!([{"file": 1, "reason": "PermissionError"}])))]).unwrap();
        let first = &read.findings[0];
        assert_eq!((first.rule_id.as_str(), first.severity, first.level), ("SECRET-PUBLIC-IP-(IPV4)", Severity::Critical, Level::Error));
        assert_eq!(first.message, "Secret of type 'Public IP (ipv4)' detected in file 'a b.py' at line 3");
        assert!(!format!("{read:?}").contains("hunter2"));
        assert_eq!(read.findings.iter().map(Finding::is_suppressed).collect::<Vec<_>>(), [false, true, true]);
        assert_eq!(read.unevaluated, ["c.py: PermissionError"]);
        assert_eq!((read.version.as_deref(), read.targets, read.rules.len()), (Some("1.5.0"), Some(2), 2));
    }

    #[test]
    fn a_worker_that_read_fewer_files_or_names_others_is_not_believed() {
        let tree = Tree::new(&["a.py", "c.py"]);
        let secret = |file: i64| json!([{"file": file, "line": 1, "type": "x", "allowlisted": false, "accepted": false}]);
        for bytes in [report(1, &json!([]), &json!([])), report(2, &secret(2), &json!([])), report(2, &secret(-1), &json!([])), report(2, &json!([]), &json!([{"file": 9, "reason": "x"}]))] {
            assert!(interpret(&DetectSecrets, &tree, 0, &[(REPORT, bytes)]).is_err());
        }
        assert!(interpret(&DetectSecrets, &tree, 0, &[(REPORT, report(2, &secret(1), &json!([])))]).is_ok());
        assert!(interpret(&DetectSecrets, &tree, 1, &[(REPORT, report(2, &secret(1), &json!([])))]).is_err());
    }
}
