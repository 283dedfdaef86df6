//! Compares what a virtual machine said with what its situation demands.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    console::Step,
    situations::{BACKENDS, Line, Situation},
};

/// Checks that held and those that did not.
#[derive(Debug, Default)]
pub(crate) struct Verdicts {
    pub(crate) passed: u64,
    pub(crate) failed: Vec<String>,
    /// How many trials of the test programs are among them.
    pub(super) trials: u64,
}

/// One line of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) situation: String,
    pub(super) user: String,
    pub(super) backend: &'static str,
    /// Attempts that were stopped.
    pub(super) blocked: usize,
    /// Attempts that real tools depend on, or a network that was granted.
    pub(super) allowed: usize,
    /// Attempts that are known not to be stopped.
    pub(super) gaps: Vec<String>,
    /// Trials that failed.
    pub(super) failed: usize,
}

impl Verdicts {
    fn check(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if holds { self.passed += 1 } else { self.failed.push(what()) }
    }

    /// Adds another machine's.
    pub(super) fn extend(&mut self, more: Self) {
        self.passed += more.passed;
        self.failed.extend(more.failed);
        self.trials += more.trials;
    }

    /// Something that went wrong before anything could be checked.
    pub(super) fn fail(&mut self, what: String) {
        self.failed.push(what);
    }
}

/// What root is known to reach: danger, backend, and the Landlock ABI that ends it. A gap that closes earlier is a failure too.
const DANGER_GAPS: &[(&str, &str, u64)] = &[
    // Without a namespace of processes only Landlock's scopes keep signals in, and root's processes share a user.
    ("process", "landlock", 6),
];

/// Judges every step of one situation.
pub(super) fn judge(line: &Line, situation: &Situation, steps: &[Step], verdicts: &mut Verdicts) {
    for step in steps.iter().filter(|step| step.situation == situation.name) {
        let bench = Bench { line, situation, step };
        match step.name.as_str() {
            "status" => bench.status(situation.auto(&step.user), verdicts),
            "status-without-firejail" => {
                bench.auto(situation.auto_without_firejail(&step.user), verdicts);
            }
            "dangers" => bench.dangers(verdicts),
            name => match name.strip_prefix("smoke-") {
                Some(backend) => bench.smoke(backend, verdicts),
                None => bench.tests(verdicts),
            },
        }
    }
}

struct Bench<'a> {
    line: &'a Line,
    situation: &'a Situation,
    step: &'a Step,
}

impl Bench<'_> {
    fn name(&self, what: &str) -> String {
        let Step { situation, user, name, .. } = self.step;
        format!("{} {situation} {user} {name}: {what}", self.line.name)
    }

    fn auto(&self, wanted: Option<&str>, verdicts: &mut Verdicts) {
        let status = self.step.json().unwrap_or_default();
        verdicts.check(status.is_object() && status["auto"].as_str() == wanted, || {
            self.name(&format!("`auto` is {}, not {wanted:?}", status["auto"]))
        });
    }

    fn status(&self, auto: Option<&str>, verdicts: &mut Verdicts) {
        self.auto(auto, verdicts);
        let status = self.step.json().unwrap_or_default();
        let abi = if self.situation.landlock { self.line.landlock_abi } else { 0 };
        verdicts.check(status["landlock_abi"].as_u64().unwrap_or(0) == abi, || {
            self.name(&format!("the Landlock ABI is {}, not {abi}", status["landlock_abi"]))
        });
        for &backend in BACKENDS {
            let found = status["backends"].as_array().into_iter().flatten();
            let found = found.into_iter().find(|entry| entry["name"] == backend);
            let offered = self.situation.offers(backend, &self.step.user);
            let available = found.is_some_and(|entry| entry["available"] == true);
            let reason = found.and_then(|entry| entry["reason"].as_str()).unwrap_or_default();
            verdicts.check(found.is_some() && available == offered, || {
                self.name(&format!("{backend} is available: {available} ({reason})"))
            });
            if !offered {
                for name in self.remedies(backend) {
                    verdicts.check(reason.contains(name), || {
                        self.name(&format!(
                            "the reason against {backend} does not name `{name}`: {reason}"
                        ))
                    });
                }
            }
        }
    }

    /// What a reason has to name, so that its reader knows what to do.
    fn remedies(&self, backend: &str) -> &'static [&'static str] {
        match backend {
            "bwrap" => self.situation.names,
            "firejail" => self.situation.names_of_firejail,
            _ => &["lsm="],
        }
    }

    /// A command runs confined, or is refused with a reason; it never runs bare.
    fn smoke(&self, asked: &str, verdicts: &mut Verdicts) {
        let user = self.step.user.as_str();
        let wanted = match asked {
            "auto" => self.situation.auto(user),
            name => BACKENDS
                .iter()
                .copied()
                .find(|backend| *backend == name && self.situation.offers(backend, user)),
        };
        let text = &self.step.text;
        let problem = |what: &str| format!("{}\n{text}", self.name(what));
        verdicts.check(!text.contains("private-key"), || problem("the private key was read"));
        match wanted {
            None => {
                verdicts.check(self.step.code == Some(125) && !text.contains("inside as"), || {
                    problem("it was not refused with exit code 125")
                });
                let says =
                    |backend: &str| self.remedies(backend).iter().all(|name| text.contains(name));
                let explained = if asked == "auto" {
                    BACKENDS.iter().all(|backend| says(backend))
                } else {
                    says(asked)
                };
                verdicts.check(explained, || problem("the refusal does not say what to do"));
            }
            Some(backend) => {
                let evidence = text.lines().rev().find_map(|line| {
                    serde_json::from_str::<serde_json::Value>(line)
                        .ok()
                        .filter(|json| json.is_object())
                });
                let used = evidence.unwrap_or_default()["sandbox"]["backend"].clone();
                verdicts.check(used == backend, || problem(&format!("the backend was {used}")));
                let did = ["inside as", "print(1)", "wrote"].iter().all(|part| text.contains(part));
                verdicts.check(did && self.step.code == Some(0), || {
                    problem("the command did not do its work")
                });
            }
        }
    }

    /// Root's attempts on the whole machine: each works without a sandbox and in no backend.
    fn dangers(&self, verdicts: &mut Verdicts) {
        let mut tried: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for line in self.step.text.lines() {
            let Some(cell) = line.strip_prefix("@danger ") else { continue };
            let words: Vec<&str> = cell.split(' ').collect();
            let [name, backend, outcome] = words.as_slice() else { continue };
            tried.entry(*backend).or_default().insert(*name);
            let gap = DANGER_GAPS.iter().any(|&(danger, on, until)| {
                danger == *name && on == *backend && self.line.landlock_abi < until
            });
            let wanted = if *backend == "off" || gap { "reached" } else { "refused" };
            verdicts.check(*outcome == wanted, || {
                self.name(&format!("{name} in {backend}: {outcome}"))
            });
        }
        let controls = tried.get("off").cloned().unwrap_or_default();
        verdicts.check(!controls.is_empty(), || self.name("nothing was tried"));
        let offered = BACKENDS.iter().filter(|name| self.situation.offers(name, &self.step.user));
        for backend in offered {
            let all = tried.get(backend) == Some(&controls);
            verdicts.check(all, || self.name(&format!("{backend} was not tried with each")));
        }
    }

    fn tests(&self, verdicts: &mut Verdicts) {
        let results = self.step.text.lines().filter_map(|line| line.strip_prefix("test result: "));
        let (mut passed, mut seen) = (0, false);
        for result in results {
            seen = true;
            let before = result.split(" passed").next().unwrap_or_default();
            passed += before
                .rsplit(' ')
                .next()
                .and_then(|number| number.parse::<u64>().ok())
                .unwrap_or(0);
        }
        verdicts.passed += passed;
        verdicts.trials += passed;
        for name in failures(self.step) {
            verdicts.trials += 1;
            verdicts.fail(self.name(name));
        }
        verdicts.check(seen, || {
            self.name(&format!("it ended with {:?} and no result", self.step.code))
        });
    }
}

fn failures(step: &Step) -> impl Iterator<Item = &str> {
    step.text
        .lines()
        .filter_map(|line| line.strip_prefix("test ")?.trim_end().strip_suffix("FAILED"))
        .filter_map(|rest| rest.trim_end().strip_suffix("...").map(str::trim))
}

/// The table's lines for the hostile matrices among these steps.
pub(super) fn rows(steps: &[Step]) -> Vec<Row> {
    let mut rows = Vec::new();
    for step in steps.iter().filter(|step| step.name == "hostile") {
        for &backend in BACKENDS {
            let mut row = Row {
                situation: step.situation.clone(),
                user: step.user.clone(),
                backend,
                blocked: 0,
                allowed: 0,
                gaps: Vec::new(),
                failed: failures(step)
                    .filter(|name| name.split("::").nth(1) == Some(backend))
                    .count(),
            };
            for line in step.text.lines().filter_map(|line| line.strip_prefix("@attack ")) {
                match line.split(' ').collect::<Vec<_>>().as_slice() {
                    [_, on, _, "blocked"] if *on == backend => row.blocked += 1,
                    [_, on, _, "allowed"] if *on == backend => row.allowed += 1,
                    [id, on, _, "gap"] if *on == backend => row.gaps.push((*id).to_owned()),
                    _ => {}
                }
            }
            row.gaps.sort();
            row.gaps.dedup();
            if row.blocked + row.allowed + row.failed > 0 {
                rows.push(row);
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::{
        super::situations::{LINES, SITUATIONS},
        *,
    };

    fn step(name: &str, code: i32, text: &str) -> Step {
        Step {
            situation: "nothing".to_owned(),
            user: "user".to_owned(),
            name: name.to_owned(),
            text: text.to_owned(),
            code: Some(code),
            seconds: 0.0,
        }
    }

    fn judged(step: Step) -> Verdicts {
        let situation = SITUATIONS.iter().find(|situation| situation.name == "nothing").unwrap();
        let mut verdicts = Verdicts::default();
        judge(&LINES[0], situation, &[step], &mut verdicts);
        verdicts
    }

    #[test]
    fn a_command_that_runs_where_no_backend_works_is_a_failure() {
        let refusal = "no sandbox: set `user.max_user_namespaces`, install the package `firejail`, boot with lsm=landlock";
        assert_eq!(judged(step("smoke-auto", 125, refusal)).failed, Vec::<String>::new());
        assert!(
            !judged(step("smoke-auto", 0, "inside as 1000\nprint(1)\nwrote\n")).failed.is_empty()
        );
        assert_eq!(judged(step("smoke-auto", 125, "no sandbox")).failed.len(), 1);
    }

    #[test]
    fn a_danger_without_a_control_is_a_failure() {
        let good = "@danger clock off reached\n  STARTED\n@danger clock bwrap refused\n";
        assert_eq!(judged(step("dangers", 0, good)).failed, Vec::<String>::new());
        let known = "@danger process off reached\n@danger process landlock reached\n";
        assert_eq!(judged(step("dangers", 0, known)).failed, Vec::<String>::new());
        let bad = "@danger clock off refused\n@danger clock bwrap not-started\n@danger clock landlock reached\n";
        assert_eq!(judged(step("dangers", 0, bad)).failed.len(), 3);
        assert_eq!(judged(step("dangers", 0, "")).failed.len(), 1);
    }

    #[test]
    fn a_danger_that_a_backend_was_spared_is_a_failure() {
        let text = "@danger clock off reached\n@danger mount off reached\n@danger clock bwrap refused\n@danger mount bwrap refused\n@danger clock firejail refused\n@danger mount firejail refused\n@danger clock landlock refused\n";
        let step = Step { situation: "default".to_owned(), ..step("dangers", 0, text) };
        let mut verdicts = Verdicts::default();
        judge(&LINES[0], &SITUATIONS[0], &[step], &mut verdicts);
        assert_eq!(verdicts.failed.len(), 1, "{:?}", verdicts.failed);
        assert!(verdicts.failed[0].contains("landlock was not tried"));
    }

    #[test]
    fn a_matrix_is_counted_and_one_that_died_is_a_failure() {
        let text = "test F01::bwrap::offline ... ok\ntest F02::bwrap::online   ... FAILED\n\ntest result: FAILED. 5 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n@attack F01 bwrap offline blocked\n@attack F24 bwrap offline gap\n@attack F24 bwrap online gap\n";
        let matrix = step("hostile", 101, text);
        let rows = rows(std::slice::from_ref(&matrix));
        assert_eq!(rows.len(), 1);
        assert_eq!(
            (rows[0].blocked, rows[0].failed, rows[0].gaps.as_slice()),
            (1, 1, &["F24".to_owned()][..])
        );
        let verdicts = judged(matrix);
        assert_eq!((verdicts.passed, verdicts.failed.len(), verdicts.trials), (6, 1, 6));
        assert_eq!(judged(step("hostile", 101, "panicked")).failed.len(), 1);
    }
}
