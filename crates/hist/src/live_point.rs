use serde::{Deserialize, Serialize};
use units::Nanos;

use crate::heat_start;

/// Activity of one thread in 100 ms of the window, for a consumer that displays it.
///
/// It is a glance, not the measurement: it has the times of answered requests only; unanswered ones are missing.
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
    /// Arrivals due and not sent, at the same moment.
    pub backlog: u64,
    /// Response times of the arrivals answered in it, whenever they were due: cell of [`crate::heat_cell`], count.
    pub times: Vec<(u32, u64)>,
}

impl LivePoint {
    /// Adds the live point of another thread or machine for the same interval.
    pub fn merge(&mut self, other: &LivePoint) {
        self.offered += other.offered;
        self.answered += other.answered;
        self.failed += other.failed;
        self.in_flight += other.in_flight;
        self.backlog += other.backlog;
        for &(cell, count) in &other.times {
            match self.times.binary_search_by_key(&cell, |&(cell, _)| cell) {
                Ok(at) => self.times[at].1 += count,
                Err(at) => self.times.insert(at, (cell, count)),
            }
        }
    }

    /// The response time below which a share of the answered requests lies, to the end of its cell, up to 25 % above.
    pub fn quantile(&self, share: f64) -> Option<Nanos> {
        let total: u64 = self.times.iter().map(|&(_, count)| count).sum();
        let rank = ((total as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        self.times.iter().find_map(|&(cell, count)| {
            seen += count;
            (seen >= rank).then(|| heat_start(cell + 1))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_added_and_quantiles_read() {
        let point = |times: &[(u32, u64)]| LivePoint {
            answered: times.iter().map(|t| t.1).sum(),
            times: times.to_vec(),
            ..LivePoint::default()
        };
        let mut one = point(&[(10, 90), (40, 1)]);
        one.merge(&point(&[(10, 5), (20, 4)]));
        assert_eq!(one, point(&[(10, 95), (20, 4), (40, 1)]));
        assert_eq!(
            [0.0, 0.5, 0.95, 0.96, 0.99, 1.0].map(|q| one.quantile(q)),
            // Cell 40 ends at 2^10 × 1.25.
            [7, 7, 7, 40, 40, 1_280].map(|t| Some(Nanos(t)))
        );
        assert_eq!(LivePoint::default().quantile(0.5), None);
    }
}
