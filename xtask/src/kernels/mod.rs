//! `cargo xtask kernels`: boots Debian's kernels in qemu and tries the sandbox on each, in situations that only a virtual machine gives.

mod arch;
mod boot;
mod console;
mod debian;
mod image;
mod judge;
mod options;
mod programs;
mod situations;

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Mutex,
    thread,
    time::Instant,
};

use anyhow::{Result, ensure};

use self::{
    boot::Machine,
    judge::{Row, Verdicts},
    options::{Options, line_names, situation_names},
    situations::{LINES, Line, Situation},
};
use crate::{shell::say, workspace};

/// Seconds after which a machine is stopped: an emulated one needs minutes for every attack in every backend.
const LIMIT: u32 = 5400;

/// Machines that run at the same time. Most of a boot and of every step uses one processor only.
const AT_ONCE: usize = 2;

/// Runs everything that the words ask for, and prints what came of it.
pub(crate) fn run(words: &[&str]) -> Result<ExitCode> {
    let verdicts = check(words)?;
    for failure in &verdicts.failed {
        say(&format!("FAILED  {failure}"));
    }
    say(&format!("{} passed, {} failed", verdicts.passed, verdicts.failed.len()));
    Ok(if verdicts.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Why this machine cannot boot kernels, if so.
pub(crate) fn obstacle() -> Option<String> {
    debian::able().err().map(|error| format!("{error:#}"))
}

/// Runs everything that the words ask for, and prints the table.
pub(crate) fn check(words: &[&str]) -> Result<Verdicts> {
    let options = Options::parse(words)?;
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
    let site = Site { options: &options, dir: &dir, base: &base, root: &root, programs: &programs };

    let mut boots = Vec::new();
    for line in LINES.iter().filter(|line| options.wants(line.name, &line_names())) {
        boots.extend(site.boots(line)?);
    }
    let boots = longest_first(boots);
    let at_once = AT_ONCE.min(boots.len());
    let ended = in_parallel(&boots, at_once, |boot| site.boot(boot, at_once));
    let mut verdicts = Verdicts::default();
    let mut table = Vec::new();
    for (boot, ended) in boots.iter().zip(ended) {
        let (found, rows) = ended?;
        verdicts.extend(found);
        table.extend(rows.into_iter().map(|row| (boot.line, row)));
    }
    if verdicts.trials == 0 && options.tests.iter().any(|step| step != "dangers") {
        let what = match options.filter.as_str() {
            "" => "no test ran".to_owned(),
            filter => format!("no test ran: none has `{filter}` in its name"),
        };
        verdicts.fail(what);
    }
    print(&options, &table);
    Ok(verdicts)
}

/// What every machine is made of.
struct Site<'a> {
    options: &'a Options,
    dir: &'a Path,
    base: &'a Path,
    root: &'a Path,
    programs: &'a Path,
}

/// One machine to start.
struct Boot {
    line: &'static Line,
    kernel: PathBuf,
    initrd: PathBuf,
    /// Words of the kernel's command line that bring the situations about.
    words: &'static str,
    situations: Vec<Situation>,
}

impl Boot {
    /// The names of its situations.
    fn names(&self) -> Vec<&'static str> {
        self.situations.iter().map(|situation| situation.name).collect()
    }
}

impl Site<'_> {
    fn boots(&self, line: &'static Line) -> Result<Vec<Boot>> {
        let arch = self.options.arch;
        let kernel = debian::kernel(line.name, arch, self.dir)?;
        let initrd = image::initrd(arch, line.name, &kernel, self.dir)?;
        let wanted = |situation: &Situation| self.options.wants(situation.name, &situation_names());
        let groups = situations::boots(wanted).into_iter();
        Ok(groups
            .map(|(words, situations)| {
                let (kernel, initrd) = (kernel.clone(), initrd.clone());
                Boot { line, kernel, initrd, words, situations }
            })
            .collect())
    }

    /// Lets one machine come to its end and judges what it said.
    fn boot(&self, boot: &Boot, at_once: usize) -> Result<(Verdicts, Vec<Row>)> {
        let Boot { line, situations, .. } = boot;
        let arch = self.options.arch;
        let users = self.options.users();
        let names = boot.names();
        let words = format!(
            "{} ash.programs={} ash.situations={} ash.users={} ash.steps={} ash.filter={}",
            boot.words,
            self.base.display(),
            names.join(","),
            users.join(","),
            self.options.tests.join(","),
            self.options.filter
        );
        let log = [&[line.name][..], &names, &users].concat().join("-");
        let log = self.dir.join(format!("console-{log}.log"));
        let title = format!("Linux {} {}: {}", line.name, arch.name(), names.join(", "));
        say(&format!("starting {title} ({})", log.display()));
        let started = Instant::now();
        let machine = Machine {
            arch,
            kernel: &boot.kernel,
            initrd: &boot.initrd,
            root: self.root,
            programs: self.programs,
            words: &words,
            log: &log,
            limit: LIMIT,
            at_once,
        };
        let (steps, done) = console::read(&machine.run()?);
        let mut report = format!("\n=== {title}");
        for step in &steps {
            report.push_str(&format!(
                "\n{:<16} {:<5} {:<24} {:>6.0} s",
                step.situation, step.user, step.name, step.seconds
            ));
        }
        say(&format!("{report}\n--- {:.0} s", started.elapsed().as_secs_f64()));

        let mut verdicts = Verdicts::default();
        for situation in situations {
            judge::judge(line, situation, &steps, &mut verdicts);
            for user in &users {
                let ran =
                    |step: &console::Step| step.situation == situation.name && step.user == *user;
                if !steps.iter().any(ran) {
                    verdicts.fail(format!("{} {} {user}: nothing ran", line.name, situation.name));
                }
            }
        }
        if !done {
            let log = log.display();
            verdicts.fail(format!(
                "Linux {}: the machine did not come to its end; read {log}",
                line.name
            ));
        }
        Ok((verdicts, judge::rows(&steps)))
    }
}

/// The machine with most to do must not be the last one to start.
fn longest_first(mut boots: Vec<Boot>) -> Vec<Boot> {
    boots.sort_by_key(|boot| std::cmp::Reverse(boot.situations.len()));
    boots
}

/// The results in the order of the items.
fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    workers: usize,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let next = Mutex::new(items.iter().enumerate());
    let take = || next.lock().ok().and_then(|mut next| next.next());
    let mut results: Vec<(usize, R)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..workers.min(items.len()))
            .map(|_| {
                scope.spawn(|| {
                    let mut done = Vec::new();
                    while let Some((index, item)) = take() {
                        done.push((index, work(item)));
                    }
                    done
                })
            })
            .collect();
        let ended = workers.into_iter().map(thread::ScopedJoinHandle::join);
        ended
            .flat_map(|done| done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

fn print(options: &Options, table: &[(&Line, Row)]) {
    if table.is_empty() {
        return;
    }
    say("");
    say(
        "| kernel | situation | user | backend | attempts blocked | allowed by design | known gaps | failed |",
    );
    say("|---|---|---|---|---|---|---|---|");
    for (line, row) in table {
        say(&format!(
            "| {} {} | {} | {} | {} | {} | {} | {} | {} |",
            line.name,
            options.arch.name(),
            row.situation,
            row.user,
            row.backend,
            row.blocked,
            row.allowed,
            if row.gaps.is_empty() { "none".to_owned() } else { row.gaps.join(" ") },
            row.failed
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::in_parallel;

    #[test]
    fn results_keep_the_order_of_what_was_asked_for() {
        let numbers: Vec<u64> = (0..20).collect();
        let results = in_parallel(&numbers, 3, |number| {
            std::thread::sleep(std::time::Duration::from_millis(20 - number));
            number * 2
        });
        assert_eq!(results, numbers.iter().map(|number| number * 2).collect::<Vec<_>>());
        assert_eq!(in_parallel(&[] as &[u64], 3, |number| *number), Vec::<u64>::new());
    }
}
