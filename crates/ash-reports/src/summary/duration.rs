//! Durations for people.

use std::time::Duration;

/// `<1ms`, `500ms`, `4.2s`, `45s`, `1m 30s`, `1h 1m 5s`; `N/A` when there is none.
pub fn shown(duration: Option<Duration>) -> String {
    let Some(duration) = duration else { return "N/A".to_owned() };
    let milliseconds = duration.as_millis();
    // Rounded before the unit is chosen, so that no "60.0s" appears.
    let tenths = (milliseconds + 50) / 100;
    let seconds = (milliseconds + 500) / 1000;
    match () {
        () if milliseconds == 0 => "<1ms".to_owned(),
        () if milliseconds < 1000 => format!("{milliseconds}ms"),
        () if tenths < 600 && tenths.is_multiple_of(10) => format!("{}s", tenths / 10),
        () if tenths < 600 => format!("{}.{}s", tenths / 10, tenths % 10),
        () if seconds < 3600 => format!("{}m {}s", seconds / 60, seconds % 60),
        () => format!("{}h {}m {}s", seconds / 3600, seconds / 60 % 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_naturally_at_every_size() {
        for (milliseconds, text) in [
            (0, "<1ms"),
            (1, "1ms"),
            (500, "500ms"),
            (999, "999ms"),
            (1000, "1s"),
            (4230, "4.2s"),
            (45_000, "45s"),
            (59_960, "1m 0s"),
            (90_000, "1m 30s"),
            (3_599_600, "1h 0m 0s"),
            (3_665_000, "1h 1m 5s"),
        ] {
            assert_eq!(shown(Some(Duration::from_millis(milliseconds))), text);
        }
        assert_eq!(
            (shown(None), shown(Some(Duration::from_micros(900)))),
            ("N/A".into(), "<1ms".into())
        );
    }
}
