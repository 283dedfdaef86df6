//! Makes uv and pip trust what the machine trusts.
//!
//! Both bring certificates of their own. Behind a company's proxy those reject every connection, although the machine's administrator
//! has put the company's certificate where every other program finds it. What the operator says by a variable wins.

use std::{
    ffi::{OsStr, OsString},
    path::Path,
};

/// Where distributions keep all trusted certificates in one file.
const BUNDLES: &[&str] = &[
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// Each variable that is added, and those by which the operator has already decided it.
const VARIABLES: &[(&str, &[&str])] = &[
    ("SSL_CERT_FILE", &["SSL_CERT_FILE", "SSL_CERT_DIR", "UV_SYSTEM_CERTS", "UV_NATIVE_TLS"]),
    ("PIP_CERT", &["PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"]),
];

/// The variables to add to this environment.
pub(super) fn additions(environment: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
    BUNDLES
        .iter()
        .find(|bundle| Path::new(bundle).is_file())
        .map_or_else(Vec::new, |bundle| additions_for(environment, bundle.as_ref()))
}

fn additions_for(
    environment: &[(OsString, OsString)],
    bundle: &OsStr,
) -> Vec<(OsString, OsString)> {
    let is_set =
        |name: &&str| environment.iter().any(|(key, value)| key == *name && !value.is_empty());
    let undecided = VARIABLES.iter().filter(|(_, deciders)| !deciders.iter().any(is_set));
    undecided.map(|(name, _)| (name.into(), bundle.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(set: &[&str]) -> Vec<String> {
        let environment: Vec<(OsString, OsString)> =
            set.iter().map(|name| (OsString::from(name), "x".into())).collect();
        additions_for(&environment, "/bundle".as_ref())
            .into_iter()
            .map(|(name, _)| name.to_string_lossy().into_owned())
            .collect()
    }

    #[test]
    fn the_machines_certificates_are_used_unless_the_operator_names_others() {
        assert_eq!(added(&[]), ["SSL_CERT_FILE", "PIP_CERT"]);
        assert_eq!(added(&["UV_SYSTEM_CERTS"]), ["PIP_CERT"]);
        assert_eq!(added(&["REQUESTS_CA_BUNDLE"]), ["SSL_CERT_FILE"]);
        assert!(added(&["SSL_CERT_FILE"]).is_empty());
    }
}
