use nix::libc::msghdr;
use units::Time;

use crate::receive_stamps::{CONTROL, stamp_in};

/// `struct io_uring_recvmsg_out`: the lengths of name, control messages and payload, and flags, of 4 bytes each.
const HEADER: usize = 16;
/// Offset of the second of them.
const CONTROL_LENGTH: usize = 4;

/// Layout of a stamped receive in a buffer of the ring: a header, room for the control message with the stamp, and
/// the bytes.
pub(super) struct Stamped(msghdr);

impl Default for Stamped {
    fn default() -> Stamped {
        // SAFETY: all fields are numbers and pointers, for which 0 is a value.
        let mut header: msghdr = unsafe { std::mem::zeroed() };
        header.msg_controllen = CONTROL as _;
        Stamped(header)
    }
}

impl Stamped {
    /// For an operation, which reads only lengths from it.
    pub(super) fn header(&self) -> *const msghdr {
        &raw const self.0
    }
}

/// The received bytes, and their stamp on the wall clock. No bytes: the peer has ended.
#[inline]
pub(super) fn parse(buffer: &[u8]) -> (&[u8], Option<Time>) {
    let Some((header, rest)) = buffer.split_at_checked(HEADER) else { return (&[], None) };
    let Some((control, bytes)) = rest.split_at_checked(CONTROL) else { return (&[], None) };
    let length = header[CONTROL_LENGTH..].first_chunk().map_or(0, |word| u32::from_ne_bytes(*word) as usize);
    (bytes, stamp_in(&control[..length.min(CONTROL)]))
}
