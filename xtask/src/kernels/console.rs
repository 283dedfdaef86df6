//! Reads what a virtual machine said: `@@BEGIN SITUATION USER STEP SECONDS`, text, `@@END CODE SECONDS`.

/// One step of `guest.sh`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Step {
    pub(super) situation: String,
    pub(super) user: String,
    pub(super) name: String,
    /// Everything it said.
    pub(super) text: String,
    /// Its exit code; `None` when the machine ended first.
    pub(super) code: Option<i32>,
    pub(super) seconds: f64,
}

/// The steps in their order, and whether the last one was reached.
pub(super) fn read(console: &str) -> (Vec<Step>, bool) {
    let mut steps: Vec<Step> = Vec::new();
    let (mut open, mut done) = (false, false);
    for line in console.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            ["@@BEGIN", situation, user, name, began] => {
                steps.push(Step {
                    situation: (*situation).to_owned(),
                    user: (*user).to_owned(),
                    name: (*name).to_owned(),
                    text: String::new(),
                    code: None,
                    seconds: -began.parse().unwrap_or(0.0),
                });
                open = true;
            }
            ["@@END", code, ended] if open => {
                if let Some(step) = steps.last_mut() {
                    step.code = code.parse().ok();
                    step.seconds += ended.parse().unwrap_or(0.0);
                }
                open = false;
            }
            ["@@DONE"] => done = true,
            _ => {
                if let Some(step) = steps.last_mut().filter(|_| open) {
                    step.text.push_str(line);
                    step.text.push('\n');
                }
            }
        }
    }
    (steps, done)
}

impl Step {
    /// The JSON object that its text holds, alone or as its last line.
    pub(super) fn json(&self) -> Option<serde_json::Value> {
        let whole = self.text.find('{').zip(self.text.rfind('}'));
        let whole =
            whole.and_then(|(from, to)| serde_json::from_str(self.text.get(from..=to)?).ok());
        whole.or_else(|| {
            self.text.lines().rev().find_map(|line| {
                serde_json::from_str(line).ok().filter(serde_json::Value::is_object)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_told_apart_and_an_unfinished_one_has_no_code() {
        let (steps, done) = read(
            "noise\n@@BEGIN default root status 10.5\nwarning\n{\"a\":\n1}\n@@END 0 12.0\n\n@@BEGIN default root works 13\nhal",
        );
        assert!(!done);
        assert_eq!(steps.len(), 2);
        assert_eq!((steps[0].code, steps[0].seconds), (Some(0), 1.5));
        assert_eq!(steps[0].json().unwrap()["a"], 1);
        assert_eq!((steps[1].code, steps[1].text.as_str()), (None, "hal\n"));
    }
}
