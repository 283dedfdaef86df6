//! Runs that take turns, so that a busy moment hits all of them.

use std::time::Duration;

use anyhow::{Result, ensure};

use crate::shell::Call;

/// A command to time, made anew for each run, and the exit codes it may end with.
pub(super) struct Timed<'a> {
    pub(super) make: &'a dyn Fn() -> Call,
    pub(super) accepts: &'a [i32],
}

/// What so many runs of one command took.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Measured {
    /// What the work itself takes: whatever else the machine does only adds to it.
    pub(super) least: Duration,
    pub(super) median: Duration,
    /// Processor time of all runs together, the children's included, in ticks.
    cpu: u64,
}

impl Measured {
    /// What it takes beyond the other.
    pub(super) fn beyond(self, other: Self) -> Self {
        Self {
            least: self.least.saturating_sub(other.least),
            median: self.median.saturating_sub(other.median),
            cpu: self.cpu.saturating_sub(other.cpu),
        }
    }

    /// How it compares, by each measure.
    pub(super) fn over(self, other: Self) -> String {
        let mut text = format!(
            "{}, medians {}",
            ratio(self.least, other.least),
            ratio(self.median, other.median)
        );
        // Ticks are too coarse for less.
        if other.cpu > 500 {
            text.push_str(&format!(", processor {:.2}", self.cpu as f64 / other.cpu as f64));
        }
        text
    }
}

/// What each command takes, over so many rounds.
pub(super) fn measure(rounds: usize, commands: &[Timed<'_>]) -> Result<Vec<Measured>> {
    let mut times = vec![(Vec::new(), 0); commands.len()];
    for _ in 0..rounds {
        for (command, (times, cpu)) in commands.iter().zip(&mut times) {
            let before = ticks_of_children();
            let (took, code) = (command.make)().timed()?;
            ensure!(
                code.is_some_and(|code| command.accepts.contains(&code)),
                "a command that is being timed ended with {code:?}"
            );
            times.push(took);
            *cpu += ticks_of_children().saturating_sub(before);
        }
    }
    let measured = |(times, cpu): (Vec<Duration>, u64)| Measured {
        least: times.iter().min().copied().unwrap_or_default(),
        median: median(times),
        cpu,
    };
    Ok(times.into_iter().map(measured).collect())
}

/// The median time of each command over so many rounds.
pub(super) fn medians(rounds: usize, commands: &[Timed<'_>]) -> Result<Vec<Duration>> {
    Ok(measure(rounds, commands)?.into_iter().map(|measured| measured.median).collect())
}

/// Processor time of the children that were waited for, and of theirs; 0 where the system does not say.
fn ticks_of_children() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    // `cutime` and `cstime`.
    after_name
        .split_whitespace()
        .skip(13)
        .take(2)
        .filter_map(|field| field.parse::<u64>().ok())
        .sum()
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
