//! Operations that the reactor submits to the kernel. Each operation's `SAFETY` says who keeps the memory that it
//! points at.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use io_uring::{opcode, types};
use rustix::event::PollFlags;
use rustix::net::{SendFlags, SocketFlags};

use crate::Conn;
use crate::uring::table::{Receive, State};
use crate::uring::token::{Op, Token};
use crate::uring::{Uring, buffers};

/// Events of a poll for input.
const READABLE: u32 = PollFlags::IN.bits() as u32;

impl Uring {
    pub(super) fn arm_wake(&mut self) -> io::Result<()> {
        let fd = types::Fd(self.waker.counter.as_raw_fd());
        let read = opcode::Read::new(fd, self.buffers.memory().counter(), 8).build();
        // SAFETY: the counter's place lives as long as the ring, and is never read.
        unsafe { self.ring.push(read, Token::indexed(Op::Wake, 0)) }
    }

    pub(super) fn arm_accept(&mut self, listener: usize) -> io::Result<()> {
        let fd = types::Fd(self.listeners[listener].as_fd().as_raw_fd());
        let accept = opcode::AcceptMulti::new(fd).flags(SocketFlags::CLOEXEC.bits() as i32).build();
        // SAFETY: it points at nothing.
        unsafe { self.ring.push(accept, Token::indexed(Op::Accept, listener)) }
    }

    /// Waits for a client at a listener.
    pub(super) fn arm_backlog(&mut self, listener: usize) -> io::Result<()> {
        let fd = types::Fd(self.listeners[listener].as_fd().as_raw_fd());
        let client = opcode::PollAdd::new(fd, READABLE).build();
        // SAFETY: it points at nothing.
        unsafe { self.ring.push(client, Token::indexed(Op::Backlog, listener)) }
    }

    /// Waits for datagrams at a listener.
    pub(super) fn arm_serve(&mut self, server: usize) -> io::Result<()> {
        let fd = types::Fd(self.servers[server].fd.as_raw_fd());
        let datagrams = opcode::PollAdd::new(fd, READABLE).build();
        // SAFETY: it points at nothing.
        unsafe { self.ring.push(datagrams, Token::indexed(Op::Serve, server)) }
    }

    /// Starts to receive from the connection, if it should and does not.
    pub(super) fn arm_receive(&mut self, conn: Conn) -> io::Result<()> {
        let Some(entry) = self.table.get_mut(conn) else { return Ok(()) };
        if !entry.receives() || entry.receive != Receive::Idle {
            return Ok(());
        }
        if entry.state == State::Open && self.limits_receives() {
            return self.arm_room(conn);
        }
        let Some(entry) = self.table.get_mut(conn) else { return Ok(()) };
        let (receive, op) = match entry.state {
            State::Open if entry.stamped => {
                let receive =
                    opcode::RecvMsgMulti::new(entry.number(), self.stamped.header(), buffers::GROUP);
                (receive.build(), Op::Receive)
            }
            State::Open => (opcode::RecvMulti::new(entry.number(), buffers::GROUP).build(), Op::Receive),
            State::Datagrams => (opcode::PollAdd::new(entry.number(), READABLE).build(), Op::Datagrams),
            State::Connecting | State::Peer { .. } => return Ok(()),
        };
        entry.receive = Receive::Armed;
        // SAFETY: its only pointer is to the shape of a message, which lives as long as the reactor and is read as
        // the operation is submitted; the kernel picks from the buffers that it was given.
        unsafe { self.ring.push(receive, Token::of(op, conn)) }
    }

    /// Starts to wait for input of a connection that does not receive.
    pub(super) fn arm_room(&mut self, conn: Conn) -> io::Result<()> {
        let Some(entry) = self.table.get_mut(conn) else { return Ok(()) };
        entry.receive = Receive::Waiting;
        let input = opcode::PollAdd::new(entry.number(), READABLE).build();
        // SAFETY: it points at nothing.
        unsafe { self.ring.push(input, Token::of(Op::Room, conn)) }
    }

    /// Stops or resumes reading from a connection.
    pub(super) fn set_paused(&mut self, conn: Conn, pause: bool) {
        let Some(entry) = self.table.get_mut(conn) else { return };
        entry.paused = pause;
        let held = !entry.held.is_empty() || entry.ended.is_some();
        // What fails here is the ring, which every poll reports.
        if !pause {
            if held {
                self.resumed.push_back(conn);
            }
            let _ = self.arm_receive(conn);
        } else {
            let _ = self.end_receive(conn);
        }
    }

    /// Asks for the end of a receive that goes on by itself.
    pub(super) fn end_receive(&mut self, conn: Conn) -> io::Result<()> {
        let Some(entry) = self.table.get_mut(conn) else { return Ok(()) };
        if entry.receive != Receive::Armed || entry.state != State::Open {
            return Ok(());
        }
        entry.receive = Receive::Ending;
        self.cancel(Op::Receive, conn)
    }

    /// Watches a connection that is not read from for its end.
    pub(super) fn arm_watch(&mut self, conn: Conn) -> io::Result<()> {
        let Some(entry) = self.table.get_mut(conn).filter(|entry| !entry.watched) else { return Ok(()) };
        entry.watched = true;
        // Errors and hang-ups are reported always, so the set of what to report is empty.
        let watch = opcode::PollAdd::new(entry.number(), 0).build();
        // SAFETY: it points at nothing.
        unsafe { self.ring.push(watch, Token::of(Op::Watch, conn)) }
    }

    pub(super) fn cancel(&mut self, op: Op, conn: Conn) -> io::Result<()> {
        let target = types::CancelBuilder::user_data(Token::of(op, conn).pack());
        // SAFETY: it points at nothing.
        unsafe { self.ring.push(opcode::AsyncCancel2::new(target).build(), Token::of(Op::Cancel, conn)) }
    }

    /// Queues a send of the next output, unless one is under way. Returns whether it did.
    #[inline]
    pub(super) fn queue_send(&mut self, conn: Conn) -> io::Result<bool> {
        let Some(entry) = self.table.get_mut(conn) else { return Ok(false) };
        if entry.sends || entry.state != State::Open {
            return Ok(false);
        }
        let number = entry.number();
        if entry.has_gathered() || (!entry.loans.is_empty() && !entry.holds_up()) {
            return self.queue_gathered(conn);
        }
        let (bytes, _) = entry.next_to_leave();
        if bytes.is_empty() {
            return Ok(false);
        }
        let (start, length) = (bytes.as_ptr(), bytes.len().min(i32::MAX as usize) as u32);
        // Without WAITALL, by which the kernel itself would go on after a short send: a caller that reads the unsent
        // count would not see progress until the peer has taken all.
        let flags = SendFlags::NOSIGNAL.bits() as i32;
        let send = opcode::Send::new(number, start, length).flags(flags).build();
        entry.sends = true;
        // SAFETY: the bytes are in `Entry::leaving`, which is not touched while `Entry::sends`, and which stays with
        // the table until the send has ended, even if the connection is closed.
        unsafe { self.ring.push(send, Token::of(Op::Send, conn)) }?;
        Ok(true)
    }

    /// Queues a send of text and loans.
    fn queue_gathered(&mut self, conn: Conn) -> io::Result<bool> {
        let Some(entry) = self.table.get_mut(conn) else { return Ok(false) };
        let number = entry.number();
        // Without WAITALL, as with text.
        let flags = SendFlags::NOSIGNAL.bits();
        let send = opcode::SendMsg::new(number, entry.gather()).flags(flags).build();
        entry.sends = true;
        // SAFETY: message, pieces and loans are in `Entry::gather`, a box, and the text is in `Entry::leaving`; they
        // are not touched while `Entry::sends`, and stay with the table until the send has ended.
        unsafe { self.ring.push(send, Token::of(Op::Send, conn)) }?;
        Ok(true)
    }
}
