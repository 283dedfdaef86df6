//! Refuses output and results directories that the scanned repository could have planted.

use std::{
    fs,
    path::{Component, Path, PathBuf},
};

use ash_model::path::printable;

use crate::policy::{trace, tree::Tree};

/// Why nothing is written to an output directory.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OutputRefused {
    /// A link the scanned tree may have planted.
    #[error(
        "the output directory is refused: `{link}` is a symlink; remove it, or name another directory with `--output-dir`"
    )]
    Link {
        /// The link.
        link: String,
    },
    /// A mount or a race.
    #[error(
        "the output directory is refused: `{spelled}` really is `{real}`; name another directory with `--output-dir`"
    )]
    Elsewhere {
        /// As it reads.
        spelled: String,
        /// Where it leads.
        real: String,
    },
}

/// Checks an output directory, before anything is made or cleared there. Links at or above the source are the operator's own.
///
/// # Errors
/// When the directory is a link, is reached through one below the source, or really lies elsewhere than its path in the source reads.
pub fn refuse_output(source: &Path, output: &Path) -> Result<(), OutputRefused> {
    let tree = Tree::new([source]);
    let positions = positions(output);
    let link = positions
        .iter()
        .find(|place| is_link(place) && is_planted(&tree, place))
        .or_else(|| positions.last().filter(|place| is_link(place)));
    if let Some(link) = link {
        return Err(OutputRefused::Link { link: printable(link.as_os_str()) });
    }
    if let Some(link) = planted_on_the_way(&tree, output) {
        return Err(OutputRefused::Link { link: printable(link.as_os_str()) });
    }
    really_there(source, positions.last().map_or(output, PathBuf::as_path), &tree)
}

/// A link of the tree that the kernel follows on the way: after `..`, and behind a link of the operator's, that is not the spelling's way.
fn planted_on_the_way(tree: &Tree, path: &Path) -> Option<PathBuf> {
    let links = trace::trace_what_exists(path)?.links;
    links.into_iter().map(|(place, _)| place).find(|place| is_planted(tree, place))
}

/// Whether the real path equals the real source and the part below it.
fn really_there(source: &Path, output: &Path, tree: &Tree) -> Result<(), OutputRefused> {
    let Some(top) = output.ancestors().find(|dir| tree.is_root(dir)) else { return Ok(()) };
    let Ok(below) = output.strip_prefix(top) else { return Ok(()) };
    let expected = trace::real_as_far_as_it_exists(source).join(below);
    let real = trace::real_as_far_as_it_exists(output);
    if real == expected.components().collect::<PathBuf>() {
        return Ok(());
    }
    Err(OutputRefused::Elsewhere {
        spelled: printable(output.as_os_str()),
        real: printable(real.as_os_str()),
    })
}

/// Checks a scanner's results directory: it is no link, nor reached through one below the output directory or the source.
///
/// # Errors
/// With the offending path.
pub(crate) fn refuse_linked(
    results: &Path,
    output: Option<&Path>,
    source: &Path,
) -> Result<(), PathBuf> {
    let tree = Tree::new(output.into_iter().chain([source]));
    let positions = positions(results);
    let planted = positions.iter().find(|place| is_link(place) && is_planted(&tree, place));
    let link = planted.or_else(|| positions.last().filter(|place| is_link(place)));
    match link.cloned().or_else(|| planted_on_the_way(&tree, results)) {
        Some(link) => Err(link),
        None => Ok(()),
    }
}

/// Every place a path names on the way, as spelled: `..` steps back lexically, so that a link stepped out of again is still looked at.
fn positions(path: &Path) -> Vec<PathBuf> {
    let mut here = PathBuf::new();
    let mut positions = vec![];
    for component in path.components() {
        match component {
            Component::ParentDir => {
                here.pop();
            }
            Component::CurDir => {}
            part => here.push(part),
        }
        positions.push(here.clone());
    }
    positions
}

fn is_link(place: &Path) -> bool {
    fs::symlink_metadata(place).is_ok_and(|meta| meta.is_symlink())
}

/// Whether a name lies in a directory of the tree, however that directory is spelled.
fn is_planted(tree: &Tree, place: &Path) -> bool {
    place
        .parent()
        .is_some_and(|dir| tree.holds(dir) || tree.holds(&trace::real_as_far_as_it_exists(dir)))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::symlink;

    use proptest::prelude::*;

    use super::*;

    struct Lab(tempfile::TempDir);

    impl Lab {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            for sub in ["source/real/deep", "outside", "other/sub"] {
                fs::create_dir_all(dir.path().join(sub)).unwrap();
            }
            symlink("../outside", dir.path().join("source/build")).unwrap();
            symlink("source", dir.path().join("alias")).unwrap();
            symlink("source/real", dir.path().join("inner")).unwrap();
            symlink("../../outside", dir.path().join("source/real/planted")).unwrap();
            symlink("outside", dir.path().join("own-link")).unwrap();
            Self(dir)
        }

        fn verdict(&self, source: &str, output: &str) -> Result<(), OutputRefused> {
            refuse_output(&self.0.path().join(source), &self.0.path().join(output))
        }
    }

    #[test]
    fn a_link_in_the_source_is_refused_however_the_path_is_spelled() {
        let lab = Lab::new();
        for output in [
            "source/build",
            "source/build/ash",
            "source/build/../source/out",
            "source/real/../build/ash",
            "alias/build/ash",
            "inner/planted/ash",
            "inner/../build/ash",
            "other/../source/build",
            "source/build/",
            "source/./build/x",
        ] {
            assert!(
                matches!(lab.verdict("source", output), Err(OutputRefused::Link { .. })),
                "{output}"
            );
            assert!(
                matches!(lab.verdict("alias", output), Err(OutputRefused::Link { .. })),
                "{output}"
            );
        }
    }

    #[test]
    fn plain_directories_and_the_operators_own_links_above_are_accepted() {
        let lab = Lab::new();
        for output in [
            "source/.ash/ash_output",
            "source/real/deep/out",
            "alias/out",
            "inner/out",
            "other/sub",
            "own-link/out",
            "outside",
        ] {
            assert_eq!(lab.verdict("source", output), Ok(()), "{output}");
            assert_eq!(lab.verdict("alias", output), Ok(()), "{output}");
        }
    }

    #[test]
    fn a_final_link_is_refused_wherever_it_is() {
        let lab = Lab::new();
        assert!(
            lab.verdict("source", "own-link").unwrap_err().to_string().contains("is a symlink")
        );
    }

    #[test]
    fn a_results_directory_behind_a_link_below_the_output_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        fs::create_dir_all(root.join("out/scanners/plain")).unwrap();
        fs::create_dir_all(root.join("host")).unwrap();
        symlink("../../host", root.join("out/scanners/bandit")).unwrap();
        symlink("../host", root.join("out/linked")).unwrap();
        let verdict = |path: &str| {
            refuse_linked(&root.join(path), Some(&root.join("out")), &root.join("src"))
        };
        assert_eq!(verdict("out/scanners/bandit"), Err(root.join("out/scanners/bandit")));
        assert_eq!(verdict("out/linked/bandit"), Err(root.join("out/linked")));
        assert_eq!(verdict("out/scanners/plain"), Ok(()));
        // A link of the operator's that leads through one of a scanner's, and a way that only the kernel takes through it.
        symlink("out/linked", root.join("own")).unwrap();
        fs::create_dir_all(root.join("out2/scanners")).unwrap();
        for path in ["own/bandit", "own/../out2/scanners"] {
            assert_eq!(verdict(path), Err(root.join("out/linked")), "{path}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]
        #[test]
        fn whatever_is_accepted_really_lies_where_it_reads(parts in prop::collection::vec(prop::sample::select(vec!["source", "alias", "inner", "build", "real", "deep", "planted", "..", ".", "outside", "other", "new"]), 1..7)) {
            let lab = Lab::new();
            let root = fs::canonicalize(lab.0.path()).unwrap();
            let output = root.join(parts.join("/"));
            if refuse_output(&root.join("source"), &output).is_ok() {
                let through_planted = trace::trace_what_exists(&output).is_some_and(|traced| traced.links.iter().any(|(place, _)| place.starts_with(root.join("source"))));
                prop_assert!(!through_planted, "{output:?}");
            }
        }
    }
}
