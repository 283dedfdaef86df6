//! `ash sandbox status`.

use std::process::ExitCode;

use ash_sandbox::{BackendId, BackendStatus, Confinement, Launcher};

use super::shared::{checkout_around_here, site, tools};
use crate::{environment::Environment, error::CommandError, ui};

/// What this machine can enforce.
#[derive(Debug, serde::Serialize)]
pub(crate) struct Status {
    /// The operating system.
    pub(crate) platform: &'static str,
    /// Its kernel's release.
    pub(crate) kernel: String,
    /// 0: no Landlock.
    pub(crate) landlock_abi: u32,
    /// What `--sandbox auto` uses.
    pub(crate) auto: Option<&'static str>,
    /// Every backend: those of `auto` in its order, then the others.
    pub(crate) backends: Vec<BackendStatus>,
}

/// Probes every backend and says what this machine can enforce.
pub(crate) fn status(json: bool, environment: &Environment) -> Result<ExitCode, CommandError> {
    let launcher = Launcher::new().map_err(CommandError::failed)?;
    let foreign = checkout_around_here(environment)?;
    let site = site(environment, &tools(environment)?)?.scanning(&foreign);
    let backends = Confinement::statuses(&site, &launcher);
    let candidates = BackendId::auto(std::env::consts::OS);
    let auto = candidates
        .iter()
        .map(|id| id.as_str())
        .find(|name| backends.iter().any(|backend| backend.name == *name && backend.available));
    let status = Status {
        platform: std::env::consts::OS,
        kernel: ash_sandbox::kernel_release(),
        landlock_abi: ash_sandbox::landlock_abi(),
        auto,
        backends,
    };
    if json {
        ui::json(&status)?;
    } else {
        ui::status(&status);
    }
    Ok(ExitCode::SUCCESS)
}
