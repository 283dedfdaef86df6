//! SARIF 2.1.0 as ash reads and writes it.
//!
//! [`read()`] takes a scanner's own log, [`to_findings`] turns it into ash's findings, and [`Written`] writes a finding as a SARIF
//! result again. Members this crate has no use for are kept as they are. A log is hostile data: its depth is bounded before it is
//! parsed, and no URI in it can place a finding outside the scanned directory.
#![forbid(clippy::disallowed_methods, clippy::disallowed_types)]

mod convert;
mod kept;
mod locate;
mod log;
mod message;
mod read;
mod rules;
mod write;

pub use convert::{Converted, Options, SeverityFacts, to_findings};
pub use log::{
    ArtifactLocation, Location, Log, Message, PhysicalLocation, Region, RuleReference, Run,
    SarifResult, Snippet, Suppression, Tool, ToolComponent,
};
pub use read::{MAX_DEPTH, SarifError, check_depth, read};
pub use write::{Written, WrittenComponent, WrittenRule, written_rule};
