//! Finds a scanner's programs: ash's own tool directory first, then `PATH`, never inside the scanned checkout.

use std::{
    ffi::OsStr,
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use ash_model::tool::Program;

use crate::install::Tools;

/// Where programs are looked for.
#[derive(Debug, Clone)]
pub struct Lookup {
    /// ash's tool directory: `<tools>/<tool>/bin/<program>`.
    pub tools: Tools,
    /// `PATH`, in order, as spelled.
    pub path: Vec<PathBuf>,
    /// Directories whose contents are never started: the scanned directory and its checkout.
    pub untrusted: Vec<PathBuf>,
}

/// A program and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// The absolute path to start, as found (links not resolved: a virtual environment depends on them).
    pub path: PathBuf,
    /// It is in ash's own tool directory.
    pub own: bool,
}

/// Why a program was not found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotLocated {
    /// Nowhere.
    #[error("`{program}` is not installed")]
    Absent {
        /// The bare name.
        program: String,
    },
    /// Only inside the scanned checkout.
    #[error(
        "`{program}` was found only inside the scanned tree ({path}), and nothing there is ever started"
    )]
    Untrusted {
        /// The bare name.
        program: String,
        /// Where.
        path: String,
    },
    /// A script whose interpreter cannot be told.
    #[error("cannot tell which Python runs `{program}`: {reason}")]
    NoInterpreter {
        /// The script.
        program: String,
        /// Why.
        reason: String,
    },
}

impl Lookup {
    /// Finds what a call names.
    ///
    /// # Errors
    /// When it is nowhere, or only where nothing is trusted.
    pub fn locate(&self, program: &Program) -> Result<Located, NotLocated> {
        match program {
            Program::Tool(name) => self.tool(name),
            Program::PythonOf(name) => self.python_of(name),
            Program::Path(path) => Ok(Located { path: path.clone(), own: false }),
        }
    }

    fn tool(&self, name: &str) -> Result<Located, NotLocated> {
        if let Some(path) = self.own_environment_with(name).filter(|path| is_executable_file(path))
        {
            return Ok(Located { path, own: true });
        }
        let mut refused = None;
        for directory in self.path.iter().filter(|directory| directory.is_absolute()) {
            let candidate = directory.join(name);
            if !is_executable_file(&candidate) {
                continue;
            }
            if self.is_untrusted(&candidate) {
                refused.get_or_insert(candidate);
                continue;
            }
            return Ok(Located { path: candidate, own: false });
        }
        Err(match refused {
            Some(path) => {
                NotLocated::Untrusted { program: name.to_owned(), path: path.display().to_string() }
            }
            None => NotLocated::Absent { program: name.to_owned() },
        })
    }

    /// `<tools>/<name>/bin/<name>`.
    fn own_environment_with(&self, name: &str) -> Option<PathBuf> {
        self.tools.locate(name)
    }

    fn python_of(&self, name: &str) -> Result<Located, NotLocated> {
        if let Some(path) = self.tools.python_of(name) {
            return Ok(Located { path, own: true });
        }
        let script = self.tool(name)?;
        let interpreter = interpreter(&script.path).map_err(|reason| {
            NotLocated::NoInterpreter { program: script.path.display().to_string(), reason }
        })?;
        if self.is_untrusted(&interpreter) {
            return Err(NotLocated::Untrusted {
                program: name.to_owned(),
                path: interpreter.display().to_string(),
            });
        }
        Ok(Located { path: interpreter, own: false })
    }

    /// Whether a program lies, by name or by any link on the way, in a directory of the scanned tree. Directories are compared by
    /// identity: spelling, links and letter case change nothing.
    fn is_untrusted(&self, program: &Path) -> bool {
        let roots: Vec<_> = self.untrusted.iter().filter_map(|root| identity(root)).collect();
        let below = |path: &Path| {
            path.ancestors().skip(1).filter_map(identity).any(|id| roots.contains(&id))
        };
        below(program) || program.canonicalize().is_ok_and(|real| below(&real))
    }
}

#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino()))
}

#[cfg(not(unix))]
fn identity(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}

#[cfg(unix)]
pub(crate) fn is_executable_file(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
pub(crate) fn is_executable_file(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.is_file())
}

/// The absolute interpreter of a `#!` script.
fn interpreter(script: &Path) -> Result<PathBuf, String> {
    let mut start = [0; 256];
    let read = fs::File::open(script)
        .and_then(|mut file| file.read(&mut start))
        .map_err(|error| error.to_string())?;
    let line = start[..read].split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = line.strip_prefix(b"#!").ok_or("it is not a script")?;
    let program = line
        .split(u8::is_ascii_whitespace)
        .find(|word| !word.is_empty())
        .ok_or("its first line names no interpreter")?;
    let path = PathBuf::from(ash_model::path::os_string(program.to_vec()));
    if path.file_name() == Some(OsStr::new("env")) {
        return Err("it uses `env`; install the tool with `ash dependencies install`".to_owned());
    }
    if path.is_absolute() {
        Ok(path)
    } else {
        Err("its interpreter is not an absolute path".to_owned())
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn program(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn lab() -> (tempfile::TempDir, Lookup) {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::create_dir_all(at("source/bin")).unwrap();
        let lookup = Lookup {
            tools: Tools::at(at("tools")),
            path: vec![at("source/bin"), "bin".into(), at("path")],
            untrusted: vec![at("source")],
        };
        (root, lookup)
    }

    #[test]
    fn a_program_in_the_scanned_tree_is_passed_over_for_one_outside() {
        let (root, lookup) = lab();
        program(&root.path().join("source/bin/bandit"), "#!/bin/sh\n");
        let refused = lookup.locate(&Program::Tool("bandit")).unwrap_err();
        assert!(matches!(refused, NotLocated::Untrusted { .. }), "{refused}");
        program(&root.path().join("path/bandit"), "#!/bin/sh\n");
        assert_eq!(
            lookup.locate(&Program::Tool("bandit")).unwrap().path,
            root.path().join("path/bandit")
        );
    }

    #[test]
    fn a_link_outside_to_a_program_inside_is_inside() {
        let (root, lookup) = lab();
        program(&root.path().join("source/evil"), "#!/bin/sh\n");
        fs::create_dir_all(root.path().join("path")).unwrap();
        symlink(root.path().join("source/evil"), root.path().join("path/bandit")).unwrap();
        assert!(matches!(
            lookup.locate(&Program::Tool("bandit")),
            Err(NotLocated::Untrusted { .. })
        ));
    }

    #[test]
    fn an_absent_program_is_absent() {
        let (_root, lookup) = lab();
        assert_eq!(
            lookup.locate(&Program::Tool("nothing")),
            Err(NotLocated::Absent { program: "nothing".into() })
        );
    }

    #[test]
    fn the_python_of_a_script_is_its_interpreter() {
        let (root, lookup) = lab();
        program(&root.path().join("path/detect-secrets"), "#!/usr/bin/python3 -I\nprint()\n");
        assert_eq!(
            lookup.locate(&Program::PythonOf("detect-secrets")).unwrap().path,
            PathBuf::from("/usr/bin/python3")
        );
    }
}
