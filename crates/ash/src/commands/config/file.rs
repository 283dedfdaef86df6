//! Which configuration file is meant, and loading and opening it.

use std::path::{Path, PathBuf};

use ash_config::{
    ConfigErrors, Loaded,
    edit::{self, ConfigFile, FileError},
};
use ash_model::path::printable;
use ash_scanners::SCANNERS;

use crate::{
    commands::shared::{absolute, current_dir},
    environment::Environment,
    error::CommandError,
};

/// Names of the scanners there are.
pub(super) fn scanners() -> Vec<String> {
    SCANNERS.iter().map(|scanner| scanner.id().to_string()).collect()
}

/// The reports there are, and whether each is written when nobody says otherwise.
pub(super) fn reporters() -> Vec<(&'static str, bool)> {
    ash_config::reporters().iter().map(|reporter| (*reporter, true)).collect()
}

/// The file that is meant: the one named, else the one a scan here would use.
pub(super) fn active(
    named: Option<&PathBuf>,
    environment: &Environment,
) -> Result<Option<PathBuf>, CommandError> {
    let from_environment = environment.get("ASH_CONFIG").filter(|value| !value.is_empty());
    match named.cloned().or_else(|| from_environment.map(PathBuf::from)) {
        Some(path) => absolute(&path).map(Some),
        None => Ok(edit::discovered(&current_dir()?).into_iter().next()),
    }
}

/// As [`active`], where there must be one.
pub(super) fn needed(
    named: Option<&PathBuf>,
    environment: &Environment,
) -> Result<PathBuf, CommandError> {
    active(named, environment)?.ok_or_else(|| {
        CommandError::failed("there is no configuration file here")
            .hint("`ash config init` writes one")
    })
}

/// Opens a file for editing.
pub(super) fn open(path: &Path, make: bool) -> Result<ConfigFile, CommandError> {
    ConfigFile::open(path, &current_dir()?, make).map_err(explained)
}

/// What is wrong with a file, and what to do.
pub(super) fn explained(error: FileError) -> CommandError {
    let hint = match &error {
        FileError::Link(_) => "name the file it leads to",
        FileError::Missing(_) => "`ash config init` writes a new one",
        FileError::Changed(_) => "look at it and try again; nothing was written",
        FileError::Exists(_) | FileError::Content { .. } | FileError::Io { .. } => {
            return CommandError::failed(error);
        }
    };
    CommandError::failed(error).hint(hint)
}

/// A path as short as it can be said here.
pub(super) fn shown(path: &Path) -> String {
    printable(relative(path).as_os_str())
}

/// A path relative to the current directory, where it is below it.
pub(super) fn relative(path: &Path) -> PathBuf {
    let here = std::env::current_dir().ok();
    here.and_then(|here| path.strip_prefix(here).ok().map(Path::to_owned))
        .unwrap_or_else(|| path.to_owned())
}

/// Loads the configuration as a scan of the current directory would.
pub(super) fn load(
    config: Option<&Path>,
    overrides: &[String],
    environment: &Environment,
) -> Result<Result<Loaded, ConfigErrors>, CommandError> {
    let known = scanners();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let variable = |name: &str| environment.get(name).map(ToOwned::to_owned);
    let cwd = current_dir()?;
    let request = ash_config::Request {
        source: cwd.clone(),
        config: config.map(absolute).transpose()?,
        ash_config_env: environment
            .get("ASH_CONFIG")
            .filter(|value| !value.is_empty())
            .map(ToOwned::to_owned),
        overrides: overrides.to_vec(),
        sandbox_flag: None,
        cwd,
        pwd_env: environment.get("PWD").map(ToOwned::to_owned),
        home: environment.get("HOME").map(PathBuf::from),
        env: &variable,
        known_scanners: &known,
        workspace: None,
        identify: None,
    };
    Ok(ash_config::load(&request))
}
