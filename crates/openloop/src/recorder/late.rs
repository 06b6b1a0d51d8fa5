use hist::{Latency, WindowSelection, Windows};
use serde::{Deserialize, Serialize};
use units::Nanos;

/// A request that the generator alone may have delayed by more than this is recorded separately.
///
/// Source: the time of one turn of a loop that keeps up: a receive and a few sends of 4 to 12 µs.
pub const LATE: Nanos = Nanos::from_micros(20);

/// The requests that the generator alone may have delayed by more than [`LATE`]: as measured, and without the delay.
/// The response times of a generator that is never late follow from both, at no cost for requests in time.
///
/// Shape: by intended time, as [`Recording::windows`](crate::Recording::windows). Cost: 600 B for each window, and
/// the cost of [`Windows`] for each late request.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Late {
    measured: Windows,
    corrected: Windows,
    requests: u64,
    #[serde(default)]
    most: Nanos,
}

impl Late {
    /// None yet, in windows like `empty`.
    pub fn new(empty: Windows) -> Late {
        Late { measured: empty.clone(), corrected: empty, requests: 0, most: Nanos::ZERO }
    }

    /// Enters a request due `offset` after the start of the window, answered after `response`, of which the generator may
    /// account for `late`.
    #[cold]
    pub fn record(&mut self, offset: Nanos, response: Nanos, late: Nanos) {
        self.requests += 1;
        self.most = self.most.max(late.min(response));
        self.measured.record(offset, response);
        self.corrected.record(offset, response - late);
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.requests
    }

    /// The longest of their delays; 0 if none.
    pub fn most(&self) -> Nanos {
        self.most
    }

    /// The response times of the kept `windows`, had the generator never been late.
    ///
    /// Bounds: a lower bound of each percentile, since an answer may have come at any moment of the time that it lay
    /// unread.
    pub fn without(&self, windows: &Windows, kept: WindowSelection) -> Latency {
        windows.replaced(kept, &self.measured, &self.corrected)
    }

    /// Marks the `windows` whose p99 lateness may have moved by more than `allowed` of its undisturbed value, and
    /// counts them.
    pub fn mark(&self, windows: &mut Windows, allowed: impl Fn(Nanos) -> Nanos) -> usize {
        windows.mark_moved(&self.measured, &self.corrected, allowed)
    }

    /// Drops the windows beyond a shorter measurement of length `span`.
    pub(crate) fn shorten(&mut self, span: Nanos) {
        self.measured.shorten(span);
        self.corrected.shorten(span);
    }

    /// Adds the late requests of another thread or machine in the same run.
    pub(crate) fn merge(&mut self, other: &Late) {
        self.measured.merge(&other.measured);
        self.corrected.merge(&other.corrected);
        self.requests += other.requests;
        self.most = self.most.max(other.most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Nanos = Nanos::from_secs(1);

    #[test]
    fn the_delay_of_late_requests_is_taken_off() {
        let (mut windows, mut late, mut expect) =
            (Windows::new(WINDOW), Late::new(Windows::new(WINDOW)), Latency::new());
        for i in 0..1_000 {
            let offset = Nanos::from_millis(i);
            let (delay, own) =
                (if i % 10 == 0 { Nanos::from_millis(5) } else { Nanos::ZERO }, Nanos::from_micros(i));
            windows.record(offset, own + delay);
            expect.record(own);
            if delay > LATE {
                late.record(offset, own + delay, delay);
            }
        }
        assert_eq!(late.count(), 100);
        let corrected = late.without(&windows, WindowSelection::All);
        assert_eq!(corrected.count(), expect.count());
        for percentile in [1.0, 50.0, 99.0] {
            let [got, expect] =
                [&corrected, &expect].map(|times| times.value_at(percentile).unwrap().0 as f64);
            assert!((got / expect - 1.0).abs() < 0.002, "p{percentile}: {got} instead of {expect}");
        }
        // A delay cannot be longer than what it is a part of.
        late.record(Nanos::ZERO, Nanos(5), Nanos(9));
        assert_eq!(
            late.without(&Windows::new(WINDOW), WindowSelection::All).value_at(0.0),
            Some(Nanos::ZERO)
        );
    }

    #[test]
    fn parts_are_merged_and_read_back() {
        let one = |offset: u64| {
            let mut late = Late::new(Windows::new(WINDOW));
            late.record(Nanos(offset), Nanos(90_000), Nanos(40_000));
            late
        };
        let (mut merged, mut both) = (one(5), one(5));
        both.record(Nanos(900_000_000), Nanos(90_000), Nanos(40_000));
        merged.merge(&one(900_000_000));
        assert!(merged == both && merged.count() == 2);
        let back: Late = serde_json::from_str(&serde_json::to_string(&merged).unwrap()).unwrap();
        assert!(back == merged);
    }
}
