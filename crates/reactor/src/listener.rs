use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};

use crate::unix;

/// Connections that may wait to be accepted; the kernel caps it at `net.core.somaxconn` (4096 by default).
pub(crate) const BACKLOG: u32 = 4096;

/// A listening socket of streams.
pub(crate) enum Listener {
    Tcp(OwnedFd),
    Unix(Arc<unix::Listener>),
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Listener::Tcp(fd) => fd.as_fd(),
            Listener::Unix(listener) => listener.fd.as_fd(),
        }
    }
}

/// A descriptor to give up when there are none left.
pub(crate) fn spare() -> Option<OwnedFd> {
    rustix::fs::open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()
}
