//! `cargo xtask COMMAND`: what developers and CI run. The product never runs any of it.

mod bench;
mod generate;
mod kernels;
mod machine;
mod parity;
mod repository;
mod scan;
mod shell;
mod test;
mod workspace;

use std::process::ExitCode;

use anyhow::{Result, bail};

const HELP: &str = "\
cargo xtask scan [DIR]              build ash, install the scanners, scan DIR or examples/vulnerable-app in a sandbox
cargo xtask test                    everything CI checks; ends with `N passed, N failed`
cargo xtask parity DIR [--ash PATH] scan DIR without and with each sandbox and compare the findings
cargo xtask gen [--check]           write the pages that are made from the code, or say which are out of date
cargo xtask bench                   measure what ash costs, as ratios from one run
cargo xtask kernels [--arch amd64|arm64] [--only NAME]... [--tests NAMES] [--filter TEXT]
                                    boot Debian's kernels in qemu and try the sandbox on each";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    run(&words).unwrap_or_else(|error| {
        shell::say(&format!("xtask: {error:#}"));
        ExitCode::FAILURE
    })
}

fn run(words: &[&str]) -> Result<ExitCode> {
    match words {
        ["scan"] => scan::run(None),
        ["scan", dir] if !dir.starts_with('-') => scan::run(Some(dir)),
        ["test"] => test::run(),
        ["parity", dir] if !dir.starts_with('-') => parity::run(dir, None),
        ["parity", dir, "--ash", ash] | ["parity", "--ash", ash, dir] => {
            parity::run(dir, Some(ash))
        }
        ["gen"] => generate::run(false),
        ["gen", "--check"] => generate::run(true),
        ["bench"] => bench::run(),
        ["kernels", rest @ ..] => kernels::run(rest),
        [] | ["help" | "--help" | "-h"] => {
            shell::say(HELP);
            Ok(ExitCode::SUCCESS)
        }
        other => bail!("unknown command `{}`\n{HELP}", other.join(" ")),
    }
}
