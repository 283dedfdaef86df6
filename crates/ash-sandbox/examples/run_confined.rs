//! Runs a command that may read one directory and write to a fresh one, and nothing else that matters.
//!
//! ```text
//! cargo run -p ash-sandbox --example run_confined -- DIRECTORY PROGRAM [ARGUMENT]...
//! ```
//!
//! `PROGRAM` is an absolute path. Try `/bin/sh -c 'cat /etc/shadow; touch here; ls'`.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a whole program, with its own terminal and environment"
)]

use std::{error::Error, path::PathBuf, process::ExitCode, time::Duration};

use ash_sandbox::{
    Cancel, Captures, Command, Confinement, Grants, Ground, Launcher, Mode, Policy, ReadLimits,
    Requirements, ResultsDir, Site, Stdio,
};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    // The sandbox's last stage is this program, started again.
    ash_sandbox::confine::intercept();

    let mut words = std::env::args_os().skip(1);
    let (Some(directory), Some(program)) = (words.next(), words.next()) else {
        eprintln!("usage: run_confined DIRECTORY PROGRAM [ARGUMENT]...");
        return Ok(ExitCode::from(2));
    };
    let source = std::fs::canonicalize(directory)?;
    let command = Command { program: PathBuf::from(program), args: words.collect() };

    // What this machine is like. A program inside the directory is never used as a backend.
    let launcher = Launcher::new()?;
    let site = Site::gather(std::env::vars_os().collect(), launcher.executable(), &[])
        .scanning(std::slice::from_ref(&source));

    // The best backend that was seen to work. An error means that nothing may run.
    let chosen = Confinement::choose(Mode::Auto, &site, &launcher)?;
    for notice in &chosen.notices {
        eprintln!("{notice:?}");
    }

    // What this command may touch: no network, no declared needs.
    let results = ResultsDir::fresh(&std::env::temp_dir())?;
    let ground = Ground {
        cwd: source.clone(),
        source,
        output: None,
        targets: vec![],
        results: results.path().to_owned(),
    };
    let (needs, grants) = (Requirements::NONE, Grants::default());
    let policy =
        Policy::resolve("example", &needs, &site, &ground, &grants, &command.program, &[])?;

    let prepared = chosen.confinement.prepare(&policy, &command)?;
    let limit = Some(Duration::from_secs(60));
    let finished =
        launcher.run(prepared, Stdio::Capture(Captures::default()), limit, &Cancel::new())?;
    print!("{}", finished.stdout.text());
    eprint!("{}", finished.stderr.text());

    // Links and special files that the command left go, before anything is read.
    let swept = results.sweep(&ReadLimits::default())?;
    eprintln!(
        "{:?} after {:?}, {} entries swept; results in {}",
        finished.exit,
        finished.duration,
        swept.removed,
        results.path().display()
    );
    Ok(ExitCode::from(u8::try_from(finished.exit.shell_code()).unwrap_or(1)))
}
