//! Files the real tools leave out by themselves, without a word, when nobody tells them not to.
//!
//! Needs the scanners, in the directory that `ASH_TOOLS_DIR` names; CI has them.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use crate::lab::{Lab, Scanned, finish, read, tools};

/// A scan of these files by one real scanner.
pub(crate) fn scan(lab: &Lab, tools: &Path, scanner: &str, files: &[(&str, &[u8])]) -> Scanned {
    fs::remove_file(lab.path("source/app.py")).unwrap();
    for (name, bytes) in files {
        let path = lab.path("source").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    let mut command = lab.ash(&["scan", "--offline", "--scanners", scanner, "--output-dir"]);
    command.arg(lab.path("out")).env("ASH_TOOLS_DIR", tools);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    read(finish(child, Duration::from_secs(300)), lab.path("out"))
}

/// The files with findings.
pub(crate) fn places(scanned: &Scanned) -> BTreeSet<String> {
    scanned.findings().into_iter().map(|(_, uri, _)| uri).collect()
}

pub(crate) fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn semgrep_looks_at_files_of_any_size_in_any_directory() {
    let Some(tools) = tools() else { return };
    let code = b"def f(a):\n    eval(a)\n";
    let mut large = b"y = 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'\n".repeat(28_000);
    large.extend_from_slice(code);
    assert!(large.len() > 1_300_000);
    let lab = Lab::new();
    let places_with_code = ["tests/a.py", "test/a.py", "build/a.py", "dist/a.py", "vendor/a.py"];
    let mut files: Vec<(&str, &[u8])> =
        places_with_code.iter().map(|name| (*name, &code[..])).collect();
    files.extend([
        ("large.py", &large[..]),
        (".semgrepignore", b"*\n"),
        ("vendor/.semgrepignore", b"*\n"),
    ]);
    let scanned = scan(&lab, &tools, "semgrep", &files);
    assert_eq!(
        scanned.status("semgrep"),
        "FAILED",
        "{} {}",
        scanned.reason("semgrep"),
        scanned.stderr
    );
    assert_eq!(places(&scanned), set(&[&places_with_code[..], &["large.py"]].concat()));
}

#[test]
fn semgrep_looks_at_what_git_does_not_list_unless_an_ignore_file_of_the_tree_names_it() {
    let Some(tools) = tools() else { return };
    let code = b"def f(a):\n    eval(a)\n";
    let git = |at: PathBuf, words: &[&str]| {
        fs::create_dir_all(&at).unwrap();
        assert!(Command::new("git").current_dir(at).args(words).status().unwrap().success());
    };
    let files: [(&str, &[u8]); 4] = [
        ("a.py", code),
        ("nested/b.py", code),
        ("ignored/c.py", code),
        (".gitignore", b"ignored\n"),
    ];
    for case in ["nested", "exclude", "excludesFile"] {
        let lab = Lab::new();
        let source = lab.path("source");
        git(source.clone(), &["init", "-q"]);
        match case {
            "nested" => git(source.join("nested"), &["init", "-q"]),
            "exclude" => fs::write(source.join(".git/info/exclude"), "# none\nnested\n").unwrap(),
            _ => {
                fs::write(source.join(".git/more"), "nested\n").unwrap();
                git(source.clone(), &["config", "core.excludesFile", ".git/more"]);
            }
        }
        let scanned = scan(&lab, &tools, "semgrep", &files);
        assert_eq!(places(&scanned), set(&["a.py", "nested/b.py"]), "{case}: {}", scanned.stderr);
    }
}

#[test]
fn checkov_looks_into_hidden_directories_and_those_that_programs_fill() {
    let Some(tools) = tools() else { return };
    let pod = b"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n      image: nginx\n";
    let bucket = b"resource \"aws_s3_bucket\" \"b\" {\n  bucket = \"x\"\n}\n";
    let lab = Lab::new();
    let places_with_code = [
        "main.tf",
        ".hidden/main.tf",
        ".hidden/pod.yaml",
        ".terraform/modules/m/main.tf",
        ".serverless/pod.yaml",
        ".dotted.tf",
        ".external_modules/main.tf",
        ".ash/main.tf",
        ".ash/ash_output/main.tf",
    ];
    let mut files: Vec<(&str, &[u8])> = places_with_code
        .iter()
        .map(|name| (*name, if name.ends_with(".tf") { &bucket[..] } else { &pod[..] }))
        .collect();
    files.extend([(".gitignore", &b".ignored\n"[..]), (".ignored/main.tf", &bucket[..])]);
    files.extend([(".git/main.tf", &bucket[..]), (".ash/ash_output/reports/main.tf", &bucket[..])]);
    let scanned = scan(&lab, &tools, "checkov", &files);
    assert_eq!(
        scanned.status("checkov"),
        "FAILED",
        "{} {}",
        scanned.reason("checkov"),
        scanned.stderr
    );
    assert_eq!(places(&scanned), set(&places_with_code));
}

#[test]
fn files_with_the_names_of_directories_that_are_left_out_are_looked_at() {
    let Some(tools) = tools() else { return };
    let script = b"KEY=AKIAIOSFODNN7EXAMPLQ\nsqlplus scott/tiger@db\n";
    let names = [".venv", "venv", "node_modules", "d/.venv", "d/venv", "d/node_modules"];
    let control = ["deploy", "d/deploy"];
    let inside = ["e/venv/deploy", "e/.venv/deploy", "e/node_modules/deploy"];
    let all: Vec<&str> = [&names[..], &control, &inside].concat();
    let files: Vec<(&str, &[u8])> = all.iter().map(|name| (*name, &script[..])).collect();
    for scanner in ["detect-secrets", "semgrep"] {
        let lab = Lab::new();
        let scanned = scan(&lab, &tools, scanner, &files);
        let expected = set(&[&names[..], &control].concat());
        assert_eq!(places(&scanned), expected, "{scanner}: {}", scanned.stderr);
    }
}

#[test]
fn cfn_lint_is_given_templates_however_they_are_written_and_no_other_files() {
    let Some(tools) = tools() else { return };
    let bucket = "{\"B\": {\"Type\": \"AWS::S3::Bucket\", \"Properties\": {\"Foo\": \"x\"}}}";
    let templates = [
        ("plain.yaml", format!("Resources: {bucket}\n")),
        ("indented.yaml", format!("  Description: d\n  Resources:\n    {bucket}\n")),
        ("escaped.yaml", format!("\"\\x52esources\": {bucket}\n")),
        ("flow.yaml", format!("--- {{\"Resources\": {bucket}}}\n")),
        ("complex.yaml", format!("? Resources\n: {bucket}\n")),
        ("alias.yaml", format!("Metadata: &m {bucket}\nResources: *m\n")),
        ("separated.yaml", format!("# c\u{2028}Resources: {bucket}\n")),
        ("escaped.json", format!("{{\"\\u0052esources\": {bucket}}}\n")),
    ];
    let others = [
        (
            "compose.yaml",
            "services:\n  web: {image: nginx, environment: [\"R=\\x52esources::b\"]}\n".to_owned(),
        ),
        ("serverless.yml", format!("service: s\nresources:\n  Resources: {bucket}\n")),
        ("map.yaml", format!("kind: ConfigMap\ndata:\n  t: |\n    Resources: {bucket}\n")),
        ("chart.yaml", format!("resources:\n  Resources: {bucket}\nx: {{{{ .Values.x }}}} y\n")),
        (
            "api.json",
            "{\"openapi\": \"3.0.0\", \"x\": {\"Resources\": {\"Type\": \"a::b\"}}}".to_owned(),
        ),
    ];
    let lab = Lab::new();
    let all: Vec<(&str, &[u8])> =
        templates.iter().chain(&others).map(|(name, text)| (*name, text.as_bytes())).collect();
    let scanned = scan(&lab, &tools, "cfn-lint", &all);
    assert_eq!(
        places(&scanned),
        set(&templates.each_ref().map(|(name, _)| *name)),
        "{}",
        scanned.stderr
    );
    assert_eq!(scanned.status("cfn-lint"), "FAILED", "{}", scanned.reason("cfn-lint"));
}

#[test]
fn detect_secrets_reads_text_in_utf_16_and_utf_32() {
    let Some(tools) = tools() else { return };
    let text = "# \u{feff}one\r\npassword = 'c0rrect-horse-battery'\r\n";
    let utf_16 = |bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
        ['\u{feff}' as u16].into_iter().chain(text.encode_utf16()).flat_map(bytes).collect()
    };
    let utf_32: Vec<u8> =
        "\u{feff}".chars().chain(text.chars()).flat_map(|c| u32::from(c).to_le_bytes()).collect();
    let marked = format!("\u{feff}{text}");
    let (little, big) = (utf_16(u16::to_le_bytes), utf_16(u16::to_be_bytes));
    let null_first = [&little[..2], b"\0\0", &little[2..]].concat();
    let lying = [b"\xff\xfe", text.as_bytes()].concat();
    let odd = [&little[..], b"\0"].concat();
    let lab = Lab::new();
    let files = [
        ("big.ini", &big[..]),
        ("little.py", &little[..]),
        ("bare_big.ini", &big[2..]),
        ("bare_little.ini", &little[2..]),
        ("lying.ini", &lying[..]),
        ("marked.ini", marked.as_bytes()),
        ("null_first.ini", &null_first[..]),
        ("odd.ini", &odd[..]),
        ("wide.yaml", &utf_32[..]),
        ("image.png", b"\xff\xd8\0\xffpassword = 'c0rrect-horse-battery'\n"),
    ];
    let scanned = scan(&lab, &tools, "detect-secrets", &files);
    assert_eq!(scanned.status("detect-secrets"), "FAILED", "{}", scanned.reason("detect-secrets"));
    let found: BTreeSet<(String, u64)> =
        scanned.findings().into_iter().map(|(_, uri, line)| (uri, line)).collect();
    let read = files.iter().map(|(name, _)| (*name).to_owned()).filter(|name| name != "image.png");
    assert_eq!(found, read.map(|name| (name, 2)).collect());
}

#[test]
fn no_bytes_in_a_text_file_keep_detect_secrets_from_reading_it() {
    let Some(tools) = tools() else { return };
    let key = b"const key = 'AKIAIOSFODNN7EXAMPLQ';\n";
    let with = |more: &[u8]| [&key[..], more].concat();
    let wide = with(&[b"/*", "\0a".repeat(400).as_bytes(), b"*/\n"].concat());
    let wide_and_odd = with(&[b"//\xff\n/*", "\0a".repeat(400).as_bytes(), b"*/\n"].concat());
    let dense = with(&[b"//", &b"\0\xff\x01\xfe"[..].repeat(100)[..], b"\n"].concat());
    let marked = [b"\xff\xfe", &with(b"// \0\n")[..]].concat();
    let mut utf_32 =
        "\u{feff}".chars().flat_map(|c| u32::from(c).to_le_bytes()).collect::<Vec<_>>();
    utf_32.extend(key.iter().flat_map(|byte| u32::from(*byte).to_le_bytes()));
    utf_32.extend(b"\xff\xff\xff\xff");
    let script = [b"#!/bin/sh\n", &dense[..]].concat();
    let odd = with(b"// \0\xff\n");
    let lab = Lab::new();
    let read = [
        ("plain.js", &key[..]),
        ("wide.js", &wide[..]),
        ("wide_and_odd.js", &wide_and_odd[..]),
        ("odd.js", &odd[..]),
        ("odd", &odd[..]),
        ("dense.js", &dense[..]),
        ("Dockerfile", &dense[..]),
        (".env", &dense[..]),
        ("script", &script[..]),
        ("marked.js", &marked[..]),
        ("utf_32.ps1", &utf_32[..]),
    ];
    let binary = [("font.woff2", &dense[..]), ("program", &dense[..])];
    let scanned = scan(&lab, &tools, "detect-secrets", &[&read[..], &binary].concat());
    let mut found = scanned.findings();
    found.retain(|(rule, ..)| rule == "SECRET-AWS-ACCESS-KEY");
    found.sort();
    let mut expected: Vec<_> = read
        .iter()
        .map(|(name, _)| {
            (
                "SECRET-AWS-ACCESS-KEY".to_owned(),
                (*name).to_owned(),
                1 + u64::from(*name == "script"),
            )
        })
        .collect();
    expected.sort();
    assert_eq!(found, expected, "each once: {}", scanned.stderr);
}

#[test]
fn files_of_the_repository_where_no_scan_looks_are_said() {
    let lab = Lab::new();
    lab.bandit();
    let source = lab.path("source");
    for name in ["node_modules/a/evil.js", "lib/venv/evil.py"] {
        fs::create_dir_all(source.join(name).parent().unwrap()).unwrap();
        fs::write(source.join(name), "x\n").unwrap();
    }
    let git = |words: &[&str]| {
        assert!(Command::new("git").current_dir(&source).args(words).status().unwrap().success());
    };
    git(&["init", "-q"]);
    git(&["add", "app.py"]);
    let said = |words: &str| {
        let scanned = lab.scan(&["--scanners", "bandit", "--offline"]);
        assert_eq!(scanned.code, Some(2), "{}", scanned.stderr);
        let text = scanned.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        let notes = ["the repository has", "no index of git tells"].map(|note| text.contains(note));
        assert!(words.is_empty() || text.contains(words), "{words}: {text}");
        notes
    };
    assert_eq!(said(""), [false, false], "a package manager put them there");
    git(&["add", "-A"]);
    assert_eq!(said("the repository has 2 files in `node_modules`"), [true, false]);
    fs::rename(source.join(".git"), lab.path("git")).unwrap();
    let both = "`lib/venv`, `node_modules` are not scanned, and no index of git tells";
    assert_eq!(said(both), [false, true]);
}

#[test]
fn files_of_a_submodule_where_no_scan_looks_are_said() {
    let lab = Lab::new();
    lab.bandit();
    let git = |at: &str, words: &[&str]| {
        let mut git = Command::new("git");
        git.current_dir(lab.path(at)).args(["-c", "protocol.file.allow=always"]);
        let who = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
        assert!(git.args(who).args(words).status().unwrap().success(), "{words:?}");
    };
    fs::create_dir_all(lab.path("library/venv/lib")).unwrap();
    for name in ["library/venv/lib/evil.py", "library/ok.py"] {
        fs::write(lab.path(name), "x = 1\n").unwrap();
    }
    for place in ["library", "source"] {
        git(place, &["init", "-q"]);
    }
    git("library", &["add", "-A"]);
    git("library", &["commit", "-q", "-m", "x"]);
    git("source", &["submodule", "--quiet", "add", "../library", "sub"]);
    git("source", &["add", "-A"]);
    let said = |place: &str| {
        let scanned = lab.scan_dir(&lab.path(place), &["--scanners", "bandit", "--offline"]);
        scanned.stdout.contains("the repository has 1 file in `node_modules`")
    };
    assert!(said("source"));
    assert!(said("source/sub"), "its `.git` is a file");
    assert!(said("library"), "the control");
    git("source/sub", &["rm", "-q", "--cached", "venv/lib/evil.py"]);
    assert!(!said("source") && !said("source/sub"), "no file of the repository");
}

#[test]
fn results_in_a_tree_that_an_index_above_knows_nothing_of_are_said() {
    let lab = Lab::new();
    lab.bandit();
    let evil = lab.path("source/.ash/ash_output/scanners/app/evil.py");
    fs::create_dir_all(evil.parent().unwrap()).unwrap();
    fs::write(lab.path("README"), "x\n").unwrap();
    let git = |words: &[&str]| {
        let git = Command::new("git").current_dir(lab.path(".")).args(words).status();
        assert!(git.unwrap().success());
    };
    git(&["init", "-q"]);
    git(&["add", "README"]);
    let said = || {
        fs::write(&evil, "x = 1\n").unwrap();
        let scanned = lab.scan(&["--scanners", "bandit", "--offline"]);
        scanned.stdout.contains("held 1 file that has the name of ash's own results")
    };
    assert!(said(), "an archive that was unpacked inside a checkout");
    git(&["add", "source/app.py"]);
    assert!(!said(), "the control: the repository has the tree and not this file");
}
