//! What a scanned tree does to make the real checkov's findings, or its failures, vanish.
//!
//! Needs the scanners, in the directory that `ASH_TOOLS_DIR` names; CI has them.

use crate::{
    lab::{Lab, Scanned, tools},
    left_out::{places, scan, set},
};

const GROUP: &[u8] = b"resource \"aws_security_group\" \"s\" {\n  ingress {\n    from_port   = 22\n    to_port     = 22\n    protocol    = \"tcp\"\n    cidr_blocks = [\"0.0.0.0/0\"]\n  }\n}\n";

/// The files checkov is said not to have evaluated, in order.
fn unevaluated(scanned: &Scanned) -> Vec<String> {
    let said = scanned.scanner("checkov")["unevaluated"].as_array().cloned().unwrap_or_default();
    let name =
        |said: &serde_json::Value| said.as_str().unwrap().split(": ").next().unwrap().to_owned();
    said.iter().map(name).collect()
}

#[test]
fn a_backslash_in_a_name_moves_no_finding() {
    let Some(tools) = tools() else { return };
    let lab = Lab::new();
    let names = [
        "a/.h_s/main.tf",
        r"a/.h\s/main.tf",
        r"b/node_modules\main.tf",
        r"c/venv\x/main.tf",
        r"d/.main\x.tf",
        r"e/x\..\..\..\y.tf",
        r"f/b\main.tf",
        "f/b/main.tf",
    ];
    let files: Vec<(&str, &[u8])> = names.iter().map(|name| (*name, GROUP)).collect();
    let scanned = scan(&lab, &tools, "checkov", &files);
    assert_eq!(scanned.status("checkov"), "FAILED", "{}", scanned.reason("checkov"));
    let uris: Vec<String> = names.iter().map(|name| name.replace('\\', "%5C")).collect();
    assert_eq!(places(&scanned), set(&uris.iter().map(String::as_str).collect::<Vec<_>>()));
    let findings = scanned.findings();
    let of = |uri: &str| findings.iter().filter(|(_, found, _)| found == uri).count();
    assert!(uris.iter().all(|uri| of(uri) == of("a/.h_s/main.tf")), "{findings:?}");
    assert_eq!(unevaluated(&scanned), [""; 0]);
}

#[test]
fn what_cannot_be_parsed_is_said_whatever_the_names_in_the_tree_look_like() {
    let Some(tools) = tools() else { return };
    let bucket = b"AWSTemplateFormatVersion: '2010-09-09'\nResources:\n  B:\n    Type: AWS::S3::Bucket\n    Properties: {a: [\n";
    let repository = |name: &str| {
        format!(
            r#"{{"AWSTemplateFormatVersion": "2010-09-09", "Resources": {{"{name}": {{"Type": "AWS::ECR::Repository", "Properties": {{}}}}}}}}"#
        )
    };
    let lines = r"B\nterraform_plan scan results:\nX";
    for (name, resource) in
        [("bad.tf", "B"), ("ba\nd.tf", lines), ("a\nterraform_plan scan results:\n.tf", "B")]
    {
        let lab = Lab::new();
        let good = repository(resource);
        let files: [(&str, &[u8]); 4] = [
            (name, b"resource \"aws_s3_bucket\" \"b\" {\n  acl = = 1\n"),
            ("bad.yaml", bucket),
            ("good.json", good.as_bytes()),
            ("plain.json", b"{\"not\": [a plan"),
        ];
        let scanned = scan(&lab, &tools, "checkov", &files);
        let mut expected = vec![name.replace('\n', "\\n"), "bad.yaml".to_owned()];
        expected.sort();
        let mut found = unevaluated(&scanned);
        found.sort();
        assert_eq!(found, expected, "{}", scanned.stdout);
        assert_eq!(scanned.code, Some(1), "{}", scanned.stdout);
    }
}

#[test]
fn manifests_and_dockerfiles_that_its_loaders_give_up_are_said() {
    let Some(tools) = tools() else { return };
    let pod = |annotation: &str| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\n  annotations: {{a: {annotation}}}\nspec:\n  containers:\n  - name: c\n    image: nginx\n"
        )
    };
    let plain = pod("b");
    let hidden = format!("{plain}---\n{}", plain.replace("name: c", "name: 'c#'"));
    let given_up = [
        ("equals.yaml", pod("=")),
        ("date.yaml", pod("2020-99-99")),
        ("tag.yml", pod("!x y")),
        ("control.yaml", pod("'\u{1}'")),
        ("first.yaml", format!("a: [\n---\n{plain}")),
        ("second.yaml", hidden),
        ("nameless.yaml", plain.replace("name: p", "generateName: p")),
        ("comment.yaml", format!("# {{{{ .Values.a }}}}\n{plain}")),
    ];
    let looked_at = [
        ("plain.yaml", plain.clone()),
        ("two.yaml", format!("# c\n\n{plain}---\n# c\n{}", plain.replace("name: p", "name: q"))),
        ("list.yaml", format!("apiVersion: v1\nkind: List\nitems:\n- {}", plain.trim_end().replace('\n', "\n  "))),
        ("flow.yaml", "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: nginx}]}}".to_owned()),
        ("pod.json", r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}}"#.to_owned()),
        ("one\\copy.yaml", plain.clone()),
        ("chart/Chart.yaml", "apiVersion: v2\nname: c\nversion: 1.0.0\n".to_owned()),
        ("chart/templates/pod.yaml", pod("'{{ .Values.a }}'")),
        ("service.yaml", plain.replace("kind: Pod", "kind: Service").replace('b', "=")),
        ("Dockerfile", "FROM nginx\nADD http://x /\n".to_owned()),
    ];
    let mut files: Vec<(&str, &[u8])> =
        given_up.iter().chain(&looked_at).map(|(name, text)| (*name, text.as_bytes())).collect();
    files.push(("bytes/Dockerfile", b"FROM nginx\n# \xff\nADD http://x /\n"));
    let lab = Lab::new();
    let scanned = scan(&lab, &tools, "checkov", &files);
    let mut expected: Vec<String> = given_up.iter().map(|(name, _)| (*name).to_owned()).collect();
    expected.push("bytes/Dockerfile".to_owned());
    expected.sort();
    let mut found = unevaluated(&scanned);
    found.sort();
    assert_eq!(found, expected, "{}", scanned.stdout);
    assert!(
        scanned.stdout.contains("1 template of Kubernetes manifests not evaluated"),
        "{}",
        scanned.stdout
    );
    assert_eq!(scanned.code, Some(1), "{}", scanned.stdout);
}
