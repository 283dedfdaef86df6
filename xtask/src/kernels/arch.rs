//! The two architectures, and what each is called by Debian, Rust and qemu.

/// An architecture that kernels are booted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arch {
    Amd64,
    Arm64,
}

impl Arch {
    /// Reads Debian's name.
    pub(super) fn parse(name: &str) -> Option<Self> {
        [Self::Amd64, Self::Arm64].into_iter().find(|arch| arch.name() == name)
    }

    /// The architecture of this machine, if it is one of the two.
    pub(super) fn host() -> Option<Self> {
        match std::env::consts::ARCH {
            "x86_64" => Some(Self::Amd64),
            "aarch64" => Some(Self::Arm64),
            _ => None,
        }
    }

    /// Debian's name.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
        }
    }

    /// Rust's name.
    pub(super) const fn target(self) -> &'static str {
        match self {
            Self::Amd64 => "x86_64-unknown-linux-gnu",
            Self::Arm64 => "aarch64-unknown-linux-gnu",
        }
    }

    /// How the names of kernel packages end. The unsigned amd64 kernel is the one that carries its modules and needs no secure boot.
    pub(super) const fn kernel_flavour(self) -> &'static str {
        match self {
            Self::Amd64 => "cloud-amd64-unsigned",
            Self::Arm64 => "cloud-arm64",
        }
    }

    /// The emulator and the machine it emulates.
    pub(super) const fn qemu(self) -> &'static [&'static str] {
        match self {
            Self::Amd64 => &["qemu-system-x86_64", "-cpu", "max"],
            Self::Arm64 => &["qemu-system-aarch64", "-M", "virt", "-cpu", "cortex-a72"],
        }
    }

    /// The serial console, as the kernel calls it.
    pub(super) const fn console(self) -> &'static str {
        match self {
            Self::Amd64 => "ttyS0",
            Self::Arm64 => "ttyAMA0",
        }
    }
}
