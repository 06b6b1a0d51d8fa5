//! A few short trials of one and the same server, in pairs: what differs within a pair is what this machine does.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use hist::{WindowSelection, Windows};
use lab::Placement;
use openloop::{Endpoint, Generator, Pace, Plan, WhenAbsent};
use units::Nanos;
use workloads::null::Null;

use crate::known::{self, Server};

/// The window of a trial: three of the 100 ms whose p99s the windowed p99 is the median of, the fewest that it takes.
const WINDOW: Nanos = Nanos::from_millis(300);
const WARMUP: Nanos = Nanos::from_millis(30);
/// The offered load: of the 3000 requests in 100 ms, 1000 remain for a p99, even if the generator has no processor, and so withholds
/// requests, for two thirds of the time.
const RATE_RPS: f64 = 30e3;
/// The service time, exponential: at this load the server is busy for 30 % of the time, so that it keeps up with a third of a processor,
/// and its p99 is 66 µs, by M/M/1.
const SERVICE: &str = "exponential:10us";

/// The windowed p99s of `pairs` pairs of trials of a null server, whose process is added to `own`. Units: µs. A pair with a missing p99
/// is left out.
///
/// A pair takes 0.7 s, and no pair begins after `last`. Errors: the server does not start, or the generator fails.
pub(super) fn measure(
    placement: &Placement,
    pairs: usize,
    last: Instant,
    own: &mut Vec<u32>,
) -> Result<Vec<[f64; 2]>> {
    let start = if placement.is_shared() { Server::waiting } else { Server::start };
    let server = start(&["--service", SERVICE], &placement.server)?;
    own.push(server.pid());
    let measured = (0..pairs)
        .take_while(|_| Instant::now() < last)
        .map(|pair| {
            // Both of a pair are offered the same arrivals.
            let seed = 1 + pair as u64;
            let [first, second] = [(); 2].map(|()| trial(server.address, placement, seed));
            Ok(first?.zip(second?).map(|(first, second)| [first, second]))
        })
        .collect::<Result<Vec<_>>>();
    server.stop()?;
    Ok(measured?.into_iter().flatten().collect())
}

/// The windowed p99 of one trial. Units: µs.
fn trial(server: SocketAddr, placement: &Placement, seed: u64) -> Result<Option<f64>> {
    let shared = placement.leaves_no_time_to_spin(host::Limits::here().processors.as_ref());
    let plan = Plan {
        endpoints: vec![Endpoint { address: server.into(), connections: 4 }],
        // As measuring commands have it: one that spins on a processor that it shares would starve the server, and is absent
        // because of it.
        pace: match (placement.is_shared(), shared) {
            (true, _) => Pace::Yield,
            (false, true) => Pace::Sleep,
            (false, false) => Pace::Spin,
        },
        when_absent: if shared { WhenAbsent::Send } else { WhenAbsent::Withhold },
        warmup: WARMUP,
        drain: Nanos::from_millis(200),
        timeout: Nanos::from_secs(1),
        ..known::plan(server, RATE_RPS, seed, WINDOW)?
    };
    let cpus = placement.generator.last().copied().into_iter().collect();
    let recording = Generator::new(plan, 1, cpus, Arc::default()).run(|_| Null)?;
    Ok(figure(&recording.windows).map(Nanos::as_micros_f64))
}

/// The median of the p99s over the windows with enough requests for a p99. If no window has enough, because the generator had no
/// processor, the p99 of all requests, provided they are enough.
fn figure(windows: &Windows) -> Option<Nanos> {
    let mut p99s: Vec<Nanos> = windows.series().into_iter().filter_map(|window| window.p99).collect();
    p99s.sort_unstable();
    match p99s.len() {
        0 => windows.samples(WindowSelection::All).percentile(99.0),
        count => Some(Nanos(p99s[(count - 1) / 2].0.midpoint(p99s[count / 2].0))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_is_long_enough_for_its_figure() {
        // A third of the window holds the 1000 requests of a group with a chance of all but nothing, Poisson or not.
        let of_group = RATE_RPS * WINDOW.as_secs_f64() / 3.0;
        assert!(of_group - 1_000.0 > 10.0 * of_group.sqrt());
        const { assert!(3 * hist::WINDOW.0 <= WINDOW.0) };
    }

    #[test]
    fn windows_with_too_few_requests_are_left_out() {
        let of = |counts: [u64; 3]| {
            let mut windows = Windows::new(WINDOW);
            for (n, count) in counts.into_iter().enumerate() {
                let at = Nanos::from_millis(100 * n as u64);
                (0..count).for_each(|_| windows.record(at, Nanos::from_micros(100 * (n as u64 + 1))));
            }
            figure(&windows).map(|time| (time.as_micros_f64() / 10.0).round() * 10.0)
        };
        assert_eq!(of([3_000, 3_000, 3_000]), Some(200.0));
        assert_eq!(of([3_000, 3_000, 900]), Some(150.0));
        assert_eq!(of([900, 3_000, 900]), Some(200.0));
        assert_eq!(of([900, 400, 0]), Some(200.0));
        assert_eq!(of([900, 0, 0]), None);
    }
}
