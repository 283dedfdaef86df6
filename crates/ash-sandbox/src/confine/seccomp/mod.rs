//! The seccomp program: one table ([`table`]), our own assembler ([`assemble`]), installed by `seccompiler::apply_filter`.
//!
//! Our own, because a program compiled by seccompiler does not look at the x32 bit, so that where a kernel has that interface every
//! denied call is allowed under its other number.

mod assemble;
#[cfg(test)]
mod interpret;
mod table;
#[cfg(test)]
mod tests;

use seccompiler::sock_filter;

use crate::wire::Sockets;

/// What the program depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Options {
    /// Which sockets may be made.
    pub(crate) sockets: Sockets,
    /// No mount namespace around: Landlock's blind spots are closed here.
    pub(crate) landlock_alone: bool,
    /// The Landlock ABI in force; only matters with `landlock_alone`.
    pub(crate) landlock_abi: u32,
}

/// A processor the table has numbers for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Machine {
    /// 64-bit Intel and AMD.
    X86_64,
    /// 64-bit Arm.
    Aarch64,
}

impl Machine {
    /// The one this binary is for.
    pub(crate) const fn current() -> Option<Self> {
        if cfg!(all(target_arch = "x86_64", target_pointer_width = "64")) {
            Some(Self::X86_64)
        } else if cfg!(all(
            target_arch = "aarch64",
            target_pointer_width = "64",
            target_endian = "little"
        )) {
            Some(Self::Aarch64)
        } else {
            None
        }
    }

    /// `AUDIT_ARCH_*`: what the kernel says a call was made for.
    const fn audit(self) -> u32 {
        match self {
            Self::X86_64 => 0xc000_003e,
            Self::Aarch64 => 0xc000_00b7,
        }
    }
}

/// What happens to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// It runs.
    Allow,
    /// It does nothing and returns this error; 0 reports success.
    Errno(u16),
    /// The process is killed with SIGSYS.
    Kill,
}

impl Action {
    /// `SECCOMP_RET_*`.
    const fn returned(self) -> u32 {
        match self {
            Self::Allow => 0x7fff_0000,
            Self::Errno(number) => 0x0005_0000 | number as u32,
            Self::Kill => 0x8000_0000,
        }
    }
}

/// A test of the low 32 bits of one argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Test {
    /// `arg & mask != 0`
    AnyBit { arg: u8, mask: u32 },
    /// `arg & mask == value`
    Is { arg: u8, mask: u32, value: u32 },
    /// `arg & mask != value`
    IsNot { arg: u8, mask: u32, value: u32 },
}

impl std::fmt::Display for Test {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let masked = |arg: u8, mask: u32| {
            if mask == u32::MAX { format!("arg{arg}") } else { format!("arg{arg} & {mask:#x}") }
        };
        match *self {
            Self::AnyBit { arg, mask } => write!(out, "{} != 0", masked(arg, mask)),
            Self::Is { arg, mask, value } => write!(out, "{} == {value:#x}", masked(arg, mask)),
            Self::IsNot { arg, mask, value } => write!(out, "{} != {value:#x}", masked(arg, mask)),
        }
    }
}

/// One row of the table.
#[derive(Debug, Clone)]
struct Rule {
    name: &'static str,
    x86_64: Option<u32>,
    aarch64: Option<u32>,
    /// All must hold; none: always.
    tests: Vec<Test>,
    action: Action,
    why: &'static str,
}

impl Rule {
    const fn number(&self, machine: Machine) -> Option<u32> {
        match machine {
            Machine::X86_64 => self.x86_64,
            Machine::Aarch64 => self.aarch64,
        }
    }
}

/// A row of the table, for documentation.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Row {
    /// The system call.
    pub call: &'static str,
    /// Its number on x86-64, where it exists.
    pub x86_64: Option<u32>,
    /// Its number on aarch64, where it exists.
    pub aarch64: Option<u32>,
    /// When the row applies; empty: always.
    pub when: String,
    /// What happens then.
    pub then: String,
    /// Why.
    pub why: &'static str,
    /// Whether it applies only where Landlock is the whole sandbox.
    pub landlock_alone: bool,
}

/// The table as rows: of the filter for a tool with a network when `network`, else of the one for Landlock alone without.
pub fn rows(network: bool) -> Vec<Row> {
    let sockets = if network { Sockets::Internet } else { Sockets::None };
    let shared = table::rules(&Options { sockets, landlock_alone: false, landlock_abi: 1 });
    let all = table::rules(&Options { sockets, landlock_alone: true, landlock_abi: 1 });
    let known = |rule: &Rule| {
        shared.iter().any(|other| {
            other.name == rule.name && other.tests == rule.tests && other.action == rule.action
        })
    };
    all.into_iter().map(|rule| row(&rule, !known(&rule))).collect()
}

fn row(rule: &Rule, landlock_alone: bool) -> Row {
    let when: Vec<String> = rule.tests.iter().map(Test::to_string).collect();
    let then = match rule.action {
        Action::Allow => "allowed".to_owned(),
        Action::Errno(0) => "success, nothing done".to_owned(),
        Action::Errno(number) => errno_name(number).to_owned(),
        Action::Kill => "killed".to_owned(),
    };
    Row {
        call: rule.name,
        x86_64: rule.x86_64,
        aarch64: rule.aarch64,
        when: when.join(" and "),
        then,
        why: rule.why,
        landlock_alone,
    }
}

const fn errno_name(number: u16) -> &'static str {
    match number {
        1 => "EPERM",
        13 => "EACCES",
        38 => "ENOSYS",
        93 => "EPROTONOSUPPORT",
        95 => "EOPNOTSUPP",
        97 => "EAFNOSUPPORT",
        _ => "an error",
    }
}

/// Restricts the calling thread, and whatever it starts, for good.
pub(crate) fn install(options: &Options) -> Result<(), String> {
    let machine = Machine::current().ok_or_else(|| {
        format!("ash has no table of system calls for `{}`", std::env::consts::ARCH)
    })?;
    let program: Vec<sock_filter> = assemble::program(machine, options);
    seccompiler::apply_filter(&program)
        .map_err(|error| format!("this kernel does not accept the system-call filter: {error}"))
}
