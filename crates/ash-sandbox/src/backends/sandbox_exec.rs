//! macOS: one Seatbelt profile per spawn, deny by default. The last matching rule wins, so order is meaning.
//!
//! The profile is text made from the policy alone, so it is written, shown and tested on every system.

use std::{
    ffi::OsString,
    fmt::Write as _,
    path::{Path, PathBuf},
};

use ash_model::{evidence::Tier, path::printable};

use super::{
    BackendId, PrivateCaches, Wrap, WrapError, bwrap::GRACE_MS, evidence, limits, rlimits,
};
use crate::{
    environment,
    launch::{Prepared, Setup},
    wire::{Sockets, StageSpec, SupervisorSpec},
};

/// Where macOS keeps it. Never looked up on `PATH`.
pub(crate) const PROGRAM: &str = "/usr/bin/sandbox-exec";
const TOOL_DEPTH: u32 = 1;

/// Preferences, logging, notifications, users and groups: measured on macOS 14, 15 and 26 with ten scanners.
const SERVICES: [&str; 6] = [
    "com.apple.cfprefsd.agent",
    "com.apple.cfprefsd.daemon",
    "com.apple.logd",
    "com.apple.system.notification_center",
    "com.apple.system.opendirectoryd.libinfo",
    "com.apple.system.opendirectoryd.membership",
];
/// DNS, network configuration, certificate trust.
const NETWORK_SERVICES: [&str; 3] = [
    "com.apple.SystemConfiguration.DNSConfiguration",
    "com.apple.SystemConfiguration.configd",
    "com.apple.trustd.agent",
];

pub(crate) fn wrap(wrap: &Wrap<'_>) -> Result<Prepared, WrapError> {
    let policy = wrap.policy;
    let private = PrivateCaches::new(policy, wrap.scratch);
    let places = Places::new(wrap, &private);
    let profile = profile(wrap, &places)?;
    let mut environment = policy.environment.clone();
    environment::set(&mut environment, "TMPDIR", &places.temporary);
    private.redirect(&mut environment);
    if let (Some(roots), true) = (wrap.trust_roots, policy.system_trust_roots)
        && !environment.iter().any(|(name, _)| name == "SSL_CERT_FILE")
    {
        environment::set(&mut environment, "SSL_CERT_FILE", roots);
    }
    if let (Some(variable), Some(dir)) = (&policy.unpack_dir_env, &places.unpack) {
        environment::set(&mut environment, variable, dir);
    }
    // Last, so that a scanner's own setting cannot ask for a write the profile refuses.
    for (name, value) in &policy.sandbox_exec_env {
        environment::set(&mut environment, name, value);
    }
    environment.sort();
    let mut setup: Vec<Setup> =
        [Some(wrap.scratch.to_owned()), Some(places.temporary.clone()), places.unpack.clone()]
            .into_iter()
            .flatten()
            .map(Setup::Dir)
            .collect();
    setup.extend(private.setup());
    let evidence = evidence(
        wrap,
        BackendId::SandboxExec,
        Tier::Seatbelt,
        &environment,
        Some(&private),
        limits(policy, false, false),
    );
    Ok(Prepared {
        supervisor: SupervisorSpec {
            argv: vec![
                PROGRAM.into(),
                "-p".into(),
                profile.into(),
                wrap.exe.into(),
                "__confine".into(),
                "apply".into(),
            ],
            options: 0,
            env: environment.clone(),
            cwd: "/".into(),
            stage: Some(StageSpec {
                argv: wrap.command.argv(),
                env: environment,
                cwd: policy.cwd.clone().into(),
                places: vec![],
                links: vec![],
                shown: vec![],
                sockets: Sockets::Internet,
                landlock: None,
                landlock_alone: false,
                rlimits: rlimits(policy, false),
                stay: false,
            }),
            tool_depth: TOOL_DEPTH,
            grace_ms: GRACE_MS,
            cleanup: vec![wrap.scratch.into(), private.root.into()],
        },
        setup,
        evidence,
    })
}

/// Directories made for the spawn.
struct Places {
    temporary: PathBuf,
    /// Writable and executable: a self-unpacking tool runs what it puts here.
    unpack: Option<PathBuf>,
    /// Writable and executable for a command that is uv, which builds tool environments there.
    uv_cache: Option<PathBuf>,
}

impl Places {
    fn new(wrap: &Wrap<'_>, private: &PrivateCaches) -> Self {
        let is_uv =
            wrap.command.program.file_name().is_some_and(|name| name == "uv" || name == "uvx");
        let uv_cache = private
            .dirs
            .iter()
            .find(|(variable, _)| is_uv && variable == "UV_CACHE_DIR")
            .map(|(_, dir)| dir.clone());
        let unpack = wrap.policy.unpack_dir_env.as_ref().map(|_| wrap.scratch.join("unpack"));
        Self { temporary: wrap.scratch.join("tmp"), unpack, uv_cache }
    }
}

fn profile(wrap: &Wrap<'_>, places: &Places) -> Result<String, WrapError> {
    let policy = wrap.policy;
    let home = [policy.home.as_path()];
    let keychains = [PathBuf::from("/Library/Keychains"), policy.home.join("Library/Keychains")];
    let mut rules = Rules(String::from("(version 1)\n(deny default)\n(allow process-fork)\n"));
    rules.programs(wrap, places)?;
    rules.line("(allow signal (target same-sandbox))");
    rules.line("(allow process-info* (target same-sandbox))");
    rules.line("(allow sysctl-read)");
    rules.services(policy.network);
    rules.line("(allow ipc-posix-shm)");
    rules.line("(allow ipc-posix-sem)");
    rules.line("(allow file-ioctl)");
    rules.line("(allow file-read-metadata)");
    rules.paths("allow file-read*", "subpath", [Path::new("/")])?;
    rules.paths("deny file-read*", "subpath", home)?;
    rules.paths(
        "deny file-read*",
        "subpath",
        [Path::new("/private/tmp"), Path::new("/private/var/folders")],
    )?;
    rules.paths(
        "allow file-read*",
        "subpath",
        policy.read_only.iter().chain(&policy.caches).map(PathBuf::as_path).chain([wrap.exe]),
    )?;
    let writable = policy
        .writable
        .iter()
        .chain([&places.temporary])
        .chain(&places.unpack)
        .map(PathBuf::as_path);
    rules.paths("allow file-read* file-write*", "subpath", writable)?;
    rules.paths(
        "allow file-read* file-write*",
        "literal",
        policy.uv_locks.iter().map(PathBuf::as_path),
    )?;
    rules.line("(allow file-read* file-write* (literal \"/dev/null\") (literal \"/dev/zero\") (literal \"/dev/dtracehelper\") (regex #\"^/dev/fd/\"))");
    rules.paths(
        "allow file-read*",
        "literal",
        wrap.trust_roots.filter(|_| policy.system_trust_roots),
    )?;
    // After every file rule: a grant that contains them must not show the keychains.
    rules.paths(
        "deny file-read* file-write*",
        "subpath",
        keychains.iter().map(PathBuf::as_path),
    )?;
    if policy.network {
        rules.line("(allow system-socket)");
        rules.line("(allow network-outbound (remote ip))");
        rules.line("(allow network-inbound (local ip))");
        rules.line("(allow network-bind (local ip))");
        rules.line("(allow network-outbound (literal \"/private/var/run/mDNSResponder\"))");
    }
    Ok(rules.0)
}

struct Rules(String);

impl Rules {
    fn line(&mut self, rule: &str) {
        self.0.push_str(rule);
        self.0.push('\n');
    }

    /// Programs run from tool paths only: not from what is scanned or written, even where a tool path contains that. A directory made for
    /// the spawn to run from is allowed again, since it may lie in one that is not.
    fn programs(&mut self, wrap: &Wrap<'_>, places: &Places) -> Result<(), WrapError> {
        let policy = wrap.policy;
        let exe = [wrap.exe.to_owned()];
        let run: Vec<&Path> = policy
            .executable
            .iter()
            .chain(&exe)
            .chain(&places.unpack)
            .chain(&places.uv_cache)
            .map(PathBuf::as_path)
            .collect();
        let data = policy
            .scan_data
            .iter()
            .chain(&policy.writable)
            .chain(&policy.caches)
            .chain([&places.temporary])
            .map(PathBuf::as_path);
        let denied: Vec<&Path> = data.filter(|path| !run.contains(path)).collect();
        let again: Vec<&Path> = run
            .iter()
            .filter(|path| denied.iter().any(|dir| path.starts_with(dir)))
            .copied()
            .collect();
        self.paths("allow process-exec", "subpath", run)?;
        self.paths("deny process-exec", "subpath", denied)?;
        self.paths("allow process-exec", "subpath", again)
    }

    fn services(&mut self, network: bool) {
        let network: &[&str] = if network { &NETWORK_SERVICES } else { &[] };
        let names: Vec<String> = SERVICES
            .iter()
            .chain(network)
            .map(|name| format!("(global-name \"{name}\")"))
            .collect();
        self.line(&format!("(allow mach-lookup {})", names.join(" ")));
        // After every allow: LaunchServices has launchd start programs outside the sandbox; the pasteboard and the keychain daemon hold secrets.
        self.line(concat!(
            "(deny mach-lookup (global-name \"com.apple.coreservices.launchservicesd\") (global-name \"com.apple.CoreServices.coreservicesd\") ",
            "(global-name-prefix \"com.apple.lsd.\") (global-name-prefix \"com.apple.pasteboard.\") (global-name \"com.apple.SecurityServer\"))"
        ));
    }

    /// One rule over some paths; none at all without paths, since an empty filter is a syntax error.
    fn paths<'a>(
        &mut self,
        action: &str,
        filter: &str,
        paths: impl IntoIterator<Item = &'a Path>,
    ) -> Result<(), WrapError> {
        let filters: Vec<String> = paths
            .into_iter()
            .map(|path| Ok(format!("({filter} {})", quoted(path)?)))
            .collect::<Result<_, WrapError>>()?;
        if !filters.is_empty() {
            // Writing to a String cannot fail.
            let _ = writeln!(self.0, "({action} {})", filters.join(" "));
        }
        Ok(())
    }
}

/// A path as an SBPL string. Character by character, so that no replacement can undo another.
fn quoted(path: &Path) -> Result<String, WrapError> {
    let refused =
        || WrapError::Unexpressible { backend: "sandbox-exec", path: printable(path.as_os_str()) };
    let mut text = String::from("\"");
    for c in path.to_str().ok_or_else(refused)?.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            c if c.is_control() => return Err(refused()),
            c => text.push(c),
        }
    }
    text.push('"');
    Ok(text)
}

/// The command line as words, for `explain`.
pub(crate) fn profile_of(argv: &[OsString]) -> Option<String> {
    let profile = argv.first().filter(|program| *program == PROGRAM).and_then(|_| argv.get(2));
    profile.and_then(|profile| profile.to_str()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reads one SBPL string and returns it with what follows.
    fn read(text: &str) -> Option<(String, &str)> {
        let mut out = String::new();
        let mut chars = text.strip_prefix('"')?.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => return Some((out, &text[at + 2..])),
                '\\' => out.push(chars.next()?.1),
                c => out.push(c),
            }
        }
        None
    }

    proptest! {
        #[test]
        fn a_path_survives_quoting(path in "/\\PC*") {
            let quoted = quoted(Path::new(&path)).unwrap();
            prop_assert_eq!(read(&quoted), Some((path, "")));
        }
    }

    #[test]
    fn control_characters_and_other_encodings_are_refused() {
        use std::os::unix::ffi::OsStrExt;
        assert!(quoted(Path::new("/a\nb")).is_err());
        assert!(quoted(Path::new(std::ffi::OsStr::from_bytes(b"/\xff"))).is_err());
        assert_eq!(quoted(Path::new("/a\"b\\")).unwrap(), r#""/a\"b\\""#);
    }
}
