//! Starting one process.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use serde_json::Value;

use super::{
    Bench,
    clock::{Timed, measure, medians, ms},
    lab,
};
use crate::shell::Call;

const ROUNDS: usize = 41;

pub(super) fn run(bench: &mut Bench) -> Result<()> {
    version(bench)?;
    landlock(bench)?;
    namespaces(bench)?;
    config(bench)
}

fn version(bench: &mut Bench) -> Result<()> {
    let ash = bench.ash.clone();
    let times =
        medians(ROUNDS, &[Timed { make: &|| Call::new(&ash).arg("--version"), accepts: &[0] }])?;
    bench.line("`ash --version`", ms(times[0]), "≤ 5 ms");
    Ok(())
}

/// `ash sandbox run -- true` in a source directory of its own.
fn sandbox_run(bench: &Bench, mode: &str, source: &Path) -> Call {
    Call::new(&bench.ash)
        .args(["sandbox", "run", "--sandbox", mode, "--source-dir"])
        .arg(source)
        .args(["--", "/bin/true"])
        .cwd(source)
}

fn landlock(bench: &mut Bench) -> Result<()> {
    if !bench.has("landlock") {
        return Ok(());
    }
    let source = bench.lab.join("empty");
    fs::create_dir_all(&source)?;
    let times = measure(
        ROUNDS,
        &[
            Timed { make: &|| sandbox_run(bench, "off", &source), accepts: &[0] },
            Timed { make: &|| sandbox_run(bench, "landlock", &source), accepts: &[0] },
            Timed { make: &|| Call::new("/bin/true"), accepts: &[0] },
        ],
    )?;
    let more = times[1].beyond(times[0]);
    bench.line(
        "`true` under landlock over `--sandbox off`, a probe included",
        format!("{} more, medians {}", ms(more.least), ms(more.median)),
        "",
    );
    bench.line(
        "`true` bare",
        format!("{}, median {}", ms(times[2].least), ms(times[2].median)),
        "",
    );
    Ok(())
}

fn namespaces(bench: &mut Bench) -> Result<()> {
    if !bench.has("bwrap") {
        return Ok(());
    }
    let source = bench.lab.join("empty");
    fs::create_dir_all(&source)?;
    let raw = raw_bwrap(bench, &source)?;
    let (program, args) = raw.split_first().context("an empty command")?;
    let times = measure(
        ROUNDS,
        &[
            Timed { make: &|| Call::new(program).args(args).cwd(&source), accepts: &[0] },
            Timed { make: &|| sandbox_run(bench, "bwrap", &source), accepts: &[0] },
            Timed { make: &|| sandbox_run(bench, "off", &source), accepts: &[0] },
        ],
    )?;
    let own = times[1].beyond(times[2]);
    bench.line(
        "`true` under bwrap over raw bwrap, same mounts, a probe included",
        own.over(times[0]),
        "",
    );
    Ok(())
}

/// The command line ash would use, with `true` in the place of ash's last stage.
fn raw_bwrap(bench: &Bench, source: &Path) -> Result<Vec<String>> {
    let said = Call::new(&bench.ash)
        .args(["sandbox", "explain", "bandit", "--sandbox", "bwrap", "--json", "--source-dir"])
        .arg(source)
        .env("ASH_TOOLS_DIR", &bench.tools)
        .cwd(source)
        .said()?;
    let explained: Value = serde_json::from_str(&said.stdout)
        .with_context(|| format!("`ash sandbox explain` said {}", said.stderr))?;
    let words: Vec<String> = explained["command"]
        .as_array()
        .context("no command")?
        .iter()
        .filter_map(|word| word.as_str().map(str::to_owned))
        .collect();
    let end = words.iter().position(|word| word == "--").context("no `--` in the command")?;
    let mut raw: Vec<String> = words[..=end].to_vec();
    raw.push("/bin/true".to_owned());
    // The one writable directory has to exist for a mount.
    for writable in explained["writable"].as_array().into_iter().flatten().filter_map(Value::as_str)
    {
        fs::create_dir_all(writable)?;
    }
    Ok(raw)
}

fn config(bench: &mut Bench) -> Result<()> {
    let source = bench.lab.join("empty");
    let config = bench.lab.join("long.yaml");
    let short = bench.lab.join("short.yaml");
    lab::long_config(&config, 500)?;
    lab::long_config(&short, 0)?;
    let explain = |config: &Path| {
        Call::new(&bench.ash)
            .args(["sandbox", "explain", "bandit", "--sandbox", "off", "--json", "--config"])
            .arg(config)
            .arg("--source-dir")
            .arg(&source)
            .cwd(&source)
    };
    let times = medians(
        ROUNDS,
        &[
            Timed { make: &|| explain(&short), accepts: &[0] },
            Timed { make: &|| explain(&config), accepts: &[0] },
        ],
    )?;
    bench.line(
        "a 500-line configuration over an empty one",
        format!("{} more", ms(times[1].saturating_sub(times[0]))),
        "≤ 3 ms",
    );
    Ok(())
}
