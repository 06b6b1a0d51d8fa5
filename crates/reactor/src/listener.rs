use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use crate::unix;

/// A listening socket of streams.
pub(super) enum Listener {
    Tcp(OwnedFd),
    Unix(Arc<unix::Listener>),
}

impl Listener {
    /// Clients accepted per readiness.
    pub(super) fn turn(&self) -> usize {
        match self {
            // So that a flood of connections does not starve those that stand.
            Listener::Tcp(_) => 16,
            // So that reactors that share the socket share its clients: the kernel does not deal them out.
            Listener::Unix(_) => 1,
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Listener::Tcp(fd) => fd.as_fd(),
            Listener::Unix(listener) => listener.fd.as_fd(),
        }
    }
}
