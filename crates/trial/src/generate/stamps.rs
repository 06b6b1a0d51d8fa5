use hist::Latency;
use openloop::{Generator, Recording, Stamps};
use reactor::{Exchange, WallClock};
use results::LatencySummary;
use results::probes::{ClientTimes, Probes};

use crate::clocks::Clocks;
use crate::task::Task;

/// One connection in this many is stamped: the cost of stamps must not become the queue that is measured.
const ONE_IN: usize = 8;
/// Exchanges that are kept if the number of requests is unknown, and the maximum: 56 MiB, or 224.
const UNKNOWN: f64 = 1e6;
const MOST: f64 = 4e6;

/// A run with kernel time stamps.
pub(super) struct Stamped {
    before: WallClock,
}

impl Stamped {
    /// Requests kernel time stamps for `generator`.
    pub(super) fn begin(generator: &mut Generator, task: &Task) -> Stamped {
        let seconds = (task.spec.time.warmup + task.spec.time.window).as_secs_f64();
        let watched = |rps: f64| rps * seconds / ONE_IN as f64 / f64::from(generator.threads);
        // Twice the expected number, so that all have room.
        let room = task.spec.load.rate().map_or(UNKNOWN, |rate| 2.0 * watched(rate.rps()) + 1_000.0);
        generator.stamps = Some(Stamps { one_in: ONE_IN, room: room.min(MOST) as usize });
        Stamped { before: WallClock::sample() }
    }

    /// The stamps of the window; `None` if there are no stamps.
    pub(super) fn record(self, generator: &Generator, recording: &Recording) -> Option<Probes> {
        let clocks = Clocks { before: self.before, after: WallClock::sample() };
        let (from, to) = (recording.window_start, recording.window_start + recording.window);
        let mut exchanges = generator.take_stamped();
        exchanges.retain(|exchange| from <= exchange.sent && exchange.sent < to);
        (!exchanges.is_empty())
            .then(|| Probes { client: Some(times(&exchanges, &clocks)), ..Probes::default() })
    }
}

fn times(exchanges: &[Exchange], clocks: &Clocks) -> ClientTimes {
    let [mut to_device, mut away, mut to_reader, mut service] = [(); 4].map(|()| Latency::new());
    for exchange in exchanges {
        to_device.record(clocks.monotonic(exchange.left).since(exchange.sent));
        away.record(exchange.came.since(exchange.left));
        to_reader.record(exchange.done.since(clocks.monotonic(exchange.came)));
        service.record(exchange.done.since(exchange.sent));
    }
    ClientTimes {
        one_in: ONE_IN as u32,
        requests: exchanges.len() as u64,
        to_device: LatencySummary::of(&to_device),
        away: LatencySummary::of(&away),
        to_reader: LatencySummary::of(&to_reader),
        service_time: LatencySummary::of(&service),
        clocks_us: clocks.error_us(),
    }
}

#[cfg(test)]
mod tests {
    use reactor::Conn;
    use units::{Nanos, Time};

    use super::*;

    #[test]
    fn an_exchange_is_cut_at_the_kernels_stamps() {
        // The wall clock is a second ahead.
        let ahead = 1_000_000_000;
        let clock = WallClock { at: Time(0), ahead_ns: ahead, error: Nanos(500) };
        let clocks = Clocks { before: clock, after: WallClock { at: Time(1_000_000_000), ..clock } };
        let exchange = |sent: u64| Exchange {
            conn: Conn { slot: 0, generation: 1 },
            sent: Time(sent),
            left: Time(sent + 3_000 + ahead as u64),
            came: Time(sent + 43_000 + ahead as u64),
            done: Time(sent + 50_000),
        };
        let exchanges: Vec<Exchange> = (0..20).map(|i| exchange(1_000_000 * i)).collect();
        let got = times(&exchanges, &clocks);
        let means = [&got.to_device, &got.away, &got.to_reader, &got.service_time].map(|part| part.mean_us);
        for (got, expect) in means.into_iter().zip([3.0, 40.0, 7.0, 50.0]) {
            assert!((got.unwrap() / expect - 1.0).abs() < 0.01, "{got:?} {expect}");
        }
        assert_eq!((got.requests, got.one_in, got.clocks_us), (20, 8, 0.5));
    }
}
