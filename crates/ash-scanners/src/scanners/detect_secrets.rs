//! detect-secrets: credentials in any text file.
//!
//! A Python library without a report of its own, so ash brings a worker script that the tool's interpreter runs over exactly the scan
//! set. Every plugin is used and no filter, unless the settings say otherwise (see [`settings`]). Accepted secrets of a baseline and
//! lines with `pragma: allowlist secret` are reported as suppressed, not left out.

mod settings;

use std::collections::HashMap;

use ash_model::{
    finding::{Finding, Location, Region, Rule, Suppression},
    ids::ScannerId,
    notice::Notice,
    path::RelPath,
    requirements::Requirements,
    severity::{Level, Severity},
    tool::{Program, ToolCall, ToolOutput},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use self::settings::Settings;
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
const LOCK_FILES: [&str; 9] =
    ["package-lock.json", "yarn.lock", "pnpm-lock.yaml", "npm-shrinkwrap.json", "poetry.lock", "uv.lock", "Pipfile.lock", "conda-lock.yml", "conda-lock.yaml"];
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

    /// Only to ask issuers about candidates, which settings of the scanned tree can make it do: so only the operator grants it.
    fn requirements(&self) -> Requirements {
        Requirements {
            network: true,
            network_reason: Some("asks issuers whether candidates are valid, when its settings verify"),
            network_requires_grant: true,
            ..Requirements::NONE
        }
    }

    fn rule_ids(&self) -> &'static [&'static str] {
        &["SECRET-"]
    }

    fn plan(&self, site: &Site<'_>) -> Plan {
        let files = files(site);
        if files.is_empty() {
            return Plan::Skip("no file to look at".to_owned());
        }
        let calls = baseline(site).and_then(|baseline| {
            let settings = Settings::of(site, baseline.as_ref())?;
            Ok(vec![call(site, &files, baseline.as_ref(), &settings)])
        });
        calls.map_or_else(|plan| plan, Plan::Run)
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
        let notices = notices(site, &report);
        Ok(Interpreted { findings, rules, notices, version: Some(report.version), unevaluated, targets: u64::try_from(files.len()).ok(), ..Interpreted::default() })
    }
}

/// What the worker writes.
#[derive(Deserialize)]
struct Report {
    version: String,
    files: usize,
    secrets: Vec<Secret>,
    unread: Vec<Unread>,
    /// Candidates and files that filters left out.
    #[serde(default)]
    left_out: u64,
    /// What the settings name and the installed version does not have.
    #[serde(default)]
    unknown: Vec<String>,
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

/// What the settings asked for and what came of it. The scanned tree may choose settings; it may not do it quietly.
fn notices(site: &Site<'_>, report: &Report) -> Vec<Notice> {
    let settings = baseline(site).and_then(|baseline| Settings::of(site, baseline.as_ref()));
    settings.map(|settings| settings.notices(site, report.left_out, &report.unknown)).unwrap_or_default()
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

/// The scan set without what package managers wrote, and baselines, which hold hashes of secrets. The rest of ash's own directory is
/// looked at: a repository can put anything there.
fn files<'s>(site: &Site<'s>) -> Vec<&'s RelPath> {
    let wanted = |file: &&RelPath| {
        let path = file.as_path();
        let name = path.file_name().unwrap_or_default();
        let lock = LOCK_FILES.iter().any(|lock| name == *lock);
        !lock && name != ".secrets.baseline"
    };
    site.files.iter().filter(wanted).collect()
}

fn call(site: &Site<'_>, files: &[&RelPath], baseline: Option<&Baseline>, settings: &Settings) -> ToolCall {
    let mut list = vec![];
    for file in files {
        list.extend(file.as_path().as_os_str().as_encoded_bytes());
        list.push(0);
    }
    // The results directory may have a name that is no text, so the request names the list relative to the worker.
    let request = json!({
        "files": LIST,
        "accepted": accepted(files, baseline),
        "seconds_per_file": SECONDS_PER_FILE,
        "plugins": settings.plugins,
        "filters": settings.filters,
        "verify": settings.verify.filter(|_| site.network),
    });
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

/// A baseline as its name and its JSON.
struct Baseline {
    name: String,
    value: Value,
}

/// The baseline the option names, or the one in the usual places.
fn baseline(site: &Site<'_>) -> Result<Option<Baseline>, Plan> {
    if let Some(named) = Options::of(site).text("baseline_file")? {
        let unreadable = |why: &str| Plan::Missing(format!("its option `baseline_file` names `{}`, {why}", outcome::quoted(named)));
        let path = RelPath::new(named).map_err(|_| unreadable("which is not a path relative to the scanned directory"))?;
        let bytes = site.reader.read(&path, MAX_BASELINE).ok_or_else(|| unreadable("which is not a readable file"))?;
        let value = serde_json::from_slice(&bytes).map_err(|_| unreadable("which is not JSON"))?;
        return Ok(Some(Baseline { name: path.printable(), value }));
    }
    let found = BASELINES.iter().find_map(|name| Some((name, site.reader.read(&own(name), MAX_BASELINE)?)));
    // A baseline that cannot be read accepts nothing: more findings, never fewer.
    Ok(found.and_then(|(name, bytes)| Some(Baseline { name: (*name).to_owned(), value: serde_json::from_slice(&bytes).ok()? })))
}

/// The accepted secrets of a baseline as `[position, type, hash]`.
fn accepted(files: &[&RelPath], baseline: Option<&Baseline>) -> Vec<Value> {
    let Some(results) = baseline.and_then(|baseline| baseline.value.get("results")).and_then(Value::as_object) else { return vec![] };
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
mod tests;
