//! `ash.cdx.json`: the SBOM that a scanner made, or one that says there is none.

use std::io;

use ash_model::report::ScanReport;
use serde_json::json;

use crate::{Reporter, json};

/// The SBOM.
#[derive(Debug)]
pub(crate) struct CycloneDx;

impl Reporter for CycloneDx {
    fn id(&self) -> &'static str {
        "cyclonedx"
    }

    fn file_name(&self) -> &'static str {
        "reports/ash.cdx.json"
    }

    fn render(&self, report: &ScanReport, out: &mut dyn io::Write) -> io::Result<()> {
        match &report.sbom {
            Some(sbom) => json::write(out, sbom),
            None => json::write(
                out,
                // A list without components could be taken for a project without dependencies, so the document says what it is.
                &json!({
                    "bomFormat": "CycloneDX",
                    "specVersion": "1.6",
                    "version": 1,
                    "metadata": {
                        "timestamp": report.scan.finished,
                        "tools": {"components": [{"type": "application", "name": "ash", "version": report.scan.ash_version}]},
                        "properties": [{"name": "ash:sbom", "value": "no scanner produced an SBOM in this scan"}],
                    },
                    "components": [],
                }),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::sample;

    fn rendered(report: &ScanReport) -> Value {
        let mut bytes = Vec::new();
        CycloneDx.render(report, &mut bytes).unwrap();
        serde_json::from_slice(&bytes).unwrap()
    }

    #[test]
    fn the_sbom_is_written_as_it_is_and_its_absence_is_said() {
        let mut report = sample::hostile();
        assert_eq!(&rendered(&report), report.sbom.as_ref().unwrap());
        report.sbom = None;
        assert_eq!(
            rendered(&report)["metadata"]["properties"][0]["value"],
            "no scanner produced an SBOM in this scan"
        );
    }
}
