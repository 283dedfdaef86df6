//! `cargo xtask scan`: from a fresh clone to findings, in one command.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result};

use crate::{
    machine::{BUBBLEWRAP, VENV, ensure_packages},
    shell::{Call, say},
    workspace,
};

/// Scans a directory, or the bundled example, in the best sandbox of this machine.
pub(crate) fn run(dir: Option<&str>) -> Result<ExitCode> {
    let example = workspace::root().join("examples/vulnerable-app");
    let source = match dir {
        Some(dir) => {
            Path::new(dir).canonicalize().with_context(|| format!("cannot scan `{dir}`"))?
        }
        None => example,
    };
    ensure_packages(&[BUBBLEWRAP, VENV])?;
    say("building ash (release; the first time takes a few minutes)");
    let ash = workspace::build_ash(true)?;
    // A scanner that cannot be installed is MISSING in the report, with the reason; the others still run.
    if Call::new(&ash).args(["dependencies", "install"]).cwd(Path::new("/")).code()? != 0 {
        say("some scanners are not installed, see above; they will be reported as MISSING");
    }
    let code = scan_with(&ash, &source, dir.is_none()).code()?;
    say("");
    say(&format!("ash ended with exit code {code}"));
    report_places(&source.join(".ash/ash_output"));
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}

fn scan_with(ash: &PathBuf, source: &Path, bundled: bool) -> Call {
    let call = Call::new(ash).arg("scan").arg(source).args(["--sandbox", "auto"]);
    // The example is meant to have findings, and to give the same ones without a network.
    if bundled { call.args(["--offline", "--no-fail-on-findings"]) } else { call }
}

fn report_places(output: &Path) {
    for (name, what) in [
        ("reports/ash.summary.txt", "the summary above, as a file"),
        ("reports/ash.sarif", "all findings, for editors and code hosts"),
        ("ash_aggregated_results.json", "everything, with the evidence of each sandbox"),
        ("scanners", "what each scanner wrote itself"),
    ] {
        let path = output.join(name);
        if path.exists() {
            say(&format!("{}  {what}", path.display()));
        }
    }
}
