//! The nouns of ash. Plain data: nothing here opens a file, reads the environment or starts a process.
#![forbid(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod evidence;
pub mod finding;
pub mod ids;
pub mod notice;
pub mod path;
pub mod report;
pub mod requirements;
pub mod results;
pub mod severity;
pub mod source;
pub mod status;
pub mod suppression;
pub mod tool;
