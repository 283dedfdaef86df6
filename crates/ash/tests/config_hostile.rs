//! Configurations that a hostile repository commits: each ends `ash` at once, with a reason, inside 256 MiB of memory.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this test starts the program it tests"
)]
#![expect(clippy::unwrap_used, reason = "a test may panic")]
#![cfg(unix)]

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

/// All the address space a process may have, in KiB: what does not fit ends it with a signal, not with 3.
const MEMORY: u32 = 256 * 1024;
/// In a build that is not optimised, on a busy machine. It is a guard against hanging; the time itself is measured elsewhere.
const TIME: Duration = Duration::from_secs(10);

struct Lab(tempfile::TempDir);

impl Lab {
    fn new() -> Self {
        let lab = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(lab.path(".git")).unwrap();
        lab
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join("repo").join(name)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), bytes).unwrap();
    }

    fn fifo(&self, name: &str) {
        assert!(Command::new("mkfifo").arg(self.path(name)).status().unwrap().success());
    }

    /// Runs ash in the checkout with little memory; the exit code and what it said.
    fn ash(&self, memory: u32, args: &[&str]) -> (Option<i32>, String) {
        let begun = Instant::now();
        let output = Command::new("timeout")
            .args(["60", "sh", "-c"])
            .arg(format!("ulimit -v {memory}; ulimit -c 0; exec \"$0\" \"$@\""))
            .arg(env!("CARGO_BIN_EXE_ash"))
            .args(args)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.0.path())
            .env("ASH_SET", "x".repeat(1000))
            .current_dir(self.path(""))
            .output()
            .unwrap();
        let took = begun.elapsed();
        assert!(took < TIME, "{} took {took:?}", head(&args.join(" ")));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout) + &text(&output.stderr))
    }

    /// Every command that reads a configuration: one that does not load gives 3, or 1 where that is the answer to the question.
    fn refused(&self, what: &str, reason: &str) {
        for (args, code) in [
            (&["config", "get"][..], 3),
            (&["config", "validate"], 1),
            (&["config", "lint"], 1),
            (&["config", "lint", "--fix", "-y"], 1),
            (&["config", "update", "--set", "project_name=x"], 1),
            (&["config", "validate-plugin-dependencies"], 3),
            (&["sandbox", "explain", "bandit"], 3),
            (&["scan", "--sandbox", "auto", "--scanners", "bandit"], 3),
        ] {
            let (found, said) = self.ash(MEMORY, args);
            assert_eq!(found, Some(code), "{what}, {args:?}: {}", head(&said));
            assert!(!said.contains("panicked"), "{what}, {args:?}: {}", head(&said));
            assert!(said.len() < 100_000, "{what}, {args:?} says {} bytes", said.len());
            if !args.contains(&"lint") && !args.contains(&"update") {
                assert!(said.contains(reason), "{what}, {args:?}: {}", head(&said));
            }
        }
    }
}

fn head(text: &str) -> String {
    text.chars().take(600).collect()
}

fn repeated(piece: &str, count: usize) -> String {
    piece.repeat(count)
}

/// Lists of aliases of lists of aliases.
fn aliases() -> String {
    let mut text = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
    for level in 1..9 {
        let list = vec![format!("*a{}", level - 1); 10].join(",");
        text.push_str(&format!("a{level}: &a{level} [{list}]\n"));
    }
    text
}

/// A file's name, its bytes, and a word of the reason.
fn texts() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let n = 400_000;
    let file = |name, text: String, reason| (name, text.into_bytes(), reason);
    let utf16: Vec<u8> = "\u{feff}a: 1\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let large = repeated("a", 4_000_000);
    vec![
        file(".ash.yaml", aliases(), "alias replay limit"),
        file(".ash.yaml", format!("a: &a [*a, *a]\nb: {}", repeated("*a, ", 1000)), "does not parse"),
        file(".ash.yaml", repeated("[", n), "does not parse"),
        file(".ash.yaml", repeated("{a: ", n), "does not parse"),
        file(".ash.yaml", repeated("- ", n), "does not parse"),
        file(".ash.yaml", repeated("? ", n), "does not parse"),
        file(".ash.yaml", format!("a: {}", repeated("&a ", n)), "does not parse"),
        file(".ash.yaml", format!("a: {}", repeated("!a ", n)), "does not parse"),
        file(".ash.yaml", format!("a: {}", repeated("'", 999_999)), ""),
        file(".ash.yaml", format!("{large}: 1\n"), ""),
        file(".ash.yaml", format!("project_name: {{{large}: 1}}\n"), ""),
        file(".ash.yaml", format!("a: !<tag:{large}> x\n"), ""),
        file(".ash.yaml", format!("&{large} a: 1\n"), ""),
        file(".ash.yaml", format!("b: &b {{x: 1}}\nc: {{{}}}\n", repeated("<<: *b, ", 50_000)), "does not parse"),
        file(".ash.yaml", "a: &a {<<: *a}\n".to_owned(), "does not parse"),
        file(".ash.yaml", "<<: [1, 2]\n".to_owned(), ""),
        file(".ash.yaml", "<<: {nope: 1}\n".to_owned(), "`nope` is not a key"),
        file(".ash.yaml", repeated("---\na: 1\n", 100_000), "does not parse"),
        file(".ash.yaml", repeated("%YAML 1.2\n", 100_000), "does not parse"),
        file(".ash.yaml", (0..150_000).map(|n| format!("k{n}: 1\n")).collect(), ""),
        file(".ash.yaml", format!("global_settings:\n  suppressions:\n{}", repeated("  - {path: x}\n", 90_000)), ""),
        file(".ash.yaml", format!("scanners:\n{}", (0..90_000).map(|n| format!("  s{n}: 1\n")).collect::<String>()), ""),
        file(".ash.yaml", format!("project_name: [\"{}\"]\n", repeated("${ASH_SET}", 300_000)), ""),
        file(".ash.yaml", format!("patch: [{}]\n", repeated("{op: remove, path: /x}, ", 10_000)), ""),
        file(".ash.yaml", format!("extends: [{}]\n", repeated("base.yaml, ", 10_000)), "more than 50 files"),
        file(".ash.yaml", format!("{}a: 1\n", repeated("\u{feff}", 3)), ""),
        file(".ash.yaml", "a: \0\n".to_owned(), "NUL byte"),
        file(".ash.yaml", "\0".to_owned(), "NUL byte"),
        file(".ash.yaml", "project_name: !!binary aGVsbG8=\nfail_on_findings: !!str yes please\n".to_owned(), ""),
        file(".ash.yaml", "project_name: !!python/object/apply:os.system ['id']\n".to_owned(), ""),
        file(".ash.yaml", "fail_on_findings: true\nfail_on_findings: false\n".to_owned(), "duplicate"),
        file(".ash.yaml", "? [a, b]\n: 1\n".to_owned(), ""),
        file(".ash.yaml", "? {a: b}\n: 1\n".to_owned(), ""),
        file(".ash.yaml", "1: 2\n~: 3\ntrue: 4\n".to_owned(), ""),
        file(".ash.yaml", "a:\n\t- b\n".to_owned(), "does not parse"),
        file(".ash.yaml", "a: 1\u{85}b: 2\u{2028}c: 3\n".to_owned(), ""),
        file(".ash.yaml", "fail_on_findings: 1e999\nworkspace: {max_parallel_projects: 99999999999999999999999}\n".to_owned(), ""),
        file(".ash.yaml", "scanners: {bandit: {options: {scan_timeout: .inf}}}\n".to_owned(), ""),
        file(".ash.yaml", "scanners: {bandit: {options: {scan_timeout: .nan}}}\n".to_owned(), ""),
        (".ash.yaml", utf16, "is not UTF-8"),
        (".ash.yaml", b"a: \xff\xfe\n".to_vec(), "is not UTF-8"),
        (".ash.yaml", b"a: \xed\xa0\x80\n".to_vec(), "is not UTF-8"),
        (".ash.yaml", b"\x1f\x8b\x08\x00".to_vec(), "is not UTF-8"),
        file(".ash.json", repeated("[", n), "nested"),
        file(".ash.json", repeated("{\"a\":", n), "nested"),
        file(".ash.json", format!("{{\"{large}\": 1}}"), ""),
        file(".ash.json", "{\"a\": 1, \"a\": 2}".to_owned(), ""),
        file(".ash.json", "{\"project_name\": 1e400}".to_owned(), ""),
        file(".ash.json", "{\"project_name\": \"\\ud800\"}".to_owned(), "does not parse"),
        file(".ash.json", "{} {}".to_owned(), "does not parse"),
        file(".ash.json", "// x\n{}".to_owned(), "does not parse"),
        file(".ash.json", String::new(), "does not parse"),
        file(".ashrc.toml", format!("a = {}", repeated("[", n)), "does not parse"),
        file(".ashrc.toml", format!("[{}a]\n", repeated("a.", n)), ""),
        file(".ashrc.toml", format!("{}a = 1\n", repeated("a.", n)), ""),
        file(".ashrc.toml", format!("a = {}", repeated("{a = ", n)), "does not parse"),
        file(".ashrc.toml", (0..100_000).map(|n| format!("[[a.b{n}.c]]\n")).collect(), ""),
        file(".ashrc.toml", "a = 1\na = 2\n".to_owned(), "does not parse"),
        file(".ashrc.toml", format!("project_name = '''{large}'''\nx = 1\n"), "`x` is not a key"),
        file("pyproject.toml", format!("[tool.ash]\na = {}", repeated("[", n)), "does not parse"),
        file("pyproject.toml", "tool = 1\n[tool.ash]\n".to_owned(), "does not parse"),
        file("pyproject.toml", "[tool]\nash = 1\n".to_owned(), "a section of keys"),
    ]
}

#[test]
fn texts_that_nobody_sane_would_write_are_refused_in_time_and_in_little_memory() {
    for (number, (name, bytes, reason)) in texts().into_iter().enumerate() {
        let lab = Lab::new();
        lab.write(name, &bytes);
        lab.write("base.yaml", "{}");
        let what = format!(
            "{number}: {name} {}",
            head(&String::from_utf8_lossy(&bytes[..bytes.len().min(50)]))
        );
        // One command reads it as the others do; the first of all kinds is asked of every command below.
        let (code, said) = lab.ash(MEMORY, &["config", "get"]);
        assert_eq!(code, Some(3), "{what}: {}", head(&said));
        assert!(said.contains(reason) && !said.contains("panicked"), "{what}: {}", head(&said));
        assert!(said.len() < 100_000, "{what}: {} bytes", said.len());
        let (code, said) = lab.ash(MEMORY, &["config", "lint", "--fix", "-y"]);
        assert!(matches!(code, Some(0 | 1)), "{what}: {code:?} {}", head(&said));
        assert!(!said.contains("panicked"), "{what}: {}", head(&said));
    }
}

#[test]
fn a_program_that_needs_more_memory_is_ended_by_the_limit() {
    // The control: with less than the program itself needs, nothing of the above could pass.
    let lab = Lab::new();
    assert_ne!(lab.ash(16 * 1024, &["config", "get"]).0, Some(0));
    assert_eq!(lab.ash(MEMORY, &["config", "get"]).0, Some(0));
}

#[test]
fn many_bases_are_no_larger_than_one_file() {
    let lab = Lab::new();
    let bases: Vec<String> = (0..49).map(|number| format!("b{number}.yaml")).collect();
    let full: String = (0..45_000).map(|n| format!("  k{n}: 1\n")).collect();
    for (text, reason) in [
        (format!("scanners:\n{}", repeated("# nothing\n", 300_000)), "longer than 4 MiB together"),
        (format!("scanners:\n{full}"), "too many values together"),
        (aliases().lines().take(4).collect::<Vec<_>>().join("\n"), ""),
    ] {
        for base in &bases {
            lab.write(base, &text);
        }
        lab.write(".ash.yaml", format!("extends: [{}]\n", bases.join(", ")));
        let (code, said) = lab.ash(MEMORY, &["config", "get"]);
        assert!(code == Some(3) && said.contains(reason), "{code:?} {}", head(&said));
    }
}

/// Puts something that is no regular file where a configuration is looked for.
type Make<'a> = &'a dyn Fn(&Lab, &str);

#[test]
fn what_is_no_regular_file_is_refused_by_every_command() {
    let long = 100 * 1024 * 1024;
    let make: [(&str, &str, Make<'_>); 9] = [
        ("a fifo", "is not a regular file", &|lab, name| lab.fifo(name)),
        ("a directory", "is not a regular file", &|lab, name| {
            fs::create_dir(lab.path(name)).unwrap();
        }),
        ("a link to a device", "is not a regular file", &|lab, name| {
            symlink("/dev/zero", lab.path(name)).unwrap();
        }),
        ("a link to a terminal", "", &|lab, name| symlink("/dev/tty", lab.path(name)).unwrap()),
        ("a link to itself", "", &|lab, name| symlink(lab.path(name), lab.path(name)).unwrap()),
        ("a link to nowhere", "cannot be read", &|lab, name| {
            symlink("nowhere", lab.path(name)).unwrap();
        }),
        ("a link to endless text of the kernel", "", &|lab, name| {
            symlink("/proc/self/pagemap", lab.path(name)).unwrap();
        }),
        ("a hundred megabytes", "longer than 4 MiB", &|lab, name| {
            fs::File::create(lab.path(name)).unwrap().set_len(long).unwrap();
        }),
        ("a socket", "", &|lab, name| {
            std::os::unix::net::UnixListener::bind(lab.path(name)).map(drop).unwrap();
        }),
    ];
    for (what, reason, make) in make {
        let lab = Lab::new();
        make(&lab, ".ash.yaml");
        lab.refused(what, reason);
    }
    // By every other name as well.
    for name in [".ash.yml", ".ash.json", "ash.yaml", ".ashrc.toml", "ashrc.json"] {
        let lab = Lab::new();
        lab.fifo(name);
        let (code, said) = lab.ash(MEMORY, &["config", "get"]);
        assert!(code == Some(3) && said.contains("is not a regular file"), "{name}: {said}");
    }
}

#[test]
fn a_base_is_as_little_trusted_as_the_file_that_names_it() {
    let lab = Lab::new();
    lab.fifo("fifo.yaml");
    fs::create_dir(lab.path("dir.yaml")).unwrap();
    symlink("/dev/zero", lab.path("zero.yaml")).unwrap();
    symlink("/etc/passwd", lab.path("passwd.yaml")).unwrap();
    lab.write("big.yaml", repeated("#\n", 3_000_000));
    lab.write("bomb.yaml", aliases());
    lab.write("a.yaml", "extends: b.yaml\n");
    lab.write("b.yaml", "extends: a.yaml\n");
    for (base, reason) in [
        ("fifo.yaml", "is not a regular file"),
        ("dir.yaml", "is not a regular file"),
        ("zero.yaml", "outside the scanned tree"),
        ("passwd.yaml", "outside the scanned tree"),
        ("/etc/passwd", "outside the scanned tree"),
        ("/dev/stdin", "outside the scanned tree"),
        ("big.yaml", "longer than 4 MiB"),
        ("bomb.yaml", "alias replay limit"),
        ("a.yaml", "in a circle"),
        ("''", ""),
        (".", ""),
        ("'a\\0b'", ""),
        ("\"a\\0b\"", ""),
        ("file:///etc/passwd", "is an address"),
    ] {
        lab.write(".ash.yaml", format!("extends: {base}\n"));
        let (code, said) = lab.ash(MEMORY, &["config", "get"]);
        assert!(code == Some(3) && said.contains(reason), "{base}: {code:?} {}", head(&said));
        assert!(!said.contains("root:"), "{base} shows what is outside: {said}");
    }
    lab.refused("a base that is no file", "");
}

#[test]
fn an_unreadable_file_is_refused_and_never_replaced_by_the_defaults() {
    let lab = Lab::new();
    lab.write(".ash.yaml", "project_name: x\n");
    fs::set_permissions(lab.path(".ash.yaml"), fs::Permissions::from_mode(0o000)).unwrap();
    if fs::File::open(lab.path(".ash.yaml")).is_ok() {
        // Root reads it all the same.
        assert_eq!(lab.ash(MEMORY, &["config", "get"]).0, Some(0));
        return;
    }
    lab.refused("an unreadable file", "cannot be read");
}

#[test]
fn overrides_that_nobody_sane_would_type_are_refused_in_time() {
    let lab = Lab::new();
    let n = 100_000;
    for text in [
        format!("a={}", repeated("[", n)),
        format!("a={}", repeated("{a: ", n / 4)),
        format!("{}=1", repeated("a.", n / 2)),
        format!("{}b=1", repeated("a.", n / 2)),
        format!("{}=1", repeated("a", n)),
        "extends=/etc/passwd".to_owned(),
        "patch=[{op: add, path: /sandbox, value: {mode: off}}]".to_owned(),
        "sandbox=".to_owned(),
        "=".to_owned(),
        "+=".to_owned(),
        String::new(),
    ] {
        let (code, said) = lab.ash(MEMORY, &["config", "get", "--config-overrides", &text]);
        assert_eq!(code, Some(3), "{}: {}", head(&text), head(&said));
        assert!(!said.contains("panicked"), "{}", head(&said));
    }
}

#[test]
fn the_lab_is_a_checkout_of_its_own() {
    let lab = Lab::new();
    lab.write(".ash.yaml", "project_name: here\n");
    assert!(lab.ash(MEMORY, &["config", "get"]).1.contains("project_name: here"));
    assert!(Path::new("/usr/bin/mkfifo").exists() || Path::new("/bin/mkfifo").exists());
}
