//! The real npm, against an advisory server of our own on loopback: the only scanner here whose data comes over a network.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use crate::lab::{Lab, Scanned, finish, read};

const ADVISORY: &str = r#"{"lodash":[{"id":1106913,"url":"https://github.com/advisories/GHSA-35jh-r3h4-6jhm","title":"Command Injection in lodash","severity":"high","vulnerable_versions":"<4.17.21","cwe":["CWE-94"],"cvss":{"score":7.2,"vectorString":"CVSS:3.1/AV:N/AC:L/PR:H/UI:N/S:U/C:H/I:H/A:H"}}]}"#;

/// Answers every advisory request in the same way, and counts them.
struct Registry {
    address: String,
    asked: Arc<AtomicUsize>,
}

impl Registry {
    fn start(status: &'static str, body: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/", listener.local_addr().unwrap());
        let asked = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let counter = Arc::clone(&counter);
                std::thread::spawn(move || answer(stream, status, body, &counter));
            }
        });
        Self { address, asked }
    }
}

fn answer(mut stream: TcpStream, status: &str, body: &str, asked: &AtomicUsize) {
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut request = String::new();
    if reader.read_line(&mut request).is_err() {
        return;
    }
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) <= 2 {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let _ = reader.take(length).read_to_end(&mut Vec::new());
    let (status, body) = if request.starts_with("POST /-/npm/v1/security/advisories/bulk ") {
        asked.fetch_add(1, Ordering::SeqCst);
        (status, body)
    } else {
        ("404 Not Found", "{}")
    };
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
}

fn project() -> Lab {
    let lab = Lab::new();
    std::fs::write(
        lab.path("source/package.json"),
        r#"{"name":"p","version":"1.0.0","dependencies":{"lodash":"4.17.15"}}"#,
    )
    .unwrap();
    let lock = r#"{"name":"p","version":"1.0.0","lockfileVersion":3,"requires":true,"packages":{"":{"name":"p","version":"1.0.0","dependencies":{"lodash":"4.17.15"}},"node_modules/lodash":{"version":"4.17.15","license":"MIT"}}}"#;
    std::fs::write(lab.path("source/package-lock.json"), lock).unwrap();
    lab
}

fn audit(lab: &Lab, registry: &Registry, args: &[&str]) -> Scanned {
    let mut command = lab.ash(&["scan", "--scanners", "npm-audit", "--output-dir"]);
    command.arg(lab.path("out")).args(args).env("npm_config_registry", &registry.address);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    read(finish(child, Duration::from_secs(120)), lab.path("out"))
}

#[test]
fn a_known_vulnerability_is_found_whether_npm_is_confined_or_not() {
    for sandbox in ["off", "bwrap", "landlock"] {
        let (lab, registry) = (project(), Registry::start("200 OK", ADVISORY));
        let scanned = audit(&lab, &registry, &["--sandbox", sandbox]);
        assert_eq!(
            (scanned.code, scanned.status("npm-audit")),
            (Some(2), "FAILED"),
            "{sandbox}: {} {}",
            scanned.reason("npm-audit"),
            scanned.stderr
        );
        let found: Vec<_> =
            scanned.findings().into_iter().map(|(rule, path, _)| (rule, path)).collect();
        assert_eq!(
            found,
            [("GHSA-35jh-r3h4-6jhm".to_owned(), "node_modules/lodash/package.json".to_owned())],
            "{sandbox}"
        );
        assert!(registry.asked.load(Ordering::SeqCst) > 0, "{sandbox}: the server was not asked");
    }
}

#[test]
fn a_registry_that_does_not_answer_audits_is_an_error_that_names_the_lock_file() {
    let (lab, registry) = (project(), Registry::start("405 Method Not Allowed", "{}"));
    let scanned = audit(&lab, &registry, &["--sandbox", "landlock"]);
    assert_eq!(
        (scanned.code, scanned.status("npm-audit")),
        (Some(1), "ERROR"),
        "{}",
        scanned.stderr
    );
    assert!(
        scanned.reason("npm-audit").contains("package-lock.json"),
        "{}",
        scanned.reason("npm-audit")
    );
}

#[test]
fn a_repository_cannot_send_the_audit_elsewhere_or_switch_it_off() {
    let (lab, registry, elsewhere) =
        (project(), Registry::start("200 OK", ADVISORY), Registry::start("200 OK", "{}"));
    std::fs::write(
        lab.path("source/.npmrc"),
        format!("registry={}\noffline=true\naudit=false\n", elsewhere.address),
    )
    .unwrap();
    let scanned = audit(&lab, &registry, &["--sandbox", "landlock"]);
    assert_eq!(
        (scanned.code, scanned.status("npm-audit")),
        (Some(2), "FAILED"),
        "{} {}",
        scanned.reason("npm-audit"),
        scanned.stderr
    );
    assert_eq!(elsewhere.asked.load(Ordering::SeqCst), 0, "the repository's registry was asked");
}

#[test]
fn offline_npm_is_skipped_with_the_reason_and_asks_nobody() {
    let (lab, registry) = (project(), Registry::start("200 OK", ADVISORY));
    let scanned = audit(&lab, &registry, &["--offline"]);
    assert_eq!(
        (scanned.code, scanned.status("npm-audit")),
        (Some(1), "SKIPPED"),
        "{}",
        scanned.stderr
    );
    assert!(scanned.reason("npm-audit").contains("--offline"), "{}", scanned.reason("npm-audit"));
    assert_eq!(registry.asked.load(Ordering::SeqCst), 0);
}

#[test]
fn a_package_is_suppressed_by_name_version_and_place() {
    let (lab, registry) = (project(), Registry::start("200 OK", ADVISORY));
    let configured = |suppression: &str| {
        std::fs::create_dir_all(lab.path("source/.ash")).unwrap();
        let config = format!(
            "global_settings:\n  suppressions:\n    - {{path: '**', reason: r, {suppression}}}\n"
        );
        std::fs::write(lab.path("source/.ash/.ash.yaml"), config).unwrap();
        let scanned = audit(&lab, &registry, &[]);
        let suppressed = scanned.scanner("npm-audit")["suppressed_finding_count"].as_u64();
        (scanned.code, suppressed)
    };
    let (hidden, counts) = ((Some(0), Some(1)), (Some(2), Some(0)));
    assert_eq!(configured("package_name: Lodash, package_version: 4.17.*"), hidden);
    assert_eq!(configured("rule_id: GHSA-*, package_path: node_modules/lodash"), hidden);
    assert_eq!(configured("package_name: lodash, package_version: 4.18.*"), counts);
    assert_eq!(configured("package_name: lodash-es"), counts);
}
