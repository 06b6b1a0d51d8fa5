use dist::{Purpose, Rng, Streams};
use rand::RngExt;
use units::Nanos;

/// Faults of a simulated network for datagrams. Streams have none: their kernels would repair them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Faults {
    /// The probability that a datagram is lost.
    pub loss: f64,
    /// The probability that one that is not lost arrives twice.
    pub duplication: f64,
    /// Each copy is late by a time drawn evenly from 0 up to this, so that later ones may overtake it.
    pub reordering: Nanos,
    /// The seed of the draws; one seed gives one history.
    pub seed: u64,
}

/// Faults of the network so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mishaps {
    /// Datagrams that arrived nowhere.
    pub lost: u64,
    /// Datagrams that arrived twice.
    pub duplicated: u64,
}

/// The draws behind the faults.
pub(super) struct Fate {
    faults: Faults,
    rng: Rng,
    pub(super) mishaps: Mishaps,
}

impl Fate {
    pub(super) fn new(faults: Faults) -> Fate {
        assert!((0.0..=1.0).contains(&faults.loss), "a loss of {} is not a probability", faults.loss);
        let duplication = faults.duplication;
        assert!((0.0..=1.0).contains(&duplication), "a duplication of {duplication} is not a probability");
        // Any number serves that no other stream of the seed has: these are the letters of "wire".
        let rng = Streams::new(faults.seed).stream(Purpose::Other(0x7769_7265), 0);
        Fate { faults, rng, mishaps: Mishaps::default() }
    }

    /// How late each copy of the next datagram is: none for a lost one, two for a duplicate.
    pub(super) fn copies(&mut self) -> impl Iterator<Item = Nanos> + use<> {
        // All four are drawn each time, so that changing one fault leaves the others' draws as they were.
        let [lost, twice] = [self.faults.loss, self.faults.duplication].map(|p| self.rng.random::<f64>() < p);
        let [first, second] = [0, 1].map(|_| Nanos(self.rng.random_range(0..=self.faults.reordering.0)));
        self.mishaps.lost += u64::from(lost);
        self.mishaps.duplicated += u64::from(!lost && twice);
        [(!lost).then_some(first), (!lost && twice).then_some(second)].into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_as_often_as_it_is_told() {
        const DATAGRAMS: u64 = 100_000;
        let check = |loss: f64, duplication: f64, expect_lost: f64, expect_twice: f64| {
            let mut fate = Fate::new(Faults { loss, duplication, reordering: Nanos(50), seed: 7 });
            let (mut copies, mut latest) = (0, Nanos::ZERO);
            for _ in 0..DATAGRAMS {
                for late in fate.copies() {
                    copies += 1;
                    latest = latest.max(late);
                }
            }
            let Mishaps { lost, duplicated } = fate.mishaps;
            assert_eq!(copies, DATAGRAMS - lost + duplicated);
            // Five standard deviations of a binomial count are under 0.8 % of the datagrams.
            assert!((lost as f64 / DATAGRAMS as f64 - expect_lost).abs() < 0.008, "lost {lost}");
            assert!(
                (duplicated as f64 / DATAGRAMS as f64 - expect_twice).abs() < 0.008,
                "twice {duplicated}"
            );
            assert!(copies == 0 || latest == Nanos(50), "the whole range is drawn from");
        };
        check(0.0, 0.0, 0.0, 0.0);
        check(1.0, 1.0, 1.0, 0.0);
        check(0.0, 1.0, 0.0, 1.0);
        check(0.2, 0.5, 0.2, 0.4);
    }
}
