//! The steps of the last stage that only Linux has, besides Landlock and seccomp: keyring, capabilities, and what a child may see of its parent.

use rustix::{
    process::DumpableBehavior,
    thread::{CapabilitiesSecureBits, CapabilitySet, CapabilitySets},
};

/// Leaves the session keyring ash was started with, which may hold secrets. Where the call does not exist or is refused, by a container's
/// filter say, the tool cannot use it either: the filter installed later refuses the whole family.
pub(super) fn new_keyring() -> Result<Option<String>, String> {
    match keyutils::Keyring::join_anonymous_session() {
        Ok(_) => Ok(None),
        Err(error) if matches!(error.0, libc::ENOSYS | libc::EPERM | libc::EACCES) => Ok(Some(
            "keyring: not renewed, because keyrings are refused here to everybody".to_owned(),
        )),
        Err(error) => Err(format!("cannot join a fresh session keyring: {error}")),
    }
}

/// Gives up every capability and the means to get one back: the bounding set, the ambient set, and uid 0's own.
pub(super) fn drop_capabilities() -> Result<(), String> {
    let is_root = rustix::process::geteuid().is_root() || rustix::process::getuid().is_root();
    let before = rustix::thread::capabilities(None)
        .map_err(|error| format!("cannot read the capabilities: {error}"))?;
    let may_drop_bounding = before.effective.contains(CapabilitySet::SETPCAP);
    if may_drop_bounding {
        for capability in bounding_set() {
            rustix::thread::remove_capability_from_bounding_set(capability).map_err(|error| {
                format!("cannot drop a capability from the bounding set: {error}")
            })?;
        }
        // Uid 0 gets nothing on exec, and setuid changes nothing. The bits are locked.
        let bits = CapabilitiesSecureBits::NO_ROOT
            | CapabilitiesSecureBits::NO_ROOT_LOCKED
            | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
            | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED;
        rustix::thread::set_capabilities_secure_bits(bits)
            .map_err(|error| format!("cannot set the secure bits: {error}"))?;
    }
    // Kernels before 4.3 have no ambient set.
    match rustix::thread::clear_ambient_capability_set() {
        Ok(()) | Err(rustix::io::Errno::INVAL) => {}
        Err(error) => return Err(format!("cannot clear the ambient capabilities: {error}")),
    }
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    rustix::thread::set_capabilities(None, none)
        .map_err(|error| format!("cannot drop the capabilities: {error}"))?;
    let after = rustix::thread::capabilities(None)
        .map_err(|error| format!("cannot read the capabilities: {error}"))?;
    if after != none {
        return Err("some capabilities are still there".to_owned());
    }
    // For another uid no_new_privs is enough: nothing it can exec adds one. Uid 0 would be granted the bounding set.
    if is_root && bounding_set().next().is_some() {
        return Err(
            "uid 0 keeps a capability bounding set it may not drop; run ash as an ordinary user"
                .to_owned(),
        );
    }
    Ok(())
}

fn bounding_set() -> impl Iterator<Item = CapabilitySet> {
    (0..64)
        .map(|bit| CapabilitySet::from_bits_retain(1 << bit))
        .filter(|capability| rustix::thread::capability_is_in_bounding_set(*capability) == Ok(true))
}

/// Hides this process's memory and descriptors from a tool of the same user.
pub(super) fn hide_from_child() -> Result<(), String> {
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|error| format!("cannot hide the stage from the tool: {error}"))
}

/// Makes signals that whoever started ash ignored end the tool again: an ignored signal stays ignored across exec, a handled one does not.
pub(super) fn default_dispositions() {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return };
    let ignored = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0);
    for signal in (1..32).filter(|signal| ignored & (1 << (signal - 1)) != 0) {
        // Refused only for signals that cannot be handled, which cannot be ignored either.
        if !signal_hook::consts::FORBIDDEN.contains(&signal) {
            drop(signal_hook::flag::register(signal, std::sync::Arc::default()));
        }
    }
}
