use std::cell::{RefCell, RefMut};
use std::cmp::Reverse;
use std::collections::VecDeque;
use std::io;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use units::{Nanos, Time};

use crate::loans::{self, Loan, Loans};
use crate::peers::Peers;
use crate::room::received;
use crate::sim::datagrams::{Key, Link};
use crate::sim::world::{Delivery, Machine, Scheduled, Wires, wake_after_empty_poll};
use crate::slots::{self, Slots};
use crate::{Address, Conn, Datagrams, Event, Handler, Reactor, Via, Wait, Waker};

/// Deliveries taken per poll, as the real backend bounds its events.
const EVENTS_PER_POLL: usize = 64;

#[derive(Default)]
pub(super) struct Slot {
    pub(super) link: Link,
    pub(super) out: Vec<u8>,
    /// Loans in `out`.
    pub(super) loans: Loans,
    pub(super) paused: bool,
    /// The kernel has taken a part of the output, and takes no more for now.
    pub(super) blocked: bool,
    /// Bytes that the peer's program has not read.
    pub(super) unread: usize,
    /// A send has found that the peer does not read any more.
    pub(super) broken: bool,
    /// When the last bytes sent arrive.
    pub(super) last_arrival: Time,
    /// Arrived while reading was paused, or is more than one receive takes.
    held: VecDeque<Bytes>,
    /// So did the end, after them.
    held_end: bool,
    /// The peer sends no more.
    read_closed: bool,
    /// Nor does it read.
    pub(super) deserted: bool,
    /// Of an accepted client: the source address that it chose.
    source: Option<IpAddr>,
}

impl slots::HasOutput for Slot {
    const GENERATIONS: u32 = u32::MAX;

    fn output(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }
}

/// A reactor on a simulated machine.
pub struct SimReactor {
    pub(super) wires: Rc<RefCell<Wires>>,
    pub(super) index: usize,
    slots: Slots<Slot>,
    /// The peers that have written to its datagram servers.
    pub(super) peers: Peers<Key>,
    pub(super) datagrams: Datagrams,
    half_closes: bool,
    /// The most bytes received at once of a stream. Units: bytes.
    receive: usize,
    /// Whether bytes received on streams are stamped.
    stamps: bool,
}

/// Wakes a simulated machine: the world delivers it when the program that wakes has had its turn.
#[derive(Clone)]
pub struct SimWaker {
    index: usize,
    woken: Arc<Mutex<Vec<usize>>>,
}

impl Waker for SimWaker {
    fn wake(&self) {
        self.woken.lock().unwrap_or_else(PoisonError::into_inner).push(self.index);
    }
}

impl SimReactor {
    pub(super) fn new(wires: Rc<RefCell<Wires>>, index: usize) -> SimReactor {
        SimReactor {
            wires,
            index,
            slots: Slots::default(),
            peers: Peers::new(),
            datagrams: Datagrams::default(),
            half_closes: false,
            receive: usize::MAX,
            stamps: false,
        }
    }

    pub(super) fn index(&self) -> usize {
        self.index
    }

    /// Delivers [`Event::Woken`] to this machine after the wires' delay.
    pub fn wake(&mut self) {
        let at = self.clock();
        self.wires.borrow_mut().deliver(self.index, at, Delivery::Woken);
    }

    /// Stops listening at `addr`, as a server that has died; its program has to close the open connections.
    pub fn deafen(&mut self, addr: &Address) {
        self.wires.borrow_mut().listeners.remove(addr);
    }

    /// Stops listening at `addr`, and never answers a client that connects there, as a machine that is down.
    pub fn vanish(&mut self, addr: &Address) {
        self.deafen(addr);
        self.wires.borrow_mut().silent.insert(addr.clone());
    }

    /// Ends this side of a stream: the peer learns that nothing more comes, and this side still reads.
    pub fn end_sending(&mut self, conn: Conn) {
        let at = self.end_arrives(conn);
        if let Some(Link::Stream { peer: Some((peer, peer_conn)) }) = self.slot(conn).map(|slot| slot.link) {
            self.wires.borrow_mut().arrive(peer, at, Delivery::Ended { conn: peer_conn, deserted: false });
        }
    }

    /// The peer of a stream sends no more.
    fn ended(&mut self, conn: Conn, deserted: bool, handler: &mut impl Handler<Self>) {
        let half_closes = self.half_closes;
        let Some(slot) = self.slot(conn) else { return };
        slot.deserted |= deserted;
        if slot.paused || !slot.held.is_empty() {
            slot.held_end = true;
        } else if half_closes && !slot.read_closed {
            slot.read_closed = true;
            handler.event(self, Event::ReadClosed { conn });
        } else if !half_closes {
            // As on a real machine whose program closes its side when it reads the end of the other.
            self.close(conn);
            handler.event(self, Event::Closed { conn, error: None });
        }
    }

    /// Source address that the client of an accepted stream chose ([`Via::source`]).
    pub fn source(&self, conn: Conn) -> Option<IpAddr> {
        self.slots.get(conn)?.source
    }

    /// Spends `span` of this machine's processor time.
    pub fn work(&mut self, span: Nanos) {
        self.machine().clock += span;
    }

    /// The world's time, at which what leaves now leaves.
    pub(super) fn clock(&self) -> Time {
        self.machine().clock
    }

    pub(super) fn machine(&self) -> RefMut<'_, Machine> {
        RefMut::map(self.wires.borrow_mut(), |wires| &mut wires.machines[self.index])
    }

    pub(super) fn insert(&mut self, link: Link) -> Conn {
        self.slots.insert(|_| Slot { link, ..Slot::default() })
    }

    pub(super) fn insert_peer(&mut self, key: Key, now: Time) -> Conn {
        self.peers.insert(key, now, |index| {
            self.slots.insert(|_| Slot { link: Link::Peer { index }, ..Slot::default() })
        })
    }

    pub(super) fn slot(&mut self, conn: Conn) -> Option<&mut Slot> {
        self.slots.get_mut(conn)
    }

    /// Frees the connection's slot; returns its link, unless it was closed already.
    pub(super) fn remove(&mut self, conn: Conn) -> Option<Link> {
        let link = self.slots.remove(conn)?.link;
        if let Link::Peer { index, .. } = link {
            self.peers.remove(index);
        }
        Some(link)
    }

    /// Spends the cost of a send; returns the moment at which the bytes leave.
    pub(super) fn leave(&mut self) -> Time {
        let mut machine = self.machine();
        let cost = machine.costs.send;
        machine.clock += cost;
        machine.clock
    }

    /// Takes the next delivery that has arrived, spending what its receipt costs.
    fn next_delivery(&mut self) -> Option<(Time, Delivery)> {
        let mut machine = self.machine();
        let clock = machine.clock;
        machine.inbox.peek().filter(|Reverse(first)| first.0 <= clock)?;
        let Reverse(Scheduled(arrived, _, delivery)) = machine.inbox.pop()?;
        if matches!(delivery, Delivery::Data { .. } | Delivery::Datagram { .. }) {
            let cost = machine.costs.receive;
            machine.clock += cost;
        }
        Some((machine.reads_at(arrived), delivery))
    }

    fn take(&mut self, arrived: Time, delivery: Delivery, handler: &mut impl Handler<Self>) {
        match delivery {
            Delivery::Accept { from, source } => {
                let conn = self.insert(Link::Stream { peer: Some(from) });
                if let Some(slot) = self.slot(conn) {
                    slot.source = source;
                }
                let connected = Delivery::Connected { conn: from.1, peer: (self.index, conn) };
                let at = self.clock();
                self.wires.borrow_mut().deliver(from.0, at, connected);
                handler.event(self, Event::Accepted { conn });
            }
            Delivery::Connected { conn, peer } => {
                let Some(slot) = self.slot(conn) else { return };
                slot.link = Link::Stream { peer: Some(peer) };
                handler.event(self, Event::Connected { conn });
            }
            Delivery::Data { conn, bytes } => {
                let Some(slot) = self.slot(conn) else { return };
                // New bytes queue behind withheld ones.
                if slot.paused || !slot.held.is_empty() {
                    slot.held.push_back(bytes.into());
                    return;
                }
                let came = self.stamps.then_some(arrived);
                self.show(conn, came, bytes.into(), handler);
            }
            Delivery::Held { conn } => self.show_held(conn, handler),
            Delivery::Ready { conn } => {
                if self.slot(conn).is_some() {
                    handler.event(self, Event::Connected { conn });
                }
            }
            Delivery::Datagram { at, from, bytes } => self.serve_datagram(at, from, &bytes, handler),
            Delivery::Closed { conn, error } => {
                if self.remove(conn).is_some() {
                    handler.event(self, Event::Closed { conn, error: error.map(io::Error::from) });
                }
            }
            Delivery::Ended { conn, deserted } => self.ended(conn, deserted, handler),
            Delivery::Room { conn } => self.room(conn, handler),
            Delivery::Read { conn, bytes } => self.was_read(conn, bytes, handler),
            Delivery::Woken => handler.event(self, Event::Woken),
        }
    }
}

impl SimReactor {
    /// Shows received bytes, as many as one receive takes; the rest is for the next ones.
    fn show(&mut self, conn: Conn, came: Option<Time>, mut bytes: Bytes, handler: &mut impl Handler<Self>) {
        let limit = self.receive;
        let Some(slot) = self.slot(conn) else { return };
        if bytes.len() > limit && !slot.link.is_datagram() {
            slot.held.push_front(bytes.split_off(limit));
        }
        let (is_datagram, more) = (slot.link.is_datagram(), !slot.held.is_empty() || slot.held_end);
        self.datagrams.received += u64::from(is_datagram);
        if more {
            self.deliver_held(conn);
        }
        self.tell_read(conn, bytes.len());
        let at = self.now();
        let room = handler.room(conn);
        let length = room.len().min(bytes.len());
        let (first, behind) = bytes.split_at(length);
        room[..length].copy_from_slice(first);
        handler.event(self, received(conn, (at, came), bytes.len(), length, behind));
    }

    /// Shows the oldest withheld bytes, unless reading is paused again.
    fn show_held(&mut self, conn: Conn, handler: &mut impl Handler<Self>) {
        let Some(slot) = self.slot(conn).filter(|slot| !slot.paused) else { return };
        if let Some(bytes) = slot.held.pop_front() {
            let mut machine = self.machine();
            let cost = machine.costs.receive;
            machine.clock += cost;
            drop(machine);
            self.show(conn, None, bytes, handler);
        } else if std::mem::take(&mut slot.held_end) {
            self.ended(conn, false, handler);
        }
    }

    /// It has long arrived: before anything that waits in the inbox.
    fn deliver_held(&mut self, conn: Conn) {
        self.wires.borrow_mut().arrive(self.index, Time(0), Delivery::Held { conn });
    }
}

impl Reactor for SimReactor {
    type Waker = SimWaker;
    const NAME: &'static str = "sim";

    fn now(&self) -> Time {
        self.machine().reads()
    }

    fn waited(&self) -> Nanos {
        self.machine().waited
    }

    fn thread_time(&self) -> Option<Nanos> {
        let machine = self.machine();
        Some(machine.clock.since(Time(0)) - machine.off)
    }

    fn listen(&mut self, addr: &Address) -> io::Result<Address> {
        let mut wires = self.wires.borrow_mut();
        let mut addr = addr.clone();
        if let Address::Tcp(socket) | Address::Udp(socket) = &mut addr
            && socket.port() == 0
        {
            wires.next_port += 1;
            socket.set_port(wires.next_port);
        }
        if wires.listeners.contains_key(&addr) {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        wires.silent.remove(&addr);
        wires.listeners.insert(addr.clone(), self.index);
        Ok(addr)
    }

    /// Each machine has all source addresses, and no connection has a window that a buffer could bound.
    fn connect_via(&mut self, addr: &Address, via: &Via) -> io::Result<Conn> {
        via.check(addr)?;
        if let &Address::Udp(addr) = addr {
            return Ok(self.connect_for_datagrams(addr));
        }
        let conn = self.insert(Link::default());
        let at = self.clock();
        let mut wires = self.wires.borrow_mut();
        match wires.listeners.get(addr).copied() {
            Some(server) => {
                let accept = Delivery::Accept { from: (self.index, conn), source: via.source };
                wires.deliver(server, at, accept);
            }
            None if wires.silent.contains(addr) => {}
            None => {
                let refused = Some(io::ErrorKind::ConnectionRefused);
                wires.deliver(self.index, at, Delivery::Closed { conn, error: refused });
            }
        }
        Ok(conn)
    }

    fn output(&mut self, conn: Conn) -> &mut Vec<u8> {
        self.slots.output(conn)
    }

    fn lend(&mut self, conn: Conn, loans: &mut Vec<Loan>) {
        match self.slot(conn) {
            Some(slot) if slot.link.is_datagram() => loans::copy_in(&mut slot.out, loans),
            Some(slot) => slot.loans.take(loans),
            None => loans.clear(),
        }
    }

    fn lends(&self, conn: Conn) -> bool {
        !self.is_datagram(conn)
    }

    fn memory(&self, conn: Conn) -> usize {
        let slot = self.slots.get(conn);
        slot.map_or(0, |slot| slot.out.len() + slot.held.iter().map(Bytes::len).sum::<usize>())
    }

    fn flush(&mut self, conn: Conn) -> Time {
        let at = self.now();
        let Some(slot) = self.slot(conn).filter(|slot| slot.out.len() + slot.loans.bytes() > 0) else {
            return at;
        };
        match slot.link {
            Link::Stream { .. } => self.flush_stream(conn),
            Link::Socket { .. } | Link::Peer { .. } => self.flush_datagram(conn),
        }
        at
    }

    fn unsent(&self, conn: Conn) -> usize {
        self.slots.get(conn).map_or(0, |slot| slot.out.len() + slot.loans.bytes())
    }

    fn is_broken(&self, conn: Conn) -> bool {
        self.slots.get(conn).is_some_and(|slot| slot.broken)
    }

    fn pause_reading(&mut self, conn: Conn, pause: bool) {
        let Some(slot) = self.slot(conn) else { return };
        slot.paused = pause;
        if !pause && (!slot.held.is_empty() || slot.held_end) {
            self.deliver_held(conn);
        }
    }

    fn limit_receives(&mut self, bytes: usize) {
        self.receive = bytes.max(1);
    }

    fn stamp_receives(&mut self) {
        self.stamps = true;
    }

    fn tell_half_closes(&mut self) {
        self.half_closes = true;
    }

    fn close(&mut self, conn: Conn) {
        let at = self.end_arrives(conn);
        if let Some(Link::Stream { peer: Some((peer, peer_conn)) }) = self.remove(conn) {
            self.wires.borrow_mut().arrive(peer, at, Delivery::Ended { conn: peer_conn, deserted: true });
        }
    }

    fn reset(&mut self, conn: Conn) {
        let at = self.clock();
        if let Some(Link::Stream { peer: Some((peer, conn)) }) = self.remove(conn) {
            let error = Some(io::ErrorKind::ConnectionReset);
            self.wires.borrow_mut().deliver(peer, at, Delivery::Closed { conn, error });
        }
    }

    fn is_datagram(&self, conn: Conn) -> bool {
        self.slots.get(conn).is_some_and(|slot| slot.link.is_datagram())
    }

    fn stop_accepting(&mut self) {
        let mut wires = self.wires.borrow_mut();
        wires.listeners.retain(|address, machine| *machine != self.index || address.is_datagram());
    }

    fn datagrams(&self) -> Datagrams {
        self.datagrams
    }

    fn poll(&mut self, wait: Wait, handler: &mut impl Handler<Self>) -> io::Result<usize> {
        self.slots.poll_begins();
        let mut events = 0;
        while events < EVENTS_PER_POLL
            && let Some((arrived, delivery)) = self.next_delivery()
        {
            events += 1;
            self.take(arrived, delivery, handler);
        }
        let (Wait::Spin(until) | Wait::Sleep(until)) = wait;
        let mut machine = self.machine();
        let until = machine.when(until);
        machine.wake = if events > 0 { machine.clock } else { wake_after_empty_poll(machine.clock, until) };
        Ok(events)
    }

    fn waker(&self) -> SimWaker {
        SimWaker { index: self.index, woken: Arc::clone(&self.wires.borrow().woken) }
    }
}

#[cfg(test)]
mod tests;
