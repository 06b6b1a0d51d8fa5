use anyhow::{Context, Result};
use dist::Gap;
use reference_servers::Stalls;
use reference_servers::null::Service;
use serde::Serialize;
use stats::Queue;
use units::{Nanos, Time};

use crate::known;

/// Mean service time of the server, the same as on its command line.
const SERVICE: Nanos = Nanos::from_micros(100);
/// Stalls and their distance, from the same command line.
const STALL: Nanos = Nanos::from_millis(100);
const EVERY: Nanos = Nanos::from_secs(1);
/// Simulated time: 400 000 arrivals, of which 400 lie beyond p99.9, which is then exact to some per cent.
const SIMULATED: Nanos = Nanos::from_secs(200);

/// The response times from the intended time on, under Poisson arrivals. Units: µs.
#[derive(Serialize)]
pub(crate) struct Truth {
    pub(crate) p50_us: Option<f64>,
    pub(crate) p99_us: Option<f64>,
    pub(crate) p99_9_us: Option<f64>,
    pub(crate) max_us: Option<f64>,
    pub(crate) about: &'static str,
}

impl Truth {
    /// Without stalls by the formula of the M/M/1 queue, with stalls by simulation.
    pub(crate) fn of(rps: f64, stalls: bool, seed: u64) -> Result<Truth> {
        if stalls { simulated(rps, seed) } else { computed(rps) }
    }
}

fn computed(rps: f64) -> Result<Truth> {
    let service = SERVICE.as_micros_f64();
    let queue = Queue::new(rps * SERVICE.as_secs_f64(), service).context("the server would be overloaded")?;
    let at = |percentile| Some(queue.mm1_percentile(percentile));
    Ok(Truth {
        p50_us: at(50.0),
        p99_us: at(99.0),
        p99_9_us: at(99.9),
        max_us: None,
        about: "Truth: the queue M/M/1; wires and event loops add some 20 to 50 µs to every figure, which shows at p50.",
    })
}

fn simulated(rps: f64, seed: u64) -> Result<Truth> {
    let stalls = Stalls::periodic(Time(0), EVERY, STALL, SIMULATED.0 / EVERY.0 + 4);
    let service = Service::Queue { time: Gap::Exponential(SERVICE.0 as f64), stalls, seed: seed + 1 };
    let recording = known::simulate(known::plan(known::SIMULATED, rps, seed, SIMULATED)?, service);
    let times = recording.all().response_time;
    let at = |percentile| times.value_at(percentile).map(Nanos::as_micros_f64);
    Ok(Truth {
        p50_us: at(50.0),
        p99_us: at(99.0),
        p99_9_us: at(99.9),
        max_us: times.max().map(Nanos::as_micros_f64),
        about: "Truth: the simulation of 200 s with Poisson arrivals. By arithmetic alone: a tenth of the requests come in a stall and wait evenly for up to 100 ms, so p99 is 90 ms and more, as what has queued up is then worked off.",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_and_simulation_agree_where_both_can_say() {
        let truth = Truth::of(2_000.0, false, 1).unwrap();
        // ρ = 0.2, mean response 125 µs, exponential.
        assert!((truth.p99_us.unwrap() - 125.0 * 100f64.ln()).abs() < 1e-6);
        // At low rates no queue forms behind a stall: a hundredth waits over 90 ms.
        let rare = Truth::of(100.0, true, 1).unwrap();
        let near = |got: Option<f64>, expect: f64, by: f64| {
            let got = got.unwrap();
            assert!((got / expect - 1.0).abs() < by, "{got} is not near {expect}");
        };
        near(rare.p99_us, 90_000.0, 0.05);
        near(rare.max_us, 100_000.0, 0.02);
        let busy = Truth::of(2_000.0, true, 1).unwrap();
        assert!(busy.p99_us > rare.p99_us, "what has queued up is worked off");
        near(busy.p99_9_us, 100_000.0, 0.05);
    }
}
