//! Every report ash writes, one file each.
//!
//! A reporter turns a finished [`ScanReport`] into bytes and does nothing else. Whatever came from a scanner or from the scanned tree is
//! hostile text; [`harmless`] has one function for each place it may be put.
//! A new reporter is one file in `formats/` and one line in [`REPORTERS`].
#![forbid(clippy::disallowed_methods, clippy::disallowed_types)]

use std::io;

use ash_model::report::ScanReport;

mod flat;
mod formats;
pub mod harmless;
mod json;
pub mod summary;

/// One report format.
pub trait Reporter: Sync {
    /// The name used on the command line and in config.
    fn id(&self) -> &'static str;
    /// The file it is written to, relative to the output directory.
    fn file_name(&self) -> &'static str;
    /// Writes the report.
    ///
    /// # Errors
    /// Only when `out` fails.
    fn render(&self, report: &ScanReport, out: &mut dyn io::Write) -> io::Result<()>;
}

/// Every reporter, in the order the files are written. The aggregated results come last: where they exist, the other reports are whole.
pub const REPORTERS: &[&dyn Reporter] = &[
    &formats::sarif::Sarif,
    &formats::text::Text,
    &formats::markdown::Markdown,
    &formats::html::Html,
    &formats::junit::JUnit,
    &formats::csv::Csv,
    &formats::flat_json::FlatJson,
    &formats::cyclonedx::CycloneDx,
    &formats::github_ghas::GithubGhas,
    &formats::gitlab_sast::GitlabSast,
    &formats::gitlab_cyclonedx::GitlabCycloneDx,
    &formats::ocsf::Ocsf,
    &formats::unused_suppressions::UnusedSuppressions,
    &formats::unused_suppressions::UnusedSuppressionsMarkdown,
    &formats::aggregated::Aggregated,
];

/// Finds a reporter by its name.
pub fn reporter(id: &str) -> Option<&'static dyn Reporter> {
    REPORTERS.iter().copied().find(|reporter| reporter.id() == id)
}

#[cfg(test)]
mod sample;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_reporter_has_its_own_name_and_file() {
        let ids: BTreeSet<_> = REPORTERS.iter().map(|reporter| reporter.id()).collect();
        let files: BTreeSet<_> = REPORTERS.iter().map(|reporter| reporter.file_name()).collect();
        assert_eq!((ids.len(), files.len()), (REPORTERS.len(), REPORTERS.len()));
        assert!(ids.iter().all(|id| id.chars().all(|c| c.is_ascii_lowercase() || c == '-')));
        assert!(
            files
                .iter()
                .all(|file| file.starts_with("reports/ash.")
                    || *file == "ash_aggregated_results.json")
        );
    }

    #[test]
    fn the_aggregated_results_are_written_last() {
        assert_eq!(REPORTERS.last().unwrap().id(), "aggregated");
    }

    #[test]
    fn the_same_report_gives_the_same_bytes() {
        let report = sample::hostile();
        for reporter in REPORTERS {
            let (mut first, mut second) = (Vec::new(), Vec::new());
            reporter.render(&report, &mut first).unwrap();
            reporter.render(&report, &mut second).unwrap();
            assert!(first == second, "{}", reporter.id());
        }
    }

    #[test]
    fn no_report_holds_a_raw_escape_or_a_direction_override_where_people_read() {
        let report = sample::hostile();
        for id in ["text", "markdown", "html", "junitxml", "csv", "unused-suppressions-markdown"] {
            let Some(reporter) = reporter(id) else { continue };
            let mut bytes = Vec::new();
            reporter.render(&report, &mut bytes).unwrap();
            let text = String::from_utf8(bytes).unwrap();
            assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{7}']), "{id}");
        }
    }

    #[test]
    fn a_full_disk_is_an_error() {
        struct Full;
        impl io::Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        for reporter in REPORTERS {
            let error = reporter.render(&sample::hostile(), &mut Full).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::StorageFull, "{}", reporter.id());
        }
    }
}
