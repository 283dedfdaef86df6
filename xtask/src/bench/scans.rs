//! Whole scans against the same tools without ash.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Mutex,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{
    Bench,
    clock::{Timed, measure, median, ratio},
    lab,
};
use crate::shell::Call;

/// A scan takes seconds, so a few rounds have to do.
const ROUNDS: usize = 5;

/// Bytes of Python that bandit reads in about five seconds.
const PYTHON: u64 = 2_500_000;

pub(super) fn run(bench: &mut Bench) -> Result<()> {
    let tree = bench.lab.join("python");
    lab::python_tree(&tree, PYTHON)?;
    bandit(bench, &tree)?;
    let example = crate::workspace::root().join("examples/vulnerable-app");
    everything(bench, &example)
}

fn scan(bench: &Bench, source: &Path, mode: &str, more: &[&str]) -> Call {
    let output = output_of(bench, mode);
    Call::new(&bench.ash)
        .arg("scan")
        .arg(source)
        .args([
            "--sandbox",
            mode,
            "--offline",
            "--no-fail-on-findings",
            "--no-progress",
            "--quiet",
            "--output-dir",
        ])
        .arg(output)
        .args(more)
        .env("ASH_TOOLS_DIR", &bench.tools)
}

fn output_of(bench: &Bench, mode: &str) -> PathBuf {
    bench.lab.join(format!("out-{mode}"))
}

/// What a scan without a sandbox started: command line and working directory, ready for a shell.
fn commands(bench: &Bench, source: &Path, more: &[&str]) -> Result<Vec<String>> {
    let code = scan(bench, source, "off", more).quiet().code()?;
    ensure!(code == 0, "the scan to learn the commands from ended with {code}");
    let sarif: Value =
        serde_json::from_slice(&fs::read(output_of(bench, "off").join("reports/ash.sarif"))?)?;
    let invocations = sarif["runs"][0]["invocations"].as_array().context("no invocations")?;
    let command = |invocation: &Value| -> Option<String> {
        let line = invocation["commandLine"].as_str()?;
        let dir = invocation["workingDirectory"]["uri"].as_str()?.strip_prefix("file://")?;
        Some(format!("cd '{dir}' && exec {line}"))
    };
    Ok(invocations.iter().filter_map(command).collect())
}

/// A tool without ash, with what keeps semgrep from asking the network for its version.
fn bare(command: &str) -> Call {
    Call::new("sh")
        .args(["-c", command])
        .env("SEMGREP_ENABLE_VERSION_CHECK", "0")
        .env("SEMGREP_SEND_METRICS", "off")
}

fn bandit(bench: &mut Bench, tree: &Path) -> Result<()> {
    let only = ["--scanners", "bandit"];
    let commands = commands(bench, tree, &only)?;
    let command =
        commands.last().context("bandit did not run; `ash dependencies install` first")?.clone();
    for (mode, bar) in [("landlock", "≤ 1.05"), ("bwrap", "≤ 1.08")] {
        if bench.has(mode) {
            let times = measure(
                ROUNDS,
                &[
                    Timed { make: &|| bare(&command), accepts: &[0, 1] },
                    Timed { make: &|| scan(bench, tree, mode, &only), accepts: &[0] },
                ],
            )?;
            let measured = format!(
                "{} ({:.2} s over {:.2} s)",
                times[1].over(times[0]),
                times[1].least.as_secs_f64(),
                times[0].least.as_secs_f64()
            );
            bench.line(
                format!("`ash scan --scanners bandit` under {mode} over bandit alone"),
                measured,
                bar,
            );
        }
    }
    Ok(())
}

/// All scanners on the bundled example, against the same commands on as many threads as there are processors, longest first.
fn everything(bench: &mut Bench, source: &Path) -> Result<()> {
    let mut commands: Vec<(Duration, String)> = commands(bench, source, &[])?
        .into_iter()
        .map(|command| Ok((bare(&command).timed()?.0, command)))
        .collect::<Result<_>>()?;
    commands.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
    let threads = std::thread::available_parallelism()?.get();
    for mode in ["landlock", "bwrap"] {
        if !bench.has(mode) {
            continue;
        }
        let (mut alone, mut with_ash) = (Vec::new(), Vec::new());
        for _ in 0..3 {
            alone.push(schedule(&commands, threads)?);
            with_ash.push(scan(bench, source, mode, &[]).timed()?.0);
        }
        let (alone, with_ash) = (median(alone), median(with_ash));
        let measured = format!(
            "{} ({:.2} s over {:.2} s)",
            ratio(with_ash, alone),
            with_ash.as_secs_f64(),
            alone.as_secs_f64()
        );
        bench.line(
            format!("all scanners under {mode} over the best schedule of the same tools"),
            measured,
            "≤ 1.15",
        );
    }
    Ok(())
}

fn schedule(commands: &[(Duration, String)], threads: usize) -> Result<Duration> {
    let queue = Mutex::new(commands.iter());
    let started = Instant::now();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| -> Result<()> {
                    loop {
                        let next =
                            queue.lock().map_err(|_| anyhow::anyhow!("a worker panicked"))?.next();
                        let Some((_, command)) = next else { return Ok(()) };
                        bare(command).timed()?;
                    }
                })
            })
            .collect();
        workers.into_iter().try_for_each(|worker| {
            worker.join().map_err(|_| anyhow::anyhow!("a worker panicked"))?
        })
    })?;
    Ok(started.elapsed())
}
