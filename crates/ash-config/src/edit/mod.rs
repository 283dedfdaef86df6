//! Edits configuration texts in place: comments, order and everything not asked for stay as they are.
//!
//! An edit is worked out on the places of keys and values in the text, and then proved: the new text is read again, must mean exactly
//! what was asked for, and must hold every comment of the old one. An edit that cannot be proved is refused.

mod change;
mod defaults;
mod duplicates;
mod editor;
mod file;
mod lint;
mod path;
mod syntax;
mod update;
mod wizard;
mod write;

pub use defaults::default_text;
pub use file::{ConfigFile, FileError, Original};
pub use lint::{Fixed, Level, Lint, LintFinding, Remedy, fix, lint};
pub use update::{UpdateError, update};
pub use wizard::{Question, QuestionKind, questions};
pub use write::to_yaml;

/// The configurations a scan of a directory finds, the one it uses first.
pub fn discovered(root: &std::path::Path) -> Vec<std::path::PathBuf> {
    crate::discover::candidates(root)
}

#[cfg(test)]
mod tests;
