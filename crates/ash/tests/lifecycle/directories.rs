//! The directories made for one command: which stay, and which go.

use std::{ffi::OsString, fs, os::unix::fs::PermissionsExt, time::Duration};

use ash_testkit::{Lab, Run};
use libtest_mimic::{Failed, Trial};

use crate::{check, each, sandboxed, support::ASH};

pub(super) fn trials() -> Vec<Trial> {
    [
        each("the_results_directory_is_named_first_and_keeps_what_was_written", results_line),
        each("a_private_cache_is_empty_and_removed_however_the_command_ends", private_cache),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn results_line(backend: &'static str) -> Result<(), Failed> {
    let lab = Lab::new();
    let options: Vec<OsString> =
        vec!["--sandbox".into(), backend.into(), "--source-dir".into(), lab.source().into()];
    let temporary = lab.path("temporary");
    fs::create_dir(&temporary).unwrap();
    // The results directory is the only writable place that stays: the script finds it by its name.
    let script = "for d in \"$1\"/ash-results-*; do stat -c %a \"$d\"; echo x >\"$d/file\"; done";
    let words = ["/bin/sh", "-c", script, "sh"].map(OsString::from);
    let command = words.into_iter().chain([temporary.clone().into()]);
    let seeing = options.iter().cloned().chain(["--read".into(), temporary.clone().into()]);
    let first = Run::sandboxed(ASH, seeing, command)
        .envs(lab.environment())
        .env("TMPDIR", &temporary)
        .finish();
    let text = first.err();
    let line = text.lines().next().unwrap_or_default().to_owned();
    let directory = line.strip_prefix("results: ").unwrap_or_default().to_owned();
    check("`results: ` and an absolute path", directory.starts_with('/'), || first.describe())?;
    check("it exists", fs::metadata(&directory).is_ok_and(|found| found.is_dir()), || {
        first.describe()
    })?;
    let mode = fs::metadata(&directory).map_or(0, |found| found.permissions().mode());
    check("nobody else may look", mode & 0o077 == 0, || format!("mode {mode:o}"))?;
    fs::remove_dir_all(&directory).unwrap();
    for command in ["/bin/true", "/bin/false", "/no/such/command"] {
        // What an ash left that was killed, and what one left that had no results.
        let killed = temporary.join("ash-sandbox-0123456789abcdef");
        fs::create_dir_all(killed.join("home")).unwrap();
        let unused = temporary.join("ash-results-0123456789abcdef0123456789abcdef");
        fs::create_dir(&unused).unwrap();
        let long_ago = std::time::SystemTime::now() - Duration::from_secs(7200);
        for leftover in [&killed, &unused] {
            fs::File::open(leftover).unwrap().set_modified(long_ago).unwrap();
        }
        let empty = Run::sandboxed(ASH, options.clone(), [command.into()])
            .envs(lab.environment())
            .env("TMPDIR", &temporary)
            .finish();
        let left: Vec<_> =
            fs::read_dir(&temporary).unwrap().flatten().map(|entry| entry.path()).collect();
        let named = left.iter().all(|path| empty.err().contains(&path.display().to_string()));
        check("only its own results directory is there", left.len() == 1 && named, || {
            format!("{left:?}\n{}", empty.describe())
        })?;
        fs::remove_dir(&left[0]).unwrap();
    }

    let script = format!("echo found >'{}/report.txt'", lab.results().display());
    let outcome = sandboxed(&lab, backend, &[], &script).finish();
    check(
        "a named results directory is told too",
        outcome.err().starts_with(&format!("results: {}\n", lab.results().display())),
        || outcome.describe(),
    )?;
    let kept = fs::read_to_string(lab.results().join("report.txt")).unwrap_or_default();
    check("what was written stays", kept == "found\n", || outcome.describe())
}

fn private_cache(backend: &'static str) -> Result<(), Failed> {
    let lab = Lab::new();
    let caches = || {
        let entries = fs::read_dir(lab.results()).unwrap().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.starts_with(".sandbox-cache-")).collect::<Vec<_>>()
    };
    for (end, timeout) in [("exit 0", "60"), ("kill -9 $$", "60"), ("sleep 60", "1")] {
        let script = format!(
            "test -z \"$(ls -A \"$npm_config_cache\")\" && touch \"$npm_config_cache/used\" && echo \"$npm_config_cache\"; {end}"
        );
        let more = ["--as", "npm-audit", "--offline", "--timeout", timeout];
        let outcome = sandboxed(&lab, backend, &more, &script).finish();
        let named = outcome.out();
        check(
            "an empty directory in the results that can be written to",
            named.starts_with(&lab.results().display().to_string()),
            || outcome.describe(),
        )?;
        check("it is gone", caches().is_empty(), || format!("{end}: {:?}", caches()))?;
    }
    Ok(())
}
