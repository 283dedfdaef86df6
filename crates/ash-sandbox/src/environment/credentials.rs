//! What looks like a credential: by the name of a variable, or by its value.

use ash_model::requirements::CREDENTIAL_WORDS;

/// Words that mean a credential only when they stand alone between `_` and the like: `ASH_PAT` is one, `ASH_PATH` is none.
pub(super) const WHOLE_WORDS: &[&str] = &[
    "KEY", "KEYS", "PAT", "PASS", "PWD", "PW", "CRED", "CREDS", "USERNAME", "LOGIN", "PIN", "OTP",
    "JWT", "COOKIE", "COOKIES", "NETRC",
];

/// How the credentials of widespread services begin, and how many characters follow at least.
const ISSUED: &[(&str, usize)] = &[
    ("ghp_", 20),
    ("gho_", 20),
    ("ghu_", 20),
    ("ghs_", 20),
    ("ghr_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("gldt-", 16),
    ("glrt-", 16),
    ("AKIA", 16),
    ("ASIA", 16),
    ("AIza", 30),
    ("xoxa-", 10),
    ("xoxb-", 10),
    ("xoxe-", 10),
    ("xoxp-", 10),
    ("xoxr-", 10),
    ("xoxs-", 10),
    ("npm_", 30),
    ("pypi-", 30),
    ("sk-", 20),
    ("sk_live_", 16),
    ("rk_live_", 16),
    ("hf_", 20),
    ("dckr_pat_", 16),
    ("dop_v1_", 30),
    ("hvs.", 20),
    ("SG.", 30),
    ("eyJ", 40),
];

/// Parts of values that are credentials by themselves, in any letter case.
const MARKS: &[&str] = &["_AUTH=", "_AUTHTOKEN", "PRIVATE KEY-----", "BEARER ", "BASIC "];

/// Whether a variable's name says that it holds a credential.
pub(super) fn named(name: &[u8]) -> bool {
    let upper = name.to_ascii_uppercase();
    CREDENTIAL_WORDS.iter().any(|word| contains(&upper, word.as_bytes()))
        || upper
            .split(|byte| !byte.is_ascii_alphanumeric())
            .any(|part| WHOLE_WORDS.iter().any(|word| word.as_bytes() == part))
}

/// Whether a value holds one, anywhere.
pub(super) fn held(value: &[u8]) -> bool {
    let upper = value.to_ascii_uppercase();
    in_url(value)
        || in_query(value)
        || before_host(value)
        || issued(value)
        || MARKS.iter().any(|mark| contains(&upper, mark.as_bytes()))
}

/// A URL with user information.
fn in_url(value: &[u8]) -> bool {
    const SEPARATOR: &[u8] = b"://";
    let ends_authority = |byte: &u8| *byte == b'/' || byte.is_ascii_whitespace();
    (1..value.len()).any(|at| {
        let scheme = value[at - 1].is_ascii_alphanumeric() || b"+.-".contains(&value[at - 1]);
        scheme
            && value[at..].strip_prefix(SEPARATOR).is_some_and(|rest| {
                let authority = &rest[..rest.iter().position(ends_authority).unwrap_or(rest.len())];
                authority.contains(&b'@')
            })
    })
}

/// A URL with a parameter named like a credential: `?token=…`.
fn in_query(value: &[u8]) -> bool {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.".contains(byte);
    (0..value.len()).filter(|at| b"?&;".contains(&value[*at])).any(|at| {
        let rest = &value[at + 1..];
        let length = rest.iter().position(|byte| !is_name(byte)).unwrap_or(rest.len());
        let (name, after) = rest.split_at(length);
        let is_signed =
            name.eq_ignore_ascii_case(b"sig") || name.to_ascii_lowercase().ends_with(b"signature");
        after.first() == Some(&b'=') && (named(name) || is_signed)
    })
}

/// `user:password@host` without a scheme. The digest of a container image (`name:tag@sha256:…`) is none.
fn before_host(value: &[u8]) -> bool {
    let ends = |byte: &u8| byte.is_ascii_whitespace() || b"/,;=\"'".contains(byte);
    (0..value.len()).filter(|at| value[*at] == b'@').any(|at| {
        let begins = value[..at].iter().rposition(ends).map_or(0, |before| before + 1);
        let user = &value[begins..at];
        let host = &value[at + 1..];
        let is_digest = [&b"sha256:"[..], b"sha512:"].iter().any(|kind| host.starts_with(kind));
        let colon = user.iter().position(|byte| *byte == b':');
        colon.is_some_and(|colon| colon > 0 && colon + 1 < user.len())
            && host.first().is_some_and(|byte| !ends(byte))
            && !is_digest
    })
}

/// What a service issued, at the beginning of a word. Only the shortest kind may be without a digit: it is all capitals instead.
fn issued(value: &[u8]) -> bool {
    let is_inner = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.".contains(byte);
    ISSUED.iter().any(|(beginning, least)| {
        let beginning = beginning.as_bytes();
        value.windows(beginning.len()).enumerate().any(|(at, window)| {
            let is_start = at == 0 || !value[at - 1].is_ascii_alphanumeric();
            if window != beginning || !is_start {
                return false;
            }
            let rest = &value[at + window.len()..];
            let rest = &rest[..rest.iter().position(|byte| !is_inner(byte)).unwrap_or(rest.len())];
            let is_capital = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
            rest.len() >= *least
                && (rest.iter().any(u8::is_ascii_digit) || rest.iter().all(is_capital))
        })
    })
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_credentials_are_told_from_names_that_only_look_alike() {
        for name in [
            "ASH_PAT",
            "ASH_KEY",
            "ASH_PASS",
            "ASH_DB_PWD",
            "ASH_PASSPHRASE_PASSWORD",
            "ASH_CREDS",
            "UV_INDEX_CORP_USERNAME",
            "UV_INDEX_CORP_PASSWORD",
            "UV_PUBLISH_TOKEN",
            "UV_PUBLISH_USERNAME",
            "UV_HTTP_BASIC_AUTH",
            "npm_config__authToken",
            "npm_config_key",
            "GRYPE_REGISTRY_AUTH_USERNAME",
            "ash_pat",
            "ASH-KEY",
            "ASH_ACCESS_KEY_ID",
            "ASH_SESSIONID",
            "ASH_COOKIE",
        ] {
            assert!(named(name.as_bytes()), "{name}");
        }
        for name in [
            "ASH_PATH",
            "ASH_PLUGIN_MODULES",
            "UV_TOOL_DIR",
            "UV_KEYRING_PROVIDER",
            "ASH_OFFLINE",
            "UV_INDEX_URL",
            "ASH_KEYBOARD",
            "ASH_PASSED",
            "npm_config_registry",
            "LC_ALL",
            "ASH_BIN_PATH",
            "SEMGREP_ENABLE_VERSION_CHECK",
            "CHECKOV_RUN_SCA_PACKAGE_SCAN",
            "SYFT_CHECK_FOR_APP_UPDATE",
            "UV_PYTHON",
            "SSL_CERT_FILE",
        ] {
            assert!(!named(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn credential_urls_are_seen_anywhere_in_a_value() {
        for url in [
            "https://u:p@h",
            " https://u@h",
            "https://a https://u:p@b/x",
            "x=git+ssh://tok@h",
            "https://@h",
        ] {
            assert!(in_url(url.as_bytes()), "{url}");
        }
        for plain in ["https://host/a@b", "://u@h", "user@host", "https://host", "https://host x@y"]
        {
            assert!(!in_url(plain.as_bytes()), "{plain}");
        }
    }

    #[test]
    fn credentials_without_a_url_are_seen_and_ordinary_values_are_not_taken_for_them() {
        let (twenty, forty) = ("a1B2c3D4e5F6g7H8i9J0", "a1B2c3D4e5F6g7H8i9J0a1B2c3D4e5F6g7H8i9J0");
        for value in [
            format!("ghp_{twenty}"),
            format!("x,github_pat_{twenty}"),
            format!("glpat-{twenty}"),
            "AKIAIOSFODNN7EXAMPLE".to_owned(),
            format!("npm_{forty}"),
            format!("eyJ{forty}.eyJ{twenty}"),
            format!("Authorization: Bearer {twenty}"),
            "-----BEGIN RSA PRIVATE KEY-----".to_owned(),
            "//registry.example/:_authToken=x".to_owned(),
            "https://index.example/simple?token=x".to_owned(),
            "https://store.example/a?x=1&X-Amz-Signature=x".to_owned(),
            "me:pw@proxy:3128".to_owned(),
            "index=me:pw@host/simple".to_owned(),
        ] {
            assert!(held(value.as_bytes()), "{value}");
        }
        for value in [
            "ghp_short",
            "/opt/npm_modules_of_the_whole_company_and_more",
            "registry.example/ash:1.2@sha256:0123456789abcdef",
            "git@host:org/repo",
            "https://index.example/simple?page=2&sort=name",
            "p/ci",
            "xAKIAIOSFODNN7EXAMPLE",
            "C.UTF-8",
            "/usr/bin:/bin",
            "a@b",
            "disk-encryption-and-other-things-to-check",
        ] {
            assert!(!held(value.as_bytes()), "{value}");
        }
    }
}
