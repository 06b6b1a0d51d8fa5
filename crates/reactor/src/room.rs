use std::io::IoSliceMut;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{RecvAncillaryBuffer, RecvFlags, recv, recvmsg};
use units::Time;

use crate::{Conn, Event};

/// The most bytes that one call receives into the handler's place, so that other connections have their turn: some 25
/// µs at 10 GB/s. Units: bytes.
const AT_ONCE: usize = 256 * 1024;

/// Receives into `room`, and further bytes into `behind`; returns how many bytes in all.
pub(crate) fn receive_into(fd: &OwnedFd, room: &mut [u8], behind: &mut [u8]) -> Result<usize, Errno> {
    if room.len() > AT_ONCE {
        return recv(fd, &mut room[..AT_ONCE], RecvFlags::DONTWAIT).map(|(n, _)| n);
    }
    let mut parts = [IoSliceMut::new(room), IoSliceMut::new(behind)];
    recvmsg(fd, &mut parts, &mut RecvAncillaryBuffer::default(), RecvFlags::DONTWAIT).map(|taken| taken.bytes)
}

/// The event for `n` bytes, read and stamped at these moments: the first ones went to a place of `room` bytes, the
/// rest to `behind`.
#[inline]
pub(crate) fn received(
    conn: Conn,
    (at, came): (Time, Option<Time>),
    n: usize,
    room: usize,
    behind: &[u8],
) -> Event<'_> {
    match n.min(room) {
        0 => Event::Data { conn, at, came, bytes: &behind[..n] },
        length => Event::Filled { conn, at, length, bytes: &behind[..n - length] },
    }
}
