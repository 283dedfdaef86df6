//! The output directory: checked and emptied before a scan, filled after it, never through a link the scanned tree planted.

use std::path::{Path, PathBuf};

use ash_model::{path::RelPath, report::ScanReport};
use ash_sandbox::{Mode, ReadLimits, ResultsDir};

use crate::scan::Request;

/// What earlier scans left and this one replaces. A result file that exists is always of the latest scan, and whole.
const STALE: [&str; 8] = [
    "ash_aggregated_results.json",
    "ash-scan-set-files-list.txt",
    "ash-ignore-report.txt",
    "ash.log",
    "reports",
    "scanners",
    "converted",
    "analysis",
];

/// The output directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// Refused before anything was written.
    #[error("the output directory is refused: {0}; give another one with `--output-dir`")]
    Refused(String),
    /// The system says no.
    #[error("cannot write `{path}`: {reason}")]
    Write {
        /// What.
        path: String,
        /// The system's words.
        reason: String,
    },
}

impl PublishError {
    fn write(path: &Path, error: &dyn std::fmt::Display) -> Self {
        Self::Write {
            path: ash_model::path::printable(path.as_os_str()),
            reason: error.to_string(),
        }
    }
}

/// Checks the output directory, makes it, and removes what an earlier scan left in it. Returns its absolute path.
pub(crate) fn prepare(request: &Request) -> Result<PathBuf, PublishError> {
    let output = request.output.clone();
    if request.mode != Mode::Off {
        ash_sandbox::refuse_output(&request.source, &output)
            .map_err(|refused| PublishError::Refused(refused.to_string()))?;
    }
    std::fs::create_dir_all(&output).map_err(|error| PublishError::write(&output, &error))?;
    let directory = ResultsDir::open_operators(&output)
        .map_err(|error| PublishError::write(&output, &error))?;
    for name in STALE {
        let relative =
            RelPath::new(name).map_err(|error| PublishError::write(&output.join(name), &error))?;
        directory
            .remove(&relative)
            .map_err(|error| PublishError::write(&output.join(name), &error))?;
    }
    Ok(output)
}

/// Writes every report; the aggregated results last, so that their presence means the scan is whole.
pub(crate) fn write(
    request: &Request,
    output: &Path,
    report: &ScanReport,
    files: &[RelPath],
) -> Result<Vec<PathBuf>, PublishError> {
    let directory =
        ResultsDir::open_operators(output).map_err(|error| PublishError::write(output, &error))?;
    if request.mode != Mode::Off {
        sweep_scanners(&directory)
            .map_err(|error| PublishError::write(&output.join("scanners"), &error))?;
    }
    let mut written = Vec::new();
    let mut put = |name: &str,
                   render: &mut dyn FnMut(&mut dyn std::io::Write) -> std::io::Result<()>|
     -> Result<(), PublishError> {
        let path = output.join(name);
        let relative = RelPath::new(name).map_err(|error| PublishError::write(&path, &error))?;
        directory
            .write_with(&relative, render)
            .map_err(|error| PublishError::write(&path, &error))?;
        written.push(path);
        Ok(())
    };
    put("ash-scan-set-files-list.txt", &mut |out| out.write_all(&crate::scan::file_list(files)))?;
    for reporter in ash_reports::REPORTERS {
        put(reporter.file_name(), &mut |out| reporter.render(report, out))?;
    }
    Ok(written)
}

/// Once more after the scan, when no scanner is left: whatever was planted since its own sweep goes.
fn sweep_scanners(output: &ResultsDir) -> std::io::Result<()> {
    let scanners = RelPath::new("scanners").map_err(std::io::Error::other)?;
    match output.open_below(&scanners) {
        Ok(directory) => {
            directory.sweep(&ReadLimits { entries: u64::MAX, ..ReadLimits::default() }).map(drop)
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}
