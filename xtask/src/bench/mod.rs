//! `cargo xtask bench`: what ash costs over the tools it runs. Ratios from one run on one machine; nothing here is a test.

mod clock;
mod lab;
mod library;
mod scans;
mod spawns;
mod volume;

use std::{path::PathBuf, process::ExitCode};

use anyhow::Result;

use crate::{machine, shell::say, workspace};

/// One line of the result.
#[derive(Debug)]
struct Line {
    work: String,
    measured: String,
    bar: &'static str,
}

/// What all measurements share.
struct Bench {
    /// The release binary.
    ash: PathBuf,
    /// The installed scanners.
    tools: PathBuf,
    /// Where trees and outputs go.
    lab: PathBuf,
    /// Sandboxes that work here.
    backends: Vec<String>,
    lines: Vec<Line>,
}

impl Bench {
    fn line(&mut self, work: impl Into<String>, measured: impl Into<String>, bar: &'static str) {
        let line = Line { work: work.into(), measured: measured.into(), bar };
        say(&format!("{:<58} {:<34} {}", line.work, line.measured, line.bar));
        self.lines.push(line);
    }

    fn has(&self, backend: &str) -> bool {
        self.backends.iter().any(|name| name == backend)
    }
}

/// One group of measurements.
type Part = fn(&mut Bench) -> Result<()>;

/// Measures everything that applies here.
pub(crate) fn run() -> Result<ExitCode> {
    let ash = workspace::build_ash(true)?;
    let target = workspace::target_dir();
    let lab = target.join("ash-bench");
    std::fs::create_dir_all(&lab)?;
    let backends = crate::parity::offered_backends(&ash)?;
    let mut bench =
        Bench { tools: machine::test_tools_dir(&target), ash, lab, backends, lines: Vec::new() };
    say(&format!("{:<58} {:<34} bar", "work", "measured"));
    let parts: [(&str, Part); 4] = [
        ("library", library::run),
        ("spawns", spawns::run),
        ("scans", scans::run),
        ("volume", volume::run),
    ];
    let mut whole = true;
    for (name, part) in parts {
        if let Err(error) = part(&mut bench) {
            whole = false;
            say(&format!("{name}: not measured: {error:#}"));
        }
    }
    Ok(if whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
