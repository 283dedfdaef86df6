//! What a configuration does once its files are found: precedence, bases, restrictions on files of the scanned tree, mistakes.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a lab that cannot be built is a failed test")]

use std::{
    collections::BTreeMap, ffi::OsString, fs, os::unix::fs::symlink, path::PathBuf, time::Duration,
};

use ash_config::{ConfigErrors, Loaded, Request, Staleness, load};
use ash_model::severity::Threshold;
use serde_json::json;

const SCANNERS: &[&str] = &[
    "actionlint",
    "bandit",
    "checkov",
    "detect-secrets",
    "grype",
    "npm-audit",
    "opengrep",
    "semgrep",
    "syft",
    "zizmor",
];

struct Lab {
    dir: tempfile::TempDir,
    variables: BTreeMap<&'static str, &'static str>,
}

impl Lab {
    /// Paths are below a directory that holds `repo`, the scanned checkout.
    fn new(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("repo/.git")).unwrap();
        fs::create_dir_all(dir.path().join("home")).unwrap();
        for (path, text) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self { dir, variables: BTreeMap::new() }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(path)
    }

    fn load(&self, config: Option<&str>, overrides: &[&str]) -> Result<Loaded, ConfigErrors> {
        let variable = |name: &str| self.variables.get(name).map(OsString::from);
        load(&Request { env: &variable, ..self.request(config, overrides) })
    }

    fn request(&self, config: Option<&str>, overrides: &[&str]) -> Request<'static> {
        Request {
            source: self.path("repo"),
            config: config.map(|path| self.path(path)),
            ash_config_env: None,
            overrides: overrides.iter().map(|text| (*text).to_owned()).collect(),
            sandbox_flag: None,
            cwd: self.path(""),
            pwd_env: None,
            home: Some(self.path("home")),
            env: &|_| None,
            known_scanners: SCANNERS,
            workspace: None,
            identify: None,
        }
    }

    /// The messages of a configuration that does not load, without this machine's directory.
    fn mistakes(&self, config: Option<&str>, overrides: &[&str]) -> Vec<String> {
        let root = self.path("").display().to_string();
        let errors = self.load(config, overrides).map(|loaded| loaded.settings).unwrap_err();
        errors
            .0
            .iter()
            .map(|mistake| {
                mistake.to_string().replace(&root, "").replace(root.trim_end_matches('/'), "")
            })
            .collect()
    }
}

fn keys(loaded: &Loaded) -> Vec<&str> {
    loaded.notices.iter().map(|notice| notice.key.as_str()).collect()
}

#[test]
fn without_a_file_the_documented_defaults_hold() {
    let loaded = Lab::new(&[]).load(None, &[]).unwrap();
    let settings = loaded.settings;
    assert_eq!(
        (settings.project_name.as_str(), settings.fail_on_findings, settings.fail_on_incomplete),
        ("ash-scan", true, true)
    );
    assert_eq!((settings.threshold, settings.staleness), (Threshold::Medium, Staleness::Fail));
    assert_eq!((loaded.used, loaded.notices), (None, vec![]));
    assert_eq!(
        settings.resolved["sandbox"],
        json!({"mode": "off", "network_scanners": null, "extra_read_paths": []})
    );
}

#[test]
fn a_file_of_the_operators_that_another_replaces_is_named() {
    let lab = Lab::new(&[("ops/c.yaml", "{}"), ("ops/d.yaml", "sandbox: {mode: bwrap}\n")]);
    let with = |config: Option<&str>, from_env: &str| {
        let from_env = Some(lab.path(from_env).into());
        load(&Request { ash_config_env: from_env, ..lab.request(config, &[]) }).unwrap()
    };
    let both = with(Some("ops/c.yaml"), "ops/d.yaml");
    assert_eq!((both.settings.sandbox.mode.as_deref(), keys(&both)), (None, vec!["ASH_CONFIG"]));
    assert_eq!(both.notices[0].file, Some(lab.path("ops/d.yaml").display().to_string()));
    assert!(both.notices[0].reason.contains("its sandbox mode neither"), "{:?}", both.notices);
    // The controls: the file alone, and one file named twice.
    let alone = with(None, "ops/d.yaml");
    assert_eq!((alone.settings.sandbox.mode.as_deref(), keys(&alone)), (Some("bwrap"), vec![]));
    assert_eq!(keys(&with(Some("ops/c.yaml"), "ops/c.yaml")), [""; 0]);
}

#[test]
fn suppressions_by_symbol_and_package_are_left_to_those_who_judge_them() {
    let text = "global_settings:\n  suppressions:\n    - {path: a.py, symbol: f, reason: x}\n    - {path: '**', package_name: lodash, reason: y}\n";
    let lab = Lab::new(&[("ops/c.yaml", text)]);
    let loaded = lab.load(Some("ops/c.yaml"), &[]).unwrap();
    assert_eq!((loaded.settings.suppressions.len(), keys(&loaded)), (2, vec![]));
}

#[test]
fn bases_then_the_file_then_its_patch_then_overrides() {
    let lab = Lab::new(&[
        (
            "repo/a.yaml",
            "project_name: a\nfail_on_findings: false\nglobal_settings: {severity_threshold: LOW}\nscanners: {bandit: {enabled: false}}\n",
        ),
        ("repo/b.toml", "project_name = 'b'\n[global_settings]\nseverity-threshold = 'HIGH'\n"),
        (
            "repo/.ash.yaml",
            "extends: [a.yaml, b.toml]\nproject-name: c\nscanners: {bandit: {options: {severity_threshold: LOW}}}\npatch: [{op: replace, path: /project_name, value: d}]\n",
        ),
    ]);
    let loaded = lab.load(None, &[]).unwrap();
    assert_eq!(
        (
            loaded.settings.project_name.as_str(),
            loaded.settings.fail_on_findings,
            loaded.settings.threshold
        ),
        ("d", false, Threshold::High)
    );
    let bandit = &loaded.settings.scanners["bandit"];
    assert_eq!((bandit.enabled, bandit.threshold), (Some(false), Some(Threshold::Low)));
    assert_eq!(
        loaded.files,
        ["repo/.ash.yaml", "repo/a.yaml", "repo/b.toml"].map(|path| lab.path(path))
    );
    let loaded =
        lab.load(None, &["project_name=e", "global_settings.severity_threshold=ALL"]).unwrap();
    assert_eq!(
        (loaded.settings.project_name.as_str(), loaded.settings.threshold),
        ("e", Threshold::All)
    );
}

#[test]
fn one_file_is_used_and_the_others_are_named() {
    let lab = Lab::new(&[
        ("repo/.ash/.ash.yml", "project_name: yes-this\n"),
        ("repo/.ash.yaml", "broken: ["),
        ("repo/pyproject.toml", "[tool.ash]\n"),
    ]);
    let loaded = lab.load(None, &[]).unwrap();
    assert_eq!(loaded.settings.project_name, "yes-this");
    assert_eq!(loaded.used, Some(lab.path("repo/.ash/.ash.yml")));
    assert_eq!(
        loaded.ignored,
        ["repo/.ash.yaml", "repo/pyproject.toml"].map(|path| lab.path(path))
    );
    assert_eq!(keys(&loaded), ["config", "config"]);
}

#[test]
fn a_configuration_that_does_not_load_is_never_replaced_by_defaults() {
    let table: &[(&str, &str, &str)] = &[
        ("repo/.ash.yaml", "a: [", "repo/.ash.yaml:1:"),
        (
            "repo/.ash.yaml",
            "- a\n",
            "repo/.ash.yaml:1:1: a configuration is a section of keys, not a list",
        ),
        (
            "repo/.ash.yaml",
            "fail_on_findings: true\nfail-on-findings: false\n",
            "repo/.ash.yaml:2:1: `fail-on-findings` is set twice",
        ),
        ("repo/.ash.json", "{\"project_name\": \"x\",}", "repo/.ash.json:1:22:"),
        ("repo/pyproject.toml", "[tool.ash]\nx = \n", "repo/pyproject.toml:2:"),
        (
            "repo/.ash.yaml",
            "project_name: ${ASH_NOT_SET}\n",
            "repo/.ash.yaml: the variable `ASH_NOT_SET` is not set",
        ),
        (
            "repo/.ash.yaml",
            "patch: [{op: remove, path: /x}]\n",
            "repo/.ash.yaml:1:9: `/x` is not there",
        ),
        (
            "repo/.ash.yaml",
            "extends: absent.yaml\n",
            "repo/.ash.yaml:1:10: the base `absent.yaml` cannot be read",
        ),
        (
            "repo/.ash.yaml",
            "extends: https://example.com/x.yaml\n",
            "repo/.ash.yaml:1:10: `https://example.com/x.yaml` is an address",
        ),
        (
            "repo/.ash.yaml",
            "extends: ../outside.yaml\n",
            "repo/.ash.yaml:1:10: the base `../outside.yaml` lies outside",
        ),
        (
            "repo/.ash.yaml",
            "extends: .ash.yaml\n",
            "repo/.ash.yaml:1:10: `extends` goes in a circle: repo/.ash.yaml -> repo/.ash.yaml",
        ),
    ];
    for (path, text, expected) in table {
        let lab = Lab::new(&[(path, text), ("outside.yaml", "{}")]);
        let mistakes = lab.mistakes(None, &[]);
        assert!(mistakes.len() == 1 && mistakes[0].starts_with(expected), "{text}: {mistakes:?}");
    }
}

#[test]
fn files_that_are_no_files_do_not_hang_or_fill_the_memory() {
    let lab = Lab::new(&[("big.yaml", &"a: 1\n".repeat(1_000_000))]);
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        lab.path("pipe.yaml"),
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
    )
    .unwrap();
    symlink("/dev/zero", lab.path("zero.yaml")).unwrap();
    fs::write(lab.path("bytes.yaml"), b"a: \xff").unwrap();
    for (path, expected) in [
        ("big.yaml", "big.yaml: the configuration is longer than 4 MiB"),
        ("pipe.yaml", "pipe.yaml: the configuration is not a regular file"),
        ("zero.yaml", "zero.yaml: the configuration is not a regular file"),
        ("bytes.yaml", "bytes.yaml: the configuration is not UTF-8 text (byte 3)"),
        (
            "absent.yaml",
            "absent.yaml: the configuration cannot be read: No such file or directory (os error 2); check the path and its permissions",
        ),
    ] {
        assert_eq!(lab.mistakes(Some(path), &[]), [expected]);
    }
    // The same by discovery: a dangling link is a configuration that does not load.
    symlink("nowhere", lab.path("repo/.ash.yaml")).unwrap();
    assert_eq!(lab.mistakes(None, &[]).len(), 1);
}

#[test]
fn mistakes_of_files_and_overrides_come_together() {
    let lab = Lab::new(&[("repo/.ash.yaml", "sandbox: {mode: of}\nnope: 1\n")]);
    let mistakes = lab.mistakes(
        None,
        &[
            "broken",
            "project_name.x=1",
            "scanners.bandit.enabled=maybe",
            "sandbox.extra_read_paths=x",
        ],
    );
    assert_eq!(
        mistakes,
        [
            "--config-overrides:1:1: `broken` sets nothing; write `key.path=value`, or `key.path+=value` to add to a list",
            "repo/.ash.yaml:1:17: `sandbox.mode` must be one of `off`, `auto`, `bwrap`, `firejail`, `landlock`, `sandbox-exec`, `gvisor`, not `of`; did you mean `off`?",
            "--config-overrides:1:26: `sandbox.extra_read_paths` must be a list, not `x`; write `[x]`",
            "repo/.ash.yaml:2:1: `nope` is not a key at the top level; known here: `project_name`, `fail_on_findings`, `fail_on_incomplete_scanners`, `content_db_staleness`, `content_db_staleness_overrides`, `global_settings`, `scanners`, `reporters`, `converters`, `ash_plugin_modules`, `external_reports_to_include`, `build`, `mcp-resource-management`, `sandbox`, `workspace`, `extends`, `patch`",
            "--config-overrides:1:14: `project_name` must be text, not a section",
            "--config-overrides:1:25: `scanners.bandit.enabled` must be true or false, not `maybe`",
        ]
    );
}

#[test]
fn what_a_link_out_of_the_tree_says_is_never_shown() {
    let lab = Lab::new(&[("home/.ssh/key", "s3cret: s3cret\nsandbox: {mode: s3cret}\n")]);
    symlink("../home/.ssh/key", lab.path("repo/.ash.yaml")).unwrap();
    let errors = lab.load(None, &[]).unwrap_err();
    assert!(!format!("{errors}{}{errors:?}", errors.render(true)).contains("s3cret"));
    assert!(errors.to_string().contains("link out of the scanned tree"), "{errors}");
}

#[test]
fn the_tree_may_not_choose_what_runs_or_where_reports_go() {
    let text = "
scanners:
  checkov: {options: {config_file: /opt/x.yaml, frameworks: [dockerfile]}}
  actionlint: {options: {shellcheck: /tmp/evil, pyflakes: false}}
  detect-secrets: {options: {scan_settings: {plugins_used: [{name: P, path: 'file:///repo/p.py'}]}}}
  semgrep: {options: {config: 'https://example.com/rules'}}
  opengrep: {options: {config: p/ci}}
  zizmor: {options: {online_audits: true}}
  bandit: {tool_version: '==1.0', options: {scan_timeout: 7200, config_file: /opt/bandit.yaml}}
  grype: {options: {scan_timeout: null}}
  syft: {options: {scan_timeout: 60}}
reporters:
  s3: {enabled: true, options: {bucket: evil}}
  html: {enabled: false}
mcp-resource-management: {max_concurrent_scans: 10}
";
    let lab = Lab::new(&[("repo/.ash.yaml", text), ("ops.yaml", text)]);
    let loaded = lab.load(None, &[]).unwrap();
    let mut dropped = keys(&loaded);
    dropped.sort_unstable();
    let expected = [
        "mcp-resource-management",
        "reporters.s3",
        "reporters.s3.enabled",
        "reporters.s3.options",
        "scanners.actionlint.options.shellcheck",
        "scanners.bandit.options.config_file",
        "scanners.bandit.options.scan_timeout",
        "scanners.bandit.tool_version",
        "scanners.checkov.options.config_file",
        "scanners.detect-secrets.options.scan_settings",
        "scanners.grype.options.scan_timeout",
        "scanners.semgrep.options.config",
        "scanners.zizmor.options.online_audits",
    ];
    assert_eq!(dropped, expected);
    let scanners = &loaded.settings.scanners;
    assert_eq!(
        scanners["checkov"].options,
        *json!({"frameworks": ["dockerfile"]}).as_object().unwrap()
    );
    assert_eq!(scanners["actionlint"].options, *json!({"pyflakes": false}).as_object().unwrap());
    assert_eq!(scanners["syft"].scan_timeout, Some(Some(Duration::from_secs(60))));
    assert_eq!((scanners["grype"].scan_timeout, scanners["bandit"].scan_timeout), (None, None));
    assert_eq!(
        (loaded.settings.reporters["s3"].enabled, loaded.settings.reporters["html"].enabled),
        (None, Some(false))
    );
    assert!(
        loaded
            .notices
            .iter()
            .all(|notice| notice.file == Some(lab.path("repo/.ash.yaml").display().to_string())
                && (notice.hint.is_some() || notice.key == "reporters.s3"))
    );

    // The control: the same words from outside the tree hold.
    let loaded = lab.load(Some("ops.yaml"), &[]).unwrap();
    let without_effect = [
        "config",
        "scanners.zizmor.options.online_audits",
        "scanners.bandit.tool_version",
        "reporters.s3",
        "mcp-resource-management",
    ];
    assert_eq!(keys(&loaded), without_effect);
    assert_eq!(loaded.settings.scanners["grype"].scan_timeout, Some(None));
    assert_eq!(loaded.settings.scanners["checkov"].options["config_file"], json!("/opt/x.yaml"));
}

#[test]
fn an_override_sets_what_the_tree_may_not() {
    let lab = Lab::new(&[(
        "repo/.ash.yaml",
        "scanners: {checkov: {options: {config_file: /evil.yaml}}, bandit: {options: {scan_timeout: 9000}}}\n",
    )]);
    let loaded = lab
        .load(
            None,
            &[
                "scanners.checkov.options.config_file=/mine.yaml",
                "scanners.bandit.options.scan-timeout=null",
            ],
        )
        .unwrap();
    assert_eq!(keys(&loaded), [""; 0]);
    assert_eq!(loaded.settings.scanners["checkov"].options["config_file"], json!("/mine.yaml"));
    assert_eq!(loaded.settings.scanners["bandit"].scan_timeout, Some(None));
}

#[test]
fn code_that_scan_settings_load_from_the_tree_is_dropped_whoever_names_it() {
    let lab = Lab::new(&[("repo/p.py", ""), ("ops/p.py", ""), ("repo/.git/config", "")]);
    let at = |file: &str| format!("file://{}", lab.path(file).display());
    for (plugin, filter, kept) in [
        (at("ops/p.py"), at("ops/p.py") + "::f", true),
        (at("repo/p.py"), at("ops/p.py") + "::f", false),
        (at("ops/p.py"), at("repo/p.py") + "::f", false),
        (at("ops/../repo/p.py"), at("ops/p.py") + "::f", false),
        ("file://p.py".to_owned(), at("ops/p.py") + "::f", false),
    ] {
        let settings = json!({"plugins_used": [{"name": "P", "path": plugin}], "filters_used": [{"path": filter}]});
        let given = format!("scanners.detect-secrets.options.scan_settings={settings}");
        let loaded = lab.load(None, &[&given]).unwrap();
        let has = loaded
            .settings
            .scanners
            .get("detect-secrets")
            .is_some_and(|own| own.options.contains_key("scan_settings"));
        assert_eq!(has, kept, "{settings}");
        assert_eq!(keys(&loaded).is_empty(), kept, "{:?}", loaded.notices);
    }
}

#[test]
fn tool_configuration_in_the_tree_is_dropped_whoever_names_it() {
    let lab = Lab::new(&[("repo/checkov.yaml", ""), ("ops/checkov.yaml", "")]);
    for (name, kept) in [
        ("checkov.yaml", false),
        ("../ops/checkov.yaml", true),
        ("../ops/../repo/checkov.yaml", false),
    ] {
        let loaded =
            lab.load(None, &[&format!("scanners.checkov.options.config_file={name}")]).unwrap();
        assert_eq!(
            loaded.settings.scanners["checkov"].options.contains_key("config_file"),
            kept,
            "{name}"
        );
        assert_eq!(loaded.notices.is_empty(), kept, "{name}");
    }
}

#[test]
fn leniency_said_in_the_tree_is_marked() {
    let text = "fail_on_incomplete_scanners: false\ncontent_db_staleness: warn\n";
    let lab = Lab::new(&[("repo/.ash.yaml", text), ("ops.yaml", text)]);
    let marks = |loaded: &Loaded| {
        let settings = &loaded.settings;
        (
            settings.fail_on_incomplete,
            settings.incomplete_rule_is_in_tree,
            settings.staleness,
            settings.staleness_is_in_tree,
            settings.config_in_tree,
        )
    };
    assert_eq!(marks(&lab.load(None, &[]).unwrap()), (false, true, Staleness::Warn, true, true));
    assert_eq!(
        marks(&lab.load(Some("ops.yaml"), &[]).unwrap()),
        (false, false, Staleness::Warn, false, false)
    );
    let loaded = lab
        .load(None, &["fail_on_incomplete_scanners=false", "content_db_staleness=warn"])
        .unwrap();
    assert_eq!(marks(&loaded), (false, false, Staleness::Warn, false, true));
}

#[test]
fn a_plugin_module_is_accepted_where_its_scanner_is_built_in() {
    let module = "automated_security_helper.plugin_modules.ash_snyk_plugins";
    let text = format!("ash_plugin_modules: [{module}, evil.ash_plugins]\n");
    let lab = Lab::new(&[("repo/.ash.yaml", &text), ("ops.yaml", &text)]);
    let judged = |config: Option<&str>, known: &'static [&'static str]| {
        let request = Request { known_scanners: known, ..lab.request(config, &[]) };
        load(&request).map(|loaded| loaded.notices).map_err(|errors| errors.to_string())
    };
    let notices = judged(None, &["bandit", "snyk-code"]).unwrap();
    assert!(notices[0].reason.starts_with("`evil.ash_plugins` not loaded"), "{notices:?}");
    let notices = judged(None, &["bandit"]).unwrap();
    assert!(notices[0].reason.starts_with(&format!("`{module}`, `evil.")), "{notices:?}");
    assert!(
        judged(Some("ops.yaml"), &["snyk-code"]).unwrap_err().contains("names `evil.ash_plugins`,")
    );
}

#[test]
fn options_reach_a_scanner_in_the_form_it_reads() {
    let text = "scanners:\n  bandit: {options: {ignore-nosec: yes, offline: on}}\n  semgrep: {options: {config: [a, b], severity: ERROR}}\n  checkov: {options: {skip_path: [a, {path: b, reason: c}]}}\n";
    let lab = Lab::new(&[("ops.yaml", text)]);
    let settings = lab.load(Some("ops.yaml"), &[]).unwrap().settings;
    let options = |name: &str| serde_json::Value::Object(settings.scanners[name].options.clone());
    assert_eq!(options("bandit"), json!({"ignore_nosec": true, "offline": true}));
    assert_eq!(options("semgrep"), json!({"config": ["a", "b"], "severity": "ERROR"}));
    assert_eq!(options("checkov"), json!({"skip_path": ["a", {"path": "b", "reason": "c"}]}));
    assert_eq!(
        ["bandit", "semgrep", "grype"].map(|name| settings.offline(name, false)),
        [true, false, false]
    );
    assert!(settings.offline("grype", true));
}

#[test]
fn a_renamed_scanner_is_reported_with_both_names() {
    let lab = Lab::new(&[(
        "repo/.ash.yaml",
        "scanners: {bandit: {name: grype}, npm_audit: {name: npm-audit}}\n",
    )]);
    let scanners = lab.load(None, &[]).unwrap().settings.scanners;
    assert_eq!(
        (scanners["bandit"].renamed.as_deref(), &scanners["npm-audit"].renamed),
        (Some("grype"), &None)
    );
}

#[test]
fn read_paths_are_expanded_from_the_operators_environment_and_checked() {
    let mut lab = Lab::new(&[("ca/x.pem", ""), ("home/certs/y.pem", "")]);
    let ca = lab.path("ca").display().to_string();
    lab.variables.insert("CA", String::leak(ca));
    let paths = |lab: &Lab, list: &str| {
        lab.load(None, &[&format!("sandbox.extra_read_paths={list}")])
            .map(|loaded| (loaded.settings.sandbox.extra_read_paths, loaded.notices.len()))
    };
    assert_eq!(
        paths(&lab, "[\"$CA\", \"~/certs\", \"${CA}/x.pem\"]").unwrap(),
        (vec![lab.path("ca"), lab.path("home/certs"), lab.path("ca/x.pem")], 0)
    );
    assert_eq!(paths(&lab, "[\"$CA/absent\"]").unwrap(), (vec![], 1));
    symlink("home", lab.path("alias")).unwrap();
    let alias = lab.path("alias").display().to_string();
    for bad in [
        "relative",
        "$UNSET/x",
        "/",
        "~",
        "~/",
        "$CA/..",
        "~other",
        &alias,
        "/tmp/../",
        &lab.path("").display().to_string(),
    ] {
        assert_eq!(paths(&lab, &format!("[\"{bad}\"]")).unwrap_err().0.len(), 1, "{bad}");
    }
}

#[test]
fn the_resolved_configuration_has_canonical_keys_and_the_trusted_sandbox() {
    let lab = Lab::new(&[(
        "repo/.ash.yaml",
        "project-name: p\nfail-on-findings: no\nscanners: {npm_audit: {enabled: yes}}\nsandbox: {mode: auto, network-scanners: [bandit], extra-read-paths: [/etc]}\n",
    )]);
    let resolved = serde_json::Value::Object(lab.load(None, &[]).unwrap().settings.resolved);
    let expected = json!({
        "project_name": "p",
        "fail_on_findings": false,
        "scanners": {"npm-audit": {"enabled": true}},
        "sandbox": {"mode": "auto", "network_scanners": null, "extra_read_paths": [], "network_limit": ["bandit"]},
        "fail_on_incomplete_scanners": true,
        "content_db_staleness": "fail",
        "global_settings": {"severity_threshold": "MEDIUM"},
    });
    assert_eq!(resolved, expected);
}

#[test]
fn long_chains_and_many_files_of_extends_are_refused() {
    let chain: Vec<(String, String)> = (0..13)
        .map(|n| (format!("repo/c{n}.yaml"), format!("extends: c{}.yaml\n", n + 1)))
        .collect();
    let mut files: Vec<(&str, &str)> =
        chain.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    files.push(("repo/c13.yaml", "{}"));
    let wide = format!("extends: [{}]\n", vec!["c13.yaml"; 60].join(", "));
    files.push(("repo/wide.yaml", &wide));
    let lab = Lab::new(&files);
    assert!(lab.mistakes(Some("repo/c0.yaml"), &[])[0].contains("more than 10 files deep"));
    assert!(lab.load(Some("repo/c4.yaml"), &[]).is_ok());
    assert!(lab.mistakes(Some("repo/wide.yaml"), &[])[0].contains("more than 50 files"));
}

#[test]
fn a_file_that_ignores_letter_case_is_found_by_its_identity() {
    // Linux shows no such file system in a test: the identity function plays one.
    fn folded(path: &std::path::Path) -> Option<ash_config::Identity> {
        Some(ash_config::Identity::Path(PathBuf::from(path.to_string_lossy().to_lowercase())))
    }
    let lab = Lab::new(&[("REPO/c.yaml", "sandbox: {network_scanners: [bandit]}\n")]);
    let request = |identify| Request {
        source: lab.path("repo"),
        config: Some(lab.path("REPO/c.yaml")),
        ash_config_env: None,
        overrides: vec![],
        sandbox_flag: None,
        cwd: lab.path(""),
        pwd_env: None,
        home: None,
        env: &|_| None,
        known_scanners: &["bandit"],
        workspace: None,
        identify,
    };
    let granted = |identify| load(&request(identify)).unwrap().settings.sandbox.network.granted;
    assert_eq!((granted(Some(folded)), granted(None)), (None, Some(vec!["bandit".to_owned()])));
}

#[test]
fn an_operators_configuration_that_is_wrong_is_refused_beside_a_projects_own() {
    for (text, expected) in
        [("sandbox: {mode: bwarp}\n", "did you mean `bwrap`?"), ("a: [", "does not parse")]
    {
        let lab = Lab::new(&[("repo/p/.ash.yaml", "{}"), ("ops.yaml", text)]);
        let errors = load(&Request {
            source: lab.path("repo/p"),
            config: Some(lab.path("ops.yaml")),
            ash_config_env: None,
            overrides: vec![],
            sandbox_flag: None,
            cwd: lab.path("repo"),
            pwd_env: None,
            home: None,
            env: &|_| None,
            known_scanners: &[],
            workspace: Some(lab.path("repo")),
            identify: None,
        })
        .unwrap_err();
        assert!(errors.0.len() == 1 && errors.to_string().contains(expected), "{errors}");
    }
}

#[test]
fn words_of_a_hostile_file_reach_neither_the_terminal_nor_a_command_to_copy() {
    let text = "sandbox: {network_scanners: [\"x]'; touch ~/pwned #\"]}\nscanners: {\"\\e[2J'; id\": {tool_version: '==1', options: {\"\\e\": 1}}, bandit: {options: {\"\\e[0m\": 1}}}\n";
    let lab = Lab::new(&[("repo/.ash.yaml", text)]);
    let notices = lab.load(None, &[]).unwrap().notices;
    assert_eq!(notices.len(), 5, "{notices:?}");
    for notice in notices {
        assert!(!notice.line().contains('\u{1b}'), "{notice:?}");
        assert!(notice.hint.is_none_or(|hint| !hint.contains(';')), "a hint with a command in it");
    }
}
