//! Frames: a little-endian `u32` length, then that many bytes of JSON.

use std::io::{self, Read, Write};

use serde::{Serialize, de::DeserializeOwned};

/// The longest frame either side accepts.
const MAX_FRAME: usize = 16 << 20;

/// Why a message could not be understood.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FrameError {
    /// The other side announced too much.
    #[error("a message of {0} bytes is longer than the {MAX_FRAME} allowed")]
    TooLong(usize),
    /// The other side sent something else.
    #[error("a message is not what was expected: {0}")]
    Malformed(#[from] serde_json::Error),
    /// The socket failed.
    #[error("the socket failed: {0}")]
    Io(#[from] io::Error),
    /// The other side is gone.
    #[error("the other side closed the socket")]
    Closed,
}

/// Sends one message.
pub(crate) fn send<T: Serialize>(socket: &mut impl Write, message: &T) -> Result<(), FrameError> {
    let mut frame = vec![0; 4];
    serde_json::to_writer(&mut frame, message)?;
    let length = frame.len() - 4;
    let announced = u32::try_from(length)
        .ok()
        .filter(|_| length <= MAX_FRAME)
        .ok_or(FrameError::TooLong(length))?;
    frame[..4].copy_from_slice(&announced.to_le_bytes());
    Ok(socket.write_all(&frame)?)
}

/// The receiving half: keeps what has arrived of a message that is not whole yet.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    buffer: Vec<u8>,
    closed: bool,
}

impl Frames {
    /// Whether the other side has closed its end.
    #[cfg(target_os = "linux")]
    pub(crate) fn closed(&self) -> bool {
        self.closed
    }

    /// Takes what the socket has now, with one read.
    pub(crate) fn fill(&mut self, socket: &mut impl Read) -> io::Result<()> {
        let mut chunk = [0; 16 << 10];
        match socket.read(&mut chunk) {
            Ok(0) => self.closed = true,
            Ok(read) => self.buffer.extend_from_slice(&chunk[..read]),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) => {}
            // A peer that died with unread data resets the connection; it is gone all the same.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => self.closed = true,
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// The next whole message, if one has arrived.
    pub(crate) fn next<T: DeserializeOwned>(&mut self) -> Result<Option<T>, FrameError> {
        let Some(head) = self.buffer.first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_le_bytes(*head) as usize;
        if length > MAX_FRAME {
            return Err(FrameError::TooLong(length));
        }
        let Some(body) = self.buffer.get(4..4 + length) else { return Ok(None) };
        let message = serde_json::from_slice(body)?;
        self.buffer.drain(..4 + length);
        Ok(Some(message))
    }

    /// Waits for the next message.
    pub(crate) fn wait<T: DeserializeOwned>(
        &mut self,
        socket: &mut impl Read,
    ) -> Result<T, FrameError> {
        loop {
            if let Some(message) = self.next()? {
                return Ok(message);
            }
            if self.closed {
                return Err(FrameError::Closed);
            }
            self.fill(socket)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_whole_and_in_order_however_they_are_cut() {
        let mut sent = Vec::new();
        send(&mut sent, &"first").unwrap();
        send(&mut sent, &vec![1, 2, 3]).unwrap();
        let mut frames = Frames::default();
        for byte in &sent[..9] {
            frames.fill(&mut std::slice::from_ref(byte)).unwrap();
            assert_eq!(frames.next::<String>().unwrap(), None);
        }
        frames.fill(&mut &sent[9..]).unwrap();
        assert_eq!(frames.next::<String>().unwrap().as_deref(), Some("first"));
        assert_eq!(frames.next::<Vec<u8>>().unwrap(), Some(vec![1, 2, 3]));
        frames.fill(&mut io::empty()).unwrap();
        assert!(matches!(frames.wait::<String>(&mut io::empty()), Err(FrameError::Closed)));
    }

    #[test]
    fn a_length_beyond_the_limit_is_refused_before_anything_is_kept() {
        let mut frames = Frames::default();
        frames.fill(&mut &u32::MAX.to_le_bytes()[..]).unwrap();
        assert!(matches!(frames.next::<String>(), Err(FrameError::TooLong(_))));
    }
}
