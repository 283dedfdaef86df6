//! What `ash-sandbox` itself costs, without the program around it: its own benchmark, built like a release.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use super::Bench;
use crate::{shell::cargo, workspace};

pub(super) fn run(bench: &mut Bench) -> Result<()> {
    let said = cargo()
        .args(["bench", "--quiet", "--locked", "-p", "ash-sandbox", "--bench", "costs"])
        .cwd(&workspace::root())
        .said()?;
    let times: BTreeMap<&str, f64> = said
        .stdout
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .filter_map(|(name, time)| Some((name, time.parse().ok()?)))
        .collect();
    let time = |name: &str| times.get(name).copied();
    let policy = time("policy").with_context(|| format!("the benchmark said {}", said.stderr))?;
    let site = time("site").unwrap_or_default();
    bench.line(
        "policy for 200 `PATH` entries and 500 uv tools",
        format!("{policy:.1} ms ({site:.1} ms more, once a scan)"),
        "≤ 10 ms",
    );
    if let (Some(bare), Some(landlock)) = (time("bare"), time("landlock")) {
        let more = landlock - bare;
        bench.line(
            "`true` under landlock over `true`, probe aside",
            format!("{more:.1} ms more ({landlock:.1} ms in all)"),
            "≤ 4 ms more",
        );
    }
    if let (Some(raw), Some(bwrap)) = (time("raw bwrap"), time("bwrap")) {
        let measured = format!("{:.2} ({bwrap:.1} ms over {raw:.1} ms)", bwrap / raw);
        bench.line(
            "`true` under bwrap over raw bwrap, same mounts, probe aside",
            measured,
            "≤ 1.3",
        );
    }
    if let (Some(find), Some(sweep)) = (time("find"), time("sweep")) {
        let measured = format!("{:.2} ({sweep:.0} ms over {find:.0} ms)", sweep / find);
        bench.line("sweep of 100,000 result files over `find`", measured, "≤ 1.5");
    }
    Ok(())
}
