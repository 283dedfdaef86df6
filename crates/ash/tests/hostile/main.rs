//! A hostile scanner against every backend: each attack once without a sandbox, where it must reach its goal, and then within
//! each backend, offline and online, where it must not.
//!
//! `ASH_REQUIRE_BACKENDS=bwrap,bwrap-overlay,firejail,landlock` makes a missing backend a failure; otherwise its trials are ignored with the reason.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod gaps;
#[path = "../support/mod.rs"]
mod support;
mod table;
mod trial;
mod whole_runs;

use ash_testkit::{Run, hostile_binary};
use libtest_mimic::{Arguments, Failed, Trial};

fn main() {
    let arguments = Arguments::from_args();
    let mut trials = vec![Trial::test(
        "every_attack_of_the_hostile_program_has_a_trial",
        every_attack_has_a_trial,
    )];
    for attack in table::ATTACKS {
        trials.push(Trial::ignorable_test(format!("{}::control", attack.id), || {
            trial::control(attack)
        }));
        for &backend in support::COLUMNS {
            for online in [false, true] {
                let name = format!(
                    "{}::{backend}::{}",
                    attack.id,
                    if online { "online" } else { "offline" }
                );
                trials.push(support::trial(name, backend, move || {
                    trial::sandboxed(attack, backend, online)
                }));
            }
        }
    }
    trials.extend(whole_runs::trials());
    libtest_mimic::run(&arguments, trials).exit();
}

fn every_attack_has_a_trial() -> Result<(), Failed> {
    let outcome = Run::new([hostile_binary(), "list".as_ref()]).finish();
    let mut known: Vec<_> = outcome.out().lines().map(str::to_owned).collect();
    let mut tried: Vec<_> = table::ATTACKS.iter().map(|attack| attack.id.to_owned()).collect();
    known.sort();
    tried.sort();
    if known == tried {
        Ok(())
    } else {
        Err(format!("the program knows {known:?}\nthe table has {tried:?}").into())
    }
}
