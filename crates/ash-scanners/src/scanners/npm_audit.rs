//! npm-audit: known vulnerabilities of npm packages, as the registry's audit data has them.
//!
//! npm reads `.npmrc` of the directory it runs in: a registry to send the package list to, `offline=true` (an empty report and exit
//! code 0), packages to leave out. So it never runs in the scanned tree. Each `package.json` with its lock is copied into the results
//! directory and audited there, with `--prefix` so that no `package.json` further up can claim the copy as its workspace. Which registry
//! is asked is the operator's choice (`npm_config_registry`). `npm audit` exits 1 for findings and for failures; only a report with an
//! `auditReportVersion` is one.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use ash_model::{
    finding::{Finding, Location, Rule},
    ids::ScannerId,
    path::RelPath,
    requirements::{Requirements, texts},
    severity::{Level, Severity},
    tool::{Cwd, Program, ToolCall, ToolOutput},
};
use serde_json::{Map, Value, json};

use crate::{
    Effort, Install, InterpretError, Interpreted, Plan, Scanner, Site, Tool,
    call::{joined, own, version_probe},
    outcome, version_range,
};

const MAX_LOCK: u64 = 64 * 1024 * 1024;
const MAX_MANIFEST: u64 = 4 * 1024 * 1024;
const MANIFEST: &str = "package.json";
/// npm's own lock files, the one npm prefers first.
const LOCKS: [&str; 2] = ["npm-shrinkwrap.json", "package-lock.json"];
/// Lock files of other package managers, each with its manager.
const FOREIGN_LOCKS: [(&str, &str); 2] = [("yarn.lock", "yarn"), ("pnpm-lock.yaml", "pnpm")];

pub(crate) struct NpmAudit;

impl Scanner for NpmAudit {
    fn id(&self) -> ScannerId {
        ScannerId::builtin("npm-audit")
    }

    fn about(&self) -> &'static str {
        "known vulnerabilities of npm packages"
    }

    fn tool(&self) -> Tool {
        Tool {
            program: "npm",
            companions: &["node"],
            version: Some(version_probe("npm", &["--version", "--no-update-notifier"], 30)),
            install: Install::System { hint: "install Node.js with npm from your system's packages" },
        }
    }

    fn requirements(&self) -> Requirements {
        Requirements {
            network: true,
            network_reason: Some("asks the package registry for its audit data"),
            cache_paths: texts(&["~/.npm"]),
            cache_env: texts(&["npm_config_cache"]),
            env_prefixes: texts(&["npm_config_", "NPM_CONFIG_"]),
            ..Requirements::NONE
        }
    }

    fn rule_ids(&self) -> &'static [&'static str] {
        &["NPM-ADVISORY-"]
    }

    fn effort(&self) -> Effort {
        Effort::Short
    }

    fn plan(&self, site: &Site<'_>) -> Plan {
        let found = Projects::of(site);
        if found.is_empty() {
            return Plan::Skip("no package.json with a lock file".to_owned());
        }
        if site.offline {
            return Plan::Skip("npm's audit data comes from the package registry and the scan is offline; run without `--offline` for it".to_owned());
        }
        Plan::Run(found.audited.iter().enumerate().map(|(number, project)| project.call(site, number)).collect())
    }

    fn interpret(&self, site: &Site<'_>, calls: &[(ToolCall, ToolOutput)]) -> Result<Interpreted, InterpretError> {
        let found = Projects::of(site);
        if found.audited.len() != calls.len() {
            return Err(InterpretError(format!("{} lock files were found when the scan began and {} when it ended", calls.len(), found.audited.len())));
        }
        let mut interpreted = Interpreted { unevaluated: found.unevaluated, targets: u64::try_from(calls.len()).ok(), ..Interpreted::default() };
        let mut rules = BTreeMap::new();
        let mut failures = vec![];
        for (project, (call, output)) in found.audited.iter().zip(calls) {
            match report(call, output) {
                Ok(report) => interpreted.findings.extend(findings(&self.id(), project, &report, &mut rules)),
                Err(InterpretError(why)) => failures.push(format!("`{}` was not audited: {why}", project.lock)),
            }
        }
        if !failures.is_empty() {
            return Err(InterpretError(failures.join("; ")));
        }
        interpreted.rules = rules.into_values().collect();
        Ok(interpreted)
    }
}

/// A directory npm can audit.
struct Project {
    directory: Option<RelPath>,
    lock: RelPath,
    lock_text: Vec<u8>,
    /// `package.json`, and those of its workspaces.
    manifests: Vec<(RelPath, Vec<u8>)>,
}

/// All directories with a lock file.
#[derive(Default)]
struct Projects {
    audited: Vec<Project>,
    unevaluated: Vec<String>,
}

impl Projects {
    fn of(site: &Site<'_>) -> Self {
        let mut found = Self::default();
        for manifest in site.files.iter().filter(|file| is_manifest(file)) {
            let directory = manifest.as_path().parent().and_then(|parent| RelPath::new(parent).ok());
            let beside = |name: &str| RelPath::new(directory.as_ref().map_or_else(|| Path::new(name).to_owned(), |directory| directory.as_path().join(name))).ok();
            let existing = |name: &str| beside(name).filter(|file| site.files.binary_search(file).is_ok());
            if let Some(lock) = LOCKS.into_iter().find_map(existing) {
                match Project::read(site, directory.clone(), manifest, lock.clone()) {
                    Some(project) => found.audited.push(project),
                    None => found.unevaluated.push(format!("{lock}: it or its package.json cannot be read, or is too large")),
                }
            }
            // Beside npm's lock too: the two need not list the same packages, and nobody knows which of them is installed from.
            for (name, manager) in FOREIGN_LOCKS {
                let Some(lock) = existing(name) else { continue };
                found.unevaluated.push(format!("{lock}: this version of ash does not audit {manager} projects; audit it with `{manager} audit`"));
            }
        }
        found
    }

    fn is_empty(&self) -> bool {
        self.audited.is_empty() && self.unevaluated.is_empty()
    }
}

fn is_manifest(file: &RelPath) -> bool {
    let path = file.as_path();
    path.file_name().is_some_and(|name| name == MANIFEST) && !path.components().any(|part| part.as_os_str() == "node_modules")
}

impl Project {
    fn read(site: &Site<'_>, directory: Option<RelPath>, manifest: &RelPath, lock: RelPath) -> Option<Self> {
        let lock_text = site.reader.read(&lock, MAX_LOCK)?;
        let mut manifests = vec![(own(MANIFEST), site.reader.read(manifest, MAX_MANIFEST)?)];
        for name in workspaces(&lock_text) {
            let inside = RelPath::new(directory.as_ref().map_or_else(|| name.as_path().to_owned(), |directory| directory.as_path().join(name.as_path()))).ok()?;
            // A workspace without a readable package.json is audited as the lock describes it.
            if let Some(text) = site.reader.read(&inside, MAX_MANIFEST) {
                manifests.push((name, text));
            }
        }
        Some(Self { directory, lock, lock_text, manifests })
    }

    fn call(&self, site: &Site<'_>, number: usize) -> ToolCall {
        let directory = format!("project-{number}");
        let place = |name: &RelPath| own(Path::new(&directory).join(name.as_path()));
        let mut call = ToolCall::new(Program::Tool("npm"), &format!("npm-audit-{number}"))
            .args(["audit", "--json", "--package-lock-only", "--no-offline", "--ignore-scripts", "--include=dev", "--include=optional", "--include=peer"])
            .args(["--no-update-notifier"])
            .args([joined("--prefix=", site.results.join(&directory))]);
        call.cwd = Cwd::Results;
        call.inputs = self.manifests.iter().map(|(name, text)| (place(name), text.clone())).collect();
        let lock = own(self.lock.as_path().file_name().unwrap_or_default());
        call.inputs.push((place(&lock), self.lock_text.clone()));
        call.accepts = vec![0, 1];
        call
    }

    /// Where npm would have installed a package: the place old suppressions name.
    fn location(&self, node: &str) -> Option<Location> {
        let below = Path::new(node).join(MANIFEST);
        let path = self.directory.as_ref().map_or_else(|| below.clone(), |directory| directory.as_path().join(&below));
        Some(Location { path: RelPath::new(path).ok()?, region: None, snippet: None })
    }
}

/// `package.json` of every workspace the lock lists.
fn workspaces(lock: &[u8]) -> BTreeSet<RelPath> {
    let lock: Value = serde_json::from_slice(lock).unwrap_or_default();
    let packages = lock.get("packages").and_then(Value::as_object);
    let own_code = |name: &&String| !name.is_empty() && !name.split('/').any(|part| part == "node_modules");
    packages.into_iter().flat_map(Map::keys).filter(own_code).filter_map(|name| RelPath::new(Path::new(name).join(MANIFEST)).ok()).take(1000).collect()
}

/// The report, if the registry gave one.
fn report(call: &ToolCall, output: &ToolOutput) -> Result<Value, InterpretError> {
    outcome::accepted(call, output)?;
    let bytes = outcome::stdout(call, output)?;
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(outcome::failed(call, output, "printed no report"));
    }
    let report = outcome::json(call, bytes)?;
    let is_report = report.get("auditReportVersion").and_then(Value::as_u64).is_some() && report.get("vulnerabilities").is_some_and(Value::is_object);
    if is_report {
        return Ok(report);
    }
    let said = ["/message", "/error/summary", "/error/code"].iter().filter_map(|pointer| report.pointer(pointer)?.as_str()).find(|text| !text.is_empty());
    Err(match said {
        Some(text) => InterpretError(outcome::quoted(text)),
        None => outcome::failed(call, output, "printed something that is not an audit report"),
    })
}

fn findings(scanner: &ScannerId, project: &Project, report: &Value, rules: &mut BTreeMap<String, Rule>) -> Vec<Finding> {
    let lock: Value = serde_json::from_slice(&project.lock_text).unwrap_or_default();
    let packages = report.get("vulnerabilities").and_then(Value::as_object);
    let mut findings = vec![];
    for (name, package) in packages.into_iter().flatten() {
        for advisory in package.get("via").and_then(Value::as_array).into_iter().flatten().filter(|via| via.is_object()) {
            let advisory = Advisory { name, value: advisory };
            let mut seen = BTreeSet::new();
            for node in nodes(name, package) {
                let version = installed(&lock, &node);
                let affected = version.is_none_or(|version| version_range::affects(advisory.text("range"), version));
                if affected && seen.insert(version.map(str::to_owned)) {
                    findings.push(advisory.finding(scanner, project, &node, version));
                }
            }
            if seen.is_empty() {
                // npm says it is there; that no listed place has an affected version is no reason to say nothing.
                findings.push(advisory.finding(scanner, project, &format!("node_modules/{name}"), None));
            }
            rules.entry(advisory.rule_id()).or_insert_with(|| advisory.rule());
        }
    }
    findings
}

/// Where a package is installed, as npm says; at least the usual place.
fn nodes(name: &str, package: &Value) -> Vec<String> {
    let listed: Vec<String> = package.get("nodes").and_then(Value::as_array).into_iter().flatten().filter_map(|node| node.as_str().map(str::to_owned)).collect();
    if listed.is_empty() { vec![format!("node_modules/{name}")] } else { listed }
}

fn installed<'l>(lock: &'l Value, node: &str) -> Option<&'l str> {
    lock.get("packages")?.get(node)?.get("version")?.as_str()
}

struct Advisory<'a> {
    name: &'a str,
    value: &'a Value,
}

impl Advisory<'_> {
    fn text(&self, member: &str) -> &str {
        self.value.get(member).and_then(Value::as_str).unwrap_or_default()
    }

    /// The GHSA id at the end of the advisory's address, else npm's own number.
    fn rule_id(&self) -> String {
        let last = self.text("url").rsplit('/').next().unwrap_or_default();
        let is_ghsa = last.starts_with("GHSA-") && last.len() <= 40 && last.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        if is_ghsa { last.to_owned() } else { format!("npm-advisory-{}", self.value.get("source").and_then(Value::as_u64).unwrap_or_default()) }
    }

    /// A severity npm has no word for counts as high: it is a vulnerability all the same.
    fn severity(&self) -> (Severity, Level) {
        match self.text("severity") {
            "critical" => (Severity::Critical, Level::Error),
            "moderate" => (Severity::Medium, Level::Warning),
            "low" => (Severity::Low, Level::Note),
            "info" => (Severity::Info, Level::Note),
            _ => (Severity::High, Level::Error),
        }
    }

    fn finding(&self, scanner: &ScannerId, project: &Project, node: &str, version: Option<&str>) -> Finding {
        let (severity, level) = self.severity();
        let shown = version.unwrap_or("of an unknown version");
        let properties = json!({
            "package_name": self.name,
            "package_version": version,
            "package_path": node,
            "vulnerable_range": self.text("range"),
            "lock_file": project.lock.printable(),
        });
        Finding {
            scanner: scanner.clone(),
            rule_id: self.rule_id(),
            severity,
            level,
            message: format!("{} {shown} is vulnerable ({}): {}, locked in {}", self.name, self.text("range"), self.text("title"), project.lock),
            location: project.location(node),
            suppressions: vec![],
            properties: properties.as_object().cloned().unwrap_or_default(),
            extra: Map::new(),
        }
    }

    fn rule(&self) -> Rule {
        let score = self.value.pointer("/cvss/score").and_then(Value::as_f64).filter(|score| (0.0..=10.0).contains(score) && *score > 0.0);
        let weaknesses = self.value.get("cwe").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        let tags: Vec<String> = std::iter::once("security".to_owned()).chain(weaknesses.map(|cwe| format!("external/cwe/{}", cwe.to_lowercase()))).collect();
        let mut properties = Map::from_iter([("tags".to_owned(), json!(tags))]);
        if let Some(score) = score {
            properties.insert("security-severity".to_owned(), Value::String(format!("{score:.1}")));
        }
        let descriptor = json!({
            "id": self.rule_id(),
            "shortDescription": {"text": self.text("title")},
            "helpUri": self.text("url"),
            "defaultConfiguration": {"level": self.severity().1.name()},
            "properties": properties,
        });
        Rule { id: self.rule_id(), cvss: score, descriptor: descriptor.as_object().cloned().unwrap_or_default() }
    }
}

#[cfg(test)]
mod tests {
    use ash_model::tool::Exit;

    use super::*;
    use crate::scanners::tests::{Tree, output, recorded, run};

    const LOCK: &[u8] = br#"{"lockfileVersion": 3, "packages": {"": {"name": "w"}, "node_modules/lodash": {"version": "4.17.15"}, "node_modules/a/node_modules/lodash": {"version": "4.17.21"}, "node_modules/minimist": {"version": "0.0.8"}}}"#;

    fn tree() -> Tree {
        let mut tree = Tree::new(&["web app/.npmrc", "web app/yarn.lock", "no-lock/package.json", "node_modules/x/package.json", "node_modules/x/package-lock.json"]);
        tree.put("web app/package.json", b"{}");
        tree.put("web app/package-lock.json", LOCK);
        tree
    }

    fn read(tree: &Tree, code: i32, report: &[u8]) -> Result<Interpreted, InterpretError> {
        let calls: Vec<_> = run(&NpmAudit, tree).into_iter().map(|call| (call, output(Exit::Code(code), report, b"npm error audit endpoint returned an error\n", &[]))).collect();
        tree.site(|site| NpmAudit.interpret(site, &calls))
    }

    #[test]
    fn npm_runs_over_copies_so_that_no_npmrc_of_the_tree_is_read() {
        let tree = tree();
        let calls = run(&NpmAudit, &tree);
        assert_eq!(calls.len(), 1);
        assert_eq!(
            tree.words(&calls[0]),
            "npm audit --json --package-lock-only --no-offline --ignore-scripts --include=dev --include=optional --include=peer --no-update-notifier --prefix={results}/project-0"
        );
        assert_eq!(calls[0].cwd, Cwd::Results);
        let names: Vec<String> = calls[0].inputs.iter().map(|(name, _)| name.printable()).collect();
        assert_eq!(names, ["project-0/package.json", "project-0/package-lock.json"]);
    }

    #[test]
    fn workspaces_of_the_lock_are_copied_with_it_and_nothing_outside() {
        let mut tree = Tree::new(&[]);
        tree.put("package.json", b"{}");
        tree.put("package-lock.json", br#"{"packages": {"": {}, "packages/a": {}, "../out": {}, "/etc": {}, "node_modules/a": {"link": true}, "packages/gone": {}}}"#);
        tree.put("packages/a/package.json", b"{\"name\": \"a\"}");
        let names: Vec<String> = run(&NpmAudit, &tree)[0].inputs.iter().map(|(name, _)| name.printable()).collect();
        assert_eq!(names, ["project-0/package.json", "project-0/packages/a/package.json", "project-0/package-lock.json"]);
    }

    #[test]
    fn offline_it_is_skipped_with_the_reason_and_never_clean() {
        let mut tree = tree();
        tree.offline = true;
        assert!(matches!(tree.site(|site| NpmAudit.plan(site)), Plan::Skip(reason) if reason.contains("offline")));
    }

    #[test]
    fn a_lock_of_another_package_manager_is_named_as_not_audited() {
        let mut tree = Tree::new(&["package.json", "yarn.lock", "p/package.json", "p/pnpm-lock.yaml"]);
        tree.put("big/package.json", b"{}");
        tree.files.push(RelPath::new("big/package-lock.json").unwrap());
        tree.files.sort();
        assert_eq!(run(&NpmAudit, &tree), []);
        let read = tree.site(|site| NpmAudit.interpret(site, &[])).unwrap();
        assert_eq!(read.unevaluated.len(), 3);
        assert!(read.unevaluated[0].starts_with("big/package-lock.json: "), "{:?}", read.unevaluated);
        assert!(read.unevaluated[1].starts_with("p/pnpm-lock.yaml: ") && read.unevaluated[2].starts_with("yarn.lock: "), "{:?}", read.unevaluated);
    }

    #[test]
    fn a_lock_of_npm_does_not_hide_those_of_other_package_managers_beside_it() {
        let empty = br#"{"lockfileVersion": 3, "packages": {}}"#;
        let not_audited = |locks: &[&str]| {
            let mut tree = Tree::new(&[]);
            tree.put("package.json", b"{}");
            locks.iter().for_each(|lock| tree.put(lock, empty));
            let read = read(&tree, 0, &recorded("npm-audit/clean.json")).unwrap();
            read.unevaluated.iter().map(|line| line.split(':').next().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(not_audited(&["package-lock.json"]), Vec::<String>::new(), "the control");
        assert_eq!(not_audited(&["package-lock.json", "yarn.lock"]), ["yarn.lock"]);
        assert_eq!(not_audited(&["npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock"]), ["yarn.lock", "pnpm-lock.yaml"]);
        assert_eq!(not_audited(&["pnpm-lock.yaml", "yarn.lock"]), ["yarn.lock", "pnpm-lock.yaml"]);
    }

    #[test]
    fn the_recorded_report_gives_one_finding_for_each_advisory_and_installed_version() {
        let read = read(&tree(), 1, &recorded("npm-audit/findings-with-packuments.json")).unwrap();
        let found: Vec<_> = read.findings.iter().map(|finding| (finding.rule_id.as_str(), finding.severity, finding.level, finding.location.as_ref().unwrap().path.printable())).collect();
        assert_eq!(
            found,
            [
                ("GHSA-35jh-r3h4-6jhm", Severity::High, Level::Error, "web app/node_modules/lodash/package.json".to_owned()),
                ("GHSA-29mw-wpgm-hmr9", Severity::Medium, Level::Warning, "web app/node_modules/lodash/package.json".to_owned()),
                ("GHSA-xvch-5gv4-984h", Severity::Critical, Level::Error, "web app/node_modules/minimist/package.json".to_owned()),
            ]
        );
        assert_eq!(read.findings[0].properties["package_version"], "4.17.15");
        assert_eq!(read.rules.iter().map(|rule| rule.cvss).collect::<Vec<_>>(), [Some(5.3), Some(7.2), Some(9.8)]);
    }

    #[test]
    fn each_place_with_an_affected_version_counts_and_others_do_not() {
        let report = json!({"auditReportVersion": 2, "vulnerabilities": {"lodash": {"via": ["other", {"source": 7, "title": "t", "severity": "low", "url": "https://x/1", "range": "<4.17.21"}],
            "nodes": ["node_modules/lodash", "node_modules/a/node_modules/lodash", "node_modules/b/node_modules/lodash"]}}});
        let read = read(&tree(), 0, report.to_string().as_bytes()).unwrap();
        let places: Vec<_> = read.findings.iter().map(|finding| finding.location.as_ref().unwrap().path.printable()).collect();
        assert_eq!(places, ["web app/node_modules/lodash/package.json", "web app/node_modules/b/node_modules/lodash/package.json"]);
        assert_eq!(read.findings[0].rule_id, "npm-advisory-7");
    }

    #[test]
    fn a_failed_audit_names_its_lock_file_and_is_never_clean() {
        for name in ["refused-405", "not-found", "not-json", "connection-refused", "no-lock"] {
            let InterpretError(reason) = read(&tree(), 1, &recorded(&format!("npm-audit/{name}.json"))).unwrap_err();
            assert!(reason.starts_with("`web app/package-lock.json` was not audited: "), "{name}: {reason}");
        }
        assert_eq!(read(&tree(), 0, &recorded("npm-audit/clean.json")).unwrap().findings, []);
    }

    #[test]
    fn a_place_outside_the_tree_is_no_location() {
        let report = json!({"auditReportVersion": 2, "vulnerabilities": {"x": {"via": [{"severity": "high", "url": "GHSA-1\u{1b}[31m"}], "nodes": ["../../etc"]}}});
        let read = read(&tree(), 1, report.to_string().as_bytes()).unwrap();
        assert_eq!((read.findings.len(), read.findings[0].location.clone(), read.findings[0].rule_id.as_str()), (1, None, "npm-advisory-0"));
    }
}
