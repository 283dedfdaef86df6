//! Finds out what a backend can do here by doing it: the whole stack is started, and what must be refused has to be.

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use ash_model::{
    evidence::{SandboxEvidence, Tier},
    requirements::Requirements,
    tool::Exit,
};

use super::{Abilities, BackendId, Command, Wrap, firejail, sandbox_exec};
use crate::{
    launch::{Cancel, Captures, Finished, LaunchError, Launcher, Prepared, Stdio, remove_tree},
    policy::{Grants, Ground, Policy},
    site::Site,
    wire::{ProbeFindings, ProbeTask, SupervisorSpec},
};

/// For each process a probe starts. They take milliseconds; on a machine so busy that they take a minute, scanners would, too.
const TIMEOUT: Duration = Duration::from_secs(60);
const CAPTURES: Captures = Captures { keep: 64 << 10, total: 1 << 20 };

/// Probes a backend.
///
/// # Errors
/// The reason it cannot be used here.
pub(crate) fn probe(id: BackendId, site: &Site, launcher: &Launcher) -> Result<Abilities, String> {
    if id == BackendId::Gvisor {
        return Err("gvisor is not part of this version of ash; use `--sandbox auto`".to_owned());
    }
    if id.os() != std::env::consts::OS {
        return Err(format!(
            "{id} works on {} only, and this is {}",
            id.os(),
            std::env::consts::OS
        ));
    }
    let probe = Probe { site, launcher };
    match id {
        BackendId::Bwrap => probe.bwrap(),
        BackendId::Firejail => probe.firejail(),
        BackendId::Landlock => probe.landlock(),
        BackendId::SandboxExec | BackendId::Gvisor => probe.sandbox_exec(),
    }
}

/// The version a backend's program reports: asked only for people, since it decides nothing.
pub(crate) fn version(
    id: BackendId,
    program: &Path,
    site: &Site,
    launcher: &Launcher,
) -> Option<String> {
    let before = match id {
        BackendId::Bwrap => "bubblewrap ",
        BackendId::Firejail => "firejail version ",
        BackendId::Landlock | BackendId::SandboxExec | BackendId::Gvisor => return None,
    };
    Probe { site, launcher }.version(program, before)
}

struct Probe<'a> {
    site: &'a Site,
    launcher: &'a Launcher,
}

impl Probe<'_> {
    fn bwrap(&self) -> Result<Abilities, String> {
        let program = self.site.backend_program("bwrap").ok_or(
            "bwrap is not on PATH (outside the scanned tree, in a directory only its owner can write to): install the package `bubblewrap`, for example with `apt install bubblewrap`",
        )?;
        let mut abilities = Abilities {
            disable_userns: true,
            tmpfs_size: true,
            ..plain(BackendId::Bwrap, program)
        };
        // With overlays first: one that cannot make them says so at once, and one that can is not asked twice.
        let overlay = Abilities { overlay: true, ..abilities.clone() };
        (abilities.overlay, abilities.tier) = match self.confined(BackendId::Bwrap, &overlay) {
            Ok(tier) => (true, tier),
            Err(Trouble::Start(words))
                if !words.contains("overlay") && !is_of_an_option(&words) =>
            {
                return Err(bwrap_reason(&Trouble::Start(words)));
            }
            Err(_) => (false, self.bwrap_without_overlays(&mut abilities)?),
        };
        if !abilities.overlay && !abilities.disable_userns {
            let overlay = Abilities { overlay: true, ..abilities.clone() };
            abilities.overlay = self.confined(BackendId::Bwrap, &overlay).is_ok();
        }
        if !abilities.overlay {
            abilities.warnings.push(
                "caches are read-only, since this bubblewrap or kernel cannot overlay them (bubblewrap 0.11 and Linux 5.11 can); uv and tools that write a cache get an empty private one".to_owned(),
            );
        }
        if abilities.tier == Tier::Namespaces {
            abilities.warnings.push(
                "this kernel has no Landlock, so the namespaces are the only wall".to_owned(),
            );
        }
        Ok(abilities)
    }

    fn bwrap_without_overlays(&self, abilities: &mut Abilities) -> Result<Tier, String> {
        match self.confined(BackendId::Bwrap, abilities) {
            Ok(tier) => return Ok(tier),
            Err(Trouble::Start(words)) if is_of_an_option(&words) => {
                abilities.disable_userns = false;
                abilities.tmpfs_size = !words.contains("--size");
            }
            Err(trouble) => return Err(bwrap_reason(&trouble)),
        }
        self.confined(BackendId::Bwrap, abilities).map_err(|trouble| bwrap_reason(&trouble))
    }

    fn firejail(&self) -> Result<Abilities, String> {
        let program = self.site.backend_program("firejail").ok_or(
            "firejail is not on PATH (outside the scanned tree, in a directory only its owner can write to): install the package `firejail`",
        )?;
        let readlink = ["/usr/bin/readlink", "/bin/readlink"]
            .map(PathBuf::from)
            .into_iter()
            .find(|file| crate::site::is_program(file));
        let readlink = readlink.or_else(|| self.site.backend_program("readlink"));
        let readlink = readlink.ok_or(
            "firejail cannot be used: without `readlink` it cannot be checked whether it confines",
        )?;
        let ours = fs::read_link("/proc/self/ns/mnt").map_err(|error| {
            format!("firejail cannot be used: cannot read the own mount namespace: {error}")
        })?;
        let mut argv: Vec<OsString> = vec![program.clone().into()];
        argv.extend(firejail::CONSTANTS.map(OsString::from));
        argv.extend(["--net=none", "--private", "--private-tmp", "--"].map(OsString::from));
        argv.extend([readlink.into(), "/proc/self/ns/mnt".into()]);
        let cannot = |reason: &str| {
            format!(
                "firejail cannot start here ({reason}): use `--sandbox bwrap` or `--sandbox landlock`"
            )
        };
        let ran = self.bare(argv).map_err(|error| cannot(&error.to_string()))?;
        let (stdout, stderr) = (ran.stdout.text(), ran.stderr.text());
        if ran.exit != Exit::Code(0) {
            return Err(cannot(last_line(&stderr).unwrap_or("it failed without a word")));
        }
        firejail::judge(&stdout, &stderr, &ours.to_string_lossy())?;
        let mut abilities = plain(BackendId::Firejail, program);
        abilities.tier =
            self.confined(BackendId::Firejail, &abilities).map_err(|trouble| match trouble {
                Trouble::Filter(reason) => {
                    format!("firejail cannot apply the Unix-socket filter: {reason}")
                }
                other => {
                    let reason = other.words();
                    format!(
                        "firejail does not confine here: {reason}{}",
                        insistence(BackendId::Firejail, reason)
                    )
                }
            })?;
        abilities.warnings.push(
            "firejail is a setuid program and hides less of the file system than bwrap".to_owned(),
        );
        Ok(abilities)
    }

    #[cfg(target_os = "linux")]
    fn landlock(&self) -> Result<Abilities, String> {
        let abi = crate::confine::landlock_abi()
            .map_err(|error| format!("landlock is not available ({error}); it needs Linux 5.13 and `landlock` in the `lsm=` kernel parameter"))?;
        let mut abilities = plain(BackendId::Landlock, self.launcher.executable().to_owned());
        abilities.version = Some(format!("ABI {abi}"));
        abilities.tier = self.confined(BackendId::Landlock, &abilities).map_err(|trouble| {
            format!("landlock could not restrict a process ({})", trouble.words())
        })?;
        if abi < 6 {
            abilities.warnings.push(format!(
                "Landlock ABI {abi} cannot keep a scanner from signalling other processes of the user (Linux 6.12 can); abstract sockets are refused by the filter"
            ));
        }
        Ok(abilities)
    }

    #[cfg(not(target_os = "linux"))]
    fn landlock(&self) -> Result<Abilities, String> {
        Err("landlock works on linux only".to_owned())
    }

    fn sandbox_exec(&self) -> Result<Abilities, String> {
        let program = PathBuf::from(sandbox_exec::PROGRAM);
        if !program.exists() {
            return Err(format!(
                "sandbox-exec is unavailable: `{}` does not exist; it has been removed from this macOS",
                program.display()
            ));
        }
        let argv = [sandbox_exec::PROGRAM, "-p", "(version 1)(allow default)", "/usr/bin/true"]
            .map(OsString::from)
            .to_vec();
        match self.bare(argv) {
            Ok(ran) if ran.exit == Exit::Code(0) => Ok(plain(BackendId::SandboxExec, program)),
            Ok(ran) => Err(format!(
                "sandbox-exec is unavailable: {}",
                last_line(&ran.stderr.text()).unwrap_or("it failed without a word")
            )),
            Err(error) => Err(format!("sandbox-exec is unavailable: {error}")),
        }
    }

    /// Runs the whole stack over a planted directory and returns the tier that was measured.
    fn confined(&self, id: BackendId, abilities: &Abilities) -> Result<Tier, Trouble> {
        let lab = Lab::plant(self.site).map_err(|error| {
            Trouble::Other(format!("cannot make a directory to try it in: {error}"))
        })?;
        let exe = fs::canonicalize(self.launcher.executable())
            .map_err(|error| Trouble::Other(format!("cannot find this program: {error}")))?;
        let mut policy = lab.policy(self.site, &exe).map_err(Trouble::Other)?;
        let mut task = lab.task();
        if abilities.overlay {
            let cache = lab.root.join("cache");
            task.writable.push(cache.clone().into());
            policy.caches.push(cache);
        }
        let task =
            serde_json::to_string(&task).map_err(|error| Trouble::Other(error.to_string()))?;
        let command = Command {
            program: exe.clone(),
            args: vec!["__confine".into(), "probe".into(), task.into()],
        };
        let wrap = Wrap {
            mode: id.as_str(),
            abilities,
            policy: &policy,
            command: &command,
            exe: &exe,
            proc_controls: &self.site.proc_controls,
            scratch: &self.site.scratch(),
            sockets: &self.site.sockets,
            account_home: self.site.account_home.as_deref(),
            trust_roots: None,
        };
        let prepared = super::wrap(id, &wrap).map_err(|error| Trouble::Other(error.to_string()))?;
        let ran = self.run(prepared).map_err(Trouble::from)?;
        let findings: ProbeFindings = match ran.exit {
            Exit::Code(0) => serde_json::from_slice(ran.stdout.text().trim().as_bytes())
                .map_err(|_| Trouble::Other("the probe inside did not answer".to_owned()))?,
            exit => {
                let words = last_line(&ran.stderr.text()).unwrap_or("no message").to_owned();
                return Err(Trouble::Start(format!("exit code {}: {words}", exit.shell_code())));
            }
        };
        if let Some(trouble) = findings.trouble() {
            return Err(Trouble::Other(trouble));
        }
        if lab.was_changed() {
            return Err(Trouble::Other("a write inside reached the host".to_owned()));
        }
        Ok(ran.evidence.tier)
    }

    /// Runs one of the backend's own commands outside any sandbox, with an environment of `PATH` alone.
    fn bare(&self, argv: Vec<OsString>) -> Result<Finished, LaunchError> {
        let path = self.site.variable("PATH").unwrap_or_default().to_owned();
        let supervisor = SupervisorSpec {
            argv,
            options: 0,
            env: vec![("PATH".into(), path)],
            cwd: "/".into(),
            stage: None,
            tool_depth: 1,
            grace_ms: 1000,
            cleanup: vec![],
        };
        self.run(Prepared { supervisor, setup: vec![], evidence: SandboxEvidence::off() })
    }

    fn run(&self, prepared: Prepared) -> Result<Finished, LaunchError> {
        let finished =
            self.launcher.run(prepared, Stdio::Capture(CAPTURES), Some(TIMEOUT), &Cancel::new())?;
        if finished.timed_out {
            return Err(LaunchError::CannotStart {
                reason: format!("it did not end within {} s", TIMEOUT.as_secs()),
            });
        }
        Ok(finished)
    }

    fn version(&self, program: &Path, before: &str) -> Option<String> {
        let ran = self.bare(vec![program.into(), "--version".into()]).ok()?;
        let text = ran.stdout.text();
        let line = text.lines().find_map(|line| line.trim().strip_prefix(before))?;
        Some(line.chars().filter(|c| !c.is_control()).take(40).collect())
    }
}

fn plain(id: BackendId, program: PathBuf) -> Abilities {
    Abilities {
        program,
        version: None,
        overlay: false,
        disable_userns: false,
        tmpfs_size: false,
        tier: id.usual_tier(),
        warnings: vec![],
    }
}

/// What went wrong with a trial.
#[derive(Debug)]
enum Trouble {
    /// The backend could not start its sandbox.
    Start(String),
    /// The last stage could not install its filter.
    Filter(String),
    /// It started, but does not hold, or something else failed.
    Other(String),
}

impl Trouble {
    fn words(&self) -> &str {
        match self {
            Self::Start(words) | Self::Filter(words) | Self::Other(words) => words,
        }
    }
}

impl From<LaunchError> for Trouble {
    fn from(error: LaunchError) -> Self {
        match error {
            LaunchError::NoSandbox { words, .. } if !words.is_empty() => Self::Start(words),
            LaunchError::Restriction { step, reason } if step == "filter" => Self::Filter(reason),
            LaunchError::NoSandbox { .. } | LaunchError::CannotStart { .. } => {
                Self::Start(error.to_string())
            }
            error => Self::Other(error.to_string()),
        }
    }
}

/// Whether it is an option of a later bubblewrap, or one that this machine does not let it use.
fn is_of_an_option(words: &str) -> bool {
    words.contains("nknown option") || words.contains("max_user_namespaces")
}

/// Says what a bubblewrap that does not work usually wants.
fn bwrap_reason(trouble: &Trouble) -> String {
    match trouble {
        Trouble::Filter(reason) => format!("bwrap cannot apply the Unix-socket filter: {reason}"),
        Trouble::Other(reason) => {
            format!("bwrap does not confine here: {reason}{}", insistence(BackendId::Bwrap, reason))
        }
        Trouble::Start(words) if words.contains("`/proc`") => {
            format!("bwrap cannot start ({words})")
        }
        Trouble::Start(words) if words.contains("RTM_NEWADDR") => format!(
            "bwrap cannot start ({words}): it may make a network namespace but not set up its loopback; an AppArmor or SELinux rule, or the container this runs in, restricts user namespaces. {USER_NAMESPACES}"
        ),
        Trouble::Start(words) => format!(
            "bwrap cannot start ({words}): unprivileged user namespaces may be disabled or restricted. {USER_NAMESPACES}"
        ),
    }
}

/// Where namespaces alone serve ordinary users, root is refused: uid 0 owns more than they hide. So is whoever has another home than the account
/// database says, under firejail: it hides that one.
fn insistence(id: BackendId, reason: &str) -> &'static str {
    if !reason.contains("no Landlock") {
        ""
    } else if id == BackendId::Firejail {
        "; for root, and where HOME is not the account's own, ash insists on Landlock here: run it as an ordinary user with that user's HOME, or boot with `landlock` in `lsm=`"
    } else {
        "; for root ash insists on Landlock: run it as an ordinary user, or boot with `landlock` in `lsm=`"
    }
}

const USER_NAMESPACES: &str = "On Ubuntu 23.10 and later (kernel.apparmor_restrict_unprivileged_userns=1) install bubblewrap from the distribution; if `bwrap --unshare-all --ro-bind / / true` still fails, add an AppArmor profile that grants `userns` to /usr/bin/bwrap, or run `sysctl kernel.apparmor_restrict_unprivileged_userns=0`. Elsewhere run `sysctl -w kernel.unprivileged_userns_clone=1 user.max_user_namespaces=15000`; in a container, use `--sandbox landlock`, or `--sandbox off` where the container itself is wall enough";

fn last_line(text: &str) -> Option<&str> {
    text.lines().rev().map(str::trim).find(|line| !line.is_empty())
}

/// A planted directory: what a scan looks like, and a secret beside it.
struct Lab {
    root: PathBuf,
    /// Keeps other processes from taking it for a leftover.
    _held: Option<fs::File>,
}

impl Lab {
    fn plant(site: &Site) -> io::Result<Self> {
        let root = site.scratch();
        #[cfg_attr(not(unix), expect(unused_mut, reason = "only Unix has modes"))]
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&root)?;
        let held = fs::File::open(&root).ok();
        #[cfg(unix)]
        held.iter().for_each(crate::leftovers::hold);
        let lab = Self { root, _held: held };
        for dir in ["source", "results", "cache", "elsewhere"] {
            fs::create_dir(lab.root.join(dir))?;
        }
        fs::write(lab.secret(), "canary")?;
        Ok(lab)
    }

    fn secret(&self) -> PathBuf {
        self.root.join("elsewhere/secret")
    }

    fn policy(&self, site: &Site, exe: &Path) -> Result<Policy, String> {
        let ground = Ground {
            source: self.root.join("source"),
            output: None,
            targets: vec![],
            results: self.root.join("results"),
            cwd: self.root.join("source"),
        };
        Policy::resolve("probe", &Requirements::NONE, site, &ground, &Grants::default(), exe, &[])
            .map_err(|error| error.to_string())
    }

    fn task(&self) -> ProbeTask {
        ProbeTask {
            unreadable: vec![self.secret().into()],
            unwritable: vec![self.root.join("source").into(), self.root.join("elsewhere").into()],
            writable: vec![self.root.join("results").into()],
        }
    }

    /// Whether something was made in a directory whose writes are refused or thrown away.
    fn was_changed(&self) -> bool {
        let entries =
            |dir: &str| fs::read_dir(self.root.join(dir)).map_or(usize::MAX, Iterator::count);
        entries("source") != 0 || entries("cache") != 0 || entries("elsewhere") != 1
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        if let Err(error) = remove_tree(&self.root) {
            tracing::warn!("cannot remove `{}`: {error}", self.root.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_user_namespace_is_explained_with_both_remedies() {
        let reason = bwrap_reason(&Trouble::Start(
            "bwrap: setting up uid map: Permission denied".to_owned(),
        ));
        for part in [
            "setting up uid map: Permission denied",
            "install bubblewrap from the distribution",
            "AppArmor profile",
            "apparmor_restrict_unprivileged_userns=0",
        ] {
            assert!(reason.contains(part), "{part}: {reason}");
        }
    }

    #[test]
    fn the_switches_against_user_namespaces_are_named_as_something_to_type() {
        let reason = bwrap_reason(&Trouble::Start(
            "bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)".to_owned(),
        ));
        let typed = "`sysctl -w kernel.unprivileged_userns_clone=1 user.max_user_namespaces=15000`";
        assert!(reason.contains(typed), "{reason}");
    }

    #[test]
    fn a_foreign_proc_is_not_blamed_on_user_namespaces() {
        let reason = bwrap_reason(&Trouble::Start("`/proc` is not mounted".to_owned()));
        assert_eq!(reason, "bwrap cannot start (`/proc` is not mounted)");
    }

    #[test]
    fn a_filter_that_cannot_be_installed_makes_bwrap_unavailable() {
        let error = LaunchError::Restriction {
            step: "filter".to_owned(),
            reason: "this architecture has no filter".to_owned(),
        };
        assert_eq!(
            bwrap_reason(&Trouble::from(error)),
            "bwrap cannot apply the Unix-socket filter: this architecture has no filter"
        );
    }

    #[test]
    fn root_without_landlock_learns_both_ways_out() {
        let reason = bwrap_reason(&Trouble::Other("this kernel has no Landlock".to_owned()));
        assert!(reason.contains("as an ordinary user") && reason.contains("lsm="), "{reason}");
    }

    #[test]
    fn a_loopback_that_cannot_be_set_up_is_explained() {
        let reason = bwrap_reason(&Trouble::Start(
            "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted".to_owned(),
        ));
        assert!(
            reason.contains("loopback") && reason.contains("restricts user namespaces"),
            "{reason}"
        );
    }
}
