//! `cargo xtask test`: everything CI checks, on whatever machine it runs.

mod install;
mod newer_bwrap;
mod ordinary_user;
mod other_kernels;
mod tally;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::Instant,
};

use anyhow::Result;

use crate::{
    machine::{self, Package},
    parity,
    shell::{Call, cargo, say, which},
    workspace,
};
use tally::Tally;

/// What the tests use of the system.
const PACKAGES: &[Package] = &[
    machine::BUBBLEWRAP,
    machine::VENV,
    Package {
        name: "firejail",
        why: "the firejail sandbox",
        present: || which("firejail").is_some(),
    },
    Package {
        name: "git",
        why: "scanners that ask git what is ignored",
        present: || which("git").is_some(),
    },
    Package {
        name: "keyutils",
        why: "the session keyring tests",
        present: || which("keyctl").is_some(),
    },
    Package {
        name: "attr",
        why: "the extended attribute tests",
        present: || which("setfattr").is_some(),
    },
    Package {
        name: "libcap2-bin",
        why: "the capability tests",
        present: || which("capsh").is_some(),
    },
];

/// Seconds after which a stage is stopped: a hanging test must not hang CI.
const STAGE_LIMIT: &str = "1200";

/// What every run of tests is told.
#[derive(Debug, Clone)]
struct Site {
    /// The debug build of ash.
    ash: PathBuf,
    /// The installed scanners.
    tools: PathBuf,
    /// The backends this machine offers: a test that cannot use one of them fails instead of being skipped.
    backends: String,
    /// The directory of a bubblewrap that can overlay caches; empty: none.
    newer_bwrap: PathBuf,
}

impl Site {
    fn variables(&self) -> [(&'static str, String); 4] {
        [
            ("ASH_TOOLS_DIR", self.tools.display().to_string()),
            ("ASH_REQUIRE_BACKENDS", self.backends.clone()),
            ("ASH_TEST_OVERLAY_BWRAP", self.newer_bwrap.display().to_string()),
            ("INSTA_UPDATE", "no".to_owned()),
        ]
    }
}

/// Runs every stage and sums up.
pub(crate) fn run() -> Result<ExitCode> {
    let mut tally = Tally::default();
    machine::ensure_packages(PACKAGES)?;
    let root = workspace::root();

    stage(&mut tally, "formatting", || {
        cargo()
            .args(["fmt", "--all", "--", "--check", "-l"])
            .cwd(&root)
            .code()
            .map(|code| code == 0)
    });
    stage(&mut tally, "clippy", || {
        cargo()
            .args([
                "clippy",
                "--locked",
                "--quiet",
                "--workspace",
                "--all-targets",
                "--",
                "-D",
                "warnings",
            ])
            .cwd(&root)
            .code()
            .map(|code| code == 0)
    });
    stage(&mut tally, "documentation", || {
        let doc = cargo().args([
            "doc",
            "--locked",
            "--quiet",
            "--workspace",
            "--no-deps",
            "--document-private-items",
        ]);
        // The pages are for developers, private items included, so a public item may link to a private one.
        doc.env("RUSTDOCFLAGS", "-D warnings -A rustdoc::private_intra_doc_links")
            .cwd(&root)
            .code()
            .map(|code| code == 0)
    });
    if Call::new("cargo-deny").arg("--version").works() {
        stage(&mut tally, "dependency rules (cargo-deny)", || {
            // Whole paths: some versions cannot use a bare file name.
            let config = root.join("deny.toml");
            for manifest in ["Cargo.toml", "fuzz/Cargo.toml"] {
                let deny = cargo().args(["deny", "--manifest-path"]).arg(root.join(manifest));
                let deny = deny.args(["check", "--config"]).arg(&config);
                if deny.args(["bans", "licenses", "sources"]).cwd(&root).code()? != 0 {
                    return Ok(false);
                }
            }
            Ok(true)
        });
    } else {
        say(
            "cargo-deny is not installed; the repository tests check the same rules from `cargo metadata`",
        );
    }

    let mut site = None;
    stage(&mut tally, "scanners", || {
        let found = prepare()?;
        site = Some(found);
        Ok(true)
    });
    let Some(site) = site else { return Ok(finish(&tally)) };
    install::run(&mut tally, &site);
    say(&format!("backends this machine offers: {}", site.backends));

    stage(&mut tally, "the example has the same findings with and without a sandbox", || {
        parity::same_findings(&site.ash, &root.join("examples/vulnerable-app"), Some(&site.tools))
    });
    let user = if machine::is_root() { "root" } else { "this user" };
    tests(&mut tally, &format!("tests as {user}"), with(&site, cargo_test().cwd(&root)));
    if Call::new("cc").arg("--version").works() {
        tests(&mut tally, "suppressions by symbol", with(&site, symbols().cwd(&root)));
    } else {
        say("no C compiler: the feature `symbols` was not tested");
    }
    if machine::is_root() {
        ordinary_user::run(&mut tally, &site)?;
    } else {
        say("not root: the tests ran as an ordinary user only");
    }
    other_kernels::run(&mut tally);
    Ok(finish(&tally))
}

fn cargo_test() -> Call {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    Call::new("timeout").args(["--kill-after=30", STAGE_LIMIT]).arg(cargo).args([
        "test",
        "--locked",
        "--workspace",
        "--no-fail-fast",
    ])
}

/// The one feature that is off by default. Not of the program: its debug build is what the other tests run.
fn symbols() -> Call {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    Call::new("timeout").args(["--kill-after=30", STAGE_LIMIT]).arg(cargo).args([
        "test",
        "--locked",
        "--package=ash-engine",
        "--features=symbols",
        "--lib",
        "suppress",
    ])
}

fn with(site: &Site, call: Call) -> Call {
    site.variables().iter().fold(call, |call, (name, value)| call.env(name, value))
}

/// Installs the scanners where every user can read them, and asks which sandboxes work here.
fn prepare() -> Result<Site> {
    let ash = workspace::build_ash(false)?;
    let tools = machine::test_tools_dir(&workspace::target_dir());
    std::fs::create_dir_all(&tools)?;
    let mut install = Call::new(&ash)
        .args(["dependencies", "install"])
        .env("ASH_TOOLS_DIR", &tools)
        .cwd(Path::new("/"));
    // An ordinary user cannot reach a Python in root's home.
    let system_python = Path::new("/usr/bin/python3");
    if machine::is_root() && system_python.exists() {
        install = install.env("UV_PYTHON", system_python);
    }
    install.run()?;
    if machine::is_root() {
        Call::new("chmod")
            .args(["-R", "a+rX"])
            .arg(tools.parent().unwrap_or(&tools))
            .quiet()
            .run()?;
    }
    let mut backends = offered_backends();
    let newer_bwrap = newer_bwrap::directory(&tools).unwrap_or_default();
    if newer_bwrap.is_absolute() && newer_bwrap::overlays(&newer_bwrap) {
        backends.push("bwrap-overlay");
    }
    Ok(Site { ash, tools, backends: backends.join(","), newer_bwrap })
}

/// The sandboxes that work here, found out without ash: what it says about them is under test.
fn offered_backends() -> Vec<&'static str> {
    let mut backends = Vec::new();
    if Call::new("bwrap")
        .args(["--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "true"])
        .works()
    {
        backends.push("bwrap");
    }
    // firejail runs a command without any sandbox where it believes itself to be in one already; only a namespace of its own counts.
    let namespace = |call: Call| {
        call.args(["readlink", "/proc/self/ns/mnt"])
            .said()
            .ok()
            .filter(|said| said.code == Some(0))
            .map(|said| said.stdout)
    };
    let own = namespace(Call::new("env"));
    if namespace(Call::new("firejail").args(["--noprofile", "--quiet", "--"]))
        .is_some_and(|inside| Some(inside) != own)
    {
        backends.push("firejail");
    }
    let lsm = std::fs::read_to_string("/sys/kernel/security/lsm").unwrap_or_default();
    if lsm.split(',').any(|name| name.trim() == "landlock") || landlock_in_kernel_log() {
        backends.push("landlock");
    }
    backends
}

/// Where securityfs is not mounted, the kernel's own list of calls says whether Landlock was built in.
fn landlock_in_kernel_log() -> bool {
    std::fs::read_to_string("/proc/kallsyms").is_ok_and(|symbols| {
        symbols.lines().any(|line| {
            line.ends_with(" __x64_sys_landlock_create_ruleset")
                || line.ends_with(" __arm64_sys_landlock_create_ruleset")
        })
    })
}

/// One check that either holds or not.
fn stage(tally: &mut Tally, name: &str, check: impl FnOnce() -> Result<bool>) {
    say(&format!("\n=== {name}"));
    let started = Instant::now();
    match check() {
        Ok(true) => tally.passed(),
        Ok(false) => tally.failed(name),
        Err(error) => tally.failed(&format!("{name}: {error:#}")),
    }
    say(&format!("--- {name}: {:.0} s", started.elapsed().as_secs_f64()));
}

/// One command that prints `test result:` lines.
fn tests(tally: &mut Tally, name: &str, call: Call) {
    say(&format!("\n=== {name}"));
    let started = Instant::now();
    let before = tally.counted_failures();
    match call.each_line(|line| tally.line(name, line)) {
        Ok(0) => {}
        // A binary that died printed no result.
        Ok(code) if tally.counted_failures() == before => {
            tally.failed(&format!("{name}: exit code {code} without a failed test"))
        }
        Ok(_) => {}
        Err(error) => tally.failed(&format!("{name}: {error:#}")),
    }
    say(&format!("--- {name}: {:.0} s", started.elapsed().as_secs_f64()));
}

fn finish(tally: &Tally) -> ExitCode {
    for line in tally.summary() {
        say(&line);
    }
    if tally.counted_failures() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
