//! bubblewrap: new namespaces, a root of nothing but the policy's mounts, and ash's last stage inside.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use ash_model::evidence::Tier;

use super::{BackendId, PrivateCaches, Wrap, WrapError, evidence, limits, rlimits};
use crate::{
    launch::Prepared,
    policy::Policy,
    wire::{LandlockSpec, Sockets, StageSpec, SupervisorSpec},
};

/// supervisor → bwrap → the stage (PID 1 inside), which stays → the tool.
const TOOL_DEPTH: u32 = 3;
pub(crate) const GRACE_MS: u64 = 10_000;
/// bubblewrap counts its arguments, those it reads from a descriptor too, and gives up beyond this number (`MAX_ARGS` of 0.8 to 0.11).
const MOST_ARGUMENTS: usize = 9000;
/// A directory that hides something needs no room.
const NO_ROOM: u64 = 4096;
/// Device nodes a tool may write to. No terminal is among them.
pub(crate) const DEVICES: [&str; 5] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

pub(crate) fn wrap(wrap: &Wrap<'_>) -> Result<Prepared, WrapError> {
    let policy = wrap.policy;
    let argv = argv(wrap);
    let options = argv.iter().skip(1).take_while(|word| *word != "--").count();
    if argv.len() > MOST_ARGUMENTS {
        return Err(WrapError::TooMany {
            backend: "bwrap",
            most: MOST_ARGUMENTS,
            count: argv.len(),
        });
    }
    let private = (!wrap.abilities.overlay).then(|| PrivateCaches::new(policy, wrap.scratch));
    let mut environment = policy.environment.clone();
    if let Some(private) = &private {
        private.redirect(&mut environment);
    }
    let tier = if wrap.abilities.tier == Tier::NamespacesLandlock {
        Tier::NamespacesLandlock
    } else {
        Tier::Namespaces
    };
    let evidence = evidence(
        wrap,
        BackendId::Bwrap,
        tier,
        &environment,
        private.as_ref(),
        limits(policy, true, wrap.abilities.tmpfs_size),
    );
    Ok(Prepared {
        supervisor: SupervisorSpec {
            argv,
            options,
            // bubblewrap's own environment can be read inside, at `/proc/1/environ`, whatever `--clearenv` does.
            env: environment.clone(),
            cwd: "/".into(),
            stage: Some(stage(wrap, environment)),
            tool_depth: TOOL_DEPTH,
            grace_ms: GRACE_MS,
            cleanup: private.iter().map(|private| private.root.clone().into()).collect(),
        },
        setup: private.iter().flat_map(PrivateCaches::setup).collect(),
        evidence,
    })
}

fn stage(wrap: &Wrap<'_>, env: Vec<(OsString, OsString)>) -> StageSpec {
    let policy = wrap.policy;
    let overlaid = if wrap.abilities.overlay { policy.caches.as_slice() } else { &[] };
    let writable = [&policy.home]
        .into_iter()
        .chain(&policy.temporaries)
        .chain(&policy.writable)
        .chain(overlaid);
    StageSpec {
        argv: wrap.command.argv(),
        env,
        cwd: policy.cwd.clone().into(),
        places: vec![],
        links: vec![],
        shown: vec![],
        // IP is left to the network namespace, so that a tool's own loopback works offline.
        sockets: Sockets::Internet,
        landlock: Some(LandlockSpec {
            read: vec!["/".into()],
            write: writable.map(|path| path.clone().into()).collect(),
            write_files: DEVICES.map(OsString::from).to_vec(),
            required: policy.as_root,
            ..LandlockSpec::default()
        }),
        landlock_alone: false,
        rlimits: rlimits(policy, true),
        stay: true,
    }
}

/// What is put at one place of the new root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Put {
    /// An empty directory of limited size.
    Tmpfs(u64),
    /// An empty directory over something hidden.
    HideDirectory,
    ReadOnly,
    Overlay,
    ReadWrite,
    /// `/dev/null` over a hidden file.
    HideFile,
}

/// Builds the command line. Deeper mounts come later, so that each shows through what lies above it; at one depth what is writable wins.
fn argv(wrap: &Wrap<'_>) -> Vec<OsString> {
    let policy = wrap.policy;
    let mut args = Args(vec![wrap.abilities.program.clone().into()]);
    args.words(&[
        "--unshare-user",
        "--unshare-ipc",
        "--unshare-pid",
        "--unshare-uts",
        "--unshare-cgroup-try",
    ]);
    if !policy.network {
        args.words(&["--unshare-net"]);
    }
    if wrap.abilities.disable_userns {
        args.words(&["--disable-userns"]);
    }
    // The last stage is PID 1 and reaps. bubblewrap's own reaper would be a process of the same user without seccomp and Landlock, and a
    // tool could write itself into it through `/proc/1/mem` where no Landlock stands in between.
    args.words(&["--die-with-parent", "--new-session", "--as-pid-1", "--cap-drop", "ALL"]);
    args.words(&["--proc", "/proc", "--dev", "/dev"]);
    for control in wrap.proc_controls {
        args.mount("--ro-bind", control, control);
    }
    let mounts = mounts(wrap);
    for (place, put) in &mounts {
        args.put(place, *put, wrap.abilities.tmpfs_size);
    }
    for (place, text) in aliases(policy, &mounts) {
        args.mount("--symlink", text, place);
    }
    for (place, _) in mounts.iter().filter(|(_, put)| *put == Put::HideDirectory) {
        args.pair("--remount-ro", place);
    }
    // Both are tmpfs that the tool could fill.
    args.words(&["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/", "--"]);
    args.0.push(wrap.exe.into());
    args.words(&["__confine", "apply"]);
    args.0
}

fn mounts(wrap: &Wrap<'_>) -> Vec<(PathBuf, Put)> {
    let policy = wrap.policy;
    let mut mounts: Vec<(PathBuf, Put)> =
        vec![(policy.home.clone(), Put::Tmpfs(policy.limits.home))];
    mounts.extend(
        policy.temporaries.iter().map(|dir| (dir.clone(), Put::Tmpfs(size_of(policy, dir)))),
    );
    mounts.extend(policy.read_only.iter().map(|path| (path.clone(), Put::ReadOnly)));
    let cache = if wrap.abilities.overlay { Put::Overlay } else { Put::ReadOnly };
    mounts.extend(policy.caches.iter().map(|path| (path.clone(), cache)));
    mounts.extend(policy.writable.iter().map(|path| (path.clone(), Put::ReadWrite)));
    mounts.extend(policy.hidden.iter().map(|path| {
        (
            path.clone(),
            if policy.hidden_dirs.contains(path) { Put::HideDirectory } else { Put::HideFile },
        )
    }));
    if !is_host_path(&mounts, wrap.exe) {
        mounts.push((wrap.exe.to_owned(), Put::ReadOnly));
    }
    mounts.sort_by_key(|(path, put)| (path.components().count(), *put, path.clone()));
    mounts
}

fn size_of(policy: &Policy, temporary: &Path) -> u64 {
    if temporary.starts_with("/dev") { policy.limits.shm } else { policy.limits.tmp }
}

/// Links that make spelled paths work, where the place is not already shown with the host's own link.
fn aliases<'a>(policy: &'a Policy, mounts: &[(PathBuf, Put)]) -> Vec<(&'a Path, &'a Path)> {
    let needed = policy.links.iter().filter(|(place, _)| !is_host_path(mounts, place));
    let mut aliases: Vec<(&Path, &Path)> =
        needed.map(|(place, text)| (place.as_path(), text.as_path())).collect();
    aliases.sort_by_key(|(place, _)| (place.components().count(), *place));
    aliases
}

/// Whether the innermost mount over a path shows the host's files.
fn is_host_path(mounts: &[(PathBuf, Put)], path: &Path) -> bool {
    let over = mounts.iter().filter(|(place, _)| path.starts_with(place));
    let innermost = over.max_by_key(|(place, put)| (place.components().count(), *put));
    innermost.is_some_and(|(_, put)| matches!(put, Put::ReadOnly | Put::Overlay | Put::ReadWrite))
}

struct Args(Vec<OsString>);

impl Args {
    fn words(&mut self, words: &[&str]) {
        self.0.extend(words.iter().map(OsString::from));
    }

    fn pair(&mut self, option: &str, path: &Path) {
        self.0.extend([option.into(), path.into()]);
    }

    fn mount(&mut self, option: &str, source: &Path, destination: &Path) {
        self.0.extend([option.into(), source.into(), destination.into()]);
    }

    fn put(&mut self, place: &Path, put: Put, sized: bool) {
        match put {
            Put::Tmpfs(size) => self.tmpfs(place, size, sized),
            Put::HideDirectory => self.tmpfs(place, NO_ROOM, sized),
            Put::ReadOnly => self.mount("--ro-bind", place, place),
            Put::ReadWrite => self.mount("--bind", place, place),
            Put::HideFile => self.mount("--ro-bind", Path::new("/dev/null"), place),
            Put::Overlay => {
                self.pair("--overlay-src", place);
                self.pair("--tmp-overlay", place);
            }
        }
    }

    fn tmpfs(&mut self, place: &Path, size: u64, sized: bool) {
        if sized {
            self.0.extend(["--size".into(), size.to_string().into()]);
        }
        self.pair("--tmpfs", place);
    }
}
