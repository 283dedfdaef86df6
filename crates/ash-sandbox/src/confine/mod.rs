//! The confinement stages: re-executions of the binary itself that restrict themselves through safe crates.
//!
//! ```text
//! ash __confine supervise   watches ash and the tool, and ends the whole tree
//! ash __confine apply       the last mile of every backend: restricts itself, then becomes the tool
//! ash __confine probe JSON  run as the tool of a sandbox that is being judged
//! ```
//!
//! They speak [`crate::wire`] on descriptor 0.

#[cfg(unix)]
mod apply;
#[cfg(target_os = "linux")]
mod links;
#[cfg(target_os = "linux")]
mod privileges;
#[cfg(target_os = "linux")]
mod probe;
#[cfg(unix)]
mod process;
#[cfg(target_os = "linux")]
mod ruleset;
#[cfg(target_os = "linux")]
pub mod seccomp;
#[cfg(target_os = "linux")]
mod signals;
#[cfg(target_os = "linux")]
mod supervise;
#[cfg(target_os = "linux")]
pub(crate) mod tree;

#[cfg(target_os = "linux")]
pub(crate) use process::seal;
#[cfg(target_os = "linux")]
pub(crate) use ruleset::abi as landlock_abi;

/// The first argument that makes any program a stage.
pub(crate) const MARK: &str = "__confine";
/// The stage that watches.
#[cfg(target_os = "linux")]
pub(crate) const SUPERVISE: &str = "supervise";
/// The stage that restricts itself.
#[cfg(unix)]
pub(crate) const APPLY: &str = "apply";
/// The stage that tries a sandbox.
#[cfg(target_os = "linux")]
pub(crate) const PROBE: &str = "probe";

/// A restriction step failed; nothing ran.
pub(crate) const FAILED: i32 = 126;
/// The shell's code for a file that cannot be executed.
#[cfg(unix)]
pub(crate) const CANNOT_EXEC: i32 = 126;
/// The shell's code for a program that does not exist.
#[cfg(unix)]
pub(crate) const NOT_FOUND: i32 = 127;

/// Runs a confinement stage and exits if this process was started as one; otherwise returns at once.
///
/// Must be the first thing in `main` of every program that uses this library: the launcher starts the program again.
pub fn intercept() {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|argument| argument == MARK) {
        let arguments: Vec<_> = arguments.collect();
        #[expect(
            clippy::exit,
            reason = "a stage is the whole process; nothing of the program proper may run"
        )]
        std::process::exit(stage(&arguments));
    }
}

/// The stages of this system. Where there is no supervisor, the launcher itself ends what it started.
#[cfg(unix)]
fn stage(arguments: &[std::ffi::OsString]) -> i32 {
    match arguments.split_first() {
        Some((name, rest)) if name == APPLY => without_strays(APPLY, rest, apply::run),
        #[cfg(target_os = "linux")]
        Some((name, rest)) if name == SUPERVISE => without_strays(SUPERVISE, rest, supervise::run),
        #[cfg(target_os = "linux")]
        Some((name, rest)) if name == PROBE => probe::run(rest),
        _ => refuse("`__confine` is how ash starts its own stages; it is not a command"),
    }
}

/// Says that a stage has been started again without the descriptors it was first started with.
#[cfg(unix)]
const SEALED: &str = "sealed";

/// Runs a stage with no descriptor open but the three standard ones. What else is open was left by whoever started ash, or by a backend; a tool that
/// inherited it would reach around every other restriction.
#[cfg(unix)]
fn without_strays(stage: &str, arguments: &[std::ffi::OsString], run: impl FnOnce() -> i32) -> i32 {
    if !process::strays() {
        return run();
    }
    if arguments.first().is_some_and(|argument| argument == SEALED) {
        return refuse("descriptors that cannot be closed are open");
    }
    let error = apply::reopen(stage, SEALED);
    refuse(&format!("cannot close inherited descriptors: {error}"))
}

#[cfg(not(unix))]
fn stage(_: &[std::ffi::OsString]) -> i32 {
    refuse("there are no confinement stages on this system")
}

#[expect(clippy::print_stderr, reason = "the only answer this process gives")]
fn refuse(reason: &str) -> i32 {
    eprintln!("ash: {reason}");
    FAILED
}
