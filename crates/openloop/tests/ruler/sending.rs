//! Receiving does not hold up sending, although one thread does both.
//!
//! Memloader splits sending and receiving into threads. Here a stalled server answers 2 000 requests at once while
//! arrivals go on, and the lag of the engine is set against that of such a split whose threads share the one core.

use std::collections::VecDeque;

use dist::{Arrivals, Gap, Process, Streams};
use hist::Latency;
use openloop::{Recording, Schedule};
use reactor::sim::Costs;
use reference_servers::Stalls;
use units::{Nanos, Rate, Time};

use crate::simulation::{START, Setup};

const COSTS: Costs = Costs { send: Nanos(4_000), receive: Nanos(700) };
const STALL: Nanos = Nanos::from_millis(20);
/// The stall's end, when all answers come.
const BURST: Time = Time(START.0 + 60_000_000);
/// Long enough for all of them: 2 000 × 0.7 µs and the sends in between.
const SPAN: Nanos = Nanos::from_millis(4);

/// The lag of the arrivals due while the answers are received.
fn engine(constant: bool, rps: f64, costs: Costs, seed: u64) -> Recording {
    let stalls = Stalls::once(Time(BURST.0 - STALL.0), STALL);
    let mut setup = Setup::new(rps, Gap::Constant(0.0), stalls, seed);
    if constant {
        setup.constant();
    }
    setup.connections(512);
    setup.generator_costs = costs;
    (setup.plan.warmup, setup.plan.window) = (BURST.since(START), SPAN);
    setup.run()
}

#[test]
fn an_arrival_waits_for_one_send_and_one_receive_at_most() {
    for (rps, costs) in [
        (100_000.0, COSTS),
        (100_000.0, Costs { send: Nanos(4_000), receive: Nanos(4_000) }),
        (20_000.0, Costs { send: Nanos(2_000), receive: Nanos(20_000) }),
    ] {
        let recording = engine(true, rps, costs, 151);
        let most = recording.max_in_flight as f64;
        assert!(most > 0.9 * rps * STALL.as_secs_f64(), "{most} were outstanding");
        let lag = recording.all().generator_lag.max().unwrap();
        let bound = costs.send + costs.receive;
        println!("{rps} rps, {costs:?}: longest lag {lag}, bound {bound}");
        // The histogram rounds up by 0.1 %.
        assert!(lag.0 as f64 <= 1.001 * bound.0 as f64, "{lag} against {bound}");
        assert!(lag > Nanos::ZERO, "they do meet");
    }
}

/// How a sending and a receiving thread share a core.
#[derive(Clone, Copy)]
enum Sharing {
    /// Ideally: each runs at half speed while both have work, and changing over costs nothing.
    Fluid,
    /// In turns of this length, if both have work, as Linux does: 0.75 ms on one processor, 3 ms on eight.
    Turns(f64),
}

/// The lag of the same arrivals, in ns, with sending and receiving split: an independent model.
fn split(arrivals: &[f64], answers: u64, sharing: Sharing) -> Latency {
    let (send, receive) = (COSTS.send.0 as f64, COSTS.receive.0 as f64);
    let mut lag = Latency::new();
    let mut due: VecDeque<f64> = arrivals.iter().copied().collect();
    let (mut now, mut to_receive, mut sending) = (0.0f64, answers as f64 * receive, 0.0f64);
    while !due.is_empty() || sending > 0.0 {
        if sending <= 0.0 && due.front().is_some_and(|&at| at <= now) {
            let at = due.pop_front().unwrap();
            // In turns, the sender must have the turn to begin.
            let begin = match sharing {
                Sharing::Turns(turn) if to_receive > 0.0 && ((now / turn) as u64).is_multiple_of(2) => {
                    let next = ((now / turn).floor() + 1.0) * turn;
                    to_receive = (to_receive - (next - now)).max(0.0);
                    next
                }
                _ => now,
            };
            now = begin;
            lag.record(Nanos((begin - at) as u64));
            sending = send;
        }
        let both = sending > 0.0 && to_receive > 0.0;
        let speeds = match sharing {
            Sharing::Fluid if both => (0.5, 0.5),
            Sharing::Turns(_) if both => (1.0, 0.0),
            _ => (1.0, 1.0),
        };
        let step = [
            if sending > 0.0 { sending / speeds.0 } else { due.front().map_or(0.0, |at| at - now) },
            if to_receive > 0.0 && speeds.1 > 0.0 { to_receive / speeds.1 } else { f64::INFINITY },
        ];
        let step = step[0].min(step[1]);
        let finishes = sending > 0.0 && step * speeds.0 >= sending - 1e-6;
        now += step;
        sending = if finishes { 0.0 } else { (sending - step * speeds.0).max(0.0) };
        to_receive = (to_receive - step * speeds.1).max(0.0);
        if finishes {
            // The server answers at once.
            to_receive += receive;
        }
        if to_receive < 1e-6 {
            to_receive = 0.0;
        }
    }
    lag
}

#[test]
fn one_thread_is_no_later_than_two_that_share_its_core() {
    let rate = Rate::new(100_000.0).unwrap();
    let [mut ours, mut fluid, mut turns] = [Latency::new(), Latency::new(), Latency::new()];
    for seed in 160..180 {
        ours.merge(&engine(false, rate.rps(), COSTS, seed).all().generator_lag);
        let arrivals = Arrivals::new(Process::Poisson, None, rate);
        let mut schedule = Schedule::new(arrivals, &Streams::new(seed), START, 0, 1);
        let mut due = Vec::new();
        let mut outstanding = 0;
        while schedule.peek().intended < BURST + SPAN {
            let at = schedule.take().intended;
            if at >= BURST {
                due.push(at.since(BURST).0 as f64);
            } else if at.0 >= BURST.0 - STALL.0 {
                outstanding += 1;
            }
        }
        fluid.merge(&split(&due, outstanding, Sharing::Fluid));
        turns.merge(&split(&due, outstanding, Sharing::Turns(750_000.0)));
    }
    assert_eq!(ours.count(), fluid.count(), "the same arrivals");
    assert_eq!(ours.count(), turns.count(), "the same arrivals");
    for percentile in [50.0, 90.0, 99.0, 99.9] {
        let at = |lag: &Latency| lag.value_at(percentile).unwrap();
        let [ours, fluid, turns] = [at(&ours), at(&fluid), at(&turns)];
        println!("p{percentile}: one thread {ours}, ideal split {fluid}, split in turns {turns}");
        // The ideal split can begin in the middle of a receive, which no thread of one core can.
        assert!(ours <= fluid + COSTS.receive, "p{percentile}: {ours} against {fluid}");
        assert!(ours <= turns + COSTS.receive, "p{percentile}: {ours} against {turns}");
    }
}
