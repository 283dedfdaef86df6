//! What happens during a scan, in the one order everybody sees.

use std::time::Duration;

use ash_model::{ids::ScannerId, notice::Notice, status::Status};

/// One thing that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The scan begins; these scanners will run.
    Started {
        /// In the order they are started.
        scanners: Vec<ScannerId>,
        /// `off`, or the backend's name.
        sandbox: String,
    },
    /// Worth telling the user while the scan runs.
    Notice(Notice),
    /// A scanner's first process starts.
    Running {
        /// Which.
        scanner: ScannerId,
    },
    /// A scanner has ended.
    Ended {
        /// Which.
        scanner: ScannerId,
        /// How.
        status: Status,
        /// Findings not suppressed.
        findings: u64,
        /// Of these, at or above the threshold.
        actionable: u64,
        /// How long it ran.
        duration: Duration,
    },
    /// All scanners have ended; reports are being written.
    Reporting,
}

/// Takes events, from one thread at a time.
pub trait Sink: Send {
    /// Takes one.
    fn event(&mut self, event: Event);
}

/// Takes nothing.
impl Sink for () {
    fn event(&mut self, _: Event) {}
}
