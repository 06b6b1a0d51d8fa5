//! Servers with a known capacity and machines with a known share of bad luck, to hold the searches to.

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::{Outcome, Search, Vote};

/// A search that is run by itself.
pub(super) trait Drive: Search {
    /// Runs `measure` to the end of the search, or to its first error.
    fn drive<E>(&mut self, mut measure: impl FnMut(f64) -> Result<Outcome, E>) -> Result<(), E> {
        while let Some(rate) = self.next() {
            self.enter(measure(rate)?);
        }
        Ok(())
    }
}

impl<S: Search> Drive for S {}

/// How often a trial ends otherwise than it should, 0 to 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Luck {
    /// It fails below the threshold: a stall of the host.
    pub(super) bad: f64,
    /// It passes above.
    pub(super) good: f64,
    /// It says nothing.
    pub(super) unknown: f64,
}

impl Luck {
    pub(super) const NONE: Luck = Luck { bad: 0.0, good: 0.0, unknown: 0.0 };
}

/// A server.
#[derive(Clone, Copy, Debug)]
pub(super) struct Server {
    /// The rate that it sustains, or up to which it meets its target.
    pub(super) capacity: f64,
    /// By how much the capacity differs from trial to trial: one standard deviation, as a share.
    pub(super) jitter: f64,
    /// Throughput under overload, relative to the capacity.
    pub(super) flattered: f64,
    pub(super) luck: Luck,
}

impl Server {
    pub(super) const TYPICAL: Server =
        Server { capacity: 147_300.0, jitter: 0.005, flattered: 1.02, luck: Luck::NONE };

    /// A machine that runs it; its luck follows from `seed`.
    pub(super) fn run(&self, seed: u64) -> Machine {
        Machine { server: *self, rng: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }
}

pub(super) struct Machine {
    server: Server,
    rng: Xoshiro256PlusPlus,
}

impl Machine {
    /// A trial of the server at `rate`.
    pub(super) fn throughput(&mut self, rate: f64) -> Outcome {
        let Server { capacity, flattered, luck, .. } = self.server;
        let vote = self.vote(rate);
        let most = if vote == Vote::Pass { f64::INFINITY } else { capacity * flattered };
        let lucky = if luck.bad > 0.0 { 1.0 - 0.1 * luck.bad * self.rng.random::<f64>() } else { 1.0 };
        Outcome { vote, achieved_rps: lucky * rate.min(most) }
    }

    /// Whether `rate` holds this time.
    pub(super) fn vote(&mut self, rate: f64) -> Vote {
        let Server { capacity, jitter, luck, .. } = self.server;
        // The sum of 12 uniform numbers less 6 is all but normal.
        let normal: f64 = (0..12).map(|_| self.rng.random::<f64>()).sum::<f64>() - 6.0;
        let holds = rate <= capacity * (1.0 + jitter * normal);
        let (roll, unknown) = (self.rng.random::<f64>(), self.rng.random::<f64>() < luck.unknown);
        match holds {
            _ if unknown => Vote::Unknown,
            true if roll >= luck.bad => Vote::Pass,
            false if roll < luck.good => Vote::Pass,
            _ => Vote::Fail,
        }
    }
}
