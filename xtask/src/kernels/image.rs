//! What a virtual machine starts from: a Debian root, a first root that finds it, and the programs under test.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};

use super::{
    arch::Arch,
    debian,
    programs::{Programs, TESTS},
};
use crate::shell::{Call, say};

/// What the root image has besides.
const PACKAGES: &[&str] = &[
    "apparmor",
    "attr",
    "bubblewrap",
    "firejail",
    "git",
    "keyutils",
    "kmod",
    "libcap2-bin",
    "procps",
    "python3",
];

/// What every Debian has. Packages are only unpacked, so nothing comes along by itself.
const ESSENTIAL: &[&str] = &[
    "base-files",
    "base-passwd",
    "bash",
    "bsdutils",
    "coreutils",
    "dash",
    "debianutils",
    "diffutils",
    "findutils",
    "grep",
    "gzip",
    "hostname",
    "libc-bin",
    "login",
    "mount",
    "ncurses-base",
    "passwd",
    "perl-base",
    "sed",
    "tar",
    "util-linux",
];

/// Large, but sparse: attacks fill it, and a boot throws all of it away.
const ROOT_SIZE: &str = "8G";

/// Modules that find the disks, in the order they are loaded, and one more that an attack has to find.
const MODULES: &[&str] = &[
    "virtio_ring",
    "virtio",
    "virtio_pci_modern_dev",
    "virtio_pci_legacy_dev",
    "virtio_pci",
    "virtio_mmio",
    "virtio_blk",
    "vsock",
];

/// A module that nothing needs: loading it is an attack.
const SPARE_MODULE: &str = "dummy";

const INIT: &str = include_str!("init.sh");
const GUEST: &str = include_str!("guest.sh");
const DANGERS: &str = include_str!("dangers.sh");

/// Makes an ext4 image of a Debian root, or finds the one made before.
pub(super) fn root(arch: Arch, dir: &Path) -> Result<PathBuf> {
    let image = dir.join("root.img");
    let packages = [ESSENTIAL, PACKAGES].concat().join(",");
    let recipe = format!("{} {packages} {ROOT_SIZE}\n", arch.name());
    let stamp = dir.join("root.recipe");
    if image.exists() && fs::read_to_string(&stamp).is_ok_and(|made| made == recipe) {
        return Ok(image);
    }
    say(&format!("making a Debian root for {}", arch.name()));
    let tree = dir.join("root");
    clear(&tree)?;
    let tar = dir.join("root.tar");
    // No maintainer script runs: none needs an emulator for a foreign architecture, nor rights that a container lacks, and it takes half the time.
    // `prepare_by_hand` does what they would have done.
    Call::new("mmdebstrap")
        .args(["--quiet", "--variant=extract", "--format=tar"])
        .arg("--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr")
        .arg(format!("--architectures={}", arch.name()))
        .arg(format!("--include={packages}"))
        .arg("--dpkgopt=path-exclude=/usr/share/doc/*")
        .arg("--dpkgopt=path-exclude=/usr/share/locale/*")
        .arg("bookworm")
        .arg(&tar)
        .run()
        .context("mmdebstrap made no Debian 12")?;
    fs::create_dir_all(&tree)?;
    Call::new("tar").arg("-xpf").arg(&tar).arg("-C").arg(&tree).arg("--numeric-owner").run()?;
    fs::remove_file(&tar)?;
    prepare_by_hand(&tree)?;
    make_image(&tree, &image, ROOT_SIZE)?;
    clear(&tree)?;
    fs::write(&stamp, recipe)?;
    Ok(image)
}

/// Users, and what only maintainer scripts would have made.
fn prepare_by_hand(tree: &Path) -> Result<()> {
    let append = |file: &str, first: &str, line: &str| -> Result<()> {
        let path = tree.join(file);
        let mut text = fs::read_to_string(&path).unwrap_or_default();
        if text.is_empty() {
            first.clone_into(&mut text);
        }
        text.push_str(line);
        fs::write(&path, text).with_context(|| format!("cannot write `{}`", path.display()))
    };
    append(
        "etc/passwd",
        "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
        "tester:x:1000:1000::/home/tester:/bin/sh\n",
    )?;
    append("etc/group", "root:x:0:\ntty:x:5:\nnogroup:x:65534:\n", "tester:x:1000:\n")?;
    append("etc/shadow", "root:*:19000:0:99999:7:::\n", "tester:*:19000:0:99999:7:::\n")?;
    append("etc/hosts", "127.0.0.1 localhost\n", "::1 localhost\n")?;
    let script = "cd \"$1\"; echo lab >etc/hostname; mkdir -p root; echo 'umask 022' >root/.bashrc; [ -e bin/sh ] || ln -s dash bin/sh; install -d -m 0700 -o 1000 -g 1000 home/tester; chmod 0640 etc/shadow; chmod 0600 root/.bashrc; chmod 0700 root; mkdir -p proc sys dev run tmp; chmod 1777 tmp";
    Call::new("sh").args(["-ec", script, "sh"]).arg(tree).quiet().run()
}

/// Makes the image that carries the programs, laid out as cargo left them: it is mounted where cargo built them.
pub(super) fn programs(built: &Programs, dir: &Path) -> Result<PathBuf> {
    let tree = dir.join("programs.tree");
    clear(&tree)?;
    let mut paths = format!("ASH='{}'\nHERE='{}'\n", built.ash.display(), built.base.display());
    for (name, program) in TESTS.iter().zip(&built.tests) {
        paths.push_str(&format!("TEST_{name}='{}'\n", program.display()));
    }
    let files = [&built.ash].into_iter().chain(&built.tests).chain(&built.hostile);
    for file in files {
        let to = tree.join(file.strip_prefix(&built.base)?);
        fs::create_dir_all(to.parent().unwrap_or(&tree))?;
        // A link costs nothing; the image gets the bytes.
        fs::hard_link(file, &to).with_context(|| format!("cannot link `{}`", file.display()))?;
    }
    for (name, text) in [("paths.sh", &*paths), ("guest.sh", GUEST), ("dangers.sh", DANGERS)] {
        fs::write(tree.join(name), text)?;
    }
    Call::new("chmod").args(["-R", "a+rX,a+x"]).arg(&tree).quiet().run()?;
    let image = dir.join("programs.img");
    make_image(&tree, &image, "400M")?;
    clear(&tree)?;
    Ok(image)
}

fn make_image(tree: &Path, image: &Path, size: &str) -> Result<()> {
    let half = image.with_extension("half");
    if half.exists() {
        fs::remove_file(&half)?;
    }
    Call::new("/usr/sbin/mke2fs")
        .args(["-q", "-t", "ext4", "-m", "0", "-E", "root_owner=0:0", "-d"])
        .arg(tree)
        .arg(&half)
        .arg(size)
        .run()?;
    fs::rename(&half, image).with_context(|| format!("cannot make `{}`", image.display()))
}

/// Makes the first root: a shell, the modules that find the disks, and the script that mounts them.
pub(super) fn initrd(arch: Arch, line: &str, kernel: &Path, dir: &Path) -> Result<PathBuf> {
    let busybox = debian::unpacked("busybox-static", arch, dir)?;
    let tree = dir.join("initrd");
    clear(&tree)?;
    for directory in ["bin", "dev", "modules", "proc", "root", "sys"] {
        fs::create_dir_all(tree.join(directory))?;
    }
    let shell = ["bin/busybox", "usr/bin/busybox"].map(|path| busybox.join(path));
    let shell =
        shell.iter().find(|path| path.is_file()).context("busybox-static has no busybox")?;
    fs::copy(shell, tree.join("bin/busybox"))?;
    for name in MODULES.iter().chain([&SPARE_MODULE]) {
        let script =
            "find \"$1\" \\( -name \"$2.ko\" -o -name \"$2.ko.xz\" \\) -exec cp {} \"$3\" \\;";
        Call::new("sh")
            .args(["-ec", script, "sh"])
            .arg(kernel)
            .arg(name)
            .arg(tree.join("modules"))
            .quiet()
            .run()?;
    }
    fs::write(tree.join("init"), INIT.replace("@MODULES@", &MODULES.join(" ")))?;
    let image = dir.join(format!("initrd-{line}.gz"));
    let script = "cd \"$1\"; find modules -name '*.xz' -exec xz -d {} +; chmod +x init; find . | cpio -o -H newc 2>/dev/null | gzip -1 >\"$2\"";
    Call::new("sh").args(["-ec", script, "sh"]).arg(&tree).arg(&image).quiet().run()?;
    clear(&tree)?;
    Ok(image)
}

fn clear(tree: &Path) -> Result<()> {
    if tree.exists() {
        fs::remove_dir_all(tree).with_context(|| format!("cannot remove `{}`", tree.display()))?;
    }
    ensure!(!tree.exists(), "`{}` is still there", tree.display());
    Ok(())
}
