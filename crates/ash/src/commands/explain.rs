//! `ash sandbox explain`: what a scanner would be allowed here, and the exact command line. Starts no scanner and no version probe.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use ash_engine::{
    planned::{self, Asked},
    scan::default_output,
    select,
    tools::{Located, NotLocated},
};
use ash_model::{
    evidence::{CacheEvidence, Tier},
    notice::Notice,
    path::printable,
    tool::{Program, ToolCall},
};
use ash_sandbox::{
    Command, Grants, Ground, Launcher, Policy, explain as explain_spawn, refuse_output,
};
use ash_scanners::{Plan, SCANNERS, Scanner};

use super::{
    shared::{Loaded, absolute, directory, load, lookup, mode_of, site, tools},
    workspace::Workspace,
};
use crate::{args::ExplainArgs, environment::Environment, error::CommandError, ui};

/// What is shown, and printed as JSON.
#[derive(Debug, serde::Serialize)]
pub(crate) struct Explained {
    pub(crate) scanner: String,
    pub(crate) mode: String,
    pub(crate) backend: Option<String>,
    pub(crate) tier: Tier,
    pub(crate) network: bool,
    pub(crate) offline: bool,
    pub(crate) read_only: Vec<String>,
    pub(crate) writable: Vec<String>,
    pub(crate) caches: Vec<CacheEvidence>,
    pub(crate) environment: Vec<String>,
    pub(crate) cwd: String,
    pub(crate) command: Vec<String>,
    pub(crate) profile: Option<String>,
    pub(crate) notices: Vec<Notice>,
    pub(crate) refusal: Option<String>,
    /// The configuration file in use.
    pub(crate) config: Option<String>,
    /// What the settings grant beyond the declaration, in every mode.
    pub(crate) extra_read_paths: Vec<String>,
}

/// Explains one scanner.
pub(crate) fn explain(
    args: &ExplainArgs,
    environment: &Environment,
) -> Result<ExitCode, CommandError> {
    let scanner = find(&args.scanner)?;
    let workspace = args.workspace.as_deref().map(Workspace::read).transpose()?;
    let source = match &workspace {
        Some(workspace) => workspace.project(args.place.source_dir.as_ref())?,
        None => directory(args.place.source_dir.as_ref())?,
    };
    if let Some(said) = environment.offline_in_vain().filter(|_| !args.confine.offline) {
        ui::notice(&said);
    }
    let offline = (args.confine.offline || environment.offline()) && !args.confine.no_offline;
    let workspace = workspace.map(|workspace| workspace.root);
    let Loaded { settings, mut notices, tree, used } =
        load(&args.place, args.confine.sandbox, &source, workspace.as_deref(), environment)?;
    let mode = mode_of(&settings)?;
    let output =
        args.place.output_dir.as_deref().map_or_else(|| Ok(default_output(&source)), absolute)?;
    let tools = tools(environment)?;
    let site = site(environment, &tools)?.scanning(tree.roots());
    let launcher = Launcher::new().map_err(CommandError::failed)?;

    let id = scanner.id();
    let offline = settings.offline(id.as_str(), offline);
    let requirements = scanner.requirements();
    let network = settings.sandbox.network.allows(
        id.as_str(),
        requirements.network,
        requirements.network_requires_grant,
        offline,
    );
    if requirements.network_requires_grant && !network && !offline {
        notices.push(needs_a_grant(id.as_str()));
    }
    let located = lookup(environment, &tools, &tree).locate(&Program::Tool(scanner.tool().program));
    let program = program(&located, scanner, &mut notices);
    let asked = Asked {
        source: &source,
        output: &output,
        settings: &settings,
        environment: environment.all(),
        offline,
        network,
        confined_root: site.is_root() && mode != ash_sandbox::Mode::Off,
    };
    let call = first_call(scanner, &asked, &program, &mut notices)?;
    let results = output.join("scanners").join(id.as_str());
    let own_results = planned::own_results(scanner, &output);
    // Where results will be made, there is nothing yet to start in.
    let cwd = planned::working_directory(&call.cwd, &source, &own_results);
    let ground = Ground {
        cwd: if cwd.exists() { cwd.clone() } else { source.clone() },
        source: source.clone(),
        output: Some(output.clone()),
        targets: vec![],
        results,
    };
    let grants =
        Grants { network, offline, extra_read_paths: settings.sandbox.extra_read_paths.clone() };
    let renamed =
        settings.scanners.get(id.as_str()).and_then(|own| select::renamed(id.as_str(), own));
    let refused_output =
        if mode == ash_sandbox::Mode::Off { None } else { refuse_output(&source, &output).err() };
    let mut explained = Explained {
        scanner: id.to_string(),
        mode: mode.to_string(),
        backend: None,
        tier: Tier::None,
        network,
        offline,
        read_only: vec![],
        writable: vec![],
        caches: vec![],
        environment: vec![],
        cwd: printable(cwd.as_os_str()),
        command: vec![],
        profile: None,
        notices,
        refusal: renamed.or(refused_output.map(|refused| refused.to_string())),
        config: used.map(|used| printable(used.as_os_str())),
        extra_read_paths: settings
            .sandbox
            .extra_read_paths
            .iter()
            .map(|path| printable(path.as_os_str()))
            .collect(),
    };
    let command = Command { program: program.clone(), args: call.args };
    match Policy::resolve(id.as_str(), &requirements, &site, &ground, &grants, &program, &call.env)
    {
        Err(error) => explained.refusal = explained.refusal.or(Some(error.to_string())),
        Ok(mut policy) => {
            policy.cwd = cwd;
            fill(&mut explained, &policy, mode, &site, &launcher, &command);
        }
    }
    if args.json {
        ui::json(&explained)?;
    } else {
        ui::explanation(&explained);
    }
    Ok(ExitCode::SUCCESS)
}

fn fill(
    explained: &mut Explained,
    policy: &Policy,
    mode: ash_sandbox::Mode,
    site: &ash_sandbox::Site,
    launcher: &Launcher,
    command: &Command,
) {
    let spawn = explain_spawn(mode, site, launcher, policy, command);
    explained.backend = spawn.backend.map(|backend| backend.as_str().to_owned());
    explained.tier = spawn.tier;
    explained.cwd = printable(policy.cwd.as_os_str());
    explained.command = spawn.command.iter().map(|word| printable(word)).collect();
    explained.profile = spawn.profile;
    explained.refusal = explained.refusal.take().or(spawn.refusal);
    explained.environment = spawn.environment;
    if let Some(details) = spawn.evidence.details {
        explained.read_only = details.read_only;
        explained.writable = details.writable;
        explained.caches = details.caches;
        explained.notices.extend(details.notices);
    }
    explained.notices.extend(spawn.assumed.map(|assumed| Notice::new("assumed", assumed)));
}

/// Said of a scanner whose own word is not enough for a network.
fn needs_a_grant(scanner: &str) -> Notice {
    Notice::new(
        "sandbox.network_scanners",
        format!("{scanner} has a network only where this setting, from outside the scanned tree, names it"),
    )
    .hint(format!("pass `--config-overrides 'sandbox.network_scanners=[{scanner}]'`, with every other scanner that needs a network in the list"))
}

/// The first call that a scan would make here; the bare program where it would make none.
fn first_call(
    scanner: &dyn Scanner,
    asked: &Asked<'_>,
    program: &Path,
    notices: &mut Vec<Notice>,
) -> Result<ToolCall, CommandError> {
    let plan = planned::plan(scanner, asked).map_err(CommandError::failed)?;
    let (calls, why) = match plan {
        Plan::Run(calls) => (calls, None),
        Plan::Skip(reason) => (vec![], Some(reason)),
        Plan::Missing(reason) => (vec![], Some(reason)),
    };
    if let Some(why) = why {
        let reason = format!("a scan here would not start it: {why}");
        notices.push(Notice::new("command", reason));
    } else if calls.len() > 1 {
        let reason = format!("the first of {} command lines", calls.len());
        notices.push(Notice::new("command", reason));
    }
    let nothing = || ToolCall::new(Program::Path(program.to_owned()), scanner.id().as_str());
    Ok(calls.into_iter().next().unwrap_or_else(nothing))
}

fn find(name: &str) -> Result<&'static dyn Scanner, CommandError> {
    let name = name.to_ascii_lowercase();
    let known: Vec<String> = SCANNERS.iter().map(|scanner| scanner.id().to_string()).collect();
    SCANNERS.iter().copied().find(|scanner| scanner.id().as_str() == name).ok_or_else(|| {
        let error = CommandError::usage(format!(
            "no scanner is named `{name}` (known: {})",
            known.join(", ")
        ));
        match select::closest(&name, known.iter().map(String::as_str)) {
            Some(guess) => error.hint(format!("did you mean `{guess}`?")),
            None => error,
        }
    })
}

/// The scanner's program; where it is not installed, the place it would be installed to, and a notice that says so.
fn program(
    located: &Result<Located, NotLocated>,
    scanner: &dyn Scanner,
    notices: &mut Vec<Notice>,
) -> PathBuf {
    match located {
        Ok(located) => located.path.clone(),
        Err(error) => {
            let assumed = Path::new("/usr/bin").join(scanner.tool().program);
            notices.push(
                Notice::new(
                    "program",
                    format!("{error}; explained as if it were `{}`", assumed.display()),
                )
                .hint(format!("ash dependencies install --tool {}", scanner.id())),
            );
            assumed
        }
    }
}
