//! The sandbox tests once more, as a user without any privilege: namespaces, Landlock and file modes behave differently for root.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::{STAGE_LIMIT, Site, Tally, stage, tests};
use crate::{
    machine,
    shell::{Call, cargo, say},
    workspace::{self, Executable},
};

/// The user this makes.
const USER: &str = "ash-test";

/// Packages all of whose tests depend on who runs them.
const PACKAGES: &[&str] = &["ash-sandbox"];

/// Test programs of other packages that do, by a part of their names.
const NAMES: &[&str] = &["hostile", "works", "lifecycle", "sandbox", "scan"];

/// Makes the user, if need be, and runs the tests as that user.
pub(super) fn run(tally: &mut Tally, site: &Site) -> Result<()> {
    let mut programs = Vec::new();
    stage(tally, "test programs for an ordinary user", || {
        make_user()?;
        programs = build()?;
        Ok(!programs.is_empty())
    });
    for program in &programs {
        tests(
            tally,
            &format!("{} {} as {USER}", program.package, program.name),
            as_user(site, program)?,
        );
    }
    Ok(())
}

fn make_user() -> Result<()> {
    if Call::new("id").arg(USER).works() {
        return Ok(());
    }
    Call::new("useradd").args(["--create-home", "--shell", "/bin/sh", USER]).run()
}

/// The test programs, in a place that the user can reach.
fn build() -> Result<Vec<Executable>> {
    let root = workspace::root();
    let mut command = cargo().args(["test", "--locked", "--workspace", "--no-run"]);
    let built = if machine::is_open_to_all(&root) {
        workspace::build(command.cwd(&root))?
    } else {
        // The paths of the sources are compiled into the tests, so a copy has to be built anew.
        let copy = PathBuf::from("/opt/ash-test/source");
        say(&format!(
            "`{}` is closed to other users; building a copy in {}",
            root.display(),
            copy.display()
        ));
        copy_tree(&root, &copy)?;
        command = command.env("CARGO_TARGET_DIR", "/opt/ash-test/target");
        workspace::build(command.cwd(&copy))?
    };
    let chosen: Vec<Executable> = built.into_iter().filter(is_wanted).collect();
    if let Some(target) = chosen.first().and_then(|program| program.path.ancestors().nth(3)) {
        // The tests start `target/debug/ash` and the hostile program too. Only programs are opened, the incremental caches stay closed.
        let script = "cd \"$1\" && chmod a+rx . debug debug/deps debug/build debug/ash* debug/deps/* 2>/dev/null; chmod -R a+rX debug/build/ash-testkit-*; :";
        Call::new("sh").args(["-c", script, "sh"]).arg(target).quiet().run()?;
    }
    Ok(chosen)
}

fn is_wanted(program: &Executable) -> bool {
    program.is_test
        && (PACKAGES.contains(&program.package.as_str())
            || NAMES.iter().any(|part| program.kind == "test" && program.name.contains(part)))
}

/// The files git knows and those it does not ignore.
fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to).with_context(|| format!("cannot create {}", to.display()))?;
    let script = "cd \"$1\" && git -c safe.directory='*' ls-files -z --cached --others --exclude-standard | tar --null --files-from=- --create --ignore-failed-read | tar --extract --no-same-owner --directory \"$2\" && chmod -R a+rX \"$2\"";
    Call::new("sh").args(["-ec", script, "sh"]).arg(from).arg(to).quiet().run()
}

fn as_user(site: &Site, program: &Executable) -> Result<Call> {
    let home = format!("/home/{USER}");
    let path = std::env::var("PATH").unwrap_or_default();
    // Directories in root's home are of no use to the user.
    let path: Vec<&str> =
        path.split(':').filter(|dir| machine::is_open_to_all(Path::new(dir))).collect();
    let mut call = Call::new("timeout").args(["--kill-after=30", STAGE_LIMIT, "setpriv"]);
    call = call.args([
        &format!("--reuid={USER}"),
        &format!("--regid={USER}"),
        "--init-groups",
        "--inh-caps=-all",
    ]);
    call = call.args([
        "env",
        "--ignore-environment",
        &format!("HOME={home}"),
        &format!("USER={USER}"),
        &format!("PATH={}", path.join(":")),
    ]);
    for (name, value) in site.variables() {
        call = call.arg(format!("{name}={value}"));
    }
    call = call
        .arg(format!("CARGO_MANIFEST_DIR={}", program.package_dir.display()))
        // Snapshots are found from the workspace's root, for which insta would ask a cargo that this user does not have.
        .arg(format!("INSTA_WORKSPACE_ROOT={}", root_of(&program.package_dir).display()))
        .arg("INSTA_UPDATE=no")
        .arg("TERM=dumb")
        .arg("LANG=C.UTF-8");
    Ok(call.arg(&program.path).cwd(&program.package_dir))
}

/// The workspace of a package in `crates/NAME`, `xtask` or the like: the nearest directory above with a lock file.
fn root_of(package: &Path) -> &Path {
    package.ancestors().find(|dir| dir.join("Cargo.lock").is_file()).unwrap_or(package)
}
