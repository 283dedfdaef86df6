//! The processes below this one, and how to end them all.
//!
//! Being a child subreaper, this process inherits every orphan below it, so "no child left" means "nothing left", however often they
//! forked and whatever sessions they started. Nothing here is bounded in time: a loop that gives up is one a fork bomb outlives.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use rustix::{
    io::Errno,
    process::{Pid, PidfdFlags, Signal, WaitOptions, WaitStatus},
};

/// One process below this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Descendant {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    /// 1 for a child.
    pub(crate) depth: u32,
    group: i32,
    session: i32,
    state: u8,
}

impl Descendant {
    /// Whether it can still make processes.
    fn runs(&self) -> bool {
        !matches!(self.state, b'T' | b't' | b'Z' | b'X')
    }

    /// Whether it is still the process that was found, and not another that got its number.
    fn is_same(&self) -> bool {
        let own = rustix::process::getpid().as_raw_pid();
        stat(self.pid).is_some_and(|now| {
            now.group == self.group && (now.parent == self.parent || now.parent == own)
        })
    }

    /// Signals it.
    pub(crate) fn signal(&self, signal: Signal) -> Result<(), Errno> {
        let pid = Pid::from_raw(self.pid).ok_or(Errno::SRCH)?;
        match rustix::process::pidfd_open(pid, PidfdFlags::empty()) {
            Ok(handle) if self.is_same() => rustix::process::pidfd_send_signal(handle, signal),
            // Before Linux 5.3, or under a filter.
            Err(Errno::NOSYS | Errno::PERM) if self.is_same() => {
                rustix::process::kill_process(pid, signal)
            }
            Ok(_) | Err(_) => Err(Errno::SRCH),
        }
    }
}

/// Signals the process groups of these processes. What keeps forking and dying is never there when its number is called; a group is signalled as a
/// whole, with the children that are being made at that moment. Groups do not reach beyond a session, and this process has one of its own.
fn signal_groups(of: &[Descendant], signal: Signal) {
    let mut groups = BTreeSet::from_iter(own_stat().map(|stat| stat.group));
    for descendant in of {
        // A group whose member is there is still that group.
        if !groups.contains(&descendant.group) && descendant.is_same() {
            groups.insert(descendant.group);
            let _ = Pid::from_raw(descendant.group)
                .map(|group| rustix::process::kill_process_group(group, signal));
        }
    }
}

/// Everything below a process, parents before their children. Reads every process's parent: `/proc/<pid>/task/*/children` exists only on
/// kernels built for checkpointing and is not reliable while processes run.
pub(crate) fn descendants(of: i32) -> Vec<Descendant> {
    let mut children: BTreeMap<i32, Vec<(i32, Stat)>> = BTreeMap::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if let Some(stat) = stat(pid) {
            children.entry(stat.parent).or_default().push((pid, stat));
        }
    }
    let mut found = Vec::new();
    let mut next = vec![(of, 0)];
    while let Some((parent, depth)) = next.pop() {
        for (pid, stat) in children.remove(&parent).unwrap_or_default() {
            found.push(Descendant {
                pid,
                parent,
                depth: depth + 1,
                group: stat.group,
                session: stat.session,
                state: stat.state,
            });
            next.push((pid, depth + 1));
        }
    }
    found.sort_by_key(|descendant| descendant.depth);
    found
}

/// What is needed of `/proc/<pid>/stat`. Parent, group and session are 0 where they belong to a process outside this PID namespace, as the session
/// of a container's first process often does; `getsid` and `getpgrp` of rustix cannot express that.
#[derive(Debug, Clone, Copy)]
struct Stat {
    state: u8,
    parent: i32,
    group: i32,
    session: i32,
}

/// Looks at one process. Its name may hold any character, so the fields are counted from the last parenthesis.
fn stat(pid: i32) -> Option<Stat> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let after_name = stat.iter().rposition(|byte| *byte == b')')?;
    let mut fields =
        stat.get(after_name + 1..)?.split(|byte| *byte == b' ').filter(|field| !field.is_empty());
    let state = *fields.next()?.first()?;
    let mut number = || std::str::from_utf8(fields.next()?).ok()?.parse().ok();
    Some(Stat { state, parent: number()?, group: number()?, session: number()? })
}

fn own_stat() -> Option<Stat> {
    stat(rustix::process::getpid().as_raw_pid())
}

/// Makes sure that the numbers in `/proc` are the ones this process signals by. A PID namespace can be entered without a `/proc` of its own; the
/// outer one numbers the same processes differently, so strangers would be signalled and the tool's processes never found.
///
/// # Errors
/// What is wrong, and what to do.
pub(crate) fn check_visibility() -> Result<(), String> {
    let status = std::fs::read_to_string("/proc/self/status").map_err(|_| {
        "`/proc` is not mounted, so the processes of a scanner cannot be found: run `mount -t proc proc /proc`".to_owned()
    })?;
    if is_numbered_as(&status, rustix::process::getpid().as_raw_pid()) {
        Ok(())
    } else {
        Err("`/proc` belongs to another PID namespace, so the processes of a scanner cannot be found: run `mount -t proc proc /proc` in this one (`unshare` has `--mount-proc`)".to_owned())
    }
}

/// Whether a process's own status comes from its own PID namespace. `NSpid` has one number for each namespace from that of `/proc` inwards; some
/// containers' kernels leave it out.
fn is_numbered_as(status: &str, own: i32) -> bool {
    let own = own.to_string();
    let numbers = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.split_whitespace().collect::<Vec<_>>())
    };
    numbers("Pid:").is_some_and(|pid| pid == [own.as_str()])
        && numbers("NSpid:").is_none_or(|pids| pids == [own.as_str()])
}

/// Whether this process leads its session.
pub(crate) fn is_session_leader() -> bool {
    own_stat().is_some_and(|stat| stat.session == rustix::process::getpid().as_raw_pid())
}

/// Whether a process was stopped, by a signal or by whoever traces it.
pub(crate) fn is_stopped(pid: i32) -> bool {
    stat(pid).is_some_and(|stat| matches!(stat.state, b'T' | b't'))
}

/// Collects one ended child. `Ok(None)`: none has ended; `Err(CHILD)`: there is none.
pub(crate) fn reap() -> Result<Option<(Pid, WaitStatus)>, Errno> {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}

/// Kills everything below this process and returns once it is gone, with the number of processes that had to be killed and how `watched` ended, if it
/// was among them.
pub(crate) fn end_all(watched: Option<Pid>) -> (u32, Option<WaitStatus>) {
    let mut killed = BTreeSet::new();
    let mut ended = None;
    let mut pause = Duration::from_micros(500);
    loop {
        match collect(watched, &mut ended) {
            Collected::NoneLeft => return (u32::try_from(killed.len()).unwrap_or(u32::MAX), ended),
            Collected::SomeEnded => pause = Duration::from_micros(500),
            Collected::Waiting => {}
        }
        let all = freeze(watched, &mut ended);
        signal_groups(&all, Signal::KILL);
        let mut refused = 0;
        for descendant in &all {
            match descendant.signal(Signal::KILL) {
                Err(Errno::PERM) => refused += 1,
                _ if descendant.state != b'Z' => drop(killed.insert(descendant.pid)),
                _ => {}
            }
        }
        // Only without a sandbox can a tool start what this user may not kill (`sudo`); waiting for that could take for ever.
        if refused > 0 && refused == all.len() {
            return (u32::try_from(killed.len()).unwrap_or(u32::MAX), ended);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

enum Collected {
    NoneLeft,
    SomeEnded,
    Waiting,
}

fn collect(watched: Option<Pid>, ended: &mut Option<WaitStatus>) -> Collected {
    let mut result = Collected::Waiting;
    loop {
        match reap() {
            Ok(Some((pid, status))) => {
                if Some(pid) == watched {
                    *ended = Some(status);
                }
                result = Collected::SomeEnded;
            }
            Ok(None) => return result,
            Err(_) => return Collected::NoneLeft,
        }
    }
}

/// Ends children of this process that a dead supervisor left to it: those of another session, and everything below them, but not the live
/// supervisors. Their parent-death signals have ended most of them already.
pub(crate) fn end_orphans(supervisors: &BTreeSet<i32>) {
    let own = rustix::process::getpid().as_raw_pid();
    let Some(session) = own_stat().map(|stat| stat.session) else {
        return;
    };
    loop {
        let mut doomed = BTreeSet::new();
        let all = descendants(own);
        for descendant in &all {
            let is_orphan = descendant.parent == own
                && !supervisors.contains(&descendant.pid)
                && descendant.session != session;
            if is_orphan || doomed.contains(&descendant.parent) {
                doomed.insert(descendant.pid);
            }
        }
        let mut signalled = false;
        for descendant in all.iter().filter(|descendant| doomed.contains(&descendant.pid)) {
            if descendant.state == b'Z' && descendant.parent == own {
                let _ = Pid::from_raw(descendant.pid)
                    .map(|pid| rustix::process::waitpid(Some(pid), WaitOptions::NOHANG));
            } else {
                signalled |= descendant.signal(Signal::KILL).is_ok();
            }
        }
        if !signalled {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Stops everything, in waves, until a look finds nothing new and nothing running: what is stopped cannot fork. A process that does not stop (it sits in
/// the kernel, or cannot be signalled) does not hold this up for ever; it is killed in the next step and looked for again.
fn freeze(watched: Option<Pid>, ended: &mut Option<WaitStatus>) -> Vec<Descendant> {
    let own = rustix::process::getpid().as_raw_pid();
    let mut known = BTreeSet::new();
    for _ in 0..64 {
        // Uncollected, the dead of a fork bomb would use up the system's process numbers.
        collect(watched, ended);
        let all = descendants(own);
        let is_running = all.iter().any(Descendant::runs);
        let is_new = all.iter().filter(|descendant| known.insert(descendant.pid)).count() > 0;
        if !is_running && !is_new {
            return all;
        }
        signal_groups(&all, Signal::STOP);
        for descendant in all.iter().filter(|descendant| descendant.runs()) {
            let _ = descendant.signal(Signal::STOP);
        }
    }
    descendants(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proc_that_numbers_processes_differently_is_noticed() {
        assert_eq!(check_visibility(), Ok(()));
        assert!(is_numbered_as("Name:\tash\nPid:\t7\nPPid:\t1\nNSpid:\t7\n", 7));
        assert!(is_numbered_as("Pid:\t7\nPPid:\t1\n", 7));
        assert!(!is_numbered_as("Pid:\t4711\nNSpid:\t4711\t7\n", 7));
        assert!(!is_numbered_as("Pid:\t7\nNSpid:\t7\t7\n", 7));
        assert!(!is_numbered_as("", 7));
    }

    #[test]
    fn this_process_is_below_its_parent_whatever_its_name() {
        let own = rustix::process::getpid().as_raw_pid();
        let stat = stat(own).unwrap();
        assert!(
            descendants(stat.parent)
                .iter()
                .any(|descendant| descendant.pid == own && descendant.depth == 1)
        );
    }
}
