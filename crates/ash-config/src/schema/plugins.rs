//! What the sections of scanners, reports and converters have in common, and the converters.

use super::{
    Field, Names,
    Narrows::{Never, SaidByTheScan},
    Shape, TEXTS, YEARS, field, unused,
};

const PINNED: &str = "ash installs the versions it was tested with";

/// The keys of one scanner.
pub(super) const SCANNER: &[Field] = &[
    field(
        "enabled",
        Shape::Bool,
        "true",
        "Whether it runs. `--scanners` and `--exclude-scanners` win.",
    ),
    field("options", Shape::Any, "", "Its options."),
    field(
        "name",
        Shape::Text,
        "",
        "Internal. A name other than the section's leaves the scanner out, as MISSING.",
    ),
    unused("extension", Shape::Text, "", "it was internal"),
    unused("tool_version", Shape::Text, "", PINNED),
    unused("install_timeout", Shape::Number(0.0, YEARS), "300", PINNED),
];

/// The keys of one report or converter.
pub(super) const PLUGIN: &[Field] = &[
    field("enabled", Shape::Bool, "true", "Whether it is made."),
    field("options", Shape::Any, "", "Its options."),
    unused("name", Shape::Text, "", "it was internal"),
    unused("extension", Shape::Text, "", "it was internal"),
    unused("tool_version", Shape::Text, "", "it was internal"),
    unused("install_timeout", Shape::Number(0.0, YEARS), "300", "it was internal"),
];

/// Options every scanner has.
pub(super) const COMMON_OPTIONS: &[Field] = &[
    field(
        "severity_threshold",
        Shape::Choice(super::THRESHOLDS),
        "null",
        "The least severity of this scanner that fails a scan; `null`: the global one.",
    )
    .narrows(SaidByTheScan),
    field(
        "scan_timeout",
        Shape::Number(0.0, YEARS),
        "1800",
        "Seconds it may take; `null`: no limit. A file inside the scanned tree can only shorten it.",
    )
    // A scanner that runs out of time makes the scan incomplete, which is never quiet.
    .narrows(Never),
    field(
        "offline",
        Shape::Bool,
        "false",
        "`true`: this scanner works offline and has no network, whatever the others do.",
    )
    .narrows(SaidByTheScan),
    unused("tool_version", Shape::Text, "", PINNED),
    unused("install_timeout", Shape::Number(0.0, YEARS), "300", PINNED),
    unused("additional_formats", TEXTS, "[]", "ash asks each tool for the formats it reads"),
];

/// `converters`.
pub(crate) const CONVERTERS: Names = Names {
    kind: "converter",
    known: &["archive", "jupyter"],
    shipped: Some(&[]),
    entry: Shape::Section(PLUGIN),
    common: &[],
    options: &[],
};
