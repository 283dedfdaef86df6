//! `docs/spec-coverage.md` says how each requirement is shown. This checks that it tells the truth.

use std::{collections::BTreeMap, path::Path};

use super::files::text;

/// How many requirements there are.
const ROWS: u32 = 252;

/// One row's proofs: everything after the id and the words, separated by `;`.
fn rows() -> BTreeMap<u32, Vec<String>> {
    let page = text("docs/spec-coverage.md".as_ref());
    let mut rows = BTreeMap::new();
    for line in page.lines().filter(|line| line.starts_with("| R")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [id, _, proofs] = cells.as_slice() else { panic!("not three cells: {line}") };
        let number: u32 = id.trim_start_matches('R').parse().unwrap();
        let proofs =
            proofs.split("; ").map(|proof| proof.trim().trim_matches('`').to_owned()).collect();
        assert!(rows.insert(number, proofs).is_none(), "{id} is there twice");
    }
    rows
}

#[test]
fn every_requirement_is_on_the_page_once() {
    let numbers: Vec<u32> = rows().into_keys().collect();
    assert_eq!(numbers, (1..=ROWS).collect::<Vec<_>>());
}

#[test]
fn every_named_test_and_paragraph_exists() {
    let mut wrong = Vec::new();
    for (number, proofs) in rows() {
        for proof in proofs {
            if let Err(reason) = check(&proof) {
                wrong.push(format!("R{number:03}: {reason}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// `open`, `test: FILE::NAME` or `docs: FILE#ANCHOR`.
fn check(proof: &str) -> Result<(), String> {
    if proof == "open" {
        return Ok(());
    }
    if let Some((file, name)) = proof.strip_prefix("test: ").and_then(|rest| rest.split_once("::"))
    {
        let text = existing(file)?;
        let is_there =
            text.contains(&format!("fn {name}(")) || text.contains(&format!("\"{name}\""));
        return if is_there { Ok(()) } else { Err(format!("no test `{name}` in {file}")) };
    }
    if let Some((file, anchor)) = proof.strip_prefix("docs: ").and_then(|rest| rest.split_once('#'))
    {
        let text = existing(file)?;
        return if headings(&text).any(|heading| heading == anchor) {
            Ok(())
        } else {
            Err(format!("no heading `{anchor}` in {file}"))
        };
    }
    Err(format!("`{proof}` is neither `open`, `test: FILE::NAME` nor `docs: FILE#ANCHOR`"))
}

fn existing(file: &str) -> Result<String, String> {
    Some(text(Path::new(file)))
        .filter(|text| !text.is_empty())
        .ok_or_else(|| format!("no file {file}"))
}

/// The anchors of a page, as code hosts make them from its headings.
fn headings(page: &str) -> impl Iterator<Item = String> + '_ {
    page.lines().filter(|line| line.starts_with('#')).map(|line| {
        let words = line.trim_start_matches('#').trim().to_lowercase();
        words
            .chars()
            .filter_map(|c| {
                if c == ' ' {
                    Some('-')
                } else {
                    (c.is_alphanumeric() || c == '-' || c == '_').then_some(c)
                }
            })
            .collect()
    })
}

#[test]
fn a_proof_that_does_not_exist_is_noticed() {
    assert!(check("open").is_ok());
    assert!(
        check("test: xtask/src/repository/coverage.rs::a_proof_that_does_not_exist_is_noticed")
            .is_ok()
    );
    assert!(check(&["test: xtask/src/repository/coverage.rs::no_such", "_test"].concat()).is_err());
    assert!(check("test: xtask/src/gone.rs::any").is_err());
    assert!(check("docs: ARCHITECTURE.md#no-such-heading").is_err());
    assert!(check("done").is_err());
}
