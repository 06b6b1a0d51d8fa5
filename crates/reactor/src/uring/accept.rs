//! Clients of stream listeners.
//!
//! On TCP one accept is armed for good. A Unix socket is shared by the reactors of the process, epoll's too, which
//! need it not to block; on such a socket the ring does not wait, so that there it tells of a client only.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::net::{accept_with, sockopt};

use crate::listener::{Listener, spare};
use crate::uring::ring::Completion;
use crate::uring::table::{Entry, State};
use crate::uring::{SOCKETS, Uring};
use crate::{Event, Handler};

impl Listener {
    /// Takes a client without waiting for one.
    ///
    /// Bounds: no accept of the ring may be under way.
    fn accept_now(&self) -> Result<OwnedFd, Errno> {
        match self {
            Listener::Tcp(fd) => {
                let flags = fcntl_getfl(fd)?;
                fcntl_setfl(fd, flags | OFlags::NONBLOCK)?;
                let client = accept_with(fd, SOCKETS);
                fcntl_setfl(fd, flags)?;
                client
            }
            Listener::Unix(listener) => accept_with(&listener.fd, SOCKETS),
        }
    }
}

impl Uring {
    pub(super) fn watch_listener(&mut self, listener: usize) -> io::Result<()> {
        if self.closed {
            return Ok(());
        }
        match self.listeners[listener] {
            Listener::Tcp(_) => self.arm_accept(listener),
            Listener::Unix(_) => self.arm_backlog(listener),
        }
    }

    /// A client waits at a listener that does not accept by itself.
    pub(super) fn client_waits(
        &mut self,
        listener: usize,
        handler: &mut impl Handler<Self>,
    ) -> io::Result<usize> {
        let events = match &self.listeners[listener] {
            // There were no descriptors; perhaps there are now.
            Listener::Tcp(_) => 0,
            // One at a time, so that reactors that share the socket share its clients.
            unix @ Listener::Unix(_) => match unix.accept_now() {
                Ok(fd) => self.greet(fd, listener, handler)?,
                Err(error) => return self.not_accepted(listener, error, handler),
            },
        };
        self.watch_listener(listener)?;
        Ok(events)
    }

    /// Handles a completion of a permanently armed accept.
    pub(super) fn accepted(
        &mut self,
        done: Completion,
        handler: &mut impl Handler<Self>,
    ) -> io::Result<usize> {
        let listener = done.token.conn.slot as usize;
        let fd = match done.result {
            // SAFETY: the kernel has just made this descriptor for us, and it has no other owner.
            Ok(fd) => unsafe { OwnedFd::from_raw_fd(fd as i32) },
            Err(error) => return self.not_accepted(listener, error, handler),
        };
        // A reply must not wait for the acknowledgement of the one before (Nagle's algorithm).
        let _ = sockopt::set_tcp_nodelay(&fd, true);
        let events = self.greet(fd, listener, handler)?;
        if !done.more() {
            self.watch_listener(listener)?;
        }
        Ok(events)
    }

    fn greet(&mut self, fd: OwnedFd, listener: usize, handler: &mut impl Handler<Self>) -> io::Result<usize> {
        let conn = self.table.insert(|_| Entry::new(Some(fd), State::Open));
        if let Some(entry) = self.table.get_mut(conn) {
            entry.listener = listener as u32;
        }
        handler.event(self, Event::Accepted { conn });
        self.arm_receive(conn)?;
        Ok(1)
    }

    pub(super) fn not_accepted(
        &mut self,
        listener: usize,
        error: Errno,
        handler: &mut impl Handler<Self>,
    ) -> io::Result<usize> {
        if self.closed {
            return Ok(0);
        }
        match error {
            Errno::AGAIN | Errno::INTR | Errno::CONNABORTED | Errno::CANCELED => {}
            Errno::MFILE | Errno::NFILE => return self.turn_away(listener, error, handler),
            _ => {
                handler.event(self, Event::AcceptFailed { error: error.into() });
                self.watch_listener(listener)?;
                return Ok(1);
            }
        }
        self.watch_listener(listener)?;
        Ok(0)
    }

    /// Listens again on muted listeners if descriptors are available again.
    #[cold]
    pub(super) fn listen_again(&mut self) -> io::Result<()> {
        self.spare = self.spare.take().or_else(spare);
        while self.spare.is_some()
            && let Some(listener) = self.muted.pop()
        {
            self.arm_backlog(listener)?;
        }
        Ok(())
    }

    /// Descriptors have run out: gives up the spare one to tell a client so, if there is one. The kernel looks
    /// for a descriptor before it looks for a client, so that an accept is armed again only when one has come.
    fn turn_away(
        &mut self,
        listener: usize,
        error: Errno,
        handler: &mut impl Handler<Self>,
    ) -> io::Result<usize> {
        self.spare = None;
        let turned_away = self.listeners[listener].accept_now().is_ok();
        self.spare = spare();
        match self.spare {
            Some(_) => self.arm_backlog(listener)?,
            // A client that can be neither accepted nor turned away would be reported again and again without end.
            None => self.muted.push(listener),
        }
        if turned_away {
            handler.event(self, Event::AcceptFailed { error: error.into() });
        }
        Ok(usize::from(turned_away))
    }
}
