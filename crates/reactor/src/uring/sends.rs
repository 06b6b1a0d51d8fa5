//! Output of streams on its way: sends that the kernel takes at once, and completions of the rest.

use std::io;

use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use crate::Conn;
use crate::uring::Uring;
use crate::uring::table::State;

impl Uring {
    /// Sends by a system call as much as the kernel takes at once. Returns whether the ring has to send a rest.
    #[inline]
    pub(super) fn send_now(&mut self, conn: Conn) -> bool {
        let Some(entry) = self.table.get_mut(conn) else { return false };
        // While the ring still has bytes to send, the ring sends these too, to keep the order.
        if entry.sends || entry.state != State::Open {
            return false;
        }
        if !entry.loans.is_empty() || entry.has_gathered() {
            return self.send_loans_now(conn);
        }
        let (bytes, fd) = entry.next_to_leave();
        let Some(fd) = fd.filter(|_| !bytes.is_empty()) else { return false };
        match send(fd, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Ok(n) => entry.advance(n),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => {
                entry.drop_output();
                self.failed.push_back((conn, error));
                return false;
            }
        }
        entry.unsent() > 0
    }

    /// The same with loans.
    fn send_loans_now(&mut self, conn: Conn) -> bool {
        let Some(entry) = self.table.get_mut(conn) else { return false };
        if entry.holds_up() {
            return true;
        }
        entry.gather();
        let (Some(fd), Some(gather)) = (&entry.fd, &mut entry.gather) else { return false };
        let (taken, outcome) = gather.loans().send(fd, &entry.leaving, entry.left);
        if let Err(error) = outcome {
            entry.drop_output();
            self.failed.push_back((conn, error));
            return false;
        }
        entry.gathered(taken);
        entry.unsent() > 0
    }

    /// Records what became of sends.
    pub(super) fn settle(&mut self) -> io::Result<()> {
        while let Some(done) = self.ring.sends.pop_front() {
            let conn = done.token.conn;
            let Some(entry) = self.table.get_mut(conn) else {
                self.table.finished(conn);
                continue;
            };
            entry.sends = false;
            match done.result {
                Ok(n) if entry.has_gathered() => entry.gathered(n as usize),
                Ok(n) => entry.advance(n as usize),
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(error) => {
                    entry.drop_output();
                    self.failed.push_back((conn, error));
                    continue;
                }
            }
            if entry.unsent() == 0 {
                if std::mem::take(&mut entry.owed) {
                    self.drained.push_back(conn);
                }
            } else if entry.owed {
                self.queue_send(conn)?;
            }
        }
        Ok(())
    }
}
