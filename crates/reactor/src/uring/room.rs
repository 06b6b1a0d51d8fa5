//! Receiving into a place that the handler names.
//!
//! A multishot receive fills the ring's buffers, from which a large value would have to be copied. So if the handler
//! names a large place, that receive is ended and its data are shown as usual; from then on the reactor waits for
//! input and receives it by a system call, as `epoll` does, until no such place was named for a while.

use std::io;

use rustix::io::Errno;

use crate::room::{receive_into, received};
use crate::uring::table::{Receive, State};
use crate::uring::{Uring, buffers};
use crate::{Conn, Handler, monotonic_now, udp};

/// From this size on it is worth it: switching there and back takes some operations of the ring, together about 2 µs,
/// and copying this many bytes from memory takes about 5 µs. Units: bytes.
const LARGE: usize = 32 << 10;
/// Receives that still go by a system call: a client that sends one large value often sends another, of
/// which the ring would have taken half a MB before it could be stopped.
const STAY: u8 = 16;

impl Uring {
    /// Whether the size of a receive is limited. The kernel fills up to 32 buffers of the ring at once for one
    /// connection.
    #[inline]
    pub(super) fn limits_receives(&self) -> bool {
        self.receive < 32 * buffers::SIZE
    }

    /// Limits the size of each receive, also on the connections that receive already.
    pub(super) fn set_receive(&mut self, bytes: usize) {
        self.receive = bytes;
        if !self.limits_receives() {
            // Each returns to the ring's buffers after a receive.
            return;
        }
        for conn in self.table.connections() {
            // It fails only when the ring does, which every poll reports.
            let _ = self.end_receive(conn);
        }
    }

    /// Ends the connection's receive if a large place is named.
    #[inline]
    pub(super) fn leave_for_room(&mut self, conn: Conn, handler: &mut impl Handler<Self>) -> io::Result<()> {
        if handler.room(conn).len() < LARGE {
            return Ok(());
        }
        self.end_receive(conn)
    }

    /// Waits for input if a large place is named for it, or was a moment ago; returns whether it does.
    pub(super) fn wait_for_room(&mut self, conn: Conn, handler: &mut impl Handler<Self>) -> io::Result<bool> {
        let Some(entry) = self.table.get_mut(conn) else { return Ok(false) };
        let may = entry.receives()
            && entry.receive == Receive::Idle
            && entry.state == State::Open
            // Withheld bytes come first; a receive appends to them as always.
            && entry.held.is_empty();
        if !may {
            return Ok(false);
        }
        if handler.room(conn).len() >= LARGE {
            entry.direct = STAY;
        }
        if entry.direct > 0 || self.receive < 32 * buffers::SIZE {
            self.arm_room(conn)?;
            return Ok(true);
        }
        Ok(false)
    }

    /// There is input for the place that the handler names, if any.
    pub(super) fn fill_room(&mut self, conn: Conn, handler: &mut impl Handler<Self>) -> io::Result<usize> {
        let Some(entry) = self.table.get_mut(conn) else {
            self.table.finished(conn);
            return Ok(0);
        };
        entry.receive = Receive::Idle;
        entry.direct = entry.direct.saturating_sub(1);
        let mut events = 0;
        if entry.receives()
            && entry.held.is_empty()
            && let Some(fd) = &entry.fd
        {
            let mut behind = std::mem::take(&mut self.scratch);
            behind.resize(udp::LARGEST, 0);
            let place = handler.room(conn);
            let room = place.len();
            let limit = self.receive.min(behind.len());
            let taken = receive_into(fd, place, &mut behind[..limit]);
            let at = monotonic_now();
            match taken {
                Ok(0) => events = self.ended(conn, None, handler),
                Ok(n) => {
                    // As with the ring's receives.
                    probe::probe!(reactor, turn, entry.number().0);
                    handler.event(self, received(conn, (at, None), n, room, &behind));
                    events = 1;
                }
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(error) => events = self.ended(conn, Some(error), handler),
            }
            self.scratch = behind;
        }
        self.receive_on(conn, handler)?;
        Ok(events)
    }
}
