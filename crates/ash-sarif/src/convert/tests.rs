use super::*;
use crate::{Written, read};

static SCANNER: ScannerId = ScannerId::builtin("demo");

fn convert_with<'a>(run: Value, change: impl FnOnce(&mut Options<'a>)) -> Converted {
    let text = json!({"version": "2.1.0", "runs": [run]}).to_string();
    let mut options = Options::new(&SCANNER, Path::new("/ash-test/src"));
    change(&mut options);
    to_findings(read(text.as_bytes()).unwrap(), &options)
}

fn one(result: Value) -> Finding {
    let run = json!({
        "tool": {"driver": {"name": "t", "version": "1.2", "rules": [
            {"id": "R1", "defaultConfiguration": {"level": "note"}, "shortDescription": {"text": "about R1"}, "messageStrings": {"m": {"text": "hello {0}"}}},
            {"id": "CVE", "properties": {"security-severity": "7.5"}},
        ]}},
        "results": [result],
    });
    convert_with(run, |_| {}).findings.remove(0)
}

#[test]
fn severity_follows_issue_severity_then_cvss_then_level() {
    for (result, severity) in [
        (
            json!({"ruleId": "CVE", "level": "note", "properties": {"issue_severity": "LOW"}}),
            Severity::Low,
        ),
        (
            json!({"ruleId": "CVE", "level": "note", "properties": {"issue_severity": "undefined"}}),
            Severity::High,
        ),
        (json!({"ruleId": "CVE", "level": "note"}), Severity::High),
        (json!({"ruleId": "X", "level": "error"}), Severity::Critical),
        (json!({"ruleId": "X"}), Severity::Medium),
        (json!({"ruleId": "R1"}), Severity::Low),
        (json!({"ruleId": "X", "kind": "pass"}), Severity::Info),
        (json!({"ruleId": "X", "level": "loud"}), Severity::Medium),
    ] {
        assert_eq!(one(result.clone()).severity, severity, "{result}");
    }
}

#[test]
fn a_scanner_can_decide_severities_itself() {
    let run = json!({"tool": {"driver": {}}, "results": [{"ruleId": "X", "level": "error"}, {"ruleId": "Y", "level": "error"}]});
    let decide = |facts: &SeverityFacts<'_>| (facts.rule_id == "X").then_some(Severity::Low);
    let severities: Vec<_> = convert_with(run, |options| options.severity = &decide)
        .findings
        .iter()
        .map(|finding| finding.severity)
        .collect();
    assert_eq!(severities, [Severity::Low, Severity::Critical]);
}

#[test]
fn messages_come_from_the_text_the_rule_or_the_id() {
    assert_eq!(
        one(json!({"ruleId": "R1", "message": {"id": "m", "arguments": ["you"]}})).message,
        "hello you"
    );
    assert_eq!(one(json!({"ruleId": "R1", "message": {}})).message, "about R1");
    assert_eq!(one(json!({"ruleId": "X"})).message, "X");
    assert_eq!(one(json!({})).rule_id, "no-rule-id");
}

#[test]
fn a_finding_outside_the_source_is_kept_without_a_location() {
    let finding = one(
        json!({"ruleId": "X", "locations": [{"physicalLocation": {"artifactLocation": {"uri": "file:///etc/passwd"}, "region": {"startLine": 1}}}]}),
    );
    assert_eq!(finding.location, None);
    assert_eq!(finding.properties.get("ash_location_outside"), Some(&json!("file:///etc/passwd")));
}

#[test]
fn a_location_inside_the_source_is_preferred_to_one_outside() {
    let at = |uri: &str| json!({"physicalLocation": {"artifactLocation": {"uri": uri}}});
    let finding = one(json!({"locations": [at("/etc/passwd"), at("/ash-test/src/a.py")]}));
    assert_eq!(finding.location.unwrap().path, RelPath::new("a.py").unwrap());
}

#[test]
fn lines_that_make_no_sense_are_left_out() {
    let region = |region: Value| {
        one(json!({"locations": [{"physicalLocation": {"artifactLocation": {"uri": "a.py"}, "region": region}}]})).location.unwrap().region
    };
    assert_eq!(region(json!({"startLine": 0})), None);
    assert_eq!(region(json!({"startLine": -1, "charOffset": 4})), None);
    let backwards = region(json!({"startLine": 5, "endLine": 2, "startColumn": 0})).unwrap();
    assert_eq!(
        backwards,
        Region { start_line: 5, start_column: None, end_line: None, end_column: None }
    );
}

#[test]
fn a_tools_own_suppressions_count_only_where_the_scanner_says_so() {
    let run = json!({"tool": {"driver": {}}, "results": [{"suppressions": [{"kind": "inSource", "justification": "nosec"}]}, {"suppressions": [{"kind": "external", "status": "rejected"}]}]});
    let counting = |on| {
        let converted =
            convert_with(run.clone(), move |options| options.native_suppressions_count = on);
        converted.findings.iter().map(Finding::is_suppressed).collect::<Vec<_>>()
    };
    assert_eq!(counting(false), [false, false]);
    assert_eq!(counting(true), [true, false]);
}

#[test]
fn a_result_is_suppressed_when_no_suppression_is_under_review_or_rejected() {
    for (suppressions, expected) in [
        (json!(null), false),
        (json!([]), false),
        (json!([{}]), true),
        (json!([{"kind": "external"}]), true),
        (json!([{"kind": "unheard of", "status": "accepted"}]), true),
        (json!([{"kind": "inSource", "status": "underReview"}]), false),
        (json!([{"kind": "inSource", "status": "rejected"}]), false),
        (json!([{"kind": "inSource", "status": "Accepted"}]), false),
        (json!([{"kind": "inSource"}, {"kind": "external", "status": "accepted"}]), true),
        (json!([{"kind": "inSource"}, {"kind": "external", "status": "underReview"}]), false),
        (
            json!([{"kind": "external", "status": "rejected"}, {"kind": "inSource", "status": "accepted"}]),
            false,
        ),
    ] {
        let run = json!({"tool": {"driver": {}}, "results": [{"suppressions": suppressions}]});
        let converted = convert_with(run, |options| options.native_suppressions_count = true);
        assert_eq!(converted.findings[0].is_suppressed(), expected, "{suppressions}");
        let shown = suppressions.as_array().map_or(0, Vec::len);
        assert_eq!(converted.findings[0].suppressions.len(), shown, "all are shown");
    }
}

#[test]
fn only_rules_in_use_are_kept_and_each_once() {
    let run = json!({"tool": {"driver": {"rules": [{"id": "A"}, {"id": "B"}]}}, "results": [{"ruleId": "B"}, {"ruleId": "B"}]});
    let ids: Vec<_> = convert_with(run, |_| {}).rules.into_iter().map(|rule| rule.id).collect();
    assert_eq!(ids, ["B"]);
}

#[test]
fn what_the_tool_says_went_wrong_is_handed_on() {
    let run = json!({"tool": {"driver": {}}, "results": [], "invocations": [
        {"executionSuccessful": true, "toolExecutionNotifications": [{"level": "error", "message": {"text": "rule X failed"}}, {"level": "note", "message": {"text": "fine"}}]},
        {"executionSuccessful": false},
    ]});
    assert_eq!(
        convert_with(run, |_| {}).problems,
        ["rule X failed", "the log says that the run was not successful"]
    );
    assert_eq!(convert_with(json!({"tool": {"driver": {}}}), |_| {}).problems.len(), 1);
}

#[test]
fn a_result_survives_the_way_to_a_finding_and_back() {
    let result = json!({
        "ruleId": "R1", "level": "error",
        "message": {"text": "hello", "markdown": "**hello**"},
        "locations": [
            {"physicalLocation": {"artifactLocation": {"uri": "a%20b.py"}, "region": {"startLine": 3, "endLine": 4, "snippet": {"text": "x = 1"}, "charOffset": 9}, "contextRegion": {"startLine": 1}}, "logicalLocations": [{"name": "f"}]},
            {"physicalLocation": {"artifactLocation": {"uri": "c.py"}}},
        ],
        "properties": {"issue_severity": "HIGH"},
        "fingerprints": {"k": "v"},
        "codeFlows": [{"threadFlows": []}],
    });
    let back = serde_json::to_value(Written {
        finding: &one(result.clone()),
        rule: None,
        properties: &[],
    })
    .unwrap();
    assert_eq!(back, result);
}

#[cfg(unix)]
#[test]
fn the_real_name_of_a_linked_source_is_recognised() {
    let dir = std::env::temp_dir().join(format!("ash-sarif-{}", std::process::id()));
    let (real, link) = (dir.join("real"), dir.join("link"));
    std::fs::create_dir_all(&real).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let text = json!({"runs": [{"tool": {"driver": {}}, "results": [{"locations": [{"physicalLocation": {"artifactLocation": {"uri": real.canonicalize().unwrap().join("a.py")}}}]}]}]}).to_string();
    let converted = to_findings(read(text.as_bytes()).unwrap(), &Options::new(&SCANNER, &link));
    std::fs::remove_dir_all(&dir).unwrap();
    assert_eq!(
        converted.findings[0].location.as_ref().unwrap().path,
        RelPath::new("a.py").unwrap()
    );
}
