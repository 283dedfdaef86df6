//! Where the installed tools are.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use super::stamp::Stamp;

/// ash's own tool directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tools {
    dir: PathBuf,
}

/// The environment does not say where the tools are.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolsDirError {
    /// A relative directory would depend on where ash is started, hence on what is scanned.
    #[error("`ASH_TOOLS_DIR` is `{0}`, which is not an absolute path")]
    Relative(String),
    /// No variable names a place.
    #[error(
        "neither `ASH_TOOLS_DIR`, `XDG_DATA_HOME` nor `HOME` names an absolute directory for ash's tools; set `ASH_TOOLS_DIR`"
    )]
    Unknown,
}

impl Tools {
    /// The tool directory at a known, absolute place.
    pub const fn at(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// The tool directory the operator's environment names.
    ///
    /// # Errors
    /// When it names none, or a relative one.
    pub fn from_environment(
        variable: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<Self, ToolsDirError> {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        if let Some(dir) = set("ASH_TOOLS_DIR") {
            return if dir.is_absolute() {
                Ok(Self { dir })
            } else {
                Err(ToolsDirError::Relative(dir.display().to_string()))
            };
        }
        // The XDG rules say that a relative value is to be ignored.
        let data = set("XDG_DATA_HOME").filter(|dir| dir.is_absolute());
        let data = data.or_else(|| {
            set("HOME").filter(|dir| dir.is_absolute()).map(|home| home.join(".local/share"))
        });
        data.map(|dir| Self { dir: dir.join("ash/tools") }).ok_or(ToolsDirError::Unknown)
    }

    /// The directory itself.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The environment of a tool, whether or not it is there.
    pub fn environment(&self, program: &str) -> PathBuf {
        self.dir.join(program)
    }

    /// A tool's program, if its environment is whole.
    pub fn locate(&self, program: &str) -> Option<PathBuf> {
        self.whole_environment(program)
            .map(|dir| dir.join("bin").join(program))
            .filter(|path| path.is_file())
    }

    /// The interpreter of a tool's environment, if it is whole.
    pub fn python_of(&self, program: &str) -> Option<PathBuf> {
        self.whole_environment(program)
            .map(|dir| dir.join("bin/python"))
            .filter(|path| path.is_file())
    }

    /// The version a tool was installed in, by its stamp.
    pub fn version_of(&self, program: &str) -> Option<String> {
        Stamp::read(&self.whole_environment(program)?).map(|stamp| stamp.version)
    }

    fn whole_environment(&self, program: &str) -> Option<PathBuf> {
        // A name with a slash or dots would leave the directory.
        let plain = !program.is_empty() && !program.starts_with('.') && !program.contains('/');
        let dir = plain.then(|| self.environment(program))?;
        Stamp::read(&dir).map(|_| dir)
    }
}
