//! Any bytes as a configuration in any format, with an override: it loads or says why, in time, in little memory, and never lets the
//! scanned tree turn off a sandbox that the operator asked for.
#![no_main]

use std::{fs, path::PathBuf, sync::OnceLock};

use ash_config::{Request, load};
use libfuzzer_sys::fuzz_target;

const NAMES: [&str; 4] = [".ash.yaml", ".ash.json", ".ashrc.toml", "pyproject.toml"];

fuzz_target!(|input: (u8, &str, &[u8])| {
    let (choice, text, bytes) = input;
    let root = root();
    let name = NAMES[usize::from(choice) % NAMES.len()];
    let path = root.join(name);
    if fs::write(&path, bytes).is_err() {
        return;
    }
    let overrides = if choice >= 128 { vec![text.to_owned()] } else { vec![] };
    let loaded = load(&Request {
        source: root.clone(),
        config: None,
        ash_config_env: None,
        overrides,
        sandbox_flag: Some("bwrap".to_owned()),
        cwd: root.clone(),
        pwd_env: None,
        home: None,
        env: &|name| (name == "ASH_SET").then(|| "value".into()),
        known_scanners: &["bandit"],
        workspace: None,
        identify: None,
    });
    match loaded {
        Ok(loaded) => {
            let sandbox = &loaded.settings.sandbox;
            assert_eq!(sandbox.mode.as_deref(), Some("bwrap"));
            if choice < 128 {
                assert_eq!(sandbox.network.granted, None);
                assert!(sandbox.extra_read_paths.is_empty());
            }
            for notice in &loaded.notices {
                assert!(!notice.line().contains('\u{1b}'));
            }
        }
        Err(errors) => {
            let shown = format!("{errors}{}", errors.render(false));
            assert!(!shown.contains(|c: char| c.is_control() && c != '\n'));
        }
    }
    let _ = fs::remove_file(&path);
});

/// A checkout of this process's own.
fn root() -> &'static PathBuf {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    ROOT.get_or_init(|| {
        let root = std::env::temp_dir().join(format!("ash-fuzz-{}", std::process::id()));
        fs::create_dir_all(root.join(".git")).expect("a temporary directory");
        root.canonicalize().expect("it was made just now")
    })
}
