//! What the environment asks for and this version of ash does not have. A variable that would change what is scanned, or where, is never passed
//! over in silence.

use ash_model::path::printable;

use crate::{environment::Environment, error::CommandError, exit};

/// Commands of the Python tool that this version of ash does not have. A directory of that name is scanned all the same.
const COMMANDS: [&str; 7] =
    ["build-image", "get-genai-guide", "inspect", "mcp", "merge", "plugin", "report"];

/// The answer to a command that is known from the Python tool.
pub(crate) fn command(typed: &str) -> Option<CommandError> {
    COMMANDS.contains(&typed).then(|| {
        CommandError::usage(format!("`ash {typed}` is not part of this version of ash"))
            .hint("`ash --help` lists the commands")
    })
}

/// Refuses what would be another scan than the one asked for. Returns what to say of a scan that is only larger.
///
/// # Errors
/// When the scan asked for cannot be had.
pub(crate) fn check(environment: &Environment) -> Result<Vec<String>, CommandError> {
    let set = |name: &str| environment.get(name).filter(|value| !value.is_empty());
    let absent = |name: &str, what: &str, instead: &str| {
        CommandError::usage(format!(
            "`{name}` asks for {what}, which this version of ash does not have"
        ))
        .hint(instead)
    };
    if set("ASH_WORKSPACE").is_some() {
        let instead = "unset it and scan each project by itself: `ash scan DIR`";
        return Err(absent("ASH_WORKSPACE", "a scan of a workspace", instead).code(exit::WORKSPACE));
    }
    if let Some(name) =
        ["ASH_SHARD_INDEX", "ASH_SHARD_COUNT"].into_iter().find(|name| set(name).is_some())
    {
        return Err(absent(name, "one shard of a scan", "unset it to scan everything in one job"));
    }
    if let Some(mode) = set("ASH_MODE").filter(|mode| !mode.eq_ignore_ascii_case("local")) {
        let what = format!("the mode `{}`", printable(mode));
        let instead =
            "unset it; `ash scan --sandbox auto` confines each scanner without a container";
        return Err(absent("ASH_MODE", &what, instead));
    }
    Ok(environment
        .is_yes("ASH_CHANGED_FILES_ONLY")
        .then(|| {
            "ASH_CHANGED_FILES_ONLY is not part of this version of ash: the whole tree is scanned"
                .to_owned()
        })
        .into_iter()
        .collect())
}
