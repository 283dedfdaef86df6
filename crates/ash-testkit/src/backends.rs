//! Which sandbox backends tests can use on this machine.

use std::{collections::BTreeMap, env, path::Path, time::Duration};

use crate::{PATH, Run};

/// What `ash sandbox status --json` says.
#[derive(Debug, Clone)]
pub struct Backends {
    /// Name to the reason why not, `None` when available.
    reasons: BTreeMap<String, Option<String>>,
    required: Vec<String>,
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
        let words = [ash.as_os_str(), "sandbox".as_ref(), "status".as_ref(), "--json".as_ref()];
        let outcome = Run::new(words)
            .env("PATH", PATH)
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
        let reason = |backend: &serde_json::Value| match &backend["available"] {
            serde_json::Value::Bool(true) => None,
            _ => Some(backend["reason"].as_str().unwrap_or("no reason given").to_owned()),
        };
        let reasons = listed.iter().map(|backend| {
            (backend["name"].as_str().unwrap_or_default().to_owned(), reason(backend))
        });
        let required = env::var("ASH_REQUIRE_BACKENDS").unwrap_or_default();
        Self {
            reasons: reasons.collect(),
            required: required.split(',').map(|name| name.trim().to_owned()).collect(),
        }
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
