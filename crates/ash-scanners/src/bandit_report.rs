//! bandit's own JSON report, and the way from it to findings.
//!
//! Not its SARIF: the formatter of bandit 1.9.4 ends the whole run for one finding deep inside a literal of many lines, as in the
//! build settings every Python carries. Where the region of a finding begins is as in the SARIF, so that suppressions keep matching.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use ash_model::{
    finding::{Finding, Location, Region, Rule},
    ids::ScannerId,
    path::{RelPath, os_string, printable},
    severity::{Level, Severity},
};
use serde::{
    Deserialize, Deserializer,
    de::{self, Visitor},
};
use serde_json::{Map, Value, json};

use crate::{Site, outcome};

/// The property that holds a location outside the scanned directory, as for tools that write SARIF.
const OUTSIDE: &str = "ash_location_outside";

/// What bandit writes, as far as ash reads it.
#[derive(Deserialize)]
pub(crate) struct Report {
    errors: Vec<Skipped>,
    pub(crate) results: Vec<Issue>,
    #[serde(default)]
    metrics: Metrics,
}

/// Of bandit's counts, how many findings `# nosec` comments leave out: those of any test and those of the tests they name.
#[derive(Default)]
struct Metrics {
    left_out: u64,
}

impl<'de> Deserialize<'de> for Metrics {
    /// Its keys are names of files, which need not be text.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Totals;
        impl<'de> Visitor<'de> for Totals {
            type Value = Metrics;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("metrics by file")
            }
            fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Metrics, A::Error> {
                let mut metrics = Metrics::default();
                while let Some(Text(file)) = map.next_key()? {
                    if file == b"_totals" {
                        let totals: Value = map.next_value()?;
                        let count = |name: &str| totals.get(name).and_then(Value::as_u64);
                        let counts = [count("nosec"), count("skipped_tests")];
                        metrics.left_out =
                            counts.into_iter().flatten().fold(0, u64::saturating_add);
                    } else {
                        map.next_value::<de::IgnoredAny>()?;
                    }
                }
                Ok(metrics)
            }
        }
        deserializer.deserialize_map(Totals)
    }
}

/// A file or a target bandit did not look at.
#[derive(Deserialize)]
struct Skipped {
    filename: Text,
    reason: Text,
}

#[derive(Deserialize)]
pub(crate) struct Issue {
    filename: Text,
    test_id: Text,
    #[serde(default)]
    test_name: Text,
    issue_text: Text,
    issue_severity: Text,
    #[serde(default)]
    issue_confidence: Text,
    /// Without a member when the test names no weakness.
    #[serde(default)]
    issue_cwe: Weakness,
    #[serde(default)]
    more_info: Text,
    line_number: Option<i64>,
    /// Every line of the statement or literal the finding is in.
    #[serde(default)]
    line_range: Vec<i64>,
    col_offset: Option<i64>,
    end_col_offset: Option<i64>,
    #[serde(default)]
    code: Text,
}

#[derive(Deserialize, Default)]
struct Weakness {
    id: Option<u64>,
}

/// A Python text as JSON.
///
/// Python stands a byte of a file name that is not UTF-8 for by half a surrogate pair and writes that into JSON. Such a half is kept, as
/// the three bytes UTF-8 would have for it and no other character has, so that the file can be found.
#[derive(Default)]
struct Text(Vec<u8>);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Text;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }
            fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Text, E> {
                Ok(Text(bytes.to_vec()))
            }
        }
        // Only as bytes does serde_json hand over a half without its other half.
        deserializer.deserialize_bytes(Bytes)
    }
}

impl Text {
    /// For people: what is no text becomes a replacement character.
    fn shown(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }

    /// The name of a file, its odd bytes put back.
    fn path(&self) -> PathBuf {
        let mut name = Vec::with_capacity(self.0.len());
        let mut rest = self.0.as_slice();
        while let Some((first, after)) = rest.split_first() {
            // U+DC80 to U+DCFF stand for the bytes 80 to FF.
            rest = if let [0xed, high @ (0xb2 | 0xb3), low @ 0x80..=0xbf, after @ ..] = rest {
                name.push(((high & 0b11) << 6) | (low & 0b11_1111));
                after
            } else {
                name.push(*first);
                after
            };
        }
        PathBuf::from(os_string(name))
    }
}

impl Report {
    /// Parses a report. One without the lists of findings and of skipped files is none.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        serde_json::from_slice(bytes).map_err(|error| outcome::quoted(&error.to_string()))
    }

    /// What bandit did not look at although it belongs to the scan. bandit exits 0 for a target that is not there and for files it cannot
    /// parse; only this list says so.
    pub(crate) fn unevaluated(&self, site: &Site<'_>) -> Vec<String> {
        let told = |skipped: &Skipped| {
            let reason = outcome::quoted(&skipped.reason.shown());
            match below(site.source, &skipped.filename.path()) {
                Some(file) if site.files.binary_search(&file).is_err() => None,
                Some(file) => Some(format!("{file}: {reason}")),
                None => Some(reason),
            }
        };
        self.errors.iter().filter_map(told).collect()
    }

    /// How many findings comments leave out of the report.
    pub(crate) fn left_out(&self) -> u64 {
        self.metrics.left_out
    }

    /// The rules the findings are about, each once.
    pub(crate) fn rules(&self) -> Vec<Rule> {
        let mut rules = std::collections::BTreeMap::new();
        for issue in &self.results {
            rules.entry(issue.test_id.shown()).or_insert_with_key(|id| issue.rule(id));
        }
        rules.into_values().collect()
    }
}

impl Issue {
    pub(crate) fn finding(self, scanner: &ScannerId, source: &Path) -> Finding {
        let mut properties = Map::from_iter([
            ("issue_severity".to_owned(), Value::String(self.issue_severity.shown())),
            ("issue_confidence".to_owned(), Value::String(self.issue_confidence.shown())),
        ]);
        if let Some(cwe) = self.cwe() {
            properties.insert("cwe".to_owned(), Value::String(cwe));
        }
        let region = self.region();
        if let (Some(line), Some(region)) = (positive(self.line_number), region)
            && line != region.start_line
        {
            properties.insert("line_number".to_owned(), line.into());
        }
        let name = self.filename.path();
        let location = below(source, &name).map(|path| Location {
            path,
            region,
            snippet: region.and_then(|region| self.snippet(region)),
        });
        if location.is_none() {
            properties.insert(OUTSIDE.to_owned(), Value::String(printable(name.as_os_str())));
        }
        let (level, severity) = self.grade();
        Finding {
            scanner: scanner.clone(),
            rule_id: self.test_id.shown(),
            severity,
            level,
            message: self.issue_text.shown(),
            location,
            suppressions: vec![],
            properties,
            extra: Map::new(),
        }
    }

    /// A severity that is none of bandit's three counts as a warning, as in its SARIF.
    fn grade(&self) -> (Level, Severity) {
        let name = self.issue_severity.shown();
        let level = match name.as_str() {
            "HIGH" => Level::Error,
            "LOW" => Level::Note,
            _ => Level::Warning,
        };
        (level, Severity::parse(&name).unwrap_or_else(|| Severity::from_level(level)))
    }

    fn cwe(&self) -> Option<String> {
        self.issue_cwe.id.map(|id| format!("CWE-{id}"))
    }

    fn region(&self) -> Option<Region> {
        let start_line =
            positive(self.line_range.first().copied()).or(positive(self.line_number))?;
        let end_line = positive(self.line_range.last().copied()).filter(|end| *end >= start_line);
        let column =
            |offset: Option<i64>| positive(offset.and_then(|offset| offset.checked_add(1)));
        Some(Region {
            start_line,
            start_column: column(self.col_offset),
            end_line: end_line.or(Some(start_line)),
            end_column: column(self.end_col_offset),
        })
    }

    /// The first line of the region, or, when `code` does not go back so far, the line bandit means.
    fn snippet(&self, region: Region) -> Option<String> {
        let code = self.code.shown();
        let line = |number: u64| {
            let prefix = format!("{number} ");
            code.split_inclusive('\n')
                .find_map(|line| line.strip_prefix(&prefix))
                .map(str::to_owned)
        };
        line(region.start_line).or_else(|| line(positive(self.line_number)?))
    }

    fn rule(&self, id: &str) -> Rule {
        let mut tags = vec!["security".to_owned()];
        tags.extend(self.issue_cwe.id.map(|cwe| format!("external/cwe/cwe-{cwe}")));
        let mut properties =
            json!({"tags": tags, "precision": self.issue_confidence.shown().to_lowercase()});
        if let Some(cwe) = self.cwe() {
            properties["cwe"] = Value::String(cwe);
        }
        let mut descriptor = Map::from_iter([("id".to_owned(), Value::String(id.to_owned()))]);
        for (member, text) in [("name", &self.test_name), ("helpUri", &self.more_info)] {
            if !text.0.is_empty() {
                descriptor.insert(member.to_owned(), Value::String(text.shown()));
            }
        }
        descriptor.insert("properties".to_owned(), properties);
        Rule { id: id.to_owned(), cvss: None, descriptor }
    }
}

fn positive(number: Option<i64>) -> Option<u64> {
    number.and_then(|number| u64::try_from(number).ok()).filter(|number| *number > 0)
}

/// A file bandit names, if it is one below the source. bandit spells the source as it was given.
fn below(source: &Path, name: &Path) -> Option<RelPath> {
    let relative = if name.is_absolute() { name.strip_prefix(source).ok()? } else { name };
    RelPath::new(relative).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Interpreted,
        scanners::{
            by_id,
            tests::{Tree, interpret, recorded},
        },
    };

    fn tree(files: &[&[u8]]) -> Tree {
        let mut tree = Tree::new(&["ok.py"]);
        tree.source = "/src".into();
        files.iter().for_each(|file| tree.put_path(file, b""));
        tree
    }

    fn try_read(
        tree: &Tree,
        code: i32,
        report: impl Into<Vec<u8>>,
    ) -> Result<Interpreted, crate::InterpretError> {
        interpret(
            by_id(&ScannerId::builtin("bandit")).unwrap(),
            tree,
            code,
            &[("bandit.json", report.into())],
        )
    }

    fn read(tree: &Tree, report: impl Into<Vec<u8>>) -> Interpreted {
        try_read(tree, 1, report).unwrap()
    }

    fn issue(change: &[(&str, Value)]) -> Value {
        let mut issue = json!({
            "filename": "/src/ok.py", "test_id": "B602", "test_name": "t", "issue_text": "text", "issue_severity": "HIGH", "issue_confidence": "LOW",
            "issue_cwe": {"id": 78, "link": "https://cwe"}, "more_info": "https://info", "line_number": 3, "line_range": [3, 4, 5], "col_offset": 0, "end_col_offset": 9,
            "code": "2 before\n3 call(\n4   x\n5 )\n",
        });
        change.iter().for_each(|(name, value)| issue[*name] = value.clone());
        issue
    }

    fn report(issues: &[Value]) -> String {
        json!({"errors": [], "results": issues, "metrics": {}}).to_string()
    }

    fn only(change: &[(&str, Value)]) -> Finding {
        read(&tree(&[]), report(&[issue(change)])).findings.remove(0)
    }

    fn lines(finding: &Finding) -> [Option<u64>; 4] {
        let region = finding.location.as_ref().unwrap().region.unwrap();
        [Some(region.start_line), region.start_column, region.end_line, region.end_column]
    }

    #[test]
    fn an_issue_becomes_a_finding_with_everything_bandit_says() {
        let read =
            read(&tree(&[]), report(&[issue(&[]), issue(&[("issue_confidence", "HIGH".into())])]));
        let finding = &read.findings[0];
        assert_eq!(
            (finding.rule_id.as_str(), finding.message.as_str(), finding.level, finding.severity),
            ("B602", "text", Level::Error, Severity::High)
        );
        assert_eq!(lines(finding), [Some(3), Some(1), Some(5), Some(10)]);
        assert_eq!(finding.location.as_ref().unwrap().snippet.as_deref(), Some("call(\n"));
        assert_eq!(
            Value::Object(finding.properties.clone()),
            json!({"issue_severity": "HIGH", "issue_confidence": "LOW", "cwe": "CWE-78"})
        );
        assert_eq!(read.rules.len(), 1);
        assert_eq!(
            Value::Object(read.rules[0].descriptor.clone()),
            json!({"id": "B602", "name": "t", "helpUri": "https://info", "properties": {"tags": ["security", "external/cwe/cwe-78"], "precision": "low", "cwe": "CWE-78"}})
        );
    }

    #[test]
    fn levels_follow_bandits_severity() {
        for (name, level, severity) in [
            ("HIGH", Level::Error, Severity::High),
            ("MEDIUM", Level::Warning, Severity::Medium),
            ("LOW", Level::Note, Severity::Low),
            ("UNDEFINED", Level::Warning, Severity::Medium),
            ("\u{1b}", Level::Warning, Severity::Medium),
        ] {
            let finding = only(&[("issue_severity", name.into())]);
            assert_eq!((finding.level, finding.severity), (level, severity), "{name}");
        }
    }

    #[test]
    fn a_finding_deep_inside_a_literal_keeps_where_it_is() {
        let mut tree = tree(&[b"settings.py", b"odd\xff.py"]);
        tree.source = "/src-literal".into();
        let read = read(&tree, recorded("bandit/literal.json"));
        let password = read.findings.iter().find(|finding| finding.rule_id == "B105").unwrap();
        assert_eq!(
            lines(password),
            [Some(1), Some(5), Some(22), Some(18)],
            "the region begins where bandit's SARIF begins it"
        );
        assert_eq!(password.properties["line_number"], 20);
        assert!(!format!("{read:?}").contains("hunter2"), "a password is quoted");
        let deep = only(&[
            ("line_number", 4.into()),
            ("line_range", json!([1, 2, 3, 4, 5])),
            ("code", "3 a\n4 b\n5 c\n".into()),
        ]);
        assert_eq!(deep.location.unwrap().snippet.as_deref(), Some("b\n"));
    }

    #[test]
    fn a_file_whose_name_is_not_utf_8_is_found_and_told_from_its_neighbours() {
        let mut tree = tree(&[b"odd\xff.py", b"odd\xfe.py"]);
        tree.source = "/src-literal".into();
        let read = read(&tree, recorded("bandit/literal.json"));
        let odd = RelPath::new(os_string(b"odd\xff.py".to_vec())).unwrap();
        assert!(read.findings.iter().any(|finding| finding.location.as_ref().unwrap().path == odd));
        let skipped = r#"{"errors": [{"filename": "/src-literal/odd\udcfe.py", "reason": "no \udcff"}], "results": []}"#;
        let told = try_read(&tree, 0, skipped).unwrap().unevaluated;
        assert_eq!(
            (told.len(), told[0].starts_with("odd") && told[0].contains("fe")),
            (1, true),
            "{told:?}"
        );
    }

    #[test]
    fn texts_with_halves_of_surrogate_pairs_are_shown_with_replacements() {
        let text = report(&[issue(&[
            ("filename", "/src/NAME".into()),
            ("issue_text", "TEXT".into()),
            ("code", "3 TEXT\n".into()),
        ])]);
        let text = text
            .replace("TEXT", r"\ud83d\ude00\udc41\ud83d \u0000")
            .replace("NAME", r"\ud83d\ude00\udc41");
        let finding = read(&tree(&[]), text).findings.remove(0);
        assert!(
            finding.message.starts_with("😀\u{fffd}") && finding.message.ends_with(" \0"),
            "{:?}",
            finding.message
        );
        // U+DC41 stands for no byte, so there is no such file name on this side; it still leads nowhere else.
        assert!(
            finding
                .location
                .unwrap()
                .path
                .as_path()
                .as_os_str()
                .as_encoded_bytes()
                .starts_with("😀".as_bytes())
        );
    }

    #[test]
    fn a_file_outside_the_tree_is_no_location_and_the_finding_stays() {
        for name in
            ["/etc/passwd", "/src/../etc/passwd", "/srcs/a.py", "../a.py", "/src", "", "/src/a\0b"]
        {
            let finding = only(&[("filename", name.into())]);
            assert_eq!(finding.location, None, "{name:?}");
            assert_eq!(finding.properties["ash_location_outside"], printable(name.as_ref()));
        }
        assert_eq!(
            only(&[("filename", "/src/./x//y.py".into())]).location.unwrap().path.printable(),
            "x/y.py"
        );
    }

    #[test]
    fn lines_and_columns_that_cannot_be_are_left_out() {
        let none = [
            ("line_number", Value::Null),
            ("line_range", json!([])),
            ("col_offset", Value::Null),
            ("end_col_offset", (-1).into()),
        ];
        assert_eq!(only(&none).location.unwrap().region, None);
        let odd = [
            ("line_range", json!([7, 2])),
            ("col_offset", i64::MAX.into()),
            ("end_col_offset", i64::MIN.into()),
        ];
        assert_eq!(lines(&only(&odd)), [Some(7), None, Some(7), None]);
        let negative = [
            ("line_range", json!([-3, 0])),
            ("line_number", 2.into()),
            ("code", "no number\n2\n".into()),
        ];
        let finding = only(&negative);
        assert_eq!((lines(&finding)[0], finding.location.unwrap().snippet), (Some(2), None));
    }

    #[test]
    fn an_issue_without_the_optional_members_is_a_finding() {
        let text = r#"{"errors": [], "results": [{"filename": "/src/ok.py", "test_id": "X1", "issue_text": "t", "issue_severity": "LOW"}]}"#;
        let read = read(&tree(&[]), text);
        assert_eq!(
            (read.findings[0].severity, read.findings[0].location.as_ref().unwrap().region),
            (Severity::Low, None)
        );
        assert_eq!(only(&[("issue_cwe", json!({}))]).properties.get("cwe"), None);
    }

    #[test]
    fn a_report_that_is_not_whole_is_not_believed() {
        let whole = report(&[issue(&[])]);
        let change = |from: &str, to: &str| {
            assert!(whole.contains(from), "{from}");
            whole.replace(from, to)
        };
        for (name, text) in [
            ("NaN for a line", change("\"line_number\":3", "\"line_number\":NaN")),
            ("an infinite column", change("\"col_offset\":0", "\"col_offset\":Infinity")),
            ("NaN among the metrics", change("\"metrics\":{}", "\"metrics\":{\"loc\":NaN}")),
            ("a line that is a fraction", change("\"line_number\":3", "\"line_number\":3.5")),
            ("a line beyond any", change("\"line_number\":3", "\"line_number\":1e400")),
            ("no list of errors", change("\"errors\":[],", "")),
            ("no list of results", change("\"results\"", "\"result\"")),
            ("results twice", change("\"metrics\":{}", "\"results\":[]")),
            ("a finding without a rule", change("\"test_id\"", "\"id\"")),
            ("a finding without a file", change("\"filename\"", "\"file\"")),
            ("a finding without a severity", change("\"issue_severity\"", "\"severity\"")),
            ("a rule that is a number", change("\"B602\"", "602")),
            ("a finding that is a text", r#"{"errors": [], "results": ["x"]}"#.to_owned()),
            ("more after the end", format!("{whole} {{}}")),
            ("a cut report", whole[..whole.len() - 20].to_owned()),
            ("a deep finding", format!("{{\"errors\": [], \"results\": {}", "[".repeat(100_000))),
            ("nothing", String::new()),
        ] {
            for code in [0, 1] {
                assert!(try_read(&tree(&[]), code, text.clone()).is_err(), "{name}");
            }
        }
        assert!(try_read(&tree(&[]), 1, format!("\u{feff}{whole}")).is_ok());
    }
}
