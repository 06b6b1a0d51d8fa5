//! Theory of a single server, to compare the whole ruler with.
//!
//! A generator with Poisson arrivals against a server of known service times must measure these figures. If it does
//! not, the arrivals, the clock or the percentiles are wrong.

/// A queue with Poisson arrivals, one server and first come, first served, in equilibrium.
///
/// Units: times are in the unit of the mean service time. Bounds: [`Queue::new`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Queue {
    utilisation: f64,
    service: f64,
}

impl Queue {
    /// A queue whose server is busy for the share `utilisation` of the time, with a mean service time.
    ///
    /// Bounds: `None` unless 0 ≤ utilisation < 1 (from 1 on the queue has no equilibrium) and 0 < service < ∞.
    pub fn new(utilisation: f64, service: f64) -> Option<Queue> {
        let valid = (0.0..1.0).contains(&utilisation) && service > 0.0 && service.is_finite();
        valid.then_some(Queue { utilisation, service })
    }

    /// The mean response time with exponential service (M/M/1): s / (1 − ρ).
    ///
    /// Source: Kleinrock, *Queueing Systems I*, 1975, chapter 3.
    pub fn mm1_mean(&self) -> f64 {
        self.service / (1.0 - self.utilisation)
    }

    /// The response time at a percentile from 0 to 100 with exponential service (M/M/1): it is exponential
    /// itself, so −ln(1 − p) times the mean.
    ///
    /// Source: Kleinrock, *Queueing Systems I*, 1975, chapter 5.
    pub fn mm1_percentile(&self, percentile: f64) -> f64 {
        -(-percentile / 100.0).ln_1p() * self.mm1_mean()
    }

    /// The mean wait before service for service times of any distribution (M/G/1), by their squared coefficient
    /// of variation: 1 for exponential, 0 for constant service. ρ s (1 + c²) / (2 (1 − ρ)).
    ///
    /// Source: Pollaczek, 1930, and Khinchine, 1932; Kleinrock, *Queueing Systems I*, chapter 5.
    pub fn mg1_wait(&self, squared_variation: f64) -> f64 {
        self.utilisation * self.service * (1.0 + squared_variation) / (2.0 * (1.0 - self.utilisation))
    }

    /// The mean wait before constant service (M/D/1): half of that before exponential service.
    pub fn md1_wait(&self) -> f64 {
        self.mg1_wait(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;

    #[test]
    fn agrees_with_the_books() {
        let near =
            |got: f64, expect: f64| assert!((got - expect).abs() < 1e-9 * expect.abs(), "{got} {expect}");
        let queue = Queue::new(0.5, 200.0).unwrap();
        near(queue.mm1_mean(), 400.0);
        near(queue.mm1_percentile(50.0), 400.0 * 2f64.ln());
        near(queue.mm1_percentile(99.0), 400.0 * 100f64.ln());
        near(queue.mg1_wait(1.0) + 200.0, queue.mm1_mean());
        near(queue.md1_wait(), 100.0);
        near(Queue::new(0.9, 1.0).unwrap().md1_wait(), 4.5);
        assert_eq!(Queue::new(0.0, 1.0).unwrap().md1_wait(), 0.0);
        assert_eq!(queue.mm1_percentile(0.0), 0.0);
        assert_eq!(queue.mm1_percentile(100.0), f64::INFINITY);
    }

    #[test]
    fn has_no_equilibrium_at_full_load() {
        for (utilisation, service) in
            [(1.0, 1.0), (-0.1, 1.0), (f64::NAN, 1.0), (0.5, 0.0), (0.5, f64::INFINITY)]
        {
            assert_eq!(Queue::new(utilisation, service), None);
        }
    }

    /// Response times by Lindley's recursion: the wait is the last one's, plus its service, less the gap.
    fn simulated(utilisation: f64, exponential: bool) -> Vec<f64> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(6);
        let mut exp = move || -(1.0 - rng.random::<f64>()).ln();
        let mut wait = 0.0f64;
        let mut next = || {
            let service = if exponential { exp() } else { 1.0 };
            let response = wait + service;
            wait = (response - exp() / utilisation).max(0.0);
            response
        };
        let mut responses: Vec<f64> = (0..1_000_000).map(|_| next()).collect();
        responses.sort_unstable_by(f64::total_cmp);
        responses
    }

    #[test]
    fn agrees_with_a_simulation() {
        let check = |name: &str, got: f64, theory: f64| {
            // At 80 % the waits resemble their neighbours for hundreds of requests, which leaves a p99 of a million
            // of them about 2 % uncertain.
            assert!((got / theory - 1.0).abs() < 0.05, "{name}: simulated {got}, theory {theory}");
        };
        let mean = |responses: &[f64]| responses.iter().sum::<f64>() / responses.len() as f64;
        for utilisation in [0.2, 0.5, 0.8] {
            let queue = Queue::new(utilisation, 1.0).unwrap();
            let mm1 = simulated(utilisation, true);
            check("M/M/1 mean", mean(&mm1), queue.mm1_mean());
            check("M/M/1 p50", mm1[500_000], queue.mm1_percentile(50.0));
            check("M/M/1 p99", mm1[990_000], queue.mm1_percentile(99.0));
            check("M/D/1 mean", mean(&simulated(utilisation, false)), 1.0 + queue.md1_wait());
        }
    }
}
