//! Everything ash shows: data on stdout, the rest on stderr.

mod progress;
mod sandbox;
mod table;

use std::{
    io::{IsTerminal, Write},
    process::ExitCode,
};

use ash_reports::harmless;
use ash_sandbox::Cancel;

use crate::error::CommandError;

pub(crate) use progress::progress;
pub(crate) use sandbox::{explanation, status};
pub(crate) use table::summary;

/// Writes to stderr. Nobody reading it is no reason to fail.
pub(crate) fn error(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", harmless::printed(text));
}

/// Writes a value to stderr as one line of JSON.
pub(crate) fn json_line(value: &impl serde::Serialize) {
    let text = serde_json::to_string(value).unwrap_or_default();
    let _ = writeln!(std::io::stderr().lock(), "{}", harmless::printed_json(&text));
}

/// A line the user should read while work goes on.
pub(crate) fn notice(text: &str) {
    error(&format!("note: {text}"));
}

/// Writes to stdout; a closed pipe ends the output, not the program.
pub(crate) fn out(text: &str) {
    write_out(&harmless::printed(text));
}

fn write_out(text: &str) {
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}

/// Writes a value as one JSON document.
pub(crate) fn json(value: &impl serde::Serialize) -> Result<(), CommandError> {
    let text = serde_json::to_string_pretty(value).map_err(CommandError::failed)?;
    write_out(&(harmless::printed_json(&text).into_owned() + "\n"));
    Ok(())
}

/// Shows help, the version, or what is wrong with the words that were typed.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(crate::exit::USAGE))
}

/// Whether stdout is a terminal.
pub(crate) fn stdout_is_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// Whether stderr is a terminal.
pub(crate) fn stderr_is_terminal() -> bool {
    std::io::stderr().is_terminal()
}

/// Sends log lines to stderr.
pub(crate) fn log_to_stderr(verbose: bool, debug: bool) {
    let level = match (debug, verbose) {
        (true, _) => tracing::Level::DEBUG,
        (_, true) => tracing::Level::INFO,
        _ => tracing::Level::WARN,
    };
    let _ = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(Log::default)
        .with_target(false)
        .without_time()
        .try_init();
}

/// One log line on its way to stderr. It may quote what a scanner wrote.
#[derive(Debug, Default)]
struct Log(Vec<u8>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        let text = String::from_utf8_lossy(&self.0);
        let _ = std::io::stderr().lock().write_all(harmless::printed(&text).as_bytes());
    }
}

/// Ends the running tools on Ctrl-C, SIGTERM or SIGHUP. A second one ends ash itself: the supervisors then end what they started.
#[cfg(unix)]
pub(crate) fn cancel_on_signals(cancel: &Cancel) -> Result<(), CommandError> {
    use signal_hook::{
        consts::{SIGHUP, SIGINT, SIGTERM},
        iterator::Signals,
        low_level::emulate_default_handler,
    };
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(CommandError::failed)?;
    let cancel = cancel.clone();
    std::thread::spawn(move || {
        for signal in signals.forever() {
            if cancel.is_cancelled() {
                let _ = emulate_default_handler(signal);
            }
            error("stopping the scanners; once more ends ash at once");
            cancel.cancel();
        }
    });
    Ok(())
}

/// Windows: the console ends the process and its job.
#[cfg(not(unix))]
pub(crate) fn cancel_on_signals(_: &Cancel) -> Result<(), CommandError> {
    Ok(())
}
