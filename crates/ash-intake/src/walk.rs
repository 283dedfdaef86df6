//! Walks the scanned directory: every regular file that no rule leaves out, in one fixed order, whatever is in the way.

use std::{
    cmp::Ordering,
    collections::BTreeMap,
    ffi::OsString,
    fs::{self, FileType},
    io,
    num::NonZero,
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
};

use ash_model::{notice::Notice, path::RelPath};

use crate::{
    own::OwnResults,
    reader::{self, open_no_follow},
    rules::{Builtin, Decision, Exclusion, IGNORE_FILE_LIMIT, IGNORE_FILES, Rules},
};

const THREADS: usize = 8;

/// What to walk.
#[derive(Debug, Clone, Copy)]
pub struct Walk<'a> {
    /// The scanned directory.
    pub source: &'a Path,
    /// ash's own results: left out where they lie inside.
    pub own: &'a OwnResults,
    /// What settings leave out.
    pub excluded: Option<&'a dyn Exclusion>,
    /// Scanners run with fewer rights than this process (root that gives up its capabilities): what only those rights can read counts as
    /// unread.
    pub confined_root: bool,
}

/// The files to scan.
#[derive(Debug, Default)]
pub struct ScanSet {
    /// Regular files, sorted.
    pub files: Vec<RelPath>,
    /// Directories that could not be read: the scan is then incomplete.
    pub unread: Vec<Unread>,
    /// Ignore files that were not obeyed.
    pub notices: Vec<Notice>,
    /// Ignore files that were, with their text; at most 4 MiB of it.
    pub ignore_files: Vec<(RelPath, String)>,
    /// How many files and directories (not what is in those) each ignore file of the tree left out.
    pub left_out: BTreeMap<PathBuf, u64>,
    /// What no scan enters for its name alone, such as `node_modules`; sorted.
    pub passed_over: Vec<PathBuf>,
}

/// Text of ignore files kept for the report by each worker.
const REPORTED: usize = 4 * 1024 * 1024 / THREADS;

impl ScanSet {
    /// The rules that were obeyed, file by file, as `ash-ignore-report.txt` shows them.
    pub fn ignore_report(&self) -> String {
        let parts = self.ignore_files.iter().map(|(path, text)| {
            let newline = if text.ends_with('\n') || text.is_empty() { "" } else { "\n" };
            format!("######## START {path} ########\n{text}{newline}######## END {path} ########\n")
        });
        parts.collect()
    }
}

/// Why a confined scanner run by root does not see a file.
const CONFINED: &str = "its mode lets root read it only by a capability, which confined scanners do not have; run ash as its owner, or make it readable";

/// A directory or file that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unread {
    /// Which, relative to the scanned directory, for people.
    pub path: String,
    /// Why.
    pub reason: String,
}

/// Finds the files to scan. Links are never followed, and never in the set.
///
/// # Errors
/// When the scanned directory itself cannot be read.
pub fn scan_set(walk: &Walk<'_>) -> io::Result<ScanSet> {
    fs::read_dir(walk.source)?;
    let shared = Shared {
        source: walk.source,
        builtin: Builtin::new(walk.own, walk.excluded),
        confined_root: walk.confined_root,
        queue: Mutex::new(Queue { directories: vec![Directory::root()], busy: 0 }),
        changed: Condvar::new(),
    };
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(THREADS);
    let parts: Vec<ScanSet> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(|| shared.work())).collect();
        workers.into_iter().map(|worker| worker.join().unwrap_or_else(|_| crashed())).collect()
    });
    let mut set = ScanSet::default();
    for part in parts {
        set.files.extend(part.files);
        set.unread.extend(part.unread);
        set.notices.extend(part.notices);
        set.ignore_files.extend(part.ignore_files);
        set.passed_over.extend(part.passed_over);
        for (path, count) in part.left_out {
            *set.left_out.entry(path).or_default() += count;
        }
    }
    set.files.sort_unstable_by(in_order);
    set.unread.sort_unstable();
    set.notices.sort_unstable();
    set.ignore_files.sort_unstable();
    set.passed_over.sort_unstable();
    Ok(set)
}

/// A worker that panicked lost files: the scan must not look complete.
fn crashed() -> ScanSet {
    let unread =
        Unread { path: ".".to_owned(), reason: "the walk stopped early: a bug in ash".to_owned() };
    ScanSet { unread: vec![unread], ..ScanSet::default() }
}

/// The order of [`RelPath`], by parts, without splitting: a separator sorts before everything else.
fn in_order(left: &RelPath, right: &RelPath) -> Ordering {
    let (left, right) = (
        left.as_path().as_os_str().as_encoded_bytes(),
        right.as_path().as_os_str().as_encoded_bytes(),
    );
    let rank = |byte: &u8| if *byte == b'/' { 0 } else { u16::from(*byte) + 1 };
    match left.iter().zip(right).find(|(left, right)| left != right) {
        Some((left, right)) => rank(left).cmp(&rank(right)),
        None => left.len().cmp(&right.len()),
    }
}

/// One directory still to be read.
struct Directory {
    path: PathBuf,
    rules: Arc<Rules>,
    /// An ignore file names this directory, and it is looked into all the same.
    hidden_by: Option<PathBuf>,
}

impl Directory {
    fn root() -> Self {
        Self { path: PathBuf::new(), rules: Arc::default(), hidden_by: None }
    }
}

struct Queue {
    directories: Vec<Directory>,
    /// Workers that may still add directories.
    busy: usize,
}

struct Shared<'a> {
    source: &'a Path,
    builtin: Builtin<'a>,
    confined_root: bool,
    queue: Mutex<Queue>,
    changed: Condvar,
}

impl Shared<'_> {
    fn work(&self) -> ScanSet {
        let mut set = ScanSet::default();
        while let Some(directory) = self.next() {
            let mut found = Vec::new();
            self.read(&directory, &mut set, &mut found);
            let mut queue = self.lock();
            queue.directories.append(&mut found);
            queue.busy -= 1;
            drop(queue);
            self.changed.notify_all();
        }
        set
    }

    fn next(&self) -> Option<Directory> {
        let mut queue = self.lock();
        loop {
            if let Some(directory) = queue.directories.pop() {
                queue.busy += 1;
                return Some(directory);
            }
            if queue.busy == 0 {
                return None;
            }
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self, directory: &Directory, set: &mut ScanSet, found: &mut Vec<Directory>) {
        let entries = match self.entries(&directory.path) {
            Ok(entries) => entries,
            Err(error) => return set.unread.push(unread(&directory.path, &error)),
        };
        let rules = self.rules(directory, &entries, set);
        for (name, kind) in entries {
            let path = directory.path.join(&name);
            let mut hidden_by = None;
            let keep = match self.builtin.decide(&path, &name, kind.is_dir()) {
                Decision::Skip => false,
                Decision::PassOver => {
                    if kind.is_dir() || kind.is_file() {
                        set.passed_over.push(path.clone());
                    }
                    false
                }
                Decision::Keep => true,
                Decision::Enter => {
                    hidden_by = rules.ignored_by(&path, true);
                    true
                }
                Decision::Ask => {
                    let by = rules.ignored_by(&path, kind.is_dir());
                    let by = by.or_else(|| directory.hidden_by.clone());
                    let is_kept = by.is_none();
                    if let Some(by) = by.filter(|_| kind.is_dir() || kind.is_file()) {
                        *set.left_out.entry(by).or_default() += 1;
                    }
                    is_kept
                }
            };
            if !keep {
                continue;
            }
            if self.confined_root
                && (kind.is_dir() || kind.is_file())
                && !self.is_plainly_readable(&path)
            {
                set.unread.push(Unread {
                    path: ash_model::path::printable(path.as_os_str()),
                    reason: CONFINED.to_owned(),
                });
            }
            if kind.is_dir() {
                found.push(Directory { path, rules: Arc::clone(&rules), hidden_by });
            } else if kind.is_file() {
                set.files.extend(RelPath::new(path));
            }
        }
    }

    /// Whether uid 0 may read it by its mode alone.
    #[cfg(unix)]
    fn is_plainly_readable(&self, path: &Path) -> bool {
        use std::os::unix::fs::MetadataExt;
        let Ok(meta) = fs::symlink_metadata(self.source.join(path)) else { return true };
        let shift = if meta.uid() == 0 {
            6
        } else if meta.gid() == 0 {
            3
        } else {
            0
        };
        let needed = if meta.is_dir() { 0o5 } else { 0o4 };
        (meta.mode() >> shift) & needed == needed
    }

    #[cfg(not(unix))]
    fn is_plainly_readable(&self, _: &Path) -> bool {
        true
    }

    fn entries(&self, path: &Path) -> io::Result<Vec<(OsString, FileType)>> {
        fs::read_dir(self.source.join(path))?
            .map(|entry| entry.and_then(|entry| Ok((entry.file_name(), entry.file_type()?))))
            .collect()
    }

    /// The rules of a directory whose entries are known. An ignore file that is a link, a pipe, too long or not readable is not obeyed:
    /// too much is then scanned, never too little.
    fn rules(
        &self,
        directory: &Directory,
        entries: &[(OsString, FileType)],
        set: &mut ScanSet,
    ) -> Arc<Rules> {
        let mut files: Vec<(usize, String)> = Vec::new();
        for (index, name) in IGNORE_FILES.iter().enumerate() {
            if !entries.iter().any(|(entry, _)| entry == name) {
                continue;
            }
            let path = directory.path.join(name);
            if self.builtin.is_own(&path) {
                continue;
            }
            match read_ignore_file(&self.source.join(&path)) {
                Ok(text) => files.push((index, text)),
                Err(error) => set.notices.push(not_obeyed(&path, &error)),
            }
        }
        if files.is_empty() {
            return Arc::clone(&directory.rules);
        }
        let rules = Rules::within(&directory.rules, &directory.path, &files);
        for (index, text) in files {
            let kept: usize = set.ignore_files.iter().map(|(_, text)| text.len()).sum();
            if let (Ok(path), true) = (
                RelPath::new(directory.path.join(IGNORE_FILES[index])),
                kept + text.len() <= REPORTED,
            ) {
                set.ignore_files.push((path, text));
            }
        }
        rules
    }
}

fn unread(path: &Path, error: &io::Error) -> Unread {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    Unread { path: ash_model::path::printable(path.as_os_str()), reason: error.to_string() }
}

fn not_obeyed(path: &Path, error: &io::Error) -> Notice {
    let notice = Notice::new("ignore-file", format!("the ignore file is not obeyed: {error}"));
    Notice { file: Some(ash_model::path::printable(path.as_os_str())), ..notice }
}

fn read_ignore_file(path: &Path) -> io::Result<String> {
    let bytes = reader::read_bounded(open_no_follow(path)?, IGNORE_FILE_LIMIT)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::{ffi::OsStringExt, fs::symlink};

    use super::*;

    struct Lab(tempfile::TempDir);

    impl Lab {
        fn new(files: &[(&str, &str)]) -> Self {
            let lab = Self(tempfile::tempdir().unwrap());
            for (path, text) in files {
                let path = lab.0.path().join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            lab
        }

        fn walk(&self) -> ScanSet {
            scan_set(&Walk {
                source: self.0.path(),
                own: &OwnResults::within(self.0.path(), Path::new("/")),
                excluded: None,
                confined_root: false,
            })
            .unwrap()
        }

        fn found(&self) -> Vec<String> {
            names(&self.walk())
        }
    }

    fn names(set: &ScanSet) -> Vec<String> {
        set.files.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn hidden_files_are_scanned_and_git_is_not() {
        let lab = Lab::new(&[
            (".github/workflows/ci.yml", ""),
            (".env", ""),
            (".git/config", ""),
            ("sub/.git", "gitdir: x"),
            ("a.py", ""),
        ]);
        assert_eq!(lab.found(), [".env", ".github/workflows/ci.yml", "a.py"]);
    }

    #[test]
    fn each_ignore_file_answers_for_what_it_hides() {
        let lab = Lab::new(&[
            (".gitignore", "*.py\n/sub/kept\n"),
            ("sub/.ignore", "*.txt\n!kept.txt\n"),
            ("a.py", ""),
            ("sub/b.py", ""),
            ("sub/c.txt", ""),
            ("sub/kept.txt", ""),
            ("sub/kept/d", ""),
        ]);
        let expected =
            BTreeMap::from([(PathBuf::from(".gitignore"), 3), (PathBuf::from("sub/.ignore"), 1)]);
        assert_eq!(lab.walk().left_out, expected);
    }

    #[test]
    fn vendored_and_generated_directories_are_left_out_at_any_depth() {
        let lab = Lab::new(&[
            ("node_modules/x/a.js", ""),
            ("sub/node_modules/aws-cdk/a.js", ""),
            (".venv/a.py", ""),
            ("p/venv/a.py", ""),
            (".ash/ash_output/reports/r.json", ""),
            (".ash/.ash.yaml", ""),
            ("cdk.out/asset.1/a.js", ""),
            ("cdk.out/asset.2.zip", ""),
            ("cdk.out/stack.template.json", ""),
            ("venv.py", ""),
            ("docs/node_modules", "a file"),
        ]);
        assert_eq!(
            lab.found(),
            [".ash/.ash.yaml", "cdk.out/stack.template.json", "docs/node_modules", "venv.py"]
        );
    }

    #[test]
    fn each_ignore_file_counts_from_its_directory_on_and_without_a_repository() {
        let lab = Lab::new(&[
            (".gitignore", "*.log\n/build/\n!keep.log\n"),
            ("a.log", ""),
            ("keep.log", ""),
            ("build/x", ""),
            ("sub/build/x", ""),
            ("sub/.ignore", "*.tmp\n"),
            ("sub/a.tmp", ""),
            ("a.tmp", ""),
            ("sub/.ashignore", "!deep/a.log\nsecret*\n"),
            ("sub/deep/a.log", ""),
            ("sub/secret.txt", ""),
            ("secret.txt", ""),
            ("sub/deep/.gitignore", "/only-here\n"),
            ("sub/deep/only-here", ""),
            ("sub/only-here", ""),
        ]);
        let expected = [
            ".gitignore",
            "a.tmp",
            "keep.log",
            "secret.txt",
            "sub/.ashignore",
            "sub/.ignore",
            "sub/build/x",
            "sub/deep/.gitignore",
            "sub/deep/a.log",
            "sub/only-here",
        ];
        assert_eq!(lab.found(), expected);
    }

    #[test]
    fn rules_from_outside_the_directory_have_no_say() {
        let lab = Lab::new(&[
            (".gitignore", "*\n"),
            ("src/.git/info/exclude", "*.py\n"),
            ("src/a.py", ""),
        ]);
        let source = lab.0.path().join("src");
        let set = scan_set(&Walk {
            source: &source,
            own: &OwnResults::default(),
            excluded: None,
            confined_root: false,
        })
        .unwrap();
        assert_eq!(names(&set), ["a.py"]);
    }

    #[test]
    fn the_report_shows_the_rules_that_were_obeyed() {
        let lab = Lab::new(&[("sub/.ignore", "b"), (".gitignore", "a\n")]);
        let expected = "######## START .gitignore ########\na\n######## END .gitignore ########\n######## START sub/.ignore ########\nb\n######## END sub/.ignore ########\n";
        assert_eq!(lab.walk().ignore_report(), expected);
    }

    #[test]
    fn synthesised_templates_are_scanned_even_where_json_is_ignored() {
        let lab = Lab::new(&[(".gitignore", "*.json\n"), ("a.json", ""), ("s.template.json", "")]);
        assert_eq!(lab.found(), [".gitignore", "s.template.json"]);
    }

    #[test]
    fn links_and_pipes_are_not_in_the_set_and_not_followed() {
        let lab = Lab::new(&[("dir/a", "")]);
        let root = lab.0.path();
        symlink("/etc", root.join("etc")).unwrap();
        symlink("..", root.join("dir/loop")).unwrap();
        symlink("a", root.join("dir/b")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, root.join("pipe"), rustix::fs::Mode::RUSR).unwrap();
        assert_eq!(lab.found(), ["dir/a"]);
    }

    #[test]
    fn a_hostile_ignore_file_is_not_obeyed_and_does_not_hang() {
        let lab = Lab::new(&[
            ("a", ""),
            ("sub/b", ""),
            ("long/c", ""),
            ("long/.gitignore", &"c\n".repeat(200_000)),
            ("odd/.gitignore", "[\n\u{0}\n**\\\nd\n"),
            ("odd/d", ""),
            ("odd/e", ""),
        ]);
        let root = lab.0.path();
        symlink("/dev/zero", root.join(".gitignore")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, root.join("sub/.ignore"), rustix::fs::Mode::RUSR)
            .unwrap();
        let set = lab.walk();
        assert_eq!(
            names(&set),
            ["a", "long/.gitignore", "long/c", "odd/.gitignore", "odd/e", "sub/b"]
        );
        let files: Vec<_> =
            set.notices.iter().filter_map(|notice| notice.file.as_deref()).collect();
        assert_eq!(files, [".gitignore", "long/.gitignore", "sub/.ignore"]);
    }

    #[test]
    fn a_directory_too_deep_to_be_read_is_reported() {
        use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
        let lab = Lab::new(&[("a", "")]);
        let name = "d".repeat(250);
        let mut directory = openat(CWD, lab.0.path(), OFlags::DIRECTORY, Mode::empty()).unwrap();
        for _ in 0..20 {
            mkdirat(&directory, &name, Mode::RWXU).unwrap();
            directory = openat(&directory, &name, OFlags::DIRECTORY, Mode::empty()).unwrap();
        }
        let set = lab.walk();
        assert_eq!((names(&set), set.unread.len()), (vec!["a".to_owned()], 1));
    }

    #[test]
    fn names_that_are_not_text_are_kept() {
        let lab = Lab::new(&[]);
        let name = OsString::from_vec(b"\xff\n.py".to_vec());
        fs::write(lab.0.path().join(&name), "").unwrap();
        assert_eq!(lab.walk().files, [RelPath::new(&name).unwrap()]);
    }

    /// Leaves out one path, a file or a directory.
    #[derive(Debug)]
    struct Named(&'static str);
    impl Exclusion for Named {
        fn file(&self, path: &Path) -> bool {
            path == Path::new(self.0)
        }
        fn directory(&self, path: &Path) -> bool {
            path == Path::new(self.0)
        }
    }

    #[test]
    fn of_an_output_directory_only_the_results_are_left_out() {
        let lab = Lab::new(&[
            ("out/scanners/x/a.py", ""),
            ("out/ash_aggregated_results.json", ""),
            ("out/evil.py", ""),
            (".ash/ash_output/reports/r.json", ""),
            (".ash/ash_output/.gitignore", "*\n"),
            (".ash/ash_output/evil.py", ""),
            ("other/out/scanners/b", ""),
            ("x.bak", ""),
        ]);
        symlink("out", lab.0.path().join("alias")).unwrap();
        let walk = |output: &str| {
            let own = OwnResults::within(lab.0.path(), &lab.0.path().join(output));
            let excluded = Named("x.bak");
            let walk = Walk {
                source: lab.0.path(),
                own: &own,
                excluded: Some(&excluded),
                confined_root: false,
            };
            names(&scan_set(&walk).unwrap())
        };
        let expected = [".ash/ash_output/evil.py", "other/out/scanners/b", "out/evil.py"];
        assert_eq!(walk("alias"), expected);
        // Output into the scanned directory itself leaves nothing of it out.
        assert_eq!(walk("").len(), expected.len() + 2);
    }

    #[test]
    fn an_ignore_file_that_names_an_output_directory_hides_what_is_not_a_result() {
        let files = [(".ash/.gitignore", "ash_output*\n"), (".ash/ash_output/reports/r.json", "")];
        let lab = Lab::new(&files);
        assert_eq!(lab.walk().left_out, BTreeMap::new(), "results are not news");
        assert_eq!(lab.found(), [".ash/.gitignore"]);
        let lab = Lab::new(&[files[0], files[1], (".ash/ash_output/d/evil.py", "")]);
        assert_eq!(lab.walk().left_out, BTreeMap::from([(PathBuf::from(".ash/.gitignore"), 1)]));
        assert_eq!(lab.found(), [".ash/.gitignore"]);
    }

    #[test]
    fn the_order_is_that_of_the_paths() {
        let lab = Lab::new(&[
            ("a/b", ""),
            ("a-b", ""),
            ("a.b/c", ""),
            ("a/b.c/d", ""),
            ("ab", ""),
            ("a/B", ""),
        ]);
        let files = lab.walk().files;
        let mut sorted = files.clone();
        sorted.sort();
        assert_eq!(files, sorted);
        assert_eq!(files.len(), 6);
    }

    #[test]
    fn a_source_that_is_no_directory_is_an_error() {
        let lab = Lab::new(&[("file", "")]);
        for source in [lab.0.path().join("absent"), lab.0.path().join("file")] {
            assert!(
                scan_set(&Walk {
                    source: &source,
                    own: &OwnResults::default(),
                    excluded: None,
                    confined_root: false
                })
                .is_err()
            );
        }
    }

    #[cfg(unix)]
    #[test]
    fn what_root_reads_only_by_a_capability_is_unread_for_confined_scanners() {
        use std::os::unix::fs::{PermissionsExt, chown};
        let tree = tempfile::tempdir().unwrap();
        for (name, mode) in [("open.py", 0o644), ("closed.py", 0o600)] {
            fs::write(tree.path().join(name), "x").unwrap();
            fs::set_permissions(tree.path().join(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        // Only root can give a file away; for anybody else the tree is simply their own.
        let given_away = chown(tree.path().join("closed.py"), Some(12345), Some(12345)).is_ok();
        let unread = |confined_root| {
            let own = OwnResults::default();
            let walk = Walk { source: tree.path(), own: &own, excluded: None, confined_root };
            scan_set(&walk)
                .unwrap()
                .unread
                .into_iter()
                .map(|unread| unread.path)
                .collect::<Vec<_>>()
        };
        assert_eq!(unread(false), Vec::<String>::new(), "the control");
        if given_away {
            assert_eq!(unread(true), ["closed.py"]);
        }
    }
}
