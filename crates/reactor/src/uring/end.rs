//! The end of a reactor: the kernel has to let go of its memory first.

use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::atomic::Ordering;

use io_uring::{opcode, types};
use units::Nanos;

use crate::monotonic_now;
use crate::uring::Uring;
use crate::uring::token::{Op, Token};

/// How long a dropped reactor waits for the kernel to let go of its buffers.
const LETTING_GO: Nanos = Nanos::from_secs(1);

impl Uring {
    /// Makes the kernel let go of everything. Returns whether it has.
    pub(super) fn quiesce(&mut self) -> io::Result<bool> {
        let everything = opcode::AsyncCancel2::new(types::CancelBuilder::any().all()).build();
        // SAFETY: it points at nothing.
        unsafe { self.ring.push(everything, Token::indexed(Op::Cancel, 0)) }?;
        let until = monotonic_now() + LETTING_GO;
        while self.ring.in_flight > 0 {
            let now = monotonic_now();
            if now >= until {
                return Ok(false);
            }
            self.ring.enter(1, Some(until.since(now)))?;
            self.ring.sends.clear();
        }
        Ok(true)
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        // From here on peers wake it by its counter, which outlives it.
        self.waker.ring.store(-1, Ordering::Release);
        let quiet = self.quiesce().unwrap_or(false);
        for done in self.ring.ready.drain(..) {
            if let (Op::Accept, Ok(fd)) = (done.token.op, done.result) {
                // SAFETY: the kernel has just made this descriptor for us, and it has no other owner.
                drop(unsafe { OwnedFd::from_raw_fd(fd as i32) });
            }
        }
        if quiet {
            // SAFETY: it is not used again.
            unsafe { ManuallyDrop::drop(&mut self.table) }
        } else {
            // The kernel may still read output and write into buffers: better to lose the memory.
            std::mem::forget(self.buffers.memory());
        }
    }
}
