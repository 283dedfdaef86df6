//! The launcher: time, output, interruption, and what is left when its supervisor is killed.
//!
//! This program is its own stage, its own victim and its own test runner.

#[cfg(not(all(test, target_os = "linux")))]
fn main() {
    ash_sandbox::confine::intercept();
}

#[cfg(target_os = "linux")]
#[cfg(test)]
fn main() {
    ash_sandbox::confine::intercept();
    linux::intercept();
    let arguments = libtest_mimic::Arguments::from_args();
    libtest_mimic::run(&arguments, linux::trials()).exit();
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod linux {
    use std::{
        ffi::OsString,
        path::{Path, PathBuf},
        time::{Duration, Instant},
    };

    use ash_model::tool::Exit;
    use ash_sandbox::{
        Cancel, Captures, Command, Confinement, Finished, LaunchError, Launcher, Mode, Prepared,
        Site, Stdio, TrustedCall,
    };
    use libtest_mimic::Trial;

    /// Its name, and what it does.
    type Test = (&'static str, fn(&Lab));

    pub(super) fn trials() -> Vec<Trial> {
        let tests: [Test; 15] = [
            ("output_and_exit_code_arrive", output),
            ("what_goes_beyond_what_is_kept_is_counted", kept),
            ("a_flood_is_ended_and_does_not_grow_memory", flood),
            ("a_child_that_keeps_the_output_open_does_not_hold_it_up", held_open),
            ("a_command_that_takes_too_long_is_asked_to_end", timeout),
            ("interrupting_ends_it_soon_though_it_ignores_sigterm", interrupt),
            ("one_switch_ends_all_commands_and_starts_no_more", interrupt_all),
            ("a_killed_supervisor_is_an_error_and_leaves_nothing", lost_supervisor),
            ("a_killed_supervisor_leaves_nothing_in_a_container", lost_supervisor_in_container),
            ("a_program_that_is_not_there_cannot_start", missing),
            ("its_input_is_empty", no_input),
            ("many_commands_run_at_once", parallel),
            ("the_control_has_the_callers_environment_descriptors_and_signals", control),
            ("a_trusted_call_hands_on_lines_as_they_come", trusted),
            ("a_trusted_call_needs_an_absolute_path", trusted_relative),
        ];
        let trial = |name: String, test: fn(&Lab), launcher: fn() -> Launcher| {
            Trial::test(name, move || {
                test(&Lab::new(launcher()));
                Ok(())
            })
        };
        let ready = |(name, test): &Test| {
            trial(format!("with_standby::{name}"), *test, || launcher().with_standby())
        };
        let plain = |(name, test): &Test| trial((*name).to_owned(), *test, launcher);
        // It takes its time, of which nothing is the launcher's.
        let slow: Test = ("a_stopped_supervisor_is_given_up", stopped_supervisor);
        [plain(&slow)]
            .into_iter()
            .chain(tests.iter().flat_map(|test| [plain(test), ready(test)]))
            .collect()
    }

    struct Lab {
        _keep: tempfile::TempDir,
        work: PathBuf,
        launcher: Launcher,
        cancel: Cancel,
    }

    impl Lab {
        fn new(launcher: Launcher) -> Self {
            let keep = tempfile::tempdir().unwrap();
            let work = keep.path().canonicalize().unwrap();
            Self { _keep: keep, work, launcher, cancel: Cancel::new() }
        }

        fn mark(&self) -> String {
            self.work.file_name().unwrap().to_string_lossy().into_owned()
        }

        fn prepared(&self, argv: &[&str]) -> Prepared {
            let site = Site::gather(environment(), &std::env::current_exe().unwrap(), &[]);
            let off = Confinement::choose(Mode::Off, &site, &self.launcher).unwrap().confinement;
            let args = argv[1..].iter().map(OsString::from).collect();
            let command = Command { program: argv[0].into(), args };
            off.unconfined(&command, environment(), &self.work).unwrap()
        }

        fn run(
            &self,
            argv: &[&str],
            captures: Captures,
            timeout: Option<u64>,
        ) -> Result<Finished, LaunchError> {
            let timeout = timeout.map(Duration::from_millis);
            let prepared = self.prepared(argv);
            self.launcher.run(prepared, Stdio::Capture(captures), timeout, &self.cancel)
        }

        fn sh(&self, script: &str) -> Finished {
            self.run(&["/bin/sh", "-c", script], Captures::default(), None).unwrap()
        }

        /// Waits for a file, as a sign that the command is up.
        fn wait_for(&self, name: &str) {
            eventually(|| self.work.join(name).exists());
        }
    }

    fn launcher() -> Launcher {
        Launcher::with_executable(std::env::current_exe().unwrap())
    }

    fn environment() -> Vec<(OsString, OsString)> {
        [("HOME", "/nonexistent"), ("PATH", "/usr/bin:/bin")]
            .map(|(name, value)| (name.into(), value.into()))
            .to_vec()
    }

    #[track_caller]
    fn eventually(mut condition: impl FnMut() -> bool) {
        let begun = Instant::now();
        while !condition() {
            assert!(begun.elapsed() < Duration::from_secs(10), "it never happened");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Process numbers whose command line contains the text, this program aside.
    fn alive(mark: &str) -> Vec<i32> {
        let own = std::process::id().to_string();
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let named = entries.filter_map(|entry| entry.file_name().into_string().ok());
        named
            .filter(|name| *name != own)
            .filter(|name| {
                let line = std::fs::read(Path::new("/proc").join(name).join("cmdline"));
                line.is_ok_and(|line| line.windows(mark.len()).any(|part| part == mark.as_bytes()))
            })
            .filter_map(|name| name.parse().ok())
            .collect()
    }

    fn output(lab: &Lab) {
        let finished = lab.sh("echo out; echo err >&2; exit 3");
        assert_eq!(
            (finished.stdout.text().as_ref(), finished.stderr.text().as_ref(), finished.exit),
            ("out\n", "err\n", Exit::Code(3))
        );
        assert_eq!(lab.sh("kill -KILL $$").exit, Exit::Signal(9));
        assert!(!finished.timed_out && !finished.cancelled && !finished.overflowed);
    }

    fn kept(lab: &Lab) {
        let captures = Captures { keep: 1000, total: 1 << 30 };
        let argv = ["/bin/sh", "-c", "head -c 5000000 /dev/zero; head -c 2000 /dev/zero >&2"];
        let finished = lab.run(&argv, captures, None).unwrap();
        assert_eq!((finished.stdout.bytes.len(), finished.stdout.total), (1000, 5_000_000));
        assert_eq!((finished.stderr.bytes.len(), finished.stderr.total), (1000, 2000));
        assert!(finished.stdout.is_cut() && !finished.overflowed);
    }

    fn flood(lab: &Lab) {
        let captures = Captures { keep: 1000, total: 200_000_000 };
        let finished = lab.run(&["/usr/bin/yes"], captures, Some(60_000)).unwrap();
        assert!(finished.overflowed && !finished.timed_out, "{finished:?}");
        assert_eq!((finished.exit, finished.stdout.bytes.len()), (Exit::Signal(9), 1000));
        // What a busy machine reads before the kill arrives.
        assert!(finished.stdout.total < 500_000_000);
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
        assert!(peak < 100_000, "{peak} kB");
    }

    fn held_open(lab: &Lab) {
        let begun = Instant::now();
        let finished = lab.sh("setsid sh -c 'trap \"\" TERM; sleep 100' & echo done");
        assert_eq!(finished.stdout.text(), "done\n");
        assert!(finished.leftovers >= 1 && begun.elapsed() < Duration::from_secs(20));
    }

    fn timeout(lab: &Lab) {
        let argv = ["/bin/sh", "-c", "trap 'echo bye; exit 4' TERM; while :; do sleep 0.01; done"];
        let finished = lab.run(&argv, Captures::default(), Some(200)).unwrap();
        assert!(finished.timed_out);
        assert_eq!((finished.exit, finished.stdout.text().as_ref()), (Exit::Code(4), "bye\n"));
    }

    const STUBBORN: &str = "trap '' TERM; touch up-$1; while :; do sleep 0.01; done";

    fn interrupt(lab: &Lab) {
        let cancel = lab.cancel.clone();
        let begun = std::thread::scope(|scope| {
            let running = scope.spawn(|| {
                lab.run(&["/bin/sh", "-c", STUBBORN, "sh", "0"], Captures::default(), None)
            });
            lab.wait_for("up-0");
            let begun = Instant::now();
            cancel.cancel();
            let finished = running.join().unwrap().unwrap();
            assert!(finished.cancelled && finished.exit == Exit::Signal(9), "{finished:?}");
            begun
        });
        assert!((250..5000).contains(&begun.elapsed().as_millis()), "{:?}", begun.elapsed());
    }

    fn interrupt_all(lab: &Lab) {
        std::thread::scope(|scope| {
            let running = ["0", "1", "2"].map(|number| {
                scope.spawn(move || {
                    let argv = ["/bin/sh", "-c", STUBBORN, "sh", number];
                    lab.run(&argv, Captures::default(), None)
                })
            });
            for name in ["up-0", "up-1", "up-2"] {
                lab.wait_for(name);
            }
            lab.cancel.cancel();
            for finished in running {
                assert!(finished.join().unwrap().unwrap().cancelled);
            }
        });
        let late = lab.run(&["/bin/true"], Captures::default(), None);
        assert_eq!(late, Err(LaunchError::Cancelled));
    }

    /// A victim of its own runs this, since killing a supervisor by its parent's number would hit those of other tests.
    fn lost_supervisor(lab: &Lab) {
        let mark = lab.mark();
        let script = format!("{STUBBORN} # {mark}");
        let script = format!("setsid sh -c '{}' sh 1 & {script}", script.replace('\'', "'\\''"));
        std::thread::scope(|scope| {
            let running = scope.spawn(|| {
                lab.run(&["/bin/sh", "-c", &script, "sh", "0"], Captures::default(), None)
            });
            lab.wait_for("up-0");
            lab.wait_for("up-1");
            let tool = alive(&mark);
            assert!(tool.len() >= 2, "control: {tool:?}");
            let supervisor = tool.iter().map(|pid| parent(*pid)).find(|pid| parent(*pid) == own());
            let supervisor = rustix::process::Pid::from_raw(supervisor.unwrap()).unwrap();
            rustix::process::kill_process(supervisor, rustix::process::Signal::KILL).unwrap();
            assert_eq!(running.join().unwrap(), Err(LaunchError::SupervisorLost));
        });
        assert_eq!(alive(&mark), [0; 0]);
    }

    /// Where the host's processes can be signalled (Landlock before Linux 6.12), what is supervised can stop its supervisor.
    fn stopped_supervisor(lab: &Lab) {
        let mark = lab.mark();
        let script = format!("{STUBBORN} # {mark}");
        let timeout = Some(3000);
        let began = Instant::now();
        std::thread::scope(|scope| {
            let running = scope.spawn(|| {
                let argv = ["/bin/sh", "-c", &script, "sh", "0"];
                lab.run(&argv, Captures::default(), timeout)
            });
            lab.wait_for("up-0");
            let supervisor = parent(alive(&mark)[0]);
            assert_eq!(parent(supervisor), own());
            let supervisor = rustix::process::Pid::from_raw(supervisor).unwrap();
            rustix::process::kill_process(supervisor, rustix::process::Signal::STOP).unwrap();
            assert_eq!(running.join().unwrap(), Err(LaunchError::SupervisorLost));
        });
        assert!(began.elapsed() > Duration::from_secs(3), "it was given its time");
        assert_eq!(alive(&mark), [0; 0]);
    }

    /// A container's first process often belongs to a session of the outside, which inside has the number 0.
    fn lost_supervisor_in_container(lab: &Lab) {
        let unshare = "/usr/bin/unshare --user --map-root-user --pid --fork --mount-proc";
        let script = r#"cut -d' ' -f6 /proc/$$/stat; "$0" --exact "$1""#;
        let this = std::env::current_exe().unwrap();
        let test = "a_killed_supervisor_is_an_error_and_leaves_nothing";
        let mut argv: Vec<&str> = unshare.split(' ').collect();
        argv.extend(["/bin/sh", "-c", script, this.to_str().unwrap(), test]);
        let ended = lab.run(&argv, Captures::default(), None).unwrap();
        let seen = ended.stdout.text();
        assert!(seen.starts_with("0\n"), "control: {ended:?}");
        assert!(seen.contains("1 passed") && ended.exit == Exit::Code(0), "{ended:?}");
    }

    fn own() -> i32 {
        std::process::id().cast_signed()
    }

    fn parent(pid: i32) -> i32 {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let after_name = stat.rsplit(')').next().unwrap_or_default();
        after_name.split_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or(0)
    }

    fn missing(lab: &Lab) {
        let error = lab.run(&["/no/such/program"], Captures::default(), None).unwrap_err();
        assert!(
            matches!(&error, LaunchError::CannotStart { reason } if reason.contains("/no/such/program")),
            "{error}"
        );
        let nowhere = Launcher::with_executable("/no/such/ash".into());
        let error = nowhere.run(lab.prepared(&["/bin/true"]), Stdio::PassOn, None, &lab.cancel);
        assert!(matches!(error, Err(LaunchError::Supervisor { .. })), "{error:?}");
    }

    fn no_input(lab: &Lab) {
        assert_eq!(lab.sh("cat; echo end").stdout.text(), "end\n");
    }

    fn parallel(lab: &Lab) {
        std::thread::scope(|scope| {
            let running: Vec<_> = (0..16)
                .map(|number| {
                    scope.spawn(move || lab.sh(&format!("sleep 0.0{number}; echo {number}")))
                })
                .collect();
            for (number, finished) in running.into_iter().enumerate() {
                assert_eq!(finished.join().unwrap().stdout.text(), format!("{number}\n"));
            }
        });
    }

    /// `control ARG…` becomes the command without any sandbox.
    pub(super) fn intercept() {
        let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
        if arguments.first().is_some_and(|first| first == "control") {
            panic!("{}", ash_sandbox::exec_unconfined(&arguments[1..]));
        }
    }

    fn control(lab: &Lab) {
        let exe = std::env::current_exe().unwrap().display().to_string();
        let script = "grep SigIgn /proc/self/status; echo $SECRET; cat; cat <&9";
        let outer = format!("SECRET=kept exec {exe} control sh -c '{script}' 9<inherited <typed");
        std::fs::write(lab.work.join("inherited"), "inherited\n").unwrap();
        std::fs::write(lab.work.join("typed"), "typed\n").unwrap();
        let finished = lab.sh(&outer);
        let text = finished.stdout.text();
        let (mask, rest) = text.split_once('\n').unwrap();
        let mask = u64::from_str_radix(mask.split_whitespace().last().unwrap(), 16).unwrap();
        assert_eq!((mask & 1 << 12, rest), (0, "kept\ntyped\ninherited\n"), "{finished:?}");
    }

    fn trusted(lab: &Lab) {
        let uv = lab.work.join("uv");
        std::fs::write(&uv, "#!/bin/sh\necho \"$1\"\necho second >&2\npwd\n").unwrap();
        std::fs::set_permissions(&uv, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let call = TrustedCall::ToolVersion { installer: uv };
        let mut lines = Vec::new();
        let mut on_line = |line: &str| lines.push(line.to_owned());
        let finished = lab
            .launcher
            .trusted(
                &call,
                environment(),
                &lab.work,
                Captures::default(),
                None,
                &lab.cancel,
                &mut on_line,
            )
            .unwrap();
        assert_eq!(finished.exit, Exit::Code(0));
        lines.sort();
        assert_eq!(
            lines,
            ["--version".to_owned(), lab.work.display().to_string(), "second".to_owned()]
        );
    }

    fn trusted_relative(lab: &Lab) {
        let call = TrustedCall::ToolVersion { installer: "uv".into() };
        let ran = lab.launcher.trusted(
            &call,
            environment(),
            &lab.work,
            Captures::default(),
            None,
            &lab.cancel,
            &mut |_| {},
        );
        assert!(ran.is_err_and(|error| error.to_string().contains("absolute")));
    }
}
