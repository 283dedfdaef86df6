//! What the sandbox costs: policies, spawns and the sweep, each beside what it is compared with. `cargo xtask bench` shows them.
//!
//! Prints `name<TAB>least<TAB>median` lines, in milliseconds, of runs that take turns, so that a busy moment hits all of them.
//! Arguments choose parts by name.
#![cfg_attr(
    target_os = "linux",
    expect(
        clippy::print_stdout,
        clippy::unwrap_used,
        clippy::disallowed_methods,
        clippy::disallowed_types,
        reason = "a program of its own that also starts what it compares with"
    )
)]

#[cfg(target_os = "linux")]
fn main() {
    ash_sandbox::confine::intercept();
    linux::run();
}

#[cfg(not(target_os = "linux"))]
fn main() {
    ash_sandbox::confine::intercept();
}

#[cfg(target_os = "linux")]
mod linux {
    use std::{
        ffi::OsString,
        fs,
        os::unix::fs::symlink,
        path::{Path, PathBuf},
        process::Command as Process,
        time::{Duration, Instant},
    };

    use ash_sandbox::{
        BackendId, Cancel, Captures, Command, Confinement, Grants, Ground, Launcher, Mode, Policy,
        ReadLimits, Requirements, ResultsDir, Site, Stdio, explain,
    };

    /// Measures in a directory of its own.
    type Part = fn(&Path);

    pub(super) fn run() {
        let lab = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(lab.path()).unwrap();
        let parts: [(&str, Part); 5] = [
            ("stage", |_| stage()),
            ("policy", policies),
            ("landlock", landlock),
            ("bwrap", bwrap),
            ("sweep", sweep),
        ];
        // Names of parts, besides what cargo adds; none: all.
        let wanted: Vec<String> =
            std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
        for (name, part) in parts {
            if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
                part(&root.join(name));
            }
        }
    }

    fn line(name: &str, time: Measured) {
        let ms = |time: Duration| time.as_secs_f64() * 1000.0;
        println!("{name}\t{:.3}\t{:.3}", ms(time.least), ms(time.median));
    }

    /// The least is what the work itself takes; whatever else the machine does only adds to it.
    #[derive(Clone, Copy)]
    struct Measured {
        least: Duration,
        median: Duration,
    }

    /// Measures each over so many rounds, taking turns.
    fn measure<const N: usize>(rounds: usize, mut works: [&mut dyn FnMut(); N]) -> [Measured; N] {
        let mut times: [Vec<Duration>; N] = std::array::from_fn(|_| vec![]);
        for _ in 0..rounds {
            for (work, times) in works.iter_mut().zip(&mut times) {
                let begun = Instant::now();
                work();
                times.push(begun.elapsed());
            }
        }
        times.map(|mut times| {
            times.sort_unstable();
            Measured { least: times[0], median: times[times.len() / 2] }
        })
    }

    fn ground(root: &Path) -> Ground {
        let source = root.join("home/src");
        let results = source.join("results");
        fs::create_dir_all(&results).unwrap();
        Ground { cwd: source.clone(), source, output: None, targets: vec![], results }
    }

    fn resolve(site: &Site, ground: &Ground, program: &Path) -> Policy {
        let (needs, grants) = (Requirements::NONE, Grants::default());
        Policy::resolve("bench", &needs, site, ground, &grants, program, &[]).unwrap()
    }

    /// 200 entries of `PATH` and 500 tools of uv, over five Pythons.
    fn policies(root: &Path) {
        let ground = ground(root);
        let tools = root.join("home/.local/share/uv/tools");
        for number in 0..5 {
            let python = root.join(format!("home/.local/share/uv/python/v{number}"));
            for dir in ["bin", "lib/python3"] {
                fs::create_dir_all(python.join(dir)).unwrap();
            }
            fs::write(python.join("bin/python3"), "").unwrap();
        }
        for number in 0..500 {
            let bin = tools.join(format!("tool{number}/bin"));
            fs::create_dir_all(&bin).unwrap();
            let python = root.join(format!("home/.local/share/uv/python/v{}", number % 5));
            symlink(python.join("bin/python3"), bin.join("python")).unwrap();
        }
        let path = (0..200).map(|number| {
            let dir = root.join(format!("opt/package{number}/bin"));
            fs::create_dir_all(&dir).unwrap();
            dir
        });
        let path = std::env::join_paths(path.chain(["/usr/bin".into(), "/bin".into()])).unwrap();
        let variables: Vec<(OsString, OsString)> =
            vec![("HOME".into(), root.join("home").into()), ("PATH".into(), path)];
        let exe = std::env::current_exe().unwrap();
        let site = Site::gather(variables.clone(), &exe, &[]);
        let [gathered, resolved] = measure(
            51,
            [&mut || drop(Site::gather(variables.clone(), &exe, &[])), &mut || {
                drop(resolve(&site, &ground, Path::new("/bin/true")))
            }],
        );
        line("site", gathered);
        line("policy", resolved);
    }

    /// A directory to scan with nothing in it, and `true` to run there.
    struct Spawn {
        launcher: Launcher,
        site: Site,
        policy: Policy,
        command: Command,
    }

    impl Spawn {
        fn new(root: &Path) -> Self {
            let ground = ground(root);
            let variables = vec![
                ("HOME".into(), root.join("home").into()),
                ("PATH".into(), "/usr/bin:/bin".into()),
            ];
            let launcher =
                Launcher::with_executable(std::env::current_exe().unwrap()).with_standby();
            let site = Site::gather(variables, launcher.executable(), &[]);
            let policy = resolve(&site, &ground, Path::new("/bin/true"));
            let command = Command { program: "/bin/true".into(), args: vec![] };
            Self { launcher, site, policy, command }
        }

        /// Runs it, if this backend works here.
        fn under(&self, id: BackendId) -> Option<impl FnMut()> {
            let chosen = Confinement::choose(Mode::Only(id), &self.site, &self.launcher).ok()?;
            Some(move || {
                let prepared = chosen.confinement.prepare(&self.policy, &self.command).unwrap();
                let stdio = Stdio::Capture(Captures::default());
                let finished = self.launcher.run(prepared, stdio, None, &Cancel::new()).unwrap();
                assert_eq!(finished.exit.shell_code(), 0);
            })
        }
    }

    fn start(words: &[OsString]) {
        let ran = Process::new(&words[0]).args(&words[1..]).output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
    }

    /// A stage that has nothing to do: what each process of ash around a tool costs at least.
    fn stage() {
        let exe = std::env::current_exe().unwrap();
        let [empty] = measure(
            101,
            [&mut || {
                let ran = Process::new(&exe).args(["__confine", "nothing"]).output().unwrap();
                assert_eq!(ran.status.code(), Some(126), "{ran:?}");
            }],
        );
        line("stage", empty);
    }

    fn landlock(root: &Path) {
        let spawn = Spawn::new(root);
        let bare = ["/bin/true".into()];
        if let Some(mut confined) = spawn.under(BackendId::Landlock) {
            let times = measure(101, [&mut || start(&bare), &mut confined]);
            line("bare", times[0]);
            line("landlock", times[1]);
        }
    }

    fn bwrap(root: &Path) {
        let spawn = Spawn::new(root);
        let Spawn { launcher, site, policy, command } = &spawn;
        if let Some(mut confined) = spawn.under(BackendId::Bwrap) {
            let plan = explain(Mode::Only(BackendId::Bwrap), site, launcher, policy, command);
            let end = plan.command.iter().position(|word| word == "--").unwrap();
            let mut raw = plan.command[..=end].to_vec();
            raw.push("/bin/true".into());
            let times = measure(101, [&mut || start(&raw), &mut confined]);
            line("raw bwrap", times[0]);
            line("bwrap", times[1]);
        }
    }

    /// 100,000 files in 1,000 directories.
    fn sweep(root: &Path) {
        for dir in 0..1000 {
            let dir = root.join(format!("{}/{dir}", dir % 10));
            fs::create_dir_all(&dir).unwrap();
            for file in 0..100 {
                fs::write(dir.join(format!("file{file}")), "x").unwrap();
            }
        }
        let results = ResultsDir::open(root).unwrap();
        let find: PathBuf = "/usr/bin/find".into();
        // The same question to every file: its kind, its links, its mode.
        let arguments = ["-type", "l", "-o", "-links", "+2", "-type", "f", "-o", "-perm", "/6000"];
        let [found, swept] = measure(
            7,
            [
                &mut || {
                    let ran = Process::new(&find).arg(root).args(arguments).output().unwrap();
                    assert!(ran.status.success() && ran.stdout.is_empty(), "{ran:?}");
                },
                &mut || {
                    let swept = results.sweep(&ReadLimits::default()).unwrap();
                    assert_eq!((swept.removed, swept.failed), (0, 0));
                },
            ],
        );
        line("find", found);
        line("sweep", swept);
    }
}
