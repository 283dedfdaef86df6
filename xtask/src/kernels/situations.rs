//! What a kernel may offer or refuse, and what ash has to make of it.

/// A line of kernels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    /// The version, as in package names.
    pub(super) name: &'static str,
    /// What its Landlock can do.
    pub(super) landlock_abi: u64,
}

pub(super) const LINES: &[Line] =
    &[Line { name: "6.1", landlock_abi: 2 }, Line { name: "6.12", landlock_abi: 6 }];

/// Who runs ash.
pub(super) const USERS: &[&str] = &["root", "user"];

/// Something that `guest.sh` brings about.
#[derive(Debug, Clone, Copy)]
pub(super) struct Situation {
    pub(super) name: &'static str,
    /// Words of the kernel's command line that bring it about.
    pub(super) words: &'static str,
    /// Whether Landlock is there.
    pub(super) landlock: bool,
    /// Whether bubblewrap works: for root, for an ordinary user.
    bwrap: (bool, bool),
    /// Whether firejail works: for root, for an ordinary user.
    firejail: (bool, bool),
    /// What the reason against bubblewrap has to name, so that its reader knows what to do.
    pub(super) names: &'static [&'static str],
    /// What the reason against firejail has to name.
    pub(super) names_of_firejail: &'static [&'static str],
}

const NO_LANDLOCK: &str = "lsm=capability,yama,apparmor";

const USUAL: Situation = Situation {
    name: "default",
    words: "",
    landlock: true,
    bwrap: (true, true),
    firejail: (true, true),
    names: &[],
    names_of_firejail: &[],
};

/// Every situation. Those with the same words share one boot.
pub(super) const SITUATIONS: &[Situation] = &[
    USUAL,
    Situation {
        name: "no-userns-clone",
        // Root is exempt, but ash gives root's privileges up before it starts bubblewrap.
        bwrap: (false, false),
        names: &["kernel.unprivileged_userns_clone"],
        ..USUAL
    },
    Situation {
        name: "no-userns-max",
        bwrap: (false, false),
        names: &["user.max_user_namespaces"],
        ..USUAL
    },
    Situation { name: "apparmor", bwrap: (false, false), names: &["AppArmor", "bwrap"], ..USUAL },
    Situation {
        name: "no-landlock",
        words: NO_LANDLOCK,
        landlock: false,
        // Root owns more than namespaces hide, so ash insists on Landlock.
        bwrap: (false, true),
        firejail: (false, true),
        names: &["as an ordinary user", "lsm="],
        names_of_firejail: &["as an ordinary user", "lsm="],
    },
    Situation {
        name: "nothing",
        words: NO_LANDLOCK,
        landlock: false,
        bwrap: (false, false),
        firejail: (false, false),
        names: &["user.max_user_namespaces"],
        names_of_firejail: &["install the package `firejail`"],
    },
];

impl Situation {
    /// Whether a backend works for this user.
    pub(super) fn offers(&self, backend: &str, user: &str) -> bool {
        let of = |(root, ordinary): (bool, bool)| if user == "root" { root } else { ordinary };
        match backend {
            "bwrap" => of(self.bwrap),
            "firejail" => of(self.firejail),
            "landlock" => self.landlock,
            _ => false,
        }
    }

    /// What `auto` has to use.
    pub(super) fn auto(&self, user: &str) -> Option<&'static str> {
        BACKENDS.iter().copied().find(|backend| self.offers(backend, user))
    }

    /// What `auto` has to use where firejail is not installed.
    pub(super) fn auto_without_firejail(&self, user: &str) -> Option<&'static str> {
        Situation { firejail: (false, false), ..*self }.auto(user)
    }
}

/// The backends in the order of `auto`.
pub(super) const BACKENDS: &[&str] = &["bwrap", "firejail", "landlock"];

/// The situations of one boot.
pub(super) fn boots(wanted: impl Fn(&Situation) -> bool) -> Vec<(&'static str, Vec<Situation>)> {
    let mut boots: Vec<(&'static str, Vec<Situation>)> = Vec::new();
    for situation in SITUATIONS.iter().filter(|situation| wanted(situation)) {
        match boots.iter_mut().find(|(words, _)| *words == situation.words) {
            Some((_, situations)) => situations.push(*situation),
            None => boots.push((situation.words, vec![*situation])),
        }
    }
    boots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auto_goes_on_to_the_next_backend_and_gives_up_where_there_is_none() {
        let auto = |name: &str, user: &str| {
            let situation = SITUATIONS.iter().find(|situation| situation.name == name).unwrap();
            (situation.auto(user), situation.auto_without_firejail(user))
        };
        assert_eq!(auto("default", "user"), (Some("bwrap"), Some("bwrap")));
        assert_eq!(auto("no-userns-clone", "root"), (Some("firejail"), Some("landlock")));
        assert_eq!(auto("no-userns-clone", "user"), (Some("firejail"), Some("landlock")));
        assert_eq!(auto("no-landlock", "user"), (Some("bwrap"), Some("bwrap")));
        assert_eq!(auto("no-landlock", "root"), (None, None));
        assert_eq!(auto("nothing", "user"), (None, None));
    }

    #[test]
    fn situations_with_the_same_words_share_a_boot() {
        let boots = boots(|_| true);
        assert_eq!(
            boots.iter().map(|(_, situations)| situations.len()).collect::<Vec<_>>(),
            [4, 2]
        );
    }
}
