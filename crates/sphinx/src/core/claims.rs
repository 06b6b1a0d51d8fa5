//! Room for values that are larger than a segment: items are evicted in steps, one a turn, and others are served in
//! between. Room is made for one value at a time.
//!
//! ```text
//!   the connection's thread                        the owner of the key
//!   request line ── claim ──────────────────────▶  the condition is looked at
//!                                                  steps … one a turn
//!   waits, and is not read                                │
//!   value ──▶ its place  ◀── the place ───────────────────┘
//!   end of the value ── commit ─────────────────▶  the index points at it
//! ```
//!
//! No part of such a value is kept anywhere else, and only its place is passed between threads. A client that announces
//! one and sends nothing occupies as much as memcached's slabs would give it; all of them together have at most three
//! quarters of the memory, and the server closes a connection that is silent within one for `reader_timeout`.

use cache_store::{Claim, Claimed, Key, KeyHash, Store};
use proto_memcache::Reply;
use reactor::{Conn, Reactor};

use super::Core;
use crate::arriving::{Arriving, Outcome, Wanted};
use crate::client::{Client, State};
use crate::message::{Answer, Ask, ClaimFor, Extra, Ticket, Work};
use crate::partitions::Place;
use crate::stats::prefixes::Detail;

/// A claim in progress, or queued.
pub(super) struct Pending {
    claim: Claim,
    partition: usize,
    whose: Whose,
}

/// Whom a claim is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// A connection of this thread.
    Own(Conn),
    /// One of another thread.
    Of(usize, Ticket),
}

impl<R: Reactor> Core<R> {
    /// Has room made for a value, while the connection waits; returns whether its request has been taken.
    pub(super) fn want(&mut self, client: &mut Client, key: Key, mut wanted: Wanted) -> bool {
        let (flags, expiry, length) = (wanted.flags, wanted.expiry, wanted.length);
        let command = wanted.command.clone();
        let claim = ClaimFor { hash: key.hash.to_u64(), flags, expiry, length, command };
        client.put_back();
        client.state = State::Held;
        match wanted.place {
            Place::Here(partition) => {
                self.partitions.leave();
                wanted.outcome =
                    self.claim(partition, Whose::Own(client.conn), &claim, key.bytes).map(Outcome::Refused);
                if wanted.outcome.is_some() {
                    self.ready.push_back(client.conn);
                }
            }
            Place::At(owner) => {
                if !self.links[owner].as_ref().is_some_and(|link| link.has_room()) {
                    self.wait_for_room(client);
                    return false;
                }
                let mut buffer = self.buffers.take();
                buffer.extend_from_slice(key.bytes);
                let ticket = Ticket { conn: client.conn, reply: None };
                self.ask_owner(client, owner, Ask { ticket, work: Work::Claim(Box::new(claim)), buffer });
            }
        }
        client.wanted = Some(Box::new(wanted));
        true
    }

    /// Queues a claim, unless the condition of its command does not hold: then no room is made for it, and the reply is
    /// returned.
    fn claim(&mut self, partition: usize, whose: Whose, wish: &ClaimFor, key: &[u8]) -> Option<Vec<u8>> {
        let key = Key { bytes: key, hash: KeyHash::from_u64(wish.hash) };
        self.count_detail(Some(Detail::Set), key.bytes);
        let (&ClaimFor { flags, expiry, length, ref command, .. }, now) = (wish, self.now);
        let replaces = command.replaces();
        if !replaces {
            let telling = match whose {
                Whose::Own(conn) => self.telling(conn, self.number),
                Whose::Of(peer, ticket) => self.telling(ticket.conn, peer),
            };
            let mut reply = self.buffers.take();
            let is_refused = self.partitions.with(partition, |store| {
                command.refuse(store, key, (expiry, length), telling.as_ref(), now, &mut reply)
            });
            if is_refused {
                return Some(reply);
            }
            self.buffers.give(reply);
        }
        let make = |store: &mut Store| store.claim(key, flags, expiry, length, replaces, now);
        let claim = self.partitions.with(partition, make);
        // The parser has the same limit.
        let claim = claim.expect("an item of at most the largest size");
        self.claims.push_back(Pending { claim, partition, whose });
        None
    }

    /// A claim requested by another thread for one of its connections; answered when the result is known.
    pub(super) fn claim_for(&mut self, peer: usize, ticket: Ticket, wish: &ClaimFor, key: &[u8]) {
        let Place::Here(partition) = self.partitions.place(KeyHash::from_u64(wish.hash)) else {
            unreachable!("the peer knows who owns a key")
        };
        if let Some(reply) = self.claim(partition, Whose::Of(peer, ticket), wish, key) {
            self.answer_claim(peer, ticket, Outcome::Refused(reply));
        }
    }

    /// Sends another thread the result of the claim of one of its connections.
    fn answer_claim(&mut self, peer: usize, ticket: Ticket, outcome: Outcome) {
        let answer = Answer { ticket, buffer: self.buffers.take(), extra: Extra::Claimed(Box::new(outcome)) };
        self.links[peer].as_mut().expect("the ask came from it").answer(answer);
    }

    /// Goes a step on with the first claim; returns whether there was one.
    pub(super) fn go_on_with_claims(&mut self, reactor: &mut R) -> bool {
        let Some(Pending { claim, partition, whose }) = self.claims.pop_front() else { return false };
        self.tell_time(reactor.now());
        self.partitions.leave();
        let now = self.now;
        let outcome = match self.partitions.with(partition, |store| store.go_on(claim, now)) {
            Claimed::NotYet(claim) => {
                self.claims.push_front(Pending { claim, partition, whose });
                return true;
            }
            Claimed::Whole(reservation) => Outcome::Room(reservation),
            Claimed::Refused => Outcome::NoRoom,
        };
        match whose {
            Whose::Own(conn) => {
                self.claimed(conn, outcome);
                self.go_on(reactor, conn);
            }
            Whose::Of(peer, ticket) => self.answer_claim(peer, ticket, outcome),
        }
        self.ring(reactor);
        true
    }

    /// Stores the result of a connection's claim. If the connection is closed the result is dropped, which its owner
    /// notices.
    pub(super) fn claimed(&mut self, conn: Conn, outcome: Outcome) {
        if let Some(wanted) = self.client(conn).and_then(|client| client.wanted.as_mut()) {
            wanted.outcome = Some(outcome);
        }
    }

    /// Begins to receive a value for which room has been made, or refuses it.
    #[cold]
    pub(super) fn take_up_claimed(&mut self, reactor: &mut R, client: &mut Client) {
        let Some(mut wanted) = client.wanted.take() else { return };
        let Some(outcome) = wanted.outcome.take() else {
            client.wanted = Some(wanted);
            return;
        };
        let Wanted { length, place, command, .. } = *wanted;
        let rest = length + command.line_end().len();
        match outcome {
            Outcome::Room(reservation) => {
                self.rounds.claimed += 1;
                client.heard = self.now;
                let arriving = Arriving::claimed(reservation, place, command);
                client.arriving = Some(Box::new(arriving));
            }
            Outcome::NoRoom => {
                client.skip(rest);
                if command.reply() == Reply::Wanted {
                    self.make(reactor, client, |out| command.no_memory(out));
                }
            }
            Outcome::Refused(reply) => {
                client.skip(rest);
                self.answer(reactor, client, Reply::Wanted, &reply);
                self.buffers.give(reply);
            }
        }
    }

    /// The connection is closed: its claims end.
    pub(super) fn give_up_claims(&mut self, conn: Conn) {
        let own = |pending: &Pending| pending.whose == Whose::Own(conn);
        if let Some(place) = self.claims.iter().position(own)
            && let Some(Pending { claim, partition, .. }) = self.claims.remove(place)
        {
            self.partitions.with(partition, |store| store.give_up_claim(claim));
        }
    }
}
