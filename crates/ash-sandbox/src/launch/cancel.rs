//! Ending running commands from another thread.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// A switch that ends every command run with it, and keeps further ones from starting. Clones share the switch.
#[derive(Debug, Clone, Default)]
pub struct Cancel {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    thrown: AtomicBool,
    /// Becomes readable, for good, when the switch is thrown. Without it (no descriptor was left) launchers look at the switch now and then.
    #[cfg(unix)]
    wake: Option<(std::os::fd::OwnedFd, std::os::fd::OwnedFd)>,
}

impl Default for Inner {
    fn default() -> Self {
        Self {
            thrown: AtomicBool::new(false),
            #[cfg(unix)]
            wake: wake_pipe(),
        }
    }
}

#[cfg(unix)]
fn wake_pipe() -> Option<(std::os::fd::OwnedFd, std::os::fd::OwnedFd)> {
    let (read, write) = std::os::unix::net::UnixStream::pair().ok()?;
    write.set_nonblocking(true).ok()?;
    Some((read.into(), write.into()))
}

impl Cancel {
    /// A switch that has not been thrown.
    pub fn new() -> Self {
        Self::default()
    }

    /// Throws it. May be called from any thread, and more than once.
    pub fn cancel(&self) {
        if !self.inner.thrown.swap(true, Ordering::SeqCst) {
            #[cfg(unix)]
            if let Some((_, write)) = &self.inner.wake {
                let _ = rustix::io::write(write, b"x");
            }
        }
    }

    /// Whether it has been thrown.
    pub fn is_cancelled(&self) -> bool {
        self.inner.thrown.load(Ordering::SeqCst)
    }

    /// What to wait on; readable once it has been thrown.
    #[cfg(target_os = "linux")]
    pub(super) fn wake(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        self.inner.wake.as_ref().map(|(read, _)| std::os::fd::AsFd::as_fd(read))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_share_one_switch() {
        let cancel = Cancel::new();
        let clone = cancel.clone();
        assert!(!clone.is_cancelled());
        cancel.cancel();
        cancel.cancel();
        assert!(clone.is_cancelled());
    }
}
