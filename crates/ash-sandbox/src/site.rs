//! The facts of this machine that policies are made of, gathered once from values handed in.

use std::{
    ffi::{OsStr, OsString},
    fs,
    hash::{BuildHasher, RandomState},
    path::{Path, PathBuf},
};

use ash_model::path::os_string;

use crate::{
    leftovers::PRIVATE,
    policy::{trace, tree::Tree},
};

/// Directories of the system that are readable wherever they exist.
#[cfg(not(target_os = "macos"))]
const SYSTEM: &[&str] = &[
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/snap",
];
#[cfg(target_os = "macos")]
const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/etc",
    "/opt",
    "/nix",
    "/System",
    "/Library",
    "/Applications/Xcode.app",
    "/private/etc",
    "/private/var/db/timezone",
    "/opt/homebrew",
    "/usr/local",
];

/// Secrets of the host that live in readable system directories, hidden from uid 0 whatever their modes say.
const HOST_SECRETS: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/security/opasswd",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssl/private",
    "/etc/pki/tls/private",
    "/etc/letsencrypt",
    "/etc/kubernetes",
    "/etc/rancher",
    "/etc/krb5.keytab",
    "/etc/credstore",
    "/etc/credstore.encrypted",
    "/etc/wireguard",
    "/etc/openvpn",
    "/etc/ipsec.secrets",
    "/etc/ipsec.d/private",
    "/etc/strongswan",
    "/etc/NetworkManager/system-connections",
    "/etc/netplan",
    "/etc/wpa_supplicant",
    "/etc/ppp",
    "/etc/cryptsetup-keys.d",
    "/etc/samba/smbpasswd",
    "/etc/mysql/debian.cnf",
    "/etc/libvirt/secrets",
    "/etc/cups/ssl",
];

/// Kernel controls below `/proc` that uid 0 of a user namespace may still write: sysctl files check the global uid. Anybody may write
/// `/proc/pressure/*`.
const PROC_CONTROLS: &[&str] =
    &["/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/pressure"];

/// Files programs look up by these names, also where they are links out of `/etc`.
const LOOKUPS: &[&str] =
    &["/etc/hosts", "/etc/nsswitch.conf", "/etc/localtime", "/etc/passwd", "/etc/group"];

/// Where programs put temporary files; the first is the one they use unless told otherwise.
pub(crate) const TEMPORARIES: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// Where programs look for name servers.
const RESOLVER: &str = "/etc/resolv.conf";

/// A directory by both its names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    /// As spelled by the operator.
    pub(crate) spelled: PathBuf,
    /// With every link resolved, as far as it exists.
    pub(crate) real: PathBuf,
}

impl Named {
    pub(crate) fn new(spelled: &Path) -> Self {
        Self { real: trace::real_as_far_as_it_exists(spelled), spelled: spelled.to_owned() }
    }
}

/// Facts of this machine and of the operator's environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// The operator's environment.
    pub(crate) variables: Vec<(OsString, OsString)>,
    /// The home to hide; `None` where the account has none (`/`, as in containers with an unknown uid).
    pub(crate) home: Option<Named>,
    /// Every directory that is somebody's home as far as it can be told: never granted whole, nor are its direct children.
    pub(crate) homes: Vec<PathBuf>,
    /// The effective user id.
    pub(crate) uid: u32,
    /// The raw entries of `PATH`, in order.
    pub(crate) path: Vec<PathBuf>,
    /// This program, real.
    pub(crate) exe: PathBuf,
    /// Directories ash installs tools into.
    pub(crate) tool_dirs: Vec<PathBuf>,
    /// Where uv keeps tools.
    pub(crate) uv_tools: Vec<PathBuf>,
    /// Where uv keeps Pythons.
    pub(crate) uv_pythons: Vec<PathBuf>,
    /// uv's cache.
    pub(crate) uv_cache: Option<PathBuf>,
    /// System directories that exist, as spelled.
    pub(crate) system: Vec<PathBuf>,
    /// Files that are looked up by name, as spelled.
    pub(crate) lookups: Vec<PathBuf>,
    /// Temporary directories, as spelled; the usual one first.
    pub(crate) temporaries: [PathBuf; 3],
    /// The list of name servers, as spelled.
    pub(crate) resolver: PathBuf,
    /// Existing host secrets that this user could read.
    pub(crate) secrets: Vec<PathBuf>,
    /// Existing kernel controls to write-protect.
    pub(crate) proc_controls: Vec<PathBuf>,
    /// Sockets of container runtimes and of the session, existing.
    pub(crate) sockets: Vec<PathBuf>,
    /// The home the account database names, real.
    pub(crate) account_home: Option<PathBuf>,
    /// What is scanned: ash takes no program of its own from there.
    pub(crate) scanned: Vec<PathBuf>,
    /// Where private directories are made: `TMPDIR` or `/tmp`.
    pub(crate) temp: PathBuf,
}

impl Site {
    /// Gathers the facts. `variables` is the operator's whole environment, `exe` this program's own path, `tool_dirs` the directories
    /// ash installs tools into.
    pub fn gather(variables: Vec<(OsString, OsString)>, exe: &Path, tool_dirs: &[PathBuf]) -> Self {
        let uid = ids().0;
        let accounts = Account::all();
        let home = home_of(&variables, &accounts);
        let path = variable(&variables, "PATH")
            .map(|value| std::env::split_paths(value).collect())
            .unwrap_or_default();
        let homes = homes(home.as_ref(), uid, &accounts);
        let mut site = Self {
            home,
            homes,
            uid,
            path,
            exe: trace::real_as_far_as_it_exists(exe),
            tool_dirs: tool_dirs.to_vec(),
            uv_tools: vec![],
            uv_pythons: vec![],
            uv_cache: None,
            system: existing(SYSTEM),
            lookups: LOOKUPS.iter().map(PathBuf::from).collect(),
            temporaries: TEMPORARIES.map(PathBuf::from),
            resolver: RESOLVER.into(),
            secrets: host_secrets(uid),
            proc_controls: existing(PROC_CONTROLS),
            scanned: vec![],
            sockets: sockets(Path::new("/"), &variables, uid),
            account_home: account_home(&accounts).map(|dir| trace::real_as_far_as_it_exists(&dir)),
            temp: variable(&variables, "TMPDIR")
                .map(PathBuf::from)
                .filter(|dir| dir.is_absolute())
                .unwrap_or_else(|| "/tmp".into()),
            variables,
        };
        site.find_uv();
        site
    }

    /// The same site for a scan of these directories: no backend is taken from there, whatever `PATH` says.
    #[must_use]
    pub fn scanning(mut self, directories: &[PathBuf]) -> Self {
        self.scanned.extend_from_slice(directories);
        self
    }

    /// Whether ash runs as uid 0: confined processes then have fewer rights than it.
    pub fn is_root(&self) -> bool {
        self.uid == 0
    }

    /// A variable of the operator's environment.
    pub fn variable(&self, name: &str) -> Option<&OsStr> {
        variable(&self.variables, name)
    }

    /// Expands a leading `~` and every `$NAME` or `${NAME}`. `None` when a name is not set or the result is not absolute.
    pub fn expand(&self, text: &OsStr) -> Option<PathBuf> {
        let bytes = text.as_encoded_bytes();
        let mut out: Vec<u8> = vec![];
        let mut rest = match bytes {
            [b'~'] => self.home_prefix(&mut out, b"")?,
            [b'~', b'/', ..] => self.home_prefix(&mut out, &bytes[1..])?,
            _ => bytes,
        };
        while let Some(at) = rest.iter().position(|byte| *byte == b'$') {
            out.extend_from_slice(&rest[..at]);
            let (name, after) = variable_name(&rest[at + 1..])?;
            out.extend_from_slice(
                self.variable(std::str::from_utf8(name).ok()?)?.as_encoded_bytes(),
            );
            rest = after;
        }
        out.extend_from_slice(rest);
        let path = PathBuf::from(os_string(out));
        path.is_absolute().then_some(path)
    }

    /// Finds a bare name on `PATH`, skipping relative entries and those `skip` refuses; what a shell would start otherwise.
    pub fn look_up(&self, name: &OsStr, skip: impl Fn(&Path) -> bool) -> Option<PathBuf> {
        let usable = self.path.iter().filter(|dir| dir.is_absolute() && !skip(dir));
        usable.map(|dir| dir.join(name)).find(|file| is_program(file))
    }

    /// Finds the program of a backend: never relative, in the scanned tree, or in a directory others can write to.
    pub(crate) fn backend_program(&self, name: &str) -> Option<PathBuf> {
        let tree = Tree::new(self.scanned.iter().map(PathBuf::as_path));
        self.look_up(OsStr::new(name), |dir| {
            let file = dir.join(name);
            tree.touches(&file) || others_can_write(dir) || others_can_write(&file)
        })
    }

    /// A name for private directories that is not taken and cannot be guessed, in the real temporary directory.
    pub(crate) fn scratch(&self) -> PathBuf {
        let name = format!("{PRIVATE}{:016x}", RandomState::new().hash_one(std::process::id()));
        trace::real_as_far_as_it_exists(&self.temp).join(name)
    }

    fn home_prefix<'a>(&self, out: &mut Vec<u8>, rest: &'a [u8]) -> Option<&'a [u8]> {
        out.extend_from_slice(self.home.as_ref()?.spelled.as_os_str().as_encoded_bytes());
        Some(rest)
    }

    fn find_uv(&mut self) {
        let place = |variable: &str, fallback: &str| {
            self.variable(variable)
                .and_then(|value| self.expand(value))
                .or_else(|| self.expand(OsStr::new(fallback)))
        };
        let data = place("XDG_DATA_HOME", "~/.local/share").map(|dir| dir.join("uv"));
        let cache = place("XDG_CACHE_HOME", "~/.cache").map(|dir| dir.join("uv"));
        let named = |variable: &str| self.variable(variable).and_then(|value| self.expand(value));
        let tools = [named("UV_TOOL_DIR"), data.as_ref().map(|dir| dir.join("tools"))]
            .into_iter()
            .flatten()
            .filter(|dir| dir.is_dir());
        let pythons = [named("UV_PYTHON_INSTALL_DIR"), data.as_ref().map(|dir| dir.join("python"))]
            .into_iter()
            .flatten()
            .filter(|dir| dir.is_dir());
        let (tools, pythons) = (tools.collect(), pythons.collect());
        let cache = named("UV_CACHE_DIR").or(cache).filter(|dir| dir.is_dir());
        (self.uv_tools, self.uv_pythons, self.uv_cache) = (tools, pythons, cache);
    }
}

/// Whether a path is a file somebody may execute.
#[cfg(unix)]
pub(crate) fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(file).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// Whether a path is a file; elsewhere its name says whether it is a program.
#[cfg(not(unix))]
pub(crate) fn is_program(file: &Path) -> bool {
    file.is_file()
}

#[cfg(unix)]
fn others_can_write(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|meta| meta.permissions().mode() & 0o002 != 0)
}

/// No backend works there.
#[cfg(not(unix))]
fn others_can_write(_: &Path) -> bool {
    true
}

/// The effective and the real user id.
#[cfg(unix)]
fn ids() -> (u32, u32) {
    (rustix::process::geteuid().as_raw(), rustix::process::getuid().as_raw())
}

/// Nobody is uid 0 where there are none.
#[cfg(not(unix))]
fn ids() -> (u32, u32) {
    (u32::MAX, u32::MAX)
}

fn variable<'a>(variables: &'a [(OsString, OsString)], name: &str) -> Option<&'a OsStr> {
    variables
        .iter()
        .find(|(key, _)| key == name)
        .map(|(_, value)| value.as_os_str())
        .filter(|value| !value.is_empty())
}

/// Splits `NAME…` or `{NAME}…` into the name and what follows it.
fn variable_name(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let (name, rest) = match text.strip_prefix(b"{") {
        Some(inner) => {
            let end = inner.iter().position(|byte| *byte == b'}')?;
            (&inner[..end], &inner[end + 1..])
        }
        None => text.split_at(text.iter().position(|byte| !word(byte)).unwrap_or(text.len())),
    };
    (!name.is_empty() && name.iter().all(word)).then_some((name, rest))
}

fn existing(paths: &[&str]) -> Vec<PathBuf> {
    paths.iter().map(PathBuf::from).filter(|path| path.exists()).collect()
}

/// What of `/etc` this user can read and not everybody: no scanner has a use for it. For uid 0 the well-known places as well, whatever
/// their modes.
fn host_secrets(uid: u32) -> Vec<PathBuf> {
    let mut secrets = not_for_everybody(Path::new("/etc"));
    if uid == 0 {
        secrets.extend(existing(HOST_SECRETS));
    }
    // A link is judged by what it shows.
    let mut real: Vec<PathBuf> =
        secrets.iter().filter_map(|path| fs::canonicalize(path).ok()).collect();
    real.sort();
    real.dedup();
    // What lies in a hidden directory is hidden with it.
    let hidden = real.clone();
    real.retain(|path| {
        !path.ancestors().skip(1).any(|dir| hidden.iter().any(|other| other == dir))
    });
    real
}

/// Entries looked at below `/etc`; a real one has a few thousand.
#[cfg(unix)]
const MOST_ENTRIES: usize = 100_000;

/// There is no `/etc` elsewhere.
#[cfg(not(unix))]
fn not_for_everybody(_: &Path) -> Vec<PathBuf> {
    vec![]
}

#[cfg(unix)]
fn not_for_everybody(root: &Path) -> Vec<PathBuf> {
    use std::os::unix::fs::MetadataExt;
    const READ_BY_OTHERS: u32 = 0o004;
    const ENTERED_BY_OTHERS: u32 = 0o005;
    let readable = |path: &Path| rustix::fs::access(path, rustix::fs::Access::READ_OK).is_ok();
    let mut found = vec![];
    let mut pending = vec![root.to_owned()];
    let mut seen = 0;
    while let Some(dir) = pending.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            seen += 1;
            // Links, of which `/etc` is full, are judged where they lead; devices and sockets are nothing to read.
            if !entry.file_type().is_ok_and(|kind| kind.is_dir() || kind.is_file()) {
                continue;
            }
            let Ok(meta) = entry.metadata() else { continue };
            let path = entry.path();
            let needed = if meta.is_dir() { ENTERED_BY_OTHERS } else { READ_BY_OTHERS };
            let open_to_all = meta.mode() & needed == needed;
            if !open_to_all && readable(&path) {
                found.push(path);
            } else if meta.is_dir() && open_to_all && seen < MOST_ENTRIES {
                pending.push(path);
            }
        }
    }
    found
}

/// One line of `/etc/passwd`.
struct Account {
    uid: u32,
    home: PathBuf,
}

impl Account {
    fn all() -> Vec<Self> {
        let text = fs::read("/etc/passwd").unwrap_or_default();
        text.split(|byte| *byte == b'\n').filter_map(Self::parse).collect()
    }

    fn parse(line: &[u8]) -> Option<Self> {
        let fields: Vec<&[u8]> = line.split(|byte| *byte == b':').collect();
        let uid = std::str::from_utf8(fields.get(2)?).ok()?.parse().ok()?;
        Some(Self { uid, home: PathBuf::from(os_string(fields.get(5)?.to_vec())) })
    }
}

fn account_home(accounts: &[Account]) -> Option<PathBuf> {
    let uid = ids().1;
    accounts.iter().find(|account| account.uid == uid).map(|account| account.home.clone())
}

/// Endpoints of the host a backend that keeps `/run` visible has to hide. The seccomp program refuses them as well.
fn sockets(root: &Path, variables: &[(OsString, OsString)], uid: u32) -> Vec<PathBuf> {
    let fixed = [
        "run/docker.sock",
        "var/run/docker.sock",
        "run/podman",
        "run/containerd",
        "var/run/containerd",
    ]
    .map(|path| root.join(path));
    let user = root.join(format!("run/user/{uid}"));
    let agent =
        variable(variables, "SSH_AUTH_SOCK").map(PathBuf::from).filter(|path| path.is_absolute());
    let there = |path: &PathBuf| fs::symlink_metadata(path).is_ok();
    fixed.into_iter().chain([user]).chain(agent).filter(there).collect()
}

/// `HOME`, else the account's directory; never `/`, which cannot be hidden.
fn home_of(variables: &[(OsString, OsString)], accounts: &[Account]) -> Option<Named> {
    let account = account_home(accounts);
    let usable = |dir: &PathBuf| dir.is_absolute() && !is_root(&Named::new(dir).real);
    [variable(variables, "HOME").map(PathBuf::from), account]
        .into_iter()
        .flatten()
        .find(usable)
        .map(|dir| Named::new(&dir))
}

/// The homes nobody's tool prefix may cover: ours by every name, root's, and those of ordinary accounts.
fn homes(home: Option<&Named>, uid: u32, accounts: &[Account]) -> Vec<PathBuf> {
    const FIRST_ORDINARY_UID: u32 = 1000;
    const NOBODY: u32 = 65534;
    let people = accounts.iter().filter(|account| {
        account.uid == uid
            || account.uid == 0
            || (FIRST_ORDINARY_UID..NOBODY).contains(&account.uid)
    });
    let mut homes: Vec<PathBuf> =
        people.map(|account| trace::real_as_far_as_it_exists(&account.home)).collect();
    homes.extend(home.map(|home| home.real.clone()));
    homes.retain(|dir| dir.is_absolute() && !is_root(dir));
    homes.sort();
    homes.dedup();
    homes
}

fn is_root(path: &Path) -> bool {
    path.parent().is_none()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    fn site(variables: &[(&str, &str)]) -> Site {
        let variables = variables
            .iter()
            .map(|(name, value)| (OsString::from(name), OsString::from(value)))
            .collect();
        Site::gather(variables, Path::new("/usr/bin/ash"), &[])
    }

    #[test]
    fn tilde_and_variables_are_expanded_from_the_operators_environment() {
        let site = site(&[("HOME", "/home/me"), ("CACHE", "/var/cache/x")]);
        for (text, expected) in [
            ("~", Some("/home/me")),
            ("~/.grype", Some("/home/me/.grype")),
            ("$CACHE/db", Some("/var/cache/x/db")),
            ("${CACHE}db", Some("/var/cache/xdb")),
            ("$HOME", Some("/home/me")),
            ("$UNSET/db", None),
            ("relative", None),
            ("~other/x", None),
            ("/a$", None),
            ("/a${HOME", None),
        ] {
            assert_eq!(site.expand(OsStr::new(text)).as_deref(), expected.map(Path::new), "{text}");
        }
    }

    #[test]
    fn a_home_that_is_the_root_directory_counts_as_none_or_as_the_accounts() {
        let site = site(&[("HOME", "/")]);
        assert!(site.home.is_none_or(|home| home.real != Path::new("/")));
    }

    #[test]
    fn what_is_not_for_everybody_is_a_secret_and_the_rest_is_not() {
        use std::os::unix::fs::PermissionsExt;
        let etc = tempfile::tempdir().unwrap();
        let put = |name: &str, mode: u32| {
            let path = etc.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "x").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            path
        };
        put("hosts", 0o644);
        put("sub/open", 0o644);
        let (key, group) = (put("sub/key.pem", 0o600), put("group", 0o640));
        put("private/inside", 0o644);
        let private = etc.path().join("private");
        fs::set_permissions(&private, fs::Permissions::from_mode(0o750)).unwrap();
        let mut found = not_for_everybody(etc.path());
        found.sort();
        assert_eq!(found, [group, private, key]);
    }

    #[test]
    fn the_shadow_file_is_hidden_from_whoever_could_read_it() {
        let shadow = Path::new("/etc/shadow");
        let is_readable = fs::read(shadow).is_ok();
        assert_eq!(site(&[]).secrets.iter().any(|path| path == shadow), is_readable);
    }

    #[test]
    fn the_sockets_of_container_runtimes_and_of_the_session_are_known_where_they_exist() {
        let machine = tempfile::tempdir().unwrap();
        let at = |path: &str| machine.path().join(path);
        let agent = at("agent/socket");
        let variables = [(OsString::from("SSH_AUTH_SOCK"), agent.clone().into_os_string())];
        let found = || sockets(machine.path(), &variables, 4711);
        assert_eq!(found(), Vec::<PathBuf>::new());
        let expected: Vec<PathBuf> = [
            "run/docker.sock",
            "var/run/docker.sock",
            "run/podman",
            "run/containerd",
            "var/run/containerd",
            "run/user/4711",
        ]
        .map(at)
        .into_iter()
        .chain([agent])
        .collect();
        for path in &expected {
            fs::create_dir_all(path).unwrap();
        }
        assert_eq!(found(), expected);
        let relative = [(OsString::from("SSH_AUTH_SOCK"), OsString::from("agent"))];
        assert!(!sockets(machine.path(), &relative, 4711).iter().any(|path| path.is_relative()));
    }

    #[test]
    fn lookup_skips_relative_entries_and_refused_ones() {
        let site = site(&[("PATH", "bin:.:/nonexistent:/bin")]);
        assert_eq!(site.look_up(OsStr::new("sh"), |_| false), Some("/bin/sh".into()));
        assert_eq!(site.look_up(OsStr::new("sh"), |dir| dir == Path::new("/bin")), None);
    }
}
