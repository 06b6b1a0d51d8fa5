use hist::{Latency, WINDOW, WindowSelection, Windows};
use results::Basis;
use units::Nanos;

use crate::Recording;
use crate::judge::{moved_limit, sessions};

units::limits! {
    /// Least length of a disturbance of the host, with the time in which its backlog is worked off, over the length of the
    /// pause itself.
    pub(super) const CATCH_UP: f64 = 2.0, Factor,
        "ours, because a server that is half busy works off the queue of a pause in as much time again; a busier one takes longer";

    /// The fewest undisturbed windows of [`WINDOW`] that figures rest on...
    const LEAST_WINDOWS: usize = 5, Count,
        "ours, because it is half a second of load, in pieces of 10 ms from all over the trial";

    /// ...or this share of all windows, if that is fewer, as in short trials.
    const SHARE_OF_FEW: f64 = 0.2, Share,
        "ours, because a short trial has few windows";

    /// The least share of all windows that figures rest on.
    const LEAST_SHARE: f64 = 0.10, Share,
        "ours, because fewer are the moments in which the host let go, and not the trial";

    /// The fewest requests of undisturbed windows beyond the judged percentile.
    const LEAST_BEYOND: f64 = 40.0, Count,
        "ours, because with k requests beyond it the p99 of an exponential tail is uncertain by 1/(√k · ln 100) of itself: 3.4 % for 40, a third of the allowed change";
}

/// The percentiles that host and generator may not move: the highest that the number of requests supports. Lower ones
/// move by less.
const JUDGED: [f64; 4] = [99.0, 95.0, 90.0, 50.0];

/// What host and generator could have done to the highest percentile of a recording, and which requests the figures rest on.
#[derive(Clone, Debug)]
pub struct Footing {
    /// Which requests.
    pub basis: Basis,
    /// All windows.
    pub windows: usize,
    /// Those that nothing disturbed, and in which the generator was not late.
    pub undisturbed_windows: usize,
    /// Windows in which the generator may have moved the window's p99 by more than allowed.
    pub late_windows: usize,
    /// Share of the window in which threads of server or generator had no processor because of others, 0 to 1.
    pub lost: f64,
    /// Share of the requests that this may have held up, 0 to 1.
    pub touched: f64,
    /// The judged percentile: p99, or with fewer than 1000 requests the highest that their number supports.
    pub percentile: f64,
    /// The percentile of all requests; `None` if they are too few for any.
    pub tail: Option<Nanos>,
    /// The least that it would be, had the host held up none.
    pub tail_at_least: Option<Nanos>,
    /// The least that it would be, had the generator not been late either.
    pub tail_in_time: Option<Nanos>,
    /// The response times of the requests due in undisturbed windows.
    pub undisturbed: Latency,
    /// All response times by window, marked where the window is not undisturbed.
    by_window: Windows,
    /// All response times, had the generator never been late.
    in_time: Latency,
    /// Of sessions, the longest stall.
    of_sessions: Option<Nanos>,
}

impl Footing {
    /// Judges by the disturbances and the generator lateness in the recording.
    ///
    /// Requests that were held up would have been faster, by an unknown time, and others not. So the true p99 is at
    /// most the measured one. It is at least the percentile that lies lower by the share of requests held up, of
    /// times without the generator's lateness. Steps of sessions take longer than a disturbance: their true p99 is at
    /// least the measured one less the disturbance. If the two bounds are close, neither host nor generator matters.
    /// Otherwise undisturbed windows decide, if enough are left and their p99 lies between the bounds; below, the
    /// other windows had slow requests that neither host nor generator explains.
    pub fn of(recording: &Recording) -> Footing {
        let mut by_window = recording.windows.clone();
        let late_windows = recording.late.mark(&mut by_window, moved_limit);
        let windows = by_window.count();
        let undisturbed_windows = windows - by_window.marked();
        let undisturbed = by_window.samples(WindowSelection::Unmarked);
        let of_generator = recording.taken.generator.unwrap_or(0.0) - withheld(recording);
        let lost = (stalled(recording).max(of_generator) + recording.taken.server.unwrap_or(0.0)).min(1.0);
        let touched = (recording.catch_up.max(CATCH_UP) * lost).min(1.0);
        let all = by_window.samples(WindowSelection::All);
        let told = JUDGED.into_iter().find_map(|percentile| Some((percentile, all.percentile(percentile)?)));
        let (percentile, tail) = told.unzip();
        let percentile = percentile.unwrap_or(JUDGED[0]);
        let longest = recording.stalls.iter().map(|stall| stall.span).max().unwrap_or_default();
        let of_sessions = sessions::are_in(recording).then_some(longest);
        // By the least touched: undisturbed windows that lie below it are too low by chance.
        let surely = (CATCH_UP * lost).min(1.0);
        let least = |times: &Latency| at_least(times, percentile, (lost, surely), of_sessions);
        let tail_at_least = tail.and_then(|_| least(&all));
        let in_time = recording.late.without(&by_window, WindowSelection::All);
        let tail_in_time = tail.and_then(|_| least(&in_time));
        let beyond = (1.0 - percentile / 100.0) * undisturbed.count() as f64;
        // A little less than the least, as 1 − 0.99 is.
        let enough = undisturbed_windows >= least_windows(&by_window) && beyond >= LEAST_BEYOND - 1e-6;
        let quiet = undisturbed.percentile(percentile).filter(|_| enough);
        let basis = match tail.zip(tail_in_time) {
            // No percentile is claimed.
            None => Basis::All,
            Some((tail, least)) => basis(tail, least, quiet),
        };
        Footing {
            basis,
            windows,
            undisturbed_windows,
            late_windows,
            lost,
            touched,
            percentile,
            tail,
            tail_at_least,
            tail_in_time,
            undisturbed,
            by_window,
            in_time,
            of_sessions,
        }
    }

    /// The least and the most that each of these percentiles of the response times would be without generator and host; `None`
    /// where too few requests lie beyond it.
    pub fn bounds<const N: usize>(&self, percentiles: [f64; N]) -> [Option<(Nanos, Nanos)>; N] {
        if self.basis != Basis::UndisturbedWindows {
            return self.bounds_of_all(percentiles);
        }
        let claimed = self.claimed();
        percentiles.map(|percentile| claimed.percentile(percentile).map(|figure| (figure, figure)))
    }

    /// The same of all requests, whether or not the figures rest on all of them.
    pub fn bounds_of_all<const N: usize>(&self, percentiles: [f64; N]) -> [Option<(Nanos, Nanos)>; N] {
        let all = self.by_window.samples(WindowSelection::All);
        percentiles.map(|percentile| {
            let high = all.percentile(percentile)?;
            let low = at_least(&self.in_time, percentile, (self.lost, self.touched), self.of_sessions)?;
            Some((low.min(high), high))
        })
    }

    /// Bounds of the windowed p99.
    pub fn windowed_p99_bounds(&self) -> Option<(Nanos, Nanos)> {
        let all = self.windowed_p99_of_all()?;
        let enough = self.undisturbed_windows >= least_windows(&self.by_window);
        // Windows are disturbed by chance and not by the server's work in them: the others represent all.
        match self.by_window.windowed_p99(WindowSelection::Unmarked).filter(|_| enough) {
            Some(quiet) => Some((quiet, quiet)),
            None => Some((self.by_window.windowed_p99_at_least()?.min(all), all)),
        }
    }

    /// The windows whose requests the figures rest on; all if the basis is none.
    fn kept(&self) -> WindowSelection {
        if self.basis == Basis::UndisturbedWindows { WindowSelection::Unmarked } else { WindowSelection::All }
    }

    /// Time series of the response times that the figures rest on; marked if the basis is none.
    pub(super) fn rests_on(&self) -> (Windows, WindowSelection) {
        (self.by_window.over_time(self.kept()), self.kept())
    }

    /// The response times that claims rest on: of all requests; if host or generator moved the overall p99, of the
    /// requests due in windows in which neither moved it.
    pub fn claimed(&self) -> Latency {
        self.by_window.samples(self.kept())
    }

    /// The same, had the generator never been late: a lower bound of each percentile.
    pub fn claimed_in_time(&self, recording: &Recording) -> Latency {
        recording.late.without(&self.by_window, self.kept())
    }

    /// Whether the percentile may have been moved by more than it may, from this.
    pub(super) fn moved_from(&self, least: Option<Nanos>) -> bool {
        self.tail.zip(least).is_some_and(|(tail, least)| tail - least > moved_limit(least))
    }

    /// The windowed p99 of the undisturbed windows, or of all if too few of them are undisturbed; `None` if the
    /// requests are too few.
    pub fn windowed_p99(&self) -> Option<Nanos> {
        self.windowed_p99_bounds().map(|(_, high)| high)
    }

    /// The windowed p99 of all windows, as it was served.
    pub fn windowed_p99_of_all(&self) -> Option<Nanos> {
        self.by_window.windowed_p99(WindowSelection::All)
    }

    /// How many windows are undisturbed, in words.
    pub(crate) fn windows_in_words(&self) -> String {
        format!("{} of {} windows were undisturbed", self.undisturbed_windows, self.windows)
    }
}

/// Lower bound of a percentile of `times`, had others not taken the share `lost` of server's and generator's time, which
/// touched the share `touched` of the requests: the percentile of the requests that cannot have been held up. For sessions,
/// at least the measured value less the largest loss of a step, from the longest stall `of_sessions`.
fn at_least(
    times: &Latency,
    percentile: f64,
    (lost, touched): (f64, f64),
    of_sessions: Option<Nanos>,
) -> Option<Nanos> {
    let any = times.value_at((percentile - 100.0 * touched).max(0.0));
    match of_sessions {
        Some(longest) => any.max(sessions::at_least(times, percentile, lost, longest)),
        None => any,
    }
}

/// The fewest undisturbed windows of these that figures rest on.
fn least_windows(of: &Windows) -> usize {
    let shares = |share: f64| (share * of.count() as f64).ceil() as usize;
    let enough = LEAST_WINDOWS * (WINDOW.0 / of.length().0).max(1) as usize;
    enough.min(shares(SHARE_OF_FEW)).max(shares(LEAST_SHARE))
}

/// What to rest on, where the percentile is between `least` and `tail`, and `quiet` in undisturbed windows, if enough are left.
fn basis(tail: Nanos, least: Nanos, quiet: Option<Nanos>) -> Basis {
    let moved = |from: Nanos, limit: Nanos| tail - from > limit;
    // Where the undisturbed windows can be rested on as well, less is enough to prefer them.
    let clearly = |from: Nanos| moved(from, Nanos(moved_limit(from).0 / 2));
    match quiet {
        _ if !clearly(least) => Basis::All,
        Some(quiet) if !clearly(quiet) => Basis::All,
        Some(quiet) if quiet >= least => Basis::UndisturbedWindows,
        // They are too low by chance, and the error of all requests is within the allowed range.
        _ if !moved(least, moved_limit(least)) => Basis::All,
        Some(quiet) if quiet + Nanos(moved_limit(quiet).0 / 2) >= least => Basis::UndisturbedWindows,
        _ => Basis::Nothing,
    }
}

/// The share of its time in which a thread of the generator was absent and withheld arrivals, which delayed no request.
fn withheld(recording: &Recording) -> f64 {
    let time = recording.window.as_secs_f64() * f64::from(recording.threads.max(1));
    if time > 0.0 { recording.withheld.time.as_secs_f64() / time } else { 0.0 }
}

/// The share of its time that a thread of the generator was stalled in the window.
fn stalled(recording: &Recording) -> f64 {
    let (from, to) = (recording.window_start, recording.window_start + recording.window);
    let within =
        recording.stalls.iter().map(|stall| (stall.from + stall.span).min(to).since(stall.from.max(from)));
    let time: Nanos = within.sum();
    let kept = recording.stalls.len().max(1) as f64;
    // Only the first few thousand are recorded one by one.
    let all = recording.stall_count.max(recording.stalls.len() as u64) as f64;
    let threads = f64::from(recording.threads.max(1));
    let window = recording.window.as_secs_f64();
    if window > 0.0 { (time.as_secs_f64() * all / kept / (window * threads)).min(1.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use units::Time;

    use super::*;
    use crate::recorder::Taken;
    use crate::{EndpointTimes, Stall};

    const WINDOW: Nanos = Nanos::from_secs(10);
    const START: Time = Time(5_000_000_000);

    /// A thousand requests in each of 100 windows, of 1 to 1000 µs; in the `slow` windows, one in ten took 50 ms.
    fn recording(slow: &[u64]) -> Recording {
        let mut recording =
            Recording::new(&["get".into()], 0, Vec::<EndpointTimes>::new(), WINDOW, Windows::new(WINDOW));
        recording.window_start = START;
        for window in 0..100 {
            for i in 0..1_000 {
                let held = slow.contains(&window) && i % 10 == 0;
                let time = if held { Nanos::from_millis(50) } else { Nanos::from_micros(1 + i) };
                recording.windows.record(Nanos::from_millis(100 * window), time);
            }
        }
        recording
    }

    /// A stall of `ms` at the beginning of each of these windows.
    fn stalled_in(mut recording: Recording, windows: impl IntoIterator<Item = u64>, ms: u64) -> Recording {
        for window in windows {
            let from = START + Nanos::from_millis(100 * window);
            recording.stalls.push(Stall { from, span: Nanos::from_millis(ms) });
            recording.stall_count += 1;
        }
        recording.mark_stalls();
        recording
    }

    #[test]
    fn a_quiet_host_leaves_all() {
        let footing = Footing::of(&recording(&[]));
        assert_eq!((footing.basis, footing.undisturbed_windows, footing.touched), (Basis::All, 100, 0.0));
        assert_eq!((footing.percentile, footing.tail), (99.0, footing.tail_at_least));
        // The server's own pauses are its own, however slow.
        assert_eq!(Footing::of(&recording(&[3, 50, 51, 52])).basis, Basis::All);
        assert_eq!(Footing::of(&recording(&(0..50).collect::<Vec<_>>())).basis, Basis::All);
    }

    #[test]
    fn undisturbed_windows_carry_the_figures_where_enough_are_left() {
        let check = |disturbed: u64, expect: Basis| {
            let slow: Vec<u64> = (0..disturbed).collect();
            let stalled = stalled_in(recording(&slow), 0..disturbed, 10);
            let footing = Footing::of(&stalled);
            assert_eq!((footing.basis, footing.windows), (expect, 100), "{disturbed}: {footing:?}");
            assert_eq!(footing.undisturbed_windows as u64, 100 - disturbed);
            let rests_on = if expect == Basis::UndisturbedWindows { 100 - disturbed } else { 100 };
            assert_eq!(footing.claimed().count(), 1_000 * rests_on);
            assert!((footing.lost - disturbed as f64 * 0.001).abs() < 1e-9, "{}", footing.lost);
            // The bounds of all requests include the slow ones, whichever windows the figures rest on.
            let [of_all] = footing.bounds_of_all([99.99]);
            assert_eq!(
                of_all.map(|(_, high)| high),
                stalled.windows.samples(WindowSelection::All).percentile(99.99)
            );
            assert_eq!(footing.bounds_of_all([99.9999]), [None], "too few requests lie beyond it");
            let quiet = footing.undisturbed.value_at(99.0).map_or(0.0, Nanos::as_micros_f64);
            assert!(disturbed == 100 || (quiet / 991.0 - 1.0).abs() < 0.01, "{quiet}");
        };
        // Slow are one in a thousand of all: the p99 is not touched.
        check(1, Basis::All);
        check(20, Basis::UndisturbedWindows);
        check(90, Basis::UndisturbedWindows);
        check(91, Basis::Nothing);
        check(100, Basis::Nothing);
    }

    #[test]
    fn what_the_disturbance_does_not_explain_is_not_charged_to_it() {
        // One request in fifty took 50 ms, and the host took 0.2 ms of each of those windows: 0.08 % of all requests.
        let slow: Vec<u64> = (0..20).collect();
        let recording = recording(&slow);
        let mut short = recording.clone();
        for &window in &slow {
            let from = START + Nanos::from_millis(100 * window);
            short.stalls.push(Stall { from, span: Nanos::from_micros(200) });
        }
        short.mark_stalls();
        let footing = Footing::of(&short);
        assert_eq!((footing.basis, footing.undisturbed_windows), (Basis::All, 80));
        assert_eq!(footing.tail, footing.tail_at_least, "{footing:?}");
        // Processor time that the host took from the server counts, too.
        let mut longer = short;
        longer.taken = Taken { server: Some(0.004), generator: None };
        assert_eq!(Footing::of(&longer).basis, Basis::All, "0.9 % of 2 %");
        longer.taken = Taken { server: Some(0.02), generator: Some(0.0) };
        assert_eq!(Footing::of(&longer).basis, Basis::UndisturbedWindows, "more than there are");
    }

    /// `count` requests, evenly over the window, of 1 to 2 ms, of which the host may have held up 24 in 100.
    fn few(count: u64) -> Footing {
        let mut recording =
            Recording::new(&["get".into()], 0, Vec::<EndpointTimes>::new(), WINDOW, Windows::new(WINDOW));
        recording.window_start = START;
        for i in 0..count {
            // Spread by the golden ratio.
            let time = Nanos(1_000_000 + ((i as f64 * 0.618_033_988_75).fract() * 1e6) as u64);
            recording.windows.record(Nanos(WINDOW.0 / count * i), time);
        }
        Footing::of(&stalled_in(recording, 0..100, 12))
    }

    #[test]
    fn of_few_requests_the_highest_percentile_that_they_have_is_judged() {
        for (count, percentile) in
            [(1_000, 99.0), (999, 95.0), (200, 95.0), (199, 90.0), (99, 50.0), (20, 50.0)]
        {
            let footing = few(count);
            assert_eq!((footing.percentile, footing.basis), (percentile, Basis::Nothing), "{footing:?}");
            let moved = footing.tail.unwrap() - footing.tail_at_least.unwrap();
            // That share of the requests is that share of their range.
            assert!((180..=300).contains(&(moved.0 / 1_000)), "{count}: {moved}");
        }
        // They are claimed to have none.
        assert_eq!((few(19).tail, few(19).basis), (None, Basis::All));
    }

    #[test]
    fn what_lies_between_is_judged_by_the_limits() {
        let us = Nanos::from_micros;
        let check = |p99: u64, least: u64, quiet: Option<u64>, expect: Basis| {
            assert_eq!(basis(us(p99), us(least), quiet.map(us)), expect, "{p99} {least} {quiet:?}");
        };
        check(1_000, 920, None, Basis::All);
        check(1_000, 800, None, Basis::Nothing);
        check(1_000, 800, Some(960), Basis::All);
        check(1_000, 800, Some(1_300), Basis::All);
        // Half of the limit is enough where the undisturbed windows can be rested on.
        check(1_000, 960, Some(800), Basis::All);
        check(1_000, 920, Some(930), Basis::UndisturbedWindows);
        check(1_000, 500, Some(600), Basis::UndisturbedWindows);
        check(1_000, 500, Some(480), Basis::UndisturbedWindows);
        check(1_000, 500, Some(460), Basis::Nothing);
        check(1_000, 920, Some(910), Basis::All);
        // Below the least, they are another matter than the rest.
        check(1_000, 920, Some(700), Basis::All);
        check(1_000, 500, Some(300), Basis::Nothing);
        // Differences under the floor of 50 µs do not count.
        check(90, 45, None, Basis::All);
    }
}
