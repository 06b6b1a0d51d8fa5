use dist::{Purpose, Rng, Streams};
use rand::RngExt;
use units::Nanos;

use crate::sim::SimReactor;
use crate::sim::datagrams::Link;
use crate::sim::world::Delivery;
use crate::{Conn, Event, Handler};

/// Faults of a simulated network and its kernels for streams, within the limit that the order of the bytes is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StreamFaults {
    /// The probability that the bytes of one send arrive in two parts.
    pub split: f64,
    /// The probability that the kernel takes only a part of the flushed bytes, and the rest later.
    pub short: f64,
    /// The probability that a flush finds the connection reset, for both sides.
    pub reset: f64,
    /// Each part, each rest and each wake-up is late by a time drawn evenly from 0 up to this.
    pub late: Nanos,
    /// The seed of the draws; one seed gives one history.
    pub seed: u64,
}

/// The draws behind the faults.
pub(super) struct StreamFate {
    faults: StreamFaults,
    rng: Rng,
}

impl StreamFate {
    pub(super) fn new(faults: StreamFaults) -> StreamFate {
        for p in [faults.split, faults.short, faults.reset] {
            assert!((0.0..=1.0).contains(&p), "{p} is not a probability");
        }
        // Any number serves that no other stream of the seed has: these are the letters of "pipe".
        StreamFate { faults, rng: Streams::new(faults.seed).stream(Purpose::Other(0x7069_7065), 0) }
    }

    fn happens(&mut self, probability: f64) -> bool {
        self.rng.random::<f64>() < probability
    }

    pub(super) fn late(&mut self) -> Nanos {
        Nanos(self.rng.random_range(0..=self.faults.late.0))
    }

    /// Where `length` bytes are cut with a probability; both parts have some.
    fn cut(&mut self, length: usize, probability: f64) -> Option<usize> {
        (length > 1 && self.happens(probability)).then(|| self.rng.random_range(1..length))
    }
}

impl SimReactor {
    /// Sends the output of a stream, subject to the network's faults.
    pub(super) fn flush_stream(&mut self, conn: Conn) {
        let Some(slot) = self.slot(conn) else { return };
        let Link::Stream { peer: Some((machine, peer)) } = slot.link else { return };
        // The kernel has not taken the rest of an earlier flush yet.
        if slot.blocked {
            return;
        }
        let (deserted, unread) = (slot.deserted, slot.unread);
        slot.broken |= deserted;
        let (mut out, mut loans) = (std::mem::take(&mut slot.out), std::mem::take(&mut slot.loans));
        // Copy the loans only here: the peer sees it if they were changed before the bytes leave.
        let mut bytes = Vec::with_capacity(out.len() + loans.bytes());
        loans.behind(&out, 0, 0).for_each(|piece| bytes.extend_from_slice(piece));
        let left = self.leave();
        if deserted {
            // It comes to a machine that does not know the stream any more, which answers with a reset.
            let mut wires = self.wires.borrow_mut();
            let at = left + wires.delay + wires.delay;
            let error = Some(std::io::ErrorKind::ConnectionReset);
            return wires.arrive(self.index, at, Delivery::Closed { conn, error });
        }
        let mut wires = self.wires.borrow_mut();
        let Some(mut fate) = wires.stream_fate.take() else {
            let taken = bytes.len().min(wires.window.saturating_sub(unread));
            let is_whole = taken == bytes.len();
            bytes.truncate(taken);
            if taken > 0 {
                wires.deliver(machine, left, Delivery::Data { conn: peer, bytes });
            }
            drop(wires);
            let slot = self.slot(conn).expect("it was there");
            slot.unread += taken;
            if !is_whole {
                let from = loans.advance(0, taken);
                out.drain(..from);
                loans.shift(from);
                (slot.out, slot.loans, slot.blocked) = (out, loans, true);
            }
            return;
        };
        if fate.happens(fate.faults.reset) {
            let error = Some(std::io::ErrorKind::ConnectionReset);
            wires.deliver(machine, left, Delivery::Closed { conn: peer, error });
            wires.arrive(self.index, left, Delivery::Closed { conn, error });
            wires.stream_fate = Some(fate);
            drop(wires);
            self.slot(conn).expect("it was there").broken = true;
            return;
        }
        let taken = fate.cut(bytes.len(), fate.faults.short);
        bytes.truncate(taken.unwrap_or(bytes.len()));
        let second = fate.cut(bytes.len(), fate.faults.split).map(|at| bytes.split_off(at));
        let mut at = left + wires.delay;
        let mut arrivals = Vec::new();
        for bytes in [Some(bytes), second].into_iter().flatten() {
            at += fate.late();
            arrivals.push((at, bytes));
        }
        let room_at = left + fate.late();
        wires.stream_fate = Some(fate);
        if taken.is_some() {
            wires.arrive(self.index, room_at, Delivery::Room { conn });
        }
        drop(wires);
        let slot = self.slot(conn).expect("it was there");
        let mut last = slot.last_arrival;
        if let Some(taken) = taken {
            let from = loans.advance(0, taken);
            out.drain(..from);
            loans.shift(from);
            (slot.out, slot.loans, slot.blocked) = (out, loans, true);
        }
        for (at, bytes) in arrivals {
            // For any delays, bytes arrive in the order in which they were sent.
            last = last.max(at);
            self.wires.borrow_mut().arrive(machine, last, Delivery::Data { conn: peer, bytes });
        }
        if let Some(slot) = self.slot(conn) {
            slot.last_arrival = last;
        }
    }

    /// The program reads bytes, of which the peer's kernel learns if streams have windows.
    pub(super) fn tell_read(&mut self, conn: Conn, bytes: usize) {
        if self.wires.borrow().window == usize::MAX {
            return;
        }
        let at = self.clock();
        if let Some(Link::Stream { peer: Some((machine, peer)) }) = self.slot(conn).map(|slot| slot.link) {
            self.wires.borrow_mut().deliver(machine, at, Delivery::Read { conn: peer, bytes });
        }
    }

    /// The peer's program has read bytes, so that there is room for others.
    pub(super) fn was_read(&mut self, conn: Conn, bytes: usize, handler: &mut impl Handler<Self>) {
        let Some(slot) = self.slot(conn) else { return };
        slot.unread = slot.unread.saturating_sub(bytes);
        if slot.blocked {
            self.room(conn, handler);
        }
    }

    /// The kernel takes the rest of a flush.
    pub(super) fn room(&mut self, conn: Conn, handler: &mut impl Handler<Self>) {
        let Some(slot) = self.slot(conn) else { return };
        slot.blocked = false;
        self.flush_stream(conn);
        if self.slot(conn).is_some_and(|slot| slot.out.len() + slot.loans.bytes() == 0) {
            handler.event(self, Event::Drained { conn });
        }
    }

    /// When the end of a stream that is closed now arrives at its other end.
    pub(super) fn end_arrives(&mut self, conn: Conn) -> units::Time {
        let at = self.clock() + self.wires.borrow().delay;
        self.slot(conn).map_or(at, |slot| slot.last_arrival.max(at))
    }
}
