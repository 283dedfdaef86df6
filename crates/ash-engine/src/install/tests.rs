//! The whole install against a stand-in for uv and Python, and once for real.

use std::{
    cell::RefCell,
    ffi::OsString,
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
};

use ash_model::tool::{Captured, Exit};
use ash_sandbox::TrustedCall;

use super::*;

/// Answers like Python, uv and npm would, by the program's name, and does what they would do to the file system.
struct Fake {
    steps: RefCell<Vec<Step>>,
    /// A step whose command line contains this text fails, saying this.
    fail: RefCell<Option<(&'static str, &'static str)>>,
    uv_version: &'static str,
    npm_version: &'static str,
    python_version: &'static str,
    /// What the stand-in for uv leaves out although it says that all went well.
    omits: RefCell<&'static str>,
}

impl Fake {
    const fn new() -> Self {
        Self {
            steps: RefCell::new(vec![]),
            fail: RefCell::new(None),
            uv_version: "0.13.9",
            npm_version: "11.19.1",
            python_version: "3.11.2",
            omits: RefCell::new("nothing"),
        }
    }

    /// Does what uv does to an environment for one requirement.
    fn fill(&self, python: &Path, requirement: &str) {
        let omits = *self.omits.borrow();
        let (name, version) = requirement.split_once("==").unwrap();
        let name = name.split('[').next().unwrap();
        if omits != "program" {
            program(&python.with_file_name(name));
        }
        let version = if omits == "version" { "0.0.1" } else { version };
        if omits != "package" {
            let packages = python.parent().unwrap().join("../lib/python3.11/site-packages");
            let record = packages.join(format!("{}-{version}.dist-info", name.replace('-', "_")));
            fs::create_dir_all(&record).unwrap();
            fs::write(record.join("METADATA"), "").unwrap();
        }
    }

    fn command_lines(&self) -> Vec<String> {
        self.steps.borrow().iter().map(Step::command_line).collect()
    }

    fn ran(code: i32, stdout: &str, stderr: &str) -> Ran {
        let captured =
            |text: &str| Captured { bytes: text.as_bytes().to_vec(), total: text.len() as u64 };
        Ran {
            exit: Exit::Code(code),
            timed_out: false,
            stdout: captured(stdout),
            stderr: captured(stderr),
        }
    }
}

impl Runner for Fake {
    fn run(&self, step: &Step) -> Result<Ran, String> {
        self.steps.borrow_mut().push(step.clone());
        let line = step.command_line();
        if let Some((part, says)) = *self.fail.borrow()
            && line.contains(part)
        {
            return Ok(Self::ran(1, "", says));
        }
        let target = step
            .env
            .iter()
            .find(|(key, _)| key == "PIP_TARGET")
            .map(|(_, value)| PathBuf::from(value));
        match &step.call {
            TrustedCall::ToolVersion { installer } => {
                let name = installer.file_name().and_then(|name| name.to_str()).unwrap_or_default();
                let said = match name {
                    "uv" => format!("uv {} (test)\n", self.uv_version),
                    "npm" => format!("{}\n", self.npm_version),
                    _ => format!("Python {}\n", self.python_version),
                };
                return Ok(Self::ran(0, &said, ""));
            }
            TrustedCall::UvVenv { environment, .. }
            | TrustedCall::PythonVenv { environment, .. } => {
                if *self.omits.borrow() != "python" {
                    program(&environment.join("bin/python"));
                }
            }
            TrustedCall::UvPipInstall { python, packages, .. } => {
                for package in packages {
                    self.fill(python, package.as_str());
                }
            }
            TrustedCall::PipInstallUv { python, .. } => {
                program(
                    &target.map_or_else(|| python.with_file_name("uv"), |dir| dir.join("bin/uv")),
                );
            }
            other => return Err(format!("unexpected {other:?}")),
        }
        Ok(Self::ran(0, "", ""))
    }
}

/// Makes an executable file.
fn program(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "#!/bin/sh\n").unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A machine of its own: a directory with programs and a tool directory.
struct Machine {
    root: tempfile::TempDir,
    tools: Tools,
    fake: Fake,
    environment: Vec<(OsString, OsString)>,
    untrusted: Vec<PathBuf>,
    notes: RefCell<Vec<String>>,
}

impl Machine {
    /// With these programs on `PATH`. `UV_PYTHON` keeps the machine's own Python out of the picture.
    fn with(programs: &[&str]) -> Self {
        let root = tempfile::tempdir().unwrap();
        let bin = root.path().join("bin");
        fs::create_dir_all(&bin).unwrap();
        for name in programs {
            program(&bin.join(name));
        }
        program(&root.path().join("python/bin/python3"));
        let environment = vec![
            ("PATH".into(), bin.into_os_string()),
            ("UV_PYTHON".into(), root.path().join("python/bin/python3").into_os_string()),
            ("PYTHONDONTWRITEBYTECODE".into(), "1".into()),
            ("PYTHONPATH".into(), "/elsewhere".into()),
            ("SSL_CERT_FILE".into(), "/etc/ssl/cert.pem".into()),
        ];
        let tools = Tools::at(root.path().join("tools"));
        Self {
            root,
            tools,
            fake: Fake::new(),
            environment,
            untrusted: vec![],
            notes: RefCell::default(),
        }
    }

    fn install(&self, wanted: &[Wanted]) -> Vec<Installed> {
        let progress = |event: Progress<'_>| self.notes.borrow_mut().push(format!("{event:?}"));
        let installer = Installer {
            tools: &self.tools,
            environment: &self.environment,
            untrusted: &self.untrusted,
            runner: &self.fake,
            progress: &progress,
        };
        install(&installer, wanted).unwrap()
    }

    fn outcome(&self, wanted: Wanted) -> Outcome {
        self.install(&[wanted]).remove(0).outcome
    }

    fn failure(&self, wanted: Wanted) -> Failure {
        match self.outcome(wanted) {
            Outcome::Failed(failure) => failure,
            other => panic!("it did not fail: {other:?}"),
        }
    }
}

fn bandit() -> Wanted {
    pinned("bandit[sarif,toml]==1.9.4")
}

fn pinned(requirement: &'static str) -> Wanted {
    Wanted {
        scanner: "bandit".into(),
        program: "bandit".into(),
        install: Install::Uv { requirement, with: &[] },
    }
}

fn npm() -> Wanted {
    Wanted {
        scanner: "npm-audit".into(),
        program: "npm".into(),
        install: Install::System { hint: "install Node.js 20 or newer" },
    }
}

fn installed(version: &str) -> Outcome {
    Outcome::Installed { version: version.into() }
}

#[test]
fn a_tool_is_installed_once_and_then_found() {
    let machine = Machine::with(&["uv"]);
    assert_eq!(machine.tools.locate("bandit"), None);
    assert_eq!(machine.outcome(bandit()), installed("1.9.4"));
    let dir = machine.tools.dir().join("bandit/bin");
    assert_eq!(machine.tools.locate("bandit"), Some(dir.join("bandit")));
    assert_eq!(machine.tools.python_of("bandit"), Some(dir.join("python")));
    assert_eq!(machine.tools.version_of("bandit").as_deref(), Some("1.9.4"));
    let before = machine.fake.steps.borrow().len();
    assert_eq!(machine.outcome(bandit()), Outcome::Already { version: "1.9.4".into() });
    assert_eq!(machine.fake.steps.borrow().len(), before, "an installed tool starts nothing");
}

#[test]
fn bytecode_is_compiled_even_where_the_environment_forbids_it() {
    let machine = Machine::with(&["uv"]);
    machine.install(&[bandit()]);
    let steps = machine.fake.steps.borrow();
    let fill =
        steps.iter().find(|step| matches!(step.call, TrustedCall::UvPipInstall { .. })).unwrap();
    assert!(fill.env.contains(&("UV_COMPILE_BYTECODE".into(), "1".into())));
    for step in steps.iter() {
        assert!(
            !step
                .env
                .iter()
                .any(|(key, _)| key == "PYTHONDONTWRITEBYTECODE" || key == "PYTHONPATH"),
            "{}",
            step.command_line()
        );
        assert!(
            step.env.iter().any(|(key, _)| key == "SSL_CERT_FILE"),
            "the operator's certificates are kept"
        );
    }
}

#[test]
fn uv_may_download_no_python_by_itself() {
    let machine = Machine::with(&["uv"]);
    machine.install(&[bandit()]);
    let steps = machine.fake.steps.borrow();
    let of_uv = |step: &&Step| {
        matches!(step.call, TrustedCall::UvVenv { .. } | TrustedCall::UvPipInstall { .. })
    };
    assert_eq!(steps.iter().filter(of_uv).count(), 2);
    for step in steps.iter().filter(of_uv) {
        assert!(
            step.env.contains(&("UV_PYTHON_DOWNLOADS".into(), "never".into())),
            "{}",
            step.command_line()
        );
    }
}

#[test]
fn a_failed_install_leaves_nothing_that_looks_whole_and_says_what_uv_said() {
    let machine = Machine::with(&["uv"]);
    *machine.fake.fail.borrow_mut() =
        Some(("pip install", "error: Failed to fetch: `bandit`\n  Caused by: dns error"));
    let failure = machine.failure(bandit());
    assert!(
        failure.what.starts_with("cannot install `bandit[sarif,toml]==1.9.4`: `"),
        "{}",
        failure.what
    );
    assert!(failure.what.ends_with("failed (exit code 1)"), "{}", failure.what);
    assert_eq!(failure.output, ["error: Failed to fetch: `bandit`", "  Caused by: dns error"]);
    assert_eq!(
        failure.hints,
        [
            "check the network; behind a proxy or a mirror set `HTTPS_PROXY` or `UV_DEFAULT_INDEX`",
            "then run `ash dependencies install --tool bandit`"
        ]
    );
    assert!(!machine.tools.dir().join("bandit").exists());
    assert_eq!(machine.tools.locate("bandit"), None);
}

#[test]
fn an_installer_that_says_it_is_done_and_is_not_is_not_believed() {
    for (omits, lacking) in [
        ("program", "bin/bandit`"),
        ("python", "bin/python`"),
        ("package", "no package `bandit[sarif,toml] 1.9.4`"),
        ("version", "no package `bandit[sarif,toml] 1.9.4`"),
    ] {
        let machine = Machine::with(&["uv"]);
        *machine.fake.omits.borrow_mut() = omits;
        let failure = machine.failure(bandit());
        assert!(failure.what.contains(lacking), "{omits}: {}", failure.what);
        assert_eq!(machine.tools.locate("bandit"), None, "{omits}");
        assert!(!machine.tools.dir().join("bandit").exists(), "{omits}");
        *machine.fake.omits.borrow_mut() = "nothing";
        assert_eq!(machine.outcome(bandit()), installed("1.9.4"), "the control");
    }
}

#[test]
fn an_environment_that_lost_a_piece_is_made_again() {
    let machine = Machine::with(&["uv"]);
    for piece in ["bin/bandit", "lib/python3.11/site-packages/bandit-1.9.4.dist-info/METADATA"] {
        machine.install(&[bandit()]);
        fs::remove_file(machine.tools.dir().join("bandit").join(piece)).unwrap();
        assert_eq!(machine.outcome(bandit()), installed("1.9.4"), "{piece}");
    }
}

#[test]
fn an_environment_without_its_stamp_does_not_exist() {
    let machine = Machine::with(&["uv"]);
    program(&machine.tools.dir().join("bandit/bin/bandit"));
    program(&machine.tools.dir().join("bandit/bin/python"));
    fs::write(machine.tools.dir().join("bandit/.ash-tool.json"), "{\"format\": 1").unwrap();
    assert_eq!(machine.tools.locate("bandit"), None);
    assert_eq!(machine.outcome(bandit()), installed("1.9.4"));
}

#[test]
fn a_new_pin_replaces_the_old_version_and_a_failed_one_keeps_it() {
    let machine = Machine::with(&["uv"]);
    assert_eq!(machine.outcome(pinned("bandit==1.8.0")), installed("1.8.0"));
    *machine.fake.fail.borrow_mut() = Some(("bandit==1.9.4", "no space left on device"));
    assert!(!machine.outcome(pinned("bandit==1.9.4")).is_usable());
    assert_eq!(machine.tools.version_of("bandit").as_deref(), Some("1.8.0"));
    assert!(machine.tools.locate("bandit").is_some());
    *machine.fake.fail.borrow_mut() = None;
    assert_eq!(machine.outcome(pinned("bandit==1.9.4")), installed("1.9.4"));
    assert_eq!(machine.tools.version_of("bandit").as_deref(), Some("1.9.4"));
    assert!(!machine.tools.dir().join("bandit.previous").exists());
}

#[test]
fn a_link_to_a_python_that_is_gone_is_mended() {
    let machine = Machine::with(&["uv"]);
    machine.install(&[bandit()]);
    let python = machine.tools.dir().join("bandit/bin/python");
    fs::remove_file(&python).unwrap();
    symlink("/nowhere/python3", &python).unwrap();
    assert_eq!(machine.outcome(bandit()), installed("1.9.4"));
    assert!(machine.tools.python_of("bandit").is_some());
}

#[test]
fn uv_is_fetched_with_pip_where_python_has_no_venv() {
    let machine = Machine::with(&[]);
    *machine.fake.fail.borrow_mut() = Some((
        "-m venv",
        "The virtual environment was not created successfully because ensurepip is not available.",
    ));
    assert_eq!(machine.outcome(bandit()), installed("1.9.4"));
    assert_eq!(machine.tools.locate("uv"), Some(machine.tools.dir().join("uv/bin/uv")));
    assert!(
        !machine.tools.dir().join("uv/bin/python").exists(),
        "a plain directory, no environment"
    );
}

#[test]
fn uv_is_fetched_with_venv_first() {
    let machine = Machine::with(&[]);
    assert_eq!(machine.outcome(bandit()), installed("1.9.4"));
    assert!(machine.tools.dir().join("uv/bin/python").exists());
}

#[test]
fn without_venv_and_pip_each_attempt_is_told_and_how_to_go_on() {
    let machine = Machine::with(&[]);
    *machine.fake.fail.borrow_mut() = Some((" -m ", "No module named pip"));
    let mut second = bandit();
    second.program = "bandit-again".into();
    let results = machine.install(&[bandit(), second]);
    let [Outcome::Failed(failure), Outcome::Failed(again)] =
        [&results[0].outcome, &results[1].outcome]
    else {
        panic!("it did not fail: {results:?}")
    };
    assert_eq!(again.what, "uv could not be fetched, see above");
    assert_eq!(failure.what, "uv is not on `PATH` and could not be fetched");
    assert!(
        failure.output.iter().any(|line| line.starts_with("with venv: `")),
        "{:?}",
        failure.output
    );
    assert!(
        failure.output.iter().any(|line| line.starts_with("with pip: `")),
        "{:?}",
        failure.output
    );
    assert!(
        failure.hints.iter().any(|hint| hint.contains("apt install python3-venv")),
        "{:?}",
        failure.hints
    );
}

#[test]
fn a_uv_or_npm_inside_the_unreviewed_tree_is_never_started() {
    let mut machine = Machine::with(&[]);
    let checkout = machine.root.path().join("checkout");
    program(&checkout.join("bin/uv"));
    program(&checkout.join("bin/npm"));
    // Once by its own name, once through a link outside, and once by a relative entry.
    symlink(checkout.join("bin"), machine.root.path().join("looks-fine")).unwrap();
    let path = format!("{0}/checkout/bin:{0}/looks-fine:.", machine.root.path().display());
    machine.environment.retain(|(key, _)| key != "PATH");
    machine.environment.push(("PATH".into(), path.into()));
    machine.untrusted.push(checkout.clone());
    assert!(matches!(machine.outcome(npm()), Outcome::Failed(_)));
    assert_eq!(machine.outcome(bandit()), installed("1.9.4"), "uv is fetched instead");
    let inside =
        |line: &String| line.starts_with(checkout.to_str().unwrap()) || line.contains("looks-fine");
    assert!(!machine.fake.command_lines().iter().any(inside), "{:?}", machine.fake.command_lines());
    // The control: the same tree, trusted.
    machine.untrusted.clear();
    assert!(machine.outcome(npm()).is_usable());
}

#[test]
fn a_system_tool_is_found_or_named_with_what_to_install() {
    let machine = Machine::with(&["npm"]);
    let path = machine.root.path().join("bin/npm");
    assert_eq!(machine.outcome(npm()), Outcome::Found { version: "11.19.1".into(), path });
    let mut machine = Machine::with(&["npm"]);
    machine.fake.npm_version = "welcome!";
    assert!(machine.failure(npm()).what.ends_with("says `welcome!`, which is no version"));
    let failure = Machine::with(&[]).failure(npm());
    assert_eq!(failure.what, "`npm` is not on `PATH`, and ash does not install it");
    assert_eq!(failure.hints, ["install Node.js 20 or newer"]);
}

#[test]
fn one_tool_that_fails_does_not_stop_the_next() {
    let machine = Machine::with(&["uv", "npm"]);
    *machine.fake.fail.borrow_mut() = Some(("venv", "broken"));
    let usable: Vec<bool> =
        machine.install(&[bandit(), npm()]).iter().map(|done| done.outcome.is_usable()).collect();
    assert_eq!(usable, [false, true]);
}

#[test]
fn an_old_uv_is_passed_over() {
    let mut machine = Machine::with(&["uv"]);
    machine.fake.uv_version = "0.2.37";
    let failure = machine.failure(bandit());
    assert_eq!(
        failure.what, "uv is not on `PATH` and could not be fetched",
        "the stand-in answers the same everywhere"
    );
}

#[test]
fn an_old_python_is_not_used_and_the_needed_version_is_named() {
    let mut machine = Machine::with(&["uv"]);
    machine.fake.python_version = "3.8.1";
    let failure = machine.failure(bandit());
    assert!(failure.what.starts_with("no Python 3.10 or newer was found"), "{}", failure.what);
    assert!(failure.hints.iter().any(|hint| hint.contains("UV_PYTHON_DOWNLOADS=automatic")));
    // With the operator's word uv may get one.
    machine.environment.push(("UV_PYTHON_DOWNLOADS".into(), "automatic".into()));
    assert_eq!(machine.outcome(bandit()), installed("1.9.4"));
}

#[test]
fn a_second_install_waits_for_the_first() {
    let machine = Machine::with(&["uv"]);
    fs::create_dir_all(machine.tools.dir()).unwrap();
    let held = fs::File::create(machine.tools.dir().join(".lock")).unwrap();
    held.lock().unwrap();
    let (said, hears) = std::sync::mpsc::channel();
    let tools = machine.tools.clone();
    let environment = machine.environment.clone();
    let second = std::thread::spawn(move || {
        let fake = Fake::new();
        let progress = |event: Progress<'_>| said.send(format!("{event:?}")).unwrap_or_default();
        let installer = Installer {
            tools: &tools,
            environment: &environment,
            untrusted: &[],
            runner: &fake,
            progress: &progress,
        };
        install(&installer, &[bandit()]).unwrap().remove(0).outcome
    });
    assert_eq!(hears.recv().unwrap(), "Waiting");
    assert_eq!(machine.tools.locate("bandit"), None, "nothing happens before the lock is free");
    held.unlock().unwrap();
    assert_eq!(second.join().unwrap(), installed("1.9.4"));
}

#[test]
fn the_tool_directory_comes_from_the_operator_and_is_absolute() {
    let from = |pairs: &'static [(&'static str, &'static str)]| {
        Tools::from_environment(&|name| {
            pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
        })
        .map(|tools| tools.dir().to_owned())
    };
    assert_eq!(
        from(&[("ASH_TOOLS_DIR", "/a"), ("XDG_DATA_HOME", "/b"), ("HOME", "/c")]),
        Ok("/a".into())
    );
    assert_eq!(
        from(&[("ASH_TOOLS_DIR", ""), ("XDG_DATA_HOME", "/b"), ("HOME", "/c")]),
        Ok("/b/ash/tools".into())
    );
    assert_eq!(
        from(&[("XDG_DATA_HOME", "b"), ("HOME", "/c")]),
        Ok("/c/.local/share/ash/tools".into())
    );
    assert_eq!(
        from(&[("ASH_TOOLS_DIR", "a"), ("HOME", "/c")]),
        Err(ToolsDirError::Relative("a".into()))
    );
    assert_eq!(from(&[]), Err(ToolsDirError::Unknown));
}

#[test]
fn a_tool_name_cannot_leave_the_tool_directory() {
    let machine = Machine::with(&["uv"]);
    machine.install(&[bandit()]);
    for name in ["", "..", "../tools/bandit", "bandit/../bandit", ".lock", "/bin/sh"] {
        assert_eq!(machine.tools.locate(name), None, "{name}");
        assert_eq!(machine.tools.python_of(name), None, "{name}");
    }
}
