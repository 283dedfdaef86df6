//! The results directory of a scanner: hostile data, reached through directory handles only.

#[cfg(unix)]
mod descent;
#[cfg_attr(not(unix), path = "results/by_path.rs")]
mod dir;
mod fit;
mod guard;
mod limits;
#[cfg(unix)]
mod sweep;

pub(crate) use guard::refuse_linked;
pub use {
    dir::ResultsDir,
    fit::{ResultsRefused, refuse_results},
    guard::{OutputRefused, refuse_output},
    limits::{OverLimit, ReadLimits, ReadRefused, Swept},
};
