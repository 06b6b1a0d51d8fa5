//! The memory of connections' buffers: limits, waiting connections, and release.
//!
//! ```text
//!   what a connection would take more for        while the budget is used up
//!   a large request that is not whole            the connection is not read, and waits in line
//!   a large value that must be copied            the request waits in line; what can be lent never does
//!   replies that leave slowly                    no more are made beyond 16 KiB until these have left
//!   a large value for another thread             the connection waits for an answer of that thread
//! ```
//!
//! Waiting connections continue in order. The first one continues in any case unless another has been granted that:
//! this guarantees progress, unless its own client blocks, for which there is a time-out.

use reactor::{Conn, Reactor};

use super::Core;
use super::requests::Flow;
use crate::budget::{self, FREE, SMALL, counted};
use crate::client::{Client, State};
use crate::operation::resp::RespOperation;
use crate::replies;

impl<R: Reactor> Core<R> {
    /// Charges the current memory of the connection's output.
    #[inline]
    pub(super) fn charge_output(&mut self, reactor: &R, client: &mut Client) {
        let output = counted(reactor.memory(client.conn)) + counted(client.replies.copied());
        self.account.exchange(&mut client.charged[1], output);
    }

    /// Charges the current memory of the connection.
    #[inline]
    pub(super) fn charge(&mut self, reactor: &mut R, client: &mut Client) {
        self.charge_output(reactor, client);
        let input = client.input_memory();
        self.account.exchange(&mut client.charged[0], input);
        self.note_holder(client);
        self.account.exchange(&mut self.spare_charged, self.large_inputs.bytes());
        // Outstanding answers of other threads are charged to this thread's account, or to none.
        let has_nothing = client.charged == [0; 2] && client.replies.waiting() == 0;
        if self.grace == Some(client.conn) && !client.hungry && has_nothing {
            self.grace = None;
        }
        if self.account.was_refused() {
            self.be_frugal(reactor);
        }
    }

    /// The connection is closed; its charge is released.
    pub(super) fn uncharge(&mut self, client: &Client) {
        self.account.release(client.charged.iter().sum());
        if client.hungry {
            self.account.budget().end_wait();
        }
        if self.grace == Some(client.conn) {
            self.grace = None;
        }
    }

    /// Whether the connection may take as much memory as the largest request or reply does.
    #[inline]
    pub(super) fn may_grow(&mut self, client: &Client) -> bool {
        self.account.may_grow() || self.grace == Some(client.conn)
    }

    /// Whether the connection may take `bytes` bytes.
    pub(super) fn may_grow_by(&mut self, client: &Client, bytes: usize) -> bool {
        self.account.may_grow_by(bytes) || self.grace == Some(client.conn)
    }

    /// Has the connection wait for `bytes` bytes of memory.
    #[cold]
    pub(super) fn wait_for_memory(&mut self, client: &mut Client, bytes: usize) -> Flow {
        if !client.hungry {
            client.hungry = true;
            self.account.budget().begin_wait();
            self.stats.connection_memory_waits += 1;
            self.hungry[usize::from(bytes > SMALL)].push_back(client.conn);
        }
        if client.state == State::Open {
            client.state = State::Held;
        }
        Flow::Hold
    }

    /// Most bytes of replies that may be put into the output now: a step at a time, in turn with other connections. Those
    /// that must be copied there, as TLS does, wait until there is memory.
    #[inline]
    pub(super) fn room_for_release(&mut self, reactor: &R, client: &mut Client) -> usize {
        match client.replies.front_length() {
            0..=FREE if client.replies.bytes() <= FREE => usize::MAX,
            _ if client.frames.is_some() => usize::MAX,
            first => self.room_for_large(reactor.lends(client.conn), client, first),
        }
    }

    #[cold]
    fn room_for_large(&mut self, lends: bool, client: &mut Client, first: usize) -> usize {
        let step = budget::largest(self.common.config.item_max).min(replies::STEP);
        if first > FREE && self.is_turn_over() {
            return 0;
        }
        if lends || self.may_grow(client) {
            return step;
        }
        let first = first.min(step);
        if first > FREE && !self.may_grow_by(client, first) {
            _ = self.wait_for_memory(client, first);
            return 0;
        }
        first
    }

    /// Makes room for the request that is not whole, or has the connection wait. To be called when its input is in place.
    #[inline]
    pub(super) fn grant_input(&mut self, client: &mut Client) {
        let wanted = client.needed().max(client.input.capacity());
        if wanted > FREE.max(client.granted) {
            self.grant_large_input(client);
        } else if client.input.capacity() <= FREE {
            client.granted = 0;
        }
    }

    #[cold]
    fn grant_large_input(&mut self, client: &mut Client) {
        if client.state != State::Open || client.arriving.is_some() {
            return;
        }
        let needed = client.needed();
        let wanted = needed.max(client.input.capacity());
        if !self.may_grow_by(client, wanted) {
            self.wait_for_memory(client, wanted);
            return;
        }
        self.large_inputs.reserve(&mut client.input, needed);
        client.granted = client.input.capacity();
    }

    /// Whether a connection of this thread waits for memory.
    pub(super) fn has_hungry(&self) -> bool {
        self.hungry.iter().any(|line| !line.is_empty())
    }

    /// Continues connections that wait for memory, in order of arrival.
    pub(super) fn resume_hungry(&mut self, reactor: &mut R) -> bool {
        if !self.has_hungry() {
            if self.short.is_some() {
                self.end_frugality(reactor);
            }
            return false;
        }
        self.begin_turn();
        let mut any = false;
        for line in 0..self.hungry.len() {
            // Once for each: one that has to wait again is queued behind the others.
            for _ in 0..self.hungry[line].len() {
                if any && self.is_turn_over() {
                    break;
                }
                let Some(conn) = self.next_hungry(line) else { break };
                let Some(client) = self.client(conn) else { continue };
                client.hungry = false;
                self.account.budget().end_wait();
                self.go_on(reactor, conn);
                any = true;
            }
        }
        if any {
            self.ring(reactor);
        }
        any
    }

    /// Takes the first connection of a line, if it may go on or is closed.
    fn next_hungry(&mut self, line: usize) -> Option<Conn> {
        let conn = *self.hungry[line].front()?;
        let may = self.client(conn).is_none()
            || if line == 0 { self.account.may_grow_by(SMALL) } else { self.account.may_grow() };
        if !may {
            // A large one that waits has it before small ones, which would otherwise always have it.
            if self.grace.is_some() || (line == 0 && !self.hungry[1].is_empty()) {
                return None;
            }
            self.grace = Some(conn);
        }
        self.hungry[line].pop_front()
    }

    /// Keeps no spare memory, and receives no more at once than a connection has free, since memory is short.
    #[cold]
    fn be_frugal(&mut self, reactor: &mut R) {
        if self.short.replace(self.now).is_none() {
            self.large_inputs.frugal = true;
            self.give_spare_back();
            reactor.limit_receives(FREE);
        }
    }

    /// Ends that when memory has not been short for a second: on io_uring the change takes two operations per connection.
    #[cold]
    fn end_frugality(&mut self, reactor: &mut R) {
        if self.short.is_some_and(|since| self.now > since + 1) && self.account.may_grow() {
            self.short = None;
            self.large_inputs.frugal = false;
            reactor.limit_receives(usize::MAX);
        }
    }

    /// Frees buffers that are kept for requests to come.
    pub(super) fn give_spare_back(&mut self) {
        self.large_inputs.clear();
        self.account.exchange(&mut self.spare_charged, 0);
    }

    /// A thread that was idle returns connections' memory to the system.
    pub(super) fn give_memory_back(&mut self) {
        self.give_spare_back();
        if self.account.has_fallen() {
            crate::allocator::trim();
        }
    }

    /// The answer of another thread that had no memory for a reply: memcached's in the same case. The connection then
    /// closes, since within a `get` of several keys no client expects it.
    pub(super) fn refuse_reply(&mut self, client: &mut Client, number: u64, answer: Vec<u8>) {
        client.replies.fill(number, answer, None);
        let mut error = Vec::new();
        RespOperation::no_memory(&mut error);
        client.end_command(&error);
        client.close_for_error();
    }
}
