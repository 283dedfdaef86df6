//! Attacks on how ash sets a sandbox up and on what it reads afterwards. They are not the hostile program's: somebody else moves things
//! meanwhile, the task is out of proportion, or it takes a whole scan.

mod results;

use std::{ffi::OsString, fs, path::PathBuf};

use ash_testkit::{Lab, Outcome, Run, mode, path};
use libtest_mimic::{Completion, Failed, Trial};

use crate::support::{ASH, COLUMNS, trial};

/// Reads everything it was told to, and says that it runs.
const SPY: &str = r#"echo STARTED; cat "$@"; :"#;

/// More than bubblewrap takes as arguments, and more than fits into a default pipe.
const MANY: usize = 9500;

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = vec![
        Trial::test("K06::off::offline", || results::earlier("off").map(drop)),
        Trial::test("O25::off::offline", || results::replaced("off").map(drop)),
    ];
    for &backend in COLUMNS {
        trials
            .push(trial(format!("U10::{backend}::offline"), backend, move || huge_policy(backend)));
        trials.push(trial(format!("K09::{backend}::offline"), backend, move || next_run(backend)));
        trials.push(trial(format!("K06::{backend}::offline"), backend, move || {
            results::earlier(backend)
        }));
        trials.push(trial(format!("O25::{backend}::offline"), backend, move || {
            results::replaced(backend)
        }));
        // Landlock alone starts no program that could be made to wait; its grants are tested one by one.
        if mode(backend) != "landlock" {
            let name = format!("U14::{backend}::offline");
            trials.push(trial(name, backend, move || swapped_ancestor(backend)));
        }
    }
    trials
}

fn check(what: &str, holds: bool, outcome: &Outcome) -> Result<(), Failed> {
    if holds { Ok(()) } else { Err(format!("{what}\n{}", outcome.describe()).into()) }
}

fn sandboxed(
    lab: &Lab,
    backend: &'static str,
    source: PathBuf,
    more: Vec<OsString>,
    spied: &[PathBuf],
) -> Run {
    let mut options: Vec<OsString> =
        ["--sandbox", mode(backend), "--offline", "--json"].map(OsString::from).to_vec();
    options.extend(["--source-dir".into(), source.into()]);
    options.extend(["--results-dir".into(), lab.results().into()]);
    options.extend(more);
    let mut command = ["/bin/sh", "-c", SPY, "sh"].map(OsString::from).to_vec();
    command.extend(spied.iter().map(|path| path.clone().into()));
    Run::sandboxed(ASH, options, command)
        .envs(lab.environment())
        .env("PATH", path(backend))
        .timeout(std::time::Duration::from_secs(120))
}

/// With more grants than a backend can be told of, it confines all the same, or nothing runs.
fn huge_policy(backend: &'static str) -> Result<Completion, Failed> {
    let lab = Lab::new();
    let key = lab.path("home/.ssh/id_rsa");
    let mut reads = Vec::new();
    for number in 0..MANY {
        let directory = lab.path(&format!("many/{number}/granted"));
        fs::create_dir_all(&directory).unwrap();
        reads.extend(["--read".into(), directory.into()]);
    }
    let bare =
        Run::new(["cat".into(), OsString::from(&key)]).env("PATH", ash_testkit::PATH).finish();
    check("without a sandbox the key can be read", bare.out().contains(lab.secret()), &bare)?;

    let outcome = sandboxed(&lab, backend, lab.source(), reads, &[key]).finish();
    let started = outcome.out().contains("STARTED");
    check("the key is not read", !outcome.out().contains(lab.secret()), &outcome)?;
    check(
        "it runs confined, or not at all and with a reason",
        started == (outcome.code == Some(0)) && (started || outcome.code == Some(125)),
        &outcome,
    )?;
    Ok(Completion::Completed)
}

/// What one scanner leaves in its private places, the next one must not find: it could be code that is loaded, or a socket's name.
fn next_run(backend: &'static str) -> Result<Completion, Failed> {
    let lab = Lab::new();
    let name = lab.unique();
    let directories = r#"for dir in "$HOME" "$HOME/.cache" "${TMPDIR:-/tmp}" "$UV_CACHE_DIR" "$npm_config_cache" /tmp /var/tmp /dev/shm; do"#;
    let leave = format!(
        "{directories} mkdir -p \"$dir\"; echo x >\"$dir/{name}\"; done 2>/dev/null; echo STARTED"
    );
    let find = format!(
        "{directories} [ ! -e \"$dir/{name}\" ] || echo \"FOUND in $dir\"; done; echo STARTED"
    );
    let run = |mode_of: &'static str, script: &str| {
        let mut options = vec!["--sandbox".into(), OsString::from(mode(mode_of))];
        options.extend(["--offline".into(), "--source-dir".into(), lab.source().into()]);
        options.extend(["--results-dir".into(), lab.results().into()]);
        let command = ["/bin/sh", "-c", script].map(OsString::from);
        let search = if mode_of == "off" { ash_testkit::PATH.into() } else { path(mode_of) };
        Run::sandboxed(ASH, options, command)
            .envs(lab.environment())
            .env("PATH", search)
            .timeout(std::time::Duration::from_secs(120))
            .finish()
    };
    for script in [&leave, &find] {
        let outcome = run(backend, script);
        check("it runs", outcome.out().contains("STARTED"), &outcome)?;
        // Without a mount namespace the host's shared memory is everybody's: F38 and I01.
        let found: Vec<String> = outcome
            .out()
            .lines()
            .filter(|line| line.starts_with("FOUND"))
            .filter(|line| mode(backend) != "landlock" || !line.ends_with("/dev/shm"))
            .map(str::to_owned)
            .collect();
        check("nothing is found", found.is_empty(), &outcome)?;
    }
    run("off", &leave);
    let bare = run("off", &find);
    for directory in ["/tmp", "/var/tmp", "/dev/shm"] {
        drop(fs::remove_file(PathBuf::from(directory).join(name)));
    }
    check("without a sandbox it is found", bare.out().contains("FOUND in"), &bare)?;
    Ok(Completion::Completed)
}

/// Between the look at the source and the mount, a directory above the source becomes a link to something else.
fn swapped_ancestor(backend: &'static str) -> Result<Completion, Failed> {
    let lab = Lab::new();
    let source = lab.path("moved/source");
    for directory in [&source, &lab.path("home/source")] {
        fs::create_dir_all(directory).unwrap();
    }
    fs::write(source.join("main.py"), "print(1)\n").unwrap();
    let key = lab.path("home/source/key");
    fs::write(&key, lab.secret()).unwrap();
    let spied = [source.join("main.py"), source.join("key")];

    let program = place_wrapper(&lab, backend)?;
    let directory = program.parent().unwrap().to_owned();
    let run = || {
        let search = [directory.as_os_str(), &path(backend)].join(":".as_ref());
        sandboxed(&lab, backend, source.clone(), vec![], &spied).env("PATH", search).finish()
    };
    let before = run();
    check("it works while nothing moves", before.out().contains("print(1)"), &before)?;

    fs::write(lab.path("armed"), "").unwrap();
    let outcome = run();
    let is_link = fs::symlink_metadata(lab.path("moved")).is_ok_and(|found| found.is_symlink());
    check("the directory was swapped", is_link, &outcome)?;
    check("and leads to the key", fs::read_to_string(&spied[1]).is_ok(), &outcome)?;
    check("the key is not read", !outcome.out().contains(lab.secret()), &outcome)?;
    check("nothing runs", !outcome.out().contains("STARTED"), &outcome)?;
    check("ash itself refuses", matches!(outcome.code, Some(125 | 126)), &outcome)?;
    let refused = outcome.json().unwrap_or_default()["refused"].to_string();
    check("the reason names the source", refused.contains("/moved/source`"), &outcome)?;
    // firejail mounts what the name led to elsewhere, so that nothing is left at the name.
    let says = mode(backend) != "bwrap" || refused.contains("was replaced");
    check("the reason says what happened", says, &outcome)?;
    Ok(Completion::Completed)
}

/// The backend's program, preceded by somebody who swaps the directory at the moment it is started for the source.
fn place_wrapper(lab: &Lab, backend: &'static str) -> Result<PathBuf, Failed> {
    let script = format!(
        "case \"$*\" in *'{0}/moved/source'*)\n  if [ -e '{0}/armed' ] && [ ! -L '{0}/moved' ]; then\n    mv '{0}/moved' '{0}/moved.away' && ln -s '{0}/home' '{0}/moved'\n  fi ;;\nesac\nexec '{1}' \"$@\"\n",
        lab.path("").display().to_string().trim_end_matches('/'),
        program(backend)?.display(),
    );
    install(lab, mode(backend), &script)
}

/// The backend's own program.
fn program(backend: &'static str) -> Result<PathBuf, Failed> {
    let directories = path(backend).into_string().map_err(|_| "`PATH` is not text")?;
    let mut found = directories.split(':').map(|dir| PathBuf::from(dir).join(mode(backend)));
    Ok(found.find(|file| file.is_file()).ok_or("the backend is not on PATH")?)
}

/// Makes a program of the lab from a shell script.
fn install(lab: &Lab, name: &str, script: &str) -> Result<PathBuf, Failed> {
    let file = lab.path("tools/bin").join(name);
    let script = format!("#!/bin/sh\n{script}");
    // Written by another process, so that no descriptor for writing leaks into a child that another trial starts meanwhile.
    let words = ["/bin/sh", "-c", r#"printf %s "$2" >"$1" && chmod 755 "$1""#, "sh"];
    let words = words.map(OsString::from).into_iter().chain([file.clone().into(), script.into()]);
    let wrote = Run::new(words).env("PATH", ash_testkit::PATH).finish();
    check("the program is in place", wrote.code == Some(0), &wrote)?;
    Ok(file)
}
