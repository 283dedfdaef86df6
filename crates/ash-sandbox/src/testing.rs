//! A made-up machine, so that what a scanner is allowed can be written down the same way wherever the tests run.
//!
//! Policies are decided over real files, so the machine is planted in a directory; that directory is then cut off every path, and
//! the backends, which are pure, wrap what remains.

use std::{
    ffi::{OsStr, OsString},
    fs, io,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
};

use ash_model::evidence::Tier;

use crate::{
    backends::{Abilities, BackendId, Command, Wrap, WrapError, sandbox_exec, wrap},
    launch::{Prepared, Setup},
    policy::Policy,
    site::{Named, Site},
};

/// A machine in a directory: merged `/usr`, one user with a home, no file of the real machine.
#[derive(Debug)]
pub struct Machine {
    root: PathBuf,
}

impl Machine {
    /// Plants it in an empty directory.
    ///
    /// # Errors
    /// When that cannot be written.
    pub fn plant(directory: &Path) -> io::Result<Self> {
        let machine = Self { root: fs::canonicalize(directory)? };
        for dir in [
            "usr/bin",
            "usr/local/bin",
            "usr/lib",
            "etc",
            "opt",
            "tmp",
            "var/tmp",
            "dev/shm",
            "home/me",
        ] {
            fs::create_dir_all(machine.at(dir))?;
        }
        for name in ["bin", "lib"] {
            symlink(Path::new("usr").join(name), machine.at(name))?;
        }
        for file in [
            "etc/hosts",
            "etc/nsswitch.conf",
            "etc/passwd",
            "etc/group",
            "etc/resolv.conf",
            "etc/shadow",
        ] {
            fs::write(machine.at(file), "")?;
        }
        machine.program("usr/local/bin/ash", "")?;
        Ok(machine)
    }

    /// Where a path of the machine, without its leading slash, really is.
    pub fn at(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Makes a directory.
    ///
    /// # Errors
    /// When it cannot.
    pub fn dir(&self, path: &str) -> io::Result<PathBuf> {
        fs::create_dir_all(self.at(path))?;
        Ok(self.at(path))
    }

    /// Makes an executable file; `@/` in its text stands for the root directory.
    ///
    /// # Errors
    /// When it cannot.
    pub fn program(&self, path: &str, text: &str) -> io::Result<PathBuf> {
        let file = self.at(path);
        fs::create_dir_all(file.parent().unwrap_or(&self.root))?;
        fs::write(&file, text.replace("@/", &format!("{}/", self.root.display())))?;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755))?;
        Ok(file)
    }

    /// The facts of the machine for a user or for root; `@/` in a value stands for the root directory.
    pub fn site(&self, as_root: bool, variables: &[(&str, &str)], tool_dirs: &[PathBuf]) -> Site {
        let root = format!("{}/", self.root.display());
        let variables = variables
            .iter()
            .map(|(name, value)| (OsString::from(name), OsString::from(value.replace("@/", &root))))
            .collect();
        let home = Named::new(&self.at("home/me"));
        let list = |paths: &[&str]| paths.iter().map(|path| self.at(path)).collect();
        Site {
            homes: vec![home.real.clone()],
            account_home: Some(home.real.clone()),
            home: Some(home),
            uid: if as_root { 0 } else { 1000 },
            system: list(&["usr", "bin", "lib", "etc", "opt"]),
            lookups: list(&["etc/hosts", "etc/nsswitch.conf", "etc/passwd", "etc/group"]),
            temporaries: ["tmp", "var/tmp", "dev/shm"].map(|path| self.at(path)),
            resolver: self.at("etc/resolv.conf"),
            secrets: if as_root { list(&["etc/shadow"]) } else { vec![] },
            proc_controls: vec![],
            sockets: vec![],
            temp: self.at("tmp"),
            ..Site::gather(variables, &self.at("usr/local/bin/ash"), tool_dirs)
        }
    }

    /// Everything a backend makes of a policy for a program, as text. With `overlay`, as where caches can be writable and thrown away.
    ///
    /// # Errors
    /// When the backend cannot express it.
    pub fn show(
        &self,
        id: BackendId,
        overlay: bool,
        policy: &Policy,
        program: &Path,
    ) -> Result<String, WrapError> {
        let policy = self.cut_policy(policy.clone());
        let command = Command { program: self.cut(program), args: vec![] };
        let abilities = Abilities {
            program: "/usr/bin/backend".into(),
            version: None,
            overlay,
            disable_userns: true,
            tmpfs_size: true,
            tier: Tier::NamespacesLandlock,
            warnings: vec![],
        };
        let prepared = wrap(
            id,
            &Wrap {
                mode: "auto",
                abilities: &abilities,
                policy: &policy,
                command: &command,
                exe: Path::new("/usr/local/bin/ash"),
                proc_controls: &["/proc/sys", "/proc/sysrq-trigger"].map(PathBuf::from),
                scratch: Path::new("/tmp/ash-sandbox-0"),
                sockets: &[PathBuf::from("/run/docker.sock")],
                account_home: Some(Path::new("/home/me")),
                trust_roots: None,
            },
        )?;
        Ok(format!("# {}\n\n{}", command.program.display(), describe(&prepared)))
    }

    /// A path of the machine as it would be spelled there.
    fn cut(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.root)
            .map_or_else(|_| path.to_owned(), |rest| Path::new("/").join(rest))
    }

    fn cut_text(&self, text: &OsStr) -> OsString {
        text.to_string_lossy().replace(&*self.root.to_string_lossy(), "").into()
    }

    fn cut_policy(&self, mut policy: Policy) -> Policy {
        let lists = [
            &mut policy.read_only,
            &mut policy.writable,
            &mut policy.caches,
            &mut policy.scan_data,
            &mut policy.executable,
            &mut policy.hidden,
            &mut policy.hidden_dirs,
            &mut policy.temporaries,
            &mut policy.uv_locks,
        ];
        for path in lists.into_iter().flatten() {
            *path = self.cut(path);
        }
        for path in [&mut policy.home, &mut policy.home_spelled, &mut policy.cwd]
            .into_iter()
            .chain(&mut policy.resolver)
        {
            *path = self.cut(path);
        }
        for (place, text) in &mut policy.links {
            (*place, *text) = (self.cut(place), self.cut(text));
        }
        for split in &mut policy.unfolded {
            split.dir = self.cut(&split.dir);
            split.parts.iter_mut().for_each(|part| *part = self.cut(part));
        }
        for (_, value) in &mut policy.environment {
            *value = self.cut_text(value);
        }
        // What is data goes by the real path.
        policy.executable.retain(|path| !crate::policy::is_data(path));
        policy
    }
}

/// The command line, the last stage's rules, the environment, and what is made before and removed after.
pub(crate) fn describe(prepared: &Prepared) -> String {
    let supervisor = &prepared.supervisor;
    let mut parts = vec![match sandbox_exec::profile_of(&supervisor.argv) {
        Some(profile) => profile,
        None => lines(&supervisor.argv),
    }];
    if let Some(stage) = &supervisor.stage {
        parts.push(format!(
            "# stage, depth {}, stays: {}\n{}",
            supervisor.tool_depth,
            stage.stay,
            crate::explain::rules(stage).trim_end()
        ));
        let variable = |(name, value): &(OsString, OsString)| {
            format!("{}={}", name.display(), value.display())
        };
        parts.push(format!("# environment\n{}", join(stage.env.iter().map(variable))));
    }
    let setup = prepared.setup.iter().map(|step| match step {
        Setup::Dir(path) => format!("mkdir {}", path.display()),
        Setup::File { at, lines } => {
            let lines = lines.iter().map(|line| String::from_utf8_lossy(line).into_owned());
            format!("write {}\n{}", at.display(), join(lines))
        }
        Setup::Link { at, text } => format!("link {} -> {}", at.display(), text.display()),
    });
    let cleanup = supervisor.cleanup.iter().map(|path| format!("remove {}", path.display()));
    parts.push(format!("# before and after\n{}", join(setup.chain(cleanup))));
    parts.join("\n\n")
}

fn join(lines: impl Iterator<Item = String>) -> String {
    lines.collect::<Vec<_>>().join("\n")
}

/// One option and its operands a line.
fn lines(argv: &[OsString]) -> String {
    let mut text = String::new();
    for word in argv {
        let word = word.to_string_lossy();
        if !text.is_empty() {
            text.push(if word.starts_with("--") || word == "__confine" { '\n' } else { ' ' });
        }
        text.push_str(&word);
    }
    text
}
