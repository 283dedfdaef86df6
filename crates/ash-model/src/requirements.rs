//! What a scanner declares it needs beyond the strict baseline.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

type Text = Cow<'static, str>;

/// A scanner's declared needs. [`Requirements::NONE`] is the strictest: no network, its results the only writable place, an empty
/// home, the baseline environment. Declaring more never widens what the scanner can write to lastingly.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Requirements {
    /// A network when the scan is online; never under `--offline`.
    pub network: bool,
    /// Why it needs one: a vulnerability database, a rule pack, or audit data of a registry. For the docs.
    #[serde(skip)]
    pub network_reason: Option<&'static str>,
    /// The declaration alone is not enough: only `sandbox.network_scanners` grants the network.
    #[serde(skip)]
    pub network_requires_grant: bool,
    /// Extra read-only paths; `~` and `$VAR` are expanded, missing ones skipped.
    pub read_paths: Vec<Text>,
    /// Caches: read-only, or writable through an overlay that is thrown away.
    pub cache_paths: Vec<Text>,
    /// Variables that move a tool's cache; where caches are read-only each points at a private, empty directory.
    pub cache_env: Vec<Text>,
    /// Prefixes of variables passed through.
    pub env_prefixes: Vec<Text>,
    /// Variables passed through although their names look like credentials.
    pub env_names: Vec<Text>,
    /// Variables set under sandbox-exec only, last.
    pub sandbox_exec_env: Vec<(Text, Text)>,
    /// The variable that says where a self-unpacking tool unpacks itself (sandbox-exec only).
    pub unpack_dir_env: Option<Text>,
    /// The tool reads the system's root certificates itself (macOS).
    pub system_trust_roots: bool,
}

impl Requirements {
    /// The strictest: nothing beyond the baseline.
    pub const NONE: Self = Self {
        network: false,
        network_reason: None,
        network_requires_grant: false,
        read_paths: vec![],
        cache_paths: vec![],
        cache_env: vec![],
        env_prefixes: vec![],
        env_names: vec![],
        sandbox_exec_env: vec![],
        unpack_dir_env: None,
        system_trust_roots: false,
    };
}

/// A variable whose name holds one of these, in any letter case, is taken for a credential: it reaches no scanner that does not name it
/// exactly, and no configuration value.
pub const CREDENTIAL_WORDS: &[&str] = &[
    "TOKEN",
    "PASSWORD",
    "PASSWD",
    "SECRET",
    "CREDENTIAL",
    "AUTH",
    "APIKEY",
    "API_KEY",
    "PRIVATE_KEY",
    "SESSION",
];

/// Turns a list of literals into the texts a declaration holds.
pub fn texts(list: &[&'static str]) -> Vec<Text> {
    list.iter().map(|text| Cow::Borrowed(*text)).collect()
}
