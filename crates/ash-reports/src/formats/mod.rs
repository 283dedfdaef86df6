//! One file for each format.

pub(crate) mod aggregated;
pub(crate) mod sarif;
pub(crate) mod text;
