//! Variables in configuration: `${NAME:default}` for the names that are allowed, and `~` and `$VAR` in the operator's own paths.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

/// How the environment is asked.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// Why a text cannot be filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SubstituteError {
    /// This variable is neither set nor given a default.
    NotSet(String),
    /// The values of variables take more than there is room for: a repository can name a long one a hundred thousand times.
    TooLong,
}

/// Replaces `${NAME:default}` for `ASH_*` and the three AWS names; any other `${…}` stays as written, because a scanned repository must
/// not be able to read the environment. Takes what it writes from `room`, in bytes.
pub(crate) fn substitute(
    text: &mut String,
    room: &mut usize,
    lookup: Lookup<'_>,
) -> Result<(), SubstituteError> {
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some(start) = rest.find("${") {
        let (before, after) = rest.split_at(start);
        out.push_str(before);
        let Some(end) = after.find('}') else { break };
        let (name, default) = match after[2..end].split_once(':') {
            Some((name, default)) => (name, Some(default)),
            None => (&after[2..end], None),
        };
        if allowed(name) {
            let set = lookup(name).map(|value| value.to_string_lossy().into_owned());
            let value = set.or(default.map(str::to_owned));
            let value = value.ok_or_else(|| SubstituteError::NotSet(name.to_owned()))?;
            *room = room.checked_sub(value.len()).ok_or(SubstituteError::TooLong)?;
            out.push_str(&value);
        } else {
            out.push_str(&after[..=end]);
        }
        rest = &after[end + 1..];
    }
    out.push_str(rest);
    *text = out;
    Ok(())
}

/// A value by such a name would end in a report that a scanned repository can send on.
const SECRET_WORDS: &[&str] = ash_model::requirements::CREDENTIAL_WORDS;

fn allowed(name: &str) -> bool {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let upper = name.to_ascii_uppercase();
    let is_secret = SECRET_WORDS.iter().any(|word| upper.contains(word));
    let is_aws = ["AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_REGION"].contains(&name);
    plain && !is_secret && (name.starts_with("ASH_") || is_aws)
}

/// Why a path of the operator's cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PathError {
    #[error("`{0}` is relative")]
    Relative(String),
    #[error("`{0}` names a variable that is not set")]
    Unresolved(String),
    #[error("`{0}` starts with `~`, and only `~` and `~/…` are known")]
    OtherHome(String),
    #[error("`{0}` has a `..` part")]
    Parent(String),
}

/// Expands `~`, `$VAR` and `${VAR}` in an operator's path, which must then be absolute.
pub(crate) fn expand(
    text: &str,
    home: Option<&Path>,
    lookup: Lookup<'_>,
) -> Result<PathBuf, PathError> {
    let shown = || text.to_owned();
    let mut expanded = OsString::new();
    let mut rest = text;
    if let Some(below) = rest.strip_prefix('~') {
        if !below.is_empty() && !below.starts_with('/') {
            return Err(PathError::OtherHome(shown()));
        }
        expanded.push(home.ok_or_else(|| PathError::Unresolved(shown()))?);
        rest = below;
    }
    while let Some(dollar) = rest.find('$') {
        expanded.push(&rest[..dollar]);
        let (name, after) =
            variable(&rest[dollar + 1..]).ok_or_else(|| PathError::Unresolved(shown()))?;
        expanded.push(lookup(name).ok_or_else(|| PathError::Unresolved(shown()))?);
        rest = after;
    }
    expanded.push(rest);
    let path = PathBuf::from(expanded);
    if !path.is_absolute() {
        return Err(PathError::Relative(shown()));
    }
    if path.components().any(|part| part == std::path::Component::ParentDir) {
        return Err(PathError::Parent(shown()));
    }
    Ok(path)
}

fn variable(text: &str) -> Option<(&str, &str)> {
    let (name, after) = match text.strip_prefix('{') {
        Some(braced) => braced.split_once('}')?,
        None => text.split_at(
            text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len()),
        ),
    };
    let plain =
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    plain.then_some((name, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lookup(name: &str) -> Option<OsString> {
        match name {
            "ASH_X" => Some("x".into()),
            "SECRET" | "ASH_API_TOKEN" => Some("s3cret".into()),
            "CA" => Some("/opt/ca".into()),
            "NESTED" => Some("/a/$CA".into()),
            _ => None,
        }
    }

    #[test]
    fn only_allowed_names_are_substituted() {
        for (text, expected) in [
            ("${ASH_X}", Ok("x")),
            ("a${ASH_X:d}b${ASH_Y:d:e}c", Ok("axbd:ec")),
            ("${SECRET}", Ok("${SECRET}")),
            ("${ASH_API_TOKEN}", Ok("${ASH_API_TOKEN}")),
            ("${AWS_REGION:eu}", Ok("eu")),
            ("${ASH_Y}", Err(SubstituteError::NotSet("ASH_Y".to_owned()))),
            ("${ASH_Y:123456789012345678901234567890123}", Err(SubstituteError::TooLong)),
            ("${ASH_X", Ok("${ASH_X")),
            ("$ASH_X $", Ok("$ASH_X $")),
        ] {
            let mut value = text.to_owned();
            let result = substitute(&mut value, &mut 32, &lookup);
            assert_eq!(result.map(|()| value.as_str()), expected, "{text}");
        }
    }

    #[test]
    fn paths_expand_to_absolute_ones_or_not_at_all() {
        let home = Some(Path::new("/home/u"));
        for (text, expected) in [
            ("~", Some("/home/u")),
            ("~/x", Some("/home/u/x")),
            ("$CA/y", Some("/opt/ca/y")),
            ("${CA}", Some("/opt/ca")),
            ("/a b", Some("/a b")),
            ("~other/x", None),
            ("$NO/x", None),
            ("/x/$", None),
            ("${CA", None),
            ("rel", None),
            ("", None),
            ("/a/../b", None),
        ] {
            assert_eq!(expand(text, home, &lookup).ok(), expected.map(PathBuf::from), "{text}");
        }
        // A variable's value is not expanded again.
        assert_eq!(expand("$NESTED", home, &lookup).unwrap(), PathBuf::from("/a/$CA"));
    }
}
