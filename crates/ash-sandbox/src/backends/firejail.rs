//! firejail: namespaces made by a setuid program. Everything outside the home stays visible to it, so ash's Landlock rules inside do the
//! rest; where the kernel has none, this is the weaker tier the documentation describes.

mod links;

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use ash_model::{evidence::Tier, path::printable};

use super::{
    BackendId, PrivateCaches, Wrap, WrapError,
    bwrap::{DEVICES, GRACE_MS},
    evidence, landlock, limits, rlimits,
    shared::has_byte,
};
use crate::{
    environment,
    launch::{Prepared, Setup},
    wire::{LandlockSpec, Sockets, StageSpec, SupervisorSpec},
};

/// supervisor → firejail → its PID 1 inside → the stage, which stays → the tool.
const TOOL_DEPTH: u32 = 4;

/// What every run gets, the probe's as well. An orphan of the tool keeps firejail 0.9.72 alive without the deterministic shutdown, and
/// System V memory and message queues of the user are readable without an IPC namespace.
pub(crate) const CONSTANTS: [&str; 11] = [
    "--noprofile",
    "--private-dev",
    "--nonewprivs",
    "--caps.drop=all",
    "--seccomp",
    "--nogroups",
    "--dbus-user=none",
    "--dbus-system=none",
    "--ipc-namespace",
    "--deterministic-shutdown",
    "--read-only=/",
];

/// firejail 0.9.72 takes fewer than 128 words. Beyond that, what it may show goes into a profile.
const MOST_WORDS: usize = 120;

pub(crate) fn wrap(wrap: &Wrap<'_>) -> Result<Prepared, WrapError> {
    let policy = wrap.policy;
    let view = View::new(wrap);
    let links = view.links(policy);
    let mut argv = argv(wrap, &view, &links)?;
    let profile = wrap.scratch.join("firejail.profile");
    let lines = if argv.len() > MOST_WORDS { into_profile(&mut argv, &profile)? } else { vec![] };
    let private = PrivateCaches::new(policy, wrap.scratch);
    let stand_in = !hides_the_home(wrap);
    let mut environment = policy.environment.clone();
    let mut setup = vec![];
    if !lines.is_empty() {
        setup.extend([Setup::Dir(wrap.scratch.to_owned()), Setup::File { at: profile, lines }]);
    }
    let has_scratch = stand_in || !setup.is_empty();
    if stand_in {
        let home = wrap.scratch.join("home");
        environment::set(&mut environment, "HOME", &home);
        setup.extend([wrap.scratch.to_owned(), home.clone()].map(Setup::Dir));
        setup.extend(landlock::farm(policy, &home));
    } else {
        environment::set(&mut environment, "HOME", &policy.home);
    }
    private.redirect(&mut environment);
    environment.sort();
    let mut command = wrap.command.argv();
    links.tell(command.iter_mut().chain(environment.iter_mut().map(|(_, value)| value)))?;
    setup.extend(private.setup());
    let mut cleanup = vec![private.root.clone().into_os_string()];
    cleanup.extend(has_scratch.then(|| wrap.scratch.into()));
    let tier = if wrap.abilities.tier == Tier::NamespacesLandlock {
        Tier::NamespacesLandlock
    } else {
        Tier::Namespaces
    };
    let evidence = evidence(
        wrap,
        BackendId::Firejail,
        tier,
        &environment,
        Some(&private),
        limits(policy, false, false),
    );
    Ok(Prepared {
        supervisor: SupervisorSpec {
            argv,
            options: 0,
            env: environment.clone(),
            cwd: "/".into(),
            stage: Some(StageSpec {
                argv: command,
                env: environment,
                cwd: policy.cwd.clone().into(),
                places: vec![],
                links: links
                    .inside
                    .iter()
                    .map(|(place, real)| (place.into(), real.into()))
                    .collect(),
                shown: view.granted().map(OsString::from).collect(),
                sockets: Sockets::Internet,
                landlock: Some(rules(wrap, &view)),
                landlock_alone: false,
                rlimits: rlimits(policy, false),
                stay: true,
            }),
            tool_depth: TOOL_DEPTH,
            grace_ms: GRACE_MS,
            cleanup,
        },
        setup,
        evidence,
    })
}

/// firejail puts an empty home over the account's own one only. With another `HOME`, a directory made for the spawn stands in for it, and
/// Landlock has to refuse the real one.
fn hides_the_home(wrap: &Wrap<'_>) -> bool {
    wrap.account_home == Some(&wrap.policy.home)
}

fn private_home<'a>(wrap: &Wrap<'a>) -> &'a Path {
    if hides_the_home(wrap) { &wrap.policy.home } else { wrap.scratch }
}

/// The host's names hold inside too.
fn rules(wrap: &Wrap<'_>, view: &View<'_>) -> LandlockSpec {
    let policy = wrap.policy;
    let mut rules = landlock::rules(policy, private_home(wrap));
    rules.write.extend(
        policy
            .temporaries
            .iter()
            .filter(|dir| {
                !(dir.starts_with("/dev") || view.keeps_var_tmp && *dir == Path::new(VAR_TMP))
            })
            .map(|dir| dir.clone().into()),
    );
    rules.write_files = DEVICES.map(OsString::from).to_vec();
    rules.no_tcp = false;
    rules.required = policy.as_root || !hides_the_home(wrap);
    rules
}

/// firejail puts an empty directory over it, and over this one.
const VAR_TMP: &str = "/var/tmp";
const VAR_LOG: &str = "/var/log";

/// What of the host a command sees.
struct View<'a> {
    readable: Vec<&'a Path>,
    writable: Vec<&'a Path>,
    /// Directories under which nothing but what is granted is shown.
    private: Vec<&'a Path>,
    home: &'a Path,
    keeps_var_tmp: bool,
    keeps_var_log: bool,
}

impl<'a> View<'a> {
    fn new(wrap: &Wrap<'a>) -> Self {
        let policy = wrap.policy;
        let readable: Vec<&Path> = policy
            .read_only
            .iter()
            .chain(&policy.caches)
            .map(PathBuf::as_path)
            .chain([wrap.exe])
            .collect();
        let stand_in = (!hides_the_home(wrap)).then_some(wrap.scratch);
        let writable: Vec<&Path> =
            policy.writable.iter().map(PathBuf::as_path).chain(stand_in).collect();
        let home = wrap.account_home.unwrap_or(&policy.home);
        // What is scanned is shown whole; whitelisting anything in it would hide the rest.
        let is_scanned = |dir: &Path| policy.scan_data.iter().any(|path| dir.starts_with(path));
        let granted = || readable.iter().chain(&writable);
        let keeps_var_tmp =
            is_scanned(Path::new(VAR_TMP)) || granted().any(|path| path.starts_with(VAR_TMP));
        let keeps_var_log =
            granted().any(|path| path.starts_with(VAR_LOG) || Path::new(VAR_LOG).starts_with(path));
        let private =
            [home, Path::new("/tmp")].into_iter().filter(|dir| !is_scanned(dir)).collect();
        Self { readable, writable, private, home, keeps_var_tmp, keeps_var_log }
    }

    fn granted(&self) -> impl Iterator<Item = &'a Path> {
        self.readable.iter().chain(&self.writable).copied()
    }

    /// Whether the host's own entry is there.
    fn is_host_path(&self, path: &Path) -> bool {
        let var_tmp = (!self.keeps_var_tmp).then_some(Path::new(VAR_TMP));
        let hidden = self.private.iter().copied().chain(var_tmp).any(|dir| path.starts_with(dir));
        !hidden || self.granted().any(|granted| path.starts_with(granted))
    }

    fn is_foreign(&self, path: &Path) -> bool {
        path.starts_with("/home") && !path.starts_with(self.home)
    }
}

/// Not a home itself: a link in its place is another name of the account's own.
fn is_in_a_home(path: &Path) -> bool {
    path.strip_prefix("/home").is_ok_and(|rest| rest.components().count() > 1)
}

/// The command line. A whitelisted path is writable whatever `--read-only=/` says, so each one is made read-only again, and the results
/// writable after that.
fn argv(
    wrap: &Wrap<'_>,
    view: &View<'_>,
    links: &links::Links,
) -> Result<Vec<OsString>, WrapError> {
    let policy = wrap.policy;
    let mut args = vec![OsString::from(&wrap.abilities.program), "--quiet".into()];
    args.extend(CONSTANTS.map(OsString::from));
    if !policy.network {
        args.push("--net=none".into());
    }
    for path in wrap.sockets.iter().chain(&policy.hidden) {
        option(&mut args, "--blacklist=", path)?;
    }
    // It hides the homes of other users, also one that is scanned.
    let in_foreign_homes =
        policy.links.iter().map(|(place, _)| place.as_path()).filter(|place| is_in_a_home(place));
    if view.granted().chain(in_foreign_homes).any(|path| view.is_foreign(path)) {
        args.push("--allusers".into());
    }
    if view.keeps_var_tmp {
        args.extend(["--keep-var-tmp".into(), format!("--read-only={VAR_TMP}").into()]);
    }
    if view.keeps_var_log {
        args.extend(["--writable-var-log".into(), format!("--read-only={VAR_LOG}").into()]);
    }
    for dir in &view.private {
        let inside = || view.granted().chain(links.shown.iter().map(PathBuf::as_path));
        let inside: Vec<&Path> = inside().filter(|path| path.starts_with(dir)).collect();
        if inside.is_empty() {
            args.push(if *dir == view.home { "--private" } else { "--private-tmp" }.into());
        }
        for path in inside.into_iter().filter(|path| path != dir) {
            option(&mut args, "--whitelist=", path)?;
        }
    }
    let (readable, writable) = (&view.readable, &view.writable);
    for path in readable.iter().filter(|path| !writable.iter().any(|dir| path.starts_with(dir))) {
        option(&mut args, "--read-only=", path)?;
    }
    for path in writable {
        option(&mut args, "--read-write=", path)?;
    }
    args.push("--".into());
    args.extend([wrap.exe.into(), "__confine".into(), "apply".into()]);
    Ok(args)
}

/// Moves the options about paths into the lines of a profile, in their order. firejail takes `#` there for a comment and several spaces for one.
fn into_profile(args: &mut Vec<OsString>, profile: &Path) -> Result<Vec<Vec<u8>>, WrapError> {
    const ABOUT_PATHS: [&str; 4] =
        ["--blacklist=", "--whitelist=", "--read-only=", "--read-write="];
    let mut lines = vec![];
    let mut kept = vec![];
    let mut is_option = true;
    for arg in std::mem::take(args) {
        is_option &= arg != "--";
        let bytes = arg.as_encoded_bytes();
        if !is_option || !ABOUT_PATHS.iter().any(|option| bytes.starts_with(option.as_bytes())) {
            kept.push(if arg == "--noprofile" {
                let mut named = OsString::from("--profile=");
                named.push(profile);
                named
            } else {
                arg
            });
            continue;
        }
        let (option, path) =
            bytes.split_at(bytes.iter().position(|byte| *byte == b'=').unwrap_or(0));
        let path = path.get(1..).unwrap_or_default();
        let is_misread = path.contains(&b'#')
            || path.windows(2).any(|pair| pair == b"  ")
            || path.ends_with(b" ");
        if is_misread {
            return Err(WrapError::Unexpressible { backend: "firejail", path: printable(&arg) });
        }
        lines.push([option.get(2..).unwrap_or_default(), b" ", path].concat());
    }
    *args = kept;
    Ok(lines)
}

fn option(args: &mut Vec<OsString>, name: &str, path: &Path) -> Result<(), WrapError> {
    if !is_plain(path) {
        return Err(WrapError::Unexpressible {
            backend: "firejail",
            path: printable(path.as_os_str()),
        });
    }
    let mut arg = OsString::from(name);
    arg.push(path);
    args.push(arg);
    Ok(())
}

/// firejail 0.9.72 expands globs and macros in paths, splits at commas, and rejects more; there is no way to escape.
fn is_plain(path: &Path) -> bool {
    let special = |byte: u8| byte.is_ascii_control() || b"\\&!?\"'<>%^(){};,*[]$|`".contains(&byte);
    let dotted = path.as_os_str().as_encoded_bytes().windows(2).any(|pair| pair == b"..");
    !has_byte(path, special) && !dotted
}

/// What `firejail --quiet`-less output and the namespace it answered say about whether it confined at all.
///
/// # Errors
/// The reason it must not be used.
pub(crate) fn judge(stdout: &str, stderr: &str, own_namespace: &str) -> Result<(), String> {
    let advice = "in a container with its own PID namespace firejail runs commands with none of its options; use `--sandbox bwrap` or `--sandbox landlock`";
    let warning =
        stdout.lines().chain(stderr.lines()).find(|line| line.contains("existing sandbox"));
    let answer = stdout.lines().rfind(|line| line.starts_with("mnt:["));
    match (answer, warning) {
        (_, Some(warning)) => Err(format!(
            "firejail ran the command without a sandbox (it said: {}); {advice}",
            warning.trim()
        )),
        (Some(answer), None) if answer.trim() == own_namespace.trim() => Err(format!(
            "firejail ran the command without a sandbox (its mount namespace was ours, {}); {advice}",
            own_namespace.trim()
        )),
        (Some(_), None) => Ok(()),
        (None, None) => {
            Err("could not confirm that firejail confines: it printed no mount namespace"
                .to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_signs_of_an_unconfined_run_are_seen() {
        let ours = "mnt:[1]";
        assert_eq!(judge("mnt:[2]\n", "Parent pid 1\n", ours), Ok(()));
        assert!(judge("mnt:[1]\n", "", ours).unwrap_err().contains("without a sandbox"));
        let warning = "Warning: an existing sandbox was detected. readlink will run without any additional sandboxing features";
        assert!(judge("mnt:[2]\n", warning, ours).unwrap_err().contains("existing sandbox"));
        assert!(judge("", "", ours).unwrap_err().contains("could not confirm"));
    }

    #[test]
    fn paths_firejail_would_misread_are_refused() {
        for bad in ["/a,b", "/a*", "/a[b", "/${HOME}", "/a\nb", "/a..b", "/a\"b"] {
            assert!(!is_plain(Path::new(bad)), "{bad}");
        }
        assert!(is_plain(Path::new("/home/me/a b/é-1_2.~#=@+:")));
    }
}
