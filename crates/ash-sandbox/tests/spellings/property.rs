//! The property, on policies and on what a command can really write.

use std::{
    cell::Cell,
    collections::BTreeMap,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::{Command as Program, ExitCode},
    time::Duration,
};

use ash_sandbox::{
    BackendId, Cancel, Captures, Command, Confinement, Grants, Ground, Launcher, Mode, Policy,
    Requirements, Site, Stdio, landlock_abi, refuse_output,
};
use libtest_mimic::{Completion, Failed, Trial};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

use crate::world::{Case, Identity, SECRET, World, cases, identity, lies_in, links_on_the_way};

/// Set for the copy of this program that runs in a mount namespace of its own: which property.
const IN_NAMESPACE: &str = "ASH_TEST_SPELLINGS";
const NAMESPACE: [&str; 3] = ["--user", "--map-root-user", "--mount"];

/// Tries everything that leaves a trace, in every directory it is given.
const WRITE_EVERYWHERE: &str = r#"
for d; do
  echo x > "$d/planted"; mkdir "$d/planted-dir"; ln -s / "$d/planted-link"; ln "$d/file" "$d/planted-hard"
  cat "$d/.ssh/key"; mv "$d/file" "$d/moved"; printf '' > "$d/file"; rm -f "$d/file"; rmdir "$d"
done 2>/dev/null
echo done"#;

/// How many cases, and whether a command writes in each.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    cases: u32,
    writes: bool,
}

const KINDS: [Kind; 2] = [
    Kind {
        name: "no_spelling_makes_a_writable_path_outside_the_results",
        cases: 256,
        writes: false,
    },
    Kind { name: "nothing_outside_the_results_is_really_written", cases: 40, writes: true },
];

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials =
        vec![Trial::test("without_a_sandbox_the_same_command_writes_everywhere", control)];
    for kind in KINDS {
        trials.push(Trial::ignorable_test(kind.name, move || {
            if kind.writes && landlock_abi() == 0 {
                return Ok(Completion::ignored_with("there is no Landlock"));
            }
            holds(kind, false)?;
            Ok(Completion::Completed)
        }));
        trials.push(Trial::ignorable_test(format!("{}_with_mounts", kind.name), move || {
            with_mounts(kind)
        }));
    }
    trials
}

/// In the copy of this program: runs its property.
pub(crate) fn in_the_namespace() -> Option<ExitCode> {
    let name = std::env::var(IN_NAMESPACE).ok()?;
    let kind = KINDS.into_iter().find(|kind| kind.name == name).unwrap();
    let failed = holds(kind, true).err();
    assert!(
        failed.is_none(),
        "{}",
        failed.and_then(|failed| failed.message().map(str::to_owned)).unwrap_or_default()
    );
    Some(ExitCode::SUCCESS)
}

/// Mounts need a namespace, and a namespace a process of its own: this program once more.
fn with_mounts(kind: Kind) -> Result<Completion, Failed> {
    if kind.writes && landlock_abi() == 0 {
        return Ok(Completion::ignored_with("there is no Landlock"));
    }
    let unshare = |program: &Path| {
        let mut command = Program::new("unshare");
        command.args(NAMESPACE).arg("--").arg(program);
        command
    };
    let probe = unshare(Path::new("true")).output();
    match probe {
        Ok(output) if output.status.success() => {}
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Ok(Completion::ignored_with(format!("no mount namespace: {said}")));
        }
        Err(error) => return Ok(Completion::ignored_with(format!("no mount namespace: {error}"))),
    }
    let output = unshare(&std::env::current_exe()?).env(IN_NAMESPACE, kind.name).output()?;
    if output.status.success() {
        return Ok(Completion::Completed);
    }
    Err(String::from_utf8_lossy(&output.stderr).into_owned().into())
}

fn holds(kind: Kind, with_mounts: bool) -> Result<(), Failed> {
    let config = Config { cases: kind.cases, failure_persistence: None, ..Config::default() };
    // Another seed each time would be another test each time: a failure must come back.
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let accepted = Cell::new(0);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let outcome = runner.run(&cases(), |case| {
        let world = World::new(&case, with_mounts);
        if let Some(policy) = resolved(&world, &case)? {
            accepted.set(accepted.get() + 1);
            judge(&world, &case, &policy)?;
            if kind.writes {
                write_everywhere(&world, &case, &policy)?;
            }
        }
        Ok(())
    });
    outcome.map_err(|error| error.to_string())?;
    let enough = accepted.get() * 5 > kind.cases;
    enough
        .then_some(())
        .ok_or_else(|| format!("only {} cases came to a policy", accepted.get()).into())
}

fn site(world: &World) -> Site {
    let variables = [("HOME", world.at("home").into()), ("PATH", OsString::from("/usr/bin:/bin"))];
    let variables = variables.map(|(name, value)| (name.into(), value)).to_vec();
    Site::gather(variables, &std::env::current_exe().unwrap(), &[])
}

/// What a scan does with these paths: refuse the output, make the results directory, decide. `None`: refused.
fn resolved(world: &World, case: &Case) -> Result<Option<Policy>, TestCaseError> {
    let ground = Ground {
        source: world.at(&case.source),
        output: case.output.as_ref().map(|output| world.at(output)),
        targets: vec![world.at(&case.target)],
        results: world.at(&case.results),
        cwd: world.at(&case.cwd),
    };
    if let Some(output) = &ground.output
        && refuse_output(&ground.source, output).is_err()
    {
        return Ok(None);
    }
    // A directory that cannot be made has no policy either.
    if fs::create_dir_all(&ground.results).is_err() {
        return Ok(None);
    }
    let spelled = |path: &str| vec![world.at(path).to_str().unwrap().to_owned().into()];
    let needs = Requirements {
        read_paths: spelled(&case.read),
        cache_paths: spelled(&case.cache),
        cache_env: vec!["MY_CACHE".into()],
        ..Requirements::NONE
    };
    let grants = Grants { extra_read_paths: vec![world.at(&case.read)], ..Grants::default() };
    let shell = Path::new("/bin/sh");
    Ok(Policy::resolve("x", &needs, &site(world), &ground, &grants, shell, &[]).ok())
}

/// What is writable is the directory that was named, and no link of the tree or of the output led to it.
fn judge(world: &World, case: &Case, policy: &Policy) -> Result<(), TestCaseError> {
    let results = world.at(&case.results);
    let named = identity(&results);
    let writable: Vec<Option<Identity>> =
        policy.writable.iter().map(|path| identity(path)).collect();
    let fail = |reason: String| Err(TestCaseError::fail(reason));
    if named.is_none() || writable != [named] {
        return fail(format!("{:?} is writable, {results:?} was named", policy.writable));
    }
    let hostile =
        [Some(world.at(&case.source)), case.output.as_ref().map(|output| world.at(output))];
    let hostile: Vec<Identity> =
        hostile.into_iter().flatten().filter_map(|dir| identity(&dir)).collect();
    for dir in links_on_the_way(&results) {
        if hostile.iter().any(|place| lies_in(&dir, *place)) {
            return fail(format!("{results:?} goes through a link in {dir:?}"));
        }
    }
    for path in policy.read_only.iter().chain(&policy.caches) {
        let is_results = named.is_some_and(|results| lies_in(path, results));
        if is_results || path.canonicalize().is_ok_and(|real| real != *path) {
            return fail(format!("{path:?} is readable: it is not real, or lies in the results"));
        }
    }
    Ok(())
}

/// Runs a command that tries to write everywhere, and compares the world.
fn write_everywhere(world: &World, case: &Case, policy: &Policy) -> Result<(), TestCaseError> {
    let results = identity(&world.at(&case.results)).unwrap();
    let before = world.outside(results);
    let said = run(Mode::Only(BackendId::Landlock), world, case, policy);
    let after = world.outside(results);
    if !said.ends_with("done\n") {
        return Err(TestCaseError::fail(format!("the command did not run to its end: {said}")));
    }
    if !policy.writable[0].join("planted").exists() {
        return Err(TestCaseError::fail("the results cannot be written to"));
    }
    if said.contains(SECRET) && !shows_the_home(world, case) {
        return Err(TestCaseError::fail(format!("the key in the home can be read: {policy:?}")));
    }
    if before == after {
        return Ok(());
    }
    let changed: BTreeMap<_, _> =
        after.iter().filter(|(path, what)| before.get(*path) != Some(what)).collect();
    let gone: Vec<&PathBuf> = before.keys().filter(|path| !after.contains_key(*path)).collect();
    Err(TestCaseError::fail(format!(
        "outside {:?}: changed {changed:?}, gone {gone:?}",
        policy.writable
    )))
}

/// Whether the operator asked for the home to be scanned, or to hold the results.
fn shows_the_home(world: &World, case: &Case) -> bool {
    let key = world.at("home/.ssh").canonicalize().unwrap();
    let scanned =
        [Some(&case.source), Some(&case.target), Some(&case.results), case.output.as_ref()];
    let mut scanned = scanned.into_iter().flatten().filter_map(|path| identity(&world.at(path)));
    scanned.any(|dir| lies_in(&key, dir))
}

/// Runs the command in a mode and returns what it printed.
fn run(mode: Mode, world: &World, case: &Case, policy: &Policy) -> String {
    let launcher = Launcher::with_executable(std::env::current_exe().unwrap());
    let confinement = Confinement::choose(mode, &site(world), &launcher).unwrap().confinement;
    let spelled = [&case.source, &case.results, &case.cwd, &case.target, &case.read, &case.cache];
    let mut args: Vec<OsString> = ["-c", WRITE_EVERYWHERE, "sh"].map(OsString::from).to_vec();
    args.extend(world.directories().into_iter().map(OsString::from));
    args.extend(spelled.map(|path| world.at(path).into()));
    args.extend(case.output.iter().map(|path| OsString::from(world.at(path))));
    let command = Command { program: "/bin/sh".into(), args };
    let prepared = if mode == Mode::Off {
        let environment = vec![("PATH".into(), "/usr/bin:/bin".into())];
        confinement.unconfined(&command, environment, world.root()).unwrap()
    } else {
        confinement.prepare(policy, &command).unwrap()
    };
    let limit = Some(Duration::from_secs(60));
    let finished =
        launcher.run(prepared, Stdio::Capture(Captures::default()), limit, &Cancel::new()).unwrap();
    format!("{:?} {}{}", finished.exit, finished.stderr.text(), finished.stdout.text())
}

/// The same command without a sandbox changes the world.
fn control() -> Result<(), Failed> {
    let case = Case::plain();
    let world = World::new(&case, false);
    let policy = resolved(&world, &case).unwrap().unwrap();
    let results = identity(&world.at(&case.results)).unwrap();
    let before = world.outside(results);
    let said = run(Mode::Off, &world, &case, &policy);
    let after = world.outside(results);
    assert_ne!(before, after);
    assert!(said.contains(SECRET));
    assert!(world.at("victim/planted").exists() && !world.at("victim/file").exists());
    Ok(())
}
