//! Signals as sockets that become readable, so that one wait covers them and everything else.

use std::{
    io::{self, Read as _},
    os::unix::net::UnixStream,
};

/// A socket that becomes readable when one of these signals arrives.
pub(super) fn watch(signals: &[i32]) -> io::Result<UnixStream> {
    let (read, write) = UnixStream::pair()?;
    read.set_nonblocking(true)?;
    for signal in signals {
        signal_hook::low_level::pipe::register(*signal, write.try_clone()?)?;
    }
    Ok(read)
}

/// Empties a signal socket; says whether there was anything in it.
pub(super) fn drain(socket: &mut UnixStream) -> bool {
    let mut any = false;
    while matches!(socket.read(&mut [0; 64]), Ok(1..)) {
        any = true;
    }
    any
}
