//! Which scanners run.

use std::collections::BTreeSet;

use ash_config::{ScannerSettings, Settings};
use ash_model::path::printable;
use ash_scanners::{SCANNERS, Scanner};

/// What the command line said about scanners, lower-cased, commas already split.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// `--scanners`; empty: all that are enabled.
    pub only: Vec<String>,
    /// `--exclude-scanners`; wins.
    pub exclude: Vec<String>,
}

/// A name no scanner has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no scanner is named {}{}", names(.unknown), nearest(.unknown))]
pub struct UnknownScanners {
    /// The names.
    pub unknown: Vec<String>,
}

fn names(list: &[String]) -> String {
    list.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn nearest(unknown: &[String]) -> String {
    let known: Vec<String> = SCANNERS.iter().map(|scanner| scanner.id().to_string()).collect();
    let guess = unknown.iter().find_map(|name| closest(name, known.iter().map(String::as_str)));
    let guess = guess.map(|guess| format!("; did you mean `{guess}`?")).unwrap_or_default();
    format!("{guess} (known: {})", known.join(", "))
}

/// The known name that a typing mistake most likely meant.
pub fn closest<'a>(typed: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|name| (strsim::damerau_levenshtein(typed, name), name))
        .filter(|(distance, name)| *distance <= 1 + name.len() / 4)
        .min()
        .map(|(_, name)| name)
}

/// Why a scanner that the configuration gives another name does not run: grants follow a scanner's own name, and under another one it
/// would be judged by the wrong rules.
pub fn renamed(scanner: &str, settings: &ScannerSettings) -> Option<String> {
    settings.renamed.as_ref().map(|other| {
        format!(
            "the configuration renames `{scanner}` to `{}`; grants follow a scanner's own name, so it is not run; take `scanners.{scanner}.name` out",
            printable(other.as_ref())
        )
    })
}

/// A scanner and whether it runs.
pub(crate) struct Selected {
    pub(crate) scanner: &'static dyn Scanner,
    /// Why it does not run, if it does not.
    pub(crate) skipped: Option<String>,
    /// The operator excluded it by name.
    pub(crate) excluded: bool,
}

/// Decides for every known scanner. Names that match nothing are returned for a warning when something else matches.
///
/// # Errors
/// When `--scanners` names only scanners that do not exist.
pub(crate) fn select(
    selection: &Selection,
    settings: &Settings,
) -> Result<(Vec<Selected>, Vec<String>), UnknownScanners> {
    let known: BTreeSet<String> = SCANNERS.iter().map(|scanner| scanner.id().to_string()).collect();
    let unknown: Vec<String> = selection
        .only
        .iter()
        .chain(&selection.exclude)
        .filter(|name| !known.contains(*name))
        .cloned()
        .collect();
    if !selection.only.is_empty() && !selection.only.iter().any(|name| known.contains(name)) {
        return Err(UnknownScanners { unknown });
    }
    let decide = |scanner: &'static dyn Scanner| {
        let name = scanner.id().to_string();
        let excluded = selection.exclude.contains(&name);
        let enabled = settings.scanners.get(&name).and_then(|own| own.enabled);
        let skipped = if excluded {
            Some("excluded with `--exclude-scanners`".to_owned())
        } else if !selection.only.is_empty() && !selection.only.contains(&name) {
            Some("not named in `--scanners`".to_owned())
        } else if selection.only.is_empty() && enabled == Some(false) {
            Some(format!("turned off in the configuration (`scanners.{name}.enabled: false`)"))
        } else {
            None
        };
        Selected { scanner, skipped, excluded }
    };
    Ok((SCANNERS.iter().copied().map(decide).collect(), unknown))
}
