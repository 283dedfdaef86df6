//! Each backend that works on this machine, end to end: what a command under a policy can and cannot do.
//!
//! This program is its own stage and its own test runner.
#![cfg_attr(
    unix,
    expect(
        clippy::unwrap_used,
        clippy::print_stderr,
        reason = "a test that cannot be set up fails, and a skip says why"
    )
)]

#[cfg(unix)]
fn main() {
    ash_sandbox::confine::intercept();
    let arguments = libtest_mimic::Arguments::from_args();
    libtest_mimic::run(&arguments, unix::trials()).exit();
}

#[cfg(not(unix))]
fn main() {
    ash_sandbox::confine::intercept();
}

#[cfg(unix)]
mod unix {
    use std::{
        ffi::OsString,
        fs,
        os::unix::fs::{PermissionsExt, symlink},
        path::{Path, PathBuf},
    };

    use ash_model::{
        evidence::Tier,
        requirements::{Requirements, texts},
        tool::Exit,
    };
    use ash_sandbox::{
        BackendId, Cancel, Captures, Command, Confinement, Finished, Grants, Ground, LaunchError,
        Launcher, Mode, Policy, Site, Stdio,
    };
    use libtest_mimic::{Failed, Trial};

    type Outcome = Result<(), Failed>;
    type Test = fn(Column) -> Outcome;

    /// A backend as it is found on `PATH`; the overlays of a newer bubblewrap make it another one.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Column {
        Bwrap,
        BwrapOverlay,
        Firejail,
        Landlock,
    }

    impl Column {
        const ALL: [Self; 4] = [Self::Bwrap, Self::BwrapOverlay, Self::Firejail, Self::Landlock];

        const fn id(self) -> BackendId {
            match self {
                Self::Bwrap | Self::BwrapOverlay => BackendId::Bwrap,
                Self::Firejail => BackendId::Firejail,
                Self::Landlock => BackendId::Landlock,
            }
        }

        const fn name(self) -> &'static str {
            match self {
                Self::BwrapOverlay => "bwrap-overlay",
                other => other.id().as_str(),
            }
        }

        /// `PATH` with the directory of the newer bubblewrap first, where that is what is tested.
        fn path(self, entries: &[PathBuf]) -> OsString {
            let newer = (self == Self::BwrapOverlay).then(newer_bwrap).flatten();
            std::env::join_paths(newer.iter().chain(entries)).unwrap()
        }
    }

    /// The directory of a bubblewrap that can overlay, such as 0.11, beside the system's own.
    fn newer_bwrap() -> Option<PathBuf> {
        std::env::var_os("ASH_TEST_OVERLAY_BWRAP").filter(|dir| !dir.is_empty()).map(PathBuf::from)
    }

    pub(super) fn trials() -> Vec<Trial> {
        let mut trials = vec![
            Trial::test("mode_off_is_the_control", mode_off_is_the_control),
            Trial::test(
                "a_backend_inside_the_scanned_tree_is_not_used",
                a_backend_inside_the_scanned_tree_is_not_used,
            ),
            Trial::test(
                "a_fake_firejail_that_only_runs_the_command_is_unavailable",
                a_fake_firejail_is_unavailable,
            ),
            Trial::test(
                "a_failing_bwrap_is_started_once_and_its_words_are_the_reason",
                a_failing_bwrap_is_started_once,
            ),
            Trial::test("the_status_lists_every_backend_in_order", the_status_lists_every_backend),
        ];
        for column in Column::ALL {
            let caches: (&str, Test) = if column == Column::BwrapOverlay {
                ("lets_caches_be_written_and_throws_that_away", overlays_caches)
            } else {
                ("keeps_caches_as_they_are_and_gives_private_ones", keeps_caches)
            };
            let tests: [(&str, Test); 14] = [
                caches,
                ("hides_the_home_and_what_lies_beside_the_source", hides_the_home),
                ("lets_only_the_results_be_written", lets_only_the_results_be_written),
                ("hides_host_secrets_from_root", hides_host_secrets),
                ("protects_kernel_controls", protects_kernel_controls),
                ("finds_tools_at_their_usual_paths", finds_tools),
                ("has_a_private_temporary_directory", has_a_private_temporary_directory),
                ("passes_the_exit_code_and_starts_in_the_working_directory", passes_the_exit_code),
                ("keeps_spelled_paths_working", keeps_spelled_paths_working),
                ("shows_links_of_the_operator_and_nothing_more_for_them", shows_links),
                ("shows_what_is_granted_in_every_place", shows_granted_places),
                ("shows_a_scanned_home", shows_a_scanned_home),
                ("has_evidence_of_what_was_applied", has_evidence),
                ("takes_more_paths_than_fit_on_a_command_line", takes_many_paths),
            ];
            for (name, test) in tests {
                let trial = Trial::test(format!("{}_{name}", column.name()), move || test(column));
                // A machine without the backend says so in the list instead of passing.
                trials.push(trial.with_ignored_flag(!available(column)));
            }
        }
        trials
    }

    fn launcher() -> Launcher {
        Launcher::with_executable(std::env::current_exe().unwrap())
    }

    fn operator() -> Vec<(OsString, OsString)> {
        [("HOME", "/root"), ("PATH", "/usr/bin:/bin")]
            .map(|(name, value)| (name.into(), value.into()))
            .to_vec()
    }

    fn available(column: Column) -> bool {
        let reason = match column {
            Column::BwrapOverlay if newer_bwrap().is_none() => {
                "`ASH_TEST_OVERLAY_BWRAP` names no directory of a bubblewrap with overlays"
                    .to_owned()
            }
            _ => match works(column) {
                Ok(()) => return true,
                Err(reason) => reason,
            },
        };
        let required = std::env::var("ASH_REQUIRE_BACKENDS").unwrap_or_default();
        assert!(
            !required.split(',').any(|name| name == column.name()),
            "{} is required: {reason}",
            column.name()
        );
        eprintln!("{}: {reason}", column.name());
        false
    }

    fn works(column: Column) -> Result<(), String> {
        let path = column.path(&["/usr/bin".into(), "/bin".into()]);
        let variables = vec![("HOME".into(), "/root".into()), ("PATH".into(), path)];
        let site = Site::gather(variables, &std::env::current_exe().unwrap(), &[]);
        let statuses = Confinement::statuses(&site, &launcher());
        let status =
            statuses.into_iter().find(|status| status.name == column.id().as_str()).unwrap();
        match (status.reason, column, status.overlay) {
            (Some(reason), _, _) => Err(reason),
            (None, Column::BwrapOverlay, Some(false)) => Err("it cannot overlay".to_owned()),
            (None, ..) => Ok(()),
        }
    }

    /// A made-up machine: a home with a secret, a repository in it, the default output.
    struct Lab {
        _dir: tempfile::TempDir,
        root: PathBuf,
        home: PathBuf,
        source: PathBuf,
        needs: Requirements,
        path: Vec<PathBuf>,
        variables: Vec<(OsString, OsString)>,
    }

    impl Lab {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let root = fs::canonicalize(dir.path()).unwrap();
            for sub in ["home/.ssh", "home/src/repo/.ash/ash_output/scanners/x", "beside"] {
                fs::create_dir_all(root.join(sub)).unwrap();
            }
            for file in [
                "home/.ssh/id_rsa",
                "home/src/repo/main.py",
                "beside/file",
                "home/src/repo/.ash/ash_output/report",
            ] {
                fs::write(root.join(file), "content").unwrap();
            }
            let (home, source) = (root.join("home"), root.join("home/src/repo"));
            let path = vec!["/usr/bin".into(), "/bin".into()];
            Self {
                _dir: dir,
                root,
                home,
                source,
                needs: Requirements::NONE,
                path,
                variables: vec![],
            }
        }

        fn results(&self) -> PathBuf {
            self.source.join(".ash/ash_output/scanners/x")
        }

        fn site(&self, column: Option<Column>) -> Site {
            let mut variables = self.variables.clone();
            variables.push(("HOME".into(), self.home.clone().into()));
            let path = column.unwrap_or(Column::Bwrap).path(&self.path);
            variables.push(("PATH".into(), path));
            Site::gather(variables, &std::env::current_exe().unwrap(), &[])
        }

        fn ground(&self) -> Ground {
            Ground {
                source: self.source.clone(),
                output: Some(self.source.join(".ash/ash_output")),
                targets: vec![],
                results: self.results(),
                cwd: self.source.clone(),
            }
        }

        fn run(
            &self,
            column: Column,
            program: &str,
            args: &[&str],
        ) -> Result<Finished, LaunchError> {
            self.run_on(column, &self.ground(), program, args)
        }

        fn run_on(
            &self,
            column: Column,
            ground: &Ground,
            program: &str,
            args: &[&str],
        ) -> Result<Finished, LaunchError> {
            let site = self.site(Some(column));
            let chosen = Confinement::choose(Mode::Only(column.id()), &site, &launcher()).unwrap();
            let program = PathBuf::from(program);
            let policy =
                Policy::resolve("x", &self.needs, &site, ground, &Grants::default(), &program, &[])
                    .unwrap();
            let command = Command { program, args: args.iter().map(OsString::from).collect() };
            let prepared = chosen.confinement.prepare(&policy, &command).unwrap();
            launcher().run(prepared, Stdio::Capture(Captures::default()), None, &Cancel::new())
        }

        /// Runs a shell script and returns what it printed.
        fn sh(&self, column: Column, script: &str) -> String {
            let finished = self.run(column, "/bin/sh", &["-c", script]).unwrap();
            finished.stdout.text().trim().to_owned()
        }

        /// The same without a sandbox.
        fn bare(&self, script: &str) -> String {
            let site = self.site(None);
            let off = Confinement::choose(Mode::Off, &site, &launcher()).unwrap().confinement;
            let command =
                Command { program: "/bin/sh".into(), args: vec!["-c".into(), script.into()] };
            let prepared = off.unconfined(&command, operator(), &self.source).unwrap();
            let finished = launcher()
                .run(prepared, Stdio::Capture(Captures::default()), None, &Cancel::new())
                .unwrap();
            finished.stdout.text().trim().to_owned()
        }

        fn program(&self, path: &str, text: &str) -> PathBuf {
            let file = self.root.join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, text).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
            file
        }

        fn fake_site(&self, name: &str, text: &str) -> Site {
            self.program(&format!("fake/{name}"), text);
            fs::set_permissions(self.root.join("fake"), fs::Permissions::from_mode(0o755)).unwrap();
            let path = std::env::join_paths([self.root.join("fake"), "/usr/bin".into()]).unwrap();
            Site::gather(
                vec![("PATH".into(), path), ("HOME".into(), "/root".into())],
                &std::env::current_exe().unwrap(),
                &[],
            )
        }
    }

    fn is(actual: &str, expected: &str) -> Outcome {
        if actual == expected {
            Ok(())
        } else {
            Err(format!("expected `{expected}`, got `{actual}`").into())
        }
    }

    fn tries(paths: &[&Path], test: &str) -> String {
        paths
            .iter()
            .map(|path| {
                format!("({test} '{}') 2>/dev/null && echo yes || echo no;", path.display())
            })
            .collect()
    }

    fn hides_the_home(column: Column) -> Outcome {
        let lab = Lab::new();
        let (secret, beside, proc) = (
            lab.home.join(".ssh/id_rsa"),
            lab.root.join("beside/file"),
            format!("/proc/self/root{}/.ssh/id_rsa", lab.home.display()),
        );
        symlink(&secret, lab.results().join("link")).unwrap();
        let link = lab.results().join("link");
        let script = tries(
            &[&secret, &beside, Path::new(&proc), &link, &lab.source.join("main.py")],
            "cat >/dev/null <",
        );
        is(&lab.bare(&script), "yes\nyes\nyes\nyes\nyes")?;
        is(&lab.sh(column, &script), "no\nno\nno\nno\nyes")
    }

    fn lets_only_the_results_be_written(column: Column) -> Outcome {
        let lab = Lab::new();
        let report = lab.source.join(".ash/ash_output/report");
        let script = tries(
            &[
                &lab.source.join("main.py"),
                &report,
                &lab.source.join(".git-hook"),
                Path::new("/etc/planted"),
                &lab.results().join("out"),
            ],
            "echo x >",
        );
        is(&lab.sh(column, &script), "no\nno\nno\nno\nyes")?;
        is(&fs::read_to_string(lab.source.join("main.py"))?, "content")?;
        is(&fs::read_to_string(lab.results().join("out"))?, "x\n")?;
        is(&lab.bare(&tries(&[&report], "echo x >")), "yes")
    }

    fn hides_host_secrets(column: Column) -> Outcome {
        let lab = Lab::new();
        let script =
            tries(&[Path::new("/etc/shadow"), Path::new("/etc/passwd")], "cat >/dev/null <");
        is(&lab.sh(column, &script), "no\nyes")
    }

    fn protects_kernel_controls(column: Column) -> Outcome {
        let lab = Lab::new();
        let before = fs::read_to_string("/proc/sys/kernel/core_pattern")?;
        let script = tries(&[Path::new("/proc/sys/kernel/core_pattern")], "echo core >");
        is(&lab.sh(column, &script), "no")?;
        is(&fs::read_to_string("/proc/sys/kernel/core_pattern")?, &before)
    }

    fn keeps_caches(column: Column) -> Outcome {
        let mut lab = Lab::new();
        let cache = lab.home.join(".cache/grype");
        fs::create_dir_all(&cache)?;
        fs::write(cache.join("db"), "database")?;
        lab.needs = Requirements {
            cache_paths: texts(&["~/.cache/grype"]),
            cache_env: texts(&["npm_config_cache"]),
            ..Requirements::NONE
        };
        lab.variables = vec![("NPM_CONFIG_CACHE".into(), "/host".into())];
        let script = "cat ~/.cache/grype/db; echo; (echo poison > ~/.cache/grype/db) 2>/dev/null; env | grep -i npm_config; ls -A $npm_config_cache; echo x > $npm_config_cache/new && echo wrote";
        let printed = lab.sh(column, script);
        let lines: Vec<&str> = printed.lines().collect();
        let private =
            format!("npm_config_cache={}", lab.results().join(".sandbox-cache-").display());
        if !(lines.len() == 3
            && lines[0] == "database"
            && lines[1].starts_with(&private)
            && lines[2] == "wrote")
        {
            return Err(format!("{lines:?}").into());
        }
        is(&fs::read_to_string(cache.join("db"))?, "database")?;
        is(&fs::read_dir(lab.results())?.count().to_string(), "0")
    }

    fn overlays_caches(column: Column) -> Outcome {
        let mut lab = Lab::new();
        let cache = lab.home.join(".cache/grype");
        fs::create_dir_all(cache.join("v6"))?;
        fs::write(cache.join("db"), "database")?;
        fs::write(cache.join("v6/index"), "index")?;
        lab.needs = Requirements { cache_paths: texts(&["~/.cache/grype"]), ..Requirements::NONE };
        let script = "cd ~/.cache/grype && cat db && echo poison > db && echo x > new && rm -r v6 && mkdir v7 && cat db && ls";
        // Each spawn starts from what the host has.
        for _ in 0..2 {
            let finished = lab.run(column, "/bin/sh", &["-c", script])?;
            is(&finished.stdout.text(), "databasepoison\ndb\nnew\nv7\n")?;
            let details = finished.evidence.details.ok_or("no details")?;
            is(&format!("{:?}", details.caches[0].mode), "Overlay")?;
        }
        is(&fs::read_to_string(cache.join("db"))?, "database")?;
        is(&fs::read_to_string(cache.join("v6/index"))?, "index")?;
        is(&fs::read_dir(&cache)?.count().to_string(), "2")?;
        is(&fs::read_dir(lab.results())?.count().to_string(), "0")
    }

    fn finds_tools(column: Column) -> Outcome {
        let mut lab = Lab::new();
        // A uv-like layout: a link in ~/.local/bin, the environment elsewhere, an interpreter of its own prefix.
        let shell = lab.program("home/.pythons/v3/bin/shell", "#!/bin/sh\nexec /bin/sh \"$@\"\n");
        lab.program(
            "home/.local/share/tools/bandit/bin/bandit",
            &format!("#!{}\necho ran $0\n", shell.display()),
        );
        lab.program("home/.local/share/tools/bandit/lib/data", "data");
        fs::create_dir_all(lab.home.join(".local/bin"))?;
        symlink("../share/tools/bandit/bin/bandit", lab.home.join(".local/bin/bandit"))?;
        lab.path.insert(0, lab.home.join(".local/bin"));
        let tool = lab.home.join(".local/bin/bandit");
        let finished = lab.run(column, tool.to_str().unwrap(), &[])?;
        is(finished.stdout.text().trim(), &format!("ran {}", tool.display()))?;
        let alone = lab.program("home/alone", "#!/bin/sh\necho alone\n");
        let finished = lab.run(column, alone.to_str().unwrap(), &[])?;
        is(finished.stdout.text().trim(), "alone")?;
        let plain = lab.program("home/.local/bin/plain", "#!/bin/sh\n");
        is(&lab.sh(column, "command -v plain"), plain.to_str().unwrap())
    }

    fn has_a_private_temporary_directory(column: Column) -> Outcome {
        let lab = Lab::new();
        let planted = tempfile::NamedTempFile::new_in("/tmp")?;
        let mark = lab.root.file_name().unwrap().to_string_lossy().into_owned();
        let script = format!(
            "cat {} 2>/dev/null && echo seen; ls -A ~ | grep -v -e src -e '^\\.bashrc$' -e '^\\.inputrc$'; t=${{TMPDIR:-/tmp}}; echo x > $t/{mark}-inside && cat $t/{mark}-inside; echo $t",
            planted.path().display()
        );
        let printed = lab.sh(column, &script);
        let temporary = printed.lines().last().unwrap_or_default().to_owned();
        is(printed.lines().next().unwrap_or_default(), "x")?;
        is(&Path::new(&temporary).join(format!("{mark}-inside")).exists().to_string(), "false")
    }

    /// Grants this many files, each by itself, with names of this length, and reads the first, the last and one that is not granted.
    fn among(column: Column, count: usize, length: usize) -> Result<String, String> {
        let mut lab = Lab::new();
        let file = |number: usize| {
            let parent = lab.root.join("beside");
            let deep = (0..11).fold(parent, |dir, _| dir.join(format!("{:0length$}", 0)));
            deep.join(format!("{number:0length$}"))
        };
        fs::create_dir_all(file(0).parent().unwrap()).unwrap();
        for number in 0..=count {
            fs::write(file(number), format!("{number} ")).unwrap();
        }
        let script = format!(
            "cat {} {}; cat {} 2>/dev/null || echo refused",
            file(0).display(),
            file(count - 1).display(),
            file(count).display()
        );
        let granted = (0..count).map(|number| file(number).to_str().unwrap().to_owned().into());
        lab.needs.read_paths = granted.collect();
        let site = lab.site(Some(column));
        let chosen = Confinement::choose(Mode::Only(column.id()), &site, &launcher()).unwrap();
        let program = PathBuf::from("/bin/sh");
        let (ground, grants) = (lab.ground(), Grants::default());
        let policy =
            Policy::resolve("x", &lab.needs, &site, &ground, &grants, &program, &[]).unwrap();
        let command = Command { program, args: vec!["-c".into(), script.into()] };
        let prepared = chosen.confinement.prepare(&policy, &command);
        let prepared = prepared.map_err(|error| error.to_string())?;
        let stdio = Stdio::Capture(Captures::default());
        let finished = launcher().run(prepared, stdio, None, &Cancel::new());
        let finished = finished.map_err(|error| error.to_string())?;
        Ok(format!("{}{}", finished.stdout.text(), finished.stderr.text()).trim().to_owned())
    }

    fn takes_many_paths(column: Column) -> Outcome {
        // More than two mebibytes are more than an exec takes, and 128 words more than firejail does.
        let (count, length) = match column {
            Column::Bwrap | Column::BwrapOverlay => (380, 250),
            Column::Firejail => (150, 10),
            Column::Landlock => (1000, 10),
        };
        is(&among(column, count, length)?, &format!("0 {} refused", count - 1))
    }

    fn passes_the_exit_code(column: Column) -> Outcome {
        let lab = Lab::new();
        let finished = lab.run(column, "/bin/sh", &["-c", "pwd; exit 7"])?;
        is(finished.stdout.text().trim(), lab.source.to_str().unwrap())?;
        is(&format!("{:?}", finished.exit), &format!("{:?}", Exit::Code(7)))?;
        let killed = lab.run(column, "/bin/sh", &["-c", "kill -9 $$"])?;
        is(&format!("{:?}", killed.exit), &format!("{:?}", Exit::Signal(9)))?;
        match lab.run(column, "/usr/bin/no-such-tool", &[]) {
            Err(LaunchError::CannotExec { code: 127, .. }) => Ok(()),
            other => Err(format!("{other:?}").into()),
        }
    }

    fn keeps_spelled_paths_working(column: Column) -> Outcome {
        let mut lab = Lab::new();
        symlink("home", lab.root.join("people"))?;
        let real = lab.home.clone();
        lab.home = lab.root.join("people");
        lab.source = lab.home.join("src/repo");
        is(
            &lab.sh(
                column,
                &format!("cat {}/main.py; cat ~/src/repo/main.py", lab.source.display()),
            ),
            "contentcontent",
        )?;
        is(
            &lab.sh(column, &format!("cat {}/.ssh/id_rsa 2>/dev/null || echo no", real.display())),
            "no",
        )
    }

    /// A source that is a link itself, an output and a granted directory below one.
    fn shows_links(column: Column) -> Outcome {
        let mut lab = Lab::new();
        let at = |path: &str| lab.root.join(path);
        for dir in ["real/rules", "real/out/x"] {
            fs::create_dir_all(at(dir))?;
        }
        for file in ["real/rules/rule", "real/secret"] {
            fs::write(at(file), "content")?;
        }
        symlink("home/src/repo", at("source"))?;
        symlink("real", at("link"))?;
        let (source, link) = (at("source"), at("link"));
        let ground = Ground {
            source: source.clone(),
            output: Some(link.join("out")),
            targets: vec![],
            results: at("real/out/x"),
            cwd: source.clone(),
        };
        let (readable, secret) = (tries_one("cat >/dev/null <"), at("real/secret"));
        let writable = tries_one("echo x >");
        let script = [
            readable(&source.join("main.py")),
            readable(&link.join("rules/rule")),
            writable(&link.join("out/x/report")),
            readable(&link.join("secret")),
            readable(&secret),
            writable(&link.join("rules/rule")),
            writable(&source.join("main.py")),
            writable(&link.join("out/planted")),
        ]
        .concat();
        lab.needs.read_paths = [link.join("rules").to_str().unwrap().to_owned().into()].into();
        let finished = lab.run_on(column, &ground, "/bin/sh", &["-c", &script])?;
        is(finished.stdout.text().trim(), "yes\nyes\nyes\nno\nno\nno\nno\nno")?;
        is(&fs::read_to_string(lab.root.join("real/out/x/report"))?, "x\n")?;
        is(&fs::read_to_string(&secret)?, "content")?;
        is(&lab.bare(&script), &["yes"; 8].join("\n"))
    }

    fn tries_one(test: &'static str) -> impl Fn(&Path) -> String {
        move |path| tries(&[path], test)
    }

    /// firejail puts empty directories over more than the home and `/tmp`.
    fn shows_granted_places(column: Column) -> Outcome {
        let mut lab = Lab::new();
        let granted = tempfile::tempdir_in("/var/tmp")?;
        let beside = tempfile::NamedTempFile::new_in("/var/tmp")?;
        fs::write(granted.path().join("file"), "content")?;
        let text = |path: &str| path.to_owned().into();
        lab.needs.read_paths = [text(granted.path().to_str().unwrap()), text("/var/log")].into();
        let logs = "ls /var/log | wc -l";
        let tried = [
            tries(&[&granted.path().join("file"), beside.path()], "cat >/dev/null <"),
            tries(&[&granted.path().join("file"), Path::new("/var/log/planted")], "echo x >"),
        ];
        let printed = lab.sh(column, &format!("{logs}; {}", tried.concat()));
        is(&printed, &format!("{}\nyes\nno\nno\nno", lab.bare(logs)))
    }

    fn shows_a_scanned_home(column: Column) -> Outcome {
        let lab = Lab::new();
        let results = lab.root.join("out");
        fs::create_dir(&results)?;
        let ground = Ground {
            source: lab.home.clone(),
            output: None,
            targets: vec![],
            results,
            cwd: lab.home.clone(),
        };
        let script = format!(
            "cat .ssh/id_rsa; echo x > ~/private && echo; (echo x > {}/planted) 2>/dev/null || echo no",
            lab.home.display()
        );
        let finished = lab.run_on(column, &ground, "/bin/sh", &["-c", &script])?;
        is(finished.stdout.text().trim(), "content\nno")?;
        is(&lab.home.join("private").exists().to_string(), "false")
    }

    fn has_evidence(column: Column) -> Outcome {
        let lab = Lab::new();
        let evidence = lab.run(column, "/bin/true", &[])?.evidence;
        let expected =
            if column == Column::Landlock { Tier::Landlock } else { Tier::NamespacesLandlock };
        let details = evidence.details.ok_or("no details")?;
        is(
            &format!("{:?} {:?}", evidence.backend.as_deref(), evidence.tier),
            &format!("{:?} {expected:?}", Some(column.id().as_str())),
        )?;
        is(&details.writable.join(","), lab.results().to_str().unwrap())?;
        is(&format!("{:?}", details.landlock.map(|landlock| landlock.abi > 0)), "Some(true)")
    }

    fn mode_off_is_the_control() -> Outcome {
        let lab = Lab::new();
        is(
            &lab.bare(&format!("cat {}/.ssh/id_rsa; pwd", lab.home.display())),
            &format!("content{}", lab.source.display()),
        )
    }

    fn a_backend_inside_the_scanned_tree_is_not_used() -> Outcome {
        let lab = Lab::new();
        let mark = lab.root.join("started");
        lab.program("home/src/repo/fake/bwrap", &format!("#!/bin/sh\n: > {}\n", mark.display()));
        let variables =
            vec![("PATH".into(), lab.source.join("fake").into()), ("HOME".into(), "/root".into())];
        let site = |scanned: &[PathBuf]| {
            Site::gather(variables.clone(), &std::env::current_exe().unwrap(), &[])
                .scanning(scanned)
        };
        let refusal = Confinement::choose(
            Mode::Only(BackendId::Bwrap),
            &site(std::slice::from_ref(&lab.source)),
            &launcher(),
        )
        .unwrap_err();
        is(
            &format!("{} {}", mark.exists(), refusal.reason.contains("`bubblewrap`")),
            "false true",
        )?;
        let _ = Confinement::choose(Mode::Only(BackendId::Bwrap), &site(&[]), &launcher());
        is(&format!("control: {}", mark.exists()), "control: true")
    }

    fn a_fake_firejail_is_unavailable() -> Outcome {
        let lab = Lab::new();
        let site = lab.fake_site(
            "firejail",
            "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\nshift\nexec \"$@\"\n",
        );
        let refusal =
            Confinement::choose(Mode::Only(BackendId::Firejail), &site, &launcher()).unwrap_err();
        is(&refusal.reason.contains("without a sandbox").to_string(), "true")
            .map_err(|_| Failed::from(refusal.reason))
    }

    fn a_failing_bwrap_is_started_once() -> Outcome {
        let lab = Lab::new();
        let log = lab.root.join("log");
        let text = format!(
            "#!/bin/sh\necho started >> {}\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n",
            log.display()
        );
        let site = lab.fake_site("bwrap", &text);
        for _ in 0..3 {
            let refusal =
                Confinement::choose(Mode::Only(BackendId::Bwrap), &site, &launcher()).unwrap_err();
            is(
                &refusal.reason.contains("setting up uid map: Permission denied").to_string(),
                "true",
            )
            .map_err(|_| Failed::from(refusal.reason))?;
        }
        is(&fs::read_to_string(log)?, "started\n")
    }

    fn the_status_lists_every_backend() -> Outcome {
        let site = Site::gather(operator(), &std::env::current_exe().unwrap(), &[]);
        let statuses = Confinement::statuses(&site, &launcher());
        let names: Vec<&str> = statuses.iter().map(|status| status.name).collect();
        is(&names.join(" "), "bwrap firejail landlock sandbox-exec gvisor")?;
        let explained = statuses.iter().all(|status| status.available != status.reason.is_some());
        is(&explained.to_string(), "true")?;
        Ok(())
    }
}
