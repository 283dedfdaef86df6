//! What `ash-sandbox` itself costs, without the program around it: its own benchmark, built like a release.
//!
//! Each figure is the least of many runs, which is what the work itself takes; the medians stand beside it and say how busy the machine was.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use super::Bench;
use crate::{shell::cargo, workspace};

/// Milliseconds.
#[derive(Clone, Copy)]
struct Time {
    least: f64,
    median: f64,
}

impl Time {
    fn parse(columns: &str) -> Option<Self> {
        let (least, median) = columns.split_once('\t')?;
        Some(Self { least: least.parse().ok()?, median: median.parse().ok()? })
    }
}

pub(super) fn run(bench: &mut Bench) -> Result<()> {
    let said = cargo()
        .args(["bench", "--quiet", "--locked", "-p", "ash-sandbox", "--bench", "costs"])
        .cwd(&workspace::root())
        .said()?;
    let times: BTreeMap<&str, Time> = said
        .stdout
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .filter_map(|(name, columns)| Some((name, Time::parse(columns)?)))
        .collect();
    let time = |name: &str| times.get(name).copied();
    let policy = time("policy").with_context(|| format!("the benchmark said {}", said.stderr))?;
    let site = time("site").map_or(0.0, |site| site.least);
    bench.line(
        "policy for 200 `PATH` entries and 500 uv tools",
        format!(
            "{:.1} ms, median {:.1} ({site:.1} ms more, once a scan)",
            policy.least, policy.median
        ),
        "≤ 10 ms",
    );
    if let Some(stage) = time("stage") {
        bench.line(
            "a stage of ash that does nothing",
            format!("{:.1} ms, median {:.1}", stage.least, stage.median),
            "",
        );
    }
    landlock(bench, &time);
    bwrap(bench, &time);
    if let (Some(find), Some(sweep)) = (time("find"), time("sweep")) {
        let measured = format!(
            "{:.2} ({:.0} ms over {:.0} ms)",
            sweep.median / find.median,
            sweep.median,
            find.median
        );
        bench.line("sweep of 100,000 result files over `find`", measured, "≤ 1.5");
    }
    Ok(())
}

fn landlock(bench: &mut Bench, time: &impl Fn(&str) -> Option<Time>) {
    let (Some(bare), Some(landlock)) = (time("bare"), time("landlock")) else { return };
    let measured = format!(
        "{:.1} ms more, medians {:.1} ({:.1} ms in all)",
        landlock.least - bare.least,
        landlock.median - bare.median,
        landlock.least
    );
    bench.line("`true` under landlock over `true`, probe aside", measured, "≤ 4 ms more");
}

/// Two processes of ash stand around bubblewrap, whatever it does: the supervisor before it and the last stage inside. On a machine where
/// starting any program is dear, the two alone can be more than the bar leaves; so what they cost empty is said, too.
fn bwrap(bench: &mut Bench, time: &impl Fn(&str) -> Option<Time>) {
    let (Some(raw), Some(bwrap)) = (time("raw bwrap"), time("bwrap")) else { return };
    let over = |of: f64, over: f64| format!("{:.2}", of / over);
    let measured = format!(
        "{}, medians {} ({:.1} ms over {:.1} ms)",
        over(bwrap.least, raw.least),
        over(bwrap.median, raw.median),
        bwrap.least,
        raw.least
    );
    bench.line("`true` under bwrap over raw bwrap, same mounts, probe aside", measured, "≤ 1.3");
    if let Some(stage) = time("stage") {
        let floor = |raw: f64, stage: f64| 2.0f64.mul_add(stage, raw);
        let measured = format!(
            "{}, medians {}",
            over(bwrap.least, floor(raw.least, stage.least)),
            over(bwrap.median, floor(raw.median, stage.median))
        );
        bench.line("the same over raw bwrap and two empty stages", measured, "≤ 1.3");
    }
}
