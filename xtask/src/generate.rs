//! `cargo xtask gen`: pages that are made from the code's own tables, so that they cannot say anything else.

mod configuration;

use std::{fmt::Write as _, process::ExitCode};

use anyhow::{Context, Result};

use crate::{shell::say, workspace};

/// One generated file: where it lies, and what it says.
struct Page {
    path: &'static str,
    text: String,
}

/// Every page that this system can make: the system-call table is Linux's.
fn pages() -> Vec<Page> {
    vec![
        #[cfg(target_os = "linux")]
        Page { path: "docs/seccomp.md", text: seccomp::page() },
        Page { path: "docs/environment.md", text: environment() },
        Page { path: "docs/ash-config.schema.json", text: configuration::schema() },
        Page { path: CONFIGURATION, text: configuration::page(&written(CONFIGURATION)) },
    ]
}

/// A page of which only a part is made.
const CONFIGURATION: &str = "docs/configuration.md";

fn written(path: &str) -> String {
    std::fs::read_to_string(workspace::root().join(path)).unwrap_or_default()
}

/// Writes the pages, or compares them.
pub(crate) fn run(check: bool) -> Result<ExitCode> {
    let mut old = false;
    for page in pages() {
        let path = workspace::root().join(page.path);
        if std::fs::read_to_string(&path).is_ok_and(|text| text == page.text) {
            continue;
        }
        if check {
            old = true;
            say(&format!("{} is out of date; run `cargo xtask gen`", page.path));
        } else {
            std::fs::write(&path, &page.text)
                .with_context(|| format!("cannot write {}", page.path))?;
            say(&format!("wrote {}", page.path));
        }
    }
    Ok(if old { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

const MADE: &str = "<!-- Made by `cargo xtask gen`. Do not edit. -->\n\n";

/// A Markdown table.
fn table(head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut text = format!("| {} |\n|{}\n", head.join(" | "), "---|".repeat(head.len()));
    for row in rows {
        let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
        // Writing to a String cannot fail.
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    text
}

fn code(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("`{text}`") }
}

fn environment() -> String {
    let rules = ash_sandbox::variable_rules();
    let rows = rules.iter().map(|rule| {
        let names: Vec<String> = rule.names.iter().map(|name| code(name)).collect();
        vec![rule.which.to_owned(), names.join(" "), rule.then.to_owned()]
    });
    format!(
        "# The environment of a sandboxed scanner\n\n{MADE}\
         A later row wins over an earlier one. `PATH` keeps its absolute entries outside the scanned tree, `HOME` is private, and a cache that is\n\
         read-only is replaced by a private one in the variable that names it. What a scanner declares, by prefix or by name, is passed as the\n\
         second row's names are. See [the sandbox](sandbox.md).\n\n{}",
        table(&["which", "names", "what happens"], rows)
    )
}

#[cfg(target_os = "linux")]
mod seccomp {
    use ash_sandbox::confine::seccomp::{Row, rows};

    use super::{MADE, code, table};

    const INTRODUCTION: &str = "\
The last stage of every backend on Linux installs one filter over system calls, made from one table. Rules for one call are tried in order and the
first that applies decides; a call no rule decides runs. Only the low 32 bits of an argument are compared, as the kernel reads them.

A call made for another processor or through the x32 interface ends the process. A call newer than the table does not exist (`ENOSYS`), so that it
cannot be a way around it.

";

    pub(super) fn page() -> String {
        let online = rows(true);
        let (alone, everywhere): (Vec<Row>, Vec<Row>) =
            online.iter().cloned().partition(|row| row.landlock_alone);
        let offline: Vec<Row> =
            rows(false).into_iter().filter(|row| !online.contains(row)).collect();
        format!(
            "# The system-call filter\n\n{MADE}{INTRODUCTION}\
             ## In every sandbox\n\n{}\n\
             ## Where Landlock is the whole sandbox\n\n\
             No mount namespace is around, so what Landlock does not mediate is refused or made inert here. These rules come after those on\n\
             set-user-id bits and before the others. The rules on truncation hold before Landlock ABI 3 only.\n\n{}\n\
             ## Where Landlock is the whole sandbox and there is no network\n\n\
             In the place of the rules on `socket`:\n\n{}",
            shown(&everywhere),
            shown(&alone),
            shown(&offline)
        )
    }

    fn shown(rows: &[Row]) -> String {
        let number = |number: Option<u32>| {
            number.map_or_else(|| "–".to_owned(), |number| number.to_string())
        };
        table(
            &["call", "x86-64", "aarch64", "when", "what happens", "why"],
            rows.iter().map(|row| {
                vec![
                    code(row.call),
                    number(row.x86_64),
                    number(row.aarch64),
                    code(&row.when),
                    row.then.clone(),
                    row.why.to_owned(),
                ]
            }),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generated_pages_are_up_to_date() {
        for page in pages() {
            let found =
                std::fs::read_to_string(workspace::root().join(page.path)).unwrap_or_default();
            assert!(found == page.text, "{} is out of date; run `cargo xtask gen`", page.path);
        }
    }
}
