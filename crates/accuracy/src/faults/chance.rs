use dist::{Purpose, Rng, Streams};
use rand::RngExt;
use units::{Nanos, Time};

/// The draws of one dose of one fault.
///
/// Each dose of each fault has its own stream: dose 7 is the same whichever other faults are planted in the same run.
pub(crate) struct Chance {
    rng: Rng,
}

impl Chance {
    /// The draws of dose number `dose` of the fault of this name.
    pub(crate) fn of(seed: u64, fault: &str, dose: u64) -> Chance {
        Chance { rng: Streams::new(seed).stream(Purpose::Other(number(fault)), dose) }
    }

    /// Uniform from 0 to 1, without 1.
    pub(crate) fn unit(&mut self) -> f64 {
        self.rng.random()
    }

    /// Uniform from `low` to `high`.
    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Uniform on a logarithmic axis, for parameters that range over decades. Bounds: `low` over 0.
    pub(crate) fn magnitude(&mut self, low: f64, high: f64) -> f64 {
        self.between(low.ln(), high.ln()).exp()
    }

    /// A span from `low` to `high`, uniform on a logarithmic axis.
    pub(crate) fn span(&mut self, low: Nanos, high: Nanos) -> Nanos {
        Nanos(self.magnitude(low.0 as f64, high.0 as f64).round() as u64)
    }

    /// An integer from `low` to `high`, both included.
    pub(crate) fn count(&mut self, low: u64, high: u64) -> u64 {
        self.rng.random_range(low..=high)
    }

    /// A seed for another random stream.
    pub(crate) fn seed(&mut self) -> u64 {
        self.rng.random()
    }

    /// Moments for `n` events of `length` each: one at random in each n-th part of `span`, so that they do not overlap.
    ///
    /// Bounds: if a part is no longer than an event, the events follow each other without a gap.
    pub(crate) fn spread(&mut self, from: Time, span: Nanos, n: u64, length: Nanos) -> Vec<(Time, Nanos)> {
        let part = Nanos(span.0 / n.max(1)).max(length);
        let room = (part - length).0 as f64;
        (0..n).map(|i| (from + Nanos(i * part.0) + Nanos((room * self.unit()) as u64), length)).collect()
    }
}

/// A number for a name: FNV-1a. Source: Fowler, Noll and Vo.
fn number(name: &str) -> u32 {
    name.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dose_depends_on_seed_fault_and_number_alone() {
        let first = |seed, fault, dose| Chance::of(seed, fault, dose).seed();
        assert_eq!(first(1, "a", 0), first(1, "a", 0));
        let others = [first(2, "a", 0), first(1, "b", 0), first(1, "a", 1)];
        assert!(others.iter().all(|other| *other != first(1, "a", 0)), "{others:?}");
        // The published value of the hash of "a".
        assert_eq!(number("a"), 0xe40c_292c);
    }

    #[test]
    fn draws_stay_within_their_bounds_and_reach_both_ends() {
        let mut chance = Chance::of(1, "bounds", 0);
        let drawn: Vec<f64> = (0..1_000).map(|_| chance.magnitude(0.001, 10.0)).collect();
        assert!(drawn.iter().all(|x| (0.001..10.0).contains(x)));
        let below = drawn.iter().filter(|x| **x < 0.1).count();
        assert!((400..600).contains(&below), "half of them below the geometric mean: {below}");
    }

    #[test]
    fn events_do_not_overlap_and_stay_in_their_span() {
        let mut chance = Chance::of(1, "spread", 0);
        for n in [1, 3, 40] {
            let events = chance.spread(Time(1_000), Nanos(100_000), n, Nanos(2_000));
            assert_eq!(events.len() as u64, n);
            assert!(events.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0), "{events:?}");
            let (last, length) = events[events.len() - 1];
            assert!(events[0].0 >= Time(1_000) && last + length <= Time(101_000), "{events:?}");
        }
    }
}
