//! Who said what, and may they: loads configuration, applies precedence and the trust rules.
#![forbid(clippy::disallowed_methods, clippy::disallowed_types)]

mod settings;

pub use settings::{IgnorePath, NetworkPolicy, ReporterSettings, SandboxSettings, ScannerSettings, Settings, SuppressionRule};
