//! What `ash sandbox` says to people.

use ash_sandbox::BackendStatus;

use crate::commands::{explain::Explained, status::Status};

/// Shows what this machine can enforce.
pub(crate) fn status(status: &Status) {
    let mut text = format!(
        "{} {}, Landlock ABI {}\n",
        status.platform,
        status.kernel,
        if status.landlock_abi == 0 { "none".to_owned() } else { status.landlock_abi.to_string() }
    );
    text += &match &status.auto {
        Some(name) => format!("`--sandbox auto` uses {name}\n\n"),
        None => "`--sandbox auto` finds nothing here\n\n".to_owned(),
    };
    text.extend(status.backends.iter().map(backend));
    super::out(&text);
}

fn backend(backend: &BackendStatus) -> String {
    let version = backend.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
    let overlay = match backend.overlay {
        Some(true) => ", caches writable and thrown away",
        Some(false) => ", caches read-only",
        None => "",
    };
    if backend.available {
        return format!("  {:<13} available{version}: {}{overlay}\n", backend.name, tier(backend));
    }
    format!(
        "  {:<13} unavailable: {}\n",
        backend.name,
        backend.reason.as_deref().unwrap_or("no reason given")
    )
}

fn tier(backend: &BackendStatus) -> String {
    name(backend.tier)
}

fn name(tier: ash_model::evidence::Tier) -> String {
    serde_json::to_value(tier)
        .ok()
        .and_then(|tier| tier.as_str().map(str::to_owned))
        .unwrap_or_default()
}

/// Shows what a scanner would be allowed.
pub(crate) fn explanation(explanation: &Explained) {
    let mut text = String::new();
    let backend = explanation.backend.as_deref().unwrap_or("none");
    text += &format!(
        "{} under `--sandbox {}`: {backend} ({})\n",
        explanation.scanner,
        explanation.mode,
        name(explanation.tier)
    );
    if let Some(refusal) = &explanation.refusal {
        text += &format!("refused: {refusal}\n");
    }
    let is_off = explanation.mode == "off";
    if is_off {
        text += "nothing confines it: it has all your rights, the network included\n";
    }
    if let Some(config) = &explanation.config {
        text += &format!("configuration: {config}\n");
    }
    text += &format!(
        "network{}: {}{}\n",
        if is_off { " under a sandbox" } else { "" },
        if explanation.network { "yes" } else { "none" },
        if explanation.offline { " (offline)" } else { "" }
    );
    text += &format!("starts in: {}\n", explanation.cwd);
    text += &list("writable", explanation.writable.iter().cloned());
    text += &list("read-only", explanation.read_only.iter().cloned());
    text += &list(
        "allowed by `sandbox.extra_read_paths`",
        explanation.extra_read_paths.iter().cloned(),
    );
    text += &list(
        "caches",
        explanation.caches.iter().map(|cache| format!("{} ({})", cache.path, mode(cache))),
    );
    text += &format!("environment: {}\n", explanation.environment.join(" "));
    if !explanation.command.is_empty() {
        text += &list("command", by_option(&explanation.command).into_iter());
    }
    if let Some(profile) = &explanation.profile {
        text += &format!("profile:\n{}\n", indent(profile));
    }
    text += &list("notices", explanation.notices.iter().map(ash_model::notice::Notice::line));
    super::out(&text);
}

fn mode(cache: &ash_model::evidence::CacheEvidence) -> &'static str {
    use ash_model::evidence::CacheMode;
    match cache.mode {
        CacheMode::Overlay => "writable, thrown away",
        CacheMode::ReadOnly => "read-only",
        CacheMode::Private => "private and empty",
    }
}

fn list(title: &str, items: impl Iterator<Item = String>) -> String {
    let items: String =
        items.map(|item| format!("  {}\n", ash_model::path::printable(item.as_ref()))).collect();
    if items.is_empty() { String::new() } else { format!("{title}:\n{items}") }
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

/// A long command line, an option and its values on each line; what follows `--` stays together.
fn by_option(command: &[String]) -> Vec<String> {
    let end = command.iter().position(|word| word == "--").unwrap_or(command.len());
    let mut lines: Vec<String> = Vec::new();
    for (index, word) in command.iter().enumerate() {
        match lines.last_mut() {
            Some(line) if index > end || !word.starts_with("--") => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.clone()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_shown_an_option_a_line() {
        let words = ["bwrap", "--proc", "/proc", "--ro-bind", "/a", "/b", "--", "tool", "--flag"];
        let command: Vec<String> = words.map(str::to_owned).to_vec();
        assert_eq!(
            by_option(&command),
            ["bwrap", "--proc /proc", "--ro-bind /a /b", "-- tool --flag"]
        );
    }
}
