//! ash-reports
