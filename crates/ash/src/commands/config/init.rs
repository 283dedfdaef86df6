//! `ash config init`.

use std::{path::Path, process::ExitCode};

use ash_config::edit::{self, ConfigFile};

use super::file::{explained, open, relative, reporters, scanners, shown};
use crate::{
    args::config::InitArgs,
    commands::shared::{absolute, current_dir},
    environment::Environment,
    error::CommandError,
    ui,
};

/// Writes a configuration file with every default.
pub(super) fn init(args: &InitArgs, environment: &Environment) -> Result<ExitCode, CommandError> {
    let path = absolute(&args.config)?;
    let file = make(&path)?;
    file.create(&text(environment)?, args.force).map_err(|error| match error {
        edit::FileError::Exists(_) => explained(error)
            .hint("`--force` replaces it; `ash config update` changes single values"),
        error => explained(error),
    })?;
    ui::error(&format!("wrote `{}`", shown(&path)));
    note_others(&path)?;
    Ok(ExitCode::SUCCESS)
}

/// Opens the place for a new file; ash's own directory gets a `.gitignore` for the results.
pub(super) fn make(path: &Path) -> Result<ConfigFile, CommandError> {
    let is_yaml =
        path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml");
    if !is_yaml {
        let name = shown(path);
        return Err(CommandError::failed(format!("`{name}` is not named as a YAML file"))
            .hint("name it `.yaml` or `.yml`"));
    }
    let file = open(path, true)?;
    let parent = path.parent().unwrap_or(Path::new(""));
    if parent.file_name().is_some_and(|name| name == ".ash") {
        let ignore = open(&parent.join(".gitignore"), true)?;
        // One that is there already is somebody's own.
        let _ = ignore.create("ash_output*\n", false);
    }
    Ok(file)
}

/// The default text for the current directory.
pub(super) fn text(environment: &Environment) -> Result<String, CommandError> {
    let directory = current_dir()?;
    let named = environment.get("ASH_PROJECT_NAME").filter(|name| !name.is_empty());
    let name = named.or_else(|| directory.file_name()).unwrap_or_else(|| "ash-scan".as_ref());
    let scanners = scanners();
    let scanners: Vec<&str> = scanners.iter().map(String::as_str).collect();
    Ok(edit::default_text(&name.to_string_lossy(), &scanners, &reporters()))
}

/// A file that nobody reads is worth a word.
fn note_others(path: &Path) -> Result<(), CommandError> {
    let here = current_dir()?;
    let used = edit::discovered(&here).into_iter().next();
    match used {
        Some(used) if used == path => {}
        Some(used) => ui::notice(&format!(
            "a scan here uses `{}`, which comes first; sources are never merged",
            shown(&used)
        )),
        None => ui::notice(&format!(
            "a scan finds no file of this name by itself: `ash scan --config {}`",
            relative(path).display()
        )),
    }
    Ok(())
}
