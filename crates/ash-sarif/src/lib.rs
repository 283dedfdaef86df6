//! ash-sarif
