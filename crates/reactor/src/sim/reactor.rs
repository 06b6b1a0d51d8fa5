use std::cell::{RefCell, RefMut};
use std::cmp::Reverse;
use std::io;
use std::rc::Rc;

use units::{Nanos, Time};

use crate::sim::world::{Delivery, Machine, Scheduled, Wires, wake_after_empty_poll};
use crate::{Address, Conn, Event, Handler, Reactor, Wait, Waker};

/// Deliveries taken per poll, as the real backend bounds its events.
const EVENTS_PER_POLL: usize = 64;

#[derive(Default)]
struct Slot {
    generation: u32,
    open: bool,
    peer: Option<(usize, Conn)>,
    out: Vec<u8>,
    paused: bool,
    /// Arrived while reading was paused.
    held: Vec<u8>,
}

/// A reactor on a simulated machine.
pub struct SimReactor {
    wires: Rc<RefCell<Wires>>,
    index: usize,
    slots: Vec<Slot>,
    nowhere: Vec<u8>,
}

/// Wakes a simulated machine; of use within its own thread only.
#[derive(Clone)]
pub struct SimWaker;

impl Waker for SimWaker {
    fn wake(&self) {
        unreachable!("a simulation has one thread, so no other thread can wake a reactor");
    }
}

impl SimReactor {
    pub(super) fn new(wires: Rc<RefCell<Wires>>, index: usize) -> SimReactor {
        SimReactor { wires, index, slots: Vec::new(), nowhere: Vec::new() }
    }

    pub(super) fn index(&self) -> usize {
        self.index
    }

    /// Delivers [`Event::Woken`] to this machine after the wires' delay.
    pub fn wake(&mut self) {
        let at = self.now();
        self.wires.borrow_mut().deliver(self.index, at, Delivery::Woken);
    }

    /// Spends `span` of this machine's processor time.
    pub fn work(&mut self, span: Nanos) {
        self.machine().clock += span;
    }

    fn machine(&self) -> RefMut<'_, Machine> {
        RefMut::map(self.wires.borrow_mut(), |wires| &mut wires.machines[self.index])
    }

    fn insert(&mut self, peer: Option<(usize, Conn)>) -> Conn {
        let slot = self.slots.iter().position(|slot| !slot.open).unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() - 1
        });
        let generation = self.slots[slot].generation + 1;
        self.slots[slot] = Slot { generation, open: true, peer, ..Slot::default() };
        Conn { slot: slot as u32, generation }
    }

    fn slot(&mut self, conn: Conn) -> Option<&mut Slot> {
        let slot = self.slots.get_mut(conn.slot as usize)?;
        (slot.open && slot.generation == conn.generation).then_some(slot)
    }

    /// Takes the next delivery that has arrived, spending what its receipt costs.
    fn next_delivery(&mut self) -> Option<Delivery> {
        let mut machine = self.machine();
        let clock = machine.clock;
        machine.inbox.peek().filter(|Reverse(first)| first.0 <= clock)?;
        let Reverse(Scheduled(_, _, delivery)) = machine.inbox.pop()?;
        if matches!(delivery, Delivery::Data { .. }) {
            let cost = machine.costs.receive;
            machine.clock += cost;
        }
        Some(delivery)
    }

    fn take(&mut self, delivery: Delivery, handler: &mut impl Handler<Self>) {
        match delivery {
            Delivery::Accept { from } => {
                let conn = self.insert(Some(from));
                let connected = Delivery::Connected { conn: from.1, peer: (self.index, conn) };
                let at = self.now();
                self.wires.borrow_mut().deliver(from.0, at, connected);
                handler.event(self, Event::Accepted { conn });
            }
            Delivery::Connected { conn, peer } => {
                let Some(slot) = self.slot(conn) else { return };
                slot.peer = Some(peer);
                handler.event(self, Event::Connected { conn });
            }
            Delivery::Data { conn, bytes } => {
                let Some(slot) = self.slot(conn) else { return };
                if slot.paused {
                    slot.held.extend_from_slice(&bytes);
                    return;
                }
                let at = self.now();
                handler.event(self, Event::Data { conn, at, bytes: &bytes });
            }
            Delivery::Closed { conn, error } => {
                if let Some(slot) = self.slot(conn) {
                    slot.open = false;
                    handler.event(self, Event::Closed { conn, error: error.map(io::Error::from) });
                }
            }
            Delivery::Woken => handler.event(self, Event::Woken),
        }
    }
}

impl Reactor for SimReactor {
    type Waker = SimWaker;
    const NAME: &'static str = "sim";

    fn now(&self) -> Time {
        self.machine().clock
    }

    fn waited(&self) -> Nanos {
        self.machine().waited
    }

    fn listen(&mut self, addr: &Address) -> io::Result<Address> {
        let &Address::Tcp(mut addr) = addr else { return Err(addr.unsupported(Self::NAME)) };
        let mut wires = self.wires.borrow_mut();
        if addr.port() == 0 {
            wires.next_port += 1;
            addr.set_port(wires.next_port);
        }
        if wires.listeners.insert(addr, self.index).is_some() {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        Ok(Address::Tcp(addr))
    }

    fn connect(&mut self, addr: &Address) -> io::Result<Conn> {
        let &Address::Tcp(addr) = addr else { return Err(addr.unsupported(Self::NAME)) };
        let conn = self.insert(None);
        let at = self.now();
        let mut wires = self.wires.borrow_mut();
        match wires.listeners.get(&addr).copied() {
            Some(server) => wires.deliver(server, at, Delivery::Accept { from: (self.index, conn) }),
            None => {
                let refused = Some(io::ErrorKind::ConnectionRefused);
                wires.deliver(self.index, at, Delivery::Closed { conn, error: refused });
            }
        }
        Ok(conn)
    }

    fn output(&mut self, conn: Conn) -> &mut Vec<u8> {
        match self.slots.get_mut(conn.slot as usize) {
            Some(slot) if slot.open && slot.generation == conn.generation => &mut slot.out,
            _ => {
                self.nowhere.clear();
                &mut self.nowhere
            }
        }
    }

    fn flush(&mut self, conn: Conn) -> Time {
        let at = self.now();
        let Some(slot) = self.slot(conn) else { return at };
        let Some((peer, peer_conn)) = slot.peer.filter(|_| !slot.out.is_empty()) else { return at };
        let bytes = std::mem::take(&mut slot.out);
        let left = {
            let mut machine = self.machine();
            let cost = machine.costs.send;
            machine.clock += cost;
            machine.clock
        };
        self.wires.borrow_mut().deliver(peer, left, Delivery::Data { conn: peer_conn, bytes });
        at
    }

    fn unsent(&self, conn: Conn) -> usize {
        self.slots
            .get(conn.slot as usize)
            .filter(|s| s.generation == conn.generation)
            .map_or(0, |s| s.out.len())
    }

    fn pause_reading(&mut self, conn: Conn, pause: bool) {
        let Some(slot) = self.slot(conn) else { return };
        slot.paused = pause;
        let held = std::mem::take(&mut slot.held);
        if !pause && !held.is_empty() {
            let at = self.now();
            self.wires.borrow_mut().deliver(self.index, at, Delivery::Data { conn, bytes: held });
        }
    }

    fn close(&mut self, conn: Conn) {
        let Some(slot) = self.slot(conn) else { return };
        slot.open = false;
        if let Some((peer, peer_conn)) = slot.peer {
            let at = self.now();
            self.wires.borrow_mut().deliver(peer, at, Delivery::Closed { conn: peer_conn, error: None });
        }
    }

    fn poll(&mut self, wait: Wait, handler: &mut impl Handler<Self>) -> io::Result<usize> {
        let mut events = 0;
        while events < EVENTS_PER_POLL
            && let Some(delivery) = self.next_delivery()
        {
            events += 1;
            self.take(delivery, handler);
        }
        let (Wait::Spin(until) | Wait::Sleep(until)) = wait;
        let mut machine = self.machine();
        machine.wake = if events > 0 { machine.clock } else { wake_after_empty_poll(machine.clock, until) };
        Ok(events)
    }

    fn waker(&self) -> SimWaker {
        SimWaker
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
