//! Only `ash-sandbox` starts processes, and every exception is on a list here.

use std::{collections::BTreeSet, path::PathBuf};

use super::files::{rust_files, text};

/// Product files that may start a process, replace the process image or read the whole environment. A new line here is a decision:
/// DESIGN allows one door.
const EXCEPTIONS: &[&str] = &[
    "crates/ash-sandbox/src/confine/apply.rs",
    "crates/ash-sandbox/src/confine/supervise.rs",
    "crates/ash-sandbox/src/launch.rs",
    "crates/ash-sandbox/src/launch/supervised.rs",
    "crates/ash-sandbox/src/launch/unsupervised.rs",
    "crates/ash/src/environment.rs",
];

/// First lines of a crate that cannot be talked out of.
const FENCE: &str = "#![forbid(clippy::disallowed_methods, clippy::disallowed_types)]";

/// `ash` reads the environment once, and clap's derive lifts a whole group of lints inside its own code, which does not compile under
/// `forbid`. Its exceptions are on the list above.
const FENCE_OF_ASH: &str = "#![deny(clippy::disallowed_methods, clippy::disallowed_types)]";

/// The crate with the door, and the one that only tests use.
const UNFENCED: &[&str] = &["ash-sandbox", "ash-testkit"];

fn product_files() -> Vec<PathBuf> {
    // Integration tests start the programs they test, examples are whole programs of others; neither is part of the product.
    rust_files("crates")
        .into_iter()
        .filter(|path| {
            !path
                .components()
                .any(|part| ["tests", "examples"].iter().any(|dir| part.as_os_str() == *dir))
                && !path.starts_with("crates/ash-testkit")
        })
        .collect()
}

fn lifts_the_ban(text: &str) -> bool {
    let attributes =
        text.split("#[").chain(text.split("#![")).filter_map(|rest| rest.split(']').next());
    attributes
        .filter(|attribute| attribute.starts_with("expect(") || attribute.starts_with("allow("))
        .any(|attribute| attribute.contains("clippy::disallowed_"))
}

#[test]
fn exactly_the_listed_files_may_start_a_process() {
    let lifted: BTreeSet<String> = product_files()
        .iter()
        .filter(|path| lifts_the_ban(&text(path)))
        .map(|path| path.display().to_string())
        .collect();
    let listed: BTreeSet<String> = EXCEPTIONS.iter().map(ToString::to_string).collect();
    assert_eq!(lifted, listed);
}

#[test]
fn every_exception_says_why() {
    // Put together here, so that this line is not one itself.
    let opening = ["expect(", "clippy::disallowed_"].concat();
    for path in rust_files("crates").iter().chain(&rust_files("xtask")) {
        let text = text(path);
        for attribute in text.split(&opening).skip(1).filter_map(|rest| rest.split(")]").next()) {
            assert!(
                attribute.contains("reason = \""),
                "{}: `{opening}{attribute})`",
                path.display()
            );
        }
    }
}

#[test]
fn every_other_crate_opens_with_the_fence() {
    let roots = rust_files("crates")
        .into_iter()
        .filter(|path| path.ends_with("src/lib.rs") || path.ends_with("src/main.rs"));
    let mut seen = 0;
    for path in roots {
        let name = path
            .components()
            .nth(1)
            .map(|part| part.as_os_str().to_string_lossy().into_owned())
            .unwrap_or_default();
        if UNFENCED.contains(&name.as_str()) {
            continue;
        }
        let fence = if name == "ash" { FENCE_OF_ASH } else { FENCE };
        let text = text(&path);
        let first_code =
            text.lines().find(|line| !line.starts_with("//!") && !line.trim().is_empty());
        assert_eq!(first_code, Some(fence), "{}", path.display());
        seen += 1;
    }
    assert!(seen >= 8, "only {seen} crates were looked at");
}

#[test]
fn every_module_of_ash_but_two_has_the_fence() {
    let text = text("crates/ash/src/main.rs".as_ref());
    let lines: Vec<&str> = text.lines().collect();
    let open = lines
        .windows(2)
        .filter(|pair| pair[1].starts_with("mod ") && pair[0] != FENCE.replace("#!", "#"));
    assert_eq!(open.map(|pair| pair[1]).collect::<Vec<_>>(), ["mod args;", "mod environment;"]);
}

#[test]
fn no_file_asks_for_unsafe() {
    let word = ["un", "safe "].concat();
    for path in rust_files("crates").iter().chain(&rust_files("xtask")) {
        let text = text(path);
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        let opens = |line: &&str| {
            line.contains(&format!("{word}{{"))
                || line.contains(&format!("{word}fn"))
                || line.contains(&format!("{word}impl"))
                || line.contains(&format!("{word}extern"))
        };
        assert_eq!(code.filter(opens).collect::<Vec<_>>(), [""; 0], "{}", path.display());
    }
}

#[test]
fn every_scanner_file_is_on_the_list_and_documented() {
    let list = text("crates/ash-scanners/src/scanners/mod.rs".as_ref());
    let page = text("docs/scanners.md".as_ref());
    let names: Vec<String> = rust_files("crates/ash-scanners/src/scanners")
        .iter()
        .filter(|path| path.components().count() == 5)
        .filter_map(|path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned()))
        .filter(|stem| stem != "mod" && stem != "tests")
        .collect();
    assert!(!names.is_empty());
    for name in names {
        assert!(
            list.contains(&format!("    {name}::")),
            "`{name}.rs` is not on the list in scanners/mod.rs"
        );
        assert!(
            page.contains(&format!("\n## {}\n", name.replace('_', "-"))),
            "docs/scanners.md has no section `{}`",
            name.replace('_', "-")
        );
    }
}
