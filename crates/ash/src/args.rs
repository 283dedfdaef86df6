//! What was typed; nothing is done here.

pub(crate) mod config;

use std::{ffi::OsString, path::PathBuf};

use ash_sandbox::Mode;
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};

/// Runs many security scanners over a source tree that nobody has reviewed yet, each inside an OS sandbox, and merges what they find.
#[derive(Debug, Parser)]
#[command(name = "ash", version, disable_help_subcommand = true, max_term_width = 110, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  ash dependencies install      Install the scanners into ash's own directory
  ash scan --sandbox auto       Scan this directory, every scanner in the best sandbox here
  ash scan vendor/ --offline --sandbox auto
  ash sandbox status            What this machine can enforce
  ash sandbox explain bandit --sandbox auto
                                What bandit would be allowed, and the exact command line

`ash` alone means `ash scan`.
Exit codes: 0 clean, 1 incomplete or refused, 2 actionable findings (and usage errors),
3 the configuration does not load.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Scan a directory
    Scan(Box<ScanArgs>),
    /// Show, explain or use the sandbox by itself
    #[command(subcommand, after_help = SANDBOX_EXAMPLES)]
    Sandbox(SandboxCommand),
    /// Install the scanners
    #[command(subcommand, after_help = DEPENDENCIES_EXAMPLES)]
    Dependencies(DependenciesCommand),
    /// Write, show, check and change the configuration
    #[command(subcommand, after_help = CONFIG_EXAMPLES)]
    Config(config::ConfigCommand),
}

const SANDBOX_EXAMPLES: &str = "\
Examples:
  ash sandbox status                      Which backends work here, and why the others do not
  ash sandbox explain bandit --sandbox auto
                                          What bandit would be allowed, and the exact command line
  ash sandbox run -- sh -c 'ls ~; id'     See for yourself";

const DEPENDENCIES_EXAMPLES: &str = "\
Examples:
  ash dependencies install
  ash dependencies install --tool bandit --tool semgrep";

const CONFIG_EXAMPLES: &str = "\
Examples:
  ash config init                         Write .ash/.ash.yaml
  ash config get                          The settings that a scan here would use
  ash config update --set sandbox.mode=auto
  ash config lint                         What is wrong or could be better";

const SCAN_EXAMPLES: &str = "\
Examples:
  ash scan --sandbox auto                     Everything enabled, each scanner sandboxed
  ash scan src --scanners bandit,semgrep      Two scanners only
  ash scan --offline --sandbox bwrap          No scanner gets a network
  ash scan --config-overrides 'global_settings.severity_threshold=HIGH'";

/// `ash scan`.
#[derive(Debug, Args)]
#[command(after_help = SCAN_EXAMPLES)]
pub(crate) struct ScanArgs {
    /// The directory to scan [default: the current directory]
    #[arg(value_name = "DIR", conflicts_with = "source_dir")]
    pub(crate) dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    #[command(flatten)]
    pub(crate) choice: ChoiceArgs,
    #[command(flatten)]
    pub(crate) confine: ConfineArgs,
    #[command(flatten)]
    pub(crate) gate: GateArgs,
    #[command(flatten)]
    pub(crate) show: ShowArgs,
}

/// Where to read and write, and by which settings.
#[derive(Debug, Args, Clone)]
#[command(next_help_heading = "Places and configuration")]
pub(crate) struct PlaceArgs {
    /// The directory to scan
    #[arg(long, value_name = "DIR", env = "ASH_SOURCE_DIR", hide_env_values = true)]
    pub(crate) source_dir: Option<PathBuf>,
    /// Where results go [default: <source>/.ash/ash_output]
    #[arg(long, value_name = "DIR", env = "ASH_OUTPUT_DIR", hide_env_values = true)]
    pub(crate) output_dir: Option<PathBuf>,
    /// The configuration file [default: the first one found, such as .ash/.ash.yaml]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Set a configuration value: KEY.PATH=VALUE, or += to append to a list (repeatable)
    #[arg(long, value_name = "KEY=VALUE", action = ArgAction::Append)]
    pub(crate) config_overrides: Vec<String>,
}

/// Which scanners.
#[derive(Debug, Args, Clone)]
#[command(next_help_heading = "Scanners")]
pub(crate) struct ChoiceArgs {
    /// Run only these (repeatable, commas allowed)
    #[arg(long, value_name = "NAMES", env = "ASH_SCANNERS", hide_env_values = true, value_delimiter = ',', action = ArgAction::Append)]
    pub(crate) scanners: Vec<String>,
    /// Do not run these; wins over --scanners
    #[arg(long, value_name = "NAMES", env = "ASH_EXCLUDED_SCANNERS", hide_env_values = true, value_delimiter = ',', action = ArgAction::Append)]
    pub(crate) exclude_scanners: Vec<String>,
    /// Run scanners side by side, as many as there are processors, or one after the other
    #[arg(long, value_enum, default_value_t = Strategy::Parallel)]
    pub(crate) strategy: Strategy,
}

/// How scanners are scheduled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Strategy {
    Parallel,
    Sequential,
}

/// How scanners are confined.
#[derive(Debug, Args, Clone)]
#[command(next_help_heading = "Sandbox")]
pub(crate) struct ConfineArgs {
    /// Confine every scanner: off, auto, bwrap, firejail, landlock, sandbox-exec, gvisor [default: off]
    #[arg(long, value_name = "MODE", value_parser = mode)]
    pub(crate) sandbox: Option<Mode>,
    /// No scanner gets a network (also: ASH_OFFLINE=YES)
    #[arg(long, overrides_with = "no_offline")]
    pub(crate) offline: bool,
    /// Undo --offline
    #[arg(long, overrides_with = "offline", hide = true)]
    pub(crate) no_offline: bool,
}

fn mode(text: &str) -> Result<Mode, String> {
    text.parse().map_err(|error: ash_sandbox::ParseModeError| error.to_string())
}

/// When the scan fails.
#[derive(Debug, Args, Clone)]
#[command(next_help_heading = "Exit code")]
pub(crate) struct GateArgs {
    /// Exit 2 when there are actionable findings [default: yes]
    #[arg(long, overrides_with = "no_fail_on_findings")]
    pub(crate) fail_on_findings: bool,
    /// Actionable findings do not fail the scan
    #[arg(long, overrides_with = "fail_on_findings")]
    pub(crate) no_fail_on_findings: bool,
    /// Exit 1 when a scanner did not run or not wholly [default: yes]
    #[arg(long, overrides_with = "no_fail_on_incomplete_scanners")]
    pub(crate) fail_on_incomplete_scanners: bool,
    /// An incomplete scan does not fail
    #[arg(long, overrides_with = "fail_on_incomplete_scanners")]
    pub(crate) no_fail_on_incomplete_scanners: bool,
    /// Count suppressed findings as well
    #[arg(long)]
    pub(crate) ignore_suppressions: bool,
}

/// What is shown.
#[derive(Debug, Args, Clone)]
#[command(next_help_heading = "Output")]
pub(crate) struct ShowArgs {
    /// Show a line per scanner while they run [default: on a terminal; plain lines elsewhere]
    #[arg(short = 'p', long, overrides_with = "no_progress")]
    pub(crate) progress: bool,
    /// Show nothing while scanners run
    #[arg(short = 'P', long, overrides_with = "progress")]
    pub(crate) no_progress: bool,
    /// Print nothing but errors; the exit code and the reports say the rest
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Print the summary table [default: yes]
    #[arg(long, overrides_with = "no_show_summary", hide = true)]
    pub(crate) show_summary: bool,
    /// Do not print the summary table
    #[arg(long, overrides_with = "show_summary")]
    pub(crate) no_show_summary: bool,
    /// Colour even when the output is not a terminal
    #[arg(long, overrides_with = "no_color")]
    pub(crate) color: bool,
    /// No colour (also: NO_COLOR)
    #[arg(long, overrides_with = "color")]
    pub(crate) no_color: bool,
    /// Log what ash does, to stderr
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Log in detail, to stderr
    #[arg(short, long)]
    pub(crate) debug: bool,
}

/// `ash sandbox …`.
#[derive(Debug, Subcommand)]
pub(crate) enum SandboxCommand {
    /// What this machine can enforce
    #[command(after_help = STATUS_EXAMPLES)]
    Status {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// What a scanner would be allowed here, and the exact command line; starts no scanner
    Explain(Box<ExplainArgs>),
    /// Run one command in the sandbox that a scanner with these needs gets
    Run(Box<RunArgs>),
}

const STATUS_EXAMPLES: &str = "\
Examples:
  ash sandbox status
  ash sandbox status --json | jq -r .auto   The backend that --sandbox auto uses here

Exit codes: 0 whatever works or does not.";

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  ash sandbox explain bandit --sandbox auto
  ash sandbox explain semgrep --sandbox landlock --offline
  ash sandbox explain checkov --sandbox sandbox-exec --json";

/// `ash sandbox explain`.
#[derive(Debug, Args)]
#[command(after_help = EXPLAIN_EXAMPLES)]
pub(crate) struct ExplainArgs {
    /// The scanner
    #[arg(value_name = "SCANNER")]
    pub(crate) scanner: String,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    /// A workspace definition, or auto: explain its project in --source-dir, here, or its only one
    #[arg(long, value_name = "FILE")]
    pub(crate) workspace: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) confine: ConfineArgs,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const RUN_EXAMPLES: &str = "\
Examples:
  ash sandbox run -- sh -c 'ls ~; id'          See for yourself: the strictest policy
  ash sandbox run --sandbox off -- sh -c id    The control: the same command without a sandbox
  ash sandbox run --as semgrep -- semgrep --version
  ash sandbox run --sandbox landlock --timeout 10 --json -- ./suspicious

The command's exit status is passed on (128+N for a signal). 124: timed out. 125: no sandbox, with the reason.
126: a restriction could not be applied. 127: not found.
With --sandbox off the command takes ash's place: --timeout and --json do nothing then.";

/// `ash sandbox run`.
#[derive(Debug, Args)]
#[command(after_help = RUN_EXAMPLES)]
pub(crate) struct RunArgs {
    /// off, auto, bwrap, firejail, landlock, sandbox-exec, gvisor
    #[arg(long, value_name = "MODE", value_parser = mode, default_value = "auto")]
    pub(crate) sandbox: Mode,
    /// The scanned directory, read-only inside [default: the current directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) source_dir: Option<PathBuf>,
    /// An output directory to show read-only
    #[arg(long, value_name = "DIR")]
    pub(crate) output_dir: Option<PathBuf>,
    /// The one writable directory [default: a fresh one, named on the first line of stderr]
    #[arg(long, value_name = "DIR")]
    pub(crate) results_dir: Option<PathBuf>,
    /// With the needs this scanner declares
    #[arg(long = "as", value_name = "SCANNER")]
    pub(crate) as_scanner: Option<String>,
    /// With a network
    #[arg(long)]
    pub(crate) network: bool,
    /// Without a network, whatever else is said (also: ASH_OFFLINE=YES)
    #[arg(long)]
    pub(crate) offline: bool,
    /// Another readable path (repeatable)
    #[arg(long, value_name = "PATH", action = ArgAction::Append)]
    pub(crate) read: Vec<PathBuf>,
    /// A cache: readable, or writable where the writes are thrown away (repeatable)
    #[arg(long, value_name = "PATH", action = ArgAction::Append)]
    pub(crate) cache: Vec<PathBuf>,
    /// A variable to pass through (repeatable)
    #[arg(long, value_name = "NAME", action = ArgAction::Append)]
    pub(crate) env: Vec<String>,
    /// A prefix of variables to pass through (repeatable)
    #[arg(long, value_name = "PREFIX", action = ArgAction::Append)]
    pub(crate) env_prefix: Vec<String>,
    /// Where the command starts [default: the source]
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Seconds until the command is ended
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<f64>,
    /// End stderr with one line of JSON: how it ended and what was applied
    #[arg(long)]
    pub(crate) json: bool,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= 31_536_000.0 => Ok(seconds),
        _ => Err("seconds, more than 0".to_owned()),
    }
}

const INSTALL_EXAMPLES: &str = "\
Examples:
  ash dependencies install
  ash dependencies install --tool bandit --tool semgrep
  ash dependencies install --json | jq -r '.[] | select(.status == \"failed\")'

Exit codes: 0 everything that was asked for is there, 1 something is not.";

/// `ash dependencies …`.
#[derive(Debug, Subcommand)]
pub(crate) enum DependenciesCommand {
    /// Install the scanners, pinned, into ash's own directory
    #[command(after_help = INSTALL_EXAMPLES)]
    Install {
        /// Only this tool (repeatable)
        #[arg(long, value_name = "NAME", action = ArgAction::Append)]
        tool: Vec<String>,
        /// Print nothing but errors
        #[arg(short, long)]
        quiet: bool,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
}

/// The words that can stand first. Anything else first means `ash scan`.
pub(crate) const COMMANDS: [&str; 4] = ["scan", "sandbox", "dependencies", "config"];

/// Puts `scan` in front where it was left out: `ash`, `ash --offline`, `ash DIR`.
pub(crate) fn with_default_command(mut words: Vec<OsString>) -> Vec<OsString> {
    let first = words.get(1).map(|word| word.to_string_lossy().into_owned());
    let explicit = first.as_deref().is_some_and(|word| {
        COMMANDS.contains(&word) || ["-h", "--help", "-V", "--version"].contains(&word)
    });
    if !explicit {
        words.insert(1.min(words.len()), OsString::from("scan"));
    }
    words
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_shows_examples() {
        fn check(command: &clap::Command) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.starts_with("Examples:"), "`{}`: {help:?}", command.get_name());
            command.get_subcommands().for_each(check);
        }
        check(&Cli::command());
    }

    #[test]
    fn scanners_in_examples_exist() {
        let examples = [EXAMPLES, SANDBOX_EXAMPLES, DEPENDENCIES_EXAMPLES, EXPLAIN_EXAMPLES];
        let words: Vec<&str> = examples.iter().flat_map(|text| text.split_whitespace()).collect();
        let named: Vec<&str> = words
            .windows(2)
            .filter(|pair| ["explain", "--tool", "--as"].contains(&pair[0]))
            .map(|pair| pair[1])
            .collect();
        assert!(named.len() >= 6, "{named:?}");
        let known =
            |name: &str| ash_scanners::SCANNERS.iter().any(|scanner| scanner.id().as_str() == name);
        assert_eq!(named.iter().find(|name| !known(name)), None);
    }

    #[test]
    fn ash_alone_means_scan() {
        for (typed, meant) in [
            ("ash", "ash scan"),
            ("ash --offline", "ash scan --offline"),
            ("ash src", "ash scan src"),
            ("ash sandbox status", "ash sandbox status"),
            ("ash --help", "ash --help"),
        ] {
            assert_eq!(with_default_command(words(typed)), words(meant));
        }
    }

    #[test]
    fn a_directory_given_twice_is_a_usage_error() {
        assert!(Cli::try_parse_from(words("ash scan a --source-dir b")).is_err());
    }
}
