//! Runs a command inside an OS sandbox, and is the only crate of ash that can start a process.
//!
//! ```text
//! Requirements + Site + Ground + Grants ──Policy::resolve──▶ Policy     (plain data, every path real)
//! Mode ─────────────────────────────────Confinement::choose─▶ Confinement (off, a probed backend, or a Refusal)
//! Policy + Command ──────────────────────────Backend::wrap──▶ Prepared   (pure; only a backend makes one)
//! Prepared ────────────────────────────────Launcher::run────▶ Finished   (the only spawn)
//! ```
//!
//! Every backend ends in the same stage of the binary itself, `ash __confine`, started through a small supervisor; see [`confine`].
//! A program that uses this library must call [`confine::intercept`] first thing in `main`.
//!
//! ```standalone_crate
//! use ash_sandbox::{
//!     Cancel, Captures, Command, Confinement, Grants, Ground, Launcher, Mode, Policy, Requirements,
//!     ResultsDir, Site, Stdio,
//! };
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     ash_sandbox::confine::intercept();
//!
//!     let source = std::fs::canonicalize("src")?;
//!     let results = ResultsDir::fresh(&std::env::temp_dir())?;
//!     let launcher = Launcher::new()?;
//!     let site = Site::gather(std::env::vars_os().collect(), launcher.executable(), &[]);
//!     let confinement = match Confinement::choose(Mode::Auto, &site, &launcher) {
//!         Ok(chosen) => chosen.confinement,
//!         // No sandbox works here, so nothing runs.
//!         Err(refusal) => return Ok(println!("{refusal}")),
//!     };
//!
//!     let command = Command {
//!         program: "/bin/sh".into(),
//!         args: ["-c", "cat lib.rs | head -1; touch lib.rs || echo no"].map(Into::into).to_vec(),
//!     };
//!     let ground = Ground {
//!         cwd: source.clone(),
//!         source,
//!         output: None,
//!         targets: vec![],
//!         results: results.path().to_owned(),
//!     };
//!     let (needs, grants) = (Requirements::NONE, Grants::default());
//!     let policy =
//!         Policy::resolve("me", &needs, &site, &ground, &grants, &command.program, &[])?;
//!     let prepared = confinement.prepare(&policy, &command)?;
//!     let stdio = Stdio::Capture(Captures::default());
//!     let finished = launcher.run(prepared, stdio, None, &Cancel::new())?;
//!     assert!(finished.stdout.text().starts_with("//! Runs a command"));
//!     assert!(finished.stdout.text().ends_with("no\n"));
//!     Ok(results.discard()?)
//! }
//! ```
//!
//! Two programs in `examples/` do the same with their own arguments: `run_confined` and `print_plan`.

mod backends;
pub mod confine;
mod confinement;
mod environment;
mod explain;
mod launch;
mod leftovers;
mod places;
mod policy;
mod results;
mod site;
#[cfg(all(unix, any(test, feature = "testing")))]
#[doc(hidden)]
pub mod testing;
mod trusted;
mod wire;

pub use ash_model::{
    evidence::SandboxEvidence,
    notice::Notice,
    requirements::Requirements,
    tool::{Captured, Exit},
};
pub use backends::{BackendId, BackendStatus, Command, WrapError};
pub use confinement::{Chosen, Confinement, Mode, ParseModeError, PrepareError, Refusal};
pub use environment::{VariableRule, variable_rules};
pub use explain::{Explanation, explain};
pub use launch::{
    Cancel, Captures, Finished, LaunchError, Launcher, Prepared, Stdio, exec_unconfined,
};
pub use policy::{Grants, Ground, Limits, Policy, PolicyError};
pub use results::{
    OutputRefused, OverLimit, ReadLimits, ReadRefused, ResultsDir, ResultsRefused, Swept,
    refuse_output, refuse_results,
};
pub use site::Site;
pub use trusted::{NotAPackage, Package, TrustedCall};

/// The Landlock ABI of the running kernel; 0: no Landlock.
#[cfg(target_os = "linux")]
pub fn landlock_abi() -> u32 {
    confine::landlock_abi().unwrap_or(0)
}

/// The Landlock ABI of the running kernel; 0: no Landlock.
#[cfg(not(target_os = "linux"))]
pub fn landlock_abi() -> u32 {
    0
}

/// The kernel's release, such as `6.12.9-amd64`.
#[cfg(unix)]
pub fn kernel_release() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

/// The kernel's release: not asked for on this system.
#[cfg(not(unix))]
pub fn kernel_release() -> String {
    String::new()
}
