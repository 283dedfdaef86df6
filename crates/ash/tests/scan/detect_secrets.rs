//! The real detect-secrets: whether it asks issuers about candidates, and what it loads. The issuer is a listener on this machine.
//!
//! Needs the scanners, in the directory that `ASH_TOOLS_DIR` names; CI has them.

use std::{
    collections::BTreeSet,
    fs,
    io::{Read, Write},
    net::TcpListener,
    path::PathBuf,
    process::{Command, Stdio},
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::{Value, json};

use crate::lab::{Lab, Scanned, finish, read, tools};

const VERIFY: &str = "detect_secrets.filters.common.is_ignored_due_to_verification_policies";
const GRANT: [&str; 2] = ["--config-overrides", "sandbox.network_scanners=[detect-secrets]"];
const BACKENDS: [&str; 2] = ["bwrap", "landlock"];

/// Hears whoever connects, and answers that a token is valid unless it has `dead` in it.
struct Issuer {
    port: u16,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Issuer {
    fn open() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let words = Arc::clone(&heard);
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let _ = stream.set_read_timeout(Some(Duration::from_secs(10)));
                let mut buffer = [0; 256];
                let length = stream.read(&mut buffer).unwrap_or(0);
                let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
                let answer = if text.contains("dead") { b"0" } else { b"1" };
                words.lock().unwrap().push(text);
                let _ = stream.write_all(answer);
            }
        });
        Self { port, heard }
    }

    /// What was said to it since the last time this was asked.
    fn heard(&self) -> Vec<String> {
        std::mem::take(&mut self.heard.lock().unwrap())
    }
}

struct Scene {
    lab: Lab,
    tools: PathBuf,
    issuer: Issuer,
}

impl Scene {
    fn new() -> Option<Self> {
        let tools = tools()?;
        let lab = Lab::new();
        fs::remove_file(lab.path("source/app.py")).unwrap();
        fs::create_dir(lab.path("source/.git")).unwrap();
        Some(Self { lab, tools, issuer: Issuer::open() })
    }

    /// A plugin that finds `tok_…`, asks the issuer, and leaves a marker in the home directory when it is loaded.
    fn plugin(&self, place: &str) -> PathBuf {
        let (path, port, marker) = (self.lab.path(place), self.issuer.port, self.marker());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text = format!(
            r#"
import re, socket
from detect_secrets.constants import VerifiedResult
from detect_secrets.plugins.base import RegexBasedDetector

try:
    open({marker:?}, "w").close()
except OSError:
    pass

class IssuerDetector(RegexBasedDetector):
    secret_type = "Issued Token"
    denylist = [re.compile("tok_[a-z]+_[0-9]+")]

    def verify(self, secret):
        with socket.create_connection(("127.0.0.1", {port}), 10) as issuer:
            issuer.sendall(secret.encode())
            return VerifiedResult.VERIFIED_TRUE if issuer.recv(1) == b"1" else VerifiedResult.VERIFIED_FALSE
"#
        );
        fs::write(&path, text).unwrap();
        path
    }

    fn marker(&self) -> PathBuf {
        self.lab.path("home/marker")
    }

    /// The operator's configuration with the plugin, verifying or not.
    fn operators(&self, verify: bool) -> String {
        let plugin = self.plugin("plugins/issuer.py");
        let filters = if verify { vec![json!({"path": VERIFY, "min_level": 2})] } else { vec![] };
        let settings = json!({
            "plugins_used": [{"name": "IssuerDetector", "path": format!("file://{}", plugin.display())}],
            "filters_used": filters
        });
        let config = json!({
            "scanners": {"detect-secrets": {"options": {"scan_settings": settings}}},
            "sandbox": {"extra_read_paths": [self.lab.path("plugins")]}
        });
        let path = self.lab.path("operators.yaml");
        fs::write(&path, config.to_string()).unwrap();
        path.display().to_string()
    }

    fn scan(&self, args: &[&str], variables: &[(&str, String)]) -> Scanned {
        let output = self.lab.path("out");
        let mut command = self.lab.ash(&["scan", "--scanners", "detect-secrets", "--output-dir"]);
        command
            .arg(&output)
            .args(args)
            .env("ASH_TOOLS_DIR", &self.tools)
            .envs(variables.iter().map(|(name, value)| (name, value)));
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let scanned = read(finish(child, Duration::from_secs(120)), output);
        assert_eq!(
            scanned.status("detect-secrets"),
            "FAILED",
            "{args:?}: {} {}",
            scanned.reason("detect-secrets"),
            scanned.stderr
        );
        scanned
    }
}

fn lines(scanned: &Scanned) -> Vec<u64> {
    scanned.findings().into_iter().map(|(.., line)| line).collect()
}

fn network(scanned: &Scanned) -> Option<bool> {
    scanned.scanner("detect-secrets")["sandbox"]["network"].as_bool()
}

#[test]
fn candidates_are_verified_only_where_the_operator_grants_the_network() {
    let Some(scene) = Scene::new() else { return };
    fs::write(scene.lab.path("source/tokens.txt"), "a = tok_live_1\n\nb = tok_dead_2\n").unwrap();
    let config = scene.operators(true);
    let with =
        |more: &[&str]| scene.scan(&[&["--config", config.as_str()][..], more].concat(), &[]);

    let control = with(&[]);
    assert!(!scene.issuer.heard().is_empty(), "without a sandbox it asks: {}", control.stderr);
    assert_eq!(lines(&control), [1], "the issuer says that the other is void");
    assert!(control.stderr.contains("candidates were sent to their issuers"), "{}", control.stderr);
    for backend in BACKENDS {
        let confined = with(&["--sandbox", backend]);
        assert_eq!((network(&confined), scene.issuer.heard()), (Some(false), vec![]), "{backend}");
        assert_eq!(lines(&confined), [1, 3], "{backend}: unverified candidates are reported");
        assert!(
            confined.stderr.contains(
                "note: detect-secrets: `scan_settings`: these settings verify candidates"
            ) && confined.stderr.contains("sandbox.network_scanners=[detect-secrets]"),
            "{}",
            confined.stderr
        );
        assert!(
            confined.results["notices"].to_string().contains("sandbox.network_scanners"),
            "{backend}"
        );
        assert!(confined.scanner("detect-secrets")["sandbox"]["spawns"].as_u64() >= Some(1));

        let granted = with(&[&["--sandbox", backend][..], &GRANT].concat());
        assert!(!scene.issuer.heard().is_empty(), "{backend}: {}", granted.stderr);
        assert_eq!((network(&granted), lines(&granted)), (Some(true), vec![1]), "{backend}");

        let offline = with(&[&["--sandbox", backend, "--offline"][..], &GRANT].concat());
        assert_eq!(
            (network(&offline), scene.issuer.heard(), lines(&offline)),
            (Some(false), vec![], vec![1, 3]),
            "{backend}"
        );
    }
    let offline = with(&["--offline"]);
    assert_eq!(
        (scene.issuer.heard(), lines(&offline)),
        (vec![], vec![1, 3]),
        "offline asks nobody, sandbox or not"
    );

    scene.operators(false);
    let unverifying = with(&[&["--sandbox", "bwrap"][..], &GRANT].concat());
    assert_eq!(
        (scene.issuer.heard(), lines(&unverifying)),
        (vec![], vec![1, 3]),
        "settings without the filter ask nobody"
    );
}

#[test]
fn a_plugin_the_operator_names_runs_inside_the_sandbox() {
    let Some(scene) = Scene::new() else { return };
    fs::write(scene.lab.path("source/tokens.txt"), "a = tok_live_1\n").unwrap();
    let config = scene.operators(false);
    for backend in BACKENDS {
        let confined = scene.scan(&["--config", &config, "--sandbox", backend], &[]);
        assert_eq!(confined.findings()[0].0, "SECRET-ISSUED-TOKEN", "{backend}: it was loaded");
        assert!(!scene.marker().exists(), "{backend}: it wrote outside");
    }
    scene.scan(&["--config", &config], &[]);
    assert!(scene.marker().exists(), "without a sandbox the same plugin writes there");
}

#[test]
fn a_plugin_of_the_scanned_tree_is_never_loaded() {
    let Some(scene) = Scene::new() else { return };
    let plugin = scene.plugin("source/issuer.py");
    fs::write(scene.lab.path("source/tokens.txt"), "password = 'c0rrect-horse'\n").unwrap();
    let entry = json!({"name": "IssuerDetector", "path": format!("file://{}", plugin.display())});
    let filter = json!({"path": format!("file://{}::IssuerDetector", plugin.display())});
    let settings = json!({"plugins_used": [entry, {"name": "KeywordDetector"}], "filters_used": [filter, {"path": "os.remove"}]});
    fs::write(scene.lab.path("source/.secrets.baseline"), settings.to_string()).unwrap();
    let by_baseline = scene.scan(&[], &[]);
    assert!(!scene.marker().exists(), "{}", by_baseline.stderr);
    assert!(
        by_baseline.findings().iter().any(|(_, file, _)| file == "tokens.txt"),
        "the rest of the settings holds"
    );
    assert!(
        by_baseline.stderr.contains(
            "plugin `IssuerDetector` is not used: it is loaded from a file and runs as code"
        ),
        "{}",
        by_baseline.stderr
    );

    fs::remove_file(scene.lab.path("source/.secrets.baseline")).unwrap();
    let config = json!({"scanners": {"detect-secrets": {"options": {"scan_settings": settings}}}})
        .to_string();
    fs::create_dir(scene.lab.path("source/.ash")).unwrap();
    fs::write(scene.lab.path("source/.ash/.ash.yaml"), &config).unwrap();
    let by_tree = scene.scan(&[], &[]);
    fs::remove_file(scene.lab.path("source/.ash/.ash.yaml")).unwrap();
    fs::write(scene.lab.path("operators.yaml"), &config).unwrap();
    let by_operator =
        scene.scan(&["--config", &scene.lab.path("operators.yaml").display().to_string()], &[]);
    for scanned in [by_tree, by_operator] {
        assert!(!scene.marker().exists(), "{}", scanned.stderr);
        assert!(
            scanned.stderr.contains("scanners.detect-secrets.options.scan_settings"),
            "{}",
            scanned.stderr
        );
    }
}

/// A library plugin that verifies: it would ask Slack, through the proxy that the environment names.
#[test]
fn verification_the_tree_asks_for_needs_a_grant_from_outside_it() {
    let Some(scene) = Scene::new() else { return };
    let token = format!("xox{}-{}-{}", "b", "0".repeat(12), "a1B2".repeat(6));
    fs::write(scene.lab.path("source/chat.txt"), format!("slack = {token}\n")).unwrap();
    let filters = json!({"filters_used": [{"path": VERIFY, "min_level": 2}], "plugins_used": [{"name": "SlackDetector"}]});
    fs::write(scene.lab.path("source/.secrets.baseline"), filters.to_string()).unwrap();
    fs::create_dir(scene.lab.path("source/.ash")).unwrap();
    fs::write(
        scene.lab.path("source/.ash/.ash.yaml"),
        "sandbox: {network_scanners: [detect-secrets]}\n",
    )
    .unwrap();
    let proxy = format!("http://127.0.0.1:{}", scene.issuer.port);
    let scan = |args: &[&str]| {
        scene.scan(args, &[("HTTPS_PROXY", proxy.clone()), ("https_proxy", proxy.clone())])
    };
    let asked =
        |heard: Vec<String>| heard.iter().any(|text| text.starts_with("CONNECT slack.com:443"));

    scan(&[]);
    assert!(asked(scene.issuer.heard()), "without a sandbox it asks");
    for backend in BACKENDS {
        let confined = scan(&["--sandbox", backend]);
        assert_eq!((network(&confined), scene.issuer.heard()), (Some(false), vec![]), "{backend}");
        assert_eq!(lines(&confined), [1]);
        assert!(
            confined.stderr.contains("sandbox.network_scanners from ")
                || confined.stderr.contains("sandbox.network_scanners: "),
            "the tree's own grant is named: {}",
            confined.stderr
        );
        let granted = scan(&[&["--sandbox", backend][..], &GRANT].concat());
        assert!(
            network(&granted) == Some(true) && asked(scene.issuer.heard()),
            "{backend}: {}",
            granted.stderr
        );
    }
}

#[test]
fn the_findings_are_those_of_the_library_called_directly() {
    let Some(scene) = Scene::new() else { return };
    let files = [
        (
            "a.py",
            "password = 'c0rrect-horse'\nkey = 'AKIA' 'x'\nq = '2b00042f7481c7b056c4b410d28f33cf'\n",
        ),
        (
            "b.yml",
            "token: 'c3VwZXIgbG9uZyBzdHJpbmcgc2hvdWxkIGNhdXNlIGVub3VnaCBlbnRyb3B5'\nurl: https://user:hunter2@example.com\n",
        ),
        ("c d.txt", "-----BEGIN RSA PRIVATE KEY-----\n"),
    ];
    for (name, text) in files {
        fs::write(scene.lab.path("source").join(name), text).unwrap();
    }
    let script = r#"
import json, sys
from detect_secrets.core import scan
from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
from detect_secrets.settings import transient_settings
plugins = [{"name": p.__name__} for p in get_mapping_from_secret_type_to_class().values()]
with transient_settings({"plugins_used": plugins, "filters_used": []}):
    print(json.dumps(sorted({("SECRET-" + s.type.upper().replace(" ", "-"), n, s.line_number) for n in sys.argv[1:] for s in scan.scan_file(n)})))
"#;
    let direct = Command::new(scene.tools.join("detect-secrets/bin/python"))
        .args(["-I", "-c", script])
        .args(files.map(|(name, _)| name))
        .current_dir(scene.lab.path("source"))
        .output()
        .unwrap();
    let direct: Vec<(String, String, u64)> =
        serde_json::from_slice::<Value>(&direct.stdout).and_then(serde_json::from_value).unwrap();
    assert!(direct.len() >= 4, "{direct:?}");
    for mode in ["off", "bwrap", "landlock"] {
        let scanned = scene.scan(&["--sandbox", mode], &[]);
        let found: BTreeSet<_> = scanned
            .findings()
            .into_iter()
            .map(|(rule, uri, line)| (rule, uri.replace("%20", " "), line))
            .collect();
        assert_eq!(found.into_iter().collect::<Vec<_>>(), direct, "{mode}");
    }
}

/// What the sandbox would be like for a scanner.
fn explanation(lab: &Lab, scanner: &str, args: &[&str]) -> Value {
    let mut command = lab.ash(&["sandbox", "explain", scanner, "--json", "--sandbox", "landlock"]);
    let output = command.args(args).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Whether the sandbox would give a scanner a network.
fn explained(lab: &Lab, scanner: &str, args: &[&str]) -> bool {
    explanation(lab, scanner, args)["network"].as_bool().unwrap()
}

#[test]
fn the_list_that_lets_it_verify_replaces_what_every_scanner_declares() {
    let lab = Lab::new();
    fs::create_dir(lab.path("source/.git")).unwrap();
    let all = ["detect-secrets", "semgrep", "npm-audit", "bandit"];
    let both = ["--config-overrides", "sandbox.network_scanners=[detect-secrets,semgrep]"];
    for (args, expected) in [
        (&[][..], [false, true, true, false]),
        (&GRANT, [true, false, false, false]),
        (&both, [true, true, false, false]),
        (&[&GRANT[..], &["--offline"]].concat(), [false; 4]),
    ] {
        assert_eq!(all.map(|scanner| explained(&lab, scanner, args)), expected, "{args:?}");
    }
    fs::create_dir(lab.path("source/.ash")).unwrap();
    fs::write(lab.path("source/.ash/.ash.yaml"), "sandbox: {network_scanners: [detect-secrets]}\n")
        .unwrap();
    assert_eq!(
        all.map(|scanner| explained(&lab, scanner, &[])),
        [false; 4],
        "the tree only takes away"
    );

    let notices = explanation(&lab, "detect-secrets", &[])["notices"].to_string();
    assert!(notices.contains("detect-secrets has a network only where this setting"), "{notices}");
    let granted = explanation(&lab, "detect-secrets", &GRANT)["notices"].to_string();
    assert!(!granted.contains("only where this setting"), "{granted}");
}
