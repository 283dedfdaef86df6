//! The list of scanners. A new one is a file here and a line below.

use ash_model::ids::ScannerId;

use crate::Scanner;

/// Declares each scanner's module and puts it on the list, so that neither can be forgotten.
macro_rules! scanners {
    ($($module:ident::$scanner:ident),* $(,)?) => {
        $(mod $module;)*

        /// Every scanner, by name.
        pub static SCANNERS: &[&dyn Scanner] = &[$(&$module::$scanner),*];

        #[cfg(test)]
        const MODULES: &[&str] = &[$(stringify!($module)),*];
    };
}

scanners! {
    bandit::Bandit,
    cfn_lint::CfnLint,
    checkov::Checkov,
    detect_secrets::DetectSecrets,
    npm_audit::NpmAudit,
    semgrep::Semgrep,
    syft::Syft,
    zizmor::Zizmor,
}

/// The scanner of this name.
pub fn by_id(id: &ScannerId) -> Option<&'static dyn Scanner> {
    SCANNERS.iter().copied().find(|scanner| scanner.id() == *id)
}

#[cfg(test)]
pub(crate) mod tests;
