//! The questions of the wizard as data: what is asked, what may be answered, and what an answer sets.

use serde_json::{Map, Value};

use crate::{modules, schema};

/// One question.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The key it sets.
    pub key: String,
    /// What is asked: a sentence without its question mark.
    pub text: String,
    /// What may be answered, and what holds without an answer.
    pub kind: QuestionKind,
}

/// What may be answered.
#[derive(Debug, Clone, PartialEq)]
pub enum QuestionKind {
    /// One of these words.
    Choice(&'static [&'static str], String),
    /// Yes or no.
    YesNo(bool),
    /// Yes or no; yes empties the list of scanners with a network, no leaves it.
    Offline(bool),
    /// Some of the first words, with commas between them.
    Words(Vec<String>, Vec<String>),
}

/// The questions for a configuration that reads like this now.
pub fn questions(
    now: &Map<String, Value>,
    scanners: &[&str],
    reporters: &[(&str, bool)],
) -> Vec<Question> {
    let value = |path: &[&str]| {
        let (first, below) = path.split_first()?;
        below.iter().try_fold(now.get(*first)?, |value, key| value.get(*key))
    };
    let word = |path: &[&str], default: &str| {
        value(path).and_then(Value::as_str).unwrap_or(default).to_owned()
    };
    let choice = |key: &str, text: &str, words, now| Question {
        key: key.to_owned(),
        text: text.to_owned(),
        kind: QuestionKind::Choice(words, now),
    };
    let threshold = word(&["global_settings", "severity_threshold"], "MEDIUM");
    let mode = word(&["sandbox", "mode"], "off");
    let is_offline = value(&["sandbox", "network_scanners"])
        .and_then(Value::as_array)
        .is_some_and(Vec::is_empty);
    let mut questions = vec![
        choice(
            "global_settings.severity_threshold",
            "The least severity that fails a scan",
            schema::THRESHOLDS,
            threshold,
        ),
        choice("sandbox.mode", "The sandbox scanners run in", schema::MODES, mode),
        Question {
            key: "sandbox.network_scanners".to_owned(),
            text: "Take the network away from all scanners".to_owned(),
            kind: QuestionKind::Offline(is_offline),
        },
    ];
    let named = scanners.iter().map(|name| ("scanners", "scanner", *name, true));
    let named = named.chain(reporters.iter().map(|(name, on)| ("reporters", "report", *name, *on)));
    for (section, what, name, on) in named {
        let is_on = value(&[section, name, "enabled"]).and_then(Value::as_bool).unwrap_or(on);
        questions.push(Question {
            key: format!("{section}.{name}.enabled"),
            text: format!("Use the {what} {name}"),
            kind: QuestionKind::YesNo(is_on),
        });
    }
    let known = modules::with_effect(scanners);
    if !known.is_empty() {
        let modules = value(&["ash_plugin_modules"]).and_then(Value::as_array);
        let modules = modules.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
        questions.push(Question {
            key: "ash_plugin_modules".to_owned(),
            text: "Modules whose scanners to use".to_owned(),
            kind: QuestionKind::Words(known, modules.collect()),
        });
    }
    questions
}

impl Question {
    /// The line that asks it, with what an empty answer means.
    pub fn prompt(&self) -> String {
        match &self.kind {
            QuestionKind::Choice(words, now) => {
                format!("{} ({}) [{now}]: ", self.text, words.join(", "))
            }
            QuestionKind::YesNo(now) | QuestionKind::Offline(now) => {
                format!("{}? (y/n) [{}]: ", self.text, if *now { "y" } else { "n" })
            }
            QuestionKind::Words(known, now) => {
                let now = if now.is_empty() { "none".to_owned() } else { now.join(", ") };
                let known = known.join(", ");
                format!("{} ({known}), with commas between them, `-` for none [{now}]: ", self.text)
            }
        }
    }

    /// What an answer sets, as `KEY=VALUE`; `None`: it stays as it is.
    ///
    /// # Errors
    /// What may be answered instead.
    pub fn answer(&self, typed: &str) -> Result<Option<String>, String> {
        let typed = typed.trim();
        if typed.is_empty() {
            return Ok(None);
        }
        let value = match &self.kind {
            QuestionKind::Choice(words, now) => {
                let word = words.iter().find(|word| word.eq_ignore_ascii_case(typed));
                let word = word.ok_or_else(|| format!("one of {}", words.join(", ")))?;
                (word != now).then(|| (*word).to_owned())
            }
            QuestionKind::YesNo(now) => {
                let yes = yes(typed)?;
                (yes != *now).then(|| yes.to_string())
            }
            QuestionKind::Offline(now) => {
                let yes = yes(typed)?;
                (yes != *now).then(|| if yes { "[]" } else { "null" }.to_owned())
            }
            QuestionKind::Words(known, now) => {
                let words =
                    typed.split(',').map(str::trim).filter(|word| !word.is_empty() && *word != "-");
                let words: Vec<&str> = words.collect();
                let is_named = |word: &&str| known.iter().chain(now).any(|name| name == word);
                if !words.iter().all(is_named) {
                    return Err(format!("names from {}", known.join(", ")));
                }
                (words != *now).then(|| Value::from(words).to_string())
            }
        };
        Ok(value.map(|value| format!("{}={value}", self.key)))
    }
}

fn yes(typed: &str) -> Result<bool, String> {
    match typed.to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(true),
        "n" | "no" => Ok(false),
        _ => Err("y or n".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_sets_only_what_changes() {
        let now = json!({
            "global_settings": {"severity_threshold": "HIGH"},
            "scanners": {"bandit": {"enabled": false}},
        });
        let now = now.as_object().unwrap();
        let scanners = ["bandit", "grype", "trivy-repo"];
        let reporters = [("sarif", true)];
        assert!(
            !questions(now, &scanners[..2], &reporters)
                .iter()
                .any(|one| one.key == "ash_plugin_modules"),
            "no module brings a scanner that is here"
        );
        let questions = questions(now, &scanners, &reporters);
        let set = |index: usize, typed: &str| questions[index].answer(typed);
        assert_eq!(
            questions[0].prompt(),
            "The least severity that fails a scan (ALL, LOW, MEDIUM, HIGH, CRITICAL) [HIGH]: "
        );
        assert_eq!(set(0, ""), Ok(None));
        assert_eq!(set(0, "high"), Ok(None));
        assert_eq!(set(0, "low"), Ok(Some("global_settings.severity_threshold=LOW".to_owned())));
        assert!(set(0, "info").is_err());
        assert_eq!(set(1, "auto"), Ok(Some("sandbox.mode=auto".to_owned())));
        assert_eq!(set(2, "y"), Ok(Some("sandbox.network_scanners=[]".to_owned())));
        assert_eq!(set(3, "Y"), Ok(Some("scanners.bandit.enabled=true".to_owned())));
        assert_eq!(set(4, "n"), Ok(Some("scanners.grype.enabled=false".to_owned())));
        assert_eq!(set(6, "n"), Ok(Some("reporters.sarif.enabled=false".to_owned())));
        assert!(set(6, "maybe").is_err());
        let module = "automated_security_helper.plugin_modules.ash_trivy_plugins";
        assert!(questions[7].prompt().contains(module), "{}", questions[7].prompt());
        assert_eq!(set(7, module), Ok(Some(format!("ash_plugin_modules=[\"{module}\"]"))));
        assert!(set(7, "my_ash_plugins").is_err(), "the configuration would not load");
        assert_eq!(set(7, "-"), Ok(None));
    }
}
