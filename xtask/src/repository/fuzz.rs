//! The fuzzers are a workspace of their own: what they need (a C++ runtime, another licence) is no part of the product.

use super::{
    dependencies::{BANNED, REGISTRY},
    files::{committed, rust_files, text},
};

/// What only the fuzzers need, with the licences it was let in under. `deny.toml` has the same exception.
const FUZZERS_ONLY: &[(&str, &str)] = &[
    ("arbitrary", "MIT OR Apache-2.0"),
    ("jobserver", "MIT OR Apache-2.0"),
    ("libfuzzer-sys", "(MIT OR Apache-2.0) AND NCSA"),
];

/// The packages of a lock file: name, version, source.
fn locked(path: &str) -> Vec<(String, String, String)> {
    let text = text(path.as_ref());
    let packages = text.split("\n[[package]]\n").skip(1);
    let value = |package: &str, key: &str| {
        let line = package.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""));
        line.and_then(|line| line.strip_suffix('"')).unwrap_or_default().to_owned()
    };
    let read =
        |package| (value(package, "name"), value(package, "version"), value(package, "source"));
    packages.map(read).collect()
}

#[test]
fn the_fuzzers_come_under_the_rules_for_dependencies() {
    let product = locked("Cargo.lock");
    let fuzzers = locked("fuzz/Cargo.lock");
    assert!(product.len() > 50 && fuzzers.len() > 30, "the lock files are read");
    for package @ (name, version, source) in &fuzzers {
        assert!(!BANNED.iter().any(|(banned, _)| banned == name), "`{name}` is banned");
        let is_ours = name.starts_with("ash-") && source.is_empty();
        assert!(is_ours || source == REGISTRY, "{name} {version}: from `{source}`");
        // What the product has too was judged there, in the same version.
        let is_known = FUZZERS_ONLY.iter().any(|(known, _)| known == name);
        assert!(
            is_ours || is_known || product.contains(package),
            "{name} {version} is in fuzz/Cargo.lock and not in Cargo.lock: judge its licence and add it to the list, or update both"
        );
    }
    for (name, licence) in FUZZERS_ONLY {
        assert!(
            fuzzers.iter().any(|(locked, ..)| locked == name),
            "`{name}` is gone; correct the list"
        );
        assert!(!product.iter().any(|(locked, ..)| locked == name), "`{name}` is in the product");
        let excepted = format!("crate = \"{name}\"");
        let is_excepted = text("deny.toml".as_ref()).contains(&excepted);
        assert_eq!(licence.contains("NCSA"), is_excepted, "{name}: {licence}");
    }
}

#[test]
fn nothing_of_the_fuzzers_is_in_the_product() {
    let manifest = text("fuzz/Cargo.toml".as_ref());
    assert!(manifest.contains("\n[workspace]\n") && manifest.contains("publish = false"));
    assert!(text("Cargo.toml".as_ref()).contains("exclude = [\"fuzz\"]"));
    assert!(!text("Cargo.lock".as_ref()).contains("libfuzzer-sys"));
}

#[test]
fn every_fuzz_target_is_declared_and_starts_no_process() {
    let manifest = text("fuzz/Cargo.toml".as_ref());
    let targets = rust_files("fuzz");
    assert!(targets.len() >= 2, "{targets:?}");
    for path in targets {
        let name = path.strip_prefix("fuzz").unwrap_or(&path).display().to_string();
        assert!(
            manifest.contains(&format!("path = \"{name}\"")),
            "{name} is not in fuzz/Cargo.toml"
        );
        let code = text(&path);
        // Put together here: this file names none of them.
        for word in [["Command", "::new"], ["process", "::Command"], ["un", "safe "]] {
            assert!(!code.contains(&word.concat()), "{name}: {}", word.concat());
        }
    }
}

#[test]
fn no_corpus_and_no_crash_is_committed() {
    let kept = ["corpus", "artifacts", "target", "coverage"];
    let found = committed().into_iter().filter(|path| {
        path.starts_with("fuzz")
            && path.components().any(|part| kept.iter().any(|dir| part.as_os_str() == *dir))
    });
    assert_eq!(found.collect::<Vec<_>>(), Vec::<std::path::PathBuf>::new());
}
