//! From a scanner's declaration, as a plugin writes it, to what its policy then allows: each field its own kind of thing, and nothing else.

use ash_model::requirements::Requirements;

use super::{Grants, Policy, tests::Lab};

/// Everything a declaration can ask for, on the machine of [`policy`].
const EVERYTHING: &str = r#"{
    "network": true,
    "read_paths": ["~/.my-tool/rules", "~/.my-tool/gone"],
    "cache_paths": ["~/.cache/my-tool"],
    "cache_env": ["MYTOOL_CACHE_DIR"],
    "env_prefixes": ["MYTOOL_"],
    "env_names": ["MYTOOL_TOKEN"],
    "sandbox_exec_env": [["MYTOOL_PACKAGE_CACHE", "disabled"]],
    "unpack_dir_env": "XDG_CACHE_HOME"
}"#;

/// What a policy allows, the machine's own part of the paths left out.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Allowed {
    network: bool,
    read_only: Vec<String>,
    writable: Vec<String>,
    caches: Vec<String>,
    cache_env: Vec<String>,
    variables: Vec<String>,
}

fn allowed(name: &str, declaration: &str, offline: bool) -> Allowed {
    let lab = Lab::new();
    for dir in ["home/me/.my-tool/rules", "home/me/.cache/my-tool", "home/me/.other"] {
        lab.make(dir);
    }
    let variables = [
        ("MYTOOL_MODE", "x"),
        ("MYTOOL_TOKEN", "x"),
        ("MYTOOL_OTHER_TOKEN", "x"),
        ("OTHER_MODE", "x"),
        ("HTTPS_PROXY", "http://proxy"),
        ("LANG", "C"),
    ];
    let site = lab.site(&variables, &["@usr/bin"]);
    let requirements: Requirements = serde_json::from_str(declaration).unwrap();
    // As the engine grants it: what is declared, never offline.
    let grants = Grants { network: requirements.network && !offline, offline, ..Grants::default() };
    let program = lab.at("usr/bin/tool");
    let policy =
        Policy::resolve(name, &requirements, &site, &lab.ground(), &grants, &program, &[]).unwrap();
    let names = policy.environment.iter().map(|(name, _)| name.to_str().unwrap().to_owned());
    Allowed {
        network: policy.network,
        read_only: lab.inside(&policy.read_only),
        writable: lab.inside(&policy.writable),
        caches: lab.inside(&policy.caches),
        variables: names.filter(|name| !name.starts_with("GIT_")).collect(),
        cache_env: policy.cache_env,
    }
}

fn strings(list: &[&str]) -> Vec<String> {
    list.iter().map(|text| (*text).to_owned()).collect()
}

/// With this field alone, the policy is the one of a scanner without a declaration but for what `change` says.
fn only(field: &str, change: impl FnOnce(&mut Allowed)) {
    let mut all: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(EVERYTHING).unwrap();
    all.retain(|name, _| name == field);
    let declaration = serde_json::to_string(&all).unwrap();
    let mut expected = allowed("my-tool", "{}", false);
    change(&mut expected);
    expected.variables.sort();
    let mut found = allowed("my-tool", &declaration, false);
    found.variables.sort();
    assert_eq!(found, expected, "{declaration}");
}

#[test]
fn without_a_declaration_there_is_no_network_the_source_is_read_only_and_the_results_are_all_it_can_write()
 {
    let baseline = allowed("my-tool", "{}", false);
    let expected = Allowed {
        network: false,
        read_only: strings(&["etc", "home/me/src/repo", "opt", "usr"]),
        writable: strings(&["home/me/src/repo/.ash/ash_output/scanners/x"]),
        caches: vec![],
        cache_env: strings(&["UV_CACHE_DIR"]),
        variables: strings(&["HOME", "LANG", "PATH", "UV_OFFLINE"]),
    };
    assert_eq!(baseline, expected);
}

#[test]
fn a_scanner_of_any_name_gets_the_policy_of_its_declaration() {
    for declaration in ["{}", EVERYTHING] {
        let built_in = allowed("bandit", declaration, false);
        for name in ["my-tool", "community-scanner", "a.b", ""] {
            assert_eq!(allowed(name, declaration, false), built_in, "{name}");
        }
    }
}

#[test]
fn network_is_a_network_online_and_none_offline() {
    only("network", |allowed| {
        allowed.network = true;
        allowed.variables.retain(|name| name != "UV_OFFLINE");
        allowed.variables.push("HTTPS_PROXY".to_owned());
    });
    let offline = allowed("my-tool", r#"{"network": true}"#, true);
    assert_eq!(offline, allowed("my-tool", "{}", true));
}

#[test]
fn read_paths_are_readable_and_a_missing_one_is_skipped() {
    only("read_paths", |allowed| {
        allowed.read_only.insert(1, "home/me/.my-tool/rules".to_owned());
    });
}

#[test]
fn cache_paths_are_caches() {
    only("cache_paths", |allowed| allowed.caches.push("home/me/.cache/my-tool".to_owned()));
}

#[test]
fn cache_env_names_variables_to_redirect() {
    only("cache_env", |allowed| allowed.cache_env.push("MYTOOL_CACHE_DIR".to_owned()));
}

#[test]
fn env_prefixes_pass_variables_but_no_credential() {
    only("env_prefixes", |allowed| allowed.variables.push("MYTOOL_MODE".to_owned()));
}

#[test]
fn env_names_pass_that_one_credential() {
    only("env_names", |allowed| allowed.variables.push("MYTOOL_TOKEN".to_owned()));
}

#[test]
fn what_is_for_macos_changes_nothing_else() {
    only("sandbox_exec_env", |_| {});
    only("unpack_dir_env", |_| {});
}

#[test]
fn everything_together_still_writes_nowhere_else() {
    let baseline = allowed("my-tool", "{}", false);
    let everything = allowed("my-tool", EVERYTHING, false);
    assert_eq!(everything.writable, baseline.writable);
    assert!(!everything.read_only.contains(&"home/me/.other".to_owned()));
}

#[test]
fn a_field_that_does_not_exist_is_an_error() {
    for wrong in [r#"{"writable": ["/"]}"#, r#"{"Network": true}"#, r#"{"network": "yes"}"#] {
        assert!(serde_json::from_str::<Requirements>(wrong).is_err(), "{wrong}");
    }
}
