//! `ash dependencies install`: pinned scanners into a directory that belongs to ash.
//!
//! ```text
//! <tools>/                      $ASH_TOOLS_DIR, else $XDG_DATA_HOME/ash/tools, else ~/.local/share/ash/tools
//!   .lock                       held while an install runs: two installs take turns
//!   uv/bin/uv                   uv, when `PATH` has none
//!   bandit/                     one Python environment per tool, named like its program
//!     bin/bandit, bin/python
//!     .ash-tool.json            written last: an environment without it does not exist for ash
//!   bandit.previous/            the environment that is being replaced; put back when the new one fails
//! ```
//!
//! An environment is made at its final place, because the first line of each console script holds the absolute path of its
//! interpreter and a scanner is started directly, without a shell that could look it up. What makes it atomic is the stamp.
//!
//! Nothing here starts a process: each step is a [`TrustedCall`](ash_sandbox::TrustedCall) for a [`Runner`].

mod certificates;
mod environment;
mod failure;
mod lookup;
mod python;
mod runner;
mod stamp;
mod tools;
mod uv;

#[cfg(test)]
mod tests;

pub use failure::Failure;
pub use runner::{Launched, Ran, Runner, Step};
pub use tools::{Tools, ToolsDirError};

use std::{
    ffi::OsString,
    fs::{File, TryLockError},
    path::PathBuf,
};

use ash_scanners::{Install, Scanner};

/// What an install may rely on.
#[derive(Clone, Copy)]
pub struct Installer<'a> {
    /// Where the tools go.
    pub tools: &'a Tools,
    /// The operator's environment.
    pub environment: &'a [(OsString, OsString)],
    /// Directories no program may come from: the checkout ash was started in, which nobody has reviewed.
    pub untrusted: &'a [PathBuf],
    /// Starts the steps.
    pub runner: &'a dyn Runner,
    /// Told what happens, as it happens.
    pub progress: &'a dyn Fn(Progress<'_>),
}

impl std::fmt::Debug for Installer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Installer")
            .field("tools", &self.tools)
            .field("untrusted", &self.untrusted)
            .finish_non_exhaustive()
    }
}

/// One thing to tell the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress<'a> {
    /// Another install holds the lock.
    Waiting,
    /// Something about the preparation, such as `uv 0.13.9 at /usr/bin/uv`.
    Note(String),
    /// A tool's turn.
    Started {
        /// The tool's name.
        tool: &'a str,
        /// What is being put in place, such as `bandit[sarif,toml]==1.9.4`.
        what: &'a str,
    },
    /// A tool is done.
    Finished(&'a Installed),
}

/// One tool to install, as its scanner declares it.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    /// The scanner that needs it.
    pub scanner: String,
    /// The tool's program, which also names its environment.
    pub program: String,
    /// Where it comes from.
    pub install: Install,
}

impl Wanted {
    /// What a scanner needs installed.
    pub fn of(scanner: &dyn Scanner) -> Self {
        let tool = scanner.tool();
        Self {
            scanner: scanner.id().as_str().to_owned(),
            program: tool.program.to_owned(),
            install: tool.install,
        }
    }

    /// Whether the operator means this one: the name of the scanner, or of its program.
    pub fn is_named(&self, name: &str) -> bool {
        self.scanner == name || self.program == name
    }
}

/// How it went for one tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// The scanner that needs it.
    pub scanner: String,
    /// The tool's program.
    pub program: String,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of one tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It was put in place now.
    Installed {
        /// The pinned version.
        version: String,
    },
    /// It was in place before.
    Already {
        /// The pinned version.
        version: String,
    },
    /// The system provides it, and it is there.
    Found {
        /// What the program says its version is.
        version: String,
        /// Where it is.
        path: PathBuf,
    },
    /// It is not in place.
    Failed(Failure),
}

impl Outcome {
    /// Whether the tool can be used now.
    pub const fn is_usable(&self) -> bool {
        !matches!(self, Self::Failed(_))
    }
}

impl std::fmt::Display for Installed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = &self.scanner;
        match &self.outcome {
            Outcome::Installed { version } => {
                write!(f, "{name}: installed {} {version}", self.program)
            }
            Outcome::Already { version } => {
                write!(f, "{name}: already installed ({} {version})", self.program)
            }
            Outcome::Found { version, path } => {
                write!(f, "{name}: found {} {version} at {}", self.program, path.display())
            }
            Outcome::Failed(failure) => write!(f, "{name}: {}", failure.in_full()),
        }
    }
}

/// Puts each wanted tool in place, in order; one that fails does not stop the others.
///
/// # Errors
/// When the tool directory cannot be made or locked, so that nothing could be tried.
pub fn install(installer: &Installer<'_>, wanted: &[Wanted]) -> Result<Vec<Installed>, Failure> {
    let _lock = lock(installer)?;
    let mut uv = None;
    let mut results: Vec<Installed> = Vec::new();
    for tool in wanted {
        let outcome = match results.iter().find(|done| done.program == tool.program) {
            // Two scanners over one program: one environment.
            Some(done) => done.outcome.clone(),
            None => install_one(installer, tool, &mut uv).unwrap_or_else(Outcome::Failed),
        };
        let result =
            Installed { scanner: tool.scanner.clone(), program: tool.program.clone(), outcome };
        (installer.progress)(Progress::Finished(&result));
        results.push(result);
    }
    Ok(results)
}

fn install_one(
    installer: &Installer<'_>,
    tool: &Wanted,
    uv: &mut Option<Result<uv::Uv, Failure>>,
) -> Result<Outcome, Failure> {
    match tool.install {
        Install::System { hint } => lookup::system_tool(installer, &tool.program, hint),
        Install::Uv { requirement, with } => {
            let environment = environment::Environment { name: &tool.program, requirement, with };
            if let Some(version) = environment.whole(installer.tools) {
                return Ok(Outcome::Already { version });
            }
            // Looked for once, and only when something has to be installed; the whole story of its absence is told once, too.
            if let Some(Err(_)) = uv {
                return Err(Failure::new("uv could not be fetched, see above"));
            }
            let uv = uv
                .get_or_insert_with(|| uv::find_or_bootstrap(installer))
                .as_ref()
                .map_err(Clone::clone)?;
            (installer.progress)(Progress::Started { tool: &tool.program, what: requirement });
            environment.install(installer, uv).map(|version| Outcome::Installed { version })
        }
    }
}

/// Takes the lock of the tool directory; it is released when the file is dropped, and by the kernel when ash dies.
fn lock(installer: &Installer<'_>) -> Result<File, Failure> {
    let dir = installer.tools.dir();
    let cannot = |what: &str, error: std::io::Error| {
        Failure::new(format!("cannot {what} the tool directory `{}`: {error}", dir.display()))
            .hint("set `ASH_TOOLS_DIR` to a directory you can write to")
    };
    std::fs::create_dir_all(dir).map_err(|error| cannot("create", error))?;
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(dir.join(".lock"))
        .map_err(|error| cannot("write to", error))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            (installer.progress)(Progress::Waiting);
            file.lock().map_err(|error| cannot("lock", error))?;
        }
        Err(TryLockError::Error(error)) => return Err(cannot("lock", error)),
    }
    Ok(file)
}
