//! The dependency rules of `deny.toml` that need no tool to check, and the walls between our own crates.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{shell::cargo, workspace};

/// Licences that a dependency may come under. The same list as in `deny.toml`.
const LICENCES: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Crates that may not come in, and why.
pub(super) const BANNED: &[(&str, &str)] = &[
    ("duct", "starts processes; ash-sandbox is the only door"),
    ("subprocess", "starts processes; ash-sandbox is the only door"),
    ("command-group", "starts processes; ash-sandbox is the only door"),
    ("nix", "rustix is the one wrapper around system calls"),
    ("openssl", "a C library; use rustls where TLS is needed"),
    ("openssl-sys", "a C library; use rustls where TLS is needed"),
    ("serde_yaml", "unmaintained; serde-saphyr has budgets and positions"),
    ("serde_yml", "unsound and archived; serde-saphyr has budgets and positions"),
    ("tokio", "ash uses threads; an async runtime belongs to the MCP server alone"),
    ("reqwest", "ash itself makes no connections"),
];

/// Where dependencies come from.
pub(super) const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Crates with a single user: the crate that knows how to use them safely.
const ONLY_UNDER: &[(&str, &str)] =
    &[("landlock", "ash-sandbox"), ("seccompiler", "ash-sandbox"), ("serde-saphyr", "ash-config")];

/// Walls between our own crates: the left one may not depend on the right one, directly or through others.
const WALLS: &[(&str, &str)] = &[
    ("ash-scanners", "ash-sandbox"),
    ("ash-reports", "ash-sandbox"),
    ("ash-config", "ash-sandbox"),
    ("ash-intake", "ash-sandbox"),
    ("ash-sarif", "ash-sandbox"),
    ("ash-sandbox", "ash-config"),
    ("ash-sandbox", "ash-engine"),
    ("ash-model", "ash-sarif"),
];

struct Package {
    version: String,
    licence: String,
    source: Option<String>,
    /// Names of what it needs to build and run; what only its tests need is left out.
    needs: Vec<String>,
}

/// Every package in the lock file, by name. Two versions of one name are checked apart.
fn packages() -> Vec<(String, Package)> {
    let metadata = |offline: &[&str]| {
        cargo()
            .args(["metadata", "--format-version", "1", "--locked"])
            .args(offline)
            .cwd(&workspace::root())
            .said()
            .unwrap()
    };
    let said = match metadata(&["--offline"]) {
        said if said.code == Some(0) => said,
        // Packages for other systems are not there yet.
        _ => metadata(&[]),
    };
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let metadata: Value = serde_json::from_str(&said.stdout).unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let needs = |package: &Value| {
        package["dependencies"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|need| need["kind"] != "dev")
            .map(|need| text(&need["name"]))
            .collect()
    };
    let read = |package: &Value| {
        let source = package["source"].as_str().map(str::to_owned);
        (
            text(&package["name"]),
            Package {
                version: text(&package["version"]),
                licence: text(&package["license"]),
                source,
                needs: needs(package),
            },
        )
    };
    metadata["packages"].as_array().unwrap().iter().map(read).collect()
}

/// Whether one of the alternatives of a licence expression is allowed: `MIT OR Apache-2.0`, `(MIT OR Apache-2.0) AND Unicode-3.0`.
fn is_allowed(expression: &str) -> bool {
    expression.split(" AND ").all(|part| {
        let part = part.trim_matches(['(', ')']).replace('/', " OR ");
        part.split(" OR ")
            .any(|licence| LICENCES.contains(&licence.trim().trim_matches(['(', ')'])))
    })
}

#[test]
fn every_dependency_comes_from_the_registry_under_an_allowed_licence() {
    let mut refused = Vec::new();
    for (name, package) in packages() {
        let Some(source) = &package.source else { continue };
        if source != REGISTRY {
            refused.push(format!("{name} {}: from {source}", package.version));
        }
        if !is_allowed(&package.licence) {
            refused.push(format!("{name} {}: licence `{}`", package.version, package.licence));
        }
    }
    assert!(refused.is_empty(), "{refused:#?}");
}

#[test]
fn no_banned_crate_is_in_the_lock_file() {
    let names: Vec<String> = packages().into_iter().map(|(name, _)| name).collect();
    for (banned, reason) in BANNED {
        assert!(!names.iter().any(|name| name == banned), "`{banned}`: {reason}");
    }
}

#[test]
fn crates_that_confine_are_used_by_ash_sandbox_alone() {
    for (wanted, owner) in ONLY_UNDER {
        let users: Vec<String> = packages()
            .into_iter()
            .filter(|(_, package)| package.needs.iter().any(|need| need == wanted))
            .map(|(name, _)| name)
            .collect();
        assert_eq!(users, [owner.to_string()], "users of `{wanted}`");
    }
}

#[test]
fn the_walls_between_our_crates_stand() {
    let graph: BTreeMap<String, Vec<String>> = packages()
        .into_iter()
        .filter(|(_, package)| package.source.is_none())
        .map(|(name, package)| (name, package.needs))
        .collect();
    for (from, to) in WALLS {
        let mut reached = vec![from.to_string()];
        let mut next = 0;
        while let Some(name) = reached.get(next).cloned() {
            for need in graph.get(&name).into_iter().flatten() {
                if graph.contains_key(need) && !reached.contains(need) {
                    reached.push(need.clone());
                }
            }
            next += 1;
        }
        assert!(
            graph.contains_key(*from) && graph.contains_key(*to),
            "`{from}` or `{to}` is gone; correct the list"
        );
        assert!(!reached.iter().any(|name| name == to), "`{from}` reaches `{to}`");
    }
}

#[test]
fn licence_expressions_are_read() {
    assert!(is_allowed("MIT OR Apache-2.0"));
    assert!(is_allowed("(MIT OR Apache-2.0) AND Unicode-3.0"));
    assert!(is_allowed("Unlicense/MIT"));
    assert!(!is_allowed("GPL-3.0"));
    assert!(!is_allowed("MIT AND GPL-3.0"));
    assert!(!is_allowed(""));
}
