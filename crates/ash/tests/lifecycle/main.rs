//! How a sandboxed command starts and ends, and that nothing outlives it.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod directories;
mod end;
mod inherited;
mod output;
mod start;
#[path = "../support/mod.rs"]
mod support;

use std::{ffi::OsString, time::Duration};

use ash_testkit::{BWRAP_OVERLAY, Lab, Run};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use support::{ASH, COLUMNS, trial};

fn main() {
    let arguments = Arguments::from_args();
    let parts = [
        start::trials(),
        end::trials(),
        directories::trials(),
        inherited::trials(),
        output::trials(),
    ];
    libtest_mimic::run(&arguments, parts.into_iter().flatten().collect()).exit();
}

/// One trial of what only one backend does.
fn for_one(name: &str, backend: &'static str, run: fn() -> Result<(), Failed>) -> Trial {
    trial(name.to_owned(), backend, move || run().map(|()| Completion::Completed))
}

/// One trial of the same behaviour per backend.
fn each(name: &str, run: fn(&'static str) -> Result<(), Failed>) -> Vec<Trial> {
    let one = |&backend: &&'static str| {
        trial(format!("{name}::{backend}"), backend, move || {
            run(backend).map(|()| Completion::Completed)
        })
    };
    // How a command starts and ends does not depend on its caches.
    COLUMNS.iter().filter(|column| **column != BWRAP_OVERLAY).map(one).collect()
}

fn check(what: &str, holds: bool, detail: impl FnOnce() -> String) -> Result<(), Failed> {
    if holds { Ok(()) } else { Err(format!("{what}\n{}", detail()).into()) }
}

fn options(lab: &Lab, backend: &str, more: &[&str]) -> Vec<OsString> {
    let mut options: Vec<OsString> = ["--sandbox", backend, "--json"].map(OsString::from).to_vec();
    options.extend(more.iter().map(OsString::from));
    let places = [
        ("--source-dir", lab.source()),
        ("--results-dir", lab.results()),
        ("--read", lab.path("tools")),
    ];
    for (option, path) in places {
        options.extend([option.into(), path.into()]);
    }
    options
}

fn sandboxed(lab: &Lab, backend: &str, more: &[&str], script: &str) -> Run {
    let command = ["/bin/sh", "-c", script].map(OsString::from).to_vec();
    Run::sandboxed(ASH, options(lab, backend, more), command)
        .envs(lab.environment())
        .timeout(Duration::from_secs(90))
}
