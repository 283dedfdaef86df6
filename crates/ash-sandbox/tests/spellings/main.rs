//! However the directories of a scan are spelled, and whatever links and mounts lie on the way: what stays writable is the results
//! directory that was named, and nothing else.
//!
//! Random worlds of links, random spellings; the judge compares files by device and number, and for a sample by what really changed
//! after a command under Landlock had tried to write everywhere. This program is its own stage and its own test runner.
#![cfg_attr(
    target_os = "linux",
    expect(
        clippy::unwrap_used,
        clippy::disallowed_methods,
        clippy::disallowed_types,
        reason = "a test that cannot be set up fails, and mounts need a program"
    )
)]

#[cfg(target_os = "linux")]
mod property;
#[cfg(target_os = "linux")]
mod world;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    ash_sandbox::confine::intercept();
    property::in_the_namespace().unwrap_or_else(|| {
        let arguments = libtest_mimic::Arguments::from_args();
        libtest_mimic::run(&arguments, property::trials()).exit_code()
    })
}

#[cfg(not(target_os = "linux"))]
fn main() {
    ash_sandbox::confine::intercept();
}
