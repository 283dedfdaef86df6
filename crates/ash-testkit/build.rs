//! Compiles the hostile program: raw system calls need C, because `unsafe` is forbidden in every crate of the workspace.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a build script starts the C compiler"
)]
#![expect(clippy::expect_used, reason = "a build script fails the build")]

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

fn main() {
    println!("cargo::rerun-if-changed=hostile");
    println!("cargo::rerun-if-changed=build.rs");
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        return;
    }
    let program =
        PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("hostile");
    let compiler = compiler();
    let mut errors = String::new();
    // Static first: the program then runs in any root, in a minimal virtual machine too.
    for linkage in [&["-static"][..], &[]] {
        match compile(&compiler, linkage, &program) {
            Ok(()) => {
                println!("cargo::rustc-env=ASH_HOSTILE_PROGRAM={}", program.display());
                return;
            }
            Err(reason) => errors.push_str(&reason),
        }
    }
    println!(
        "cargo::error=cannot compile the hostile program with `{}`; set `CC` to a C compiler for the target: {errors}",
        compiler.join(" ")
    );
}

fn compile(compiler: &[String], linkage: &[&str], program: &Path) -> Result<(), String> {
    let mut sources: Vec<_> = fs::read_dir("hostile")
        .expect("the sources are part of the crate")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "c"))
        .collect();
    sources.sort();
    let output = Command::new(&compiler[0])
        .args(&compiler[1..])
        .args(["-std=gnu11", "-O1", "-g0", "-Wall", "-Wextra", "-o"])
        .arg(program)
        .args(linkage)
        .args(sources)
        .args(["-lrt"])
        .output()
        .map_err(|error| format!("{error}; "))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// `CC_<target>`, `TARGET_CC`, `CC`, the usual name of a cross compiler, or `cc`.
fn compiler() -> Vec<String> {
    let (target, host) = (variable("TARGET"), variable("HOST"));
    let cross = target != host;
    let mut names = vec![
        format!("CC_{target}"),
        format!("CC_{}", target.replace('-', "_")),
        "TARGET_CC".to_owned(),
    ];
    if !cross {
        names.push("CC".to_owned());
    }
    for name in &names {
        println!("cargo::rerun-if-env-changed={name}");
    }
    let chosen = names.iter().find_map(|name| env::var(name).ok()).unwrap_or_else(|| {
        if cross { format!("{}-gcc", target.replace("-unknown-", "-")) } else { "cc".to_owned() }
    });
    chosen.split_whitespace().map(str::to_owned).collect()
}

fn variable(name: &str) -> String {
    env::var(name).expect("cargo sets TARGET and HOST")
}
