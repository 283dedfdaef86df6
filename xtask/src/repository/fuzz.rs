//! The fuzzers are a workspace of their own: what they need (a C++ runtime, another licence) is no part of the product.

use super::files::{committed, rust_files, text};

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
