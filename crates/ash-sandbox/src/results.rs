//! The results directory of a scanner: hostile data, reached through directory handles only.

mod descent;
mod dir;
mod guard;
mod sweep;

pub(crate) use guard::refuse_linked;
pub use {
    dir::{ReadLimits, ReadRefused, ResultsDir},
    guard::{OutputRefused, refuse_output},
    sweep::{OverLimit, Swept},
};
