//! Which sandbox backends tests can use on this machine.

use std::{collections::BTreeMap, env, ffi::OsString, path::Path, time::Duration};

use crate::{PATH, Run};

/// The column of a bubblewrap that can overlay caches, such as 0.11, where the system's own cannot.
pub const BWRAP_OVERLAY: &str = "bwrap-overlay";

/// What `--sandbox` is told for a column of the matrix.
pub fn mode(column: &'static str) -> &'static str {
    if column == BWRAP_OVERLAY { "bwrap" } else { column }
}

/// `PATH` for a column: the newer bubblewrap lies in a directory of its own, which `ASH_TEST_OVERLAY_BWRAP` names.
pub fn path(column: &str) -> OsString {
    let newer = env::var_os("ASH_TEST_OVERLAY_BWRAP").filter(|_| column == BWRAP_OVERLAY);
    match newer.filter(|directory| !directory.is_empty()) {
        Some(mut directory) => {
            directory.push(":");
            directory.push(PATH);
            directory
        }
        None => PATH.into(),
    }
}

/// What `ash sandbox status --json` says.
#[derive(Debug, Clone)]
pub struct Backends {
    /// Name to the reason why not, `None` when available.
    reasons: BTreeMap<String, Option<String>>,
    required: Vec<String>,
    landlock_abi: u64,
}

/// What a test of one backend has to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Use {
    /// The backend works here.
    Run,
    /// It does not, and nobody promised it.
    Ignore(String),
    /// It does not, although `ASH_REQUIRE_BACKENDS` names it.
    Fail(String),
}

impl Backends {
    /// Asks the given `ash`. `ASH_REQUIRE_BACKENDS` is a comma-separated list of backends that must be available.
    pub fn of(ash: &Path) -> Self {
        let listed = status(ash, &PATH.into());
        let mut reasons: BTreeMap<String, Option<String>> = listed
            .iter()
            .map(|backend| {
                (backend["name"].as_str().unwrap_or_default().to_owned(), reason(backend))
            })
            .collect();
        reasons.insert(BWRAP_OVERLAY.to_owned(), overlay_reason(ash));
        let required = env::var("ASH_REQUIRE_BACKENDS").unwrap_or_default();
        Self {
            reasons,
            required: required.split(',').map(|name| name.trim().to_owned()).collect(),
            landlock_abi: landlock_abi(&listed),
        }
    }

    /// What the kernel's Landlock can do; 0 without it.
    pub fn landlock_abi(&self) -> u64 {
        self.landlock_abi
    }

    /// What a test of this backend has to do.
    pub fn to_use(&self, backend: &str) -> Use {
        let reason = match self.reasons.get(backend) {
            Some(None) => return Use::Run,
            Some(Some(reason)) => format!("`{backend}` is unavailable: {reason}"),
            None => format!("this `ash` has no backend `{backend}`"),
        };
        if self.required.iter().any(|name| name == backend) {
            Use::Fail(reason)
        } else {
            Use::Ignore(reason)
        }
    }
}

fn status(ash: &Path, path: &OsString) -> Vec<serde_json::Value> {
    let words = [ash.as_os_str(), "sandbox".as_ref(), "status".as_ref(), "--json".as_ref()];
    let outcome = Run::new(words)
        .env("PATH", path)
        .env("HOME", env::temp_dir())
        .timeout(Duration::from_secs(120))
        .finish();
    let status: serde_json::Value = serde_json::from_slice(&outcome.stdout).unwrap_or_default();
    let listed = status["backends"].as_array().cloned().unwrap_or_default();
    assert!(
        !listed.is_empty(),
        "`ash sandbox status --json` names no backend: {}",
        outcome.describe()
    );
    listed
}

fn reason(backend: &serde_json::Value) -> Option<String> {
    match &backend["available"] {
        serde_json::Value::Bool(true) => None,
        _ => Some(backend["reason"].as_str().unwrap_or("no reason given").to_owned()),
    }
}

fn overlay_reason(ash: &Path) -> Option<String> {
    let path = path(BWRAP_OVERLAY);
    if path == PATH {
        return Some(
            "`ASH_TEST_OVERLAY_BWRAP` names no directory of a bubblewrap with overlays".to_owned(),
        );
    }
    let listed = status(ash, &path);
    let bwrap = listed.iter().find(|backend| backend["name"] == "bwrap")?;
    let cannot = || (bwrap["overlay"] != true).then(|| "this bubblewrap cannot overlay".to_owned());
    reason(bwrap).or_else(cannot)
}

/// The version of the backend `landlock` is `ABI 6`.
fn landlock_abi(listed: &[serde_json::Value]) -> u64 {
    let landlock = listed.iter().find(|backend| backend["name"] == "landlock");
    let version = landlock.and_then(|backend| backend["version"].as_str()).unwrap_or_default();
    version.strip_prefix("ABI ").and_then(|abi| abi.parse().ok()).unwrap_or(0)
}
