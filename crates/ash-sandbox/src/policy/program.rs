//! What a program needs besides itself: its install prefix, the names it goes by, its interpreter, the Python its environment is made from.

use std::{
    collections::BTreeSet,
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

use ash_model::path::os_string;

use super::{
    breadth::{Breadth, holds_programs},
    trace,
    tree::Tree,
};
use crate::site::is_program;

/// The kernel reads no more of a `#!` line.
const SHEBANG: u64 = 256;
const MAX_VENV_CONFIG: u64 = 64 << 10;
/// A script run by a script run by … as deep as the kernel goes.
const MAX_INTERPRETERS: usize = 5;

/// What `program` gets, in the order found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// Paths to read and run from.
    pub(crate) paths: Vec<PathBuf>,
    /// Names that must keep working: their links are shown inside.
    pub(crate) names: Vec<PathBuf>,
    /// A part of the chain lies in the scanned tree and was not followed.
    pub(crate) in_tree: bool,
}

/// Finds out what a program needs.
#[derive(Debug)]
pub(crate) struct Search<'a> {
    /// The breadth rule.
    pub(crate) breadth: &'a Breadth<'a>,
    /// The scanned data: a script there could name any directory as its interpreter's.
    pub(crate) tree: &'a Tree,
    /// The usable `PATH`.
    pub(crate) path: &'a [PathBuf],
}

impl Search<'_> {
    pub(crate) fn needs_of(&self, program: &Path) -> Found {
        let mut found = Found::default();
        let mut next = Some(program.to_owned());
        for _ in 0..MAX_INTERPRETERS {
            let Some(file) = next else { break };
            next = self.add_file(&file, &mut found);
        }
        found
    }

    /// Adds one file and returns its interpreter.
    fn add_file(&self, file: &Path, found: &mut Found) -> Option<PathBuf> {
        if self.tree.touches(file) {
            found.in_tree = true;
            return None;
        }
        let traced = trace::trace(file).ok()?;
        found.names.push(file.to_owned());
        for name in traced.hops.iter().chain([&traced.real]) {
            self.add_surroundings(name, found);
        }
        let interpreter = interpreter(&traced.real)?;
        let named = match interpreter {
            Interpreter::Path(path) => path,
            Interpreter::Env { env, program } => {
                self.add_file(&env, found);
                self.path.iter().map(|dir| dir.join(&program)).find(|file| is_program(file))?
            }
        };
        named.is_absolute().then_some(named)
    }

    /// The directory a name of the program lies in, and the install prefix above a `bin`.
    fn add_surroundings(&self, name: &Path, found: &mut Found) {
        let Some(dir) = name.parent() else { return };
        if holds_programs(dir) && !self.breadth.covers_a_home(dir) {
            found.paths.push(dir.to_owned());
            if let Some(prefix) = dir.parent() {
                self.add_prefix(prefix, found);
            }
        } else if is_shims(dir) {
            self.add_version_manager(dir, found);
        } else if self.breadth.is_broad(dir) {
            // A single binary beside a user's own files: that file and nothing else.
            found.paths.push(name.to_owned());
        } else {
            found.paths.push(dir.to_owned());
        }
    }

    fn add_prefix(&self, prefix: &Path, found: &mut Found) {
        if !self.breadth.is_broad(prefix) {
            found.paths.push(prefix.to_owned());
        }
        if let Some(base) = venv_base(prefix)
            && !self.tree.touches(&base)
        {
            self.add_python(&base, found);
        }
    }

    /// The `bin` directory of the Python a virtual environment was made from, and its prefix with the standard library.
    fn add_python(&self, bin: &Path, found: &mut Found) {
        let Ok(traced) = trace::trace(bin) else { return };
        if let Some(prefix) = python_prefix(&traced.real)
            && !self.breadth.is_broad(prefix)
        {
            found.names.push(bin.to_owned());
            found.paths.extend([traced.real.clone(), prefix.to_owned()]);
        }
    }

    /// The prefixes of the base Pythons of a uv tools directory, through each environment's `bin/python` link. Hundreds of environments
    /// share a few Pythons, so only the links are read one by one.
    pub(crate) fn base_pythons(&self, tools: &Path) -> BTreeSet<PathBuf> {
        let environments = std::fs::read_dir(tools).into_iter().flatten().flatten();
        let pythons: BTreeSet<PathBuf> = environments
            .filter_map(|environment| {
                let bin = environment.path().join("bin");
                std::fs::read_link(bin.join("python")).ok().map(|text| bin.join(text))
            })
            .collect();
        pythons.iter().filter_map(|python| self.base_python(python)).collect()
    }

    fn base_python(&self, python: &Path) -> Option<PathBuf> {
        let real = trace::trace(python).ok()?.real;
        let prefix = python_prefix(real.parent()?)?;
        (!self.breadth.is_broad(prefix) && !self.tree.touches(&real)).then(|| prefix.to_owned())
    }

    /// pyenv, rbenv and their like put scripts on `PATH` that look the real program up among installed versions.
    fn add_version_manager(&self, shims: &Path, found: &mut Found) {
        let Some(root) = shims.parent() else { return };
        let parts = [
            "shims", "bin", "libexec", "version", "versions", "installs", "plugins", "pyenv.d",
            "rbenv.d",
        ];
        found.paths.extend(parts.iter().map(|part| root.join(part)).filter(|part| part.exists()));
    }
}

fn is_shims(dir: &Path) -> bool {
    dir.file_name().is_some_and(|name| name == "shims") && dir.with_file_name("libexec").is_dir()
}

fn python_prefix(bin: &Path) -> Option<&Path> {
    let prefix = bin.parent().filter(|_| holds_programs(bin))?;
    let mut libraries = std::fs::read_dir(prefix.join("lib")).ok()?.flatten();
    libraries
        .any(|entry| entry.file_name().as_encoded_bytes().starts_with(b"python"))
        .then_some(prefix)
}

/// `home` of a `pyvenv.cfg`: the `bin` directory of the base interpreter.
fn venv_base(prefix: &Path) -> Option<PathBuf> {
    let text = read_start(&prefix.join("pyvenv.cfg"), MAX_VENV_CONFIG)?;
    let value = text.split(|byte| *byte == b'\n').find_map(|line| {
        let at = line.iter().position(|byte| *byte == b'=')?;
        (line[..at].trim_ascii().eq_ignore_ascii_case(b"home")).then(|| line[at + 1..].trim_ascii())
    })?;
    let home = bytes_path(value);
    home.is_absolute().then_some(home)
}

enum Interpreter {
    Path(PathBuf),
    /// `#!/usr/bin/env program`.
    Env {
        env: PathBuf,
        program: PathBuf,
    },
}

fn interpreter(file: &Path) -> Option<Interpreter> {
    let start = read_start(file, SHEBANG)?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let program = bytes_path(words.next()?);
    if program.file_name().is_some_and(|name| name == "env") {
        let named = words.find(|word| !word.starts_with(b"-") && !word.contains(&b'='))?;
        return Some(Interpreter::Env { env: program, program: bytes_path(named) });
    }
    Some(Interpreter::Path(program))
}

fn bytes_path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(os_string(bytes.to_vec()))
}

fn read_start(file: &Path, limit: u64) -> Option<Vec<u8>> {
    let meta = std::fs::metadata(file).ok().filter(std::fs::Metadata::is_file)?;
    let mut bytes = Vec::with_capacity(usize::try_from(meta.len().min(limit)).ok()?);
    File::open(file).ok()?.take(limit).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::{
        fs,
        os::unix::fs::{PermissionsExt, symlink},
    };

    use super::*;

    struct Lab {
        dir: tempfile::TempDir,
        root: PathBuf,
    }

    impl Lab {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let root = fs::canonicalize(dir.path()).unwrap();
            fs::create_dir_all(root.join("home")).unwrap();
            fs::create_dir_all(root.join("source")).unwrap();
            Self { dir, root }
        }

        fn program(&self, path: &str, text: &str) -> PathBuf {
            let file = self.root.join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, text).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
            file
        }

        fn needs(&self, program: &str, path: &[&str]) -> (Vec<String>, bool) {
            let homes = [self.root.join("home")];
            let tree = Tree::new([self.root.join("source").as_path()]);
            let path: Vec<PathBuf> = path.iter().map(|dir| self.root.join(dir)).collect();
            let found = Search { breadth: &Breadth::new(&homes), tree: &tree, path: &path }
                .needs_of(&self.root.join(program));
            let mut paths: Vec<_> = found
                .paths
                .iter()
                .filter_map(|path| path.strip_prefix(&self.root).ok())
                .map(|path| path.display().to_string())
                .collect();
            paths.sort();
            paths.dedup();
            assert!(self.dir.path().exists());
            (paths, found.in_tree)
        }
    }

    #[test]
    fn a_linked_tool_of_a_uv_environment_brings_its_prefix_and_its_base_python() {
        let lab = Lab::new();
        lab.program("home/.local/share/uv/python/cpython-3.12/bin/python3.12", "");
        fs::create_dir_all(
            lab.root.join("home/.local/share/uv/python/cpython-3.12/lib/python3.12"),
        )
        .unwrap();
        let python = lab.root.join("home/.local/share/uv/tools/bandit/bin/python");
        lab.program(
            "home/.local/share/uv/tools/bandit/bin/bandit",
            &format!("#!{}\n", python.display()),
        );
        symlink(lab.root.join("home/.local/share/uv/python/cpython-3.12/bin/python3.12"), &python)
            .unwrap();
        fs::create_dir_all(lab.root.join("home/.local/bin")).unwrap();
        symlink("../share/uv/tools/bandit/bin/bandit", lab.root.join("home/.local/bin/bandit"))
            .unwrap();
        let (paths, _) = lab.needs("home/.local/bin/bandit", &[]);
        assert_eq!(
            paths,
            [
                "home/.local/bin",
                "home/.local/share/uv/python/cpython-3.12",
                "home/.local/share/uv/python/cpython-3.12/bin",
                "home/.local/share/uv/tools/bandit",
                "home/.local/share/uv/tools/bandit/bin",
            ]
        );
    }

    #[test]
    fn a_virtual_environments_config_names_the_base_python() {
        let lab = Lab::new();
        lab.program("base/bin/python3", "");
        fs::create_dir_all(lab.root.join("base/lib/python3.11")).unwrap();
        lab.program("venv/bin/tool", "binary");
        fs::write(
            lab.root.join("venv/pyvenv.cfg"),
            format!("version = 3\nhome = {}\n", lab.root.join("base/bin").display()),
        )
        .unwrap();
        assert_eq!(lab.needs("venv/bin/tool", &[]).0, ["base", "base/bin", "venv", "venv/bin"]);
    }

    #[test]
    fn a_script_brings_the_prefix_of_its_interpreter_also_through_env() {
        let lab = Lab::new();
        lab.program("home/.rbenv/versions/3/bin/ruby", "");
        lab.program("home/gems/cfn/bin/cfn_nag", "#!/usr/bin/env -S ruby -w\n");
        let (paths, _) = lab.needs("home/gems/cfn/bin/cfn_nag", &["home/.rbenv/versions/3/bin"]);
        assert_eq!(
            paths,
            [
                "home/.rbenv/versions/3",
                "home/.rbenv/versions/3/bin",
                "home/gems/cfn",
                "home/gems/cfn/bin"
            ]
        );
    }

    #[test]
    fn a_single_binary_beside_a_users_files_is_granted_alone() {
        let lab = Lab::new();
        lab.program("home/gitleaks", "");
        lab.program("home/.cargo/bin/tool", "");
        assert_eq!(lab.needs("home/gitleaks", &[]).0, ["home/gitleaks"]);
        assert_eq!(lab.needs("home/.cargo/bin/tool", &[]).0, ["home/.cargo/bin"]);
    }

    #[test]
    fn a_program_of_the_scanned_tree_grants_nothing() {
        let lab = Lab::new();
        lab.program("home/.ssh/keys/bin/id", "");
        let script = format!("#!{}\n", lab.root.join("home/.ssh/keys/bin/id").display());
        lab.program("source/run", &script);
        lab.program("outside/run", &script);
        symlink(lab.root.join("home/.ssh/keys/bin/id"), lab.root.join("source/link")).unwrap();
        assert_eq!(lab.needs("source/run", &[]), (vec![], true));
        assert_eq!(lab.needs("source/link", &[]), (vec![], true));
        assert_eq!(
            lab.needs("outside/run", &[]).0,
            ["home/.ssh/keys", "home/.ssh/keys/bin", "outside"],
            "control: outside the tree it is followed"
        );
    }

    #[test]
    fn only_a_first_line_within_256_bytes_names_an_interpreter() {
        let lab = Lab::new();
        lab.program("a/bin/interp", "");
        let interp = lab.root.join("a/bin/interp").display().to_string();
        lab.program("b/late", &format!("\n#!{interp}\n"));
        assert_eq!(lab.needs("b/late", &[]).0, ["b"]);
    }
}
