//! Labs for ash's tests: a hostile program, throwaway homes and source trees, listeners that remember, and victims.
//!
//! The hostile program is C (`hostile/*.c`): its attacks are raw system calls, and `unsafe` is forbidden in every crate. It prints
//! `STARTED ID`, tries, and ends with one verdict line; see [`Verdict`]. What an attack changed outside its sandbox is judged here,
//! outside, by [`Lab`]. `trust` is the table of who may grant what.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a laboratory that cannot be set up fails the test"
)]

#[cfg(target_os = "linux")]
mod backends;
#[cfg(target_os = "linux")]
mod ears;
#[cfg(target_os = "linux")]
mod lab;
#[cfg(target_os = "linux")]
mod run;
pub mod shapes;
#[cfg(unix)]
pub mod trust;
mod verdict;
#[cfg(target_os = "linux")]
mod victim;

#[cfg(target_os = "linux")]
pub use backends::{BWRAP_OVERLAY, Backends, Use, mode, path};
#[cfg(target_os = "linux")]
pub use ears::{Ear, Ears};
#[cfg(target_os = "linux")]
pub use lab::{Lab, PATH};
#[cfg(target_os = "linux")]
pub use run::{Outcome, Run, Running};
pub use verdict::{Said, Verdict};
#[cfg(target_os = "linux")]
pub use victim::Victim;

/// Returns the compiled hostile program.
#[cfg(target_os = "linux")]
pub fn hostile_binary() -> &'static std::path::Path {
    std::path::Path::new(env!("ASH_HOSTILE_PROGRAM"))
}
