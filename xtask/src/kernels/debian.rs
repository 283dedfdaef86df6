//! Debian's packages: tools for this machine, and kernels that are only unpacked.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};

use super::arch::Arch;
use crate::{
    machine::{self, Package},
    shell::{Call, say, which},
};

const TOOLS: &[Package] = &[
    Package {
        name: "mmdebstrap",
        why: "root images for the virtual machines",
        present: || which("mmdebstrap").is_some(),
    },
    Package {
        name: "e2fsprogs",
        why: "ext4 images",
        present: || Path::new("/usr/sbin/mke2fs").exists() || which("mke2fs").is_some(),
    },
    Package {
        name: "cpio",
        why: "the first root of the virtual machines",
        present: || which("cpio").is_some(),
    },
    Package {
        name: "xz-utils",
        why: "compressed kernel modules",
        present: || which("xz").is_some(),
    },
];

const EMULATE_AMD64: Package = Package {
    name: "qemu-system-x86",
    why: "amd64 virtual machines",
    present: || which("qemu-system-x86_64").is_some(),
};

const EMULATE_ARM64: Package = Package {
    name: "qemu-system-arm",
    why: "arm64 virtual machines",
    present: || which("qemu-system-aarch64").is_some(),
};

/// Whether this machine can make and boot images at all.
pub(super) fn able() -> Result<()> {
    ensure!(
        which("apt-get").is_some() && which("dpkg-deb").is_some(),
        "`cargo xtask kernels` needs apt and dpkg: run it on Debian or Ubuntu, or in a container of one"
    );
    ensure!(
        machine::is_root(),
        "`cargo xtask kernels` builds file systems with files of several owners: run it as root, for example in a container"
    );
    Ok(())
}

/// Installs the tools of this machine, and lets apt know the architecture.
pub(super) fn prepare(arch: Arch) -> Result<()> {
    able()?;
    if Arch::host() != Some(arch) && !knows(arch)? {
        Call::new("dpkg").args(["--add-architecture", arch.name()]).run()?;
        apt().arg("update").run()?;
    }
    let emulator = match arch {
        Arch::Amd64 => EMULATE_AMD64,
        Arch::Arm64 => EMULATE_ARM64,
    };
    let packages: Vec<Package> = TOOLS.iter().copied().chain([emulator]).collect();
    ensure!(machine::ensure_packages(&packages)?, "packages are missing, see above");
    Ok(())
}

fn knows(arch: Arch) -> Result<bool> {
    let said = Call::new("dpkg").arg("--print-foreign-architectures").said()?;
    Ok(said.stdout.lines().any(|line| line == arch.name()))
}

fn apt() -> Call {
    // Downloads land in a directory that apt's own user cannot write.
    Call::new("apt-get").env("DEBIAN_FRONTEND", "noninteractive").args([
        "-qq",
        "-o",
        "APT::Sandbox::User=root",
    ])
}

/// The newest kernel package of a line such as `6.1`, unpacked below `dir`.
pub(super) fn kernel(line: &str, arch: Arch, dir: &Path) -> Result<PathBuf> {
    let place = dir.join(format!("linux-{line}"));
    if place.join("boot").is_dir() {
        return Ok(place);
    }
    let mut names = Vec::new();
    // The lists may be missing, or older than the packages.
    for update in [false, true] {
        if update {
            apt().arg("update").run()?;
        }
        names = kernel_names(line, arch)?;
        // A name may outlive its package in the lists.
        for name in names.iter().take(3) {
            if let Ok(deb) = download(name, arch, &dir.join("packages")) {
                unpack(&deb, &place)?;
                return Ok(place);
            }
        }
    }
    bail!(
        "no package `linux-image-{line}.*-{}` can be had from the apt sources of this machine{}: add Debian 12 (with its security updates) to them",
        arch.kernel_flavour(),
        if names.is_empty() { String::new() } else { format!(" (tried {})", names.join(", ")) }
    )
}

fn kernel_names(line: &str, arch: Arch) -> Result<Vec<String>> {
    let prefix = format!("linux-image-{line}.");
    let said = Call::new("apt-cache").args(["pkgnames", &prefix]).said()?;
    Ok(newest_first(&said.stdout, arch.kernel_flavour()))
}

fn newest_first(names: &str, flavour: &str) -> Vec<String> {
    let ending = format!("-{flavour}");
    let mut names: Vec<String> =
        names.lines().filter(|name| name.ends_with(&ending)).map(str::to_owned).collect();
    names.sort_by_key(|name| std::cmp::Reverse(numbers(name)));
    names
}

/// The numbers in a name, which sort as versions do.
fn numbers(name: &str) -> Vec<u64> {
    name.split(|letter: char| !letter.is_ascii_digit())
        .filter_map(|part| part.parse().ok())
        .collect()
}

/// A package's unpacked files below `dir`.
pub(super) fn unpacked(name: &str, arch: Arch, dir: &Path) -> Result<PathBuf> {
    let place = dir.join(name);
    if !place.is_dir() {
        let packages = dir.join("packages");
        let deb = download(name, arch, &packages).or_else(|_| {
            apt().arg("update").run()?;
            download(name, arch, &packages)
        })?;
        unpack(&deb, &place)?;
    }
    Ok(place)
}

fn download(name: &str, arch: Arch, dir: &Path) -> Result<PathBuf> {
    fs::create_dir_all(dir)?;
    let found = || -> Result<Option<PathBuf>> {
        let mut files = fs::read_dir(dir)?.filter_map(|entry| Some(entry.ok()?.path()));
        Ok(files.find(|file| {
            let file = file.file_name().unwrap_or_default().to_string_lossy();
            file.starts_with(&format!("{name}_")) && file.ends_with(".deb")
        }))
    };
    if let Some(deb) = found()? {
        return Ok(deb);
    }
    let wanted = format!("{name}:{}", arch.name());
    apt().args(["download", &wanted]).cwd(dir).run().with_context(|| {
        format!("package `{wanted}` cannot be had; look at `apt-cache policy {wanted}`")
    })?;
    found()?.with_context(|| format!("apt downloaded no `{wanted}`"))
}

/// Unpacks all of it or nothing.
fn unpack(deb: &Path, place: &Path) -> Result<()> {
    say(&format!("unpacking {}", deb.display()));
    let half = place.with_extension("half");
    if half.exists() {
        fs::remove_dir_all(&half)?;
    }
    Call::new("dpkg-deb").arg("-x").arg(deb).arg(&half).quiet().run()?;
    fs::rename(&half, place).with_context(|| format!("cannot make `{}`", place.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_kernel_of_a_flavour_comes_first() {
        let names = "linux-image-6.1.0-9-cloud-amd64-unsigned\nlinux-image-6.1.0-57-amd64-unsigned\nlinux-image-6.1.0-57-cloud-amd64-unsigned\nlinux-image-6.1.0-47-cloud-amd64-unsigned";
        assert_eq!(
            newest_first(names, "cloud-amd64-unsigned"),
            [
                "linux-image-6.1.0-57-cloud-amd64-unsigned",
                "linux-image-6.1.0-47-cloud-amd64-unsigned",
                "linux-image-6.1.0-9-cloud-amd64-unsigned",
            ]
        );
    }
}
