//! Medians of runs that take turns, so that a busy moment hits all of them.

use std::time::Duration;

use anyhow::{Result, ensure};

use crate::shell::Call;

/// A command to time, made anew for each run, and the exit codes it may end with.
pub(super) struct Timed<'a> {
    pub(super) make: &'a dyn Fn() -> Call,
    pub(super) accepts: &'a [i32],
}

/// The median time of each command over so many rounds.
pub(super) fn medians(rounds: usize, commands: &[Timed<'_>]) -> Result<Vec<Duration>> {
    let mut times = vec![Vec::new(); commands.len()];
    for _ in 0..rounds {
        for (command, times) in commands.iter().zip(&mut times) {
            let (took, code) = (command.make)().timed()?;
            ensure!(
                code.is_some_and(|code| command.accepts.contains(&code)),
                "a command that is being timed ended with {code:?}"
            );
            times.push(took);
        }
    }
    Ok(times.into_iter().map(median).collect())
}

/// The middle one.
pub(super) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// Milliseconds for people.
pub(super) fn ms(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
}

/// One time over another.
pub(super) fn ratio(of: Duration, over: Duration) -> String {
    format!("{:.2}", of.as_secs_f64() / over.as_secs_f64().max(f64::MIN_POSITIVE))
}
