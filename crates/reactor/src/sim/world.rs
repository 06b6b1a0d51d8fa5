use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use units::{Nanos, Time};

#[cfg(feature = "tls")]
use crate::Tls;
use crate::sim::faults::Fate;
use crate::sim::streams::StreamFate;
use crate::sim::{Faults, Mishaps, SimReactor, StreamFaults};
use crate::{Address, Conn};

/// A poll without events still takes this long even if its caller had work due; a few hundred ns is the cost of an
/// empty `epoll_wait` on a real machine.
const EMPTY_POLL: Nanos = Nanos(200);

/// Costs of one machine's work.
#[derive(Clone, Copy, Debug, Default)]
pub struct Costs {
    /// Processor time of one send, spent before the bytes leave.
    pub send: Nanos,
    /// Processor time of one receive, spent before the handler sees the bytes.
    pub receive: Nanos,
}

/// A program on a simulated machine, whose reactor may have a layer such as [`Tls`](crate::Tls).
pub trait Program<R = SimReactor> {
    /// Does its due work and calls [`crate::Reactor::poll`] once. Returns false when it has finished.
    fn step(&mut self, reactor: &mut R) -> bool;
}

/// A program together with its reactor.
pub trait Running {
    /// Number of the machine.
    fn machine(&self) -> usize;

    /// As [`Program::step`].
    fn step(&mut self) -> bool;
}

impl<P: Program + ?Sized> Running for (&mut P, &mut SimReactor) {
    fn machine(&self) -> usize {
        self.1.index()
    }

    fn step(&mut self) -> bool {
        self.0.step(self.1)
    }
}

#[cfg(feature = "tls")]
impl<P: Program<Tls<SimReactor>> + ?Sized> Running for (&mut P, &mut Tls<SimReactor>) {
    fn machine(&self) -> usize {
        self.1.inner().index()
    }

    fn step(&mut self) -> bool {
        self.0.step(self.1)
    }
}

impl Running for &mut dyn Running {
    fn machine(&self) -> usize {
        (**self).machine()
    }

    fn step(&mut self) -> bool {
        (**self).step()
    }
}

/// The clock and the wires of a simulation.
pub struct World {
    pub(super) wires: Rc<RefCell<Wires>>,
}

/// A delivery on its way to a machine.
pub(super) enum Delivery {
    Accept {
        from: (usize, Conn),
        source: Option<IpAddr>,
    },
    Connected {
        conn: Conn,
        peer: (usize, Conn),
    },
    Data {
        conn: Conn,
        bytes: Vec<u8>,
    },
    /// Withheld bytes of a connection may be shown.
    Held {
        conn: Conn,
    },
    /// A datagram socket can be used.
    Ready {
        conn: Conn,
    },
    /// A datagram for the server that listens at `at`.
    Datagram {
        at: SocketAddr,
        from: (usize, Conn),
        bytes: Vec<u8>,
    },
    Closed {
        conn: Conn,
        error: Option<io::ErrorKind>,
    },
    /// The peer of a stream sends no more, and does not read either if it has deserted it.
    Ended {
        conn: Conn,
        deserted: bool,
    },
    /// The kernel takes output again that it had not taken.
    Room {
        conn: Conn,
    },
    /// The peer's program has read bytes.
    Read {
        conn: Conn,
        bytes: usize,
    },
    Woken,
}

/// A delivery's place in the order: by time, then by the order of sending.
pub(super) struct Scheduled(pub(super) Time, pub(super) u64, pub(super) Delivery);

impl PartialEq for Scheduled {
    fn eq(&self, other: &Self) -> bool {
        (self.0, self.1) == (other.0, other.1)
    }
}
impl Eq for Scheduled {}
impl PartialOrd for Scheduled {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Scheduled {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.0, self.1).cmp(&(other.0, other.1))
    }
}

/// One simulated machine of one core.
pub(super) struct Machine {
    /// Its own time: it is busy until then.
    pub(super) clock: Time,
    /// When its program wants to run again without an earlier delivery.
    pub(super) wake: Time,
    /// How long the last poll waited, as [`crate::Reactor::waited`].
    pub(super) waited: Nanos,
    /// How long it has waited or been frozen in all.
    pub(super) off: Nanos,
    pub(super) inbox: BinaryHeap<Reverse<Scheduled>>,
    pub(super) costs: Costs,
    /// Spans in which it does not run; ascending.
    stalls: Vec<(Time, Time)>,
    /// When its clock is stepped, by the world's clock, and by how much; ascending.
    steps: Vec<(Time, Nanos)>,
    finished: bool,
}

impl Machine {
    /// When its program can run next, were the machine never frozen.
    fn ready(&self) -> Time {
        let delivery = self.inbox.peek().map_or(Time::NEVER, |Reverse(first)| first.0);
        self.clock.max(self.wake.min(delivery))
    }

    /// What its own clock reads now.
    pub(super) fn reads(&self) -> Time {
        self.reads_at(self.clock)
    }

    /// What its own clock reads at this moment of the world's time.
    pub(super) fn reads_at(&self, at: Time) -> Time {
        let steps = self.steps.iter().take_while(|(from, _)| *from <= at);
        at + steps.map(|(_, by)| *by).sum::<Nanos>()
    }

    /// The world's time at which its own clock reads `own`, or first reads more where a step passes over it.
    pub(super) fn when(&self, own: Time) -> Time {
        if own == Time::NEVER {
            return own;
        }
        let mut ahead = Nanos::ZERO;
        for &(from, by) in &self.steps {
            if own <= from + ahead + by {
                return (own - ahead).min(from);
            }
            ahead += by;
        }
        own - ahead
    }

    fn thawed(&self, at: Time) -> Time {
        self.stalls.iter().find(|(from, to)| (*from..*to).contains(&at)).map_or(at, |(_, to)| *to)
    }
}

/// Everything that the reactors share.
pub(super) struct Wires {
    pub(super) machines: Vec<Machine>,
    /// The listeners; only ever looked up, so that its order does not matter.
    pub(super) listeners: HashMap<Address, usize>,
    /// Addresses at which connecting never completes.
    pub(super) silent: HashSet<Address>,
    pub(super) next_port: u16,
    pub(super) delay: Nanos,
    sequence: u64,
    fate: Option<Fate>,
    pub(super) stream_fate: Option<StreamFate>,
    /// Most bytes of a stream on their way or unread. Units: bytes.
    pub(super) window: usize,
    /// Machines that were woken in the turn that runs.
    pub(super) woken: Arc<Mutex<Vec<usize>>>,
}

impl Wires {
    /// Puts `delivery` on its way to machine `to`, leaving at `at`.
    pub(super) fn deliver(&mut self, to: usize, at: Time, delivery: Delivery) {
        self.arrive(to, at + self.delay, delivery);
    }

    /// Has `delivery` arrive at machine `to` at `at`.
    pub(super) fn arrive(&mut self, to: usize, at: Time, delivery: Delivery) {
        self.sequence += 1;
        self.machines[to].inbox.push(Reverse(Scheduled(at, self.sequence, delivery)));
    }

    /// How late each copy of a datagram is that is about to leave.
    pub(super) fn copies(&mut self) -> Vec<Nanos> {
        self.fate.as_mut().map_or_else(|| vec![Nanos::ZERO], |fate| fate.copies().collect())
    }
}

impl World {
    /// A world at time 0 whose wires take `delay` one way.
    pub fn new(delay: Nanos) -> World {
        let wires = Wires {
            machines: Vec::new(),
            listeners: HashMap::new(),
            silent: HashSet::new(),
            next_port: 10_000,
            delay,
            sequence: 0,
            fate: None,
            stream_fate: None,
            window: usize::MAX,
            woken: Arc::default(),
        };
        World { wires: Rc::new(RefCell::new(wires)) }
    }

    /// Adds a machine; the programs given to [`World::run`] are in the order of these calls.
    pub fn machine(&mut self, costs: Costs) -> SimReactor {
        let mut wires = self.wires.borrow_mut();
        wires.machines.push(Machine {
            clock: Time(0),
            wake: Time(0),
            waited: Nanos::ZERO,
            off: Nanos::ZERO,
            inbox: BinaryHeap::new(),
            costs,
            stalls: Vec::new(),
            steps: Vec::new(),
            finished: false,
        });
        SimReactor::new(Rc::clone(&self.wires), wires.machines.len() - 1)
    }

    /// Makes the network treat datagrams badly from now on.
    ///
    /// Bounds: panics where a probability is none.
    pub fn faults(&mut self, faults: Faults) {
        self.wires.borrow_mut().fate = Some(Fate::new(faults));
    }

    /// Makes the network treat streams as badly as it may from now on.
    ///
    /// Bounds: panics where a probability is none.
    pub fn stream_faults(&mut self, faults: StreamFaults) {
        self.wires.borrow_mut().stream_fate = Some(StreamFate::new(faults));
    }

    /// Gives each direction of each stream a window: the kernel takes no more than `bytes` bytes that the other program has
    /// not read. For a network without [faults](World::stream_faults) of streams.
    pub fn windows(&mut self, bytes: usize) {
        self.wires.borrow_mut().window = bytes.max(1);
    }

    /// Faults so far.
    pub fn mishaps(&self) -> Mishaps {
        self.wires.borrow().fate.as_ref().map_or(Mishaps::default(), |fate| fate.mishaps)
    }

    /// Freezes a machine from `from` for `span`; call in ascending order.
    pub fn stall(&mut self, machine: &SimReactor, from: Time, span: Nanos) {
        self.wires.borrow_mut().machines[machine.index()].stalls.push((from, from + span));
    }

    /// Makes the clock that a machine's program reads jump ahead by `by` at `at`, as on a guest which was moved or
    /// suspended; call in ascending order. The machine's sends and receives are not delayed.
    pub fn step_clock(&mut self, machine: &SimReactor, at: Time, by: Nanos) {
        self.wires.borrow_mut().machines[machine.index()].steps.push((at, by));
    }

    /// Sends off the wake-ups that machine `from` has caused in its turn.
    fn deliver_wakeups(&mut self, from: usize) {
        let mut wires = self.wires.borrow_mut();
        let woken = std::mem::take(&mut *wires.woken.lock().unwrap_or_else(PoisonError::into_inner));
        let now = wires.machines[from].clock;
        for machine in woken {
            let late = wires.stream_fate.as_mut().map_or(Nanos::ZERO, StreamFate::late);
            wires.arrive(machine, now + late, Delivery::Woken);
        }
    }

    /// Runs the programs until the first has finished, or until no more events are possible.
    ///
    /// Bounds: panics at `limit`, so that an endless simulation stops, and if the programs are not in the order of
    /// their machines, since the clock would not advance then.
    pub fn run(&mut self, programs: &mut [(&mut dyn Program, &mut SimReactor)], limit: Time) {
        self.run_all(programs, limit);
    }

    /// As [`World::run`], for programs whose reactors may have a layer.
    pub fn run_all(&mut self, programs: &mut [impl Running], limit: Time) {
        let count = self.wires.borrow().machines.len();
        let order = programs.iter().map(Running::machine);
        assert!(order.eq(0..count), "the programs are not in the order of their machines");
        loop {
            let next = {
                let wires = self.wires.borrow();
                let running = wires.machines.iter().enumerate().filter(|(_, machine)| !machine.finished);
                running.map(|(i, machine)| (machine.thawed(machine.ready()), i)).min()
            };
            let Some((at, i)) = next.filter(|(at, _)| *at != Time::NEVER) else { return };
            assert!(at <= limit, "the simulation did not end by {limit:?}");
            {
                let machine = &mut self.wires.borrow_mut().machines[i];
                machine.waited = machine.ready().since(machine.clock);
                machine.off += at.since(machine.clock);
                machine.clock = at;
            }
            let goes_on = programs[i].step();
            self.deliver_wakeups(i);
            if !goes_on {
                self.wires.borrow_mut().machines[i].finished = true;
                if i == 0 {
                    return;
                }
            }
        }
    }
}

/// When a machine whose poll found nothing runs next: not before a moment has passed.
pub(super) fn wake_after_empty_poll(clock: Time, until: Time) -> Time {
    if until > clock { until } else { clock + EMPTY_POLL }
}
