//! The kernel's times of sent and received bytes.
//!
//! With `SO_TIMESTAMPING`, a TCP socket stamps each send when it is handed to the network device, and each receive
//! when it comes from there. The stamps of sends come back on the socket's error queue, named by the position in the
//! stream of the send's last byte.
//!
//! Source: the kernel's `Documentation/networking/timestamping.rst`.

use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::socket::{ControlMessageOwned, MsgFlags, TimestampingFlag, recvmsg, setsockopt, sockopt};
use rustix::io::Errno;
use units::Time;

use crate::Conn;

/// One request and its answer, as this reactor and as the kernel saw them.
///
/// Bounds: for connections on which the next request leaves after the answer to the one before; overlapping requests
/// cannot be distinguished and are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The connection.
    pub conn: Conn,
    /// What [`crate::Reactor::flush`] returned.
    pub sent: Time,
    /// When the kernel handed the request to the network device. Units: time of the wall clock.
    pub left: Time,
    /// When the kernel got the last part of the answer from there. Units: time of the wall clock.
    pub came: Time,
    /// The moment of the [`crate::Event::Data`] that brought the last part of the answer.
    pub done: Time,
}

/// A request on its way, with its times so far.
struct Open {
    sent: Time,
    /// Position in the stream of its last byte.
    last_byte: u32,
    left: Option<Time>,
    came: Option<Time>,
    done: Option<Time>,
    /// More was sent before an answer came: answers cannot be matched to requests.
    mixed: bool,
}

struct StampedConn {
    conn: Conn,
    /// Bytes sent since stamps were enabled; the kernel counts the same, modulo 2³².
    sent_bytes: u32,
    open: Option<Open>,
}

/// The stamps of a reactor's connections.
pub(super) struct Stamps {
    by_slot: Vec<Option<StampedConn>>,
    exchanges: Vec<Exchange>,
    room: usize,
    /// One connection in this many is watched.
    one_in: usize,
    asked: usize,
    /// Lent to the kernel for the messages that come with a receive.
    control: Vec<u8>,
}

impl Stamps {
    pub(super) fn new(room: usize, one_in: usize) -> Stamps {
        Stamps {
            by_slot: Vec::new(),
            exchanges: Vec::with_capacity(room),
            room,
            one_in: one_in.max(1),
            asked: 0,
            // A stamp takes 64 bytes, its name 48 and more with an address.
            control: vec![0; 256],
        }
    }

    /// Asks for the stamps of a connection that stands and has sent nothing yet, if it is its turn; whether it was.
    pub(super) fn watch(&mut self, conn: Conn, fd: &OwnedFd) -> Result<bool, Errno> {
        self.asked += 1;
        if !(self.asked - 1).is_multiple_of(self.one_in) {
            return Ok(false);
        }
        let flags = TimestampingFlag::SOF_TIMESTAMPING_SOFTWARE
            | TimestampingFlag::SOF_TIMESTAMPING_TX_SOFTWARE
            | TimestampingFlag::SOF_TIMESTAMPING_RX_SOFTWARE
            | TimestampingFlag::SOF_TIMESTAMPING_OPT_ID
            | TimestampingFlag::SOF_TIMESTAMPING_OPT_TSONLY;
        setsockopt(fd, sockopt::Timestamping, &flags).map_err(errno)?;
        let slot = conn.slot as usize;
        if self.by_slot.len() <= slot {
            self.by_slot.resize_with(slot + 1, || None);
        }
        self.by_slot[slot] = Some(StampedConn { conn, sent_bytes: 0, open: None });
        Ok(true)
    }

    fn of(&mut self, conn: Conn) -> Option<&mut StampedConn> {
        self.by_slot.get_mut(conn.slot as usize)?.as_mut().filter(|watched| watched.conn == conn)
    }

    /// The kernel took `n` bytes by a send that began at `at`.
    pub(super) fn sent(&mut self, conn: Conn, at: Time, n: usize) {
        let Some(watched) = self.of(conn) else { return };
        watched.sent_bytes = watched.sent_bytes.wrapping_add(n as u32);
        let last_byte = watched.sent_bytes.wrapping_sub(1);
        let mixed = watched.open.as_ref().is_some_and(|open| open.done.is_none());
        let next = Open { sent: at, last_byte, left: None, came: None, done: None, mixed };
        let before = watched.open.replace(next);
        self.keep(conn, before);
    }

    /// Takes the oldest stamp of a send from the error queue; returns whether it had one. The kernel reports the next
    /// by itself.
    pub(super) fn departure_of(&mut self, conn: Conn, fd: &OwnedFd) -> bool {
        let Some((position, stamp)) = self.departure(fd) else { return false };
        let open = self.of(conn).and_then(|watched| watched.open.as_mut());
        if let Some(open) = open.filter(|open| Some(open.last_byte) == position) {
            open.left = stamp;
        }
        true
    }

    /// The last receive on the connection returned at `at`; the kernel stamped it, on the wall clock, at `stamp`.
    pub(super) fn received(&mut self, conn: Conn, stamp: Option<Time>, at: Time) {
        if let Some(open) = self.of(conn).and_then(|watched| watched.open.as_mut()) {
            (open.came, open.done) = (stamp, Some(at));
        }
    }

    /// The next message of the error queue: position of a send's last byte, and when it left.
    fn departure(&mut self, fd: &OwnedFd) -> Option<(Option<u32>, Option<Time>)> {
        let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_ERRQUEUE;
        let message = recvmsg::<()>(fd.as_raw_fd(), &mut [], Some(&mut self.control), flags).ok()?;
        let (mut position, mut stamp) = (None, None);
        for message in message.cmsgs().ok()? {
            stamp = stamp.or(stamp_in(&message));
            match message {
                ControlMessageOwned::Ipv4RecvErr(error, _) | ControlMessageOwned::Ipv6RecvErr(error, _) => {
                    position = Some(error.ee_data);
                }
                _ => {}
            }
        }
        Some((position, stamp))
    }

    /// Keeps an exchange that has all its stamps.
    fn keep(&mut self, conn: Conn, open: Option<Open>) {
        if let Some(Open { sent, left: Some(left), came: Some(came), done: Some(done), mixed: false, .. }) =
            open
            && self.exchanges.len() < self.room
        {
            self.exchanges.push(Exchange { conn, sent, left, came, done });
        }
    }

    pub(super) fn take(&mut self) -> Vec<Exchange> {
        for slot in 0..self.by_slot.len() {
            if let Some(watched) = &mut self.by_slot[slot]
                && watched.open.as_ref().is_some_and(|open| open.done.is_some())
            {
                let (conn, open) = (watched.conn, watched.open.take());
                self.keep(conn, open);
            }
        }
        std::mem::replace(&mut self.exchanges, Vec::with_capacity(self.room))
    }
}

fn stamp_in(message: &ControlMessageOwned) -> Option<Time> {
    match message {
        // All 0 if the kernel began to stamp after this packet was received.
        ControlMessageOwned::ScmTimestampsns(stamps) if stamps.system.tv_sec() > 0 => {
            Some(Time(stamps.system.tv_sec() as u64 * 1_000_000_000 + stamps.system.tv_nsec() as u64))
        }
        _ => None,
    }
}

fn errno(error: nix::errno::Errno) -> Errno {
    Errno::from_raw_os_error(error as i32)
}
