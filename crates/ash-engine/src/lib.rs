//! ash-engine
