//! The environment of a sandboxed scanner: an allowlist, and within it nothing that looks like a credential.

mod credentials;

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use ash_model::{notice::Notice, requirements::Requirements};

const NAMES: &[&str] =
    &["LANG", "LANGUAGE", "TERM", "TZ", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "SYSTEMROOT"];
const PREFIXES: &[&str] = &["LC_", "ASH_", "UV_"];
/// They name certificate files, which become readable too.
const CERTIFICATES: &[&str] = &[
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
];
/// Only with a network.
const PROXIES: &[&str] =
    &["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"];
const UNLESS_DECLARED: &str = "dropped, unless the scanner declares that exact name";
const CREDENTIALS: &[&str] = ash_model::requirements::CREDENTIAL_WORDS;
/// Never, whoever declares them: ways to a process outside the sandbox, or to files that configure ash and uv themselves.
const NEVER: &[&str] = &[
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "GPG_AGENT_INFO",
    "DBUS_SESSION_BUS_ADDRESS",
    "DBUS_SYSTEM_BUS_ADDRESS",
    "DOCKER_HOST",
    "CONTAINER_HOST",
    "XDG_RUNTIME_DIR",
    "ASH_CONFIG",
    "ASH_PLUGIN_PATH",
    "UV_CONFIG_FILE",
];
/// Never: they make the loader run somebody's code in every program, ash's last stage included.
const NEVER_PREFIXES: &[&str] = &["LD_", "DYLD_"];

/// Set for each sandbox, whatever they are outside.
const OWN: &[&str] = &["PATH", "HOME", "TMPDIR"];

/// One rule on the variables of a sandboxed command, for documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VariableRule {
    /// Which variables, in words.
    pub which: &'static str,
    /// Their names, or parts of names.
    pub names: &'static [&'static str],
    /// What happens to them.
    pub then: &'static str,
}

/// The rules on variables, in words, with the lists that are really used. A later rule wins over an earlier one.
pub fn variable_rules() -> [VariableRule; 10] {
    let rule = |which, names, then| VariableRule { which, names, then };
    [
        rule("every other variable", &[], "dropped"),
        rule("these names", NAMES, "passed"),
        rule("names with these beginnings", PREFIXES, "passed"),
        rule("certificates", CERTIFICATES, "passed, and what they name is readable"),
        rule("proxies", PROXIES, "passed where there is a network"),
        rule("names that contain one of these, in any letter case", CREDENTIALS, UNLESS_DECLARED),
        rule(
            "names of which one of these is a whole part between `_` or the like, in any letter case",
            credentials::WHOLE_WORDS,
            UNLESS_DECLARED,
        ),
        rule(
            "values with user information or a credential's parameter in a URL, or with a `user:password@host`, a `Bearer` or `Basic` header, a private key, or what a known service issues (GitHub, GitLab, AWS, Google, Slack, npm, PyPI, a JSON web token and others)",
            &[],
            UNLESS_DECLARED,
        ),
        rule("these names, also when declared", NEVER, "dropped"),
        rule("names with these beginnings, also when declared", NEVER_PREFIXES, "dropped"),
    ]
}

/// What decides on a variable.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Allowlist<'a> {
    /// What the scanner declares.
    pub(crate) requirements: &'a Requirements,
    /// Whether it has a network.
    pub(crate) network: bool,
}

impl Allowlist<'_> {
    /// Filters a whole environment. `PATH` and `HOME` are the caller's to set. Sorted by name; of a doubled name the first counts.
    pub(crate) fn filter(&self, variables: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
        let mut kept: Vec<_> = variables
            .iter()
            .filter(|(name, value)| self.passes(name.as_encoded_bytes(), value.as_encoded_bytes()))
            .cloned()
            .collect();
        kept.sort_by(|(a, _), (b, _)| a.cmp(b));
        kept.dedup_by(|(later, _), (earlier, _)| later == earlier);
        kept
    }

    fn passes(&self, name: &[u8], value: &[u8]) -> bool {
        if name.is_empty() || name.contains(&b'=') || never(name) {
            return false;
        }
        if self.requirements.env_names.iter().any(|exact| exact.as_bytes() == name) {
            return true;
        }
        let proxy = is_one_of(PROXIES, name);
        let allowed = is_one_of(NAMES, name)
            || is_one_of(CERTIFICATES, name)
            || starts_with_one_of(PREFIXES, name)
            || self
                .requirements
                .env_prefixes
                .iter()
                .any(|prefix| !prefix.is_empty() && name.starts_with(prefix.as_bytes()))
            || (proxy && self.network);
        // A proxy may be written without a scheme: `user:password@host:3128`.
        let credential = credentials::named(name)
            || credentials::held(value)
            || (proxy && value.contains(&b'@'));
        allowed && !credential
    }
}

/// Whether no scanner may ever get this variable.
pub(crate) fn never(name: &[u8]) -> bool {
    is_one_of(NEVER, name) || starts_with_one_of(NEVER_PREFIXES, name)
}

/// Whether ash sets this one for each sandbox.
pub(crate) fn is_own(name: &OsStr) -> bool {
    is_one_of(OWN, name.as_encoded_bytes())
}

/// What is declared and never passed, or never as it is outside.
pub(crate) fn withheld(requirements: &Requirements) -> Vec<Notice> {
    let no_sandbox = |what: &str| {
        Notice::new(
            "environment",
            format!(
                "{what} passed into no sandbox: it leads to a process or to code outside of it"
            ),
        )
    };
    let names = requirements.env_names.iter().filter_map(|name| {
        if never(name.as_bytes()) {
            Some(no_sandbox(&format!("`{name}` is")))
        } else {
            let own = is_one_of(OWN, name.as_bytes());
            own.then(|| Notice::new("environment", format!("`{name}` is set by ash itself")))
        }
    });
    let prefixes = requirements.env_prefixes.iter().filter_map(|prefix| {
        if prefix.is_empty() {
            let reason = "an empty prefix would pass every variable, so it passes none";
            Some(Notice::new("environment", reason).hint("name the variables that are needed"))
        } else {
            starts_with_one_of(NEVER_PREFIXES, prefix.as_bytes())
                .then(|| no_sandbox(&format!("variables that begin with `{prefix}` are")))
        }
    });
    names.chain(prefixes).collect()
}

/// Sets a variable, replacing it.
pub(crate) fn set(
    environment: &mut Vec<(OsString, OsString)>,
    name: impl AsRef<OsStr>,
    value: impl Into<OsString>,
) {
    let name = name.as_ref();
    environment.retain(|(other, _)| other != name);
    environment.push((name.to_owned(), value.into()));
}

/// Points a tool's cache variable elsewhere. Copies of it in other letter case go: npm reads `npm_config_cache` in any case, so the
/// operator's `NPM_CONFIG_CACHE` would win.
pub(crate) fn redirect(
    environment: &mut Vec<(OsString, OsString)>,
    name: &str,
    value: impl Into<OsString>,
) {
    environment
        .retain(|(other, _)| !other.as_encoded_bytes().eq_ignore_ascii_case(name.as_bytes()));
    environment.push((name.into(), value.into()));
}

/// The certificate files and directories an environment names.
pub(crate) fn certificate_paths(environment: &[(OsString, OsString)]) -> Vec<PathBuf> {
    let named =
        environment.iter().filter(|(name, _)| is_one_of(CERTIFICATES, name.as_encoded_bytes()));
    named
        .flat_map(|(_, value)| std::env::split_paths(value).collect::<Vec<_>>())
        .filter(|path| path.is_absolute())
        .collect()
}

/// `PATH` from its usable entries; `None` when none is left, since an empty `PATH` means the working directory.
pub(crate) fn path_value<'a>(entries: impl IntoIterator<Item = &'a Path>) -> Option<OsString> {
    std::env::join_paths(entries).ok().filter(|value| !value.is_empty())
}

fn is_one_of(names: &[&str], name: &[u8]) -> bool {
    names.iter().any(|known| known.as_bytes() == name)
}

fn starts_with_one_of(prefixes: &[&str], name: &[u8]) -> bool {
    prefixes.iter().any(|prefix| name.starts_with(prefix.as_bytes()))
}

#[cfg(test)]
mod tests {
    use ash_model::requirements::texts;
    use proptest::prelude::*;

    use super::*;

    fn kept(requirements: &Requirements, network: bool, variables: &[(&str, &str)]) -> Vec<String> {
        let variables: Vec<_> = variables
            .iter()
            .map(|(name, value)| (OsString::from(name), OsString::from(value)))
            .collect();
        let kept = Allowlist { requirements, network }.filter(&variables);
        kept.into_iter().map(|(name, _)| name.into_string().unwrap()).collect()
    }

    #[test]
    fn the_base_list_passes_and_nothing_else_does() {
        let variables = [
            ("LANG", "C"),
            ("LC_ALL", "C"),
            ("ASH_OFFLINE", "1"),
            ("UV_TOOL_DIR", "/x"),
            ("SSL_CERT_FILE", "/x"),
            ("AWS_ACCESS_KEY_ID", "x"),
            ("GITHUB_TOKEN", "x"),
            ("PYTHONPATH", "x"),
            ("VIRTUAL_ENV", "x"),
            ("JAVA_HOME", "x"),
            ("GEM_HOME", "x"),
            ("XDG_CACHE_HOME", "x"),
            ("ASH_CONFIG", "x"),
            ("ASH_PLUGIN_PATH", "x"),
            ("UV_CONFIG_FILE", "x"),
            ("LD_PRELOAD", "x"),
            ("lang", "x"),
            ("ASH_PAT", "x"),
            ("UV_INDEX_CORP_USERNAME", "x"),
            ("ASH_ISSUED", "ghp_a1B2c3D4e5F6g7H8i9J0"),
            ("UV_EXTRA_INDEX_URL", "https://a https://u:p@b"),
        ];
        assert_eq!(
            kept(&Requirements::NONE, true, &variables),
            ["ASH_OFFLINE", "LANG", "LC_ALL", "SSL_CERT_FILE", "UV_TOOL_DIR"]
        );
    }

    #[test]
    fn proxies_pass_only_with_a_network_and_without_credentials() {
        let variables = [
            ("HTTPS_PROXY", "http://proxy:3128"),
            ("no_proxy", "localhost"),
            ("HTTP_PROXY", "me:pw@proxy:3128"),
            ("ALL_PROXY", "x"),
        ];
        assert_eq!(kept(&Requirements::NONE, true, &variables), ["HTTPS_PROXY", "no_proxy"]);
        assert!(kept(&Requirements::NONE, false, &variables).is_empty());
    }

    #[test]
    fn a_declared_name_passes_whatever_it_looks_like_and_a_prefix_does_not_help_credentials() {
        let snyk = Requirements {
            env_names: texts(&["SNYK_TOKEN"]),
            env_prefixes: texts(&["SNYK_", "DOCKER_", "LD_"]),
            ..Requirements::NONE
        };
        let variables = [
            ("SNYK_TOKEN", "x"),
            ("SNYK_X_TOKEN", "x"),
            ("SNYK_ORG", "x"),
            ("DOCKER_HOST", "x"),
            ("LD_PRELOAD", "x"),
            ("snyk_org", "x"),
        ];
        assert_eq!(kept(&snyk, false, &variables), ["SNYK_ORG", "SNYK_TOKEN"]);
        assert!(kept(&Requirements::NONE, false, &variables).is_empty());
    }

    #[test]
    fn what_is_declared_in_vain_is_said() {
        let asked = Requirements {
            env_names: texts(&["SNYK_TOKEN", "LD_PRELOAD", "SSH_AUTH_SOCK", "HOME"]),
            env_prefixes: texts(&["", "LD_", "SNYK_"]),
            ..Requirements::NONE
        };
        let said: Vec<String> = withheld(&asked).into_iter().map(|notice| notice.reason).collect();
        assert_eq!(said.len(), 5, "{said:?}");
        for (reason, subject) in
            said.iter().zip(["LD_PRELOAD", "SSH_AUTH_SOCK", "HOME", "empty", "LD_"])
        {
            assert!(reason.contains(subject), "{reason}");
        }
        assert!(withheld(&Requirements::NONE).is_empty());
    }

    #[test]
    fn a_redirect_removes_copies_in_other_letter_case() {
        let mut environment = vec![
            ("NPM_CONFIG_CACHE".into(), "/host".into()),
            ("npm_config_cache".into(), "/host".into()),
        ];
        redirect(&mut environment, "npm_config_cache", "/private");
        assert_eq!(environment, [(OsString::from("npm_config_cache"), OsString::from("/private"))]);
    }

    proptest! {
        #[test]
        fn no_allowed_prefix_passes_a_credential_word(prefix in "(LC|ASH|UV|GRYPE)_", word in prop::sample::select(CREDENTIALS), whole in prop::sample::select(credentials::WHOLE_WORDS), upper: bool, tail in "[A-Za-z_]{0,4}") {
            let cased = |word: &str| if upper { word.to_owned() } else { word.to_lowercase() };
            let (name, parted) = (format!("{prefix}{}{tail}", cased(word)), format!("{prefix}{}_{tail}", cased(whole)));
            let grype = Requirements { env_prefixes: texts(&["GRYPE_"]), ..Requirements::NONE };
            prop_assert!(kept(&grype, true, &[(&name, "x"), (&parted, "x")]).is_empty());
            let declared = Requirements { env_names: vec![name.clone().into(), parted.clone().into()], ..Requirements::NONE };
            prop_assert_eq!(kept(&declared, true, &[(&name, "ghp_a1B2c3D4e5F6g7H8i9J0"), (&parted, "https://u:p@h")]).len(), if name == parted { 1 } else { 2 });
        }

        #[test]
        fn user_information_never_survives(before in "[a-z ,=]{0,6}", scheme in "[a-z][a-z0-9+.-]{0,6}", user in "[^/@\\s]{0,8}", after in "[^@]{0,8}") {
            let value = format!("{before}{scheme}://{user}@{after}");
            prop_assert!(kept(&Requirements::NONE, true, &[("UV_INDEX_URL", &value), ("HTTPS_PROXY", &value)]).is_empty());
        }

        #[test]
        fn nothing_passes_that_no_list_names(name in "[A-Z][A-Z0-9_]{0,12}", value in "[ -~]{0,12}") {
            let passed = !kept(&Requirements::NONE, true, &[(&name, &value)]).is_empty();
            let listed = is_one_of(NAMES, name.as_bytes()) || is_one_of(CERTIFICATES, name.as_bytes()) || is_one_of(PROXIES, name.as_bytes()) || starts_with_one_of(PREFIXES, name.as_bytes());
            prop_assert!(!passed || listed);
        }
    }
}
