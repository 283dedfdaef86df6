//! What a scan would start, for those who ask before they scan.

use std::{ffi::OsString, path::Path};

use ash_config::Settings;
use ash_intake::{NoFollowReader, OwnResults, Walk};
use ash_model::{path::printable, tool::Cwd};
use ash_scanners::{Plan, Scanner, Site};

use crate::suppress::Ignored;

/// A scan that is asked about.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The directory, absolute.
    pub source: &'a Path,
    /// The output directory, absolute.
    pub output: &'a Path,
    /// What is in force.
    pub settings: &'a Settings,
    /// The caller's environment.
    pub environment: &'a [(OsString, OsString)],
    /// No network for anyone.
    pub offline: bool,
    /// Whether this scanner's calls have a network.
    pub network: bool,
    /// Whether scanners would run as uid 0 and sandboxed.
    pub confined_root: bool,
}

/// What the scanner wants done in this tree: a scan does the same. Reads the tree and starts nothing.
///
/// # Errors
/// When the tree cannot be read.
pub fn plan(scanner: &dyn Scanner, asked: &Asked<'_>) -> Result<Plan, String> {
    let unreadable = |error: &dyn std::fmt::Display| {
        format!("`{}` cannot be read: {error}", printable(asked.source.as_os_str()))
    };
    let own = OwnResults::within(asked.source, asked.output);
    let ignored = Ignored::new(asked.settings);
    let set = ash_intake::scan_set(&Walk {
        source: asked.source,
        own: &own,
        excluded: Some(&ignored),
        confined_root: asked.confined_root,
    })
    .map_err(|error| unreadable(&error))?;
    let reader = NoFollowReader::new(asked.source).map_err(|error| unreadable(&error))?;
    let options = asked.settings.scanners.get(scanner.id().as_str()).cloned().unwrap_or_default();
    let variable = |name: &str| {
        asked.environment.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone())
    };
    Ok(scanner.plan(&Site {
        source: asked.source,
        results: &own_results(scanner, asked.output),
        outputs: own.directories(),
        files: &set.files,
        reader: &reader,
        offline: asked.offline,
        network: asked.network,
        ignore_suppressions: false,
        options: &options.options,
        variable: &variable,
    }))
}

/// Where a scanner writes about the source.
pub fn own_results(scanner: &dyn Scanner, output: &Path) -> std::path::PathBuf {
    output.join("scanners").join(scanner.id().as_str()).join("source")
}

/// The directory in which a call starts.
pub fn working_directory(cwd: &Cwd, source: &Path, own_results: &Path) -> std::path::PathBuf {
    match cwd {
        Cwd::Source => source.to_owned(),
        Cwd::Results => own_results.to_owned(),
        Cwd::Root => "/".into(),
        Cwd::Within(path) => source.join(path.as_path()),
    }
}
