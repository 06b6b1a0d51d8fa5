//! Output of streams on its way: what the kernel takes at once, and what became of the rest.

use std::io;

use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use crate::Conn;
use crate::uring::Uring;
use crate::uring::gather::Gather;
use crate::uring::table::{Entry, State};

impl Uring {
    /// Sends by a system call what the kernel takes at once. Returns whether something is left to the ring.
    #[inline]
    pub(super) fn send_now(&mut self, conn: Conn) -> bool {
        let Some(entry) = self.table.get_mut(conn) else { return false };
        // Behind what the ring has not sent yet, it is for the ring to keep the order.
        if entry.sends || entry.state != State::Open {
            return false;
        }
        if !entry.loans.is_empty() {
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

    /// The same with loans; what is left of them is copied.
    fn send_loans_now(&mut self, conn: Conn) -> bool {
        let Some(entry) = self.table.get_mut(conn) else { return false };
        let Some(fd) = &entry.fd else { return false };
        let (taken, outcome) = entry.loans.send(fd, &entry.out, 0);
        if let Err(error) = outcome {
            entry.drop_output();
            self.failed.push_back((conn, error));
            return false;
        }
        entry.loans.settle(&mut entry.out, 0, taken);
        entry.unsent() > 0
    }

    /// Sees to it that what was lent can leave with the next entry into the kernel, or copies it: a loan does not wait
    /// behind output that a peer does not take.
    pub(super) fn make_way(&mut self, conn: Conn) {
        let holds_up = |reactor: &Uring| reactor.table.get(conn).is_some_and(Entry::holds_up);
        if holds_up(&*self) && self.ring.queued() > 0 {
            // What this very turn has queued may leave at once. A ring that fails does so at the next poll, too.
            let _ = self.enter(0, None);
        }
        if holds_up(&*self)
            && let Some(entry) = self.table.get_mut(conn)
        {
            entry.copy_loans();
        }
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
            let gathered = entry.gather.as_deref().is_some_and(Gather::is_under_way);
            match done.result {
                Ok(n) if gathered => entry.gathered(n as usize),
                Err(Errno::AGAIN | Errno::INTR) if gathered => entry.gathered(0),
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
