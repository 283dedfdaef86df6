//! Trials for every backend that this machine has.

use std::{path::Path, sync::LazyLock};

use ash_testkit::{BWRAP_OVERLAY, Backends, Use};
use libtest_mimic::{Completion, Failed, Trial};

/// The program under test.
pub(crate) const ASH: &str = env!("CARGO_BIN_EXE_ash");

/// The backends of Linux; a bubblewrap that can overlay caches is another one than one that cannot.
pub(crate) const COLUMNS: &[&str] = &["bwrap", BWRAP_OVERLAY, "firejail", "landlock"];

static AVAILABLE: LazyLock<Backends> = LazyLock::new(|| Backends::of(Path::new(ASH)));

/// A trial that runs where the backend works, and otherwise says why not.
pub(crate) fn trial(
    name: String,
    backend: &'static str,
    run: impl FnOnce() -> Result<Completion, Failed> + Send + 'static,
) -> Trial {
    Trial::ignorable_test(name, move || match AVAILABLE.to_use(backend) {
        Use::Run => run(),
        Use::Ignore(reason) => Ok(Completion::ignored_with(reason)),
        Use::Fail(reason) => Err(reason.into()),
    })
}
