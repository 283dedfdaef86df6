//! Starts a kernel in qemu and keeps what its console says.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

use super::arch::Arch;
use crate::shell::Call;

/// A virtual machine that is not started yet.
#[derive(Debug)]
pub(super) struct Machine<'a> {
    pub(super) arch: Arch,
    /// The unpacked kernel package.
    pub(super) kernel: &'a Path,
    pub(super) initrd: &'a Path,
    /// Read, and never written: what the guest writes is thrown away.
    pub(super) root: &'a Path,
    /// Read only.
    pub(super) programs: &'a Path,
    /// More words for the kernel's command line.
    pub(super) words: &'a str,
    /// Where the console's text goes.
    pub(super) log: &'a Path,
    /// Seconds after which it is stopped.
    pub(super) limit: u32,
    /// How many machines share this one's processors.
    pub(super) at_once: usize,
}

impl Machine<'_> {
    /// Runs it until it switches itself off, and returns what its console said.
    pub(super) fn run(&self) -> Result<String> {
        let image = self.image()?;
        let mut call = Call::new("nice").args(["-n", "10", "timeout", "--kill-after=10"]);
        call = call.arg(self.limit.to_string()).args(self.arch.qemu());
        // The first accelerator that can be used is.
        for accelerator in if self.can_use_kvm() { &["kvm", "tcg"][..] } else { &["tcg"] } {
            call = call.args(["-accel", accelerator]);
        }
        let append = format!(
            "console={} rdinit=/init quiet loglevel=1 panic=-1 {}",
            self.arch.console(),
            self.words
        );
        let code = call
            .args([
                "-smp",
                &self.processors().to_string(),
                "-m",
                &self.memory().to_string(),
                "-display",
                "none",
                "-monitor",
                "none",
                "-no-reboot",
            ])
            .args(["-nic", "none", "-device", "virtio-rng-pci"])
            .arg("-kernel")
            .arg(image)
            .arg("-initrd")
            .arg(self.initrd)
            .args(["-drive", &drive(self.root, "snapshot=on,cache=unsafe")])
            .args(["-drive", &drive(self.programs, "readonly=on")])
            .args(["-append", &append])
            .args(["-serial", &format!("file:{}", self.log.display())])
            .quiet()
            .code()?;
        let bytes = fs::read(self.log)
            .with_context(|| format!("qemu ended with {code} and left no console"))?;
        Ok(String::from_utf8_lossy(&bytes).replace('\r', ""))
    }

    /// A guest with more processors than it gets waits for locks whose holders do not run.
    fn processors(&self) -> usize {
        let here = std::thread::available_parallelism().map_or(1, usize::from);
        (here / self.at_once).clamp(1, 2)
    }

    /// In MiB. A sandboxed `/tmp` may hold 2 GiB, and as many trials run at once as there are processors. firejail's holds half of the memory,
    /// which has to be more than that: it is known to have no limit.
    fn memory(&self) -> usize {
        3072 + 2048 * self.processors()
    }

    fn image(&self) -> Result<PathBuf> {
        let boot = self.kernel.join("boot");
        let files = fs::read_dir(&boot).with_context(|| format!("no `{}`", boot.display()))?;
        let mut files = files.filter_map(|entry| Some(entry.ok()?.path()));
        files
            .find(|file| {
                file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("vmlinuz-"))
            })
            .with_context(|| format!("no kernel in `{}`", boot.display()))
    }

    /// Whether hardware can run this architecture. A machine that is virtual itself may have the device without the means:
    /// the processor flags tell.
    fn can_use_kvm(&self) -> bool {
        let processor = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        Arch::host() == Some(self.arch)
            && fs::OpenOptions::new().read(true).write(true).open("/dev/kvm").is_ok()
            && (self.arch == Arch::Arm64
                || processor.split_whitespace().any(|flag| flag == "vmx" || flag == "svm"))
    }
}

fn drive(file: &Path, options: &str) -> String {
    // A comma in the path is doubled for qemu.
    format!("file={},format=raw,if=virtio,{options}", file.display().to_string().replace(',', ",,"))
}
