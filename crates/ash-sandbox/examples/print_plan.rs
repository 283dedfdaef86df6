//! Prints how a command would be confined by each backend, and starts nothing but their probes.
//!
//! ```text
//! cargo run -p ash-sandbox --example print_plan -- DIRECTORY PROGRAM
//! ```
//!
//! What this machine cannot do is shown all the same, with the reason: a macOS profile on Linux, for example.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a whole program, with its own terminal and environment"
)]

use std::{error::Error, path::PathBuf, process::ExitCode};

use ash_sandbox::{
    BackendId, Command, Grants, Ground, Launcher, Mode, Policy, Requirements, Site, explain,
};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    // The probes start this program again.
    ash_sandbox::confine::intercept();

    let mut words = std::env::args_os().skip(1);
    let (Some(directory), Some(program)) = (words.next(), words.next()) else {
        eprintln!("usage: print_plan DIRECTORY PROGRAM");
        return Ok(ExitCode::from(2));
    };
    let source = std::fs::canonicalize(directory)?;
    let command = Command { program: PathBuf::from(program), args: vec![] };

    let launcher = Launcher::new()?;
    let site = Site::gather(std::env::vars_os().collect(), launcher.executable(), &[])
        .scanning(std::slice::from_ref(&source));

    // A network, and a cache that the command may use but not change for others.
    let needs =
        Requirements { network: true, cache_paths: vec!["~/.cache".into()], ..Requirements::NONE };
    let grants = Grants { network: needs.network, ..Grants::default() };
    let ground = Ground {
        results: source.join("results"),
        cwd: source.clone(),
        source,
        output: None,
        targets: vec![],
    };
    let policy =
        Policy::resolve("example", &needs, &site, &ground, &grants, &command.program, &[])?;
    for notice in &policy.notices {
        println!("left out: {notice:?}");
    }

    for id in BackendId::ALL {
        let plan = explain(Mode::Only(id), &site, &launcher, &policy, &command);
        println!("== {id} ({:?})", plan.tier);
        if let Some(reason) = &plan.refusal {
            println!("would not run here: {reason}");
        }
        let words: Vec<_> = plan.command.iter().map(|word| word.to_string_lossy()).collect();
        println!("{}\n{}", words.join(" "), plan.profile.unwrap_or_default());
    }
    Ok(ExitCode::SUCCESS)
}
