//! The one rule on what is too broad to be granted for the sake of a tool.

use std::path::{Path, PathBuf};

/// Directories many things share: no tool owns one, whatever its path says.
const SHARED: &[&str] = &[
    "/",
    "/boot",
    "/dev",
    "/dev/shm",
    "/home",
    "/media",
    "/mnt",
    "/private",
    "/private/tmp",
    "/private/var",
    "/proc",
    "/root",
    "/run",
    "/run/user",
    "/srv",
    "/sys",
    "/tmp",
    "/Users",
    "/var",
    "/var/cache",
    "/var/lib",
    "/var/log",
    "/var/run",
    "/var/tmp",
    "/Volumes",
];

/// Knows the homes of this machine.
#[derive(Debug, Clone)]
pub(crate) struct Breadth<'a> {
    homes: &'a [PathBuf],
}

impl<'a> Breadth<'a> {
    pub(crate) fn new(homes: &'a [PathBuf]) -> Self {
        Self { homes }
    }

    /// Whether a real directory holds more than one tool's files: a shared directory, a home, what contains a home, or a direct child
    /// of a home (`~/.cargo` holds credentials beside the tools, `~/.nvm/versions/node/v22` does not).
    pub(crate) fn is_broad(&self, real: &Path) -> bool {
        self.covers_a_home(real) || real.parent().is_some_and(|parent| self.is_home(parent))
    }

    /// Whether granting it would grant somebody's whole home, or a shared directory.
    pub(crate) fn covers_a_home(&self, real: &Path) -> bool {
        is_shared(real)
            || self.is_home(real)
            || self.homes.iter().any(|home| home.starts_with(real))
    }

    /// Whether granting it would grant the home of whoever runs ash, or everything: refused even when the operator asks.
    pub(crate) fn covers(home: Option<&Path>, real: &Path) -> bool {
        real.parent().is_none() || home.is_some_and(|home| home.starts_with(real))
    }

    /// Whether a real directory of `PATH` is mounted: never a broad one, and inside a home only one that by its name holds programs.
    pub(crate) fn admits_path_entry(&self, real: &Path) -> bool {
        !self.covers_a_home(real) && (!self.is_in_a_home(real) || holds_programs(real))
    }

    fn is_home(&self, real: &Path) -> bool {
        self.homes.iter().any(|home| home == real)
            || real.parent().is_some_and(holds_homes)
            || real == Path::new("/root")
    }

    fn is_in_a_home(&self, real: &Path) -> bool {
        real.ancestors().any(|dir| self.is_home(dir))
    }
}

/// Whether a directory's own name says that it holds programs.
pub(crate) fn holds_programs(dir: &Path) -> bool {
    dir.file_name().is_some_and(|name| name == "bin" || name == "sbin" || name == "Scripts")
}

fn is_shared(real: &Path) -> bool {
    SHARED.iter().any(|shared| real == Path::new(shared))
}

fn holds_homes(dir: &Path) -> bool {
    dir == Path::new("/home") || dir == Path::new("/Users")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdicts(
        test: impl Fn(&Breadth<'_>, &Path) -> bool,
        paths: &[&'static str],
    ) -> Vec<&'static str> {
        let homes = [PathBuf::from("/home/me"), PathBuf::from("/opt/service")];
        let breadth = Breadth::new(&homes);
        paths.iter().copied().filter(|path| test(&breadth, Path::new(path))).collect()
    }

    #[test]
    fn a_tool_prefix_is_deeper_than_a_direct_child_of_a_home() {
        let paths = [
            "/home/me/.nvm/versions/node/v22",
            "/home/me/.cargo",
            "/home/me",
            "/home",
            "/",
            "/opt",
            "/opt/service",
            "/opt/service/.local",
            "/opt/tool",
            "/home/other",
            "/home/other/.cargo",
            "/root",
            "/root/.pyenv",
            "/root/.pyenv/versions/3.11.7",
            "/tmp",
            "/tmp/tool",
            "/venv",
        ];
        let granted = verdicts(|breadth, path| !breadth.is_broad(path), &paths);
        assert_eq!(
            granted,
            [
                "/home/me/.nvm/versions/node/v22",
                "/opt/tool",
                "/root/.pyenv/versions/3.11.7",
                "/tmp/tool",
                "/venv"
            ]
        );
    }

    #[test]
    fn inside_a_home_only_program_directories_of_path_are_mounted() {
        let paths = [
            "/home/me/tools",
            "/home/me/tools/bin",
            "/home/me/bin",
            "/home/me",
            "/home",
            "/home/me/.venv/Scripts",
            "/srv/tools",
            "/usr/bin",
            "/tmp",
        ];
        let granted = verdicts(|breadth, path| breadth.admits_path_entry(path), &paths);
        assert_eq!(
            granted,
            [
                "/home/me/tools/bin",
                "/home/me/bin",
                "/home/me/.venv/Scripts",
                "/srv/tools",
                "/usr/bin"
            ]
        );
    }
}
