//! Small reports for this crate's tests.

use std::time::Duration;

use ash_model::{
    evidence::SandboxEvidence,
    ids::ScannerId,
    report::{ScanMeta, ScanReport, ScannerReport},
    severity::{SeverityCounts, Threshold},
    status::Status,
};

pub(crate) fn scanner(name: &'static str, status: Status, actionable: u64) -> ScannerReport {
    ScannerReport {
        id: ScannerId::builtin(name),
        status,
        version: None,
        dependencies_satisfied: true,
        excluded: false,
        threshold: Threshold::Medium,
        threshold_is_own: false,
        counts: SeverityCounts { critical: actionable, ..SeverityCounts::default() },
        actionable,
        duration: None,
        exit_code: None,
        rules: vec![],
        invocations: vec![],
        sandbox: SandboxEvidence::off(),
        unevaluated: vec![],
        targets: None,
    }
}

pub(crate) fn report(scanners: Vec<ScannerReport>) -> ScanReport {
    ScanReport {
        scan: ScanMeta {
            ash_version: "0.0.0".into(),
            project_name: "test".into(),
            started: "2026-01-01T00:00:00Z".into(),
            finished: "2026-01-01T00:00:01Z".into(),
            duration: Duration::from_secs(1),
            source_dir: "/src".into(),
            output_dir: "/src/.ash/ash_output".into(),
            offline: true,
            sandbox_mode: "off".into(),
            sandbox_backend: None,
            threshold: Threshold::Medium,
            fail_on_findings: true,
            interrupted: false,
        },
        scanners,
        findings: vec![],
        notices: vec![],
        suppressions: vec![],
        sbom: None,
        settings: serde_json::Map::new(),
    }
}
