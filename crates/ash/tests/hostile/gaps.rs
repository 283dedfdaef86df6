//! What a backend is known not to stop. A gap that closes fails its trial, so that this list stays true.

/// One known gap.
pub(crate) struct Gap {
    backends: &'static [&'static str],
    ids: &'static [&'static str],
    when: When,
    /// The limit that the evidence must then show as null.
    pub(crate) limit: Option<&'static str>,
    /// Why it is so.
    pub(crate) reason: &'static str,
}

#[derive(Clone, Copy)]
enum When {
    Always,
    Offline,
    Root,
    /// Before this Landlock ABI.
    Before(u64),
}

const fn gap(
    backends: &'static [&'static str],
    ids: &'static [&'static str],
    when: When,
    reason: &'static str,
) -> Gap {
    Gap { backends, ids, when, limit: None, reason }
}

impl Gap {
    const fn limit(mut self, name: &'static str) -> Self {
        self.limit = Some(name);
        self
    }
}

use When::*;

const GAPS: &[Gap] = &[
    gap(
        &["bwrap", "firejail", "landlock"],
        &["R02"],
        Always,
        "no memory limit without a delegated cgroup",
    ),
    gap(
        &["bwrap", "firejail", "landlock"],
        &["R01", "D01"],
        Root,
        "the kernel never counts the processes of uid 0",
    )
    .limit("processes"),
    gap(
        &["firejail", "landlock"],
        &["R01", "D01"],
        Always,
        "without a user namespace the whole user's processes would count",
    )
    .limit("processes"),
    gap(&["firejail"], &["R03"], Always, "firejail cannot size its /tmp").limit("tmp"),
    gap(&["firejail"], &["D03"], Always, "firejail cannot size its home").limit("home"),
    gap(&["landlock"], &["D03"], Always, "the private home is a directory on disk").limit("home"),
    gap(
        &["landlock"],
        &["P06", "P07", "P08", "P09"],
        Before(6),
        "without a namespace of processes only Landlock's scopes keep signals in",
    ),
    gap(&["landlock"], &["F24"], Always, "Landlock does not mediate stat"),
    gap(&["landlock"], &["F28"], Always, "Landlock does not mediate chdir"),
    gap(
        &["landlock"],
        &["F38", "I01"],
        Always,
        "POSIX semaphores need /dev/shm, and without a mount namespace it is the host's",
    ),
    gap(
        &["landlock"],
        &["P01"],
        Always,
        "the host's /proc is readable: command lines of other processes show",
    ),
    gap(
        &["landlock"],
        &["N20"],
        Offline,
        "without a network namespace every socket family is refused offline",
    ),
];

/// The known gap that this trial meets, if there is one.
pub(crate) fn known(
    backend: &str,
    id: &str,
    online: bool,
    root: bool,
    landlock_abi: u64,
) -> Option<&'static Gap> {
    GAPS.iter().find(|gap| {
        gap.backends.contains(&backend)
            && gap.ids.contains(&id)
            && match gap.when {
                When::Always => true,
                When::Offline => !online,
                When::Root => root,
                When::Before(abi) => landlock_abi < abi,
            }
    })
}
