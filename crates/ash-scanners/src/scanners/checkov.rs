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
    path::{RelPath, os_string},
    requirements::{Requirements, texts},
    tool::{Cwd, Program, ToolCall, ToolOutput},
};

use crate::{
    Install, InterpretError, Interpreted, Plan, Scanner, Site, Tool,
    call::{joined, own, version_probe},
    options::Options,
    outcome,
    renamed::Renamed,
    sarif::{self, Reading, Spelling},
    skipped,
};

const REPORT: &str = "results_sarif.sarif";
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

    fn plan(&self, site: &Site<'_>) -> Plan {
        if site.files.is_empty() {
            return Plan::Skip("no file to look at".to_owned());
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
    for pattern in options.list("skip_path")? {
        call = call.args([joined("--skip-path=", pattern)]);
    }
    call = call.args(skip_paths(site).iter().map(|pattern| joined("--skip-path=", pattern)));
    call = call.args([joined("--directory=", site.source)]);
    let renamed = renamed(site);
    if !renamed.is_empty() {
        call = call.args([joined("--directory=", site.results.join("renamed"))]);
        renamed.write_for(&mut call);
    }
    call = call.args([OsString::from("--output-file-path"), site.results.into()]);
    call.cwd = Cwd::Root;
    call.outputs = vec![own(REPORT)];
    call.accepts = vec![0, 1];
    Ok(call)
}

/// Regular expressions over whole paths: directories not worth entering, and names checkov crashes on.
fn skip_paths(site: &Site<'_>) -> Vec<OsString> {
    let source = escaped(site.source);
    let below = |rest: &[u8]| os_string([b"^".as_slice(), &source, b"/", rest].concat());
    let names: Vec<Vec<u8>> = skipped::NAMES.iter().map(|name| escaped(Path::new(name))).collect();
    let mut patterns = vec![
        below(&[b"(.*/)?(".as_slice(), &names.join(b"|".as_slice()), b")$"].concat()),
        // Control characters, and the code points Python uses for bytes that are not UTF-8: checkov reads copies of such files.
        below(br"(?s:.*)[\x00-\x1f\x7f\udc80-\udcff]"),
    ];
    if let Some(output) = skipped::output(site) {
        patterns.push(below(&[escaped(output.as_path()).as_slice(), b"(/|$)"].concat()));
    }
    patterns
}

/// A path as a Python regular expression that matches only itself.
fn escaped(path: &Path) -> Vec<u8> {
    let mut pattern = vec![];
    for byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii() && !byte.is_ascii_alphanumeric() && !b"/_".contains(byte) {
            pattern.push(b'\\');
        }
        pattern.push(*byte);
    }
    pattern
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
