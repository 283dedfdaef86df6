//! Edits of whole texts.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    editor::Editor,
    path::{Edit, Step, keys},
    syntax::Syntax,
    write::{Language, to_yaml},
};
use crate::yaml;

fn edited(text: &str, edit: Edit) -> Result<String, String> {
    let mut editor = Editor::new(text, Language::Yaml);
    editor.apply(&[edit]).map_err(|error| error.to_string())?;
    Ok(editor.text())
}

fn set(text: &str, path: &str, value: Value) -> String {
    edited(text, Edit::Set(keys(path), value)).unwrap()
}

fn at(path: &str, index: usize) -> Vec<Step> {
    let mut path = keys(path);
    path.push(Step::Item(index));
    path
}

const PAGE: &str = "\
# top
project_name: demo # the name
scanners:
  # fast
  bandit: {enabled: true} # keep
  semgrep:
    enabled: no

    # end of semgrep
sandbox:
  network_scanners: # who
    # first
    - grype # db
    - trivy
flow: [a, b] # c
empty:
# bottom
";

#[test]
fn a_value_is_replaced_where_it_stands() {
    let cases = [
        ("project_name", json!("x y"), "project_name: demo #", "project_name: x y #"),
        ("project_name", json!("a: b"), "project_name: demo #", "project_name: 'a: b' #"),
        ("scanners.bandit.enabled", json!(false), "{enabled: true}", "{enabled: false}"),
        ("scanners.semgrep.enabled", json!(true), "enabled: no\n", "enabled: true\n"),
        ("flow", json!(null), "flow: [a, b] # c", "flow: null # c"),
        ("empty", json!(["x"]), "empty:\n", "empty: [x]\n"),
        (
            "sandbox.network_scanners",
            json!([]),
            "  network_scanners: # who\n    # first\n    - grype # db\n    - trivy\n",
            "  network_scanners: [] # who\n    # first\n    # db\n",
        ),
    ];
    for (path, value, old, new) in cases {
        assert!(PAGE.contains(old), "{old}");
        assert_eq!(set(PAGE, path, value), PAGE.replace(old, new), "{path}");
    }
}

#[test]
fn a_missing_value_is_added_at_the_end_of_its_section() {
    let cases = [
        ("fail_on_findings", json!(false), "empty:\n", "empty:\nfail_on_findings: false\n"),
        ("sandbox.mode", json!("auto"), "    - trivy\n", "    - trivy\n  mode: auto\n"),
        (
            "scanners.bandit.options.x",
            json!(1),
            "{enabled: true}",
            "{enabled: true, options: {x: 1}}",
        ),
        (
            "scanners.grype.enabled",
            json!(true),
            "enabled: no\n",
            "enabled: no\n  grype:\n    enabled: true\n",
        ),
        ("empty.a.b", json!([{"c": 1}]), "empty:\n", "empty:\n  a:\n    b:\n      - c: 1\n"),
    ];
    for (path, value, old, new) in cases {
        assert_eq!(set(PAGE, path, value), PAGE.replace(old, new), "{path}");
    }
    assert_eq!(set("", "a.b", json!(1)), "a:\n  b: 1\n");
    assert_eq!(set("# only\n\n", "a", json!(1)), "# only\na: 1\n");
    assert_eq!(set("\u{feff}", "a", json!(1)), "\u{feff}a: 1\n");
    assert_eq!(set("a: {}", "a.b", json!(1)), "a:\n  b: 1");
    assert_eq!(
        set("a: 1\r\nb:\r\n  c: 1 # x\r\n", "b.d", json!("e")),
        "a: 1\r\nb:\r\n  c: 1 # x\r\n  d: e\r\n"
    );
}

#[test]
fn lists_grow_in_their_own_style() {
    let grow = |text: &str, path: &str, value: Value| {
        edited(text, Edit::Append(keys(path), value)).unwrap()
    };
    assert_eq!(grow(PAGE, "flow", json!("c, d")), PAGE.replace("[a, b]", "[a, b, 'c, d']"));
    assert_eq!(
        grow(PAGE, "sandbox.network_scanners", json!("syft")),
        PAGE.replace("    - trivy\n", "    - trivy\n    - syft\n")
    );
    assert_eq!(
        grow("l:\n- a\nm: 1\n", "l", json!({"p": 1, "q": [2]})),
        "l:\n- a\n- p: 1\n  q: [2]\nm: 1\n"
    );
    assert_eq!(grow("l: []\n", "l", json!({"p": 1})), "l:\n  - p: 1\n");
    assert_eq!(
        grow("l: [\n  a, # x\n  b, # y\n]\n", "l", json!("c")),
        "l: [\n  a, # x\n  b,\n  c, # y\n]\n"
    );
    assert_eq!(grow("a: 1\n", "b.c", json!(1)), "a: 1\nb:\n  c: [1]\n");
}

#[test]
fn removing_leaves_the_comments() {
    let remove = |text: &str, path: Vec<Step>| edited(text, Edit::Remove(path)).unwrap();
    let list = "l:\n  # one\n  - a: 1 # x\n    # inside\n    b: 2\n  # two\n  - c: 3\nm: 1\n";
    assert_eq!(
        remove(list, at("l", 0)),
        "l:\n  # one\n  # x\n  # inside\n  # two\n  - c: 3\nm: 1\n"
    );
    assert_eq!(remove(list, at("l", 1)), list.replace("  - c: 3\n", ""));
    assert_eq!(remove("l:\n  - a # x\nm: 1\n", at("l", 0)), "l: [] # x\nm: 1\n");
    let mut first = at("l", 0);
    first.push(Step::Key("a".to_owned()));
    assert_eq!(
        remove(list, first),
        "l:\n  # one\n  # x\n  # inside\n  - b: 2\n  # two\n  - c: 3\nm: 1\n"
    );
    assert_eq!(remove("a: [1, 2, 3]\n", at("a", 2)), "a: [1, 2]\n");
    assert_eq!(remove("a: {b: 1, c: 2}\n", keys("a.b")), "a: {c: 2}\n");
    assert_eq!(remove("a:\n  b: 1\n", keys("a.b")), "a: {}\n");
    assert_eq!(remove("a: |\n  x\n  # no comment\nb: 1\n", keys("a")), "b: 1\n");
}

#[test]
fn an_item_becomes_a_comment() {
    let text = "l:\n  - path: a # why\n\n    reason: |\n      b\n  - path: c\n";
    let out = edited(text, Edit::CommentOut(at("l", 0), "unused".to_owned())).unwrap();
    assert_eq!(
        out,
        "l:\n  # unused\n  # - path: a # why\n  #\n  #   reason: |\n  #     b\n  - path: c\n"
    );
    let out = edited("l:\n- a\n", Edit::CommentOut(at("l", 0), "n".to_owned())).unwrap();
    assert_eq!(out, "l: []\n# n\n# - a\n");
}

#[test]
fn what_cannot_be_proved_is_refused() {
    for (text, edit) in [
        ("a: &x {b: 1}\nc: *x\n", Edit::Set(keys("a.b"), json!(2))),
        ("a: &x 1\nc: *x\n", Edit::Set(keys("a"), json!(2))),
        ("a: &x {b: 1}\nc: *x\n", Edit::Set(keys("c.b"), json!(2))),
        ("? a\n: 1\n", Edit::Set(keys("a"), json!(2))),
        ("a: 1\n", Edit::Set(keys("a.b"), json!(2))),
        ("a: 1\n", Edit::Append(keys("a"), json!(2))),
        ("a: 1\n...\n", Edit::Set(keys("b"), json!([{"c": 1}, "---"]))),
        ("a: [1\n", Edit::Set(keys("b"), json!(2))),
        ("l: [a]\n", Edit::CommentOut(at("l", 0), "n".to_owned())),
    ] {
        let done = edited(text, edit.clone());
        // Either refused, or it means the right thing.
        if let Ok(done) = &done {
            let read = yaml::parse(done, 0).unwrap().to_value();
            assert_eq!(read["b"], json!([{"c": 1}, "---"]), "{text}");
        }
        assert!(done.is_err() || text.contains("..."), "{text}: {done:?}");
    }
}

/// A document as a person might write it.
#[derive(Debug, Clone)]
enum Doc {
    Leaf(String),
    Map(Vec<(Doc, bool, bool)>),
    List(Vec<(Doc, bool)>),
    Flow(String),
}

fn docs() -> impl Strategy<Value = Doc> {
    let leaf = prop_oneof![
        "[a-z]{1,6}( [a-z]{1,4})?".prop_map(Doc::Leaf),
        Just(Doc::Leaf("'it''s'".to_owned())),
        Just(Doc::Leaf("\"q # \\n\"".to_owned())),
        Just(Doc::Leaf(String::new())),
        Just(Doc::Leaf("12".to_owned())),
        Just(Doc::Leaf("off".to_owned())),
        Just(Doc::Leaf("|\n@one\n@# two\n".to_owned())),
        Just(Doc::Leaf(">-\n@one\n\n@two".to_owned())),
        Just(Doc::Flow("[a, {b: c}, 'd']".to_owned())),
        Just(Doc::Flow("{a: [1, 2], b: }".to_owned())),
        Just(Doc::Flow("[]".to_owned())),
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            prop::collection::vec((inner.clone(), any::<bool>(), any::<bool>()), 1..4)
                .prop_map(Doc::Map),
            prop::collection::vec((inner, any::<bool>()), 1..4).prop_map(Doc::List),
        ]
    })
}

fn comment(wanted: bool, count: &mut usize, out: &mut String) {
    if wanted {
        *count += 1;
        out.push_str(&format!(" # c{count}"));
    }
}

/// Lines of a document at a column, with numbered comments.
fn render(doc: &Doc, column: usize, count: &mut usize, out: &mut String) {
    let margin = " ".repeat(column);
    match doc {
        Doc::Leaf(text) | Doc::Flow(text) => {
            let text = text.replace('@', &margin);
            let (head, rest) =
                text.split_once('\n').map_or((text.as_str(), None), |(h, r)| (h, Some(r)));
            out.push_str(&format!(" {head}"));
            if let Some(rest) = rest {
                out.push_str(&format!("\n{rest}"));
            }
        }
        Doc::Map(entries) => {
            for (index, (value, above, after)) in entries.iter().enumerate() {
                out.push('\n');
                if *above {
                    out.push_str(&margin);
                    comment(true, count, out);
                    out.push('\n');
                }
                out.push_str(&format!("{margin}k{index}:"));
                let is_text = matches!(value, Doc::Leaf(text) if text.contains('\n'));
                if matches!(value, Doc::Map(_) | Doc::List(_)) {
                    comment(*after, count, out);
                }
                render(value, column + 2, count, out);
                if matches!(value, Doc::Leaf(_) | Doc::Flow(_)) && !is_text {
                    comment(*after, count, out);
                }
            }
        }
        Doc::List(items) => {
            for (value, above) in items {
                out.push('\n');
                if *above {
                    *count += 1;
                    out.push_str(&format!("{margin}# c{count}\n"));
                }
                out.push_str(&format!("{margin}-"));
                let mut below = String::new();
                render(value, column + 2, count, &mut below);
                // The first key of a section stands behind the dash.
                match below.strip_prefix(&format!("\n{margin}  k")) {
                    Some(rest) => out.push_str(&format!(" k{rest}")),
                    None => out.push_str(&below),
                }
            }
        }
    }
}

/// Every way into a value.
fn ways(value: &Value, path: &mut Vec<Step>, found: &mut Vec<Vec<Step>>) {
    if !path.is_empty() {
        found.push(path.clone());
    }
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                path.push(Step::Key(key.clone()));
                ways(value, path, found);
                path.pop();
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                path.push(Step::Item(index));
                ways(value, path, found);
                path.pop();
            }
        }
        _ => {}
    }
}

fn comments(text: &str) -> Vec<String> {
    let syntax = Syntax::parse(text).unwrap();
    let mut all: Vec<String> =
        syntax.comments.iter().map(|range| text[range.clone()].trim_end().to_owned()).collect();
    all.sort();
    all
}

fn page(doc: &Doc, crlf: bool) -> String {
    let mut text = String::new();
    let body =
        Doc::Map(vec![(doc.clone(), true, true), (Doc::Leaf("end".to_owned()), false, true)]);
    render(&body, 0, &mut 0, &mut text);
    let text = text.trim_start_matches('\n').to_owned() + "\n# last\n";
    if crlf { text.replace('\n', "\r\n") } else { text }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn an_edit_changes_only_its_own_value(
        doc in docs(), pick in any::<prop::sample::Index>(), what in 0_usize..4, crlf in any::<bool>(),
        value in prop_oneof![Just(json!("x # y")), Just(json!(["p", {"q": 1}])), Just(json!({"r": {"s": null}})), Just(json!(3)), Just(json!("l1\nl2"))],
    ) {
        let text = page(&doc, crlf);
        let before = yaml::parse(&text, 0);
        prop_assume!(before.is_ok());
        let before = before.unwrap().to_value();
        let mut all = Vec::new();
        ways(&before, &mut Vec::new(), &mut all);
        let path = all[pick.index(all.len())].clone();
        let edit = match what {
            0 => Edit::Set(path, value),
            1 => Edit::Remove(path),
            2 => {
                let mut path = path;
                path.push(Step::Key("new".to_owned()));
                Edit::Set(path, value)
            }
            _ => Edit::Append(path, value),
        };
        let mut expected = before.clone();
        let applies = super::path::apply(&mut expected, &edit).is_some();
        match edited(&text, edit.clone()) {
            Ok(done) => {
                prop_assert!(applies);
                let read = yaml::parse(&done, 0).unwrap().to_value();
                prop_assert_eq!(read.to_string(), expected.to_string(), "{}", done);
                prop_assert_eq!(comments(&done), comments(&text), "{}\n=>\n{}", text, done);
                prop_assert_eq!(done.contains('\r'), crlf);
            }
            // What applies to data is nearly always possible in text.
            Err(reason) => prop_assert!(!applies || reason.contains("dash"), "{reason}: {edit:?}\n{text}"),
        }
    }

    #[test]
    fn any_text_and_any_edit_end_without_a_panic(text in "[-a-c:#\\[\\]{}&*|>?'\" \n\t]{0,40}", key in "[abc]", what in 0_usize..4) {
        let path = keys(&key);
        let edit = match what {
            0 => Edit::Set(path, json!({"x": ["y"]})),
            1 => Edit::Remove(path),
            2 => Edit::Append(path, json!("z")),
            _ => Edit::CommentOut(at(&key, 0), "n".to_owned()),
        };
        let _ = edited(&text, edit);
    }
}

#[test]
fn a_generated_page_is_what_the_reader_takes() {
    // Without this the property above could hold for lack of pages.
    let doc = Doc::Map(vec![(
        Doc::List(vec![(Doc::Map(vec![(Doc::Leaf("x".to_owned()), false, true)]), true)]),
        true,
        true,
    )]);
    let text = page(&doc, false);
    assert_eq!(
        to_yaml(&yaml::parse(&text, 0).unwrap().to_value()),
        "k0:\n  k0:\n    - k0: x\nk1: end\n",
        "{text}"
    );
}
