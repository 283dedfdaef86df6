//! The order of events in one load: find, read, check, trust, build.

use std::{
    ffi::OsString,
    fmt,
    path::{Path, PathBuf},
};

use ash_model::{notice::Notice, path::printable, severity::Threshold};

use crate::{
    build,
    checkout::{self, Identify, Tree},
    discover,
    documents::{Document, Loader},
    environment::{self, Lookup},
    error::{ConfigErrors, Mistake, nearest},
    modules, narrowed,
    overrides::{self, Override},
    restricted, schema,
    settings::Settings,
    tree::{Node, Sources},
    trust::{self, InTree, Voices},
    validate::{Checker, NO_EFFECT},
};

/// What the operator typed and where.
#[derive(Clone)]
pub struct Request<'a> {
    /// The scanned directory, as given.
    pub source: PathBuf,
    /// `--config`, as given.
    pub config: Option<PathBuf>,
    /// `ASH_CONFIG`.
    pub ash_config_env: Option<OsString>,
    /// Every `--config-overrides`, as given.
    pub overrides: Vec<String>,
    /// `--sandbox`.
    pub sandbox_flag: Option<String>,
    /// The working directory.
    pub cwd: PathBuf,
    /// `PWD`.
    pub pwd_env: Option<OsString>,
    /// The operator's home.
    pub home: Option<PathBuf>,
    /// The operator's environment.
    pub env: Lookup<'a>,
    /// The names of all scanners there are, plugins included.
    pub known_scanners: &'a [&'a str],
    /// In workspace mode the workspace's root: the tree is looked up from there too, a project's own configuration is used before
    /// `config`, and `config` decides about the sandbox.
    pub workspace: Option<PathBuf>,
    /// How files are identified; `None`: by the file system.
    pub identify: Option<Identify>,
}

impl fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            source, config, ash_config_env, overrides, sandbox_flag, cwd, workspace, ..
        } = self;
        f.debug_struct("Request")
            .field("source", source)
            .field("config", config)
            .field("ash_config_env", ash_config_env)
            .field("overrides", overrides)
            .field("sandbox_flag", sandbox_flag)
            .field("cwd", cwd)
            .field("workspace", workspace)
            .finish_non_exhaustive()
    }
}

/// A loaded configuration.
#[derive(Debug)]
pub struct Loaded {
    /// What the scan runs with.
    pub settings: Settings,
    /// Settings that were dropped, keys without effect, names nobody has.
    pub notices: Vec<Notice>,
    /// The configuration file in use; `None`: defaults.
    pub used: Option<PathBuf>,
    /// Every file it was built from, itself first.
    pub files: Vec<PathBuf>,
    /// Configurations that were found and not used.
    pub ignored: Vec<PathBuf>,
    /// The scanned tree, whose files grant nothing.
    pub tree: Tree,
}

/// Loads the configuration of a scan.
///
/// # Errors
/// Every mistake found: the scan must not run, and certainly not with defaults.
pub fn load(request: &Request<'_>) -> Result<Loaded, ConfigErrors> {
    let mut sources = Sources::default();
    let mut mistakes = Vec::new();
    let overrides = read_overrides(request, &mut sources, &mut mistakes);
    let tree = tree(request);
    let choice = Choice::of(request, &tree);
    let documents =
        Documents::load(&choice, request, &tree, &mut sources).map_err(|mut found| {
            mistakes.append(&mut found);
            ConfigErrors(std::mem::take(&mut mistakes))
        })?;
    let layers = Layers::new(&documents, &overrides, &sources, &mut mistakes);
    // What was dropped comes first: a file full of odd names must not push it out of sight.
    let mut notices = Vec::new();
    let mut remarks = choice.notices(&tree, &documents);
    check(&documents, &layers, request, &sources, &mut mistakes, &mut remarks);
    if !mistakes.is_empty() {
        return Err(ConfigErrors(mistakes));
    }
    let mut verdict =
        trust::decide(&layers.voices(&documents, request, &tree), &sources, &mut notices);
    verdict.sandbox.extra_read_paths =
        read_paths(&verdict.read_paths, request, &sources, &mut mistakes, &mut notices);
    let mut document = layers.used.clone();
    let in_tree = documents.used.file_in(&tree).is_some();
    if in_tree {
        restricted::confine(&mut document, &layers.trusted, &sources, &mut notices);
    }
    let root = request.cwd.join(&request.source);
    restricted::drop_tool_config_in_tree(&mut document, &tree, &root, &sources, &mut notices);
    modules::judge(
        &document,
        &layers.trusted,
        in_tree,
        request.known_scanners,
        &sources,
        &mut mistakes,
        &mut notices,
    );
    let threshold = default_threshold(request, &mut notices);
    let project_name =
        (request.env)("ASH_PROJECT_NAME").map(|name| name.to_string_lossy().into_owned());
    let context = build::Context {
        sandbox: verdict.sandbox,
        in_tree,
        operators: &layers.trusted,
        project_name,
        threshold,
    };
    let mut settings = build::settings(&document, context);
    if in_tree {
        let operators = &layers.trusted;
        for (scanner, notice) in
            narrowed::by_tree(&document, operators, request.known_scanners, &sources)
        {
            settings.scanners.entry(scanner).or_default().narrowed = Some(notice);
        }
    }
    // What was dropped for one reason needs no second one.
    remarks.retain(|remark| {
        let covers = |key: &str| {
            remark
                .key
                .strip_prefix(key)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        !remark.reason.starts_with(NO_EFFECT) || !notices.iter().any(|one| covers(&one.key))
    });
    notices.append(&mut remarks);
    if !mistakes.is_empty() {
        return Err(ConfigErrors(mistakes));
    }
    let files = documents.used.files;
    Ok(Loaded { settings, notices, used: choice.used, files, ignored: choice.ignored, tree })
}

fn tree(request: &Request<'_>) -> Tree {
    let identify = request.identify.unwrap_or(checkout::identity);
    let pwd = request.pwd_env.as_deref();
    let mut tree = Tree::with_identify(&request.source, &request.cwd, pwd, identify);
    if let Some(workspace) = &request.workspace {
        tree.join(Tree::with_identify(workspace, &request.cwd, pwd, identify));
    }
    tree
}

fn read_overrides(
    request: &Request<'_>,
    sources: &mut Sources,
    mistakes: &mut Vec<Mistake>,
) -> Vec<Override> {
    let parsed =
        request.overrides.iter().filter_map(|text| match overrides::parse(text, sources) {
            Ok(parsed) => Some(parsed),
            Err(mistake) => {
                mistakes.push(mistake);
                None
            }
        });
    let mut parsed: Vec<Override> = parsed.collect();
    overrides::keep_earlier(&mut parsed, "sandbox", sources);
    if let Some(flag) = request.sandbox_flag.as_deref().filter(|flag| !schema::MODES.contains(flag))
    {
        let near = nearest(flag, schema::MODES.iter().copied())
            .map(|near| format!("did you mean `{near}`?"));
        let modes: Vec<String> = schema::MODES.iter().map(|mode| format!("`{mode}`")).collect();
        mistakes.push(
            Mistake::plain(format!("`--sandbox {flag}` is not one of {}", modes.join(", ")))
                .maybe_hint(near),
        );
    }
    parsed
}

/// Which files there are to load.
struct Choice {
    /// The configuration in use.
    used: Option<PathBuf>,
    /// Files the operator named, best first.
    operators: Vec<PathBuf>,
    /// A configuration of the scanned tree that `ASH_CONFIG` replaced: it may still tighten the sandbox.
    tightening: Option<PathBuf>,
    ignored: Vec<PathBuf>,
}

impl Choice {
    fn of(request: &Request<'_>, tree: &Tree) -> Self {
        let absolute = |path: &Path| request.cwd.join(path);
        let from_env =
            request.ash_config_env.as_ref().filter(|value| !value.is_empty()).map(PathBuf::from);
        let operators: Vec<PathBuf> =
            request.config.iter().chain(&from_env).map(|path| absolute(path)).collect();
        let mut own = discover::candidates(&absolute(&request.source));
        let own_first = request.workspace.is_some() && !own.is_empty();
        if let (Some(first), false) = (operators.first(), own_first) {
            let replaced = own
                .first()
                .filter(|own| request.config.is_none() && *own != first && !tree.holds(first))
                .cloned();
            own.retain(|own| own != first);
            return Self {
                used: Some(first.clone()),
                tightening: replaced,
                ignored: own,
                operators,
            };
        }
        let used = (!own.is_empty()).then(|| own.remove(0));
        Self { used, operators, tightening: None, ignored: own }
    }

    fn notices(&self, tree: &Tree, documents: &Documents) -> Vec<Notice> {
        let used = self.used.as_deref().map(|path| printable(path.as_os_str())).unwrap_or_default();
        // The operator's second file is read only where the first one may not grant.
        let second = self.operators.iter().filter(|path| {
            documents.used_is_operators
                && documents.used_is_trusted
                && Some(*path) != self.used.as_ref()
        });
        let second = second.map(|path| Notice {
            file: Some(printable(path.as_os_str())),
            ..Notice::new(
                "ASH_CONFIG",
                format!(
                    "this configuration is not read, its sandbox mode neither: `{used}` comes first"
                ),
            )
        });
        let ignored = self.ignored.iter().map(|path| Notice {
            file: Some(printable(path.as_os_str())),
            hint: tree.holds(path).then(|| "remove it, or name it with `--config`".to_owned()),
            ..Notice::new("config", format!("this configuration is not used: `{used}` comes first and sources are never merged"))
        });
        second.chain(ignored).collect()
    }
}

/// The files, read.
struct Documents {
    used: Document,
    /// What the operator named besides `used`, when that is not wholly outside the tree.
    operators: Vec<Document>,
    /// Whether the operator named `used`.
    used_is_operators: bool,
    tightening: Option<Document>,
    trusted: Option<usize>,
    used_is_trusted: bool,
}

impl Documents {
    fn load(
        choice: &Choice,
        request: &Request<'_>,
        tree: &Tree,
        sources: &mut Sources,
    ) -> Result<Self, Vec<Mistake>> {
        let mut loader = Loader { tree, cwd: &request.cwd, lookup: request.env, sources };
        let mut mistakes = Vec::new();
        let mut read = |path: &Path| match loader.load(path) {
            Ok(document) => document,
            Err(mistake) => {
                mistakes.push(mistake);
                Document::empty()
            }
        };
        let used = choice.used.as_deref().map_or_else(Document::empty, &mut read);
        let outside = used.file_in(tree).is_none();
        let used_is_operators =
            choice.used.as_ref().is_some_and(|used| choice.operators.contains(used));
        let others =
            choice.operators.iter().filter(|path| !outside && Some(*path) != choice.used.as_ref());
        let operators: Vec<Document> = others.map(|path| read(path)).collect();
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        // The tree's own file is not in use: if something is wrong with it, it simply has nothing to say.
        let tightening = choice.tightening.as_deref().filter(|_| outside);
        let tightening = tightening.and_then(|path| loader.load(path).ok());
        let tightening = tightening.filter(|document| is_right(&document.node, loader.sources));
        let trusted = operators.iter().position(|document| document.file_in(tree).is_none());
        Ok(Self {
            used,
            operators,
            used_is_operators,
            tightening,
            trusted,
            used_is_trusted: outside,
        })
    }

    fn trusted_file(&self) -> Option<&Node> {
        if self.used_is_trusted {
            Some(&self.used.node)
        } else {
            self.trusted.map(|index| &self.operators[index].node)
        }
    }
}

/// The documents with the overrides applied.
struct Layers {
    used: Node,
    trusted: Node,
    overrides: Node,
    tightening: Option<Node>,
}

impl Layers {
    fn new(
        documents: &Documents,
        overrides: &[Override],
        sources: &Sources,
        mistakes: &mut Vec<Mistake>,
    ) -> Self {
        let mut apply = |mut node: Node, report: bool| {
            for change in overrides {
                if let Err(mistake) = change.apply(&mut node, sources)
                    && report
                {
                    mistakes.push(mistake);
                }
            }
            node
        };
        let base = documents.trusted_file().cloned().unwrap_or_else(|| Document::empty().node);
        Self {
            used: apply(documents.used.node.clone(), true),
            trusted: apply(base, false),
            overrides: apply(Document::empty().node, false),
            tightening: documents
                .tightening
                .as_ref()
                .map(|document| apply(document.node.clone(), false)),
        }
    }

    fn voices<'a>(
        &'a self,
        documents: &'a Documents,
        request: &'a Request<'_>,
        tree: &Tree,
    ) -> Voices<'a> {
        let operators =
            documents.operators.iter().filter(|document| document.file_in(tree).is_some());
        let used = documents.used.file_in(tree);
        let floor = used.filter(|_| documents.used_is_operators).map(|_| &documents.used.node);
        let in_tree = match (used, &documents.tightening, &self.tightening) {
            (Some(culprit), _, _) => Some(InTree {
                file: &documents.used.node,
                with_overrides: &self.used,
                culprit: culprit.to_owned(),
            }),
            (None, Some(document), Some(with_overrides)) => {
                let culprit = document.files.first().cloned().unwrap_or_default();
                Some(InTree { file: &document.node, with_overrides, culprit })
            }
            _ => None,
        };
        Voices {
            flag: request.sandbox_flag.as_deref(),
            overrides: &self.overrides,
            trusted: &self.trusted,
            trusted_file: documents.trusted_file(),
            floors: floor.into_iter().chain(operators.map(|document| &document.node)).collect(),
            in_tree,
        }
    }
}

fn check(
    documents: &Documents,
    layers: &Layers,
    request: &Request<'_>,
    sources: &Sources,
    mistakes: &mut Vec<Mistake>,
    notices: &mut Vec<Notice>,
) {
    let mut checker = Checker {
        sources,
        known_scanners: request.known_scanners,
        mistakes: Vec::new(),
        notices: Vec::new(),
    };
    checker.document(&layers.used);
    documents.operators.iter().for_each(|document| checker.document(&document.node));
    // The overrides alone too: what they set in a section of a trusted file must be right as well.
    checker.document(&layers.overrides);
    for mistake in checker.mistakes {
        if !mistakes.contains(&mistake) {
            mistakes.push(mistake);
        }
    }
    for notice in checker.notices {
        if !notices.contains(&notice) {
            notices.push(notice);
        }
    }
}

fn is_right(document: &Node, sources: &Sources) -> bool {
    let mut checker =
        Checker { sources, known_scanners: &[], mistakes: Vec::new(), notices: Vec::new() };
    checker.document(document);
    checker.mistakes.is_empty()
}

/// Expands the granted read paths. A path that would open everything, or that nobody can resolve, is a mistake; a missing one is a notice.
fn read_paths(
    paths: &[Node],
    request: &Request<'_>,
    sources: &Sources,
    mistakes: &mut Vec<Mistake>,
    notices: &mut Vec<Notice>,
) -> Vec<PathBuf> {
    let mut granted = Vec::new();
    for node in paths {
        let text = node.text().unwrap_or_default();
        let mut mistake = |message: String, hint: &str| {
            mistakes.push(Mistake::at(sources, node.at, message).hint(hint))
        };
        match environment::expand(text, request.home.as_deref(), request.env) {
            Err(error) => mistake(
                format!("`sandbox.extra_read_paths`: {error}"),
                "write an absolute path; `~` and `$VAR` are expanded",
            ),
            Ok(path) if too_broad(&path, request.home.as_deref()) => {
                mistake(
                    format!(
                        "`sandbox.extra_read_paths`: `{text}` would open a whole home directory or the whole system"
                    ),
                    "name the directories that are needed",
                );
            }
            Ok(path) if path.symlink_metadata().is_err() => {
                let notice = Notice::new(
                    "sandbox.extra_read_paths",
                    format!("`{text}` does not exist and is skipped"),
                );
                notices.push(Notice { file: trust::file_of(sources, node), ..notice });
            }
            Ok(path) => granted.push(path),
        }
    }
    granted
}

/// Whether a path is the root, the operator's home, or above it, whatever it is called.
fn too_broad(path: &Path, home: Option<&Path>) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let target = real(path);
    target.parent().is_none()
        || home.is_some_and(|home| real(home).starts_with(&target) || home.starts_with(path))
}

fn default_threshold(request: &Request<'_>, notices: &mut Vec<Notice>) -> Option<Threshold> {
    let text = (request.env)("ASH_DEFAULT_SEVERITY_LEVEL")?.to_string_lossy().into_owned();
    let threshold = Threshold::parse(&text);
    if threshold.is_none() {
        let reason =
            format!("`{}` is not a severity threshold; MEDIUM is used", printable(text.as_ref()));
        notices.push(
            Notice::new("ASH_DEFAULT_SEVERITY_LEVEL", reason)
                .hint("use ALL, LOW, MEDIUM, HIGH or CRITICAL"),
        );
    }
    threshold
}
