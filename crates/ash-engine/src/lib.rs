//! The order of events: selects scanners, runs each in its sandbox, merges what they say, judges, writes the reports.
#![forbid(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod clock;
pub mod event;
pub mod gate;
pub mod install;
pub mod merge;
pub mod planned;
mod publish;
mod run;
pub mod scan;
mod schedule;
pub mod select;
mod steered;
pub mod suppress;
#[cfg(test)]
mod testing;
pub mod tools;
