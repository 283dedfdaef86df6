//! Times as reports print them.

/// The current time, RFC 3339 in UTC with second precision.
pub fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Today's date in UTC, `YYYY-MM-DD`: expiry dates are compared with it.
pub fn today() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%d").to_string()
}
