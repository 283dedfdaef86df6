//! Where a URI of a log is in the scanned tree, if it is in it.

use std::{
    borrow::Cow,
    path::{Component, Path, PathBuf},
};

use ash_model::path::{RelPath, os_string};
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

use crate::log::ArtifactLocation;

/// The longest chain of `uriBaseId`s that is followed.
const MAX_BASES: usize = 8;

/// Resolves URIs of one run. Lexical: no file is looked at.
pub(crate) struct Locator<'a> {
    /// Absolute names of the scanned directory: as given, and real.
    sources: &'a [PathBuf],
    /// Where relative URIs start, below the source.
    start: Option<&'a RelPath>,
    bases: Option<&'a Map<String, Value>>,
    artifacts: &'a [Value],
}

/// What became of an artifact location.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the tree.
    Inside(RelPath),
    /// Somewhere else; the text is what the tool wrote.
    Outside(String),
    /// The location names no file.
    Nowhere,
}

impl<'a> Locator<'a> {
    pub(crate) fn new(
        sources: &'a [PathBuf],
        start: Option<&'a RelPath>,
        bases: Option<&'a Map<String, Value>>,
        artifacts: &'a [Value],
    ) -> Self {
        Self { sources, start, bases, artifacts }
    }

    /// Finds an artifact, through its index when it has no URI of its own.
    pub(crate) fn place(&self, location: &ArtifactLocation) -> Place {
        let member = |name: &str| {
            self.artifact(location.index).and_then(|known| known.get(name)).and_then(Value::as_str)
        };
        let (uri, base) = match location.uri.as_deref() {
            Some(uri) => (uri, location.uri_base_id.as_deref()),
            None => match member("uri") {
                Some(uri) => (uri, member("uriBaseId")),
                None => return Place::Nowhere,
            },
        };
        match self.resolve(uri, base) {
            Some(Target::Source) => Place::Nowhere,
            Some(Target::Below(path)) => Place::Inside(path),
            None => Place::Outside(uri.to_owned()),
        }
    }

    fn artifact(&self, index: Option<i64>) -> Option<&Map<String, Value>> {
        self.artifacts.get(usize::try_from(index?).ok()?)?.get("location")?.as_object()
    }

    fn resolve(&self, uri: &str, base: Option<&str>) -> Option<Target> {
        if let Some(path) = file_path(uri) {
            return self.beneath(&path);
        }
        // A base that leads out of the tree is not honoured: tools write the file system root, or a place only they can see.
        if let Some(target) = base
            .and_then(|base| self.base_path(base, MAX_BASES))
            .and_then(|base| self.beneath(&base.join(decode(uri))))
        {
            return Some(target);
        }
        let start = self.start.map_or_else(PathBuf::new, |start| start.as_path().to_owned());
        below(&start.join(decode(uri)))
    }

    /// The absolute path a `uriBaseId` stands for.
    fn base_path(&self, id: &str, hops: usize) -> Option<PathBuf> {
        let known = self.bases?.get(id)?;
        let uri = known.get("uri").and_then(Value::as_str).unwrap_or_default();
        if let Some(path) = file_path(uri) {
            return Some(path);
        }
        let parent = self.base_path(known.get("uriBaseId")?.as_str()?, hops.checked_sub(1)?)?;
        Some(parent.join(decode(uri)))
    }

    fn beneath(&self, path: &Path) -> Option<Target> {
        let path = without_dots(path)?;
        self.sources.iter().find_map(|source| below(path.strip_prefix(source).ok()?))
    }

    /// Rewrites every artifact location inside a value the log keeps for itself: paths below the source become relative, and indexes into
    /// arrays of the tool's own run, which mean nothing in the merged one, go.
    pub(crate) fn rewrite(&self, value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.rewrite(item)),
            Value::Object(members) => {
                if let Some(location) = members.get_mut("artifactLocation") {
                    self.rewrite_artifact(location);
                }
                members.shift_remove("index");
                members.shift_remove("parentIndex");
                members
                    .iter_mut()
                    .filter(|(name, _)| *name != "properties")
                    .for_each(|(_, member)| self.rewrite(member));
            }
            _ => {}
        }
    }

    fn rewrite_artifact(&self, value: &mut Value) {
        let Ok(mut location) = serde_json::from_value::<ArtifactLocation>(value.clone()) else {
            return;
        };
        if let Place::Inside(path) = self.place(&location) {
            location.uri = Some(path.to_uri());
        }
        location.uri_base_id = None;
        location.index = None;
        if let Ok(clean) = serde_json::to_value(location) {
            *value = clean;
        }
    }
}

enum Target {
    Source,
    Below(RelPath),
}

fn below(relative: &Path) -> Option<Target> {
    let clean = without_dots(relative)?;
    if clean.as_os_str().is_empty() {
        Some(Target::Source)
    } else {
        RelPath::new(clean).ok().map(Target::Below)
    }
}

/// The absolute path of a `file:` URI or of a plain absolute path; `None` for anything relative. A URI of another scheme or host is
/// absolute and names no file here, so it becomes a path that is in no tree.
fn file_path(uri: &str) -> Option<PathBuf> {
    let rest = match uri.split_at_checked(5) {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("file:") => rest,
        _ if has_scheme(uri) => return Some(PathBuf::from("/\0")),
        _ => uri,
    };
    let path: Cow<'_, str> = match rest.strip_prefix("//") {
        Some(authority) if rest.len() < uri.len() => match authority.split_once('/') {
            Some(("" | "localhost" | "127.0.0.1", path)) => Cow::Owned(format!("/{path}")),
            _ => return Some(PathBuf::from("/\0")),
        },
        _ => Cow::Borrowed(rest),
    };
    let path = decode(&path);
    path.is_absolute().then_some(path)
}

/// Whether a text begins with `scheme://`. Names such as `a:b.py` are paths.
fn has_scheme(uri: &str) -> bool {
    uri.split_once("://").is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    })
}

fn decode(text: &str) -> PathBuf {
    let path = PathBuf::from(os_string(percent_decode_str(text).collect()));
    if cfg!(windows) { windows_path(&path) } else { path }
}

/// `file:///C:/x` decodes to `/C:/x`.
fn windows_path(path: &Path) -> PathBuf {
    let text = path.to_string_lossy().replace('\\', "/");
    match text.strip_prefix('/') {
        Some(rest) if rest.as_bytes().get(1) == Some(&b':') => PathBuf::from(rest),
        _ => PathBuf::from(text),
    }
}

/// Takes out `.` and `..`; `None` when a `..` would leave the start.
fn without_dots(path: &Path) -> Option<PathBuf> {
    let mut clean = PathBuf::new();
    let mut names = 0_usize;
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                names = names.checked_sub(1)?;
                clean.pop();
            }
            Component::Normal(name) => {
                names += 1;
                clean.push(name);
            }
            Component::RootDir | Component::Prefix(_) => clean.push(component),
        }
    }
    Some(clean)
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn place(uri: &str, base: Option<&str>) -> Place {
        let sources = [PathBuf::from("/given/a b"), PathBuf::from("/real/src")];
        let bases = json!({
            "ROOT": {"uri": "file:///given/a%20b/"},
            "SUB": {"uri": "sub/", "uriBaseId": "ROOT"},
            "AWAY": {"uri": "file:///etc/"},
            "SLASH": {"uri": "file:///"},
            "LOOP": {"uri": "x/", "uriBaseId": "LOOP"},
        });
        let locator = Locator::new(&sources, None, bases.as_object(), &[]);
        locator.place(&ArtifactLocation {
            uri: Some(uri.into()),
            uri_base_id: base.map(Into::into),
            ..ArtifactLocation::default()
        })
    }

    fn inside(path: &str) -> Place {
        Place::Inside(RelPath::new(path).unwrap())
    }

    #[test]
    fn every_spelling_of_a_file_below_the_source_becomes_one_relative_path() {
        for uri in [
            "x/y%20z.py",
            "./x/y z.py",
            "x/q/../y z.py",
            "/given/a b/x/y z.py",
            "/real/src/x/y z.py",
            "file:///given/a%20b/x/y%20z.py",
            "file:/real/src/x/y%20z.py",
            "file://localhost/real/src/x/y%20z.py",
        ] {
            assert_eq!(place(uri, None), inside("x/y z.py"), "{uri}");
        }
    }

    #[test]
    fn a_file_elsewhere_is_outside_however_it_is_spelled() {
        for uri in [
            "../x",
            "x/../../y",
            "%2e%2e/x",
            "/etc/passwd",
            "%2Fetc/passwd",
            "file:///etc/passwd",
            "/real/src/../x",
            "/real/srcs/x",
            "file://host/real/src/x",
            "https://example.org/real/src/x",
            "a%00b",
        ] {
            assert_eq!(place(uri, None), Place::Outside(uri.into()), "{uri}");
        }
    }

    #[test]
    fn a_base_is_honoured_when_the_result_stays_below_the_source() {
        assert_eq!(place("x.py", Some("ROOT")), inside("x.py"));
        assert_eq!(place("x.py", Some("SUB")), inside("sub/x.py"));
        for other in ["AWAY", "SLASH", "LOOP", "UNKNOWN"] {
            assert_eq!(place("x.py", Some(other)), inside("x.py"), "{other}");
        }
    }

    #[test]
    fn the_source_itself_is_no_file() {
        assert_eq!(place(".", None), Place::Nowhere);
        assert_eq!(place("file:///real/src/", None), Place::Nowhere);
    }

    #[test]
    fn relative_uris_start_where_the_tool_was_started() {
        let sources = [PathBuf::from("/src")];
        let start = RelPath::new("web/app").unwrap();
        let locator = Locator::new(&sources, Some(&start), None, &[]);
        let at = |uri: &str| {
            locator
                .place(&ArtifactLocation { uri: Some(uri.into()), ..ArtifactLocation::default() })
        };
        assert_eq!(at("package.json"), inside("web/app/package.json"));
        assert_eq!(at("../x"), inside("web/x"));
        assert_eq!(at("../../../x"), Place::Outside("../../../x".into()));
    }

    #[test]
    fn an_index_names_an_artifact_of_the_run() {
        let sources = [PathBuf::from("/src")];
        let artifacts = [json!({"location": {"uri": "file:///src/a.py"}})];
        let locator = Locator::new(&sources, None, None, &artifacts);
        let at = |index| {
            locator.place(&ArtifactLocation { index: Some(index), ..ArtifactLocation::default() })
        };
        assert_eq!(at(0), inside("a.py"));
        assert_eq!((at(1), at(-1)), (Place::Nowhere, Place::Nowhere));
    }

    #[test]
    fn kept_members_are_rewritten_too() {
        let sources = [PathBuf::from("/src")];
        let locator = Locator::new(&sources, None, None, &[]);
        let mut flows = json!([{"locations": [{"physicalLocation": {"artifactLocation": {"uri": "/src/a.py", "index": 4}}, "properties": {"index": 3}}], "index": 2}]);
        locator.rewrite(&mut flows);
        assert_eq!(
            flows,
            json!([{"locations": [{"physicalLocation": {"artifactLocation": {"uri": "a.py"}}, "properties": {"index": 3}}]}])
        );
    }
}
