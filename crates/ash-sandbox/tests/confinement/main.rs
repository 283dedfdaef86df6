//! The supervisor and the last stage, driven from outside in their own words: what a hostile tool inside can and cannot do.
//!
//! This program is its own stage, its own driver (so that it can be killed) and its own test runner.

#[cfg(target_os = "linux")]
#[cfg(test)]
mod filter;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod rights;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod stage;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod support;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod tree;

#[cfg(target_os = "linux")]
#[cfg(test)]
fn main() {
    ash_sandbox::confine::intercept();
    support::intercept();
    let arguments = libtest_mimic::Arguments::from_args();
    let trials = [stage::trials(), tree::trials(), rights::trials(), filter::trials()]
        .into_iter()
        .flatten()
        .collect();
    libtest_mimic::run(&arguments, trials).exit();
}

#[cfg(not(all(test, target_os = "linux")))]
fn main() {
    ash_sandbox::confine::intercept();
}
