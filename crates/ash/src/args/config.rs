//! `ash config …`.

use std::path::PathBuf;

use clap::{ArgAction, Args, Subcommand};

/// `ash config …`.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Write a configuration file with every default
    Init(InitArgs),
    /// Show the settings a scan here would use
    Get(GetArgs),
    /// Set values in the configuration file, keeping its comments and order
    Update(UpdateArgs),
    /// Check the configuration a scan here would use, and every file it extends
    #[command(after_help = VALIDATE_EXAMPLES)]
    Validate(ValidateArgs),
    /// Look for the programs of every scanner that a scan here would run; starts none
    #[command(after_help = DEPENDENCIES_EXAMPLES)]
    ValidatePluginDependencies(ValidateArgs),
    /// Print the JSON Schema of a configuration, for editors
    #[command(after_help = SCHEMA_EXAMPLES)]
    Schema,
    /// Find what is wrong or could be better in the configuration file, and fix it
    Lint(LintArgs),
    /// Ask the most important questions and write the answers into the configuration file
    Wizard(WizardArgs),
}

const INIT_EXAMPLES: &str = "\
Examples:
  ash config init                       Write .ash/.ash.yaml
  ash config init -c ash.yaml --force   Write another file, also in the place of one

Exit codes: 0 written, 1 refused.";

/// `ash config init`.
#[derive(Debug, Args)]
#[command(after_help = INIT_EXAMPLES)]
pub(crate) struct InitArgs {
    /// The file to write
    #[arg(short, long, value_name = "FILE", default_value = ".ash/.ash.yaml")]
    pub(crate) config: PathBuf,
    /// Replace the file if there is one
    #[arg(long)]
    pub(crate) force: bool,
}

const GET_EXAMPLES: &str = "\
Examples:
  ash config get
  ash config get --config-overrides 'sandbox.mode=auto'
  ash config get --json | jq .sandbox

What a file inside the scanned tree may not set is left out, with a note on stderr.
Exit codes: 0 shown, 3 the configuration does not load.";

/// `ash config get`.
#[derive(Debug, Args)]
#[command(after_help = GET_EXAMPLES)]
pub(crate) struct GetArgs {
    /// The configuration file [default: the one a scan here would use]
    #[arg(value_name = "FILE")]
    pub(crate) path: Option<PathBuf>,
    /// Set a configuration value: KEY.PATH=VALUE, or += to append to a list (repeatable)
    #[arg(long, value_name = "KEY=VALUE", action = ArgAction::Append)]
    pub(crate) config_overrides: Vec<String>,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const UPDATE_EXAMPLES: &str = "\
Examples:
  ash config update --set global_settings.severity_threshold=HIGH
  ash config update --set sandbox.mode=auto --set 'sandbox.network_scanners+=semgrep' --dry-run
  ash config update ash.yaml --set 'scanners.bandit.options={\"scan_timeout\": 600}'

Only YAML and JSON files that extend no others are changed.
Exit codes: 0 written or nothing to do, 1 refused; the file is then as it was.";

/// `ash config update`.
#[derive(Debug, Args)]
#[command(after_help = UPDATE_EXAMPLES)]
pub(crate) struct UpdateArgs {
    /// The configuration file [default: the one a scan here would use]
    #[arg(value_name = "FILE")]
    pub(crate) path: Option<PathBuf>,
    /// What to set: KEY.PATH=VALUE, or += to append to a list (repeatable)
    #[arg(long, value_name = "KEY=VALUE", action = ArgAction::Append, required = true)]
    pub(crate) set: Vec<String>,
    /// Show what would change and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

const DEPENDENCIES_EXAMPLES: &str = "\
Examples:
  ash config validate-plugin-dependencies
  ash config validate-plugin-dependencies --config ci/ash.yaml

Exit codes: 0 every program is there, 1 one is missing, 3 the configuration does not load.";

const SCHEMA_EXAMPLES: &str = "\
Examples:
  ash config schema > AshConfig.json

Then the first line of a configuration can be: # yaml-language-server: $schema=AshConfig.json";

const VALIDATE_EXAMPLES: &str = "\
Examples:
  ash config validate
  ash config validate --config ci/ash.yaml

Exit codes: 0 it loads, 1 it does not.";

/// `ash config validate`.
#[derive(Debug, Args)]
pub(crate) struct ValidateArgs {
    /// The configuration file [default: the one a scan here would use]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

const LINT_EXAMPLES: &str = "\
Examples:
  ash config lint
  ash config lint --fix                 Fix what needs no decision; asks first on a terminal
  ash config lint --fix -o fixed.yaml   Write the fixed text elsewhere
  ash config lint --fix-unused -y       Comment out suppressions that the last scan did not need

Exit codes: 0 no errors are left, 1 errors are left, or the file cannot be read or written.";

/// `ash config lint`.
#[derive(Debug, Args)]
#[command(after_help = LINT_EXAMPLES)]
pub(crate) struct LintArgs {
    /// The configuration file [default: the one a scan here would use]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Where the fixed text goes [default: the file itself]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Fix what needs no decision
    #[arg(long)]
    pub(crate) fix: bool,
    /// Comment out suppressions that suppressed nothing in the last scan
    #[arg(long)]
    pub(crate) fix_unused: bool,
    /// Do not ask before writing
    #[arg(short, long, alias = "non-interactive")]
    pub(crate) yes: bool,
}

const WIZARD_EXAMPLES: &str = "\
Examples:
  ash config wizard

Without a terminal: `ash config init`, then `ash config update --set KEY=VALUE`.";

/// `ash config wizard`.
#[derive(Debug, Args)]
#[command(after_help = WIZARD_EXAMPLES)]
pub(crate) struct WizardArgs {
    /// The configuration file [default: the one a scan here would use, else .ash/.ash.yaml]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}
