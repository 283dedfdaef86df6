//! A finished scan for tests: five scanners, each with another status, and hostile text in every field that can hold any.

use std::time::Duration;

use ash_model::{
    evidence::{
        CacheEvidence, CacheMode, Enforced, EvidenceDetails, LandlockEvidence, SandboxEvidence,
        Tier,
    },
    finding::{Finding, Location, Region, Rule, Suppression},
    ids::ScannerId,
    notice::Notice,
    path::RelPath,
    report::{Invocation, ScanMeta, ScanReport, ScannerReport},
    severity::{Level, Severity, SeverityCounts, Threshold},
    status::{Missing, Status},
    suppression::{Fate, SuppressionRecord},
};
use serde_json::{Map, Value, json};

const HOSTILE: &str = "<script>alert(1)</script>\u{1b}[2J\u{202e}evil\n::error::x ##vso[task.complete] `a` |b| @user \"q\" 'q' &amp;";

pub(crate) fn hostile() -> ScanReport {
    ScanReport {
        scan: ScanMeta {
            ash_version: "1.2.3".into(),
            project_name: format!("=HYPERLINK(\"x\") {HOSTILE}"),
            started: "2026-01-02T03:04:05Z".into(),
            finished: "2026-01-02T03:05:11Z".into(),
            duration: Duration::from_secs(66),
            source_dir: "/src".into(),
            output_dir: "/src/.ash/ash_output".into(),
            offline: true,
            sandbox_mode: "auto".into(),
            sandbox_backend: Some("bwrap".into()),
            threshold: Threshold::Medium,
            fail_on_findings: true,
            interrupted: false,
        },
        scanners: vec![bandit(), cfn_nag(), grype(), npm_audit(), semgrep()],
        findings: findings(),
        notices: vec![
            Notice::new("firejail", format!("not installed {HOSTILE}"))
                .hint("type `apt install firejail`"),
        ],
        suppressions: suppressions(),
        sbom: Some(
            json!({"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "components": [{"type": "library", "name": "left-pad"}]}),
        ),
        settings: object(json!({"project_name": "x", "fail_on_findings": true})),
    }
}

/// One of each fate.
fn suppressions() -> Vec<SuppressionRecord> {
    let record = |path: &str, rule: Option<&str>, fate| SuppressionRecord {
        id: format!("{path}|{}|*|*", rule.unwrap_or("*")),
        path: path.to_owned(),
        rule_id: rule.map(str::to_owned),
        reason: format!("agreed {HOSTILE}"),
        covered: u64::from(fate == Fate::Used),
        fate,
        ..SuppressionRecord::default()
    };
    vec![
        record("src/**", None, Fate::Used),
        SuppressionRecord {
            id: "src/a.py|B602|3|7".into(),
            line_start: Some(3),
            line_end: Some(7),
            expiration: Some("2027-01-01".into()),
            ..record("src/a.py", Some("B602"), Fate::Unused)
        },
        SuppressionRecord {
            symbol: Some("Store.<b>".into()),
            package_name: Some("left|pad".into()),
            ..record(HOSTILE, None, Fate::Unused)
        },
        SuppressionRecord {
            expiration: Some("2026-01-01".into()),
            ..record("old.py", None, Fate::Expired)
        },
        record(
            "x.yml",
            Some("CKV_*"),
            Fate::NotJudged(format!("checkov did not run (ERROR) {HOSTILE}")),
        ),
    ]
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

fn scanner(name: &'static str, status: Status) -> ScannerReport {
    ScannerReport {
        id: ScannerId::builtin(name),
        status,
        version: None,
        dependencies_satisfied: true,
        excluded: false,
        threshold: Threshold::Medium,
        threshold_is_own: false,
        counts: SeverityCounts::default(),
        actionable: 0,
        duration: None,
        exit_code: None,
        rules: vec![],
        invocations: vec![],
        sandbox: SandboxEvidence {
            mode: "auto".into(),
            backend: None,
            tier: Tier::None,
            details: None,
        },
        unevaluated: vec![],
        targets: None,
    }
}

fn evidence() -> SandboxEvidence {
    SandboxEvidence {
        mode: "auto".into(),
        backend: Some("bwrap".into()),
        tier: Tier::NamespacesLandlock,
        details: Some(EvidenceDetails {
            offline: true,
            read_only: vec!["/src".into(), "/usr".into()],
            writable: vec!["/src/.ash/ash_output/scanners/bandit/source".into()],
            caches: vec![CacheEvidence {
                path: "/home/u/.cache/tool".into(),
                mode: CacheMode::Overlay,
            }],
            environment: vec!["PATH".into()],
            landlock: Some(LandlockEvidence { abi: 7, enforced: Enforced::Full, missing: vec![] }),
            limits: [("core".to_owned(), Some(0)), ("processes".to_owned(), None)].into(),
            spawns: 2,
            ..EvidenceDetails::default()
        }),
    }
}

fn bandit() -> ScannerReport {
    ScannerReport {
        version: Some(format!("1.9.4 {HOSTILE}")),
        counts: SeverityCounts { suppressed: 1, high: 1, low: 1, ..SeverityCounts::default() },
        actionable: 1,
        duration: Some(Duration::from_millis(2154)),
        exit_code: Some(1),
        rules: vec![Rule {
            id: "B602".into(),
            cvss: None,
            descriptor: object(
                json!({"id": "B602", "name": "shell", "helpUri": "javascript:alert(1)", "shortDescription": {"text": HOSTILE}, "invented": true}),
            ),
        }],
        invocations: vec![Invocation {
            command_line: vec!["bandit".into(), "--format".into(), "sarif".into(), "a b'c".into()],
            working_directory: "/src".into(),
            started: "2026-01-02T03:04:06Z".into(),
            finished: "2026-01-02T03:04:08Z".into(),
            exit_code: Some(1),
            signal: None,
            successful: true,
        }],
        sandbox: evidence(),
        ..scanner("bandit", Status::Failed)
    }
}

fn cfn_nag() -> ScannerReport {
    let reason = "`cfn_nag_scan` was not found; type `gem install cfn-nag`".to_owned();
    ScannerReport {
        dependencies_satisfied: false,
        ..scanner("cfn-nag", Status::Missing(Missing { reason, by_sandbox: false }))
    }
}

fn grype() -> ScannerReport {
    ScannerReport {
        duration: Some(Duration::from_millis(350)),
        exit_code: Some(137),
        invocations: vec![Invocation {
            command_line: vec!["grype".into()],
            working_directory: "/src".into(),
            started: "2026-01-02T03:04:06Z".into(),
            finished: "2026-01-02T03:04:07Z".into(),
            exit_code: None,
            signal: Some(9),
            successful: false,
        }],
        sandbox: evidence(),
        ..scanner("grype", Status::Error(format!("ended by signal 9: {HOSTILE}")))
    }
}

fn npm_audit() -> ScannerReport {
    ScannerReport {
        excluded: true,
        ..scanner("npm-audit", Status::Skipped("excluded by `--exclude-scanners`".into()))
    }
}

fn semgrep() -> ScannerReport {
    ScannerReport {
        version: Some("1.185.0".into()),
        threshold: Threshold::Critical,
        threshold_is_own: true,
        counts: SeverityCounts { high: 1, ..SeverityCounts::default() },
        duration: Some(Duration::from_secs(61)),
        exit_code: Some(0),
        sandbox: evidence(),
        unevaluated: vec![format!("b.py: timeout {HOSTILE}")],
        targets: Some(3),
        ..scanner("semgrep", Status::Passed)
    }
}

fn findings() -> Vec<Finding> {
    let location = |path: &str, line: u64| {
        Some(Location {
            path: RelPath::new(path).unwrap(),
            region: Some(Region {
                start_line: line,
                start_column: Some(2),
                end_line: Some(line + 1),
                end_column: None,
            }),
            snippet: Some(format!("call(x)\n{HOSTILE}")),
        })
    };
    let plain = Finding {
        scanner: ScannerId::builtin("bandit"),
        rule_id: "B602".into(),
        severity: Severity::High,
        level: Level::Error,
        message: HOSTILE.into(),
        location: location("src/a b.py", 3),
        suppressions: vec![],
        properties: object(json!({"issue_severity": "HIGH", "tags": ["security", "security", 7]})),
        extra: object(
            json!({"partialFingerprints": {"a": HOSTILE}, "message": {"markdown": HOSTILE}, "invented": [1]}),
        ),
    };
    let suppressed = Suppression {
        kind: "inSource".into(),
        justification: Some(format!("(ASH) {HOSTILE}")),
        counts: true,
    };
    vec![
        plain.clone(),
        Finding {
            severity: Severity::Low,
            level: Level::Note,
            rule_id: "=HYPERLINK(\"http://x\")".into(),
            message: "=1+1\nsecond line".into(),
            location: None,
            extra: Map::new(),
            ..plain.clone()
        },
        Finding {
            suppressions: vec![suppressed],
            properties: Map::new(),
            location: location("src/\u{1b}[31m\u{202e}<b>\n::x.py", 9),
            ..plain.clone()
        },
        Finding {
            scanner: ScannerId::builtin("semgrep"),
            rule_id: "python.lang.<img src=x onerror=alert(1)>".into(),
            message: "]]> --> <!-- ```\n# heading\n[link](javascript:alert(1))".into(),
            suppressions: vec![Suppression {
                kind: "inSource".into(),
                justification: None,
                counts: false,
            }],
            location: location("src/a b.py", 7),
            ..plain
        },
    ]
}
