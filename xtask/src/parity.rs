//! `cargo xtask parity DIR`: the sandbox must not change what is found.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::{
    shell::{Call, say},
    workspace,
};

/// Sandboxes to compare with no sandbox at all, where this machine has them.
const BACKENDS: &[&str] = &["bwrap", "firejail", "landlock"];

/// How many differences are shown.
const SHOWN: usize = 50;

/// One finding: scanner, rule, path, line. The same one may be reported more than once.
type Findings = BTreeMap<(String, String, String, u64), u64>;

/// What a scan under one mode said.
struct Outcome {
    mode: String,
    code: i32,
    findings: Findings,
    statuses: BTreeMap<String, String>,
}

/// Compares on any directory.
pub(crate) fn run(dir: &str, ash: Option<&str>) -> Result<ExitCode> {
    let source = Path::new(dir).canonicalize().with_context(|| format!("cannot scan `{dir}`"))?;
    let ash = match ash {
        Some(path) => {
            PathBuf::from(path).canonicalize().with_context(|| format!("no ash at `{path}`"))?
        }
        None => workspace::build_ash(true)?,
    };
    Ok(if same_findings(&ash, &source, None)? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Scans under every mode and compares, with the scanners of this directory or the operator's.
pub(crate) fn same_findings(ash: &Path, source: &Path, tools: Option<&Path>) -> Result<bool> {
    let offered = offered_backends(ash)?;
    ensure!(!offered.is_empty(), "no sandbox works here: there is nothing to compare");
    let output = workspace::target_dir().join("ash-parity");
    let modes = std::iter::once("off").chain(offered.iter().map(String::as_str));
    let outcomes =
        modes.map(|mode| scan(ash, source, mode, &output, tools)).collect::<Result<Vec<_>>>()?;
    let (bare, sandboxed) = outcomes.split_first().context("no scan ran")?;
    ensure!(
        !bare.findings.is_empty(),
        "`{}` has no findings at all, so equal results would prove nothing",
        source.display()
    );
    say(&table(&outcomes));
    if tools.is_some() {
        // The tests install every scanner first, so that none may be absent.
        let broken: Vec<&String> = bare
            .statuses
            .iter()
            .filter(|(_, status)| *status == "MISSING" || *status == "ERROR")
            .map(|(name, _)| name)
            .collect();
        ensure!(broken.is_empty(), "these scanners did not run even without a sandbox: {broken:?}");
    }
    let differences: Vec<String> =
        sandboxed.iter().flat_map(|other| differences(bare, other)).collect();
    differences.iter().take(SHOWN).for_each(|line| say(line));
    if differences.len() > SHOWN {
        say(&format!("… and {} more", differences.len() - SHOWN));
    }
    let count: u64 = bare.findings.values().sum();
    say(&match differences.len() {
        0 => format!("the same {count} findings with and without a sandbox"),
        many => format!("{many} differences"),
    });
    Ok(differences.is_empty())
}

/// The backends that ash itself says work here.
pub(crate) fn offered_backends(ash: &Path) -> Result<Vec<String>> {
    let said = Call::new(ash).args(["sandbox", "status", "--json"]).said()?;
    let status: Value = serde_json::from_str(&said.stdout).with_context(|| {
        format!("`ash sandbox status --json` said {:?} {:?}", said.stdout, said.stderr)
    })?;
    let backends = status["backends"].as_array().cloned().unwrap_or_default();
    let available = |name: &&&str| {
        backends.iter().any(|backend| backend["name"] == **name && backend["available"] == true)
    };
    Ok(BACKENDS.iter().filter(available).map(ToString::to_string).collect())
}

fn scan(
    ash: &Path,
    source: &Path,
    mode: &str,
    output: &Path,
    tools: Option<&Path>,
) -> Result<Outcome> {
    let output = output.join(mode);
    std::fs::create_dir_all(&output)?;
    let options = [
        "--sandbox",
        mode,
        "--offline",
        "--no-fail-on-findings",
        "--no-progress",
        "--quiet",
        "--output-dir",
    ];
    let call = Call::new(ash).arg("scan").arg(source).args(options).arg(&output);
    let code = match tools {
        Some(tools) => call.env("ASH_TOOLS_DIR", tools),
        None => call,
    }
    .code()?;
    let read = |name: &str| -> Result<Value> {
        let path = output.join(name);
        let bytes = std::fs::read(&path).with_context(|| {
            format!("the scan with `--sandbox {mode}` left no {}", path.display())
        })?;
        serde_json::from_slice(&bytes).with_context(|| format!("{} is not JSON", path.display()))
    };
    let results = read("ash_aggregated_results.json")?;
    let statuses = results["scanner_results"].as_object().into_iter().flatten();
    let statuses = statuses
        .map(|(name, result)| {
            (name.clone(), result["status"].as_str().unwrap_or("absent").to_owned())
        })
        .collect();
    Ok(Outcome {
        mode: mode.to_owned(),
        code,
        findings: findings(&read("reports/ash.sarif")?),
        statuses,
    })
}

/// Every result of every run, as what people would compare.
fn findings(sarif: &Value) -> Findings {
    let mut findings = Findings::new();
    let results = sarif["runs"]
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|run| run["results"].as_array().into_iter().flatten());
    for result in results {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let scanner = text(&result["properties"]["scanner_name"]);
        let place = &result["locations"][0]["physicalLocation"];
        let line = place["region"]["startLine"].as_u64().unwrap_or(0);
        *findings
            .entry((
                scanner,
                text(&result["ruleId"]),
                text(&place["artifactLocation"]["uri"]),
                line,
            ))
            .or_default() += 1;
    }
    findings
}

fn differences(bare: &Outcome, other: &Outcome) -> Vec<String> {
    let mode = &other.mode;
    let mut lines = Vec::new();
    let scanners: BTreeSet<&String> = bare.statuses.keys().chain(other.statuses.keys()).collect();
    for scanner in scanners {
        let status = |outcome: &Outcome| {
            outcome.statuses.get(scanner).cloned().unwrap_or_else(|| "absent".to_owned())
        };
        if status(bare) != status(other) {
            lines.push(format!(
                "{mode}: {scanner} is {} and without a sandbox {}",
                status(other),
                status(bare)
            ));
        }
    }
    if bare.code != other.code {
        lines.push(format!("{mode}: exit code {} and without a sandbox {}", other.code, bare.code));
    }
    let places: BTreeSet<_> = bare.findings.keys().chain(other.findings.keys()).collect();
    for place in places {
        let count = |outcome: &Outcome| outcome.findings.get(place).copied().unwrap_or(0);
        let (scanner, rule, path, line) = place;
        match count(bare).cmp(&count(other)) {
            std::cmp::Ordering::Less => {
                lines.push(format!("{mode}: only in the sandbox: {scanner} {rule} {path}:{line}"))
            }
            std::cmp::Ordering::Greater => {
                lines.push(format!("{mode}: lost in the sandbox: {scanner} {rule} {path}:{line}"))
            }
            std::cmp::Ordering::Equal => {}
        }
    }
    lines
}

/// Findings by scanner and mode.
fn table(outcomes: &[Outcome]) -> String {
    let scanners: BTreeSet<&String> =
        outcomes.iter().flat_map(|outcome| outcome.statuses.keys()).collect();
    let mut text = format!("{:<16}", "scanner");
    for outcome in outcomes {
        write!(text, "{:>20}", outcome.mode).unwrap_or_default();
    }
    for scanner in scanners {
        write!(text, "\n{scanner:<16}").unwrap_or_default();
        for outcome in outcomes {
            let count: u64 = outcome
                .findings
                .iter()
                .filter(|((name, ..), _)| name == scanner)
                .map(|(_, count)| count)
                .sum();
            let status = outcome.statuses.get(scanner).map_or("absent", String::as_str);
            write!(text, "{:>20}", format!("{count} {status}")).unwrap_or_default();
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn outcome(mode: &str, lines: &[u64], status: &str) -> Outcome {
        let results: Vec<Value> = lines
            .iter()
            .map(|line| {
                let place = json!({"artifactLocation": {"uri": "a.py"}, "region": {"startLine": line}});
                json!({"ruleId": "B1", "properties": {"scanner_name": "bandit"}, "locations": [{"physicalLocation": place}]})
            })
            .collect();
        let findings = findings(&json!({"runs": [{"results": results}]}));
        Outcome {
            mode: mode.into(),
            code: 0,
            findings,
            statuses: [("bandit".to_owned(), status.to_owned())].into(),
        }
    }

    #[test]
    fn a_finding_that_is_lost_gained_or_doubled_is_a_difference() {
        let bare = outcome("off", &[1, 2, 2], "FAILED");
        assert!(differences(&bare, &outcome("bwrap", &[2, 1, 2], "FAILED")).is_empty());
        assert_eq!(
            differences(&bare, &outcome("bwrap", &[1, 2], "FAILED")),
            ["bwrap: lost in the sandbox: bandit B1 a.py:2"]
        );
        assert_eq!(
            differences(&bare, &outcome("bwrap", &[1, 2, 2, 9], "FAILED")),
            ["bwrap: only in the sandbox: bandit B1 a.py:9"]
        );
        assert_eq!(
            differences(&bare, &outcome("bwrap", &[1, 2, 2], "ERROR")),
            ["bwrap: bandit is ERROR and without a sandbox FAILED"]
        );
    }
}
