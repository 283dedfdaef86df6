//! A throwaway home, source tree, output directory and everything around them.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "`cp` installs the hostile program, `rm` removes what it left"
)]

use std::{
    collections::BTreeMap,
    env,
    ffi::OsString,
    fs,
    io::Read,
    os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
    thread,
    time::Duration,
};

use crate::{Ears, Victim, hostile_binary};

/// The search path that labs give to the program under test.
pub const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// One laboratory. Everything in it, and what its attacks left elsewhere, goes when it is dropped.
#[derive(Debug)]
pub struct Lab {
    root: PathBuf,
    unique: String,
    secret: String,
    watched: BTreeMap<PathBuf, State>,
    ears: OnceLock<Ears>,
    victim: OnceLock<Victim>,
}

/// What an attack could change about a file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct State {
    content: Option<Vec<u8>>,
    mode: u32,
    owner: (u32, u32),
    modified: (i64, i64),
    links: u64,
}

impl State {
    fn of(path: &Path) -> Option<Self> {
        let found = fs::symlink_metadata(path).ok()?;
        Some(Self {
            content: fs::read(path).ok(),
            mode: found.mode(),
            owner: (found.uid(), found.gid()),
            modified: (found.mtime(), found.mtime_nsec()),
            links: found.nlink(),
        })
    }
}

impl Lab {
    /// Sets one up below the system's temporary directory.
    pub fn new() -> Self {
        let unique = format!("ash-probe-{}", random());
        let root = env::temp_dir().canonicalize().unwrap().join(format!("ash-lab-{}", random()));
        let mut lab = Self {
            secret: format!("SEKRIT-{}", random()),
            unique,
            root,
            watched: BTreeMap::new(),
            ears: OnceLock::new(),
            victim: OnceLock::new(),
        };
        for directory in [
            "source/.git/hooks",
            "output/scanners/probe/source",
            "run",
            "mounted",
            "tools/bin",
            "home/.config",
        ] {
            fs::create_dir_all(lab.root.join(directory)).unwrap();
        }
        let secret = lab.secret.clone();
        lab.plant("home/.ssh/id_rsa", &format!("-----BEGIN KEY-----\n{secret}\n"), 0o600);
        lab.plant("home/.aws/credentials", &format!("aws_secret_access_key={secret}\n"), 0o600);
        lab.plant("home/.bashrc", "# shell\n", 0o644);
        lab.plant("home/outside.txt", "untouched\n", 0o644);
        lab.plant("home/.cache/uv/wheels/module.py", "value = 1\n", 0o644);
        // uv installs by hard links: what changes its cache in place changes the tool.
        lab.link("home/.cache/uv/wheels/module.py", "home/.local/share/uv/tools/probe/module.py");
        lab.plant("home/.cache/grype/db/6/vulnerability.db", "database\n", 0o644);
        lab.plant("home/.cache/trivy/policy/content/docker.rego", "package checks\n", 0o644);
        for directory in ["home/.cache/grype/db/6", "home/.cache/trivy/policy/content"] {
            lab.watch(directory);
        }
        lab.plant("beside.txt", &format!("{secret}\n"), 0o644);
        lab.plant("open.txt", "untouched\n", 0o644);
        lab.plant("source/main.py", "print('hello')\n", 0o644);
        lab.plant("source/.git/HEAD", "ref: refs/heads/main\n", 0o644);
        lab.plant("source/.git/config", "[core]\n\tbare = false\n", 0o644);
        lab.plant("output/ash_aggregated_results.json", "{}\n", 0o644);
        lab.plant("output/scanners/other/source/other.sarif", "{}\n", 0o644);
        lab.plant("mounted/hostname", "lab\n", 0o644);
        // Copied by another process: a descriptor open for writing here could leak into a child that another test forks meanwhile,
        // and the program could then not be started ("text file busy").
        let copied =
            Command::new("cp").arg(hostile_binary()).arg(lab.hostile()).env("PATH", PATH).status();
        assert!(copied.is_ok_and(|status| status.success()), "cannot install the hostile program");
        lab
    }

    fn plant(&mut self, relative: &str, text: &str, mode: u32) {
        let path = self.root.join(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        self.watch(relative);
    }

    /// Gives a planted file a second name.
    fn link(&mut self, relative: &str, other: &str) {
        let name = self.root.join(other);
        fs::create_dir_all(name.parent().unwrap()).unwrap();
        fs::hard_link(self.root.join(relative), name).unwrap();
        self.watch(relative);
        self.watch(other);
    }

    /// Remembers how a file is, or which entries a directory has: its time tells.
    fn watch(&mut self, relative: &str) {
        let path = self.root.join(relative);
        let state = State::of(&path).unwrap();
        self.watched.insert(path, state);
    }

    /// The caches that a scanner with a database and checks is granted.
    pub fn caches(&self) -> [PathBuf; 2] {
        ["home/.cache/grype", "home/.cache/trivy"].map(|path| self.path(path))
    }

    /// A path below the lab.
    pub fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    /// The user's home.
    pub fn home(&self) -> PathBuf {
        self.path("home")
    }

    /// The tree under scan.
    pub fn source(&self) -> PathBuf {
        self.path("source")
    }

    /// The output directory, with another scanner's results.
    pub fn output(&self) -> PathBuf {
        self.path("output")
    }

    /// The directory that a scanner may write.
    pub fn results(&self) -> PathBuf {
        self.path("output/scanners/probe/source")
    }

    /// A directory that the sandbox is told to read, with sockets in it.
    pub fn mounted(&self) -> PathBuf {
        self.path("mounted")
    }

    /// The hostile program, installed like a tool.
    pub fn hostile(&self) -> PathBuf {
        self.path("tools/bin/hostile")
    }

    /// A word that is in every private place of this lab and nowhere else.
    pub fn secret(&self) -> &str {
        &self.secret
    }

    /// A name that no other lab has.
    pub fn unique(&self) -> &str {
        &self.unique
    }

    /// Its listeners, opened at the first question.
    pub fn ears(&self) -> &Ears {
        self.ears.get_or_init(|| Ears::open(&self.path("run"), &self.mounted(), &self.unique))
    }

    /// Its victim, started at the first question.
    pub fn victim(&self) -> &Victim {
        self.victim.get_or_init(|| {
            Victim::start(
                &self.hostile(),
                &format!("{}-victim", self.unique),
                &self.secret,
                &self.path("home/.ssh/id_rsa"),
                &self.path("pts.log"),
            )
        })
    }

    /// The environment of the program under test: a home of its own and secrets under many names.
    pub fn environment(&self) -> Vec<(OsString, OsString)> {
        let secret = &self.secret;
        [
            ("PATH", PATH.to_owned()),
            ("HOME", self.home().display().to_string()),
            ("LANG", "C.UTF-8".to_owned()),
            ("TERM", "xterm".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", secret.clone()),
            ("GITHUB_TOKEN", secret.clone()),
            ("INNOCENT", secret.clone()),
            ("ASH_PROBE_TOKEN", secret.clone()),
            ("UV_INDEX_URL", format!("https://user:{secret}@host.invalid/simple")),
            (
                "UV_EXTRA_INDEX_URL",
                format!("https://one.invalid https://user:{secret}@two.invalid"),
            ),
            ("DOCKER_HOST", format!("unix://{secret}")),
        ]
        .map(|(name, value)| (name.into(), value.into()))
        .to_vec()
    }

    /// Every parameter an attack may ask for.
    pub fn parameters(&self) -> Vec<String> {
        let own = [
            format!("home={}", self.home().display()),
            format!("source={}", self.source().display()),
            format!("output={}", self.output().display()),
            format!("results={}", self.results().display()),
            format!("mounted={}", self.mounted().display()),
            format!("secret={}", self.secret),
            format!("unique={}", self.unique),
            format!("key={}", self.unique),
            "dirfd=9".to_owned(),
            "filefd=8".to_owned(),
            "keys=echo-typed".to_owned(),
            "flood=209715200".to_owned(),
        ];
        own.into_iter()
            .chain(self.ears().parameters().to_vec())
            .chain(self.victim().parameters().to_vec())
            .collect()
    }

    /// Whether a planted file's content, mode, owner, times or link count differ from when it was planted.
    pub fn changed(&self, relative: &str) -> bool {
        let path = self.root.join(relative);
        State::of(&path).as_ref() != self.watched.get(&path)
    }

    /// The planted files that differ, for the attacks that must change nothing at all.
    pub fn all_changes(&self) -> Vec<PathBuf> {
        self.watched
            .iter()
            .filter(|(path, state)| State::of(path).as_ref() != Some(*state))
            .map(|(path, _)| path.clone())
            .collect()
    }

    /// What is left in the results that could hurt whoever reads, publishes or deletes them, such as `report.json: link`.
    pub fn traps(&self) -> Vec<String> {
        let mut found = Vec::new();
        traps_below(&self.results(), &mut found, 0);
        found
    }
}

/// Lists links, special files, special bits and unreadable entries; goes no deeper than a thousand levels.
fn traps_below(directory: &Path, found: &mut Vec<String>, depth: u32) {
    let mode = fs::symlink_metadata(directory).map_or(0, |entry| entry.mode());
    if mode & 0o700 != 0o700 {
        found.push(format!("{}: directory of mode {mode:o}", directory.display()));
    }
    if depth > 1000 {
        return;
    }
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let Ok(metadata) = entry.path().symlink_metadata() else { continue };
        let kind = metadata.file_type();
        let name = entry.path().display().to_string();
        if kind.is_symlink() {
            found.push(format!("{name}: link"));
        } else if kind.is_fifo()
            || kind.is_socket()
            || kind.is_block_device()
            || kind.is_char_device()
        {
            found.push(format!("{name}: special file"));
        } else if metadata.mode() & 0o6000 != 0 {
            found.push(format!("{name}: mode {:o}", metadata.mode()));
        } else if metadata.is_file() && metadata.mode() & 0o400 == 0 {
            found.push(format!("{name}: unreadable"));
        }
        if metadata.is_dir() {
            traps_below(&entry.path(), found, depth + 1);
        }
    }
}

impl Default for Lab {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for shared in ["/tmp/jsii-", "/var/tmp/uv-", "/tmp/", "/dev/shm/"] {
            let _ = fs::remove_file(format!("{shared}{}", self.unique));
        }
        // An attack may have left trees that are too deep for recursion, modes that stop it, or, in a control, a survivor that goes on
        // making entries for some seconds.
        for _ in 0..50 {
            let _ = Command::new("chmod")
                .args(["-R", "u+rwX"])
                .arg(&self.root)
                .env("PATH", PATH)
                .stderr(Stdio::null())
                .status();
            let _ = Command::new("rm")
                .arg("-rf")
                .arg(&self.root)
                .env("PATH", PATH)
                .stderr(Stdio::null())
                .status();
            if !self.root.exists() {
                break;
            }
            thread::sleep(Duration::from_millis(200));
        }
    }
}

fn random() -> String {
    let mut bytes = [0; 6];
    fs::File::open("/dev/urandom").unwrap().read_exact(&mut bytes).unwrap();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
