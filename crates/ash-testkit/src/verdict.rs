//! What the hostile program says about an attempt.

/// How an attempt ended, in the attacker's own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The goal was reached, as far as can be told from inside.
    Reached(String),
    /// The system said no: an errno name (or `INERT`, `SIGSYS`) and what was tried.
    Refused(String, String),
    /// This kernel or machine does not have the thing that is attacked.
    Absent(String),
}

/// What was found in the program's standard output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// The attempt ran and ended.
    Verdict(Verdict),
    /// It never started: `STARTED ID` is missing.
    NotStarted,
    /// It started and ended without a verdict, or is itself broken.
    Broken(String),
}

impl Said {
    /// Reads the output of `hostile ID`.
    ///
    /// ```
    /// use ash_testkit::{Said, Verdict};
    ///
    /// let said = Said::parse("F01", "STARTED F01\nREFUSED EACCES open ~/.ssh/id_rsa\n");
    /// assert_eq!(said, Said::Verdict(Verdict::Refused("EACCES".into(), "open ~/.ssh/id_rsa".into())));
    /// assert_eq!(Said::parse("F01", "REFUSED EACCES open\n"), Said::NotStarted);
    /// assert!(matches!(Said::parse("F01", "STARTED F01\n"), Said::Broken(_)));
    /// ```
    pub fn parse(id: &str, output: &str) -> Self {
        let mut lines = output
            .lines()
            .map(|line| line.trim_end_matches('\r'))
            .skip_while(|line| *line != format!("STARTED {id}"));
        if lines.next().is_none() {
            return Self::NotStarted;
        }
        for line in lines {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            match word {
                "REACHED" => return Self::Verdict(Verdict::Reached(rest.to_owned())),
                "REFUSED" => {
                    let (errno, detail) = rest.split_once(' ').unwrap_or((rest, ""));
                    return Self::Verdict(Verdict::Refused(errno.to_owned(), detail.to_owned()));
                }
                "ABSENT" => return Self::Verdict(Verdict::Absent(rest.to_owned())),
                "BROKEN" => return Self::Broken(rest.to_owned()),
                _ => {}
            }
        }
        Self::Broken("no verdict".to_owned())
    }
}

impl Verdict {
    /// The exit code that goes with it.
    pub fn exit_code(&self) -> i32 {
        match self {
            Self::Reached(_) => 0,
            Self::Refused(..) => 42,
            Self::Absent(_) => 43,
        }
    }
}
