//! Static builds of `ash`, its test programs and the hostile program.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};

use super::arch::Arch;
use crate::{
    machine::{self, Package},
    shell::{Call, cargo, say},
    workspace,
};

/// The test programs that run on a kernel.
pub(super) const TESTS: &[&str] = &["hostile", "works", "lifecycle"];

const CROSS_COMPILER: Package = Package {
    name: "gcc-aarch64-linux-gnu",
    why: "building for arm64",
    present: || Call::new("aarch64-linux-gnu-gcc").arg("--version").works(),
};

const CROSS_LIBRARY: Package = Package {
    name: "libc6-dev-arm64-cross",
    why: "building for arm64",
    present: || Path::new("/usr/aarch64-linux-gnu/lib/libc.a").exists(),
};

/// Debian's compiler comes with a standard library for arm64, where the installed toolchain has none.
const DEBIAN_RUST: Package = Package {
    name: "rustc-web",
    why: "building for arm64 (or `rustup target add aarch64-unknown-linux-gnu`)",
    present: || Path::new(DEBIAN_RUSTC).exists(),
};

const DEBIAN_RUST_LIBRARY: Package = Package {
    name: "libstd-rust-web-dev:arm64",
    why: "building for arm64 (or `rustup target add aarch64-unknown-linux-gnu`)",
    present: || has_standard_library(DEBIAN_RUSTC, Arch::Arm64),
};

const DEBIAN_RUSTC: &str = "/usr/bin/rustc";

/// What was built. The programs know each other by the paths they were built at.
#[derive(Debug)]
pub(super) struct Programs {
    /// Cargo's directory: everything else lies below it.
    pub(super) base: PathBuf,
    /// `ash`.
    pub(super) ash: PathBuf,
    /// The test programs in the order of [`TESTS`].
    pub(super) tests: Vec<PathBuf>,
    /// The hostile program.
    pub(super) hostile: Vec<PathBuf>,
}

/// Builds everything for one architecture.
pub(super) fn build(arch: Arch, base: &Path) -> Result<Programs> {
    say(&format!("building ash and its tests for {}", arch.target()));
    let rustc = compiler(arch)?;
    let mut call = cargo()
        .args(["test", "--locked", "--no-run", "--package", "ash", "--target", arch.target()])
        // Emulated processors are slow, and the optimiser is not.
        .args(["--config", "profile.dev.opt-level=1", "--config", "profile.dev.debug=false"])
        .args(TESTS.iter().flat_map(|test| ["--test", test]))
        .env("CARGO_TARGET_DIR", base)
        .env("RUSTFLAGS", "-C target-feature=+crt-static")
        .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", cross_linker(arch))
        .cwd(&workspace::root());
    if let Some(rustc) = rustc {
        call = call.env("RUSTC", rustc);
    }
    let built = workspace::build(call)?;
    let find = |name: &str, kind: &str| {
        let found = built.iter().find(|program| program.name == name && program.kind == kind);
        found
            .map(|program| program.path.clone())
            .with_context(|| format!("cargo built no `{name}` for {}", arch.target()))
    };
    let tests: Result<Vec<PathBuf>> = TESTS.iter().map(|test| find(test, "test")).collect();
    let ash = find("ash", "bin")?;
    let hostile = hostile_programs(&ash)?;
    ensure!(!hostile.is_empty(), "the build left no hostile program");
    Ok(Programs { base: base.to_owned(), ash, tests: tests?, hostile })
}

/// Cargo keeps one for each fingerprint of the build script; the test programs know theirs.
fn hostile_programs(ash: &Path) -> Result<Vec<PathBuf>> {
    let build = ash.with_file_name("build");
    let directories = fs::read_dir(&build).with_context(|| format!("no `{}`", build.display()))?;
    Ok(directories
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|directory| {
            directory
                .file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with("ash-testkit-"))
        })
        .map(|directory| directory.join("out/hostile"))
        .filter(|program| program.is_file())
        .collect())
}

/// The compiler to use, unless it is the usual one.
fn compiler(arch: Arch) -> Result<Option<&'static str>> {
    let native = Arch::host() == Some(arch);
    if !native {
        ensure!(
            arch == Arch::Arm64,
            "building for {} is not supported on this machine; run it on an amd64 one",
            arch.name()
        );
        ensure!(
            machine::ensure_packages(&[CROSS_COMPILER, CROSS_LIBRARY])?,
            "packages are missing, see above"
        );
    }
    if has_standard_library("rustc", arch) {
        return Ok(None);
    }
    ensure!(
        machine::ensure_packages(&[DEBIAN_RUST, DEBIAN_RUST_LIBRARY])?,
        "no standard library for {}, see above",
        arch.target()
    );
    Ok(Some(DEBIAN_RUSTC))
}

fn has_standard_library(rustc: &str, arch: Arch) -> bool {
    let root = workspace::root();
    let said = Call::new(rustc)
        .args(["--print", "target-libdir", "--target", arch.target()])
        .cwd(&root)
        .said();
    said.is_ok_and(|said| said.code == Some(0) && Path::new(said.stdout.trim()).is_dir())
}

const fn cross_linker(arch: Arch) -> &'static str {
    match arch {
        Arch::Arm64 if !cfg!(target_arch = "aarch64") => "aarch64-linux-gnu-gcc",
        _ => "cc",
    }
}
