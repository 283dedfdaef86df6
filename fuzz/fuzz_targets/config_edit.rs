//! Any text through `ash config lint --fix` and `ash config update`: what is written means what was asked for, and a second run changes
//! nothing more.
#![no_main]

use std::path::Path;

use ash_config::edit::{Lint, fix};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, &str)| {
    let (choice, text) = input;
    let name = [".ash.yaml", ".ash.json", ".ashrc.toml"][usize::from(choice) % 3];
    let lint = Lint {
        file: Path::new(name),
        known_scanners: &["bandit"],
        today: "2026-06-15",
        is_directory: &|path| path.len() % 2 == 0,
        unused: &["a.py|B101|*|*".to_owned()],
    };
    let once = fix(text, &lint, true, true);
    if once.fixed.is_empty() {
        assert_eq!(once.text, text);
    }
    let twice = fix(&once.text, &lint, true, true);
    assert_eq!(twice.text, once.text);
});
