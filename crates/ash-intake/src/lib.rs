//! ash-intake
