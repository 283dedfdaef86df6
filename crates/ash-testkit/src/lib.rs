//! ash-testkit
