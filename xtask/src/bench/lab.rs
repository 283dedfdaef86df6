//! Trees and stand-ins to measure with.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use serde_json::json;

use crate::shell::Call;

/// About as much Python as bandit reads in this many bytes; taken from the system's own library.
pub(super) fn python_tree(dir: &Path, bytes: u64) -> Result<()> {
    if dir.exists() {
        return Ok(());
    }
    let said = Call::new("python3")
        .args(["-I", "-c", "import sysconfig; print(sysconfig.get_path('stdlib'))"])
        .said()?;
    let library = PathBuf::from(said.stdout.trim());
    let mut files: Vec<PathBuf> = fs::read_dir(&library)
        .with_context(|| format!("no Python library at {}", library.display()))?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "py"));
    files.sort();
    fs::create_dir_all(dir)?;
    let mut left = bytes;
    for (number, file) in files.iter().enumerate() {
        let text = fs::read(file)?;
        let size = text.len() as u64;
        if size < left {
            left -= size;
            fs::write(dir.join(format!("module_{number}.py")), text)?;
        }
    }
    Ok(())
}

/// A hundred directories with so many small files each.
pub(super) fn wide_tree(dir: &Path, files_each: usize) -> Result<()> {
    if dir.exists() {
        return Ok(());
    }
    for outer in 0..100 {
        let inner = dir.join(format!("package_{outer}"));
        fs::create_dir_all(&inner)?;
        for file in 0..files_each {
            fs::write(inner.join(format!("file_{file}.txt")), "text\n")?;
        }
    }
    fs::write(dir.join(".gitignore"), "*.log\n/build/\n")?;
    Ok(())
}

/// A tool directory in which `bandit` copies a prepared result with so many findings.
pub(super) fn loud_bandit(dir: &Path, findings: usize) -> Result<()> {
    let bin = dir.join("bandit/bin");
    fs::create_dir_all(&bin)?;
    let prepared = dir.join("bandit/prepared.json");
    let result = |number: usize| {
        json!({"filename": "app.py", "test_id": format!("B{}", 100 + number % 50), "test_name": "bench", "issue_text": format!("finding number {number}"),
            "issue_severity": "MEDIUM", "issue_confidence": "HIGH", "issue_cwe": {"id": 78, "link": "https://cwe.mitre.org/data/definitions/78.html"},
            "more_info": "https://bandit.readthedocs.io/", "line_number": number + 1, "line_range": [number + 1], "col_offset": 0, "end_col_offset": 9,
            "code": format!("{} import os\n", number + 1)})
    };
    let results: Vec<_> = (0..findings).map(result).collect();
    let report = json!({"errors": [], "metrics": {}, "results": results});
    fs::write(&prepared, serde_json::to_vec(&report)?)?;
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && {{ echo 'bandit 1.9.4'; exit 0; }}\n\
         while [ $# -gt 0 ]; do case \"$1\" in --output) out=$2; shift;; --output=*) out=${{1#--output=}};; esac; shift; done\n\
         cp '{}' \"$out\"\nexit 1\n",
        prepared.display()
    );
    for (name, text) in [("bandit", script.as_str()), ("python", "#!/bin/sh\n")] {
        fs::write(bin.join(name), text)?;
        fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755))?;
    }
    let stamp = json!({"format": 1, "version": "1.9.4", "requirement": "bandit==1.9.4", "with": [], "python": "", "installer": "bench", "installed_at": "2026-01-01T00:00:00Z"});
    fs::write(dir.join("bandit/.ash-tool.json"), stamp.to_string())?;
    Ok(())
}

/// A configuration of so many lines, all of them meaningful.
pub(super) fn long_config(path: &Path, lines: usize) -> Result<()> {
    let mut text = String::from(
        "project_name: bench\nglobal_settings:\n  severity_threshold: MEDIUM\n  suppressions:\n",
    );
    for number in 0..lines / 4 {
        text.push_str(&format!("    - rule_id: B{number}\n      path: src/module_{number}.py\n      reason: reviewed\n      expiration: 2099-01-01\n"));
    }
    fs::write(path, text)?;
    Ok(())
}
