//! What this machine has, and apt for what it lacks.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::shell::{Call, say, which};

/// A system package, and how to see that it is not needed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Package {
    /// Its name for apt.
    pub(crate) name: &'static str,
    /// What it is for.
    pub(crate) why: &'static str,
    /// Whether what it gives is here already.
    pub(crate) present: fn() -> bool,
}

/// The sandbox `auto` prefers.
pub(crate) const BUBBLEWRAP: Package = Package {
    name: "bubblewrap",
    why: "the bwrap sandbox (without it Landlock serves)",
    present: || which("bwrap").is_some(),
};

/// Debian's Python has neither venv nor pip, and one of them is needed to fetch uv.
pub(crate) const VENV: Package = Package {
    name: "python3-venv",
    why: "fetching uv, which installs the scanners",
    present: can_fetch_uv,
};

fn can_fetch_uv() -> bool {
    let python = |args: &[&str]| Call::new("python3").args(args).cwd(Path::new("/")).works();
    which("uv").is_some()
        || python(&["-c", "import ensurepip, venv"])
        || python(&["-m", "pip", "--version"])
}

/// Whether this process is uid 0.
pub(crate) fn is_root() -> bool {
    Call::new("id").arg("-u").said().is_ok_and(|said| said.stdout.trim() == "0")
}

/// Installs what is absent when it can; says what to install when it cannot. Whether everything is here afterwards.
pub(crate) fn ensure_packages(packages: &[Package]) -> Result<bool> {
    let absent: Vec<&Package> = packages.iter().filter(|package| !(package.present)()).collect();
    if absent.is_empty() {
        return Ok(true);
    }
    let names: Vec<&str> = absent.iter().map(|package| package.name).collect();
    if is_root() && which("apt-get").is_some() {
        let apt = || Call::new("apt-get").env("DEBIAN_FRONTEND", "noninteractive").arg("-qq");
        // One that cannot be had must not keep the others away.
        let fetched = apt().arg("update").code()? == 0;
        for name in names.iter().filter(|_| fetched) {
            apt().args(["install", "--yes", "--no-install-recommends", name]).code()?;
        }
    }
    let mut complete = true;
    for package in absent.iter().filter(|package| !(package.present)()) {
        complete = false;
        say(&format!(
            "not here: {} ({}); on Debian and Ubuntu `sudo apt install {}`",
            package.name, package.why, package.name
        ));
    }
    Ok(complete)
}

/// Whether every user can reach and read this path.
pub(crate) fn is_open_to_all(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.ancestors().all(|dir| {
        dir.metadata().is_ok_and(|data| {
            data.permissions().mode() & 0o005 == 0o005
                || (!data.is_dir() && data.permissions().mode() & 0o004 != 0)
        })
    })
}

/// The directory for scanners that tests share: one that an ordinary user can read too.
pub(crate) fn test_tools_dir(target: &Path) -> PathBuf {
    if let Some(dir) =
        std::env::var_os("ASH_TOOLS_DIR").map(PathBuf::from).filter(|dir| dir.is_absolute())
    {
        return dir;
    }
    if is_root() { PathBuf::from("/opt/ash-test/tools") } else { target.join("ash-tools") }
}
