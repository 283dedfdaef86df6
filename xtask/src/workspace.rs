//! Where the workspace is, and what cargo built.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::shell::{Call, cargo};

/// The workspace's directory.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or_else(|| Path::new(".")).to_owned()
}

/// Where cargo puts what it builds, and xtask what it measures.
pub(crate) fn target_dir() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| root().join("target"), |dir| root().join(dir))
}

/// Something cargo built that can be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Executable {
    /// The package's name.
    pub(crate) package: String,
    /// The target's name.
    pub(crate) name: String,
    /// `bin`, `test`, `lib`, …
    pub(crate) kind: String,
    /// Whether it holds tests.
    pub(crate) is_test: bool,
    /// The package's directory.
    pub(crate) package_dir: PathBuf,
    /// The file.
    pub(crate) path: PathBuf,
}

/// Runs a cargo command that builds, and lists what can be started.
pub(crate) fn build(command: Call) -> Result<Vec<Executable>> {
    let (code, stdout) =
        command.arg("--message-format=json-render-diagnostics").quiet().stdout()?;
    ensure!(code == Some(0), "the build failed");
    Ok(stdout.lines().filter_map(|line| executable(&serde_json::from_str(line).ok()?)).collect())
}

fn executable(message: &Value) -> Option<Executable> {
    let path = PathBuf::from(message.get("executable")?.as_str()?);
    let target = message.get("target")?;
    let package_dir = Path::new(message.get("manifest_path")?.as_str()?).parent()?.to_owned();
    Some(Executable {
        package: package_dir.file_name()?.to_str()?.to_owned(),
        name: target.get("name")?.as_str()?.to_owned(),
        kind: target.get("kind")?.get(0)?.as_str()?.to_owned(),
        is_test: message.get("profile")?.get("test")?.as_bool()?,
        package_dir,
        path,
    })
}

/// Builds `ash` and returns the file.
pub(crate) fn build_ash(release: bool) -> Result<PathBuf> {
    let profile = if release { &["--release"][..] } else { &[] };
    let built = build(
        cargo()
            .args(["build", "--locked", "--package", "ash", "--bin", "ash"])
            .args(profile)
            .cwd(&root()),
    )?;
    let ash = built.into_iter().find(|built| built.kind == "bin" && built.name == "ash");
    ash.map(|built| built.path).context("cargo built no `ash`")
}
