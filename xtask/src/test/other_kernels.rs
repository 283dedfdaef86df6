//! The sandbox on the kernels of two Debian releases: what a machine in use cannot be made to refuse.

use std::time::Instant;

use super::Tally;
use crate::{kernels, shell::say};

/// Set: a machine that cannot boot them fails the check.
const REQUIRED: &str = "ASH_REQUIRE_KERNELS";

const NAME: &str = "other kernels";

/// Every situation by every user, and root's attempts on the whole machine. What tools must be able to do and the matrix of attacks take
/// longer than that without hardware to help; `cargo xtask kernels` runs them.
const WORDS: &[&str] = &["--tests", "dangers"];

/// Boots them and counts what held.
pub(super) fn run(tally: &mut Tally) {
    say(&format!("\n=== {NAME}"));
    let required = std::env::var_os(REQUIRED).is_some_and(|value| !value.is_empty());
    if let Some(reason) = kernels::obstacle().filter(|_| !required) {
        say(&format!("ignored: {reason} (with {REQUIRED}=1 this is a failure)"));
        tally.ignored();
        return;
    }
    let started = Instant::now();
    match kernels::check(WORDS) {
        Ok(verdicts) => {
            for failure in &verdicts.failed {
                tally.failed(&format!("{NAME}: {failure}"));
            }
            tally.add(verdicts.passed);
        }
        Err(error) => tally.failed(&format!("{NAME}: {error:#}")),
    }
    say(&format!("--- {NAME}: {:.0} s", started.elapsed().as_secs_f64()));
}
