//! `ash dependencies install` for real.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{Site, Tally, stage};
use crate::{shell::Call, workspace};

/// A tool with one small package and no dependencies.
const SMALL: &str = "zizmor";

/// Every check; the scanners themselves are in place already.
pub(super) fn run(tally: &mut Tally, site: &Site) {
    stage(tally, "a second install changes nothing", || second(site));
    stage(tally, "an install fetches uv where there is none", || from_nothing(site));
}

fn second(site: &Site) -> Result<bool> {
    let results = install(Call::new(&site.ash).env("ASH_TOOLS_DIR", &site.tools), &[])?;
    ensure!(results.len() >= 8, "only {} tools", results.len());
    Ok(results
        .iter()
        .all(|result| result["status"] == "already-installed" || result["status"] == "found"))
}

fn from_nothing(site: &Site) -> Result<bool> {
    let dir = workspace::target_dir().join("ash-install-test");
    if dir.exists() {
        std::fs::remove_dir_all(&dir)?;
    }
    let call = || {
        Call::new(&site.ash)
            .env("ASH_TOOLS_DIR", &dir)
            .env("PATH", "/usr/bin:/bin")
            .env("PYTHONDONTWRITEBYTECODE", "1")
    };
    let results = install(call(), &["--tool", SMALL])?;
    ensure!(
        results.iter().all(|result| result["status"] == "installed"),
        "not installed: {results:?}"
    );
    let program = dir.join(SMALL).join("bin").join(SMALL);
    ensure!(Call::new(&program).arg("--version").works(), "`{}` does not run", program.display());
    // A killed install leaves no stamp; the next one starts over.
    std::fs::remove_file(dir.join(SMALL).join(".ash-tool.json"))?;
    let results = install(call(), &["--tool", SMALL])?;
    Ok(results.iter().all(|result| result["status"] == "installed") && program.exists())
}

fn install(call: Call, more: &[&str]) -> Result<Vec<Value>> {
    let said =
        call.args(["dependencies", "install", "--json"]).args(more).cwd(Path::new("/")).said()?;
    let results: Value = serde_json::from_str(&said.stdout)
        .with_context(|| format!("not JSON: {}{}", said.stdout, said.stderr))?;
    ensure!(said.code == Some(0), "exit code {:?}: {}{}", said.code, said.stdout, said.stderr);
    results.as_array().cloned().context("not a list")
}
