//! `ash scan` from outside: what it runs, writes, says and returns, with stand-in scanners.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this test starts the program it tests"
)]
#![expect(clippy::unwrap_used, reason = "a test may panic")]
#![cfg(unix)]

mod lab;

mod checkov;
mod confined;
mod detect_secrets;
mod excused;
mod given_up;
mod granted;
mod incomplete;
mod interrupted;
mod left_out;
mod npm_audit;
mod paths;
mod refused;
mod results;
mod settings;
mod suppressions;
mod verdicts;
