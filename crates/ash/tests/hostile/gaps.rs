//! What a backend is known not to stop. A gap that closes fails its trial, so that this list stays true.

/// One known gap.
pub(crate) struct Gap {
    backend: &'static str,
    id: &'static str,
    when: When,
    /// Why it is so.
    pub(crate) reason: &'static str,
}

enum When {
    Always,
    Offline,
    Root,
}

const fn gap(backend: &'static str, id: &'static str, when: When, reason: &'static str) -> Gap {
    Gap { backend, id, when, reason }
}

const NO_MEMORY_LIMIT: &str = "no memory limit without a delegated cgroup";
const NO_USER_NAMESPACE: &str =
    "processes are counted per user, and uid 0 is not counted, where there is no user namespace";
const SHARED_MEMORY: &str =
    "POSIX semaphores need /dev/shm, and without a mount namespace it is the host's";

const GAPS: &[Gap] = &[
    gap("bwrap", "R02", When::Always, NO_MEMORY_LIMIT),
    gap("firejail", "R02", When::Always, NO_MEMORY_LIMIT),
    gap("landlock", "R02", When::Always, NO_MEMORY_LIMIT),
    gap("landlock", "F24", When::Always, "Landlock does not mediate stat"),
    gap("landlock", "F28", When::Always, "Landlock does not mediate chdir"),
    gap(
        "landlock",
        "P01",
        When::Always,
        "the host's /proc is readable: command lines of other processes show",
    ),
    gap("landlock", "F38", When::Always, SHARED_MEMORY),
    gap("landlock", "I01", When::Always, SHARED_MEMORY),
    gap(
        "landlock",
        "N20",
        When::Offline,
        "without a network namespace every socket family is refused offline",
    ),
    gap("landlock", "R01", When::Root, NO_USER_NAMESPACE),
    gap("landlock", "D01", When::Root, NO_USER_NAMESPACE),
    gap("landlock", "D03", When::Always, "the private home is a directory on disk"),
];

/// The known gap that this trial meets, if there is one.
pub(crate) fn known(backend: &str, id: &str, online: bool, root: bool) -> Option<&'static Gap> {
    GAPS.iter().find(|gap| {
        gap.backend == backend
            && gap.id == id
            && match gap.when {
                When::Always => true,
                When::Offline => !online,
                When::Root => root,
            }
    })
}
