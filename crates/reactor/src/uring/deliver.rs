//! From completions to events.

use std::io;
use std::rc::Rc;

use rustix::event::PollFlags;
use rustix::io::Errno;

use crate::uring::Uring;
use crate::uring::buffers::{Buffers, Memory};
use crate::uring::ring::Completion;
use crate::uring::stamped;
use crate::uring::table::{Entry, Receive, State};
use crate::uring::token::Op;
use crate::{Conn, Event, Handler};

/// Completions handled per poll; more would delay sends that become due in that time.
const PER_POLL: usize = 64;

impl Uring {
    /// Passes new events to `handler`. Returns their number.
    pub(super) fn deliver(&mut self, handler: &mut impl Handler<Self>) -> io::Result<usize> {
        let mut events = 0;
        // Entries added by the handler's own calls wait for the next poll.
        for _ in 0..self.greeted.len() {
            if let Some(conn) = self.greeted.pop_front()
                && self.table.get(conn).is_some()
            {
                handler.event(self, Event::Connected { conn });
                self.arm_receive(conn)?;
                events += 1;
            }
        }
        for _ in 0..self.drained.len() {
            if let Some(conn) = self.drained.pop_front()
                && self.table.get(conn).is_some()
            {
                handler.event(self, Event::Drained { conn });
                events += 1;
            }
        }
        for _ in 0..self.resumed.len() {
            if let Some(conn) = self.resumed.pop_front() {
                events += self.show_held(conn, handler)?;
            }
        }
        if !self.ring.ready.is_empty() {
            // Held here, so that the bytes stay valid for any calls of the handler to the reactor.
            let memory = self.buffers.memory();
            for _ in 0..PER_POLL {
                let Some(done) = self.ring.ready.pop_front() else { break };
                events += self.completed(done, &memory, handler)?;
            }
        }
        // Last, so that bytes received before the failure are shown first.
        for _ in 0..self.failed.len() {
            if let Some((conn, error)) = self.failed.pop_front() {
                events += self.closed(conn, Some(error.into()), handler);
            }
        }
        Ok(events)
    }

    fn completed(
        &mut self,
        done: Completion,
        memory: &Rc<Memory>,
        handler: &mut impl Handler<Self>,
    ) -> io::Result<usize> {
        let conn = done.token.conn;
        match done.token.op {
            Op::Receive => self.received(done, memory, handler),
            Op::Room => self.fill_room(conn, handler),
            Op::Connect => self.connected(conn, done.result, handler),
            Op::Watch => self.ended_unread(conn, done.result),
            Op::Accept => self.accepted(done, handler),
            Op::Backlog => self.client_waits(conn.slot as usize, handler),
            Op::Datagrams => self.receive_datagrams(conn, done.result, handler),
            Op::Serve => self.serve_datagrams(conn.slot as usize, handler),
            Op::Wake => {
                self.arm_wake()?;
                handler.event(self, Event::Woken);
                Ok(1)
            }
            Op::Rung => {
                handler.event(self, Event::Woken);
                Ok(1)
            }
            Op::Message => {
                self.message_failed(conn.slot as usize);
                Ok(0)
            }
            // A cancelled operation reports its own end. Sends were handled before.
            Op::Cancel | Op::Send => Ok(0),
        }
    }

    fn received(
        &mut self,
        done: Completion,
        memory: &Rc<Memory>,
        handler: &mut impl Handler<Self>,
    ) -> io::Result<usize> {
        let conn = done.token.conn;
        let mut events = 0;
        if let Some(entry) = self.table.get_mut(conn) {
            if !done.more() {
                entry.receive = Receive::Idle;
            }
            match (done.result, done.buffer()) {
                (Ok(length @ 1..), Some(id)) => {
                    // SAFETY: the kernel has filled this buffer, and it is given back below, after the last use.
                    let bytes = unsafe { Buffers::bytes(memory, id, length as usize) };
                    let (bytes, stamp) = if entry.stamped { stamped::parse(bytes) } else { (bytes, None) };
                    if bytes.is_empty() {
                        events = self.ended(conn, None, handler);
                    } else if entry.reads() && entry.held.is_empty() {
                        // For an observer: from here on it is this connection's turn. One instruction that does
                        // nothing, while no observer is attached.
                        probe::probe!(reactor, turn, entry.number().0);
                        let at = done.at;
                        let came = self.receive_stamps.came(stamp, at);
                        handler.event(self, Event::Data { conn, at, came, bytes });
                        self.leave_for_room(conn, handler)?;
                        events = 1;
                    } else {
                        entry.held.extend_from_slice(bytes);
                    }
                }
                (Ok(_), _) => events = self.ended(conn, None, handler),
                // No buffer was free, or reading was paused: if it should go on, it is armed again below.
                (Err(Errno::NOBUFS | Errno::CANCELED | Errno::AGAIN | Errno::INTR), _) => {}
                (Err(error), _) => events = self.ended(conn, Some(error), handler),
            }
        } else if !done.more() {
            self.table.finished(conn);
        }
        if let Some(id) = done.buffer()
            && Rc::ptr_eq(memory, &self.buffers.memory())
        {
            self.buffers.give_back(id);
        }
        if !done.more() {
            self.receive_on(conn, handler)?;
        }
        Ok(events)
    }

    /// Goes on to receive from a connection whose last receive has ended, or to watch for its end.
    pub(super) fn receive_on(&mut self, conn: Conn, handler: &mut impl Handler<Self>) -> io::Result<()> {
        if !self.wait_for_room(conn, handler)? {
            self.arm_receive(conn)?;
        }
        let entry = self.table.get(conn);
        if entry.is_some_and(|entry| entry.receive == Receive::Idle && entry.ended.is_none()) {
            self.arm_watch(conn)?;
        }
        Ok(())
    }

    /// A connection came to its end. The end is shown after withheld bytes, and, unless it is an error, once the
    /// handler reads.
    pub(super) fn ended(
        &mut self,
        conn: Conn,
        error: Option<Errno>,
        handler: &mut impl Handler<Self>,
    ) -> usize {
        match self.table.get_mut(conn) {
            Some(entry) if !entry.held.is_empty() || (!entry.reads() && error.is_none()) => {
                entry.ended = Some(error);
                0
            }
            _ => self.end(conn, error, handler),
        }
    }

    /// The handler learns of the end.
    fn end(&mut self, conn: Conn, error: Option<Errno>, handler: &mut impl Handler<Self>) -> usize {
        let Some(entry) = self.table.get_mut(conn) else { return 0 };
        if error.is_some() || !self.half_closes || entry.read_closed || entry.broken {
            return self.closed(conn, error.map(io::Error::from), handler);
        }
        entry.read_closed = true;
        entry.ended = None;
        handler.event(self, Event::ReadClosed { conn });
        1
    }

    /// Shows bytes received before the handler paused.
    fn show_held(&mut self, conn: Conn, handler: &mut impl Handler<Self>) -> io::Result<usize> {
        let Some(entry) = self.table.get_mut(conn).filter(|entry| entry.reads()) else { return Ok(0) };
        let (bytes, ended) = (std::mem::take(&mut entry.held), entry.ended);
        let mut events = 0;
        if !bytes.is_empty() {
            let at = crate::monotonic_now();
            handler.event(self, Event::Data { conn, at, came: None, bytes: &bytes });
            events += 1;
        }
        if let Some(error) = ended
            && self.table.get(conn).is_some_and(Entry::reads)
        {
            events += self.end(conn, error, handler);
            if self.table.get(conn).is_some() {
                self.arm_watch(conn)?;
            }
        }
        Ok(events)
    }

    /// A connection that is not read from broke, or its peer stopped sending.
    fn ended_unread(&mut self, conn: Conn, result: Result<u32, Errno>) -> io::Result<usize> {
        let Some(entry) = self.table.get_mut(conn) else {
            self.table.finished(conn);
            return Ok(0);
        };
        entry.watched = false;
        let broken = PollFlags::ERR | PollFlags::HUP;
        if (!entry.reads() || entry.read_closed)
            && result.is_ok_and(|flags| flags & u32::from(broken.bits()) != 0)
        {
            // As with epoll, which reports a broken connection whether it is read from or not.
            entry.broken = true;
            if !entry.held.is_empty() || entry.ended.is_some() {
                self.resumed.push_back(conn);
            }
            self.arm_receive(conn)?;
        }
        Ok(0)
    }

    fn connected(
        &mut self,
        conn: Conn,
        result: Result<u32, Errno>,
        handler: &mut impl Handler<Self>,
    ) -> io::Result<usize> {
        let Some(entry) = self.table.get_mut(conn) else {
            self.table.finished(conn);
            return Ok(0);
        };
        entry.state = State::Open;
        entry.address = None;
        if let Err(error) = result {
            return Ok(self.closed(conn, Some(error.into()), handler));
        }
        let early = !entry.out.is_empty();
        entry.owed = early;
        handler.event(self, Event::Connected { conn });
        self.arm_receive(conn)?;
        if early {
            self.queue_send(conn)?;
        }
        Ok(1)
    }

    pub(super) fn closed(
        &mut self,
        conn: Conn,
        error: Option<io::Error>,
        handler: &mut impl Handler<Self>,
    ) -> usize {
        if self.table.get(conn).is_none() {
            return 0;
        }
        self.remove(conn);
        handler.event(self, Event::Closed { conn, error });
        1
    }
}
