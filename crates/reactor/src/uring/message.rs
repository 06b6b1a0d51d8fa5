//! Waking another ring by an entry in its completion queue (`IORING_OP_MSG_RING`), which leaves with the next
//! submission and so costs neither thread a system call of its own, whereas an eventfd is written by one and read by
//! the other. Two thirds of the processor time, by `cargo run --release -p reactor --example wake`.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use io_uring::{opcode, squeue, types};

use crate::Waker;
use crate::epoll::EventFd;
use crate::uring::Uring;
use crate::uring::token::{Op, Token};

/// The first kernel that wakes a ring with deferred completions by a message. Source: Linux 6.3, `io_msg_ring_data`, which
/// has the target's own thread post the entry since then.
const SINCE: (u32, u32) = (6, 3);

/// Whether the kernel can.
pub(super) fn is_possible() -> bool {
    let release = rustix::system::uname();
    let release = release.release().to_string_lossy();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map_while(|part| part.parse::<u32>().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= SINCE
}

impl Uring {
    /// Wakes the reactor of `peer` with the next submission; if messages between rings are unavailable, at once by
    /// its counter.
    pub(super) fn wake_by_message(&mut self, peer: &EventFd) {
        let ring = peer.ring.load(Ordering::Acquire);
        if ring < 0 || !self.sends_messages {
            return peer.wake();
        }
        let known = self.woken.iter().position(|known| Arc::ptr_eq(&known.counter, &peer.counter));
        let number = known.unwrap_or_else(|| {
            self.woken.push(peer.clone());
            self.woken.len() - 1
        });
        let message = opcode::MsgRingData::new(types::Fd(ring), 0, Token::indexed(Op::Rung, 0).pack(), None);
        let message = message.build().flags(squeue::Flags::SKIP_SUCCESS);
        // SAFETY: it points at nothing.
        if unsafe { self.ring.push_silent(message, Token::indexed(Op::Message, number)) }.is_err() {
            peer.wake();
        }
    }

    /// A message has not arrived: the peer's queue is full, say, or the peer has ended.
    pub(super) fn message_failed(&mut self, number: usize) {
        if let Some(peer) = self.woken.get(number) {
            peer.wake();
        }
    }
}
