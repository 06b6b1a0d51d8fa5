use serde::{Deserialize, Serialize};
use units::Nanos;

use crate::Recording;

/// What one thread did in 100 ms of the window, for somebody who looks on.
///
/// It is a glance, not the measurement: requests that are still unanswered are missing from its times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LivePoint {
    /// The interval, from 0.
    pub interval: u64,
    /// Arrivals due in it.
    pub offered: u64,
    /// Arrivals answered in it.
    pub answered: u64,
    /// Arrivals failed in it.
    pub failed: u64,
    /// Requests sent and not answered, at its end or soon after.
    pub in_flight: u64,
    /// Arrivals due and not sent, likewise.
    pub backlog: u64,
    /// Response times of the arrivals due in it, in coarse cells: upper end, count.
    pub times: Vec<(Nanos, u64)>,
}

impl LivePoint {
    pub(crate) fn new(recording: &Recording, interval: usize, backlog: u64, in_flight: u64) -> LivePoint {
        let counts = recording.intervals[interval];
        LivePoint {
            interval: interval as u64,
            offered: counts.offered,
            answered: counts.answered,
            failed: counts.failed,
            in_flight,
            backlog,
            times: recording.windows.coarse(interval),
        }
    }

    /// Adds what another thread or machine did in the same interval.
    pub fn merge(&mut self, other: &LivePoint) {
        self.offered += other.offered;
        self.answered += other.answered;
        self.failed += other.failed;
        self.in_flight += other.in_flight;
        self.backlog += other.backlog;
        for &(end, count) in &other.times {
            match self.times.binary_search_by_key(&end, |&(end, _)| end) {
                Ok(at) => self.times[at].1 += count,
                Err(at) => self.times.insert(at, (end, count)),
            }
        }
    }

    /// The response time below which a share of the answered requests lies, to the end of its coarse cell.
    pub fn quantile(&self, share: f64) -> Option<Nanos> {
        let total: u64 = self.times.iter().map(|&(_, count)| count).sum();
        let rank = ((total as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        self.times.iter().find_map(|&(end, count)| {
            seen += count;
            (seen >= rank).then_some(end)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_added_and_quantiles_read() {
        let point = |times: &[(u64, u64)]| LivePoint {
            answered: times.iter().map(|t| t.1).sum(),
            times: times.iter().map(|&(end, n)| (Nanos(end), n)).collect(),
            ..LivePoint::default()
        };
        let mut one = point(&[(10, 90), (40, 1)]);
        one.merge(&point(&[(10, 5), (20, 4)]));
        assert_eq!(one, point(&[(10, 95), (20, 4), (40, 1)]));
        assert_eq!(
            [0.0, 0.5, 0.95, 0.96, 0.99, 1.0].map(|q| one.quantile(q)),
            [10, 10, 10, 20, 20, 40].map(|t| Some(Nanos(t)))
        );
        assert_eq!(LivePoint::default().quantile(0.5), None);
    }
}
