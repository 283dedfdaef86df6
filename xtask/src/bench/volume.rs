//! Many files, many findings.

use std::{fs, path::Path, time::Duration};

use anyhow::{Result, ensure};

use super::{
    Bench,
    clock::{Timed, medians, ratio},
    lab,
};
use crate::shell::{Call, which};

const FINDINGS: usize = 100_000;

pub(super) fn run(bench: &mut Bench) -> Result<()> {
    discovery(bench)?;
    findings(bench)
}

/// A scan of 100,000 files by a scanner that finds nothing to do there, against ripgrep listing them.
fn discovery(bench: &mut Bench) -> Result<()> {
    let tree = bench.lab.join("wide");
    lab::wide_tree(&tree, 1000)?;
    let scan = |source: &Path| {
        let output = bench.lab.join("out-wide");
        Call::new(&bench.ash)
            .arg("scan")
            .arg(source)
            .args([
                "--scanners",
                "npm-audit",
                "--offline",
                "--no-progress",
                "--quiet",
                "--output-dir",
            ])
            .arg(output)
            .env("ASH_TOOLS_DIR", &bench.tools)
    };
    let empty = bench.lab.join("empty");
    fs::create_dir_all(&empty)?;
    let any: &[i32] = &[0, 1];
    let times = medians(
        5,
        &[
            Timed { make: &|| scan(&empty), accepts: any },
            Timed { make: &|| scan(&tree), accepts: any },
        ],
    )?;
    let ash = times[1].saturating_sub(times[0]);
    if which("rg").is_none() {
        bench.line(
            "discovery of 100,000 files",
            format!("{:.2} s (no rg to compare with)", ash.as_secs_f64()),
            "≤ 1.5 × rg",
        );
        return Ok(());
    }
    let rg = medians(
        5,
        &[Timed {
            make: &|| Call::new("rg").args(["--files", "--hidden", "--no-require-git"]).arg(&tree),
            accepts: &[0],
        }],
    )?[0];
    let measured =
        format!("{} ({:.2} s over {:.2} s)", ratio(ash, rg), ash.as_secs_f64(), rg.as_secs_f64());
    bench.line("discovery of 100,000 files over `rg --files`", measured, "≤ 1.5");
    Ok(())
}

fn findings(bench: &mut Bench) -> Result<()> {
    let tools = bench.lab.join("loud-tools");
    lab::loud_bandit(&tools, FINDINGS)?;
    let source = bench.lab.join("one-file");
    fs::create_dir_all(&source)?;
    fs::write(source.join("app.py"), "import os\n")?;
    let output = bench.lab.join("out-loud");
    let scan = || {
        Call::new(&bench.ash)
            .arg("scan")
            .arg(&source)
            .args([
                "--scanners",
                "bandit",
                "--offline",
                "--no-fail-on-findings",
                "--no-progress",
                "--quiet",
                "--output-dir",
            ])
            .arg(&output)
            .env("ASH_TOOLS_DIR", &tools)
    };
    let times = medians(3, &[Timed { make: &scan, accepts: &[0] }])?;
    let (code, peak) = scan().peak_memory()?;
    ensure!(code == 0, "the scan with {FINDINGS} findings ended with {code}");
    bench.line(
        "100,000 findings merged, all reports",
        format!("{}, {} MB", seconds(times[0]), peak >> 20),
        "≤ 3 s, ≤ 400 MB",
    );
    Ok(())
}

fn seconds(time: Duration) -> String {
    format!("{:.2} s", time.as_secs_f64())
}
