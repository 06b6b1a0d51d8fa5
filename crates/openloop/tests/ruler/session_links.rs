//! Sessions over connections that end: the next request of a step goes on over a new one, opened as the first was.

use std::collections::HashSet;
use std::net::IpAddr;

use openloop::{Closed, Next, Parsed, Parts, Recording, Route, Step, StepEnd, Then, Via, Workload};
use reactor::sim::{Program, SimReactor};
use reactor::{Conn, Event, Handler, Reactor, Wait};
use units::{Nanos, Time};

use crate::simulation::{Setup, assert_accounted, assert_close, cluster};

const DELAY: Nanos = Nanos::from_micros(100);
/// From one step to the next.
const APART: Nanos = Nanos::from_millis(50);
/// Requests of each step, and steps of each session.
const REQUESTS: u32 = 3;
const STEPS: u32 = 2;

/// How a server ends a connection, with the second answer on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// It says so in the answer, and closes.
    Said,
    /// The close is the answer's end.
    Close,
}

/// Answers two lines on each connection.
struct Brief {
    end: End,
    answered: HashSet<Conn>,
}

impl Handler<SimReactor> for Brief {
    fn event(&mut self, reactor: &mut SimReactor, event: Event<'_>) {
        let Event::Data { conn, .. } = event else { return };
        assert_eq!(reactor.source(conn), Some(source()), "each connection of a session takes its route");
        let last = !self.answered.insert(conn);
        if !last || self.end == End::Said {
            reactor.output(conn).extend_from_slice(if last { b"by\n" } else { b"ok\n" });
            reactor.flush(conn);
        }
        if last {
            reactor.close(conn);
        }
    }
}

impl Program for Brief {
    fn step(&mut self, reactor: &mut SimReactor) -> bool {
        reactor.poll(Wait::Sleep(Time::NEVER), self).unwrap();
        true
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Visitor {
    step: u32,
    asked: u32,
}

/// Steps of several requests each.
struct Visitors;

impl Visitors {
    fn then(job: &mut Visitor, ends: bool) -> Then<Visitor> {
        job.asked += 1;
        match (job.asked == REQUESTS, ends) {
            (true, true) => Then::Close,
            (true, false) => Then::End,
            (false, true) => Then::Anew { endpoint: 0 },
            (false, false) => Then::Again { endpoint: 0 },
        }
    }
}

impl Workload for Visitors {
    type Job = Visitor;
    type Wire = ();

    fn operations(&self) -> Vec<String> {
        vec!["first".into(), "second".into()]
    }

    fn draw(&mut self, _: u64, parts: &mut Parts<Visitor>) -> usize {
        parts.push(0, Visitor::default());
        0
    }

    fn route(&self, _: &Visitor) -> Route {
        Route { via: Via { source: Some(source()), ..Via::default() }, read_rate: None }
    }

    fn request(&mut self, _: &mut Visitor, _: u16, out: &mut Vec<u8>) {
        out.extend_from_slice(b"x\n");
    }

    fn response(&mut self, job: &mut Visitor, (): &mut (), bytes: &[u8]) -> Parsed<Visitor> {
        match bytes {
            b"ok\n" => Parsed::Done { used: 3, outcome: Ok(()), then: Self::then(job, false) },
            b"by\n" => Parsed::Done { used: 3, outcome: Ok(()), then: Self::then(job, true) },
            _ => Parsed::Garbage(bytes.escape_ascii().to_string()),
        }
    }

    fn closed(&mut self, job: &mut Visitor, (): &mut ()) -> Option<Closed<Visitor>> {
        Some((Ok(()), Self::then(job, true)))
    }

    fn step_ended(&mut self, job: &mut Visitor, _: &StepEnd) -> Next {
        (job.step, job.asked) = (job.step + 1, 0);
        let step = Step { offset: Nanos(APART.0 * u64::from(job.step)), operation: 1 };
        if job.step < STEPS { Next::Send(step) } else { Next::End }
    }
}

fn source() -> IpAddr {
    "10.9.9.9".parse().unwrap()
}

fn run(end: End) -> Recording {
    let mut setup = Setup::scripted(10.0, cluster(1, 0), 401);
    (setup.plan.sessions, setup.plan.depth, setup.delay) = (Some(8), 1, DELAY);
    let server = Brief { end, answered: HashSet::new() };
    let endpoints = setup.plan.endpoints.clone();
    setup.run_against(Visitors, vec![(Box::new(server), endpoints)])
}

#[test]
fn a_step_goes_on_over_a_new_connection() {
    for end in [End::Said, End::Close] {
        let recording = run(end);
        assert_accounted(&recording, 2 * 20);
        assert_eq!(recording.tally.completed, 40, "{end:?}: {:?}", recording.errors);
        assert_eq!(
            (recording.errors.iter().count(), recording.unsolicited),
            (0, 0),
            "{:?}",
            recording.errors
        );
        assert_eq!(recording.sessions.faulty, 0);
        let of = |operation: usize| &recording.operations[operation];
        // Trips there and back: one for the connection, two answers, a connection, an answer; then an answer with which that
        // connection ends, a connection, and two answers.
        let trip = 2.0 * DELAY.0 as f64;
        for (operation, trips) in [(0, 5.0), (1, 4.0)] {
            let times = &of(operation).response_time;
            for percentile in [0.0, 100.0] {
                assert_close(
                    &format!("{end:?} {operation}"),
                    times.value_at(percentile),
                    trips * trip,
                    0.001,
                );
            }
        }
        assert_close("the first waits for its connection", of(0).connection_wait.max(), trip, 0.001);
        assert_eq!(recording.all().generator_lag.max(), Some(Nanos::ZERO));
        assert_eq!((recording.sessions.begun, recording.sessions.ended), (20, 20));
        assert_eq!(recording.endpoints[0].tally.completed, 2 * 3 * 20, "every request of each step");
    }
}
