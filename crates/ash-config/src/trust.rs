//! Who may turn the sandbox on, off and open. A network and read paths are granted only by overrides and by configurations wholly
//! outside the scanned tree; files inside the tree can only take away.

use std::path::PathBuf;

use ash_model::notice::Notice;

use crate::{
    settings::{NetworkPolicy, SandboxSettings},
    tree::{Node, Sources},
};

/// Everything that speaks about the sandbox in one load.
pub(crate) struct Voices<'a> {
    /// `--sandbox`.
    pub(crate) flag: Option<&'a str>,
    /// The overrides alone, applied to nothing.
    pub(crate) overrides: &'a Node,
    /// What may grant: a configuration wholly outside the tree, or nothing, with the overrides.
    pub(crate) trusted: &'a Node,
    /// The same without the overrides.
    pub(crate) trusted_file: Option<&'a Node>,
    /// Operator's configurations of which some file lies in the tree, without overrides: their mode is a floor.
    pub(crate) floors: Vec<&'a Node>,
    /// The configuration with files in the tree, if any: without and with the overrides.
    pub(crate) in_tree: Option<InTree<'a>>,
}

/// A configuration that can only take away.
pub(crate) struct InTree<'a> {
    pub(crate) file: &'a Node,
    pub(crate) with_overrides: &'a Node,
    /// The file that makes it untrusted.
    pub(crate) culprit: PathBuf,
}

/// The outcome. Extra read paths are still as written.
pub(crate) struct Verdict {
    pub(crate) sandbox: SandboxSettings,
    pub(crate) read_paths: Vec<Node>,
}

const MODE: &[&str] = &["sandbox", "mode"];

/// Decides mode, network and read paths, and says what was dropped.
pub(crate) fn decide(voices: &Voices<'_>, sources: &Sources, notices: &mut Vec<Notice>) -> Verdict {
    let mode = mode(voices);
    if let Some(in_tree) = &voices.in_tree {
        note_mode(in_tree, mode.as_deref(), sources, notices);
        note_grants(in_tree, voices, sources, notices);
    }
    let network = NetworkPolicy {
        granted: names(voices.trusted.at_path(&["sandbox", "network_scanners"])),
        limit: voices.in_tree.as_ref().and_then(|in_tree| names(limit(in_tree, voices.overrides))),
    };
    let read_paths = voices
        .trusted
        .at_path(&["sandbox", "extra_read_paths"])
        .map(Node::items)
        .unwrap_or_default()
        .to_vec();
    Verdict { sandbox: SandboxSettings { mode, network, extra_read_paths: Vec::new() }, read_paths }
}

/// The flag, then an override; then whoever turns it on: a file outside the tree, the operator's files inside it, the tree itself.
fn mode(voices: &Voices<'_>) -> Option<String> {
    let said = |node: &Node| node.at_path(MODE).and_then(Node::text).map(str::to_owned);
    let explicit = voices.flag.map(str::to_owned).or_else(|| said(voices.overrides));
    if explicit.is_some() {
        return explicit;
    }
    let files = voices
        .trusted_file
        .into_iter()
        .chain(voices.floors.iter().copied())
        .chain(voices.in_tree.as_ref().map(|in_tree| in_tree.file));
    let modes: Vec<String> = files.filter_map(said).collect();
    modes.iter().find(|mode| *mode != "off").or(modes.first()).cloned()
}

/// The list in force as a limit: the tree's own, unless an override replaces or extends it.
fn limit<'a>(in_tree: &InTree<'a>, overrides: &Node) -> Option<&'a Node> {
    let overridden = overrides
        .get("sandbox")
        .is_some_and(|section| section.get_with_null("network_scanners").is_some());
    let document = if overridden { in_tree.with_overrides } else { in_tree.file };
    document.at_path(&["sandbox", "network_scanners"])
}

fn names(list: Option<&Node>) -> Option<Vec<String>> {
    list.map(|list| {
        list.items().iter().filter_map(Node::text).map(|name| name.replace('_', "-")).collect()
    })
}

fn note_mode(
    in_tree: &InTree<'_>,
    mode: Option<&str>,
    sources: &Sources,
    notices: &mut Vec<Notice>,
) {
    let Some(node) = in_tree.file.at_path(MODE).filter(|node| node.text() != mode) else { return };
    let said = node.text().unwrap_or_default();
    let reason = format!(
        "mode `{said}` is not applied: a file inside the scanned tree can turn the sandbox on, not off or to another backend than the operator's (`{}`)",
        mode.unwrap_or("off")
    );
    let notice = Notice { file: file_of(sources, node), ..Notice::new("sandbox.mode", reason) };
    notices.push(notice.hint(format!("pass `--sandbox {said}` to use it")));
}

fn note_grants(
    in_tree: &InTree<'_>,
    voices: &Voices<'_>,
    sources: &Sources,
    notices: &mut Vec<Notice>,
) {
    for (key, effect) in [
        ("network_scanners", "grants no network; the list only limits who has one"),
        ("extra_read_paths", "grants no read paths; they are dropped"),
    ] {
        let Some(list) =
            in_tree.file.at_path(&["sandbox", key]).filter(|list| !list.items().is_empty())
        else {
            continue;
        };
        let granted = voices.trusted.at_path(&["sandbox", key]);
        if granted.is_some_and(|granted| granted.to_value() == list.to_value()) {
            continue;
        }
        let culprit = printable(&in_tree.culprit);
        let file = file_of(sources, list);
        let reason = match &file {
            Some(file) if *file != culprit => format!(
                "a configuration with a file inside the scanned tree (`{culprit}`) {effect}"
            ),
            _ => format!("a file inside the scanned tree {effect}"),
        };
        let words: Vec<&str> = list.items().iter().filter_map(Node::text).collect();
        let words = if words.iter().all(|word| is_plain(word)) {
            words.join(", ")
        } else {
            "…".to_owned()
        };
        let hint = format!(
            "pass `--config-overrides 'sandbox.{key}=[{}]'`, or set it in a configuration outside the scanned checkout that extends nothing inside it",
            words
        );
        notices.push(Notice { file, ..Notice::new(format!("sandbox.{key}"), reason) }.hint(hint));
    }
}

/// Whether words of an untrusted file may stand in a command that somebody will copy into a shell.
pub(crate) fn is_plain(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "._/~-".contains(c))
}

/// The file a value was written in, safe to print.
pub(crate) fn file_of(sources: &Sources, node: &Node) -> Option<String> {
    sources.get(node.at.source).map(|source| {
        source.path.as_ref().map_or_else(|| source.name.clone(), |path| printable(path))
    })
}

fn printable(path: &std::path::Path) -> String {
    ash_model::path::printable(path.as_os_str())
}
