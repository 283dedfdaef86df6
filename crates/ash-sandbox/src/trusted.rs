//! Every process ash starts outside a scanner's sandbox.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

use ash_model::evidence::SandboxEvidence;

use crate::{
    launch::{Cancel, Captures, Finished, LaunchError, Launcher, Prepared, Stdio},
    wire::SupervisorSpec,
};

/// A process that runs with the user's own rights, and why it may. There is no variant for "any command".
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrustedCall {
    /// Makes the environment a Python tool is installed into. The operator asked for the installation; uv is the operator's or was installed by ash.
    UvVenv {
        /// uv, by absolute path.
        uv: PathBuf,
        /// Where the environment goes.
        environment: PathBuf,
        /// The Python version or interpreter, if not uv's choice.
        python: Option<String>,
    },
    /// Installs Python packages into such an environment. It needs the network and the user's index settings.
    UvPipInstall {
        /// uv, by absolute path.
        uv: PathBuf,
        /// The environment's interpreter.
        python: PathBuf,
        /// What to install, such as `bandit==1.9.4`.
        packages: Vec<Package>,
    },
    /// Makes an environment with the standard library alone, to install uv into where there is none.
    PythonVenv {
        /// Python, by absolute path.
        python: PathBuf,
        /// Where the environment goes.
        environment: PathBuf,
    },
    /// Installs uv into such an environment.
    PipInstallUv {
        /// The environment's interpreter.
        python: PathBuf,
        /// `uv` with its version.
        package: Package,
    },
    /// Installs npm packages into a directory of ash's own, running none of their scripts.
    NpmInstall {
        /// npm, by absolute path.
        npm: PathBuf,
        /// The directory.
        prefix: PathBuf,
        /// What to install, such as `cdk-nag@2.37.0`.
        packages: Vec<Package>,
    },
    /// Asks an installer for its version. Only installers: scanners are asked inside their sandbox.
    ToolVersion {
        /// uv, pip's Python or npm, by absolute path.
        installer: PathBuf,
    },
}

/// A package name with an optional version: something an installer cannot mistake for an option, a path or an address.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Package(String);

/// Why a package specification is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a package name with an optional version, such as `bandit==1.9.4` or `@scope/name@1.0.0`"
)]
pub struct NotAPackage(String);

impl Package {
    /// Checks a specification.
    pub fn new(specification: &str) -> Result<Self, NotAPackage> {
        let refused = || NotAPackage(specification.to_owned());
        let is_word = |text: &str| {
            text.starts_with(|first: char| first.is_ascii_alphanumeric())
                && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
        };
        let is_version = |text: &str| {
            text.starts_with(|first: char| first.is_ascii_alphanumeric())
                && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-+!*".contains(c))
        };
        let (scope, rest) =
            match specification.strip_prefix('@').and_then(|scoped| scoped.split_once('/')) {
                Some((scope, rest)) => (Some(scope), rest),
                None => (None, specification),
            };
        let ends = rest.find(['=', '<', '>', '~', '!', '@']).unwrap_or(rest.len());
        let (name, version) = rest.split_at(ends);
        let (name, extras) =
            name.split_once('[').map_or((name, None), |(name, extras)| (name, Some(extras)));
        let extras_fit = extras.is_none_or(|extras| {
            extras.strip_suffix(']').is_some_and(|extras| extras.split(',').all(is_word))
        });
        let operators = ["==", ">=", "<=", "~=", "!=", "@", ">", "<"];
        let version_fits = version.is_empty()
            || version.split(',').all(|part| {
                operators
                    .iter()
                    .find_map(|operator| part.strip_prefix(operator))
                    .is_some_and(is_version)
            });
        let fits = scope.is_none_or(is_word) && is_word(name) && extras_fit && version_fits;
        if fits { Ok(Self(specification.to_owned())) } else { Err(refused()) }
    }

    /// As it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TrustedCall {
    /// The program, by absolute path.
    pub fn program(&self) -> &Path {
        match self {
            Self::UvVenv { uv, .. } | Self::UvPipInstall { uv, .. } => uv,
            Self::PythonVenv { python, .. } | Self::PipInstallUv { python, .. } => python,
            Self::NpmInstall { npm, .. } => npm,
            Self::ToolVersion { installer } => installer,
        }
    }

    /// The arguments.
    pub fn arguments(&self) -> Vec<OsString> {
        let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        let with = |mut arguments: Vec<OsString>, packages: &[Package]| {
            arguments.extend(packages.iter().map(|package| OsString::from(package.as_str())));
            arguments
        };
        match self {
            Self::UvVenv { environment, python, .. } => {
                let mut arguments = words(&["--no-config", "venv", "--no-project"]);
                arguments.extend(
                    python.iter().map(|python| OsString::from(format!("--python={python}"))),
                );
                arguments.extend(words(&["--"]));
                arguments.push(environment.into());
                arguments
            }
            Self::UvPipInstall { python, packages, .. } => {
                let mut arguments = words(&["--no-config", "pip", "install", "--python"]);
                arguments.extend([python.into(), OsString::from("--")]);
                with(arguments, packages)
            }
            Self::PythonVenv { environment, .. } => {
                let mut arguments = words(&["-I", "-m", "venv", "--"]);
                arguments.push(environment.into());
                arguments
            }
            Self::PipInstallUv { package, .. } => with(
                words(&["-I", "-m", "pip", "install", "--disable-pip-version-check", "--"]),
                std::slice::from_ref(package),
            ),
            Self::NpmInstall { prefix, packages, .. } => {
                let mut arguments = words(&[
                    "install",
                    "--ignore-scripts",
                    "--no-audit",
                    "--no-fund",
                    "--no-save",
                    "--prefix",
                ]);
                arguments.extend([prefix.into(), OsString::from("--")]);
                with(arguments, packages)
            }
            Self::ToolVersion { .. } => words(&["--version"]),
        }
    }
}

impl Launcher {
    /// Runs a trusted call in `cwd`, a directory of ash's own, with the given environment; each line it prints goes to `on_line` as it arrives.
    #[expect(clippy::too_many_arguments, reason = "one call, nothing to hide in a builder")]
    pub fn trusted(
        &self,
        call: &TrustedCall,
        environment: Vec<(OsString, OsString)>,
        cwd: &Path,
        captures: Captures,
        timeout: Option<Duration>,
        cancel: &Cancel,
        on_line: &mut dyn FnMut(&str),
    ) -> Result<Finished, LaunchError> {
        if !call.program().is_absolute() {
            return Err(LaunchError::CannotStart {
                reason: format!("`{}` is not an absolute path", call.program().display()),
            });
        }
        let argv = std::iter::once(call.program().as_os_str().to_owned())
            .chain(call.arguments())
            .collect();
        let supervisor = SupervisorSpec {
            argv,
            options: 0,
            env: environment,
            cwd: cwd.into(),
            stage: None,
            tool_depth: 1,
            grace_ms: 10_000,
            cleanup: vec![],
        };
        let prepared = Prepared { supervisor, setup: vec![], evidence: SandboxEvidence::off() };
        self.run_with(prepared, Stdio::Capture(captures), timeout, cancel, Some(on_line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_a_name_and_a_version_and_nothing_an_installer_reads_otherwise() {
        for fine in [
            "bandit",
            "bandit==1.9.4",
            "bandit[toml,sarif]==1.9.4",
            "cdk-nag@2.37.0",
            "@scope/name@1.0.0",
            "checkov>=3,<4",
            "uv==0.9.*",
        ] {
            assert!(Package::new(fine).is_ok(), "{fine}");
        }
        for refused in [
            "",
            "-r",
            "--index-url=x",
            "../x",
            "/tmp/x",
            "git+https://x/y",
            "name @ https://x",
            "name@https://x",
            "a b",
            "file:x",
            "a==1; x",
            "@/x",
            "x[",
            "a@",
            "a\n",
        ] {
            assert!(Package::new(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn packages_stand_behind_the_end_of_options() {
        let packages = vec![Package::new("bandit==1.9.4").unwrap()];
        let call = TrustedCall::UvPipInstall {
            uv: "/bin/uv".into(),
            python: "/env/bin/python".into(),
            packages,
        };
        assert_eq!(
            call.arguments().join(std::ffi::OsStr::new(" ")),
            "--no-config pip install --python /env/bin/python -- bandit==1.9.4"
        );
    }
}
