//! Handing a command's output on to ash's own, without handing out what ash's own is.
//!
//! The command gets pipes. With a terminal as its standard output it could read what the operator types there, change its modes or its line
//! discipline; with a file, shorten what stands in it already; with a socket, talk to whoever is at the other end.

use std::{
    io::{self, PipeReader, Read as _, Write},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, channel},
    },
    time::{Duration, Instant},
};

use super::Cancel;

/// How long a pipe may stay silent after the command's end: where processes can escape, one of them may hold it open for ever.
const SILENCE: Duration = Duration::from_secs(1);
/// How long whoever reads ash's output may keep the end of a command waiting that was stopped.
const IMPATIENCE: Duration = Duration::from_secs(2);
const TICK: Duration = Duration::from_millis(20);

/// One thread for each stream copies it. A reader that does not read holds up the command, as without ash, but not the watch over it.
#[derive(Debug)]
pub(super) struct PassOn {
    copied: Receiver<io::Result<()>>,
    streams: usize,
    writing: Vec<Arc<AtomicBool>>,
    /// The last line on standard error has not ended.
    midline: Arc<AtomicBool>,
}

impl PassOn {
    /// Makes the pipes a command's output. If both of ash's own streams are one thing, both go through one pipe, so that their order stays.
    pub(super) fn attach(command: &mut Command) -> io::Result<Self> {
        let (stdout, to_stdout) = io::pipe()?;
        let one = are_one();
        let mut pipes = vec![(stdout, Stream::Out)];
        if one {
            command.stderr(to_stdout.try_clone()?);
        } else {
            let (stderr, to_stderr) = io::pipe()?;
            command.stderr(to_stderr);
            pipes.push((stderr, Stream::Err));
        }
        command.stdout(to_stdout);
        let (done, copied) = channel();
        let streams = pipes.len();
        let mut writing = vec![];
        let midline = Arc::new(AtomicBool::new(false));
        for (pipe, stream) in pipes {
            let (done, busy) = (done.clone(), Arc::new(AtomicBool::new(false)));
            writing.push(Arc::clone(&busy));
            let is_shown = one || stream == Stream::Err;
            let midline = is_shown.then(|| Arc::clone(&midline));
            std::thread::Builder::new()
                .spawn(move || drop(done.send(copy(pipe, stream, &busy, midline.as_deref()))))?;
        }
        Ok(Self { copied, streams, writing, midline })
    }

    /// Waits until everything has been handed on, the command having ended. Whether the last line on standard error has not ended.
    ///
    /// # Errors
    /// When something could not be written.
    pub(super) fn finish(self, stopped: bool, cancel: &Cancel) -> io::Result<bool> {
        let began = Instant::now();
        let mut stopped_at = stopped.then_some(began);
        let mut busy_at = began;
        let mut left = self.streams;
        while left > 0 {
            match self.copied.recv_timeout(TICK) {
                Ok(copied) => {
                    copied?;
                    left -= 1;
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if cancel.is_cancelled() {
                stopped_at.get_or_insert_with(Instant::now);
            }
            if self.writing.iter().any(|writing| writing.load(Ordering::SeqCst)) {
                busy_at = Instant::now();
            }
            let is_over = busy_at.elapsed() > SILENCE;
            if is_over || stopped_at.is_some_and(|at| at.elapsed() > IMPATIENCE) {
                break;
            }
        }
        Ok(self.midline.load(Ordering::SeqCst))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stream {
    Out,
    Err,
}

/// Copies until the pipe ends. Once nobody reads ash's output any more the pipe is closed, and the command learns it the usual way.
fn copy(
    mut pipe: PipeReader,
    stream: Stream,
    writing: &AtomicBool,
    midline: Option<&AtomicBool>,
) -> io::Result<()> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        let read = match pipe.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        writing.store(true, Ordering::SeqCst);
        let written = match stream {
            Stream::Out => write(&mut io::stdout(), &buffer[..read]),
            Stream::Err => write(&mut io::stderr(), &buffer[..read]),
        };
        writing.store(false, Ordering::SeqCst);
        if let Some(midline) = midline {
            midline.store(buffer[read - 1] != b'\n', Ordering::SeqCst);
        }
        match written {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            written => written?,
        }
    }
}

fn write(to: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    to.write_all(bytes)?;
    to.flush()
}

/// Whether ash's standard output and error are the same file, pipe or terminal.
#[cfg(unix)]
fn are_one() -> bool {
    let identity = |stat: rustix::fs::Stat| (stat.st_dev, stat.st_ino, stat.st_rdev);
    let out = rustix::fs::fstat(io::stdout()).map(identity);
    let err = rustix::fs::fstat(io::stderr()).map(identity);
    out.is_ok() && out == err
}

#[cfg(not(unix))]
fn are_one() -> bool {
    false
}
