//! One file for each format.

pub(crate) mod aggregated;
pub(crate) mod csv;
pub(crate) mod cyclonedx;
pub(crate) mod flat_json;
pub(crate) mod github_ghas;
pub(crate) mod gitlab_cyclonedx;
pub(crate) mod gitlab_sast;
pub(crate) mod html;
pub(crate) mod junit;
pub(crate) mod markdown;
pub(crate) mod ocsf;
pub(crate) mod sarif;
pub(crate) mod text;
pub(crate) mod unused_suppressions;
