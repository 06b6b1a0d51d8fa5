//! Faults of the generator and of its machine.

use std::fmt::Write;
use std::sync::Arc;

use anyhow::Result;
use dist::{Arrivals, Gap, Purpose, Streams, Trace};
use openloop::Load;
use reactor::sim::Costs;
use results::Reason;
use units::{Nanos, Rate};

use super::RECURSION;
use crate::faults::chance::Chance;
use crate::faults::fault::{Fault, Outcome};
use crate::faults::right::Right;
use crate::faults::scene::{RPS, START, Scene, WINDOW};
use crate::faults::service::Service;

/// Permitted reasons for a generator that could not run or had too much work. If the halves of the window differ
/// because of it, "not steady" is right.
const LATE: &[Reason] = &[
    Reason::GeneratorLag,
    Reason::ReceiveLag,
    Reason::HostDisturbed,
    Reason::GeneratorSaturated,
    Reason::RateMissed,
    Reason::NotSteady,
];
const LATE_WORDS: &str =
    "invalid (generator lag, receive lag, host disturbed or generator saturated), or valid with true figures";

/// A row of the table below: a simulated fault that makes the generator late, or has no effect.
const fn late(
    name: &'static str,
    planted: &'static str,
    doses: &'static str,
    plant: fn(&mut Chance) -> Result<Outcome>,
) -> Fault {
    Fault { name, planted, doses, right: LATE_WORDS, truth: RECURSION, plant }
}

const SENDING: &str = "for 0.1 to 20 % of the window";
const RECEIVING: &str = "in 1 to 100 % of the bursts";

pub(crate) const FAULTS: &[Fault] = &[
    Fault {
        name: "none",
        planted: "nothing",
        doses: "utilisation 45 to 70 %",
        right: "valid with true figures",
        truth: RECURSION,
        plant: none,
    },
    late(
        "stop-1ms-sending",
        "the generator's machine stands still for 1 ms while requests are due",
        SENDING,
        |c| stopped_while_sending(c, Nanos::from_millis(1)),
    ),
    late("stop-5ms-sending", "the same for 5 ms", SENDING, |c| {
        stopped_while_sending(c, Nanos::from_millis(5))
    }),
    late("stop-50ms-sending", "the same for 50 ms", SENDING, |c| {
        stopped_while_sending(c, Nanos::from_millis(50))
    }),
    late(
        "stop-1ms-receiving",
        "the generator's machine stands still for 1 ms between bursts, when answers come and nothing is due",
        RECEIVING,
        |c| stopped_while_receiving(c, Nanos::from_millis(1)),
    ),
    late("stop-5ms-receiving", "the same for 5 ms", RECEIVING, |c| {
        stopped_while_receiving(c, Nanos::from_millis(5))
    }),
    late("stop-50ms-receiving", "the same for 50 ms", RECEIVING, |c| {
        stopped_while_receiving(c, Nanos::from_millis(50))
    }),
    late(
        "hog-on-generator",
        "another program takes turns with the generator on its processor",
        "turns of 0.5 to 4 ms, 5 to 50 % of the time",
        hog,
    ),
    late(
        "slow-receive",
        "receiving an answer takes the generator long",
        "20 to 90 % of its time in receiving",
        slow_receive,
    ),
    late(
        "slow-send",
        "sending a request takes the generator long",
        "20 to 90 % of its time in sending",
        slow_send,
    ),
    late(
        "clock-step",
        "the generator's monotonic clock jumps ahead, as that of a guest that was suspended",
        "1 to 10 steps of 0.1 to 100 ms",
        clock_step,
    ),
];

fn none(chance: &mut Chance) -> Result<Outcome> {
    let scene = Scene::new(chance)?;
    let dose = format!("utilisation {:.0} %", 100.0 * scene.utilisation());
    Ok(scene.judged(dose, Right::Valid).into())
}

fn stopped_while_sending(chance: &mut Chance, length: Nanos) -> Result<Outcome> {
    let mut scene = Scene::new(chance)?;
    let share = chance.magnitude(0.001, 0.2);
    let n = ((share * WINDOW.0 as f64 / length.0 as f64).round() as u64).max(1);
    scene.stops = chance.spread(scene.opens(), WINDOW, n, length);
    Ok(scene.judged(format!("{n} times {length}"), Right::TrueOrInvalid(LATE)).into())
}

/// Parts of a cycle, as multiples of the stop's length: the burst of arrivals,
const BURST: f64 = 0.45;
/// the minimum service time of the server,
const TAKES: f64 = 0.5;
/// its mean additional service time,
const SPREAD: f64 = 0.12;
/// the earliest start of the stop, and the range after it,
const STOP: (f64, f64) = (0.5, 0.2);
/// and the next burst begins after this, when the stop has ended and all requests are answered. It is not a multiple of
/// the 10 ms interval at which the engine checks the backlog.
const CYCLE: f64 = 2.4;

/// Bursts of arrivals whose responses come after them, and stops in between.
fn stopped_while_receiving(chance: &mut Chance, length: Nanos) -> Result<Outcome> {
    let mut scene = Scene::new(chance)?;
    let times = |factor: f64| Nanos((factor * length.0 as f64) as u64);
    let cycle = times(CYCLE);
    let whole = |span: Nanos| Nanos(span.0.div_ceil(cycle.0) * cycle.0);
    // Whole cycles, so that the window's ends cut no burst.
    (scene.plan.warmup, scene.plan.window) = (whole(scene.plan.warmup), whole(WINDOW));
    scene.plan.load = bursts(scene.closes().since(START), cycle, times(BURST), scene.plan.seed)?;
    // Requests are served in parallel, each with its own time; on a stream, responses keep their order.
    scene.service =
        Service { fixed: times(TAKES), at_once: true, ..Service::queue(times(SPREAD), chance.seed()) };
    scene.datagrams = true;
    let share = chance.magnitude(0.01, 1.0);
    let cycles = scene.plan.window.0 / cycle.0;
    let must = chance.count(0, cycles - 1);
    for i in 0..cycles {
        if i == must || chance.unit() < share {
            let after = times(chance.between(STOP.0, STOP.0 + STOP.1));
            scene.stops.push((scene.opens() + Nanos(i * cycle.0) + after, length));
        }
    }
    let dose = format!("{} of {cycles} bursts, {length} each", scene.stops.len());
    Ok(scene.judged(dose, Right::TrueOrInvalid(LATE)).into())
}

/// [`RPS`] on average, all within the first `burst` of each `cycle`, for `span`.
fn bursts(span: Nanos, cycle: Nanos, burst: Nanos, seed: u64) -> Result<Load> {
    let gap = Gap::Exponential(1e9 / RPS * burst.0 as f64 / cycle.0 as f64);
    let mut rng = Streams::new(seed).stream(Purpose::Arrivals, 0);
    let (mut text, mut active) = ("ns\n".to_owned(), 0.0f64);
    loop {
        let whole = active as u64;
        let at = whole / burst.0 * cycle.0 + whole % burst.0;
        if at >= span.0 {
            break;
        }
        writeln!(text, "{at}")?;
        active += gap.sample_ns(&mut rng);
    }
    let arrivals = Arrivals::replay(Arc::new(Trace::parse(&text)?), 1.0);
    Ok(Load::Open { arrivals, rate: Rate::new(RPS)?, steady: false })
}

fn hog(chance: &mut Chance) -> Result<Outcome> {
    let mut scene = Scene::new(chance)?;
    let turn = chance.span(Nanos::from_micros(500), Nanos::from_millis(4));
    let share = chance.magnitude(0.05, 0.5);
    let every = Nanos((turn.0 as f64 / share) as u64);
    let span = scene.closes().since(START);
    scene.stops = chance.spread(START, span, span.0 / every.0, turn);
    let dose = format!("{turn} in each {every}");
    Ok(scene.judged(dose, Right::TrueOrInvalid(LATE)).into())
}

fn slow_receive(chance: &mut Chance) -> Result<Outcome> {
    let share = chance.between(0.2, 0.9);
    slow(chance, share, |costs, cost| Costs { receive: cost, ..costs })
}

fn slow_send(chance: &mut Chance) -> Result<Outcome> {
    let share = chance.between(0.2, 0.9);
    slow(chance, share, |costs, cost| Costs { send: cost, ..costs })
}

/// Raises the cost of one side of each request until it takes `share` of the generator's time.
fn slow(chance: &mut Chance, share: f64, with: fn(Costs, Nanos) -> Costs) -> Result<Outcome> {
    let mut scene = Scene::new(chance)?;
    let cost = Nanos((share / RPS * 1e9) as u64);
    scene.costs = with(scene.costs, cost);
    let dose = format!("{cost} each, {:.0} % of its time", 100.0 * share);
    Ok(scene.judged(dose, Right::TrueOrInvalid(LATE)).into())
}

fn clock_step(chance: &mut Chance) -> Result<Outcome> {
    let mut scene = Scene::new(chance)?;
    let by = chance.span(Nanos::from_micros(100), Nanos::from_millis(100));
    let n = chance.count(1, 10);
    // The window is open for less of the world's time, since the steps are part of it.
    let left = scene.plan.window - Nanos(n * by.0);
    let steps = chance.spread(scene.opens(), left, n, Nanos::ZERO);
    scene.steps = steps.into_iter().map(|(at, _)| (at, by)).collect();
    Ok(scene.judged(format!("{n} times {by}"), Right::TrueOrInvalid(LATE)).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use openloop::Schedule;

    #[test]
    fn bursts_have_the_mean_rate_and_end_before_the_stop() {
        let (cycle, burst) = (Nanos(12_000_000), Nanos(2_250_000));
        let span = Nanos(100 * cycle.0);
        let Load::Open { arrivals, .. } = bursts(span, cycle, burst, 5).unwrap() else { panic!("open") };
        let mut schedule = Schedule::new(arrivals, &Streams::new(5), START, 0, 1);
        let due: Vec<u64> = std::iter::from_fn(|| Some(schedule.take().intended))
            .take_while(|at| *at < START + span)
            .map(|at| at.since(START).0)
            .collect();
        // Five standard deviations of 3 600 arrivals are 300.
        assert!((3_300..3_900).contains(&due.len()), "{}", due.len());
        assert!(due.iter().all(|at| at % cycle.0 < burst.0));
    }
}
