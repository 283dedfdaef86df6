//! Small pieces every plan is built from.

use std::{
    ffi::{OsStr, OsString},
    path::Path,
};

use ash_model::{
    path::RelPath,
    tool::{Cwd, Program, ToolCall},
};

use crate::VersionProbe;

/// The most bytes of file names one command line carries: far below the kernel's limit of 128 KiB for one argument and 2 MiB in all.
const MAX_NAMES: usize = 96 * 1024;

/// A name ash chose itself, for a file of the results directory.
///
/// # Panics
/// Never: called with literals and numbers only, and a test over every plan covers each caller.
#[expect(clippy::expect_used, reason = "the names are literals and numbers of this crate")]
pub(crate) fn own(name: impl AsRef<Path>) -> RelPath {
    RelPath::new(name).expect("a name of ash's own is relative")
}

/// `--flag=value` as one argument, whatever bytes the value holds.
pub(crate) fn joined(flag: &str, value: impl AsRef<OsStr>) -> OsString {
    let mut argument = OsString::from(flag);
    argument.push(value);
    argument
}

/// A version probe: the tool with these arguments, started away from the scanned tree.
pub(crate) fn version_probe(
    program: &'static str,
    arguments: &[&str],
    timeout_seconds: u64,
) -> VersionProbe {
    let mut call = ToolCall::new(Program::Tool(program), "version").args(arguments.iter().copied());
    call.cwd = Cwd::Results;
    VersionProbe { call, timeout_seconds }
}

/// Splits file names into groups that each fit on a command line.
pub(crate) fn groups<T>(items: Vec<T>, length: impl Fn(&T) -> usize) -> Vec<Vec<T>> {
    let mut groups = vec![];
    let mut group = vec![];
    let mut used = 0;
    for item in items {
        let size = length(&item) + 1;
        if used + size > MAX_NAMES && !group.is_empty() {
            groups.push(std::mem::take(&mut group));
            used = 0;
        }
        used += size;
        group.push(item);
    }
    if !group.is_empty() {
        groups.push(group);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_of_names_is_split_and_nothing_is_lost() {
        let names: Vec<String> = (0..5000).map(|n| format!("{n:0>60}")).collect();
        let groups = groups(names.clone(), String::len);
        assert_eq!(groups.len(), 4);
        assert_eq!(groups.concat(), names);
        assert!(super::groups(Vec::<String>::new(), String::len).is_empty());
    }
}
