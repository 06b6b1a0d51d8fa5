//! A server that dies and comes back: requests to it fail during that time, and requests to others are unaffected.

use std::cell::Cell;
use std::rc::Rc;

use openloop::{Binding, Endpoint, Recording};
use reactor::sim::{Program, SimReactor};
use reactor::{Conn, Event, Handler, Reactor, Wait};
use units::{Nanos, Time};

use crate::scripted::{Ask, Scripted};
use crate::simulation::{START, Setup, assert_accounted, cluster};

const DIES: Time = Time(START.0 + 500_000_000);
const TIMEOUT: Nanos = Nanos::from_millis(50);
const RETURNS: Time = Time(START.0 + 1_000_000_000);

/// Behaviour of a dead server, which also closes all connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Death {
    /// Connections are refused.
    Refuses,
    /// Nothing answers for it.
    Vanishes,
    /// Connections are taken and closed at once.
    TurnsAway,
    /// The same, with a word about it.
    SaysSo,
}

/// Answers every line at once, but for the time in which it is dead.
struct Mortal {
    endpoint: Endpoint,
    open: Vec<Conn>,
    dead: bool,
    death: Death,
    /// Connections that were taken while it was dead.
    turned_away: Rc<Cell<u64>>,
}

impl Handler<SimReactor> for Mortal {
    fn event(&mut self, reactor: &mut SimReactor, event: Event<'_>) {
        match event {
            Event::Accepted { conn } if self.dead => {
                self.turned_away.set(self.turned_away.get() + 1);
                if self.death == Death::SaysSo {
                    reactor.output(conn).extend_from_slice(b"ERROR Too many open connections\n");
                    reactor.flush(conn);
                }
                reactor.close(conn);
            }
            Event::Accepted { conn } => self.open.push(conn),
            Event::Data { conn, bytes, .. } => {
                for line in std::str::from_utf8(bytes).unwrap().lines() {
                    let mut words = line.split(' ');
                    let (tag, id) = (words.next().unwrap(), words.next().unwrap());
                    reactor.output(conn).extend_from_slice(format!("{tag} {id} Good\n").as_bytes());
                }
                reactor.flush(conn);
            }
            _ => {}
        }
    }
}

impl Program for Mortal {
    fn step(&mut self, reactor: &mut SimReactor) -> bool {
        let now = reactor.now();
        let dead = (DIES..RETURNS).contains(&now);
        if dead && !self.dead {
            match self.death {
                Death::Refuses => reactor.deafen(&self.endpoint.address),
                Death::Vanishes => reactor.vanish(&self.endpoint.address),
                Death::TurnsAway | Death::SaysSo => {}
            }
            self.open.drain(..).for_each(|conn| reactor.close(conn));
        } else if self.dead && !dead && matches!(self.death, Death::Refuses | Death::Vanishes) {
            reactor.listen(&self.endpoint.address).unwrap();
        }
        self.dead = dead;
        let next = [DIES, RETURNS].into_iter().find(|at| *at > now).unwrap_or(Time::NEVER);
        reactor.poll(Wait::Sleep(next), self).unwrap();
        true
    }
}

/// 500 rps for each of two servers over 2 s, the first of which is dead for a quarter of it. Also returns how many
/// connections that one turned away.
fn run(binding: Binding, death: Death, seed: u64) -> (Recording, u64) {
    let mut setup = Setup::scripted(1_000.0, cluster(2, 4), seed);
    setup.plan.binding = binding;
    setup.plan.timeout = TIMEOUT;
    let [mortal, other] = &setup.plan.endpoints[..] else { unreachable!("two") };
    let turned_away = Rc::new(Cell::new(0));
    let program = Mortal {
        endpoint: mortal.clone(),
        open: Vec::new(),
        dead: false,
        death,
        turned_away: turned_away.clone(),
    };
    let servers: Vec<(Box<dyn Program>, Vec<Endpoint>)> = vec![
        (Box::new(program), vec![mortal.clone()]),
        (Box::new(crate::scripted::Obedient::default()), vec![other.clone()]),
    ];
    let script = Scripted::new(|seq| vec![(seq as usize % 2, Ask::new(Nanos::ZERO))]);
    (setup.run_against(script, servers), turned_away.get())
}

#[test]
fn requests_for_a_dead_server_fail_and_no_others() {
    for (binding, seed) in [(Binding::Random, 191), (Binding::Idle, 192)] {
        let recording = run(binding, Death::Refuses, seed).0;
        println!("{binding}: {:?} {:?}", recording.tally, recording.errors);
        assert_accounted(&recording, 2_000);
        let [mortal, other] = &recording.endpoints[..] else { panic!("two servers") };
        assert_eq!((other.tally.completed, other.tally.intended), (1_000, 1_000));
        assert_eq!(mortal.tally.intended, 1_000, "also those that could not be sent");
        // 250 are due while it is dead, and up to 55 until it is tried again: every 100 ms, looked after every 10.
        let errors = recording.tally.errors;
        assert!((250..=305).contains(&errors), "{binding}: {errors}");
        let [unsent, lost] = ["no connection", "connection closed"].map(|kind| recording.errors.of(kind));
        assert!(unsent + lost == errors && lost <= 1, "each by its kind: {:?}", recording.errors);
        assert_eq!((mortal.tally.errors, recording.tally.completed), (errors, 2_000 - errors));
        let late = &recording.intervals[12..];
        assert!(late.iter().all(|i| (i.offered, i.answered, i.failed) == (100, 100, 0)), "{late:?}");
        assert_eq!(recording.all().generator_lag.max(), Some(Nanos::ZERO));
        assert_eq!(recording.starved, Nanos::ZERO);
    }
}

#[test]
fn a_connection_that_is_never_answered_is_tried_again() {
    for (binding, seed) in [(Binding::Random, 193), (Binding::Idle, 194)] {
        let recording = run(binding, Death::Vanishes, seed).0;
        println!("{binding}: {:?} {:?}", recording.tally, recording.errors);
        assert_accounted(&recording, 2_000);
        let [mortal, other] = &recording.endpoints[..] else { panic!("two servers") };
        assert_eq!((other.tally.completed, other.tally.intended), (1_000, 1_000));
        // As above, and for 50 ms more it waits for the last attempt to end.
        let errors = mortal.tally.errors;
        assert!((250..=335).contains(&errors), "{binding}: {errors}");
        assert!(recording.errors.of("cannot connect again") >= 4 * 3, "{:?}", recording.errors);
        let late = &recording.intervals[12..];
        assert!(late.iter().all(|i| (i.offered, i.answered, i.failed) == (100, 100, 0)), "{late:?}");
    }
}

#[test]
fn a_server_that_closes_at_once_is_not_asked_again_and_again() {
    let cases = [
        (Binding::Random, Death::TurnsAway, 195),
        (Binding::Idle, Death::TurnsAway, 196),
        (Binding::Random, Death::SaysSo, 197),
        (Binding::Idle, Death::SaysSo, 198),
    ];
    for (binding, death, seed) in cases {
        let (recording, turned_away) = run(binding, death, seed);
        println!("{binding}: {turned_away} {:?} {:?}", recording.tally, recording.errors);
        assert_accounted(&recording, 2_000);
        let [mortal, other] = &recording.endpoints[..] else { panic!("two servers") };
        assert_eq!((other.tally.completed, other.tally.intended), (1_000, 1_000));
        // Each of four connections is tried every 100 to 110 ms for 500 ms.
        assert!((4 * 4..=4 * 6).contains(&turned_away), "{binding}: {turned_away}");
        let errors = mortal.tally.errors;
        assert!((250..=305).contains(&errors), "{binding}: {errors}");
        let late = &recording.intervals[12..];
        assert!(late.iter().all(|i| (i.offered, i.answered, i.failed) == (100, 100, 0)), "{late:?}");
        assert_eq!(recording.all().generator_lag.max(), Some(Nanos::ZERO));
    }
}
