//! What several commands need: absolute paths, settings, facts of this machine.

use std::path::{Path, PathBuf};

use ash_config::{Settings, Tree};
use ash_engine::{
    install::{Tools, ToolsDirError},
    tools::Lookup,
};
use ash_model::notice::Notice;
use ash_sandbox::{Mode, Site};
use ash_scanners::SCANNERS;

use crate::{args::PlaceArgs, environment::Environment, error::CommandError, ui};

/// The settings and what loading them had to say.
pub(crate) struct Loaded {
    pub(crate) settings: Settings,
    pub(crate) notices: Vec<Notice>,
    pub(crate) tree: Tree,
    /// The configuration file in use.
    pub(crate) used: Option<PathBuf>,
}

/// Makes a path absolute without resolving links: what the user named is judged by that name.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf, CommandError> {
    if path.as_os_str().is_empty() {
        return Err(CommandError::usage("an empty path"));
    }
    std::path::absolute(path).map_err(|error| {
        CommandError::failed(format!("cannot make `{}` absolute: {error}", path.display()))
    })
}

/// The current directory.
pub(crate) fn current_dir() -> Result<PathBuf, CommandError> {
    std::env::current_dir().map_err(|error| {
        CommandError::failed(format!("cannot tell the current directory: {error}"))
    })
}

/// The directory given on the command line, or the current one.
pub(crate) fn directory(given: Option<&PathBuf>) -> Result<PathBuf, CommandError> {
    let directory = given.map_or_else(current_dir, |given| absolute(given))?;
    match std::fs::metadata(&directory) {
        Ok(meta) if meta.is_dir() => Ok(directory),
        Ok(_) => Err(CommandError::failed(format!("`{}` is not a directory", directory.display()))),
        Err(error) => {
            Err(CommandError::failed(format!("cannot use `{}`: {error}", directory.display())))
        }
    }
}

/// Facts of this machine.
pub(crate) fn site(environment: &Environment, tools: &Tools) -> Result<Site, CommandError> {
    let exe = std::env::current_exe().map_err(|error| {
        CommandError::failed(format!("cannot tell where ash's own program is: {error}"))
    })?;
    Ok(Site::gather(environment.all().to_vec(), &exe, &[tools.dir().to_owned()]))
}

/// ash's own tool directory. Where no variable names one (a bare container, a service), the system's.
pub(crate) fn tools(environment: &Environment) -> Result<Tools, CommandError> {
    match Tools::from_environment(&|name| environment.get(name).map(ToOwned::to_owned)) {
        Err(ToolsDirError::Unknown) => Ok(Tools::at(PathBuf::from(SYSTEM_TOOLS))),
        other => other.map_err(CommandError::failed),
    }
}

/// Where tools are when neither `ASH_TOOLS_DIR`, `XDG_DATA_HOME` nor `HOME` says.
const SYSTEM_TOOLS: &str = "/var/lib/ash/tools";

/// The checkout a command that scans nothing was started in: its programs are not used. A home that is itself a checkout is the
/// operator's own.
pub(crate) fn checkout_around_here(
    environment: &Environment,
) -> Result<Vec<PathBuf>, CommandError> {
    let tree = tree(&current_dir()?, environment)?;
    let home = environment.get("HOME").map(Path::new);
    let is_foreign = |root: &&PathBuf| {
        root.join(".git").symlink_metadata().is_ok()
            && !home.is_some_and(|home| home.starts_with(root))
    };
    Ok(tree.roots().iter().filter(is_foreign).cloned().collect())
}

/// The scanned tree by every name it has: the outermost checkout around the directory, and the directory itself.
pub(crate) fn tree(source: &Path, environment: &Environment) -> Result<Tree, CommandError> {
    Ok(Tree::around(source, &current_dir()?, environment.get("PWD")))
}

/// Where scanners' programs are looked for.
pub(crate) fn lookup(environment: &Environment, tools: &Tools, tree: &Tree) -> Lookup {
    Lookup {
        tools: tools.clone(),
        path: environment.search_path(),
        untrusted: tree.roots().to_vec(),
    }
}

/// Loads the settings for a scan of this directory, which may be a project of a workspace.
pub(crate) fn load(
    place: &PlaceArgs,
    sandbox: Option<Mode>,
    source: &Path,
    workspace: Option<&Path>,
    environment: &Environment,
) -> Result<Loaded, CommandError> {
    let known: Vec<String> = SCANNERS.iter().map(|scanner| scanner.id().to_string()).collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let variable = |name: &str| environment.get(name).map(ToOwned::to_owned);
    let config = place.config.as_deref().map(absolute).transpose()?;
    let request = ash_config::Request {
        source: source.to_owned(),
        config,
        ash_config_env: environment
            .get("ASH_CONFIG")
            .filter(|value| !value.is_empty())
            .map(ToOwned::to_owned),
        overrides: place.config_overrides.clone(),
        sandbox_flag: sandbox.map(|mode| mode.to_string()),
        cwd: current_dir()?,
        pwd_env: environment.get("PWD").map(ToOwned::to_owned),
        home: environment.get("HOME").map(PathBuf::from),
        env: &variable,
        known_scanners: &known,
        workspace: workspace.map(Path::to_owned),
        identify: None,
    };
    let loaded = ash_config::load(&request).map_err(|errors| {
        CommandError::config(errors.render(ui::stderr_is_terminal() && !environment.no_color()))
    })?;
    Ok(Loaded {
        settings: loaded.settings,
        notices: loaded.notices,
        tree: loaded.tree,
        used: loaded.used,
    })
}

/// The sandbox mode the settings came to.
pub(crate) fn mode_of(settings: &Settings) -> Result<Mode, CommandError> {
    settings
        .sandbox
        .mode
        .as_deref()
        .map_or(Ok(Mode::Off), |mode| mode.parse().map_err(CommandError::config))
}
