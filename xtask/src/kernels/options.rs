//! What the command line of `cargo xtask kernels` asks for.

use anyhow::{Context, Result, bail};

use super::{
    arch::Arch,
    situations::{LINES, SITUATIONS, USERS},
};

/// Steps that take minutes where the processor is emulated: root's attempts on the whole machine, and the test programs.
const LONG_STEPS: &[&str] = &["dangers", "works", "lifecycle", "hostile", SHORTER_MATRIX];

/// The matrix without its half in which a network is granted.
const SHORTER_MATRIX: &str = "hostile-offline";

/// What to run.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) arch: Arch,
    /// Names of kernels, situations and users; all of a kind where none of that kind is named.
    only: Vec<String>,
    /// The long steps to run.
    pub(super) tests: Vec<String>,
    /// The part of a trial's name that the test programs are to run; empty: all.
    pub(super) filter: String,
}

impl Options {
    /// Everything for one architecture; of the matrix the whole.
    fn everything(arch: Arch) -> Self {
        let tests = LONG_STEPS.iter().filter(|step| **step != SHORTER_MATRIX);
        let tests = tests.map(ToString::to_string).collect();
        Self { arch, only: Vec::new(), tests, filter: String::new() }
    }

    pub(super) fn parse(words: &[&str]) -> Result<Self> {
        let mut options = Self::everything(Arch::host().unwrap_or(Arch::Amd64));
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--arch" => options.arch = arch(words.next())?,
                "--only" => options.only.push(only(words.next())?),
                "--tests" => options.tests = tests(words.next())?,
                "--filter" => options.filter = filter(words.next())?,
                other => bail!(
                    "unknown word `{other}`: `cargo xtask kernels [--arch amd64|arm64] [--only NAME]... [--tests NAMES] [--filter TEXT]`"
                ),
            }
        }
        Ok(options)
    }

    pub(super) fn wants(&self, name: &str, kind: &[&str]) -> bool {
        let mut named = self.only.iter().filter(|only| kind.contains(&only.as_str())).peekable();
        named.peek().is_none() || named.any(|only| only == name)
    }

    pub(super) fn users(&self) -> Vec<&'static str> {
        USERS.iter().copied().filter(|user| self.wants(user, USERS)).collect()
    }
}

fn arch(name: Option<&&str>) -> Result<Arch> {
    let name = name.context("`--arch` wants `amd64` or `arm64`")?;
    Arch::parse(name).with_context(|| format!("no architecture `{name}`: use `amd64` or `arm64`"))
}

fn only(name: Option<&&str>) -> Result<String> {
    let known = [line_names(), situation_names(), USERS.to_vec()].concat();
    let name = name.copied().unwrap_or_default();
    if !known.contains(&name) {
        bail!("`--only` wants a kernel, a situation or a user: {}", known.join(", "));
    }
    Ok(name.to_owned())
}

fn tests(names: Option<&&str>) -> Result<Vec<String>> {
    let known = LONG_STEPS.join(",");
    let names = names.with_context(|| format!("`--tests` wants some of {known}, or `none`"))?;
    let names: Vec<String> =
        names.split(',').filter(|name| *name != "none").map(str::to_owned).collect();
    match names.iter().find(|name| !LONG_STEPS.contains(&name.as_str())) {
        Some(name) => bail!("no tests `{name}`: use some of {known}, or `none`"),
        None => Ok(names),
    }
}

fn filter(text: Option<&&str>) -> Result<String> {
    let text = text.copied().unwrap_or_default();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_:-".contains(&byte);
    if text.is_empty() || !text.bytes().all(is_plain) {
        bail!("`--filter` wants a part of a trial's name, such as `::landlock::offline`");
    }
    Ok(text.to_owned())
}

pub(super) fn line_names() -> Vec<&'static str> {
    LINES.iter().map(|line| line.name).collect()
}

pub(super) fn situation_names() -> Vec<&'static str> {
    SITUATIONS.iter().map(|situation| situation.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_after_only_choose_kernels_and_situations_separately() {
        let parse = Options::parse;
        let options = parse(&["--arch", "arm64", "--only", "6.12", "--only", "apparmor"]).unwrap();
        assert_eq!(options.arch, Arch::Arm64);
        assert!(options.wants("6.12", &line_names()) && !options.wants("6.1", &line_names()));
        assert!(options.wants("apparmor", &situation_names()));
        assert!(!options.wants("default", &situation_names()));
        assert_eq!(options.users(), USERS);
        assert_eq!(parse(&["--tests", "none"]).unwrap().tests, Vec::<String>::new());
        assert_eq!(parse(&["--tests", "works,hostile"]).unwrap().tests, ["works", "hostile"]);
        assert!(parse(&["--tests", "nothing"]).is_err());
        assert_eq!(parse(&["--filter", "F01::landlock"]).unwrap().filter, "F01::landlock");
        assert!(parse(&["--filter", "a b"]).is_err());
        assert!(parse(&["--only", "5.10"]).unwrap_err().to_string().contains("6.12"));
    }
}
