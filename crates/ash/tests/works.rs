//! What real tools do must work in every backend: a sandbox that breaks tools is switched off.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod support;

use std::{ffi::OsString, fs, time::Duration};

use ash_testkit::{Lab, Outcome, PATH, Run, mode, path};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use support::{ASH, COLUMNS, trial};

/// One thing that must work.
struct Work {
    name: &'static str,
    /// Programs it needs; without them the trial is ignored.
    needs: &'static [&'static str],
    /// A shell script that exits 0. `$SRC` is the source, `$TMPDIR` where temporary files go.
    script: &'static str,
    /// Backends it cannot work in, and why.
    except: &'static [(&'static str, &'static str)],
}

const fn work(name: &'static str, needs: &'static [&'static str], script: &'static str) -> Work {
    Work { name, needs, script, except: &[] }
}

const WORKS: &[Work] = &[
    work(
        "a_stream_socketpair_carries_bytes",
        &["python3"],
        r#"python3 -c '
import socket
a, b = socket.socketpair()
a.sendall(b"hello")
assert b.recv(5) == b"hello"'"#,
    ),
    work(
        "a_tree_of_processes_runs",
        &[],
        r"i=0
while [ $i -lt 40 ]; do ( echo $i | cat | tr 0-9 a-j >/dev/null ) & i=$((i+1)); done
wait",
    ),
    work(
        "python_multiprocessing_forks",
        &["python3"],
        r#"python3 -c '
import multiprocessing as m
with m.get_context("fork").Pool(4) as pool:
    assert sum(pool.map(abs, range(-50, 50))) == 2500'"#,
    ),
    work(
        "python_multiprocessing_spawns",
        &["python3"],
        r#"cat >$TMPDIR/spawned.py <<'END'
import multiprocessing as m
if __name__ == "__main__":
    with m.get_context("spawn").Pool(2) as pool:
        assert sum(pool.map(abs, range(-50, 50))) == 2500
END
python3 $TMPDIR/spawned.py"#,
    ),
    work(
        "posix_semaphores_and_shared_memory_work",
        &["python3"],
        r#"python3 -c '
import multiprocessing as m
from multiprocessing import shared_memory
s = m.Semaphore(2); s.acquire(); s.release()
q = m.Queue(); q.put(3); assert q.get(timeout=20) == 3
memory = shared_memory.SharedMemory(create=True, size=4096); memory.buf[0] = 7; memory.close(); memory.unlink()'"#,
    ),
    work(
        "threads_run",
        &["python3"],
        r#"python3 -c '
import threading
done = []
threads = [threading.Thread(target=done.append, args=(n,)) for n in range(200)]
[t.start() for t in threads]; [t.join() for t in threads]
assert len(done) == 200'"#,
    ),
    work(
        "git_reads_the_source",
        &["git"],
        r#"git -C "$SRC" status --short && git -C "$SRC" log --oneline | grep -q first"#,
    ),
    work(
        "python_makes_a_virtual_environment",
        &["python3"],
        r"python3 -m venv --without-pip $TMPDIR/venv && $TMPDIR/venv/bin/python -c 'import json'",
    ),
    work(
        "npm_installs_a_local_package",
        &["npm", "node"],
        r#"mkdir $TMPDIR/app && cd $TMPDIR/app && npm install --offline --no-audit --no-fund "$SRC/local-package.tgz" >&2 &&
node -e 'process.exit(require("local-package") === 42 ? 0 : 1)'"#,
    ),
    work(
        "tar_keeps_working_with_modes",
        &["tar"],
        r"cd $TMPDIR && mkdir -p tree/private && echo x >tree/private/file && chmod 750 tree/private && chmod 600 tree/private/file &&
tar -cpf modes.tar tree && mkdir out && tar -xpf modes.tar -C out && cmp tree/private/file out/tree/private/file && cp -a tree copy && touch -d 2001-01-01 copy/private/file && mv copy moved && rm -r out moved",
    ),
    work(
        "node_runs",
        &["node"],
        r#"node -e 'const w = new (require("worker_threads").Worker)("process.exit(0)", { eval: true }); w.on("exit", c => process.exit(c))'"#,
    ),
    work(
        "a_gibibyte_is_mapped",
        &["python3"],
        r#"python3 -c '
import mmap
m = mmap.mmap(-1, 1 << 30); m[0] = 1; m[-1] = 1'"#,
    ),
    work(
        "a_temporary_file_of_500_megabytes_fits",
        &["dd"],
        r"dd if=/dev/zero of=$TMPDIR/large bs=1M count=500 2>/dev/null && rm $TMPDIR/large",
    ),
    Work {
        name: "its_own_loopback_works_offline",
        needs: &["python3"],
        script: r#"python3 -c '
import socket
for family, host in ((socket.AF_INET, "127.0.0.1"),):
    server = socket.socket(family); server.bind((host, 0)); server.listen()
    client = socket.create_connection(server.getsockname()[:2]); peer, _ = server.accept()
    client.sendall(b"x"); assert peer.recv(1) == b"x"'"#,
        except: &[("landlock", "without a network namespace every socket is refused offline")],
    },
    work(
        "the_locale_is_the_callers",
        &["python3"],
        r#"python3 -c '
import locale, os
assert os.environ["LANG"] == "C.UTF-8"; locale.setlocale(locale.LC_ALL, ""); assert locale.getpreferredencoding() == "UTF-8"'"#,
    ),
    work(
        "its_own_process_and_the_memory_show_in_proc",
        &["grep"],
        r"grep -q State /proc/self/status && grep -q MemTotal /proc/meminfo && grep -q processor /proc/cpuinfo && ls /proc/self/fd >/dev/null && test -r /proc/self/exe",
    ),
    work(
        "devices_work",
        &[],
        r"head -c 16 /dev/urandom >/dev/null && head -c 16 /dev/zero >/dev/null && echo x >/dev/null && test -c /dev/null && ! dd if=/dev/zero of=/dev/full bs=1 count=1 2>/dev/null",
    ),
    work(
        "stdin_is_empty",
        &[],
        r#"test "$(readlink /proc/self/fd/0)" = /dev/null && test -z "$(cat)""#,
    ),
    work("it_starts_in_the_source", &[], r#"test "$(pwd -P)" = "$SRC" && test -r main.py"#),
    work(
        "home_and_temporary_directory_are_private_and_writable",
        &[],
        r#"test -w "$HOME" && echo x >"$HOME/file" && mkdir "$HOME/.config" && test -w "$TMPDIR" && echo x >"$TMPDIR/file" && test ! -e "$HOME/.ssh/id_rsa" && test ! -e "$HOME/outside.txt""#,
    ),
    work(
        "tools_of_the_system_start",
        &["perl"],
        r#"perl -e 'print "x"' | sed s/x/y/ | grep -q y && date >/dev/null && id -u >/dev/null && uname -a >/dev/null && ls -la /usr/bin /etc >/dev/null"#,
    ),
    work(
        "sqlite_locks_its_file",
        &["python3"],
        r#"python3 -c '
import sqlite3, os
d = sqlite3.connect(os.environ["TMPDIR"] + "/x.db"); d.execute("pragma journal_mode=wal"); d.execute("create table t (a)"); d.execute("insert into t values (1)"); d.commit()
assert list(d.execute("select a from t")) == [(1,)]'"#,
    ),
    work(
        "a_fifo_and_a_link_in_the_temporary_directory_work",
        &["mkfifo"],
        r"cd $TMPDIR && mkfifo pipe && { echo through >pipe & } && test $(cat pipe) = through && ln -s pipe link && ln pipe hard && rm pipe link hard",
    ),
];

fn main() {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for work in WORKS {
        trials.push(Trial::ignorable_test(format!("{}::bare", work.name), || run(work, "bare")));
        for &backend in COLUMNS {
            trials.push(trial(format!("{}::{backend}", work.name), backend, move || {
                run(work, backend)
            }));
        }
    }
    for &(code, signal, script) in ENDS {
        for &backend in COLUMNS {
            let name = format!(
                "the_end_is_exact::{code}{}::{backend}",
                signal.map_or(String::new(), |signal| format!("_signal_{signal}"))
            );
            trials.push(trial(name, backend, move || {
                ends(backend, code, signal, script).map(|()| Completion::Completed)
            }));
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}

fn run(work: &Work, backend: &'static str) -> Result<Completion, Failed> {
    if let Some((_, reason)) = work.except.iter().find(|(name, _)| *name == mode(backend)) {
        return Ok(Completion::ignored_with(reason));
    }
    if let Some(program) = work.needs.iter().find(|program| {
        !PATH
            .split(':')
            .any(|directory| fs::exists(format!("{directory}/{program}")).unwrap_or(false))
    }) {
        return Ok(Completion::ignored_with(format!("`{program}` is not installed in {PATH}")));
    }
    let lab = furnished();
    let script = format!(
        "SRC='{}'\nexport TMPDIR=\"${{TMPDIR:-/tmp}}\"\n{}",
        lab.source().display(),
        work.script
    );
    let outcome =
        if backend == "bare" { bare(&lab, &script) } else { in_sandbox(&lab, backend, &script) };
    if outcome.code == Some(0) { Ok(Completion::Completed) } else { Err(outcome.describe().into()) }
}

/// A lab whose source is a real repository with a real npm package.
fn furnished() -> Lab {
    let lab = Lab::new();
    let script = r#"set -e
rm -r .git; git init -q .; git add main.py
git -c user.name=t -c user.email=t@example.invalid commit -q -m first
mkdir package; echo '{"name":"local-package","version":"1.0.0","main":"index.js"}' >package/package.json; echo 'module.exports = 42' >package/index.js
tar -czf local-package.tgz package"#;
    let outcome = Run::new(["/bin/sh", "-c", script])
        .envs(lab.environment())
        .directory(lab.source())
        .finish();
    assert_eq!(outcome.code, Some(0), "{}", outcome.describe());
    lab
}

fn bare(lab: &Lab, script: &str) -> Outcome {
    let temporary = lab.path("tmp");
    let home = lab.path("empty-home");
    for directory in [&temporary, &home] {
        fs::create_dir(directory).unwrap();
    }
    let environment = lab.environment().into_iter().filter(|(name, _)| name != "HOME");
    Run::new(["/bin/sh", "-c", script])
        .envs(environment)
        .env("HOME", home)
        .env("TMPDIR", temporary)
        .directory(lab.source())
        .timeout(Duration::from_secs(120))
        .finish()
}

fn in_sandbox(lab: &Lab, backend: &'static str, script: &str) -> Outcome {
    let options: Vec<OsString> = vec![
        "--sandbox".into(),
        mode(backend).into(),
        "--offline".into(),
        "--json".into(),
        "--source-dir".into(),
        lab.source().into(),
        "--results-dir".into(),
        lab.results().into(),
    ];
    let command = ["/bin/sh", "-c", script].map(OsString::from).to_vec();
    Run::sandboxed(ASH, options, command)
        .envs(lab.environment())
        .env("PATH", path(backend))
        .timeout(Duration::from_secs(120))
        .finish()
}

/// Exit code, signal, and a script that ends so.
type End = (i32, Option<i32>, &'static str);

const ENDS: &[End] = &[
    (0, None, "exit 0"),
    (1, None, "exit 1"),
    (42, None, "exit 42"),
    (124, None, "exit 124"),
    (139, None, "exit 139"),
    (255, None, "exit 255"),
    (139, Some(11), "kill -SEGV $$"),
    (143, Some(15), "kill -TERM $$"),
    (137, Some(9), "kill -KILL $$"),
    (134, Some(6), "kill -ABRT $$"),
];

fn ends(backend: &'static str, code: i32, signal: Option<i32>, script: &str) -> Result<(), Failed> {
    let lab = Lab::new();
    let outcome = in_sandbox(&lab, backend, script);
    let line = outcome.json().ok_or_else(|| outcome.describe())?;
    let told = (line["signal"].as_i64(), line["timed_out"].as_bool());
    if outcome.code == Some(code)
        && told == (signal.map(i64::from), Some(false))
        && line["refused"].is_null()
    {
        Ok(())
    } else {
        Err(outcome.describe().into())
    }
}
