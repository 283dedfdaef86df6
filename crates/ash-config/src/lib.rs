//! Who said what, and may they: loads configuration, applies precedence and the trust rules.
#![forbid(clippy::disallowed_methods, clippy::disallowed_types)]

mod build;
mod checkout;
mod discover;
mod documents;
pub mod edit;
mod environment;
mod error;
mod formats;
mod glob;
mod json_schema;
mod keys;
mod load;
mod matching;
mod modules;
mod narrowed;
mod overrides;
mod patch;
mod read;
mod restricted;
mod schema;
mod settings;
mod tree;
mod trust;
mod validate;
mod values;
mod yaml;

pub use checkout::{Identify, Identity, Tree};
pub use environment::Lookup;
pub use error::{ConfigErrors, Mistake};
pub use json_schema::json_schema;
pub use keys::{Key, keys, reporters};
pub use load::{Loaded, Request, load};
pub use matching::{Matcher, days_left};
pub use settings::{
    IgnorePath, NetworkPolicy, PackageRule, ReporterSettings, SandboxSettings, ScannerSettings,
    Settings, Staleness, StalenessOverride, SuppressionRule,
};
