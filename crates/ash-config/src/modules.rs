//! `ash_plugin_modules`: Python packages that the Python product imports into itself. This one loads no foreign code: the modules that
//! only brought scanners which are built in here are accepted, and of any other it says that it does not run.

use ash_model::{notice::Notice, path::printable};

use crate::{
    error::Mistake,
    tree::{Node, Sources},
    trust,
};

const KEY: &str = "ash_plugin_modules";

/// Where the Python tool has them.
const PACKAGE: &str = "automated_security_helper.plugin_modules";

/// The last part of a module's name, and the scanner it brought.
const BUILT_IN: [(&str, &str); 3] = [
    ("ash_snyk_plugins", "snyk-code"),
    ("ash_trivy_plugins", "trivy-repo"),
    ("ash_ferret_plugins", "ferret-scan"),
];

/// Names shown of a list that may be very long.
const SHOWN: usize = 5;

/// Judges the modules: one that the operator asks for and that does not run is a mistake, since the scan would lack what was asked for;
/// one that only the scanned tree asks for is dropped with a notice.
pub(crate) fn judge(
    document: &Node,
    operators: &Node,
    in_tree: bool,
    known_scanners: &[&str],
    sources: &Sources,
    mistakes: &mut Vec<Mistake>,
    notices: &mut Vec<Notice>,
) {
    let Some(list) = document.get(KEY) else { return };
    let trusted = operators.get(KEY).map(Node::items).unwrap_or_default();
    let is_trusted = |node: &Node| !in_tree || trusted.iter().any(|own| own.text() == node.text());
    let foreign = |node: &&Node| node.text().is_some_and(|name| !is_built_in(name, known_scanners));
    let (own, theirs): (Vec<&Node>, Vec<&Node>) =
        list.items().iter().filter(foreign).partition(|node| is_trusted(node));
    if let Some(first) = own.first() {
        let message = format!(
            "`{KEY}` names {}, and ash loads no foreign code into itself: their scanners and reporters would not run",
            names(&own)
        );
        mistakes.push(Mistake::at(sources, first.at, message).hint("take them out of the list"));
    }
    if let Some(first) = theirs.first() {
        let reason = format!(
            "{} not loaded: a scanned repository may not choose code for ash to load, and ash loads none",
            names(&theirs)
        );
        let notice = Notice { file: trust::file_of(sources, first), ..Notice::new(KEY, reason) };
        notices.push(
            notice
                .hint("their scanners and reporters do not run; review what they would have done"),
        );
    }
}

/// The modules that may be named: those whose scanners are built in.
pub(crate) fn with_effect(known_scanners: &[&str]) -> Vec<String> {
    let of = BUILT_IN.iter().filter(|(_, scanner)| known_scanners.contains(scanner));
    of.map(|(name, _)| format!("{PACKAGE}.{name}")).collect()
}

fn is_built_in(module: &str, known_scanners: &[&str]) -> bool {
    let last = module.rsplit('.').next().unwrap_or(module);
    BUILT_IN.iter().any(|(name, scanner)| *name == last && known_scanners.contains(scanner))
}

fn names(modules: &[&Node]) -> String {
    let shown = modules.iter().filter_map(|node| node.text()).take(SHOWN);
    let mut names: Vec<String> =
        shown.map(|name| format!("`{}`", printable(name.as_ref()))).collect();
    if modules.len() > SHOWN {
        names.push(format!("{} more", modules.len() - SHOWN));
    }
    names.join(", ")
}
