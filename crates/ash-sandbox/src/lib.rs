//! Runs a command inside an OS sandbox, and is the only crate of ash that can start a process.
//!
//! ```text
//! Requirements + Site + Ground + Grants ──Policy::resolve──▶ Policy     (plain data, every path real)
//! Mode ─────────────────────────────────Confinement::choose─▶ Confinement (off, a probed backend, or a Refusal)
//! Policy + Command ──────────────────────────Backend::wrap──▶ Prepared   (pure; only a backend makes one)
//! Prepared ────────────────────────────────Launcher::run────▶ Finished   (the only spawn)
//! ```
//!
//! Every backend ends in the same stage of the binary itself, `ash __confine`, started through a small supervisor; see [`confine`].
//! A program that uses this library must call [`confine::intercept`] first thing in `main`.

mod backends;
pub mod confine;
mod confinement;
mod environment;
mod launch;
mod policy;
mod results;
mod site;
mod trusted;
mod wire;

pub use backends::{BackendId, BackendStatus};
pub use confinement::{Chosen, Confinement, Mode, ParseModeError, Refusal};
pub use launch::{Cancel, Captures, Finished, LaunchError, Launcher, Prepared, Stdio};
pub use policy::{Grants, Ground, Limits, Policy, PolicyError};
pub use results::{OutputRefused, ReadLimits, ResultsDir, Swept};
pub use site::Site;
pub use trusted::TrustedCall;
