//! Whole policies over a made-up machine in a temporary directory.

use std::{
    ffi::OsString,
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
};

use ash_model::requirements::{Requirements, texts};
use proptest::prelude::*;

use super::{Grants, Ground, Policy, PolicyError};
use crate::site::{Named, Site};

pub(super) struct Lab {
    _dir: tempfile::TempDir,
    root: PathBuf,
}

impl Lab {
    pub(super) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        let lab = Self { _dir: dir, root };
        for sub in [
            "usr/bin",
            "etc",
            "opt",
            "home/me/.ssh",
            "home/me/src/repo/bin",
            "home/me/src/repo/.ash/ash_output/scanners/x",
            "tools/bin",
        ] {
            fs::create_dir_all(lab.at(sub)).unwrap();
        }
        lab.program("usr/bin/tool");
        lab
    }

    pub(super) fn at(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    pub(super) fn make(&self, path: &str) -> PathBuf {
        fs::create_dir_all(self.at(path)).unwrap();
        self.at(path)
    }

    fn program(&self, path: &str) -> PathBuf {
        let file = self.at(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        file
    }

    pub(super) fn site(&self, variables: &[(&str, &str)], path: &[&str]) -> Site {
        let entries = path.iter().map(|entry| {
            entry.strip_prefix('@').map_or_else(|| PathBuf::from(entry), |inside| self.at(inside))
        });
        let mut all: Vec<(OsString, OsString)> = vec![
            ("HOME".into(), self.at("home/me").into()),
            ("PATH".into(), std::env::join_paths(entries).unwrap()),
        ];
        all.extend(variables.iter().map(|(name, value)| {
            (OsString::from(name), OsString::from(value.replace('@', self.root.to_str().unwrap())))
        }));
        let mut site = Site::gather(all, &self.at("usr/bin/ash"), &[]);
        site.system = ["usr", "etc", "opt"].map(|dir| self.at(dir)).to_vec();
        site.secrets = vec![];
        site
    }

    pub(super) fn ground(&self) -> Ground {
        Ground {
            source: self.at("home/me/src/repo"),
            output: Some(self.at("home/me/src/repo/.ash/ash_output")),
            targets: vec![],
            results: self.at("home/me/src/repo/.ash/ash_output/scanners/x"),
            cwd: self.at("home/me/src/repo"),
        }
    }

    fn resolve(
        &self,
        site: &Site,
        ground: &Ground,
        requirements: &Requirements,
        grants: &Grants,
    ) -> Result<Policy, PolicyError> {
        Policy::resolve("x", requirements, site, ground, grants, &self.at("usr/bin/tool"), &[])
    }

    fn plain(&self, path: &[&str]) -> Policy {
        self.resolve(&self.site(&[], path), &self.ground(), &Requirements::NONE, &Grants::default())
            .unwrap()
    }

    /// Paths relative to the lab; those of the real machine (`/etc/hosts` and the like) left out.
    pub(super) fn inside(&self, paths: &[PathBuf]) -> Vec<String> {
        paths
            .iter()
            .filter_map(|path| path.strip_prefix(&self.root).ok())
            .map(|path| path.display().to_string())
            .collect()
    }
}

fn variable<'a>(policy: &'a Policy, name: &str) -> Option<&'a OsString> {
    policy.environment.iter().find(|(key, _)| key == name).map(|(_, value)| value)
}

#[test]
fn a_scanner_that_declares_nothing_gets_the_baseline() {
    let lab = Lab::new();
    let policy = lab.plain(&["@usr/bin"]);
    assert_eq!(lab.inside(&policy.read_only), ["etc", "home/me/src/repo", "opt", "usr"]);
    assert_eq!(lab.inside(&policy.writable), ["home/me/src/repo/.ash/ash_output/scanners/x"]);
    assert_eq!(
        lab.inside(&policy.scan_data),
        ["home/me/src/repo", "home/me/src/repo/.ash/ash_output"]
    );
    assert_eq!(lab.inside(&policy.executable), ["etc", "opt", "usr"]);
    assert_eq!((policy.network, policy.caches.len(), policy.home), (false, 0, lab.at("home/me")));
    assert_eq!(variable(&lab.plain(&[]), "UV_OFFLINE"), Some(&"1".into()));
}

#[test]
fn relative_and_in_tree_entries_leave_path_and_grant_nothing() {
    let lab = Lab::new();
    symlink(lab.at("tools/bin"), lab.at("home/me/src/repo/out")).unwrap();
    symlink(lab.at("home/me/src/repo/bin"), lab.at("opt/in")).unwrap();
    let policy = lab.plain(&[
        "bin",
        ".",
        "",
        "@home/me/src/repo/bin",
        "@home/me/src/repo/out",
        "@opt/in",
        "@tools/bin",
        "@usr/bin",
    ]);
    let expected = std::env::join_paths([lab.at("tools/bin"), lab.at("usr/bin")]).unwrap();
    assert_eq!(variable(&policy, "PATH"), Some(&expected));
    assert_eq!(
        lab.inside(&policy.read_only),
        ["etc", "home/me/src/repo", "opt", "tools/bin", "usr"]
    );
}

#[test]
fn inside_the_home_only_program_directories_of_path_are_readable() {
    let lab = Lab::new();
    lab.make("home/me/tools/bin");
    lab.make("home/me/go/Scripts");
    let policy =
        lab.plain(&["@home/me/tools", "@home/me/tools/bin", "@home/me", "@home/me/go/Scripts"]);
    assert_eq!(
        lab.inside(&policy.read_only),
        ["etc", "home/me/go/Scripts", "home/me/src/repo", "home/me/tools/bin", "opt", "usr"]
    );
}

#[test]
fn a_network_needs_the_grant_and_offline_beats_it() {
    let lab = Lab::new();
    let site = lab.site(&[("HTTPS_PROXY", "http://p")], &[]);
    let network = |grants: &Grants| {
        let policy = lab.resolve(&site, &lab.ground(), &Requirements::NONE, grants).unwrap();
        (
            policy.network,
            variable(&policy, "HTTPS_PROXY").is_some(),
            variable(&policy, "UV_OFFLINE").is_some(),
        )
    };
    assert_eq!(network(&Grants::default()), (false, false, true));
    assert_eq!(network(&Grants { network: true, ..Grants::default() }), (true, true, false));
    assert_eq!(
        network(&Grants { network: true, offline: true, ..Grants::default() }),
        (false, false, true)
    );
}

#[test]
fn declared_paths_and_caches_are_expanded_and_missing_ones_skipped() {
    let lab = Lab::new();
    lab.make("home/me/.local/share/gem");
    lab.make("home/me/.cache/grype");
    lab.make("data/trivy");
    let needs = Requirements {
        read_paths: texts(&["~/.local/share/gem", "~/.gem", "$GEM_HOME"]),
        cache_paths: texts(&["~/.cache/grype", "$TRIVY_CACHE_DIR", "~/.none"]),
        ..Requirements::NONE
    };
    let policy = lab
        .resolve(
            &lab.site(&[("TRIVY_CACHE_DIR", "@/data/trivy")], &[]),
            &lab.ground(),
            &needs,
            &Grants::default(),
        )
        .unwrap();
    assert_eq!(lab.inside(&policy.caches), ["data/trivy", "home/me/.cache/grype"]);
    assert!(lab.inside(&policy.read_only).contains(&"home/me/.local/share/gem".to_owned()));
}

#[test]
fn uv_tools_bring_the_pythons_they_are_made_from() {
    let lab = Lab::new();
    let python = lab.program("pythons/cpython-3.12/bin/python3.12");
    lab.make("pythons/cpython-3.12/lib/python3.12");
    let broad = lab.program("home/me/python/bin/python3");
    lab.make("home/me/python/lib/python3");
    for (tool, base) in [("a", &python), ("b", &python), ("c", &broad)] {
        let bin = lab.make(&format!("uv/tools/{tool}/bin"));
        symlink(base, bin.join("python")).unwrap();
    }
    let site = lab.site(&[("UV_TOOL_DIR", "@/uv/tools")], &[]);
    let policy =
        lab.resolve(&site, &lab.ground(), &Requirements::NONE, &Grants::default()).unwrap();
    let expected = ["etc", "home/me/src/repo", "opt", "pythons/cpython-3.12", "usr", "uv/tools"];
    assert_eq!(lab.inside(&policy.read_only), expected);
}

#[test]
fn nobody_can_have_the_home_or_what_contains_it() {
    let lab = Lab::new();
    symlink(lab.at("home/me"), lab.at("opt/link-home")).unwrap();
    let needs = Requirements {
        read_paths: texts(&["~", "$UP"]),
        cache_paths: texts(&["~"]),
        ..Requirements::NONE
    };
    let grants = Grants {
        extra_read_paths: vec!["/".into(), lab.at("home"), lab.at("opt/link-home"), "/proc".into()],
        ..Grants::default()
    };
    let policy = lab
        .resolve(&lab.site(&[("UP", "@/home/me/..")], &[]), &lab.ground(), &needs, &grants)
        .unwrap();
    assert_eq!(lab.inside(&policy.read_only), ["etc", "home/me/src/repo", "opt", "usr"]);
    assert!(policy.caches.is_empty());
    assert!(policy.notices.len() >= 4, "{:?}", policy.notices);
    let control = Grants { extra_read_paths: vec![lab.make("home/me/data")], ..Grants::default() };
    let policy =
        lab.resolve(&lab.site(&[], &[]), &lab.ground(), &Requirements::NONE, &control).unwrap();
    assert!(lab.inside(&policy.read_only).contains(&"home/me/data".to_owned()));
}

#[test]
fn nothing_readable_lies_beneath_the_results() {
    let lab = Lab::new();
    let cwd = lab.make("home/me/src/repo/.ash/ash_output/scanners/x/work");
    let policy = lab
        .resolve(
            &lab.site(&[], &[]),
            &Ground { cwd, ..lab.ground() },
            &Requirements::NONE,
            &Grants::default(),
        )
        .unwrap();
    assert_eq!(lab.inside(&policy.read_only), ["etc", "home/me/src/repo", "opt", "usr"]);
}

#[test]
fn the_root_directory_as_working_directory_grants_nothing_and_as_source_is_refused() {
    let lab = Lab::new();
    let policy = lab
        .resolve(
            &lab.site(&[], &[]),
            &Ground { cwd: "/".into(), ..lab.ground() },
            &Requirements::NONE,
            &Grants::default(),
        )
        .unwrap();
    assert_eq!(policy.cwd, Path::new("/"));
    assert!(!policy.read_only.contains(&PathBuf::from("/")));
    let whole = lab.resolve(
        &lab.site(&[], &[]),
        &Ground { source: "/".into(), ..lab.ground() },
        &Requirements::NONE,
        &Grants::default(),
    );
    assert!(matches!(whole, Err(PolicyError::WholeSystem { .. })));
}

#[test]
fn to_start_in_the_home_or_above_it_does_not_show_it() {
    let lab = Lab::new();
    symlink(lab.at("home/me"), lab.at("opt/link-home")).unwrap();
    let started = |cwd: &str, source: &str| {
        let ground = Ground { cwd: lab.at(cwd), source: lab.at(source), ..lab.ground() };
        let policy =
            lab.resolve(&lab.site(&[], &[]), &ground, &Requirements::NONE, &Grants::default());
        lab.inside(&policy.unwrap().read_only)
    };
    for cwd in ["home/me", "home", "opt/link-home", "home/me/src/.."] {
        assert_eq!(
            started(cwd, "home/me/src/repo"),
            ["etc", "home/me/src/repo", "opt", "usr"],
            "{cwd}"
        );
    }
    let beside = ["etc", "home/me/src", "opt", "usr"];
    assert_eq!(started("home/me/src", "home/me/src/repo"), beside, "the control");
    assert_eq!(started("home/me", "home/me"), ["etc", "home/me", "opt", "usr"], "a scanned home");
}

#[test]
fn a_linked_results_directory_means_no_policy() {
    let lab = Lab::new();
    lab.make("host");
    symlink(lab.at("host"), lab.at("home/me/src/repo/.ash/ash_output/scanners/y")).unwrap();
    let ground =
        Ground { results: lab.at("home/me/src/repo/.ash/ash_output/scanners/y"), ..lab.ground() };
    let refused = lab
        .resolve(&lab.site(&[], &[]), &ground, &Requirements::NONE, &Grants::default())
        .unwrap_err();
    assert!(
        refused.to_string().contains("scanners/y") && refused.to_string().contains("is a symlink"),
        "{refused}"
    );
}

#[test]
fn a_scanned_home_is_shown_and_a_private_one_stands_elsewhere() {
    let lab = Lab::new();
    let ground = Ground {
        source: lab.at("home/me"),
        output: None,
        results: lab.make("out"),
        cwd: lab.at("home/me"),
        ..lab.ground()
    };
    let policy = lab
        .resolve(&lab.site(&[], &["@usr/bin"]), &ground, &Requirements::NONE, &Grants::default())
        .unwrap();
    assert!(lab.inside(&policy.read_only).contains(&"home/me".to_owned()));
    assert_eq!(
        (policy.home.as_path(), variable(&policy, "HOME")),
        (Path::new("/ash-home"), Some(&"/ash-home".into()))
    );
}

#[test]
fn a_linked_home_keeps_its_spelling_inside() {
    let lab = Lab::new();
    symlink(lab.at("home"), lab.at("people")).unwrap();
    let mut site = lab.site(&[], &[]);
    site.home = Some(Named::new(&lab.at("people/me")));
    let ground = Ground { source: lab.at("people/me/src/repo"), ..lab.ground() };
    let policy = lab.resolve(&site, &ground, &Requirements::NONE, &Grants::default()).unwrap();
    assert_eq!(
        (policy.home.clone(), policy.home_spelled.clone()),
        (lab.at("home/me"), lab.at("people/me"))
    );
    assert!(policy.links.contains(&(lab.at("people"), lab.at("home"))));
    assert!(lab.inside(&policy.read_only).contains(&"home/me/src/repo".to_owned()));
}

#[test]
fn a_home_inside_a_system_directory_is_cut_out_of_it() {
    let lab = Lab::new();
    lab.make("opt/app/.ssh");
    lab.make("opt/tool");
    let mut site = lab.site(&[], &[]);
    site.home = Some(Named::new(&lab.at("opt/app")));
    site.homes.push(lab.at("opt/app"));
    let policy =
        lab.resolve(&site, &lab.ground(), &Requirements::NONE, &Grants::default()).unwrap();
    let opt = policy.unfolded.iter().find(|split| split.dir == lab.at("opt")).unwrap();
    assert_eq!((lab.inside(&opt.parts), opt.list), (vec!["opt/tool".to_owned()], false));
}

#[test]
fn host_secrets_are_hidden_unless_named() {
    let lab = Lab::new();
    fs::write(lab.at("etc/shadow"), "").unwrap();
    fs::write(lab.at("etc/passwd"), "").unwrap();
    let mut site = lab.site(&[], &[]);
    site.secrets = vec![lab.at("etc/shadow")];
    let resolve =
        |grants: &Grants| lab.resolve(&site, &lab.ground(), &Requirements::NONE, grants).unwrap();
    let policy = resolve(&Grants::default());
    assert_eq!(lab.inside(&policy.hidden), ["etc/shadow"]);
    let parts: Vec<String> =
        policy.unfolded.iter().flat_map(|split| lab.inside(&split.parts)).collect();
    assert_eq!(parts, ["etc/passwd"]);
    assert!(
        resolve(&Grants { extra_read_paths: vec![lab.at("etc/shadow")], ..Grants::default() })
            .hidden
            .is_empty()
    );
}

#[test]
fn certificates_named_by_passed_variables_are_readable() {
    let lab = Lab::new();
    fs::write(lab.at("home/me/ca.pem"), "").unwrap();
    let policy = lab
        .resolve(
            &lab.site(&[("SSL_CERT_FILE", "@/home/me/ca.pem")], &[]),
            &lab.ground(),
            &Requirements::NONE,
            &Grants::default(),
        )
        .unwrap();
    assert!(lab.inside(&policy.read_only).contains(&"home/me/ca.pem".to_owned()));
}

#[test]
fn a_call_can_set_variables_after_the_allowlist() {
    let lab = Lab::new();
    let extra = [("GRYPE_DB_AUTO_UPDATE".to_owned(), OsString::from("false"))];
    let policy = Policy::resolve(
        "x",
        &Requirements::NONE,
        &lab.site(&[], &[]),
        &lab.ground(),
        &Grants::default(),
        &lab.at("usr/bin/tool"),
        &extra,
    )
    .unwrap();
    assert_eq!(variable(&policy, "GRYPE_DB_AUTO_UPDATE"), Some(&"false".into()));
}

#[test]
fn names_need_not_be_text() {
    use std::os::unix::ffi::OsStrExt;
    let lab = Lab::new();
    let odd = lab.root.join(std::ffi::OsStr::from_bytes(b"home/me/src/r \xff\n\"x"));
    fs::create_dir_all(odd.join("out/x")).unwrap();
    let ground = Ground {
        source: odd.clone(),
        output: Some(odd.join("out")),
        results: odd.join("out/x"),
        cwd: odd.clone(),
        targets: vec![],
    };
    let policy =
        lab.resolve(&lab.site(&[], &[]), &ground, &Requirements::NONE, &Grants::default()).unwrap();
    assert!(policy.read_only.contains(&odd));
    assert_eq!(policy.writable, [odd.join("out/x")]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]
    #[test]
    fn no_declaration_or_grant_adds_a_writable_path_or_shows_the_home(
        reads in prop::collection::vec("(~|/|\\$HOME|\\$R)(/\\.ssh|/\\.\\.|/src|/x){0,3}", 0..5),
        caches in prop::collection::vec("(~|/|\\$HOME|\\$R)(/\\.ssh|/\\.\\.|/src|/x){0,3}", 0..5),
        network: bool,
    ) {
        let lab = Lab::new();
        let owned = |list: Vec<String>| list.into_iter().map(std::borrow::Cow::Owned).collect();
        let needs = Requirements { read_paths: owned(reads), cache_paths: owned(caches), ..Requirements::NONE };
        let policy = lab.resolve(&lab.site(&[("R", "@/home/me")], &[]), &lab.ground(), &needs, &Grants { network, ..Grants::default() }).unwrap();
        prop_assert_eq!(&policy.writable, &[lab.at("home/me/src/repo/.ash/ash_output/scanners/x")]);
        let home = lab.at("home/me");
        prop_assert!(policy.read_only.iter().chain(&policy.caches).all(|path| !home.starts_with(path)));
        let results = &policy.writable[0];
        prop_assert!(policy.read_only.iter().chain(&policy.caches).all(|path| !path.starts_with(results)));
    }
}
