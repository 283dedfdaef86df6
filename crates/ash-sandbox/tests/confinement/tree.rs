//! Nothing is left, however it ends.

use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use serde_json::json;

use crate::support::{Lab, PYTHON, Running, driver, eventually, is_alive, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("a_double_forked_child_in_its_own_session_that_ignores_sigterm_is_gone", orphan),
        trial("two_thousand_processes_that_ignore_sigterm_are_gone", bomb),
        trial("processes_that_keep_forking_are_caught_up_with", forking),
        trial("killing_ash_ends_the_tree_soon", killed_launcher),
        trial("killing_ash_removes_the_private_directories_too", cleanup),
        trial("sigterm_to_the_supervisor_ends_the_tree_first", supervisor_terminated),
        trial("killing_the_supervisor_kills_the_tool", supervisor_killed),
        trial("stop_asks_first_and_kills_after_the_grace_period", stop),
        trial("stop_reaches_only_the_tool_and_what_it_started", stop_depth),
        trial("stop_spares_the_stage_below_a_shell_that_the_backend_started", stop_below_a_shell),
        trial("kill_does_not_wait", kill),
        trial("without_a_stage_the_tree_is_ended_too", no_stage),
        trial("a_command_that_does_not_exist_cannot_start", cannot_start),
    ]
}

/// A Python program that leaves processes of the given body behind; each carries the mark in its command line.
fn leaving(count: u32, body: &str) -> String {
    format!(
        "
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
def body():
{body}
for _ in range({count}):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            while True: body()
        os._exit(0)
while len([p for p in os.listdir('/proc') if p.isdigit()]) < 2: pass
time.sleep(0.1)
open('up', 'w')
"
    )
}

fn mark(lab: &Lab) -> String {
    lab.work
        .file_name()
        .and(lab.work.parent())
        .and_then(|parent| parent.file_name())
        .unwrap()
        .to_string_lossy()
        .into_owned()
}

fn marked<'a>(script: &'a str, mark: &'a str) -> [&'a str; 5] {
    [PYTHON, "-I", "-c", script, mark]
}

fn orphan(lab: &Lab) {
    let mark = mark(lab);
    let script = leaving(1, "    open('late', 'a').write('x'); time.sleep(0.01)");
    let ended = lab.run(&marked(&script, &mark));
    assert_eq!(
        (ended.end(), &ended.done()["leftovers"]),
        (&json!({"Code": 0}), &json!(1)),
        "{ended:?}"
    );
    assert!(!is_alive(&mark));
    assert!(lab.work.join("late").exists(), "control: it did write");
    let size = lab.work.join("late").metadata().unwrap().len();
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(lab.work.join("late").metadata().unwrap().len(), size);
}

fn bomb(lab: &Lab) {
    let mark = mark(lab);
    let ended = lab.run(&marked(&leaving(2000, "    time.sleep(100)"), &mark));
    assert_eq!(ended.done()["leftovers"], json!(2000), "{ended:?}");
    assert!(!is_alive(&mark));
}

fn forking(lab: &Lab) {
    let mark = mark(lab);
    let body = "    try:\n        if os.fork(): os._exit(0)\n    except OSError: pass";
    let ended = lab.run(&marked(&leaving(20, body), &mark));
    assert!(ended.done()["leftovers"].as_u64().unwrap() >= 20, "{ended:?}");
    assert!(!is_alive(&mark));
}

const STUBBORN: &str = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); open('up', 'w'); time.sleep(100)";

fn killed_launcher(lab: &Lab) {
    let mark = mark(lab);
    let spec = lab.spec(
        lab.stage(&marked(&format!("{}\n{STUBBORN}", leaving(3, "    time.sleep(100)")), &mark)),
    );
    let mut launcher = driver(&spec).spawn().unwrap();
    eventually("the tool starts", || lab.work.join("up").exists());
    assert!(is_alive(&mark), "control");
    let killed = Instant::now();
    launcher.kill().unwrap();
    launcher.wait().unwrap();
    eventually("the tree ends", || !is_alive(&mark));
    // Some milliseconds on a machine with nothing else to do; the tests run side by side.
    assert!(killed.elapsed() < Duration::from_secs(3), "{:?}", killed.elapsed());
}

fn cleanup(lab: &Lab) {
    let private = lab.outside.join("private");
    std::fs::create_dir_all(private.join("home/deep")).unwrap();
    let mark = mark(lab);
    let mut spec = lab.spec(lab.stage(&marked(STUBBORN, &mark)));
    spec["cleanup"] = json!([private, lab.outside.join("never made")]);
    let mut launcher = driver(&spec).spawn().unwrap();
    eventually("the tool starts", || lab.work.join("up").exists());
    assert!(private.exists(), "control");
    launcher.kill().unwrap();
    launcher.wait().unwrap();
    eventually("the directory goes", || !private.exists());
    assert!(!is_alive(&mark) && lab.outside.join("file").exists());
}

fn supervisor_terminated(lab: &Lab) {
    let mark = mark(lab);
    let mut running = Running::start(&lab.spec(lab.stage(&marked(STUBBORN, &mark))));
    running.wait_for(&lab.work.join("up"));
    let pid = rustix::process::Pid::from_raw(running.child.id().cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let ended = running.finish();
    assert_eq!(ended.end(), &json!({"Signal": 9}), "{ended:?}");
    assert!(!is_alive(&mark));
}

fn supervisor_killed(lab: &Lab) {
    let mark = mark(lab);
    let mut running = Running::start(&lab.spec(lab.stage(&marked(STUBBORN, &mark))));
    running.wait_for(&lab.work.join("up"));
    running.child.kill().unwrap();
    eventually("the tool ends", || !is_alive(&mark));
}

fn stop(lab: &Lab) {
    let mut running = Running::start(&lab.spec(lab.stage(&marked(STUBBORN, "x"))));
    running.wait_for(&lab.work.join("up"));
    let asked = Instant::now();
    running.order("Stop");
    assert_eq!(running.finish().end(), &json!({"Signal": 9}));
    assert!((280..3000).contains(&asked.elapsed().as_millis()), "{:?}", asked.elapsed());
    let mut running = Running::start(&lab.spec(lab.stage(&[
        "/bin/sh",
        "-c",
        "trap 'echo bye; exit 3' TERM; touch up2; while :; do sleep 0.01; done",
    ])));
    running.wait_for(&lab.work.join("up2"));
    running.order("Stop");
    let ended = running.finish();
    assert_eq!((ended.stdout.as_str(), ended.end()), ("bye\n", &json!({"Code": 3})));
}

fn stop_depth(lab: &Lab) {
    let mut stage =
        lab.stage(&["/bin/sh", "-c", "trap 'exit 3' TERM; touch up; while :; do sleep 0.01; done"]);
    stage["stay"] = json!(true);
    let mut spec = lab.spec(stage);
    spec["tool_depth"] = json!(2);
    let mut running = Running::start(&spec);
    running.wait_for(&lab.work.join("up"));
    running.order("Stop");
    let ended = running.finish();
    assert_eq!(
        (ended.stage("Ended"), ended.end()),
        (Some(&json!({"Code": 3})), &json!({"Code": 3})),
        "{ended:?}"
    );
}

/// As firejail does for whoever has such a shell: it waits for the stage instead of becoming it, and would say that it was terminated.
fn stop_below_a_shell(lab: &Lab) {
    // Without a process of its own that it would call terminated, too.
    let script = "trap 'echo bye; exit 3' TERM; : > up; while :; do :; done";
    let mut stage = lab.stage(&["/bin/sh", "-c", script]);
    stage["stay"] = json!(true);
    let mut spec = lab.spec(stage);
    spec["tool_depth"] = json!(2);
    spec["grace_ms"] = json!(60_000);
    let exe = std::env::current_exe().unwrap();
    spec["argv"] = json!(["/bin/sh", "-c", "\"$0\" __confine apply; exit $?", exe]);
    let mut running = Running::start(&spec);
    running.wait_for(&lab.work.join("up"));
    running.order("Stop");
    let ended = running.finish();
    assert_eq!(
        (ended.stdout.as_str(), ended.stderr.as_str(), ended.stage("Ended"), ended.end()),
        ("bye\n", "", Some(&json!({"Code": 3})), &json!({"Code": 3})),
        "{ended:?}"
    );
}

fn kill(lab: &Lab) {
    let mut spec = lab.spec(lab.stage(&marked(STUBBORN, "x")));
    spec["grace_ms"] = json!(60_000);
    let mut running = Running::start(&spec);
    running.wait_for(&lab.work.join("up"));
    running.order("Stop");
    running.order("Kill");
    assert_eq!(running.finish().end(), &json!({"Signal": 9}));
}

fn no_stage(lab: &Lab) {
    let mark = mark(lab);
    let script = leaving(2, "    time.sleep(100)");
    let argv = marked(&script, &mark);
    let spec = json!({"argv": argv, "env": [], "cwd": lab.work, "stage": null, "tool_depth": 1, "grace_ms": 300});
    let ended = Running::start(&spec).finish();
    assert_eq!(ended.done()["leftovers"], json!(2), "{ended:?}");
    assert!(!is_alive(&mark));
}

fn cannot_start(lab: &Lab) {
    let spec = json!({"argv": ["/no/such/backend"], "env": [], "cwd": lab.work, "stage": lab.stage(&["/bin/true"]), "tool_depth": 1, "grace_ms": 300});
    let ended = Running::start(&spec).finish();
    assert!(
        ended.reports[0]["CannotStart"]["reason"].as_str().unwrap().contains("/no/such/backend"),
        "{ended:?}"
    );
}
