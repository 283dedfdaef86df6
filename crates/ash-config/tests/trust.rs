//! The trust truth table, loaded in this process: who may turn the sandbox on, off and open, on real directories. The real program
//! is asked about the same rows in the tests of `ash`.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a lab that cannot be built is a failed test")]

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use ash_config::{ConfigErrors, Identity, Loaded, Request, load};
use ash_model::notice::Notice;
use ash_testkit::trust::{
    Expect, Lab, Make, NETWORKED, ON_REQUEST, Outcome, Row, SCANNERS, Typed, explains_itself,
    is_setting, is_without_effect, rows,
};

/// A file system that ignores letter case, played: Linux has none that a test could mount.
fn folded(path: &Path) -> Option<Identity> {
    Some(Identity::Path(PathBuf::from(path.to_string_lossy().to_lowercase())))
}

fn run(lab: &Lab, row: &Row) -> Result<Loaded, ConfigErrors> {
    let typed = &row.typed;
    load(&Request {
        source: lab.typed(typed.source),
        config: typed.config.map(|path| lab.typed(path)),
        ash_config_env: typed
            .ash_config
            .map(|path| if path.is_empty() { "".into() } else { lab.at(path).into() }),
        overrides: typed.overrides.iter().map(|text| (*text).to_owned()).collect(),
        sandbox_flag: typed.flag.map(str::to_owned),
        cwd: lab.at(typed.cwd),
        pwd_env: typed.pwd.map(|path| lab.at(path).into()),
        home: Some(lab.at("home")),
        env: &|name| lab.variable(name),
        known_scanners: &SCANNERS,
        workspace: typed.workspace.map(|file| lab.at(file).parent().unwrap().to_owned()),
        identify: row.folds_case.then_some(folded),
    })
}

#[test]
fn the_truth_table_holds() {
    let rows = rows();
    let names: BTreeSet<&str> = rows.iter().map(|row| row.what).collect();
    assert_eq!(names.len(), rows.len(), "two rows of one name");
    assert!(rows.len() >= 200, "{}", rows.len());
    // What is mounted needs a namespace: only the real program is asked about it.
    let wrong: Vec<String> = rows
        .iter()
        .filter(|row| row.binds().next().is_none())
        .filter_map(|row| judge(row).err().map(|reason| format!("{}:\n    {reason}", row.what)))
        .collect();
    assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

fn judge(row: &Row) -> Result<(), String> {
    let dir = tempfile::tempdir().unwrap();
    let lab = Lab::plant(dir.path(), row);
    match (run(&lab, row), row.expect) {
        (Err(errors), Expect::Refused(words)) if errors.to_string().contains(words) => Ok(()),
        (Err(errors), expect) => Err(format!("expected {expect:?}\n    refused  {errors}")),
        (Ok(loaded), Expect::Settings(expect)) => {
            let found = described(&lab, row, &loaded);
            let expect = words(expect);
            if found != expect {
                return Err(format!("expected {expect}\n    found    {found}"));
            }
            dropped(&loaded).try_for_each(|Notice { key, file, reason, hint }| {
                explains_itself(key, file.as_deref(), reason, hint.as_deref())
            })
        }
        (Ok(loaded), Expect::Refused(_)) => {
            Err(format!("it loads: {}", described(&lab, row, &loaded)))
        }
    }
}

/// An outcome in words, so that what was found, which borrows nothing, can be compared.
fn words(outcome: Outcome) -> String {
    let Outcome { mode, network, reads, dropped } = outcome;
    format!("mode {mode:?}, network {network:?}, reads {reads}, dropped {dropped:?}")
}

fn described(lab: &Lab, row: &Row, loaded: &Loaded) -> String {
    let sandbox = &loaded.settings.sandbox;
    let allows = |name: &str| {
        let declared = NETWORKED.contains(&name);
        sandbox.network.allows(name, declared, name == ON_REQUEST, row.typed.offline)
    };
    let network: Vec<&str> = SCANNERS.into_iter().filter(|name| allows(name)).collect();
    let reads = sandbox.extra_read_paths == [lab.at("home/ca")];
    let dropped: Vec<&str> = dropped(loaded).map(|notice| notice.key.as_str()).collect();
    let mode = sandbox.mode.as_deref();
    format!("mode {mode:?}, network {network:?}, reads {reads}, dropped {dropped:?}")
}

fn dropped(loaded: &Loaded) -> impl Iterator<Item = &Notice> {
    loaded
        .notices
        .iter()
        .filter(|notice| is_setting(&notice.key) && !is_without_effect(&notice.key, &notice.reason))
}

#[test]
fn a_dropped_grant_names_the_file_that_says_it_and_the_one_that_spoils_it_and_how_to_grant() {
    let row = rows()
        .into_iter()
        .find(|row| row.what == "a base inside takes the grants of the file outside")
        .unwrap();
    let dir = tempfile::tempdir().unwrap();
    let lab = Lab::plant(dir.path(), &row);
    let loaded = run(&lab, &row).unwrap();
    let notice = dropped(&loaded).next().unwrap();
    assert_eq!(notice.file, Some(lab.at("ops/c.yaml").display().to_string()));
    let spoils = lab.at("repo/base.yaml").display().to_string();
    // The base is named as it was written: by a way through the directory of the file that extends it.
    assert!(
        notice.reason.contains("/ops/../repo/base.yaml") || notice.reason.contains(&spoils),
        "{notice:?}"
    );
    let hint = notice.hint.as_deref().unwrap();
    assert!(hint.contains("--config-overrides 'sandbox.network_scanners=[bandit]'"), "{hint}");
}

#[test]
fn a_need_that_follows_from_settings_is_granted_only_by_name() {
    let allows = |text: &str, in_tree: bool| {
        let dir = tempfile::tempdir().unwrap();
        let make = &[Make::File("ops/c.yaml", ""), Make::InRepo("{}")];
        let row = Row { make, ..rows()[0] };
        let lab = Lab::plant(dir.path(), &row);
        let file = lab.at(if in_tree { "repo/.ash.yaml" } else { "ops/c.yaml" });
        std::fs::write(&file, text).unwrap();
        let typed = Typed { config: (!in_tree).then_some("ops/c.yaml"), ..row.typed };
        let loaded = run(&lab, &Row { typed, ..row }).unwrap();
        loaded.settings.sandbox.network.allows("detect-secrets", true, true, false)
    };
    let named = "sandbox: {network_scanners: [detect-secrets]}";
    assert!(!allows("{}", false), "its own word does not count");
    assert!(!allows(named, true), "nor does the tree's");
    assert!(allows(named, false), "the operator's does");
}
