//! For any plan and any behaviour of the servers, every arrival is accounted for.

use std::cell::Cell;

use dist::{Arrivals, Process, Streams};
use openloop::{Binding, Load, Schedule};
use proptest::prelude::*;
use reactor::sim::{Costs, Faults};
use units::{Nanos, Rate};

use crate::scripted::{Answer, Ask};
use crate::simulation::{START, Setup, assert_accounted, cluster, datagram_cluster};

#[derive(Clone, Debug)]
struct Case {
    seed: u64,
    rps: f64,
    servers: usize,
    datagram: bool,
    connections: usize,
    depth: usize,
    clients: Option<usize>,
    closed: bool,
    idle: bool,
    timeout_ms: u64,
    takes_us: u64,
    /// Of a hundred requests: errors, closes, no answers, doubles.
    odd: [u64; 4],
    /// The first server closes all connections it gets a request on.
    dead: bool,
}

fn case() -> impl Strategy<Value = Case> {
    let plan = (1usize..=4, any::<bool>(), 1usize..=5, 1usize..=8, prop::option::of(1usize..=9));
    let load = (any::<u64>(), 500.0..20_000.0, prop::bool::weighted(0.25), any::<bool>(), 5u64..60);
    let server = (1u64..2_000, prop::array::uniform4(0u64..6), prop::bool::weighted(0.2));
    (plan, load, server).prop_map(|(plan, load, server)| {
        let (servers, datagram, connections, depth, clients) = plan;
        let (seed, rps, closed, idle, timeout_ms) = load;
        let (takes_us, odd, dead) = server;
        Case {
            seed,
            rps,
            servers,
            datagram,
            connections,
            depth,
            clients,
            closed,
            idle,
            timeout_ms,
            takes_us,
            odd,
            dead,
        }
    })
}

impl Case {
    fn answer(&self, seq: u64, endpoint: usize) -> Answer {
        if self.dead && endpoint == 0 {
            return Answer::Close;
        }
        // A multiplier that is odd and not near 0 spreads neighbours; any does.
        let mut die = seq.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        die %= 100;
        for (share, answer) in self.odd.iter().zip([Answer::Bad, Answer::Close, Answer::Never, Answer::Twice])
        {
            if die < *share {
                // Duplicate answers on a stream are unsolicited; they have a test of their own.
                return if answer == Answer::Twice && !self.datagram { Answer::Good } else { answer };
            }
            die -= share;
        }
        Answer::Good
    }

    fn check(&self) {
        let endpoints =
            if self.datagram { datagram_cluster } else { cluster }(self.servers, self.connections);
        let rate = Rate::new(self.rps).unwrap();
        let mut setup = Setup::scripted(self.rps, endpoints, self.seed);
        let arrivals = Arrivals::new(Process::Poisson, None, rate);
        setup.plan.load = if self.closed {
            Load::Closed { think: Nanos::from_micros(100) }
        } else {
            Load::Open { arrivals: arrivals.clone(), rate, steady: true }
        };
        setup.plan.window = Nanos::from_millis(300);
        setup.plan.drain = Nanos::from_millis(100);
        setup.plan.timeout = Nanos::from_millis(self.timeout_ms);
        setup.plan.depth = self.depth;
        setup.plan.clients = self.clients;
        setup.plan.binding = if self.idle { Binding::Idle } else { Binding::Random };
        setup.delay = Nanos::from_micros(20);
        setup.generator_costs = Costs { send: Nanos(1_000), receive: Nanos(300) };
        setup.faults = Some(Faults {
            loss: 0.02,
            duplication: 0.02,
            reordering: Nanos::from_micros(500),
            seed: self.seed,
        });
        let (end, window_end) = (START + setup.plan.window, Cell::new(0u64));
        let (firsts, nexts) = (Cell::new(0u64), Cell::new(0u64));
        let recording = setup.run_script(|seq| {
            let parts = 1 + seq % self.servers.min(3) as u64;
            window_end.set(window_end.get() + 1);
            firsts.set(firsts.get() + parts);
            let ask = |endpoint: usize| {
                Ask::new(Nanos::from_micros(self.takes_us)).answer(self.answer(seq, endpoint))
            };
            let part = |part: u64| {
                let endpoint = (seq + part) as usize % self.servers;
                let other = (endpoint + 1) % self.servers;
                let ask_more = (seq + part) % 5;
                nexts.set(nexts.get() + u64::from(ask_more < 2));
                let request = match ask_more {
                    0 => ask(endpoint).again(other, ask(other)),
                    1 => ask(endpoint).also(other, ask(other)),
                    _ => ask(endpoint),
                };
                (endpoint, request)
            };
            (0..parts).map(part).collect()
        });
        let intended = if self.closed {
            window_end.get()
        } else {
            let mut schedule = Schedule::new(arrivals, &Streams::new(self.seed), START, 0, 1);
            std::iter::from_fn(|| Some(schedule.take())).take_while(|arrival| arrival.intended < end).count()
                as u64
        };
        assert_accounted(&recording, intended);
        assert!(recording.tally.intended >= window_end.get());
        let for_endpoints: u64 = recording.endpoints.iter().map(|e| e.tally.intended).sum();
        assert!(
            (firsts.get()..=firsts.get() + nexts.get()).contains(&for_endpoints),
            "{for_endpoints} of {} and {}",
            firsts.get(),
            nexts.get()
        );
        let completed: u64 = recording.endpoints.iter().map(|e| e.tally.completed).sum();
        let answered: u64 = recording.connections.iter().map(|c| c.answered).sum();
        assert_eq!(answered, completed);
        assert_eq!(recording.operations[1].tally, recording.follow_ups);
        assert_eq!(recording.unsolicited, 0);
        if self.datagram {
            assert_eq!(recording.datagrams.stray, 0, "{:?}", recording.datagrams);
        }
        let kinds: u64 = recording.errors.iter().map(|error| error.count).sum();
        let ended_badly = recording.tally.errors + recording.tally.timeouts;
        assert!(
            kinds >= ended_badly,
            "each failure has a kind: {:?} {:?}",
            recording.errors,
            recording.tally
        );
        assert!(recording.drain <= Nanos::from_millis(101), "{}", recording.drain);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_arrival_of_any_plan_is_accounted_for(case in case()) {
        case.check();
    }
}
