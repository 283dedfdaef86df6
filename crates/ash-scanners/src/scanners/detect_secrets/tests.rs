//! What the worker is asked, and what its answers mean.

use super::*;
use crate::scanners::tests::{Tree, interpret, run};

fn report(files: usize, secrets: &Value, unread: &Value) -> Vec<u8> {
    json!({"version": "1.5.0", "plugins": [], "files": files, "secrets": secrets, "unread": unread}).to_string().into_bytes()
}

#[test]
fn the_worker_runs_isolated_over_exactly_the_scan_set_without_lock_files() {
    let mut tree = Tree::new(&["a.py", "package-lock.json", "x/poetry.lock", "conda-lock.yml", "conda-lock.js", ".ash/evil.json", ".ash/.secrets.baseline", ".secrets.baseline", "b c"]);
    tree.put_path(b"n\xff\n", b"");
    let call = run(&DetectSecrets, &tree).remove(0);
    assert_eq!(
        tree.words(&call),
        "python-of-detect-secrets -I -X utf8 {results}/detect_secrets_worker.py {results}/request.json {results}/detect-secrets.json"
    );
    let input = |name: &str| call.inputs.iter().find(|(path, _)| path.as_path().as_os_str() == name).unwrap().1.clone();
    assert_eq!(input(LIST), b".ash/evil.json\0a.py\0b c\0conda-lock.js\0n\xff\n\0");
    assert_eq!(String::from_utf8(input(REQUEST)).unwrap(), r#"{"files":"files.nul","accepted":[],"seconds_per_file":120,"plugins":null,"filters":[],"verify":null}"#);
}

#[test]
fn of_a_baseline_the_accepted_secrets_are_used_and_nothing_that_loads_code() {
    let mut tree = Tree::new(&["a.py", "b.py"]);
    let baseline = json!({
        "plugins_used": [{"name": "Evil", "path": "file://evil.py"}],
        "filters_used": [{"path": "file://evil.py::f"}],
        "results": {"b.py": [{"type": "Secret Keyword", "hashed_secret": "abc", "line_number": 3}], "gone.py": [{"type": "x", "hashed_secret": "y"}], "../b.py": []}
    });
    tree.contents.insert(own(".secrets.baseline"), baseline.to_string().into_bytes());
    let call = run(&DetectSecrets, &tree).remove(0);
    let request = String::from_utf8(call.inputs[1].1.clone()).unwrap();
    assert_eq!(request, r#"{"files":"files.nul","accepted":[[1,"Secret Keyword","abc"]],"seconds_per_file":120,"plugins":null,"filters":[],"verify":null}"#);
    tree.contents.insert(own(".secrets.baseline"), b"{".to_vec());
    assert!(String::from_utf8(run(&DetectSecrets, &tree)[0].inputs[1].1.clone()).unwrap().contains(r#""accepted":[]"#));
}

#[test]
fn a_secret_becomes_a_finding_under_the_old_name_and_never_shows_itself() {
    let tree = Tree::new(&["a b.py", "c.py"]);
    let secrets = json!([
        {"file": 0, "line": 3, "type": "Public IP (ipv4)", "allowlisted": false, "accepted": false, "secret": "hunter2"},
        {"file": 1, "line": 1, "type": "Secret Keyword", "allowlisted": true, "accepted": false},
        {"file": 1, "line": 2, "type": "Secret Keyword", "allowlisted": false, "accepted": true},
    ]);
    let read = interpret(&DetectSecrets, &tree, 0, &[(REPORT, report(2, &secrets, &json!([{"file": 1, "reason": "PermissionError"}])))]).unwrap();
    let first = &read.findings[0];
    assert_eq!((first.rule_id.as_str(), first.severity, first.level), ("SECRET-PUBLIC-IP-(IPV4)", Severity::Critical, Level::Error));
    assert_eq!(first.message, "Secret of type 'Public IP (ipv4)' detected in file 'a b.py' at line 3");
    assert!(!format!("{read:?}").contains("hunter2"));
    assert_eq!(read.findings.iter().map(Finding::is_suppressed).collect::<Vec<_>>(), [false, true, true]);
    assert_eq!(read.unevaluated, ["c.py: PermissionError"]);
    assert_eq!((read.version.as_deref(), read.targets, read.rules.len()), (Some("1.5.0"), Some(2), 2));
}

#[test]
fn a_worker_that_read_fewer_files_or_names_others_is_not_believed() {
    let tree = Tree::new(&["a.py", "c.py"]);
    let secret = |file: i64| json!([{"file": file, "line": 1, "type": "x", "allowlisted": false, "accepted": false}]);
    for bytes in [report(1, &json!([]), &json!([])), report(2, &secret(2), &json!([])), report(2, &secret(-1), &json!([])), report(2, &json!([]), &json!([{"file": 9, "reason": "x"}]))] {
        assert!(interpret(&DetectSecrets, &tree, 0, &[(REPORT, bytes)]).is_err());
    }
    assert!(interpret(&DetectSecrets, &tree, 0, &[(REPORT, report(2, &secret(1), &json!([])))]).is_ok());
    assert!(interpret(&DetectSecrets, &tree, 1, &[(REPORT, report(2, &secret(1), &json!([])))]).is_err());
}

#[test]
fn the_worker_verifies_only_where_the_sandbox_gives_a_network() {
    let mut tree = Tree::new(&["a.py"]);
    let baseline = json!({"filters_used": [{"path": "detect_secrets.filters.common.is_ignored_due_to_verification_policies", "min_level": 3}]});
    tree.contents.insert(own(".ash/.secrets.baseline"), baseline.to_string().into_bytes());
    let verify = |tree: &Tree| {
        let request: Value = serde_json::from_slice(&run(&DetectSecrets, tree)[0].inputs[1].1).unwrap();
        request["verify"].clone()
    };
    assert_eq!(verify(&tree), Value::Null);
    tree.network = true;
    assert_eq!(verify(&tree), 3);
    let read = interpret(&DetectSecrets, &tree, 0, &[(REPORT, report(1, &json!([]), &json!([])))]).unwrap();
    assert!(read.notices[0].line().starts_with("detect-secrets: `.ash/.secrets.baseline`: candidates were sent to their issuers"), "{:?}", read.notices);
}

#[test]
fn what_filters_leave_out_and_what_the_installed_version_lacks_is_said() {
    let mut tree = Tree::new(&["a.py"]);
    tree.contents.insert(own(".secrets.baseline"), json!({"plugins_used": [{"name": "AWSKeyDetector"}, {"name": "Old"}]}).to_string().into_bytes());
    let report = json!({"version": "1.5.0", "files": 1, "secrets": [], "unread": [], "left_out": 7, "unknown": ["Old\u{1b}"]}).to_string().into_bytes();
    let read = interpret(&DetectSecrets, &tree, 0, &[(REPORT, report)]).unwrap();
    let lines: Vec<_> = read.notices.iter().map(ash_model::notice::Notice::line).collect();
    assert_eq!(
        lines,
        [
            "detect-secrets: `.secrets.baseline`: `Old\\u{1b}` is not in the installed version, so it is not used",
            "detect-secrets: `.secrets.baseline`: only 2 plugins are used, filters leave out 7 candidates or files",
        ]
    );
}
