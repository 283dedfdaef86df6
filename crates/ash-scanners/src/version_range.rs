//! Whether a version lies in a range as npm's advisories write it: `>=1.0.0 <1.2.3 || 2.x`.
//!
//! Only comparators joined by spaces and `||` are understood. Anything else counts as affected: a finding too many is better than one
//! too few.

use std::cmp::Ordering;

/// Whether the range holds the version, or cannot be understood.
pub(crate) fn affects(range: &str, version: &str) -> bool {
    let Some(version) = Version::parse(version) else { return true };
    range.split("||").any(|alternative| match comparators(alternative) {
        Some(comparators) => comparators.iter().all(|comparator| comparator.holds(&version)),
        None => true,
    })
}

struct Comparator {
    operator: Operator,
    version: Version,
}

#[derive(Clone, Copy)]
enum Operator {
    Less,
    AtMost,
    More,
    AtLeast,
    Equal,
}

impl Comparator {
    fn holds(&self, version: &Version) -> bool {
        let order = version.compare(&self.version);
        match self.operator {
            Operator::Less => order == Ordering::Less,
            Operator::AtMost => order != Ordering::Greater,
            Operator::More => order == Ordering::Greater,
            Operator::AtLeast => order != Ordering::Less,
            Operator::Equal => order == Ordering::Equal,
        }
    }
}

/// The comparators of one alternative; `None` when a part is not one. `*` and nothing at all hold for every version.
fn comparators(text: &str) -> Option<Vec<Comparator>> {
    let operators = [
        ("<=", Operator::AtMost),
        (">=", Operator::AtLeast),
        ("<", Operator::Less),
        (">", Operator::More),
        ("=", Operator::Equal),
        ("", Operator::Equal),
    ];
    // An operator may stand apart from its version.
    let joined = ["<=", ">=", "<", ">", "="]
        .iter()
        .fold(text.to_owned(), |text, operator| text.replace(&format!("{operator} "), operator));
    let words = joined.split_whitespace().filter(|word| *word != "*");
    words
        .map(|word| {
            let (rest, operator) = operators.iter().find_map(|(sign, operator)| {
                word.strip_prefix(sign).map(|rest| (rest, *operator))
            })?;
            Some(Comparator { operator, version: Version::parse(rest)? })
        })
        .collect()
}

/// `major.minor.patch-prerelease`; a build part is ignored.
struct Version {
    numbers: [u64; 3],
    prerelease: Option<String>,
}

impl Version {
    fn parse(text: &str) -> Option<Self> {
        let text = text.split('+').next()?;
        let (core, prerelease) = match text.split_once('-') {
            Some((core, prerelease)) => (core, Some(prerelease.to_owned())),
            None => (text, None),
        };
        let mut parts = core.split('.').map(|part| part.parse::<u64>().ok());
        let numbers = [parts.next()??, parts.next()??, parts.next()??];
        parts.next().is_none().then_some(Self { numbers, prerelease })
    }

    fn compare(&self, other: &Self) -> Ordering {
        let release = |a: &Option<String>, b: &Option<String>| match (a, b) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) => Ordering::Greater,
            (Some(_), None) => Ordering::Less,
            (Some(a), Some(b)) => compare_prerelease(a, b),
        };
        self.numbers.cmp(&other.numbers).then_with(|| release(&self.prerelease, &other.prerelease))
    }
}

/// Identifier by identifier: numbers by value and before words; the longer list is the later one.
fn compare_prerelease(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a.split('.'), b.split('.'));
    loop {
        let order = match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(a), Some(b)) => match (a.parse::<u64>(), b.parse::<u64>()) {
                (Ok(a), Ok(b)) => a.cmp(&b),
                (Ok(_), Err(_)) => Ordering::Less,
                (Err(_), Ok(_)) => Ordering::Greater,
                (Err(_), Err(_)) => a.cmp(b),
            },
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advisories_ranges_hold_what_npm_says_they_hold() {
        for (range, version, affected) in [
            ("<4.17.21", "4.17.20", true),
            ("<4.17.21", "4.17.21", false),
            ("<=1.2.3", "1.2.3", true),
            (">=2.0.0 <2.1.1 || >=3.0.0 <3.0.4", "2.1.1", false),
            (">=2.0.0 <2.1.1 || >=3.0.0 <3.0.4", "3.0.3", true),
            (">= 1.0.0 < 1.5.0", "1.4.9", true),
            (">= 1.0.0 < 1.5.0", "1.5.0", false),
            ("*", "9.9.9", true),
            ("", "1.0.0", true),
            ("1.2.3", "1.2.3", true),
            ("=1.2.3", "1.2.4", false),
            ("<1.0.0", "1.0.0-beta.2", true),
            (">1.0.0-beta.2", "1.0.0-beta.10", true),
            ("<2.0.0", "1.0.0+build.7", true),
        ] {
            assert_eq!(affects(range, version), affected, "{range:?} {version}");
        }
    }

    #[test]
    fn what_is_not_understood_counts_as_affected() {
        for (range, version) in [
            ("^1.0.0", "9.0.0"),
            ("1.x", "2.0.0"),
            ("1.0.0 - 2.0.0", "9.0.0"),
            ("<1.0.0", "git+ssh://x"),
            ("<1", "2.0.0"),
            ("💥", "1.0.0"),
        ] {
            assert!(affects(range, version), "{range:?} {version}");
        }
    }
}
