use std::collections::HashMap;

use crate::packets::Timed;

/// Common key of a request for packets and programs: the client's port, and the end of the request in its stream.
pub(crate) type Key = (u16, u32);

/// The same requests, timed by packets and by the programs.
///
/// Only requests that both timed are compared. The two start and stop at different moments, and a request that
/// only one of them has seen may be the one that waited longest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Compared {
    pub requests: u64,
    /// Sums over the compared requests. Units: ns.
    pub packets_ns: u64,
    pub stages_ns: u64,
    /// Requests seen only by packets.
    pub alone: u64,
    /// The same as in [`Timed`].
    pub mixed: u64,
    pub dropped: u64,
}

impl Compared {
    /// Compares the packets' times with `stages`, the times of the programs. Units: ns.
    pub(crate) fn new(timed: &Timed, stages: &HashMap<Key, u64>) -> Compared {
        let mut compared = Compared { mixed: timed.mixed, dropped: timed.dropped, ..Compared::default() };
        for request in &timed.requests {
            match stages.get(&request.key) {
                Some(stages_ns) => {
                    compared.requests += 1;
                    compared.packets_ns += request.took_ns();
                    compared.stages_ns += stages_ns;
                }
                None => compared.alone += 1,
            }
        }
        compared
    }

    pub(crate) fn add(&mut self, other: &Compared) {
        self.requests += other.requests;
        self.packets_ns += other.packets_ns;
        self.stages_ns += other.stages_ns;
        self.alone += other.alone;
        self.mixed += other.mixed;
        self.dropped += other.dropped;
    }

    /// The mean times by packets and by stages; `None` without timed requests, or if packets had no time between them.
    /// Units: µs.
    pub(crate) fn means_us(&self) -> Option<(f64, f64)> {
        let mean = |sum_ns: u64| sum_ns as f64 / self.requests as f64 / 1e3;
        (self.requests > 0 && self.packets_ns > 0).then(|| (mean(self.packets_ns), mean(self.stages_ns)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packets::Answered;

    #[test]
    fn only_what_both_timed_is_compared() {
        let request = |key, answered_ns| Answered { key, asked_ns: 0, answered_ns };
        let timed = Timed {
            requests: vec![request((1, 10), 4_000), request((1, 20), 90_000), request((2, 10), 8_000)],
            mixed: 1,
            dropped: 2,
        };
        let stages = HashMap::from([((1, 10), 3_000), ((2, 10), 7_000), ((2, 20), 1_000_000)]);
        let mut got = Compared::new(&timed, &stages);
        let expect =
            Compared { requests: 2, packets_ns: 12_000, stages_ns: 10_000, alone: 1, mixed: 1, dropped: 2 };
        assert_eq!((got, got.means_us()), (expect, Some((6.0, 5.0))));
        got.add(&expect);
        assert_eq!((got.requests, got.alone, got.means_us()), (4, 2, Some((6.0, 5.0))));
        assert_eq!(Compared::new(&timed, &HashMap::new()).means_us(), None);
        let timed = Timed { requests: vec![request((1, 10), 0)], ..timed };
        assert_eq!(Compared::new(&timed, &stages).means_us(), None);
    }
}
