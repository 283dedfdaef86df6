//! What each backend makes of one fixed, made-up policy: the same on every machine.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use ash_model::{evidence::Tier, notice::Notice};

use super::{Abilities, BackendId, Command, Wrap, WrapError, wrap};
use crate::{
    launch::{Prepared, Setup},
    policy::{Limits, Policy, unfold::Unfolded},
    testing::describe as shown,
};

pub(crate) fn abilities() -> Abilities {
    Abilities {
        program: "/usr/bin/backend".into(),
        version: None,
        overlay: false,
        disable_userns: true,
        tmpfs_size: true,
        tier: Tier::NamespacesLandlock,
        warnings: vec![],
    }
}

fn paths(list: &[&str]) -> Vec<PathBuf> {
    list.iter().map(PathBuf::from).collect()
}

/// A user with a linked home scans a repository in it, with the default output inside.
pub(crate) fn policy() -> Policy {
    Policy {
        scanner: "grype".into(),
        read_only: paths(&["/etc", "/home2/me/.local/bin", "/home2/me/src/repo", "/opt", "/usr"]),
        links: vec![
            ("/bin".into(), "usr/bin".into()),
            ("/home/me".into(), "../home2/me".into()),
            ("/home2/me/grype".into(), ".local/bin/grype".into()),
            ("/usr/bin/which".into(), "which.debianutils".into()),
        ],
        writable: paths(&["/home2/me/src/repo/.ash/ash_output/scanners/grype"]),
        caches: paths(&["/home2/me/.cache/grype"]),
        cache_env: vec!["UV_CACHE_DIR".into(), "npm_config_cache".into()],
        scan_data: paths(&["/home2/me/src/repo"]),
        executable: paths(&["/home2/me/.local/bin", "/opt", "/usr"]),
        hidden: paths(&["/etc/shadow", "/etc/ssl/private"]),
        hidden_dirs: paths(&["/etc/ssl/private"]),
        unfolded: vec![Unfolded {
            dir: "/etc".into(),
            parts: paths(&["/etc/passwd", "/etc/ssl/certs"]),
            list: true,
        }],
        network: false,
        offline: true,
        environment: [
            ("HOME", "/home/me"),
            ("NPM_CONFIG_CACHE", "/host"),
            ("PATH", "/usr/bin"),
            ("UV_OFFLINE", "1"),
        ]
        .map(|(name, value)| (OsString::from(name), OsString::from(value)))
        .to_vec(),
        home: "/home2/me".into(),
        home_spelled: "/home/me".into(),
        cwd: "/home2/me/src/repo".into(),
        resolver: None,
        temporaries: paths(&["/tmp", "/var/tmp", "/dev/shm"]),
        as_root: true,
        limits: Limits::default(),
        notices: vec![Notice::new("uv", "an example")],
        uv_locks: paths(&["/home2/me/.local/share/uv/tools/.lock"]),
        sandbox_exec_env: vec![("GRYPE_DB_AUTO_UPDATE".into(), "false".into())],
        unpack_dir_env: Some("XDG_CACHE_HOME".into()),
        system_trust_roots: true,
    }
}

fn prepared(id: BackendId, abilities: &Abilities, policy: &Policy) -> Prepared {
    attempt(id, abilities, policy).unwrap()
}

fn attempt(id: BackendId, abilities: &Abilities, policy: &Policy) -> Result<Prepared, WrapError> {
    attempt_with(id, abilities, policy, Path::new("/home2/me/.ash/bin/ash"))
}

fn prepared_with(policy: &Policy, exe: &Path) -> Prepared {
    attempt_with(BackendId::Firejail, &abilities(), policy, exe).unwrap()
}

fn attempt_with(
    id: BackendId,
    abilities: &Abilities,
    policy: &Policy,
    exe: &Path,
) -> Result<Prepared, WrapError> {
    let command =
        Command { program: "/home/me/grype".into(), args: vec!["--file".into(), "-".into()] };
    let controls = paths(&["/proc/sys", "/proc/bus"]);
    let sockets = paths(&["/run/docker.sock"]);
    wrap(
        id,
        &Wrap {
            mode: "auto",
            abilities,
            policy,
            command: &command,
            exe,
            proc_controls: &controls,
            scratch: Path::new("/tmp/ash-sandbox-1"),
            sockets: &sockets,
            account_home: Some(Path::new("/home2/me")),
            trust_roots: Some(Path::new("/private/var/roots/roots.pem")),
        },
    )
}

#[test]
fn bwrap_without_an_overlay() {
    insta::assert_snapshot!(shown(&prepared(BackendId::Bwrap, &abilities(), &policy())));
}

#[test]
fn bwrap_with_an_overlay_and_a_network_as_a_user() {
    let policy = Policy {
        network: true,
        as_root: false,
        hidden: vec![],
        hidden_dirs: vec![],
        unfolded: vec![],
        ..policy()
    };
    insta::assert_snapshot!(shown(&prepared(
        BackendId::Bwrap,
        &Abilities { overlay: true, ..abilities() },
        &policy
    )));
}

#[test]
fn firejail() {
    insta::assert_snapshot!(shown(&prepared(BackendId::Firejail, &abilities(), &policy())));
}

/// A user whose home holds nothing that is granted scans a directory of `/tmp`.
#[test]
fn firejail_in_tmp() {
    let policy = Policy {
        read_only: paths(&["/tmp/x/src", "/usr"]),
        links: vec![
            ("/tmp/x/covered".into(), "src/a".into()),
            ("/tmp/x/home".into(), "/home2/me/there".into()),
            ("/tmp/x/out".into(), "real".into()),
            ("/tmp/y/made".into(), "../x/src".into()),
            ("/home2/me/made".into(), "/tmp/x/real".into()),
        ],
        writable: paths(&["/tmp/x/real/grype"]),
        caches: vec![],
        scan_data: paths(&["/tmp/x/src"]),
        cwd: "/tmp/x/src".into(),
        environment: vec![("OUT".into(), "a:/tmp/x/out/grype".into())],
        network: true,
        as_root: false,
        ..policy()
    };
    insta::assert_snapshot!(shown(&prepared_with(&policy, Path::new("/usr/bin/ash"))));
    let links = |policy: &Policy| {
        let prepared = prepared_with(policy, Path::new("/usr/bin/ash"));
        let stage = prepared.supervisor.stage.unwrap();
        let links = stage.links.iter().map(|(place, real)| {
            format!("{} -> {}", place.to_string_lossy(), real.to_string_lossy())
        });
        links.collect::<Vec<_>>()
    };
    let made = [
        "/home2/me/made -> /tmp/x/real",
        "/tmp/x/covered -> /tmp/x/src/a",
        "/tmp/x/home -> /home2/me/there",
        "/tmp/y/made -> /tmp/x/src",
    ];
    assert_eq!(links(&policy), made);
    // Directories that firejail makes are its own.
    let policy = Policy { as_root: true, ..policy };
    assert_eq!(links(&policy).len(), 5);
    let argv = prepared_with(&policy, Path::new("/usr/bin/ash")).supervisor.argv;
    assert!(!argv.contains(&"--whitelist=/tmp/x/covered".into()), "{argv:?}");
}

#[test]
fn firejail_hides_nothing_of_a_scanned_directory() {
    let scanned = paths(&["/tmp", "/home2"]);
    let policy = Policy { scan_data: scanned.clone(), read_only: scanned, ..policy() };
    let argv = prepared(BackendId::Firejail, &abilities(), &policy).supervisor.argv;
    let hides = |word: &OsString| {
        word.to_string_lossy().starts_with("--whitelist")
            || word.to_string_lossy().starts_with("--private=")
            || word == "--private"
            || word == "--private-tmp"
    };
    assert!(!argv.iter().any(hides), "{argv:?}");
}

#[test]
fn landlock_alone() {
    insta::assert_snapshot!(shown(&prepared(
        BackendId::Landlock,
        &Abilities { tier: Tier::Landlock, ..abilities() },
        &policy()
    )));
}

#[test]
fn sandbox_exec() {
    let prepared = prepared(
        BackendId::SandboxExec,
        &Abilities { tier: Tier::Seatbelt, ..abilities() },
        &policy(),
    );
    insta::assert_snapshot!(shown(&prepared));
}

#[test]
fn the_evidence_lists_what_the_backend_was_told() {
    insta::assert_json_snapshot!(prepared(BackendId::Bwrap, &abilities(), &policy()).evidence);
}

#[test]
fn nothing_but_results_private_places_and_overlays_is_ever_writable() {
    for overlay in [false, true] {
        for id in [BackendId::Bwrap, BackendId::Firejail, BackendId::Landlock] {
            let prepared = prepared(id, &Abilities { overlay, ..abilities() }, &policy());
            let rules = prepared.supervisor.stage.unwrap().landlock.unwrap();
            assert_eq!(rules.force_abi, None, "only tests of the stage lower the ABI");
            let mut private =
                paths(&["/home2/me", "/tmp", "/var/tmp", "/dev/shm", "/tmp/ash-sandbox-1"]);
            private.extend(policy().writable);
            if overlay && id == BackendId::Bwrap {
                private.extend(policy().caches);
            }
            assert!(
                rules.write.iter().all(|path| private.iter().any(|dir| dir.as_os_str() == path)),
                "{id}: {:?}",
                rules.write
            );
        }
    }
}

#[test]
fn a_path_a_backend_would_misread_is_refused() {
    let policy = Policy { read_only: paths(&["/home/a,b\n"]), ..policy() };
    let command = Command { program: "/bin/true".into(), args: vec![] };
    let abilities = abilities();
    for id in [BackendId::Firejail, BackendId::SandboxExec] {
        let input = Wrap {
            mode: "auto",
            abilities: &abilities,
            policy: &policy,
            command: &command,
            exe: Path::new("/bin/ash"),
            proc_controls: &[],
            scratch: Path::new("/tmp/s"),
            sockets: &[],
            account_home: None,
            trust_roots: None,
        };
        assert!(wrap(id, &input).unwrap_err().to_string().contains("a,b"), "{id}");
    }
}

#[test]
fn a_declared_cache_variable_leads_to_a_private_directory_except_where_the_cache_is_overlaid() {
    let ids = [BackendId::Bwrap, BackendId::Firejail, BackendId::Landlock, BackendId::SandboxExec];
    for (id, overlay) in ids.map(|id| (id, false)).into_iter().chain([(BackendId::Bwrap, true)]) {
        let policy = Policy {
            cache_env: vec!["MYTOOL_CACHE_DIR".into()],
            environment: vec![
                ("MYTOOL_CACHE_DIR".into(), "/host/cache".into()),
                ("MyTool_Cache_Dir".into(), "/host/cache".into()),
            ],
            ..policy()
        };
        let prepared = prepared(id, &Abilities { overlay, ..abilities() }, &policy);
        let stage = prepared.supervisor.stage.unwrap();
        let found: Vec<_> = stage
            .env
            .iter()
            .filter(|(name, _)| name.eq_ignore_ascii_case("mytool_cache_dir"))
            .map(|(_, value)| Path::new(value))
            .collect();
        if overlay {
            assert_eq!(found, [Path::new("/host/cache"); 2], "{id}");
            continue;
        }
        let [private] = found[..] else { panic!("{id}: {found:?}") };
        assert!(policy.writable.iter().any(|results| private.starts_with(results)), "{id}");
        assert!(prepared.setup.contains(&Setup::Dir(private.to_owned())), "{id}: made empty");
        let removed = &prepared.supervisor.cleanup;
        assert!(removed.iter().any(|dir| private.starts_with(dir)), "{id}: removed afterwards");
    }
}

#[test]
fn a_policy_with_more_paths_than_a_backend_takes_is_refused_with_what_to_do() {
    let policy =
        Policy { read_only: (0..20_000).map(|n| format!("/srv/{n}").into()).collect(), ..policy() };
    let error = attempt(BackendId::Bwrap, &abilities(), &policy).unwrap_err().to_string();
    for part in ["bwrap takes at most 9000", "grant directories", "--sandbox landlock"] {
        assert!(error.contains(part), "{error}");
    }
    for id in [BackendId::Firejail, BackendId::Landlock] {
        let prepared = attempt(id, &abilities(), &policy).unwrap();
        assert!(prepared.supervisor.argv.len() < 128, "{id}");
    }
}

#[test]
fn firejail_gets_many_paths_as_a_profile_in_their_order() {
    let many = (0..100).map(|n| format!("/home2/me/d{n}").into()).collect();
    let policy = Policy { read_only: many, ..policy() };
    let prepared = attempt(BackendId::Firejail, &abilities(), &policy).unwrap();
    let Some(Setup::File { at, lines }) =
        prepared.setup.iter().find(|step| matches!(step, Setup::File { .. }))
    else {
        panic!("{:?}", prepared.setup)
    };
    let named = OsString::from(format!("--profile={}", at.display()));
    let argv = &prepared.supervisor.argv;
    assert!(argv.contains(&named) && !argv.contains(&"--noprofile".into()), "{argv:?}");
    let removed = &prepared.supervisor.cleanup;
    assert!(removed.iter().any(|dir| at.starts_with(dir)), "{removed:?}");
    let place = |line: &str| lines.iter().position(|known| known == line.as_bytes());
    let order = ["read-only /", "whitelist /home2/me/d7", "read-only /home2/me/d7"].map(place);
    assert!(order[0].is_some() && order.is_sorted(), "{order:?}");
    let last = String::from_utf8_lossy(lines.last().unwrap()).into_owned();
    assert!(last.starts_with("read-write "), "{last}");
    let odd = Policy {
        read_only: policy.read_only.iter().cloned().chain(paths(&["/srv/a#b"])).collect(),
        ..policy
    };
    assert!(attempt(BackendId::Firejail, &abilities(), &odd).is_err(), "a comment to firejail");
}
