//! The trust truth table, asked of the real program: each row's directories are built, and `ash sandbox explain SCANNER --json` says
//! what would be granted. The rows are in `ash-testkit`; `ash-config` loads the same ones in its own process.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this test starts the program it tests"
)]
#![expect(clippy::unwrap_used, reason = "a lab that cannot be built is a failed test")]

#[cfg(unix)]
mod asked;

#[cfg(unix)]
fn main() -> std::process::ExitCode {
    let rows = ash_testkit::trust::rows();
    let trials = rows
        .into_iter()
        .map(|row| libtest_mimic::Trial::ignorable_test(row.what, move || asked::judge(&row)));
    libtest_mimic::run(&libtest_mimic::Arguments::from_args(), trials.collect()).exit_code()
}

#[cfg(not(unix))]
fn main() {}
