//! The output directory: checked and emptied before a scan, filled after it, never through a link the scanned tree planted.

use std::{
    fs::{File, TryLockError},
    path::{Path, PathBuf},
};

use ash_intake::ScanSet;
use ash_model::{
    path::RelPath,
    report::ScanReport,
    results::{AGGREGATED, MARKER},
};
use ash_reports::Reporter;
use ash_sandbox::{Mode, OutputRefused, ReadLimits, ResultsDir};

use crate::scan::Request;

/// Where the scanners' results are.
const SCANNERS: &str = "scanners";

/// What earlier scans left and this one replaces. A result file that exists is always of the latest scan, and whole.
const STALE: [&str; 8] = [
    AGGREGATED,
    "ash-scan-set-files-list.txt",
    "ash-ignore-report.txt",
    "ash.log",
    "reports",
    SCANNERS,
    "converted",
    "analysis",
];

/// The output directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// Refused before anything was written.
    #[error(transparent)]
    Refused(OutputRefused),
    /// Another scan writes there now.
    #[error(
        "another scan{0} is using the output directory `{1}`; wait until it has ended, or give another one with `--output-dir`"
    )]
    Busy(String, String),
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

/// Checks the output directory, makes it, and removes what an earlier scan left in it. Returns its absolute path, and what keeps other scans out
/// of it.
pub(crate) fn prepare(request: &Request) -> Result<(PathBuf, Claim), PublishError> {
    let output = request.output.clone();
    let linked = ash_sandbox::refuse_output(&request.source, &output).err();
    // Without a sandbox the output goes where the operator sends it, through links too. Nobody sent it to the default place: there a
    // link is the scanned tree's.
    if let Some(refused) = linked.clone()
        && (request.mode != Mode::Off || request.output_is_default)
    {
        return Err(PublishError::Refused(refused));
    }
    std::fs::create_dir_all(&output).map_err(|error| PublishError::write(&output, &error))?;
    let claim = Claim::of(&output)?;
    let directory = ResultsDir::open_operators(&output)
        .map_err(|error| PublishError::write(&output, &error))?;
    let is_ours = request.output_is_default
        || [MARKER, AGGREGATED].iter().any(|name| output.join(name).is_file());
    let stale = match (is_ours, &linked) {
        (true, None) => &STALE[..],
        // A directory of somebody's reports is not emptied; a result of an earlier scan must not be taken for this one's.
        _ => &[AGGREGATED][..],
    };
    for name in stale {
        let removed = match *name {
            SCANNERS if request.mode != Mode::Off => remove_all_but_links(&directory, &output),
            name => directory.remove(&relative(&output, name)?),
        };
        removed.map_err(|error| PublishError::write(&output.join(name), &error))?;
    }
    directory
        .write_file(
            &relative(&output, MARKER)?,
            b"ash writes its results here, and removes those of the scan before.\n",
        )
        .map_err(|error| PublishError::write(&output.join(MARKER), &error))?;
    if request.output_is_default {
        // Results inside a repository are not for committing.
        directory
            .write_file(&relative(&output, ".gitignore")?, b"*\n")
            .map_err(|error| PublishError::write(&output.join(".gitignore"), &error))?;
    }
    Ok((output, claim))
}

/// Removes the results of earlier scans. A link where a scanner's results would go stays, so that the scanner is refused and says so: the scanned
/// tree may have planted it.
fn remove_all_but_links(directory: &ResultsDir, output: &Path) -> std::io::Result<()> {
    // `scanners/bandit/source` is the deepest.
    let mut pending = vec![(PathBuf::from(SCANNERS), 3)];
    let mut directories = vec![];
    while let Some((below, levels)) = pending.pop() {
        let path = output.join(&below);
        if path.is_symlink() {
            continue;
        }
        if levels > 1 && path.is_dir() {
            for entry in std::fs::read_dir(&path)? {
                pending.push((below.join(entry?.file_name()), levels - 1));
            }
            directories.push(path);
        } else {
            directory.remove(&RelPath::new(&below).map_err(std::io::Error::other)?)?;
        }
    }
    for emptied in directories.iter().rev() {
        // One with a link in it stays.
        let _ = std::fs::remove_dir(emptied);
    }
    Ok(())
}

/// A scan's claim on its output directory: a lock on the directory itself, which leaves no file behind, and which the system releases however the
/// scan ends.
#[derive(Debug)]
pub(crate) struct Claim {
    /// Where the system has no locks on directories there is none.
    _locked: Option<File>,
}

impl Claim {
    fn of(output: &Path) -> Result<Self, PublishError> {
        let Ok(directory) = File::open(output) else { return Ok(Self { _locked: None }) };
        match directory.try_lock() {
            Ok(()) => Ok(Self { _locked: Some(directory) }),
            Err(TryLockError::WouldBlock) => Err(PublishError::Busy(
                holder(&directory).map(|pid| format!(" (process {pid})")).unwrap_or_default(),
                ash_model::path::printable(output.as_os_str()),
            )),
            // Not every network file system can lock.
            Err(TryLockError::Error(_)) => Ok(Self { _locked: None }),
        }
    }
}

/// Who holds the lock, as far as the system tells.
#[cfg(target_os = "linux")]
fn holder(locked: &File) -> Option<u32> {
    let inode = std::os::unix::fs::MetadataExt::ino(&locked.metadata().ok()?);
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip_while(|word| *word != "FLOCK").skip(3);
        let (pid, file) = (words.next()?, words.next()?);
        (file.rsplit(':').next()?.parse() == Ok(inode)).then(|| pid.parse().ok())?
    })
}

#[cfg(not(target_os = "linux"))]
fn holder(_: &File) -> Option<u32> {
    None
}

fn relative(output: &Path, name: &str) -> Result<RelPath, PublishError> {
    RelPath::new(name).map_err(|error| PublishError::write(&output.join(name), &error))
}

/// Writes every report; the aggregated results last, so that their presence means the scan is whole.
pub(crate) fn write(
    request: &Request,
    output: &Path,
    report: &ScanReport,
    set: &ScanSet,
) -> Result<Vec<PathBuf>, PublishError> {
    let directory =
        ResultsDir::open_operators(output).map_err(|error| PublishError::write(output, &error))?;
    if request.mode != Mode::Off {
        sweep_scanners(&directory)
            .map_err(|error| PublishError::write(&output.join(SCANNERS), &error))?;
    }
    put(&directory, output, "ash-scan-set-files-list.txt", &mut |out| {
        out.write_all(&crate::scan::file_list(&set.files))
    })?;
    put(&directory, output, "ash-ignore-report.txt", &mut |out| {
        out.write_all(set.ignore_report().as_bytes())
    })?;
    let (last, others) = ash_reports::REPORTERS
        .split_last()
        .map_or((None, &[][..]), |(last, others)| (Some(last), others));
    // Each report takes a second for a hundred thousand findings; side by side they take as long as the cores allow.
    std::thread::scope(|scope| {
        let threads: Vec<_> = others
            .iter()
            .filter(|reporter| request.settings.writes(reporter.id()))
            .map(|reporter| scope.spawn(|| render(&directory, output, *reporter, report)))
            .collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().unwrap_or_else(|_| Err(crashed(output))))
    })?;
    last.map_or(Ok(()), |reporter| render(&directory, output, *reporter, report))?;
    let names = ["ash-scan-set-files-list.txt", "ash-ignore-report.txt"].into_iter();
    Ok(names
        .chain(
            others
                .iter()
                .filter(|one| request.settings.writes(one.id()))
                .chain(last)
                .map(|one| one.file_name()),
        )
        .map(|name| output.join(name))
        .collect())
}

fn render(
    directory: &ResultsDir,
    output: &Path,
    reporter: &dyn Reporter,
    report: &ScanReport,
) -> Result<(), PublishError> {
    put(directory, output, reporter.file_name(), &mut |out| reporter.render(report, out))
}

fn put(
    directory: &ResultsDir,
    output: &Path,
    name: &str,
    render: &mut dyn FnMut(&mut dyn std::io::Write) -> std::io::Result<()>,
) -> Result<(), PublishError> {
    let path = output.join(name);
    let relative = RelPath::new(name).map_err(|error| PublishError::write(&path, &error))?;
    directory.write_with(&relative, render).map_err(|error| PublishError::write(&path, &error))
}

fn crashed(output: &Path) -> PublishError {
    PublishError::Write {
        path: output.display().to_string(),
        reason: "a report could not be rendered (a bug: please report it)".to_owned(),
    }
}

/// Once more after the scan, when no scanner is left: whatever was planted since its own sweep goes.
fn sweep_scanners(output: &ResultsDir) -> std::io::Result<()> {
    let scanners = RelPath::new(SCANNERS).map_err(std::io::Error::other)?;
    if output.path().join(SCANNERS).is_symlink() {
        return output.remove(&scanners);
    }
    match output.open_below(&scanners) {
        Ok(directory) => {
            directory.sweep(&ReadLimits { entries: u64::MAX, ..ReadLimits::default() }).map(drop)
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}
