//! Sums what the test programs report.

/// Everything counted so far.
#[derive(Debug, Default)]
pub(super) struct Tally {
    passed: u64,
    ignored: u64,
    failures: u64,
    names: Vec<String>,
}

impl Tally {
    /// One check that held.
    pub(super) const fn passed(&mut self) {
        self.passed += 1;
    }

    /// Checks that held, counted elsewhere.
    pub(super) const fn add(&mut self, passed: u64) {
        self.passed += passed;
    }

    /// One check that this machine cannot make.
    pub(super) const fn ignored(&mut self) {
        self.ignored += 1;
    }

    /// One check that did not hold.
    pub(super) fn failed(&mut self, name: &str) {
        self.failures += 1;
        self.names.push(name.to_owned());
    }

    /// How many failures were counted.
    pub(super) const fn counted_failures(&self) -> u64 {
        self.failures
    }

    /// One line of a test program's output: `test result: ok. 3 passed; 0 failed; 1 ignored; …`, or `test NAME ... FAILED`.
    pub(super) fn line(&mut self, stage: &str, line: &str) {
        if let Some(result) = line.strip_prefix("test result: ") {
            let number = |word: &str| {
                let parts: Vec<&str> = result.split([' ', ';']).collect();
                parts
                    .windows(2)
                    .find(|pair| pair[1] == word)
                    .and_then(|pair| pair[0].parse::<u64>().ok())
                    .unwrap_or(0)
            };
            self.passed += number("passed");
            self.failures += number("failed");
            self.ignored += number("ignored");
        } else if let Some(name) =
            line.strip_prefix("test ").and_then(|rest| rest.trim_end().strip_suffix("... FAILED"))
        {
            self.names.push(format!("{stage}: {}", name.trim()));
        }
    }

    /// What failed, by name, then the one line that says it all.
    pub(super) fn summary(&self) -> Vec<String> {
        let mut lines: Vec<String> = vec![String::new()];
        lines.extend(self.names.iter().map(|name| format!("FAILED  {name}")));
        if self.ignored > 0 {
            lines.push(format!("{} ignored", self.ignored));
        }
        lines.push(format!("{} passed, {} failed", self.passed, self.failures));
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_sums_every_program() {
        let mut tally = Tally::default();
        tally.passed();
        tally.add(4);
        tally.ignored();
        tally.line("tests", "running 3 tests");
        tally.line("tests", "test a::b ... ok");
        tally.line("tests", "test a::c ... FAILED");
        tally.line("tests", "test result: FAILED. 2 passed; 1 failed; 4 ignored; 0 measured; 0 filtered out; finished in 0.01s");
        tally.line(
            "tests",
            "test result: ok. 10 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out",
        );
        assert_eq!(
            tally.summary(),
            ["", "FAILED  tests: a::c", "5 ignored", "17 passed, 1 failed"]
        );
        assert_eq!(tally.counted_failures(), 1);
    }
}
