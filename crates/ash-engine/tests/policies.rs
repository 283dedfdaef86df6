//! What every scanner is allowed under every backend, written down: a grant that widens shows in a diff.
//!
//! The machine is made up, so the snapshots are the same everywhere and hold no version.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

use std::{
    ffi::OsString,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use ash_config::NetworkPolicy;
use ash_model::{
    path::RelPath,
    source::SourceReader,
    tool::{Cwd, Program, ToolCall},
};
use ash_sandbox::{BackendId, Grants, Ground, Policy, testing::Machine};
use ash_scanners::{Install, Plan, SCANNERS, Scanner, Site};

const SOURCE: &str = "home/me/src/repo";
const TOOLS: &str = "home/me/.local/share/ash/tools";
const PYTHON: &str = "home/me/.local/share/uv/python/cpython";

/// A file for each kind of scanner.
const FILES: [(&str, &str); 6] = [
    ("app.py", "import os\n"),
    ("package.json", r#"{"name": "a"}"#),
    ("package-lock.json", r#"{"lockfileVersion": 3, "packages": {}}"#),
    (
        "template.yaml",
        "AWSTemplateFormatVersion: '2010-09-09'\nResources:\n  A:\n    Type: AWS::S3::Bucket\n",
    ),
    ("main.tf", ""),
    (".github/workflows/ci.yml", "on: push\n"),
];

/// What the operator's environment holds; `@/` is the machine's root. Credentials and other tools' settings are among them.
const VARIABLES: [(&str, &str); 22] = [
    ("HOME", "@/home/me"),
    ("PATH", "@/home/me/.local/bin:@/usr/local/bin:@/usr/bin:@/bin:bin"),
    ("LANG", "C.UTF-8"),
    ("SSL_CERT_FILE", "@/opt/ca/roots.pem"),
    ("HTTPS_PROXY", "http://proxy:3128"),
    ("https_proxy", "http://me:secret@proxy:3128"),
    ("UV_CACHE_DIR", "@/home/me/.cache/uv"),
    ("UV_INDEX_URL", "https://me:secret@index.example/simple"),
    ("AWS_SECRET_ACCESS_KEY", "secret"),
    ("GITHUB_TOKEN", "secret"),
    ("CHECKOV_EXTERNAL", "1"),
    ("CHECKOV_API_KEY", "secret"),
    ("SEMGREP_RULES_CACHE_DIR", "@/home/me/rules"),
    ("SEMGREP_APP_TOKEN", "secret"),
    ("SYFT_PARALLELISM", "1"),
    ("NPM_CONFIG_CACHE", "@/home/me/.npm"),
    ("npm_config_registry", "https://registry.example"),
    ("VIRTUAL_ENV", "@/home/me/venv"),
    ("PYTHONPATH", "@/home/me/lib"),
    ("LD_PRELOAD", "@/home/me/preload.so"),
    ("SSH_AUTH_SOCK", "@/tmp/agent"),
    ("XDG_CONFIG_HOME", "@/home/me/.config"),
];

struct Files;

impl SourceReader for Files {
    fn read(&self, path: &RelPath, _: u64) -> Option<Vec<u8>> {
        FILES
            .iter()
            .find(|(name, _)| Path::new(name) == path.as_path())
            .map(|(_, text)| text.as_bytes().to_vec())
    }
}

/// The machine with everything scanners may find on one.
fn machine(directory: &Path) -> Machine {
    let machine = Machine::plant(directory).unwrap();
    for dir in [
        "home/me/.ssh",
        "home/me/.aws",
        "home/me/.cache/uv",
        "home/me/.cache/syft",
        "home/me/.npm",
        "home/me/.semgrep",
        "home/me/.config",
        "home/me/.local/bin",
        "home/me/rules",
        "home/me/venv/bin",
        "home/me/lib",
        "opt/ca",
        &format!("{PYTHON}/lib/python3"),
    ] {
        machine.dir(dir).unwrap();
    }
    for file in ["home/me/.ssh/id_rsa", "opt/ca/roots.pem"] {
        std::fs::write(machine.at(file), "").unwrap();
    }
    for (name, text) in FILES {
        let file = machine.at(SOURCE).join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    machine.program(&format!("{PYTHON}/bin/python3"), "").unwrap();
    machine.program("usr/bin/node", "").unwrap();
    for scanner in SCANNERS {
        install(&machine, *scanner);
    }
    machine
}

fn install(machine: &Machine, scanner: &dyn Scanner) {
    let tool = scanner.tool();
    match tool.install {
        Install::Uv { .. } => {
            let environment = format!("{TOOLS}/{}", tool.program);
            machine
                .program(
                    &format!("{environment}/bin/{}", tool.program),
                    &format!("#!@/{environment}/bin/python\n"),
                )
                .unwrap();
            std::fs::write(
                machine.at(&environment).join("pyvenv.cfg"),
                format!("home = {}\n", machine.at(PYTHON).join("bin").display()),
            )
            .unwrap();
            symlink(
                machine.at(PYTHON).join("bin/python3"),
                machine.at(&environment).join("bin/python"),
            )
            .unwrap();
        }
        Install::System { .. } => {
            let script = format!("usr/lib/node_modules/{0}/bin/{0}.js", tool.program);
            machine.program(&script, "#!@/usr/bin/env node\n").unwrap();
            machine.program("usr/bin/env", "").unwrap();
            symlink(
                Path::new("..").join(script.trim_start_matches("usr/")),
                machine.at("usr/bin").join(tool.program),
            )
            .unwrap();
        }
    }
}

fn locate(machine: &Machine, program: &Program) -> PathBuf {
    let own = |name: &str, file: &str| machine.at(TOOLS).join(name).join("bin").join(file);
    match program {
        Program::Tool(name) if own(name, name).exists() => own(name, name),
        Program::Tool(name) => machine.at("usr/bin").join(name),
        Program::PythonOf(name) => own(name, "python"),
        Program::Path(path) => path.clone(),
    }
}

/// A scanner on the machine.
struct Case<'a> {
    machine: &'a Machine,
    scanner: &'a dyn Scanner,
    offline: bool,
    as_root: bool,
}

impl Case<'_> {
    fn results(&self) -> PathBuf {
        self.machine
            .dir(&format!("{SOURCE}/.ash/ash_output/scanners/{}", self.scanner.id()))
            .unwrap()
    }

    /// The scanner's calls. One that skips offline scans would still be held to this policy.
    fn calls(&self) -> Vec<ToolCall> {
        match self.plan(self.offline) {
            Plan::Run(calls) => calls,
            _ if self.offline => match self.plan(false) {
                Plan::Run(calls) => calls,
                other => panic!("{}: {other:?}", self.scanner.id()),
            },
            other => panic!("{}: {other:?}", self.scanner.id()),
        }
    }

    fn plan(&self, offline: bool) -> Plan {
        let mut files: Vec<RelPath> =
            FILES.iter().map(|(name, _)| RelPath::new(name).unwrap()).collect();
        files.sort();
        let source = self.machine.at(SOURCE);
        let outputs = [RelPath::new(ash_model::results::DEFAULT_OUTPUT).unwrap()];
        let root = self.machine.at("");
        let variable = |name: &str| {
            let value = VARIABLES.iter().find(|(known, _)| *known == name)?.1;
            Some(OsString::from(value.replace("@/", root.to_str().unwrap())))
        };
        self.scanner.plan(&Site {
            source: &source,
            results: &self.results().join("source"),
            outputs: &outputs,
            files: &files,
            reader: &Files,
            offline,
            network: false,
            ignore_suppressions: false,
            options: &serde_json::Map::new(),
            variable: &variable,
        })
    }

    fn policy(&self, call: &ToolCall, program: &Path) -> Policy {
        let source = self.machine.at(SOURCE);
        let requirements = self.scanner.requirements();
        let id = self.scanner.id();
        let cwd = match &call.cwd {
            Cwd::Source => source.clone(),
            Cwd::Results => self.results(),
            Cwd::Root => "/".into(),
            Cwd::Within(path) => source.join(path.as_path()),
        };
        let ground = Ground {
            output: Some(source.join(".ash/ash_output")),
            source,
            targets: vec![],
            results: self.results(),
            cwd,
        };
        let network = NetworkPolicy::default().allows(
            id.as_str(),
            requirements.network,
            requirements.network_requires_grant,
            self.offline,
        );
        let grants = Grants { network, offline: self.offline, extra_read_paths: vec![] };
        let site = self.machine.site(self.as_root, &VARIABLES, &[self.machine.at(TOOLS)]);
        Policy::resolve(id.as_str(), &requirements, &site, &ground, &grants, program, &call.env)
            .unwrap()
    }

    fn show(&self, backend: BackendId, overlay: bool) -> String {
        let shown = self.calls().into_iter().map(|call| {
            let program = locate(self.machine, &call.program);
            let policy = self.policy(&call, &program);
            self.machine.show(backend, overlay, &policy, &program).unwrap()
        });
        shown.collect::<Vec<_>>().join("\n\n")
    }
}

/// What each scanner needs beyond the baseline, as the documentation has it: a network online, caches below the home, and what it is made of.
struct Need {
    scanner: &'static str,
    network: bool,
    caches: &'static [&'static str],
    made_of: MadeOf,
}

#[derive(PartialEq)]
enum MadeOf {
    /// An environment on a Python that uv manages.
    Python,
    /// A program for Node.js.
    Node,
}

const NEEDS: [Need; 8] = [
    Need { scanner: "bandit", network: false, caches: &[], made_of: MadeOf::Python },
    Need { scanner: "cfn-lint", network: false, caches: &[], made_of: MadeOf::Python },
    Need { scanner: "checkov", network: false, caches: &[], made_of: MadeOf::Python },
    Need { scanner: "detect-secrets", network: false, caches: &[], made_of: MadeOf::Python },
    Need { scanner: "npm-audit", network: true, caches: &[".npm"], made_of: MadeOf::Node },
    Need { scanner: "semgrep", network: true, caches: &[".semgrep"], made_of: MadeOf::Python },
    Need { scanner: "syft", network: false, caches: &[".cache/syft"], made_of: MadeOf::Python },
    Need { scanner: "zizmor", network: false, caches: &[], made_of: MadeOf::Python },
];

#[test]
fn each_scanner_has_the_network_and_the_caches_it_needs_and_no_others() {
    let directory = tempfile::tempdir().unwrap();
    let machine = machine(directory.path());
    let home = machine.at("home/me");
    for need in NEEDS {
        let scanner = SCANNERS.iter().find(|scanner| scanner.id().as_str() == need.scanner);
        let scanner = *scanner.unwrap_or_else(|| panic!("no scanner `{}`", need.scanner));
        for offline in [false, true] {
            let case = Case { machine: &machine, scanner, offline, as_root: false };
            for call in case.calls() {
                let policy = case.policy(&call, &locate(&machine, &call.program));
                let shown = format!("{} offline {offline}", need.scanner);
                assert_eq!(policy.network, need.network && !offline, "{shown}");
                let mut caches: Vec<PathBuf> =
                    [".cache/uv"].iter().chain(need.caches).map(|cache| home.join(cache)).collect();
                caches.sort();
                assert_eq!(policy.caches, caches, "{shown}");
                let sees = |path: &str| {
                    policy.read_only.iter().any(|granted| machine.at(path).starts_with(granted))
                };
                assert!(sees(&format!("{PYTHON}/bin/python3")), "{shown}: uv's Python");
                assert!(need.made_of == MadeOf::Python || sees("usr/bin/node"), "{shown}: Node.js");
                for hidden in ["home/me/.ssh/id_rsa", "home/me/.aws", "home/me/.config"] {
                    assert!(!sees(hidden), "{shown}: {hidden}");
                }
            }
        }
    }
}

/// Each snapshot holds the scan with a network first, then how the one without differs.
fn check(name: &str, backend: BackendId, overlay: bool, as_root: bool) {
    let directory = tempfile::tempdir().unwrap();
    let machine = machine(directory.path());
    for scanner in SCANNERS.iter().copied() {
        let online =
            Case { machine: &machine, scanner, offline: false, as_root }.show(backend, overlay);
        let offline =
            Case { machine: &machine, scanner, offline: true, as_root }.show(backend, overlay);
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path("policies");
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| {
            insta::assert_snapshot!(
                format!("{}_{name}", scanner.id()),
                format!("{online}\n\n# offline\n{}", difference(&online, &offline))
            );
        });
    }
}

/// Lines that are only in one of two texts, in order.
fn difference(before: &str, after: &str) -> String {
    let (mut before, after): (Vec<&str>, Vec<&str>) =
        (before.lines().collect(), after.lines().collect());
    let mut added = vec![];
    for line in after {
        match before.iter().position(|known| *known == line) {
            Some(at) => drop(before.remove(at)),
            None => added.push(format!("+ {line}")),
        }
    }
    before.into_iter().map(|line| format!("- {line}")).chain(added).collect::<Vec<_>>().join("\n")
}

#[test]
fn bwrap_without_overlays() {
    check("bwrap", BackendId::Bwrap, false, false);
}

#[test]
fn bwrap_with_overlays() {
    check("bwrap-overlay", BackendId::Bwrap, true, false);
}

#[test]
fn firejail() {
    check("firejail", BackendId::Firejail, false, false);
}

#[test]
fn landlock() {
    check("landlock", BackendId::Landlock, false, false);
}

#[test]
fn landlock_as_root() {
    check("landlock-root", BackendId::Landlock, false, true);
}

#[test]
fn sandbox_exec() {
    check("sandbox-exec", BackendId::SandboxExec, false, false);
}
