//! `cargo xtask kernels`: boots Debian's kernels in qemu and tries the sandbox on each, in situations that only a virtual machine gives.

mod arch;
mod boot;
mod console;
mod debian;
mod image;
mod judge;
mod programs;
mod situations;

use std::{fs, process::ExitCode, time::Instant};

use anyhow::{Context, Result, bail, ensure};

use self::{
    arch::Arch,
    boot::Machine,
    judge::{Row, Verdicts},
    situations::{LINES, Line, SITUATIONS, USERS},
};
use crate::{shell::say, workspace};

/// Seconds after which a machine is stopped: an emulated one needs minutes for every attack in every backend.
const LIMIT: u32 = 5400;

/// Steps that take minutes where the processor is emulated: root's attempts on the whole machine, and the test programs.
const LONG_STEPS: &[&str] = &["dangers", "works", "lifecycle", "hostile", SHORTER_MATRIX];

/// The matrix without its half in which a network is granted.
const SHORTER_MATRIX: &str = "hostile-offline";

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    arch: Arch,
    /// Names of kernels, situations and users; all of a kind where none of that kind is named.
    only: Vec<String>,
    /// The long steps to run.
    tests: Vec<String>,
}

/// Runs everything that the words ask for.
pub(crate) fn run(words: &[&str]) -> Result<ExitCode> {
    let options = parse(words)?;
    let arch = options.arch;
    debian::prepare(arch)?;
    let target = workspace::target_dir().join("kernels");
    let dir = target.join(arch.name());
    fs::create_dir_all(dir.join("packages"))?;
    let base = target.join("programs");
    ensure!(
        !base.to_string_lossy().contains(char::is_whitespace),
        "`{}` has a space in it, which no kernel command line can carry",
        base.display()
    );
    let root = image::root(arch, &dir)?;
    let programs = image::programs(&programs::build(arch, &base)?, &dir)?;

    let users: Vec<&str> =
        USERS.iter().copied().filter(|user| options.wants(user, USERS)).collect();
    let mut verdicts = Verdicts::default();
    let mut table = Vec::new();
    for line in LINES.iter().filter(|line| options.wants(line.name, &line_names())) {
        let kernel = debian::kernel(line.name, arch, &dir)?;
        let initrd = image::initrd(arch, &kernel, &dir)?;
        let wanted =
            |situation: &situations::Situation| options.wants(situation.name, &situation_names());
        for (words, group) in situations::boots(wanted) {
            let names: Vec<&str> = group.iter().map(|situation| situation.name).collect();
            let words = format!(
                "{words} ash.programs={} ash.situations={} ash.users={} ash.steps={}",
                base.display(),
                names.join(","),
                users.join(","),
                options.tests.join(",")
            );
            let log = dir.join(format!("console-{}-{}.log", line.name, names.join("-")));
            say(&format!(
                "\n=== Linux {} {}: {} ({})",
                line.name,
                arch.name(),
                names.join(", "),
                log.display()
            ));
            let started = Instant::now();
            let machine = Machine {
                arch,
                kernel: &kernel,
                initrd: &initrd,
                root: &root,
                programs: &programs,
                words: &words,
                log: &log,
                limit: LIMIT,
            };
            let (steps, done) = console::read(&machine.run()?);
            for step in &steps {
                say(&format!(
                    "{:<16} {:<5} {:<24} {:>6.0} s",
                    step.situation, step.user, step.name, step.seconds
                ));
            }
            for situation in &group {
                judge::judge(line, situation, &steps, &mut verdicts);
                for user in &users {
                    if !steps
                        .iter()
                        .any(|step| step.situation == situation.name && step.user == *user)
                    {
                        verdicts
                            .fail(format!("{} {} {user}: nothing ran", line.name, situation.name));
                    }
                }
            }
            if !done {
                verdicts.fail(format!(
                    "Linux {}: the machine did not come to its end; read {}",
                    line.name,
                    log.display()
                ));
            }
            table.extend(judge::rows(&steps).into_iter().map(|row| (line, row)));
            say(&format!("--- {:.0} s", started.elapsed().as_secs_f64()));
        }
    }
    Ok(finish(arch, &table, &verdicts))
}

fn parse(words: &[&str]) -> Result<Options> {
    let mut options = Options {
        arch: Arch::host().unwrap_or(Arch::Amd64),
        only: Vec::new(),
        tests: LONG_STEPS
            .iter()
            .filter(|step| **step != SHORTER_MATRIX)
            .map(ToString::to_string)
            .collect(),
    };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "--arch" => {
                let name = words.next().context("`--arch` wants `amd64` or `arm64`")?;
                options.arch = Arch::parse(name)
                    .with_context(|| format!("no architecture `{name}`: use `amd64` or `arm64`"))?;
            }
            "--only" => {
                let known = [line_names(), situation_names(), USERS.to_vec()].concat();
                let name = words.next().copied().unwrap_or_default();
                if !known.contains(&name) {
                    bail!("`--only` wants a kernel, a situation or a user: {}", known.join(", "));
                }
                options.only.push(name.to_owned());
            }
            "--tests" => {
                let names = words.next().with_context(|| {
                    format!("`--tests` wants some of {}, or `none`", LONG_STEPS.join(","))
                })?;
                options.tests =
                    names.split(',').filter(|name| *name != "none").map(str::to_owned).collect();
                if let Some(name) =
                    options.tests.iter().find(|name| !LONG_STEPS.contains(&name.as_str()))
                {
                    bail!("no tests `{name}`: use some of {}, or `none`", LONG_STEPS.join(","));
                }
            }
            other => bail!(
                "unknown word `{other}`: `cargo xtask kernels [--arch amd64|arm64] [--only NAME]... [--tests NAMES]`"
            ),
        }
    }
    Ok(options)
}

impl Options {
    fn wants(&self, name: &str, kind: &[&str]) -> bool {
        let mut named = self.only.iter().filter(|only| kind.contains(&only.as_str())).peekable();
        named.peek().is_none() || named.any(|only| only == name)
    }
}

fn line_names() -> Vec<&'static str> {
    LINES.iter().map(|line| line.name).collect()
}

fn situation_names() -> Vec<&'static str> {
    SITUATIONS.iter().map(|situation| situation.name).collect()
}

fn finish(arch: Arch, table: &[(&Line, Row)], verdicts: &Verdicts) -> ExitCode {
    say("");
    if !table.is_empty() {
        say(
            "| kernel | situation | user | backend | attempts blocked | allowed by design | known gaps | failed |",
        );
        say("|---|---|---|---|---|---|---|---|");
    }
    for (line, row) in table {
        say(&format!(
            "| {} {} | {} | {} | {} | {} | {} | {} | {} |",
            line.name,
            arch.name(),
            row.situation,
            row.user,
            row.backend,
            row.blocked,
            row.allowed,
            if row.gaps.is_empty() { "none".to_owned() } else { row.gaps.join(" ") },
            row.failed
        ));
    }
    for failure in &verdicts.failed {
        say(&format!("FAILED  {failure}"));
    }
    say(&format!("{} passed, {} failed", verdicts.passed, verdicts.failed.len()));
    if verdicts.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_after_only_choose_kernels_and_situations_separately() {
        let options = parse(&["--arch", "arm64", "--only", "6.12", "--only", "apparmor"]).unwrap();
        assert_eq!(options.arch, Arch::Arm64);
        assert!(options.wants("6.12", &line_names()) && !options.wants("6.1", &line_names()));
        assert!(options.wants("apparmor", &situation_names()));
        assert!(!options.wants("default", &situation_names()));
        assert_eq!(parse(&["--tests", "none"]).unwrap().tests, Vec::<String>::new());
        assert_eq!(parse(&["--tests", "works,hostile"]).unwrap().tests, ["works", "hostile"]);
        assert!(parse(&["--tests", "nothing"]).is_err());
        assert!(parse(&["--only", "5.10"]).unwrap_err().to_string().contains("6.12"));
    }
}
