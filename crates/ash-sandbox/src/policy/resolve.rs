//! From what a scanner declares and what this machine has to what one spawn may touch.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    ffi::{OsStr, OsString},
    fs,
    path::{Path, PathBuf},
};

use ash_model::{notice::Notice, path::printable, requirements::Requirements};

use super::{
    Grants, Ground, Limits, Policy, PolicyError, breadth::Breadth, program::Search, trace,
    tree::Tree, unfold::unfold,
};
use crate::{
    environment::{self, Allowlist},
    site::Site,
};

/// Programs of these directories are the system's own, also when the system itself is what is scanned.
const SYSTEM_PROGRAMS: &[&str] = &["/usr", "/bin", "/sbin"];

/// Where a private home is put when the real one is shown as scanned data or cannot be mounted over.
const HOME_ELSEWHERE: &str = "/ash-home";

impl Policy {
    /// Decides everything about one spawn of `program` (an absolute path). `extra_env` is set after the allowlist.
    ///
    /// # Errors
    /// When the results directory is reached through a link, a directory of the ground cannot be resolved, or `/` itself is scanned.
    pub fn resolve(
        scanner: &str,
        requirements: &Requirements,
        site: &Site,
        ground: &Ground,
        grants: &Grants,
        program: &Path,
        extra_env: &[(String, OsString)],
    ) -> Result<Self, PolicyError> {
        let scene = Scene::new(site, ground)?;
        let network = grants.network && !grants.offline;
        let environment = scene.environment(requirements, network, extra_env);
        let mut draft = Draft::new(&scene);
        draft.notices = environment::withheld(requirements);
        draft.add_system();
        draft.add_path();
        draft.add_uv();
        draft.add_tool_dirs();
        draft.add_program(program);
        draft.add_declared(requirements);
        draft.add_extra(grants);
        draft.add_certificates(&environment);
        draft.add_scanned();
        draft.finish(scanner, requirements, network, grants.offline, environment)
    }

    /// Which entries of `PATH` a scan of this ground may use: absolute ones outside what is scanned. Lookups must use the same.
    pub fn usable_path(site: &Site, ground: &Ground) -> Vec<PathBuf> {
        usable_path(
            site,
            &Tree::new(roots(ground)),
            &trace::real_as_far_as_it_exists(&ground.source),
        )
    }

    /// Whether a path lies in what is scanned or written by this scan, by name, by link or by where it leads.
    pub fn is_in_tree(ground: &Ground, path: &Path) -> bool {
        Tree::new(roots(ground)).touches(path)
    }
}

fn roots(ground: &Ground) -> impl Iterator<Item = &Path> {
    [&ground.source, &ground.results]
        .into_iter()
        .chain(&ground.output)
        .chain(&ground.targets)
        .map(PathBuf::as_path)
}

fn usable_path(site: &Site, tree: &Tree, source: &Path) -> Vec<PathBuf> {
    let of_the_system = |dir: &Path| {
        SYSTEM_PROGRAMS
            .iter()
            .any(|system| dir.starts_with(system) && Path::new(system).starts_with(source))
    };
    site.path
        .iter()
        .filter(|dir| dir.is_absolute() && (of_the_system(dir) || !tree.touches(dir)))
        .cloned()
        .collect()
}

/// The fixed facts of one resolution.
struct Scene<'a> {
    site: &'a Site,
    ground: &'a Ground,
    breadth: Breadth<'a>,
    tree: Tree,
    path: Vec<PathBuf>,
    results: PathBuf,
    cwd: PathBuf,
}

impl<'a> Scene<'a> {
    fn new(site: &'a Site, ground: &'a Ground) -> Result<Self, PolicyError> {
        crate::results::refuse_linked(&ground.results, ground.output.as_deref(), &ground.source)
            .map_err(|path| PolicyError::LinkedResults { path: printable(path.as_os_str()) })?;
        let source = existing(&ground.source)?;
        if source.parent().is_none() {
            return Err(PolicyError::WholeSystem { path: printable(ground.source.as_os_str()) });
        }
        let tree = Tree::new(roots(ground));
        Ok(Self {
            site,
            ground,
            breadth: Breadth::new(&site.homes),
            path: usable_path(site, &tree, &source),
            tree,
            results: trace::real_as_far_as_it_exists(&ground.results),
            cwd: existing(&ground.cwd)?,
        })
    }

    fn environment(
        &self,
        requirements: &Requirements,
        network: bool,
        extra: &[(String, OsString)],
    ) -> Vec<(OsString, OsString)> {
        let mut environment = Allowlist { requirements, network }.filter(&self.site.variables);
        environment.retain(|(name, _)| !environment::is_own(name));
        if let Some(path) = environment::path_value(self.path.iter().map(PathBuf::as_path)) {
            environment::set(&mut environment, "PATH", path);
        }
        if !network {
            environment::set(&mut environment, "UV_OFFLINE", "1");
        }
        for (name, value) in extra {
            environment::set(&mut environment, name, value);
        }
        environment
    }
}

fn existing(path: &Path) -> Result<PathBuf, PolicyError> {
    let traced = trace::trace(path);
    traced.map(|traced| traced.real).map_err(|error| PolicyError::Unresolvable {
        path: printable(path.as_os_str()),
        reason: error.to_string(),
    })
}

/// The policy while it is put together.
struct Draft<'a> {
    scene: &'a Scene<'a>,
    read: BTreeSet<PathBuf>,
    /// The part of `read` that somebody named, as opposed to system directories: it wins over what is hidden by default.
    named: BTreeSet<PathBuf>,
    caches: BTreeSet<PathBuf>,
    links: BTreeMap<PathBuf, PathBuf>,
    scan_data: BTreeSet<PathBuf>,
    notices: Vec<Notice>,
}

impl<'a> Draft<'a> {
    fn new(scene: &'a Scene<'a>) -> Self {
        Self {
            scene,
            read: BTreeSet::new(),
            named: BTreeSet::new(),
            caches: BTreeSet::new(),
            links: BTreeMap::new(),
            scan_data: BTreeSet::new(),
            notices: vec![],
        }
    }

    /// The real path of something that exists and is not the root directory; its links are remembered.
    fn follow(&mut self, spelled: &Path) -> Option<PathBuf> {
        let traced = self.scene.tree.trace(spelled).ok()?;
        traced.real.parent()?;
        self.links.extend(traced.links);
        Some(traced.real)
    }

    fn read(&mut self, spelled: &Path) {
        if let Some(real) = self.follow(spelled) {
            self.named.insert(real.clone());
            self.read.insert(real);
        }
    }

    /// Whether this leads to the root directory, which nothing is granted; said, if so.
    fn is_everything(&mut self, spelled: &Path, key: &str) -> bool {
        let traced = self.scene.tree.trace(spelled);
        let everything = traced.is_ok_and(|traced| traced.real.parent().is_none());
        if everything {
            let reason = format!(
                "`{}` is the whole file system, so it is not granted",
                printable(spelled.as_os_str())
            );
            let hint = "name the directory below it that is needed";
            self.notices.push(Notice::new(key, reason).hint(hint));
        }
        everything
    }

    /// Something a declaration or a setting names: anything but the whole home, and what must stay private to the sandbox.
    fn read_unless_broad(&mut self, spelled: &Path, key: &str) {
        if self.is_everything(spelled, key) {
            return;
        }
        let Some(real) = self.follow(spelled) else { return };
        let home = self.scene.site.home.as_ref().map(|home| home.real.as_path());
        if Breadth::covers(home, &real) || is_kernels(&real) {
            let reason = format!(
                "`{}` is the home directory, contains it or is the kernel's, so it is not made readable",
                printable(real.as_os_str())
            );
            self.notices
                .push(Notice::new(key, reason).hint("name the directory below it that is needed"));
        } else {
            self.named.insert(real.clone());
            self.read.insert(real);
        }
    }

    fn add_system(&mut self) {
        for spelled in &self.scene.site.system {
            let home = self.scene.site.home.as_ref();
            if let Some(real) = self.follow(spelled)
                && !home.is_some_and(|home| real.starts_with(&home.real))
            {
                self.read.insert(real);
            }
        }
        for file in &self.scene.site.lookups {
            self.read_unless_broad(file, "system");
        }
    }

    fn add_path(&mut self) {
        for spelled in &self.scene.path {
            if self
                .scene
                .tree
                .trace(spelled)
                .is_ok_and(|traced| self.scene.breadth.admits_path_entry(&traced.real))
            {
                self.read(spelled);
            }
        }
    }

    fn add_uv(&mut self) {
        let site = self.scene.site;
        let search =
            Search { breadth: &self.scene.breadth, tree: &self.scene.tree, path: &self.scene.path };
        let mut found: Vec<PathBuf> =
            site.uv_tools.iter().chain(&site.uv_pythons).cloned().collect();
        for tools in &site.uv_tools {
            found.extend(search.base_pythons(tools));
        }
        for path in found.into_iter().filter(|path| !self.scene.tree.touches(path)) {
            self.read_unless_broad(&path, "uv");
        }
        if let Some(cache) = site.uv_cache.clone() {
            self.cache(&cache, "uv");
        }
    }

    fn add_tool_dirs(&mut self) {
        for dir in self.scene.site.tool_dirs.iter().filter(|dir| !self.scene.tree.touches(dir)) {
            self.read_unless_broad(dir, "ash tools");
        }
    }

    fn add_program(&mut self, program: &Path) {
        let search =
            Search { breadth: &self.scene.breadth, tree: &self.scene.tree, path: &self.scene.path };
        let found = search.needs_of(program);
        for path in &found.paths {
            self.read(path);
        }
        // A name is kept working, but only what was found for it is granted.
        for name in &found.names {
            self.follow(name);
        }
        if found.in_tree {
            let reason = format!(
                "`{}` or what runs it lies in the scanned tree, so nothing outside is made readable for its sake",
                printable(program.as_os_str())
            );
            self.notices
                .push(Notice::new("program", reason).hint("name what it needs with `--read`"));
        }
    }

    fn add_declared(&mut self, requirements: &Requirements) {
        for text in &requirements.read_paths {
            if let Some(path) = self.scene.site.expand(OsStr::new(text.as_ref())) {
                self.read_unless_broad(&path, "read_paths");
            }
        }
        for text in &requirements.cache_paths {
            if let Some(path) = self.scene.site.expand(OsStr::new(text.as_ref())) {
                self.cache(&path, "cache_paths");
            }
        }
    }

    fn cache(&mut self, spelled: &Path, key: &str) {
        if self.is_everything(spelled, key) {
            return;
        }
        let Some(real) = self.follow(spelled) else { return };
        if self.scene.breadth.covers_a_home(&real)
            || !real.is_dir()
            || self.scene.tree.touches(spelled)
        {
            let reason = format!(
                "`{}` is not a cache directory of its own outside the scanned tree, so it is not used",
                printable(real.as_os_str())
            );
            let hint = "name the tool's own cache directory";
            self.notices.push(Notice::new(key, reason).hint(hint));
        } else {
            self.caches.insert(real);
        }
    }

    fn add_extra(&mut self, grants: &Grants) {
        for path in &grants.extra_read_paths {
            if trace::trace(path).is_err() {
                self.notices.push(Notice::new(
                    "sandbox.extra_read_paths",
                    format!("`{}` does not exist", printable(path.as_os_str())),
                ));
            }
            self.read_unless_broad(path, "sandbox.extra_read_paths");
        }
    }

    fn add_certificates(&mut self, environment: &[(OsString, OsString)]) {
        for path in environment::certificate_paths(environment) {
            self.read_unless_broad(&path, "certificates");
        }
    }

    fn add_scanned(&mut self) {
        let ground = self.scene.ground;
        let named = std::iter::once(&ground.source).chain(&ground.output).chain(&ground.targets);
        let mut data: Vec<PathBuf> = named.filter_map(|path| self.follow(path)).collect();
        // To start in the home, above it or in `/`, so that a tool finds no configuration, grants nothing.
        let home = self.scene.site.home.as_ref().map(|home| home.real.as_path());
        data.extend(self.follow(&ground.cwd).filter(|cwd| !Breadth::covers(home, cwd)));
        for real in data {
            self.scan_data.insert(real.clone());
            self.named.insert(real.clone());
            self.read.insert(real);
        }
        // The spelled results directory must work too.
        if let Ok(traced) = trace::trace(&ground.results) {
            self.links.extend(traced.links);
        }
    }

    fn finish(
        mut self,
        scanner: &str,
        requirements: &Requirements,
        network: bool,
        offline: bool,
        mut environment: Vec<(OsString, OsString)>,
    ) -> Result<Policy, PolicyError> {
        let scene = self.scene;
        let site = scene.site;
        // A read-only mount over or in the writable directory would take it away.
        let in_results = |path: &PathBuf| path.starts_with(&scene.results);
        self.read.retain(|path| !in_results(path));
        self.caches.retain(|path| !in_results(path) && !self.scan_data.contains(path));
        self.read.retain(|path| !self.caches.contains(path));
        let temporaries = self.temporaries();
        if !temporaries.iter().any(|(dir, _)| *dir == site.temporaries[0]) {
            // `/tmp` is shown as scanned data: temporary files go to the private home.
            let home = self.home().map_or_else(|| HOME_ELSEWHERE.into(), |home| home.spelled);
            environment::set(&mut environment, "TMPDIR", home);
        }
        let resolver = network.then(|| self.resolver()).flatten();
        self.read.extend(resolver.clone());
        let home = self.home();
        let hidden = self.hidden();
        let read_only = prune(&self.read, home.as_ref().map(|home| home.real.as_path()));
        let unfolded = unfold(&read_only, &hidden, home.as_ref().map(|home| home.real.as_path()));
        let home = home.unwrap_or_else(|| crate::site::Named {
            spelled: HOME_ELSEWHERE.into(),
            real: HOME_ELSEWHERE.into(),
        });
        if !environment.iter().any(|(name, _)| name == "HOME") {
            environment::set(&mut environment, "HOME", &home.spelled);
        }
        environment.sort();
        let executable = read_only
            .iter()
            .filter(|path| !self.scan_data.contains(*path) && !is_data(path))
            .cloned()
            .collect();
        Ok(Policy {
            scanner: scanner.to_owned(),
            executable,
            links: self
                .links
                .into_iter()
                .filter(|(place, _)| !place.starts_with("/proc") && !place.starts_with("/dev"))
                .collect(),
            writable: vec![scene.results.clone()],
            caches: self.caches.into_iter().collect(),
            cache_env: cache_variables(requirements),
            scan_data: self.scan_data.into_iter().filter(|path| !in_results(path)).collect(),
            read_only,
            hidden_dirs: hidden.iter().filter(|path| path.is_dir()).cloned().collect(),
            hidden,
            unfolded,
            temporaries: temporaries.into_iter().map(|(_, real)| real).collect(),
            network,
            offline,
            environment,
            home: home.real,
            home_spelled: home.spelled,
            cwd: scene.cwd.clone(),
            resolver,
            as_root: site.uid == 0,
            limits: Limits::default(),
            notices: self.notices,
            uv_locks: uv_locks(site),
            sandbox_exec_env: requirements
                .sandbox_exec_env
                .iter()
                .map(|(name, value)| (name.to_string(), value.to_string()))
                .collect(),
            unpack_dir_env: requirements.unpack_dir_env.as_ref().map(ToString::to_string),
            system_trust_roots: requirements.system_trust_roots,
        })
    }

    /// The home to put an empty one over: not where it is, or lies in, scanned data, and not where mounting over it would need a new
    /// directory on the host.
    fn home(&self) -> Option<crate::site::Named> {
        let home = self.scene.site.home.clone()?;
        let shown = self.scan_data.iter().any(|path| home.real.starts_with(path));
        let beneath_a_grant = self
            .read
            .iter()
            .chain(&self.caches)
            .chain([&self.scene.results])
            .any(|path| home.real.starts_with(path));
        (!shown && (home.real.is_dir() || !beneath_a_grant)).then_some(home)
    }

    /// The temporary directories to put empty ones over, spelled and real: not those that are scanned themselves.
    fn temporaries(&mut self) -> Vec<(PathBuf, PathBuf)> {
        let shown = |this: &Self, real: &Path| {
            let grants = this.read.iter().chain(&this.caches).chain([&this.scene.results]);
            let home = this.scene.site.home.iter().map(|home| &home.real);
            grants.chain(home).any(|path| path == real)
                || this.scan_data.iter().any(|path| real.starts_with(path))
        };
        let mut temporaries: Vec<(PathBuf, PathBuf)> = vec![];
        for spelled in &self.scene.site.temporaries {
            if let Some(real) = self.follow(spelled).filter(|real| real.is_dir())
                && !shown(self, &real)
                && !temporaries.iter().any(|(_, other)| *other == real)
            {
                temporaries.push((spelled.clone(), real));
            }
        }
        temporaries
    }

    /// Host secrets that a readable directory shows; what somebody named expressly is not hidden again.
    fn hidden(&self) -> Vec<PathBuf> {
        let shown = |secret: &Path| secret.ancestors().any(|dir| self.read.contains(dir));
        // Paths are ordered by their components: what lies beneath one follows it.
        let asked = |secret: &Path| {
            let beneath = (std::ops::Bound::Included(secret), std::ops::Bound::Unbounded);
            let mut following = self.named.range::<Path, _>(beneath);
            following.next().is_some_and(|path| path.starts_with(secret))
        };
        self.scene
            .site
            .secrets
            .iter()
            .filter(|secret| shown(secret) && !asked(secret))
            .cloned()
            .collect()
    }

    /// systemd-resolved and others keep the real `resolv.conf` in a directory of `/run`, where they replace it by renaming; anything
    /// broader is not granted for it.
    fn resolver(&mut self) -> Option<PathBuf> {
        let real = self.follow(&self.scene.site.resolver)?;
        let covered = self.read.iter().any(|path| real.starts_with(path));
        let own_directory = real
            .parent()
            .filter(|dir| dir.starts_with("/run") && *dir != Path::new("/run"))
            .map(Path::to_owned);
        (!covered).then(|| own_directory.unwrap_or(real))
    }
}

/// Leaves out what another entry already contains, unless the private home lies between them and hides it.
fn prune(paths: &BTreeSet<PathBuf>, home: Option<&Path>) -> Vec<PathBuf> {
    let hidden_between = |outer: &Path, inner: &Path| {
        home.is_some_and(|home| home.starts_with(outer) && inner.starts_with(home))
    };
    // Hundreds of paths are looked up by each of their parents.
    let all: HashSet<&Path> = paths.iter().map(PathBuf::as_path).collect();
    let redundant = |inner: &Path| {
        inner.ancestors().skip(1).any(|outer| all.contains(outer) && !hidden_between(outer, inner))
    };
    paths.iter().filter(|path| !redundant(path)).cloned().collect()
}

/// Device nodes and processes of the host: a sandbox has its own.
fn is_kernels(real: &Path) -> bool {
    real.starts_with("/proc")
        || (real.starts_with("/dev")
            && !(real.starts_with("/dev/shm") && real != Path::new("/dev/shm")))
}

/// Whether a readable directory of the system holds no programs.
pub(crate) fn is_data(path: &Path) -> bool {
    ["/etc", "/private/etc", "/private/var/db/timezone"].iter().any(|dir| path.starts_with(dir))
}

fn cache_variables(requirements: &Requirements) -> Vec<String> {
    let mut names = vec!["UV_CACHE_DIR".to_owned()];
    for name in &requirements.cache_env {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_string());
        }
    }
    names
}

/// uv opens its tools directory's lock for writing before it looks for a tool. A link there could name any file.
fn uv_locks(site: &Site) -> Vec<PathBuf> {
    let locks = site.uv_tools.iter().map(|tools| tools.join(".lock"));
    locks
        .filter(|lock| fs::symlink_metadata(lock).is_ok_and(|meta| meta.is_file()))
        .filter_map(|lock| fs::canonicalize(lock).ok())
        .collect()
}
