use hist::{WindowSelection, Windows};
use stats::{Steadiness, Trend};
use units::Nanos;

use crate::Recording;
use crate::judge::{SIGNIFICANT, moved_limit, sessions};

units::limits! {
    /// The medians of the two halves of a window may differ by this share, if there is a trend.
    const STEADY: f64 = 0.5, Share,
        "ours, because medians differ by some tens of per cent where the host alone is at work, and a cache that fills makes more of it";

    /// A window is slow if more than this share of its requests exceeds the p99 of the later windows.
    const SLOW: f64 = 0.1, Share,
        "ours, because a tenth is ten times the share that exceeds a p99 anyway";

    /// The fewest requests that resolve such a share: twenty slow ones.
    const LEAST_REQUESTS: u64 = 200, Count,
        "ours, because a tenth of them are twenty slow ones";

    /// The fewest requests, on average, for a trend of medians: half of them may be too few by chance.
    const LEAST_OF_MEDIAN: u64 = 40, Count,
        "ours, because half of them may be too few by chance";

    /// The beginning moved the p99 if it did by this multiple of the allowed change.
    const MORE_THAN_CHANCE: u64 = 2, Factor,
        "ours, because the longest busy spell of a server with one queue, 70 % busy, moves the p99 of 6000 requests by more than 10 % in one trial of ten, and by more than 20 % in fewer than one of a thousand";

    /// Parts in which a drift of the p99 is sought: the fewest for a trend test, so that each is as long as possible and
    /// resembles its neighbours as little as possible.
    const PARTS: usize = 10, Count,
        "ours, because it is the fewest for a trend test: each part is then as long as possible and resembles its neighbours as little as possible";

    /// A drift counts if chance produces one as clear in fewer than one of a thousand trials: parts that resemble their
    /// neighbours make it look rarer than it is.
    const CLEARLY: f64 = 0.001, Share,
        "ours, because parts that resemble their neighbours make a trend look rarer than it is";

    /// The last part of the window in which a server that caught up has to be seen doing so.
    const LATELY: f64 = 1.0 / 3.0, Share,
        "ours, because the first two thirds are left to the start of a server";

    /// A server caught up if it answered more than was offered in that part, by this share of the offered requests.
    const CAUGHT_UP: f64 = 0.1, Share,
        "ours, because it is three times the chance variation of the backlog of a server at its limit in 2000 requests";
}

/// Why the window was not in one state, if it was not.
///
/// `behind`: whether the server did not keep up. An overload has no steady state, but one that ended within the
/// window is no overload. `of_sessions`: whether arrivals are sessions. The number of their steps under way and the
/// p99 of all steps have trends by chance and are not tested for one; the effect of the beginning and the number of
/// sessions under way are tested instead.
pub(super) fn unsteady(
    recording: &Recording,
    (windows, kept): &(Windows, WindowSelection),
    behind: bool,
    of_sessions: bool,
) -> Option<String> {
    let kept = *kept;
    let found = match (behind, of_sessions) {
        (true, true) => None,
        (true, false) => caught_up(recording),
        (false, true) => sessions::unsteady(recording)
            .or_else(|| medians(windows, kept))
            .or_else(|| beginning(windows, kept)),
        (false, false) => {
            medians(windows, kept).or_else(|| beginning(windows, kept)).or_else(|| drift(windows, kept))
        }
    };
    found.map(|found| format!("{found}; a longer --warmup may help"))
}

/// The halves have other medians: of windows, or of as many together as a median takes.
fn medians(windows: &Windows, kept: WindowSelection) -> Option<String> {
    let counts = windows.beyond(kept, Nanos::ZERO);
    let (n, requests) = (counts.len(), counts.iter().map(|(count, _)| count).sum::<u64>());
    let group = (LEAST_OF_MEDIAN * n as u64).div_ceil(requests.max(1)).max(1) as usize;
    let median = |from: usize| windows.samples_in(kept, from..(from + group).min(n)).percentile(50.0);
    let series: Vec<f64> = if group == 1 {
        let all =
            windows.series().into_iter().filter(|window| kept == WindowSelection::All || !window.marked);
        all.filter_map(|window| window.p50).map(|p50| p50.0 as f64).collect()
    } else {
        (0..n).step_by(group).filter_map(median).map(|p50| p50.0 as f64).collect()
    };
    let steadiness = Steadiness::of(&series, STEADY).filter(|s| !s.is_steady())?;
    Some(format!("median response time: {steadiness}"))
}

/// The p99 comes from the beginning alone.
///
/// A server with occasional slow spells has them anywhere in the window, and they are its own behaviour. So the
/// beginning is the cause only if the window begins with a spell that does not recur: for a server with a single slow
/// spell, chance puts it at the very start in one trial of as many as the trial has windows.
fn beginning(windows: &Windows, kept: WindowSelection) -> Option<String> {
    let p99 = windows.samples(kept).percentile(99.0)?;
    let counts = windows.beyond(kept, Nanos::ZERO);
    let n = counts.len();
    let later = windows.samples_in(kept, n / 2..n).percentile(99.0)?;
    let requests: u64 = counts.iter().map(|(count, _)| count).sum();
    let group = (LEAST_REQUESTS * n as u64).div_ceil(requests.max(1)).max(1) as usize;
    let beyond = windows.beyond(kept, later + moved_limit(later));
    let is_slow = |windows: &[(u64, u64)]| {
        let (count, beyond) = windows.iter().fold((0, 0), |sum, w| (sum.0 + w.0, sum.1 + w.1));
        beyond as f64 > SLOW * count as f64
    };
    let slow: Vec<bool> = beyond.chunks(group).map(is_slow).collect();
    let first = group * leading(&slow)?;
    let without = windows.samples_in(kept, first..n).percentile(99.0)?;
    (p99 - without > Nanos(MORE_THAN_CHANCE * moved_limit(without).0)).then(|| {
        format!("without the first {first} of {n} windows, after which none is slow, the p99 of {p99} would be {without}")
    })
}

/// How many of the first windows hold all slow ones; `None` if the very first is not slow, or chance may well have
/// put the others there.
fn leading(slow: &[bool]) -> Option<usize> {
    let first = slow.iter().rposition(|slow| *slow)? + 1;
    // Windows that are slow one after the other are so for one reason.
    let reasons = slow.chunk_by(|a, b| a == b).filter(|run| run[0]).count();
    let n = slow.len() as f64;
    let by_chance = (first as f64 / n).powi(reasons as i32 - 1);
    (slow[0] && (reasons == 1 || by_chance <= 1.0 / n)).then_some(first)
}

/// The p99 rises or falls over the window, and is another one without the half in which it is higher.
fn drift(windows: &Windows, kept: WindowSelection) -> Option<String> {
    let n = windows.beyond(kept, Nanos::ZERO).len();
    let p99_of = |from: usize, to: usize| windows.samples_in(kept, from..to).percentile(99.0);
    let parts = (0..PARTS).map(|i| p99_of(i * n / PARTS, (i + 1) * n / PARTS));
    let series: Vec<f64> = parts.map(|p99| Some(p99?.0 as f64)).collect::<Option<_>>()?;
    let trend = Trend::of(&series).filter(|trend| trend.p_value < CLEARLY)?;
    let p99 = p99_of(0, n)?;
    let (first, second) = (p99_of(0, n / 2)?, p99_of(n / 2, n)?);
    (p99 - first.min(second) > moved_limit(first.min(second))).then(|| {
        format!(
            "the p99 of {p99} is {first} in the first half and {second} in the second, trend p = {:.1e}",
            trend.p_value
        )
    })
}

/// The server did not keep up, and then answered more than was offered until the end.
fn caught_up(recording: &Recording) -> Option<String> {
    let outstanding: Vec<f64> =
        recording.backlog.iter().map(|point| (point.backlog + point.in_flight) as f64).collect();
    let from = ((1.0 - LATELY) * outstanding.len() as f64) as usize;
    let trend = Trend::of(&outstanding[from..]).filter(|trend| trend.p_value < SIGNIFICANT)?;
    let offered = LATELY * recording.tally.intended as f64;
    let fallen = -trend.rise() / offered;
    (fallen > CAUGHT_UP).then(|| {
        let most = outstanding.iter().copied().fold(0.0, f64::max);
        format!(
            "of {most:.0} requests outstanding the server worked off some until the end, {:.0} % more than was offered",
            100.0 * fallen
        )
    })
}

#[cfg(test)]
mod tests {
    use dist::{Gap, Purpose, Streams};

    use super::*;

    /// A server with one queue.
    #[derive(Clone, Copy, Debug)]
    struct Server {
        rps: f64,
        window: Nanos,
        utilisation: f64,
        /// A share of the requests, and by which factor they take longer than the others.
        long: (f64, f64),
        /// Length of its pauses, and the mean time between them.
        pauses: Option<(Nanos, Nanos)>,
    }

    impl Server {
        fn new(rps: f64, seconds: u64, utilisation: f64) -> Server {
            Server { rps, window: Nanos::from_secs(seconds), utilisation, long: (0.0, 1.0), pauses: None }
        }

        /// Response times by Lindley's recursion; each request takes `slow(at)` times its final service time.
        fn run(&self, seed: u64, slow: impl Fn(f64) -> f64) -> Windows {
            let streams = Streams::new(seed);
            let mut rng = streams.stream(Purpose::Service, 0);
            let gap = Gap::Exponential(1e9 / self.rps);
            let (share, times) = self.long;
            let mean = self.utilisation * 1e9 / self.rps / (1.0 - share + share * times);
            let mut windows = Windows::new(self.window);
            // As long a warm-up as the window, in which the queue finds its length.
            let warmup = self.window.0 as f64;
            let (mut now, mut free, mut next_pause) = (0.0, 0.0f64, f64::INFINITY);
            if let Some((_, every)) = self.pauses {
                next_pause = Gap::Exponential(every.0 as f64).sample_ns(&mut rng);
            }
            loop {
                now += gap.sample_ns(&mut rng);
                if now >= 2.0 * warmup {
                    return windows;
                }
                if now >= next_pause
                    && let Some((length, every)) = self.pauses
                {
                    free = free.max(next_pause) + length.0 as f64;
                    next_pause += Gap::Exponential(every.0 as f64).sample_ns(&mut rng);
                }
                let into = (now - warmup) / warmup;
                let long = if rand::RngExt::random::<f64>(&mut rng) < share { times } else { 1.0 };
                let service = Gap::Exponential(mean).sample_ns(&mut rng) * long * slow(into);
                free = free.max(now) + service;
                if now >= warmup {
                    windows.record(Nanos((now - warmup) as u64), Nanos((free - now) as u64));
                }
            }
        }

        /// Number of `runs` in which the window is called unsteady.
        fn found(&self, runs: u64, slow: impl Fn(f64) -> f64) -> u64 {
            let mut found = 0;
            for seed in 0..runs {
                let windows = self.run(seed, &slow);
                let told = beginning(&windows, WindowSelection::All)
                    .or_else(|| drift(&windows, WindowSelection::All));
                if let Some(told) = &told {
                    println!("{self:?}, seed {seed}: {told}");
                }
                found += u64::from(told.is_some());
            }
            found
        }
    }

    /// The server stays as it is.
    fn steady(_: f64) -> f64 {
        1.0
    }

    #[test]
    fn a_server_in_one_state_is_not_called_unsteady() {
        let mut found = 0;
        for (rps, seconds) in [(3_000.0, 2), (3_000.0, 10), (500.0, 10)] {
            for utilisation in [0.3, 0.5, 0.7, 0.8] {
                found += Server::new(rps, seconds, utilisation).found(15, steady);
            }
            let long = Server { long: (0.02, 20.0), ..Server::new(rps, seconds, 0.5) };
            found += long.found(15, steady);
            for (length, every) in [(10, 100), (20, 500)] {
                let pauses = Some((Nanos::from_millis(length), Nanos::from_millis(every)));
                found += Server { pauses, ..Server::new(rps, seconds, 0.5) }.found(15, steady);
            }
        }
        // Out of 315 runs; it was 15 out of 2 100.
        assert!(found <= 6, "{found}");
    }

    #[test]
    fn a_pause_is_the_beginnings_only_at_the_very_beginning() {
        let slow_in = |slow: &[usize]| {
            let mut windows = Windows::new(Nanos::from_secs(2));
            for window in 0..20 {
                for i in 0..300 {
                    let long = slow.contains(&window) && i < 90;
                    let time = if long { Nanos::from_millis(40) } else { Nanos::from_micros(1 + i) };
                    windows.record(Nanos::from_millis(100 * window as u64), time);
                }
            }
            beginning(&windows, WindowSelection::All).is_some()
        };
        assert!(slow_in(&[0]) && slow_in(&[0, 1, 2]));
        assert!(slow_in(&[0, 1, 2, 3]));
        for recurring in [&[1][..], &[1, 2, 3], &[0, 2], &[0, 9], &[0, 4, 9], &[0, 15], &[19], &[]] {
            assert!(!slow_in(recurring), "{recurring:?}");
        }
    }

    #[test]
    fn a_warm_up_that_is_still_under_way_is_found() {
        let until = |share: f64, times: f64| move |into: f64| if into < share { times } else { 1.0 };
        for (rps, seconds) in [(3_000.0, 2), (3_000.0, 10), (500.0, 10)] {
            let server = Server::new(rps, seconds, 0.5);
            for share in [0.02, 0.1] {
                assert_eq!(server.found(5, until(share, 2.5)), 5, "{rps} {seconds} {share}");
            }
        }
        // Three times slower and ever faster, without a queue that grows.
        let decays = |into: f64| 1.0 + 1.8 * (-3.0 * into.max(0.0)).exp();
        assert!(Server::new(20_000.0, 5, 0.3).found(5, decays) >= 4);
    }

    #[test]
    fn an_overload_that_ends_is_none() {
        let check = |outstanding: fn(u64) -> u64, expect: bool| {
            let mut recording = Recording::new(
                &["get".into()],
                0,
                Vec::<crate::EndpointTimes>::new(),
                Nanos::from_secs(2),
                Windows::new(Nanos::from_secs(2)),
            );
            recording.tally.intended = 6_000;
            recording.backlog = (0..=200)
                .map(|i| crate::BacklogPoint {
                    offset: Nanos::from_millis(10 * i),
                    backlog: outstanding(i),
                    in_flight: 0,
                    sessions: 0,
                })
                .collect();
            assert_eq!(caught_up(&recording).is_some(), expect, "{:?}", caught_up(&recording));
        };
        // It grows to 1 000 in the first half, and 6 more than are offered are answered in each 10 ms from there on.
        check(|i| if i < 100 { 10 * i } else { 1_000 - 6 * (i - 100) }, true);
        check(|i| 10 * i, false);
        // Within the range of chance for a server at its limit.
        check(|i| 500 - i, false);
        // A quota: up and down.
        check(|i| 20 * (i % 10), false);
    }
}
