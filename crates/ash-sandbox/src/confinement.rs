//! From the mode that was asked for to a backend that was seen to work, or a reason to run nothing.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
    sync::{Mutex, Once, PoisonError},
};

use ash_model::{
    evidence::{SandboxEvidence, Tier},
    notice::Notice,
};

use crate::{
    backends::{
        self, Abilities, BackendId, BackendStatus, Command, Wrap, WrapError, bwrap::GRACE_MS,
    },
    launch::{Launcher, Prepared},
    leftovers, places,
    policy::{Policy, trace},
    site::Site,
    wire::SupervisorSpec,
};

/// How scanners are to be confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Not at all.
    #[default]
    Off,
    /// By the best backend that works here.
    Auto,
    /// By this backend or not run.
    Only(BackendId),
}

/// A text that is no mode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a sandbox mode; the modes are `off`, `auto`, `bwrap`, `firejail`, `landlock`, `sandbox-exec` and `gvisor`"
)]
pub struct ParseModeError(pub String);

impl Mode {
    /// Every mode, as typed.
    pub const NAMES: [&'static str; 7] =
        ["off", "auto", "bwrap", "firejail", "landlock", "sandbox-exec", "gvisor"];

    /// The name, as typed.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Auto => "auto",
            Self::Only(id) => id.as_str(),
        }
    }
}

impl FromStr for Mode {
    type Err = ParseModeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "off" => Ok(Self::Off),
            "auto" => Ok(Self::Auto),
            name => BackendId::ALL
                .into_iter()
                .find(|id| id.as_str() == name)
                .map(Self::Only)
                .ok_or_else(|| ParseModeError(name.to_owned())),
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Why no scanner may run: a sandbox was asked for and cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("scanner sandbox unavailable: {reason}")]
pub struct Refusal {
    /// The reason, naming every backend that was tried.
    pub reason: String,
}

/// A confinement and what was passed over on the way to it.
#[derive(Debug, Clone)]
pub struct Chosen {
    /// The confinement.
    pub confinement: Confinement,
    /// One notice for each backend `auto` passed over, and for each weakness of the chosen one.
    pub notices: Vec<Notice>,
}

/// Permission to run something, and how. Only [`Confinement::choose`] makes one.
#[derive(Debug, Clone)]
pub struct Confinement {
    mode: Mode,
    backend: Option<(BackendId, Abilities)>,
    host: Host,
}

/// What a wrap needs to know of this machine.
#[derive(Debug, Clone)]
struct Host {
    exe: PathBuf,
    site: Site,
}

/// Why a command cannot be prepared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PrepareError {
    /// The backend cannot express the policy.
    #[error(transparent)]
    Wrap(#[from] WrapError),
    /// The mode is off: nothing can be confined.
    #[error("the sandbox is off, so nothing can be confined")]
    Off,
    /// The mode is on: nothing runs without a sandbox.
    #[error("the sandbox is on, so nothing runs without it")]
    On,
}

impl Confinement {
    /// Chooses a confinement; a backend is probed at most once per process.
    ///
    /// # Errors
    /// When a sandbox is asked for and none works: then nothing may run.
    pub fn choose(mode: Mode, site: &Site, launcher: &Launcher) -> Result<Chosen, Refusal> {
        let host = Host::new(site, launcher);
        match mode {
            Mode::Off => {
                Ok(Chosen { confinement: Self { mode, backend: None, host }, notices: vec![] })
            }
            Mode::Only(id) => match probe(id, site, launcher) {
                Ok(abilities) => Ok(Self::with(mode, id, abilities, host, vec![])),
                Err(reason) => Err(Refusal { reason }),
            },
            Mode::Auto => Self::best(site, launcher, host),
        }
    }

    fn best(site: &Site, launcher: &Launcher, host: Host) -> Result<Chosen, Refusal> {
        let os = std::env::consts::OS;
        let mut passed_over = vec![];
        for id in BackendId::auto(os) {
            match probe(*id, site, launcher) {
                Ok(abilities) => {
                    let notices =
                        passed_over.into_iter().map(|(id, reason): (BackendId, String)| {
                            Notice::new(id.as_str(), format!("passed over: {reason}"))
                        });
                    return Ok(Self::with(Mode::Auto, *id, abilities, host, notices.collect()));
                }
                Err(reason) => passed_over.push((*id, reason)),
            }
        }
        Err(Refusal { reason: nothing_works(os, &passed_over) })
    }

    fn with(
        mode: Mode,
        id: BackendId,
        abilities: Abilities,
        host: Host,
        mut notices: Vec<Notice>,
    ) -> Chosen {
        tracing::info!("scanners run under {id} (sandbox mode {mode})");
        for warning in &abilities.warnings {
            tracing::info!("{id}: {warning}");
            notices.push(Notice::new(id.as_str(), warning.clone()));
        }
        Chosen { confinement: Self { mode, backend: Some((id, abilities)), host }, notices }
    }

    /// The mode that was asked for.
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    /// The backend; `None` when off.
    pub fn backend(&self) -> Option<BackendId> {
        self.backend.as_ref().map(|(id, _)| *id)
    }

    /// How strong it is here.
    pub fn tier(&self) -> Tier {
        self.backend.as_ref().map_or(Tier::None, |(_, abilities)| abilities.tier)
    }

    /// Whether nothing is confined.
    pub const fn is_off(&self) -> bool {
        self.backend.is_none()
    }

    /// A directory by the name that tools are to be told, and hence say back: as it is spelled, but really where firejail cannot show every link.
    pub fn told(&self, path: &Path) -> PathBuf {
        match self.backend {
            Some((BackendId::Firejail, _)) => trace::real_as_far_as_it_exists(path),
            _ => path.to_owned(),
        }
    }

    /// Wraps a command so that it runs under a policy. Starts nothing.
    ///
    /// # Errors
    /// When the policy cannot be expressed by the backend, or the mode is off.
    pub fn prepare(&self, policy: &Policy, command: &Command) -> Result<Prepared, PrepareError> {
        let (id, abilities) = self.backend.as_ref().ok_or(PrepareError::Off)?;
        let mut prepared = self.host.wrap(self.mode, *id, abilities, policy, command)?;
        if let Some(stage) = &mut prepared.supervisor.stage {
            stage.places = places::of(policy);
        }
        Ok(prepared)
    }

    /// A command as it is, with exactly this environment, for mode off only.
    ///
    /// # Errors
    /// When the mode is not off.
    pub fn unconfined(
        &self,
        command: &Command,
        environment: Vec<(OsString, OsString)>,
        cwd: &Path,
    ) -> Result<Prepared, PrepareError> {
        if !self.is_off() {
            return Err(PrepareError::On);
        }
        let supervisor = SupervisorSpec {
            argv: command.argv(),
            options: 0,
            env: environment,
            cwd: cwd.into(),
            stage: None,
            tool_depth: 1,
            grace_ms: GRACE_MS,
            cleanup: vec![],
        };
        Ok(Prepared { supervisor, setup: vec![], evidence: SandboxEvidence::off() })
    }

    /// The state of every backend on this machine: those of `auto` first.
    pub fn statuses(site: &Site, launcher: &Launcher) -> Vec<BackendStatus> {
        let auto = BackendId::auto(std::env::consts::OS);
        let others = BackendId::ALL.into_iter().filter(|id| !auto.contains(id));
        let named = |id| {
            let mut probed = probe(id, site, launcher);
            if let Ok(abilities) = &mut probed
                && abilities.version.is_none()
            {
                abilities.version =
                    backends::probe::version(id, &abilities.program, site, launcher);
            }
            status(id, probed)
        };
        auto.iter().copied().chain(others).map(named).collect()
    }
}

impl Host {
    fn new(site: &Site, launcher: &Launcher) -> Self {
        Self { exe: trace::real_as_far_as_it_exists(launcher.executable()), site: site.clone() }
    }

    fn wrap(
        &self,
        mode: Mode,
        id: BackendId,
        abilities: &Abilities,
        policy: &Policy,
        command: &Command,
    ) -> Result<Prepared, WrapError> {
        let wrap = Wrap {
            mode: mode.as_str(),
            abilities,
            policy,
            command,
            exe: &self.exe,
            proc_controls: &self.site.proc_controls,
            scratch: &self.site.scratch(),
            sockets: &self.site.sockets,
            account_home: self.site.account_home.as_deref(),
            trust_roots: None,
        };
        backends::wrap(id, &wrap)
    }
}

/// Wraps for an explanation: with a backend that was not probed, or does not exist here.
pub(crate) fn wrap_unprobed(
    mode: Mode,
    id: BackendId,
    abilities: &Abilities,
    site: &Site,
    launcher: &Launcher,
    policy: &Policy,
    command: &Command,
) -> Result<Prepared, WrapError> {
    Host::new(site, launcher).wrap(mode, id, abilities, policy, command)
}

fn status(id: BackendId, probed: Result<Abilities, String>) -> BackendStatus {
    let namespaces = id == BackendId::Bwrap || id == BackendId::Firejail;
    match probed {
        Ok(abilities) => BackendStatus {
            name: id.as_str(),
            available: true,
            reason: None,
            version: abilities.version,
            overlay: Some(abilities.overlay),
            tier: abilities.tier,
        },
        Err(reason) => BackendStatus {
            name: id.as_str(),
            available: false,
            reason: Some(reason),
            version: None,
            // Only bubblewrap ever has one; whether this one would is not known.
            overlay: (!namespaces || id == BackendId::Firejail).then_some(false),
            tier: id.usual_tier(),
        },
    }
}

fn nothing_works(os: &str, tried: &[(BackendId, String)]) -> String {
    if tried.is_empty() {
        return format!(
            "there is no sandbox backend for {os}; run ash in WSL2 with `--sandbox bwrap`, or in a container"
        );
    }
    let each: Vec<String> = tried.iter().map(|(id, reason)| format!("{id}: {reason}")).collect();
    format!("no sandbox backend works here: {}", each.join("; "))
}

type Probed = Result<Abilities, String>;
type Asked = (BackendId, PathBuf, Option<OsString>, Vec<PathBuf>);

/// One probe per backend and process: scanner threads ask at the same time, and each probe starts processes.
pub(crate) fn probe(id: BackendId, site: &Site, launcher: &Launcher) -> Probed {
    static PROBED: Mutex<BTreeMap<Asked, Probed>> = Mutex::new(BTreeMap::new());
    let asked = (
        id,
        launcher.executable().to_owned(),
        site.variable("PATH").map(OsString::from),
        site.scanned.clone(),
    );
    let mut probed = PROBED.lock().unwrap_or_else(PoisonError::into_inner);
    probed
        .entry(asked)
        .or_insert_with(|| {
            static ONCE: Once = Once::new();
            ONCE.call_once(|| leftovers::remove(&site.temp));
            backends::probe::probe(id, site, launcher)
        })
        .clone()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[test]
    fn the_modes_are_exactly_these() {
        for name in Mode::NAMES {
            assert_eq!(name.parse::<Mode>().unwrap().as_str(), name);
        }
        for bad in ["", "Auto", "none", "false", "sandbox_exec"] {
            let error = bad.parse::<Mode>().unwrap_err().to_string();
            assert!(Mode::NAMES.iter().all(|name| error.contains(&format!("`{name}`"))), "{error}");
        }
    }

    #[test]
    fn auto_has_an_order_on_each_system() {
        assert_eq!(
            BackendId::auto("linux"),
            [BackendId::Bwrap, BackendId::Firejail, BackendId::Landlock]
        );
        assert_eq!(BackendId::auto("macos"), [BackendId::SandboxExec]);
        assert!(BackendId::auto("windows").is_empty());
    }

    #[test]
    fn when_nothing_works_every_backend_is_named_with_its_reason() {
        let tried = [
            (BackendId::Bwrap, "one".to_owned()),
            (BackendId::Firejail, "two".to_owned()),
            (BackendId::Landlock, "three".to_owned()),
        ];
        assert_eq!(
            nothing_works("linux", &tried),
            "no sandbox backend works here: bwrap: one; firejail: two; landlock: three"
        );
        let windows = nothing_works("windows", &[]);
        assert!(windows.contains("WSL2") && windows.contains("in a container"), "{windows}");
    }

    #[test]
    fn only_mode_off_runs_anything_unconfined() {
        let site = Site::gather(vec![], Path::new("/usr/bin/ash"), &[]);
        let launcher = Launcher::with_executable("/usr/bin/ash".into());
        let command = Command { program: "/bin/true".into(), args: vec![] };
        let off = Confinement::choose(Mode::Off, &site, &launcher).unwrap().confinement;
        assert!(off.unconfined(&command, vec![], Path::new("/")).is_ok());
        let on = Confinement {
            backend: Some((BackendId::Bwrap, crate::backends::tests::abilities())),
            ..off
        };
        assert_eq!(on.unconfined(&command, vec![], Path::new("/")).unwrap_err(), PrepareError::On);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_backend_of_another_system_is_refused_by_name_and_platform() {
        let site = Site::gather(vec![], Path::new("/usr/bin/ash"), &[]);
        let launcher = Launcher::with_executable("/usr/bin/ash".into());
        let refusal =
            Confinement::choose(Mode::Only(BackendId::SandboxExec), &site, &launcher).unwrap_err();
        assert!(
            refusal.reason.contains("sandbox-exec") && refusal.reason.contains("linux"),
            "{refusal}"
        );
    }
}
