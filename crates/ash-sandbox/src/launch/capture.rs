//! What becomes of a command's output.

use ash_model::tool::Captured;

/// Where output goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stdio {
    /// Into memory, within limits.
    Capture(Captures),
    /// Wherever ash's own goes, copied by ash: the command gets pipes and never ash's own terminal, file or socket.
    PassOn,
}

/// Limits on captured output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Captures {
    /// Bytes kept of each stream; the rest is counted and thrown away.
    pub keep: u64,
    /// Bytes both streams may print together before the command is ended.
    pub total: u64,
}

impl Default for Captures {
    fn default() -> Self {
        Self { keep: 64 << 20, total: 1 << 30 }
    }
}

/// Who wants each line as it arrives, if anybody does.
pub(super) type OnLine<'a> = Option<&'a mut dyn FnMut(&str)>;

/// Lines longer than this are handed on in pieces.
const LONGEST_LINE: usize = 64 << 10;

/// One stream as it arrives.
#[derive(Debug, Default)]
pub(super) struct Stream {
    pub(super) captured: Captured,
    keep: u64,
    line: Vec<u8>,
}

impl Stream {
    pub(super) fn new(keep: u64) -> Self {
        Self { keep, ..Self::default() }
    }

    /// Takes the next piece.
    pub(super) fn push(&mut self, bytes: &[u8], on_line: &mut OnLine<'_>) {
        let room = self.keep.saturating_sub(self.captured.bytes.len() as u64);
        let kept = bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX));
        self.captured.bytes.extend_from_slice(&bytes[..kept]);
        self.captured.total += bytes.len() as u64;
        let Some(on_line) = on_line else { return };
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") || self.line.len() > LONGEST_LINE {
                flush(&mut self.line, *on_line);
            }
        }
    }

    /// Hands on an unfinished last line, and returns what was kept.
    pub(super) fn finish(mut self, on_line: &mut OnLine<'_>) -> Captured {
        if let Some(on_line) = on_line
            && !self.line.is_empty()
        {
            flush(&mut self.line, *on_line);
        }
        self.captured
    }
}

fn flush(line: &mut Vec<u8>, on_line: &mut dyn FnMut(&str)) {
    let text = String::from_utf8_lossy(line);
    on_line(text.trim_end_matches(['\n', '\r']));
    line.clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_kept_is_counted_and_lines_arrive_whole() {
        let mut lines = Vec::new();
        let mut stream = Stream::new(4);
        let mut collect = |line: &str| lines.push(line.to_owned());
        let mut on_line: OnLine<'_> = Some(&mut collect);
        stream.push(b"one\ntw", &mut on_line);
        stream.push(b"o\r\nlast", &mut on_line);
        let captured = stream.finish(&mut on_line);
        assert_eq!(
            (captured.bytes.as_slice(), captured.total, captured.is_cut()),
            (&b"one\n"[..], 13, true)
        );
        assert_eq!(lines, ["one", "two", "last"]);
    }

    #[test]
    fn a_line_without_an_end_does_not_grow_for_ever() {
        let mut longest = 0;
        let mut stream = Stream::new(0);
        for _ in 0..1000 {
            stream.push(&[b'x'; 1000], &mut Some(&mut |line| longest = longest.max(line.len())));
        }
        assert!((1..70_000).contains(&longest), "{longest}");
    }
}
