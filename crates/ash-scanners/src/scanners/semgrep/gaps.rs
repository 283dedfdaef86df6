//! What semgrep did not look at.
//!
//! Its SARIF log calls a file that it gave up and one that it parsed in part the same, `Syntax error`. Its JSON report tells them apart,
//! so ash asks for both. Whatever goes wrong with a file is a gap unless it is known that the file was looked at.

use ash_model::{ids::ScannerId, notice::Notice, path::RelPath};
use serde_json::Value;

use crate::{InterpretError, Site, excused::counted, outcome::quoted};

/// The only kind of error behind which semgrep goes on.
const IN_PART: &str = "PartialParsing";
/// What semgrep says of a file that is not of the language its name stands for.
const SYNTAX: [&str; 2] = ["Syntax error", "Other syntax error"];

/// What a run left out.
#[derive(Default)]
pub(super) struct Gaps {
    /// Files, or rules, that were given up, each with semgrep's reason.
    pub(super) unevaluated: Vec<String>,
    lines: u64,
    parsed_in_part: u64,
    charts: u64,
}

impl Gaps {
    pub(super) fn of(site: &Site<'_>, report: &Value) -> Result<Self, InterpretError> {
        let errors = report.get("errors").and_then(Value::as_array);
        let errors = errors
            .ok_or_else(|| InterpretError("semgrep's report has no list of errors".to_owned()))?;
        let mut gaps = Self::default();
        for error in errors {
            gaps.add(site, error);
        }
        Ok(gaps)
    }

    fn add(&mut self, site: &Site<'_>, error: &Value) {
        let text = |member: &str| error.get(member).and_then(Value::as_str);
        let kind = error.get("type").and_then(|kind| kind.as_str().or_else(|| kind.get(0)?.as_str()));
        if kind == Some(IN_PART) {
            self.parsed_in_part += 1;
            let spans = error.get("spans").and_then(Value::as_array).into_iter().flatten();
            self.lines += spans.map(lines).sum::<u64>();
        } else if kind.is_some_and(|kind| SYNTAX.contains(&kind))
            && text("path").is_some_and(|path| is_chart_template(site, path))
        {
            self.charts += 1;
        } else if text("level") != Some("info") {
            self.unevaluated.push(quoted(text("message").unwrap_or("semgrep reports an error without a text")));
        }
    }

    /// What there is to say of files that do not make the scan incomplete.
    pub(super) fn notices(&self, scanner: &ScannerId) -> Vec<Notice> {
        let in_part = (self.parsed_in_part > 0).then(|| {
            let lines = counted(self.lines, "line");
            let places = counted(self.parsed_in_part, "file");
            format!("{lines} of {places} could not be parsed, and what is there is not found; its `semgrep.json` names them")
        });
        let charts = (self.charts > 0).then(|| {
            let templates = counted(self.charts, "template");
            format!("{templates} of Helm charts could not be parsed, for they are no YAML, and what is there is not found")
        });
        in_part.into_iter().chain(charts).map(|said| Notice::new(scanner.as_str(), said)).collect()
    }
}

fn lines(span: &Value) -> u64 {
    let line = |pointer: &str| span.pointer(pointer).and_then(Value::as_u64);
    match (line("/start/line"), line("/end/line")) {
        (Some(start), Some(end)) => end.saturating_sub(start).saturating_add(1),
        _ => 1,
    }
}

/// A file of `templates` beside a `Chart.yaml`: Helm makes YAML of it, it is none yet. No repository is without them that has a chart.
fn is_chart_template(site: &Site<'_>, path: &str) -> bool {
    let directories = std::path::Path::new(path).ancestors().skip(1);
    let mut templates = directories.filter(|directory| directory.ends_with("templates"));
    templates.any(|templates| {
        let chart = RelPath::new(templates.with_file_name("Chart.yaml"));
        chart.is_ok_and(|chart| site.files.binary_search(&chart).is_ok())
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::scanners::tests::{Tree, recorded};

    fn gaps(tree: &Tree, report: &Value) -> Gaps {
        tree.site(|site| Gaps::of(site, report)).unwrap()
    }

    fn places(gaps: &Gaps) -> Vec<&str> {
        let place = |line| -> Option<&str> { str::split_once(line, " at line ")?.1.split(':').next() };
        gaps.unevaluated.iter().filter_map(|line| place(line)).collect()
    }

    #[test]
    fn each_file_of_the_recorded_report_that_was_given_up_is_a_gap() {
        let report: Value = serde_json::from_slice(&recorded("semgrep/given-up.json")).unwrap();
        let tree = Tree::new(&["J.java", "a.py", "chart/templates/helm.yaml", "j.js", "tab.yaml"]);
        let found = gaps(&tree, &report);
        assert_eq!(places(&found), ["J.java", "chart/templates/helm.yaml", "tab.yaml", "a.py"]);
        let lines: Vec<_> =
            found.notices(&ScannerId::builtin("semgrep")).iter().map(Notice::line).collect();
        assert_eq!(
            lines,
            ["semgrep: 1 line of 1 file could not be parsed, and what is there is not found; its `semgrep.json` names them"]
        );
    }

    #[test]
    fn a_template_of_a_chart_is_no_gap_but_is_said() {
        let report: Value = serde_json::from_slice(&recorded("semgrep/given-up.json")).unwrap();
        let tree = Tree::new(&["chart/Chart.yaml", "chart/templates/helm.yaml"]);
        let found = gaps(&tree, &report);
        assert_eq!(places(&found), ["J.java", "tab.yaml", "a.py"]);
        let said = found.notices(&ScannerId::builtin("semgrep"));
        assert!(said[1].line().contains("1 template of Helm charts"), "{said:?}");
        // A limit that was hit is a gap wherever the file lies.
        let timeout = json!({"errors": [{"type": "Timeout", "level": "warn", "message": "Timeout", "path": "chart/templates/helm.yaml"}]});
        assert_eq!(gaps(&tree, &timeout).unevaluated, ["Timeout"]);
    }

    #[test]
    fn an_error_nobody_knows_is_a_gap_and_one_that_only_informs_is_not() {
        let error = |kind: Value, level: Value| json!({"type": kind, "level": level, "message": format!("{kind}, {level}"), "path": "a.py"});
        let report = json!({"errors": [
            error(json!("News"), json!("warn")), error(json!(["Newer", []]), json!("error")), error(json!(null), json!(null)), error(json!("Incompatible rule"), json!("info")),
        ]});
        assert_eq!(
            gaps(&Tree::new(&["a.py"]), &report).unevaluated,
            ["\"News\", \"warn\"", "[\"Newer\",[]], \"error\"", "null, null"]
        );
    }

    #[test]
    fn a_report_without_a_list_of_errors_is_none() {
        assert!(Tree::new(&["a.py"]).site(|site| Gaps::of(site, &json!({"results": []}))).is_err());
    }
}
