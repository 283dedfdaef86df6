//! The names of what ash leaves in an output directory.
//!
//! Only these are left out of a scan. Anything else in an output directory is part of the scanned tree: a directory that is called
//! `.ash/ash_output` must not be a place where code goes unseen.

/// Where results go by default, relative to the scanned directory.
pub const DEFAULT_OUTPUT: &str = ".ash/ash_output";

/// Where the Python tool once put them.
pub const FORMER_OUTPUT: &str = "ash_output";

/// The file that holds everything; its presence means the scan is whole.
pub const AGGREGATED: &str = "ash_aggregated_results.json";

/// Lies in every output directory: what has one of these names beside it is ash's to remove.
pub const MARKER: &str = ".ash-output";

/// Directories in an output directory; some only the Python tool writes.
pub const DIRECTORIES: [&str; 6] =
    ["reports", "scanners", "converted", "analysis", "inspect", "projects"];

/// Files in an output directory.
pub const FILES: [&str; 7] = [
    AGGREGATED,
    "ash-scan-set-files-list.txt",
    "ash-ignore-report.txt",
    "ash.log",
    "ash.log.jsonl",
    MARKER,
    ".gitignore",
];
