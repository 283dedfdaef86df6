//! Names of scanners.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Serialize};

/// The name of a scanner as typed on the command line, in config and in results: kebab-case, for example `npm-audit`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ScannerId(Cow<'static, str>);

/// A text that cannot be a scanner's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a scanner name: lower-case letters, digits and single dashes, at most 64 characters, starting with a letter"
)]
pub struct InvalidScannerId(pub String);

impl ScannerId {
    /// Names a built-in scanner. A test over the registry checks that each is well formed.
    pub const fn builtin(name: &'static str) -> Self {
        Self(Cow::Borrowed(name))
    }

    /// Reads a name from config or a manifest.
    ///
    /// # Errors
    /// When the text is not kebab-case.
    pub fn parse(name: &str) -> Result<Self, InvalidScannerId> {
        let ok = name.len() <= 64
            && name.starts_with(|c: char| c.is_ascii_lowercase())
            && !name.ends_with('-')
            && !name.contains("--")
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
        if ok {
            Ok(Self(Cow::Owned(name.to_owned())))
        } else {
            Err(InvalidScannerId(name.to_owned()))
        }
    }

    /// The name itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ScannerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl TryFrom<String> for ScannerId {
    type Error = InvalidScannerId;
    fn try_from(name: String) -> Result<Self, Self::Error> {
        Self::parse(&name)
    }
}

impl From<ScannerId> for String {
    fn from(id: ScannerId) -> Self {
        id.0.into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_kebab_case_names_a_scanner() {
        for good in ["bandit", "npm-audit", "a1"] {
            assert_eq!(ScannerId::parse(good).unwrap().as_str(), good);
        }
        for bad in ["", "Bandit", "-a", "a-", "a--b", "a_b", "../x", "1a", "a b"] {
            assert!(ScannerId::parse(bad).is_err(), "{bad}");
        }
    }
}
