//! Searches for the rate at which a server stops to hold, in the presence of bad luck.
//!
//! Both things that are searched for, the maximum throughput and the peak under QoS, are thresholds: below,
//! trials mostly pass, above, they mostly fail, and now and then one does the opposite, since the machine is
//! shared. The searches are pure: they ask for a rate ([`Search::next`]) and are told how its trial ended
//! ([`Search::enter`]), so that they run against simulated servers without any clock, and so that those of
//! two targets can take turns. [`Ballots`](ballots) weigh the evidence, [`Bisection`] chooses where to look.
//!
//! Try it: `cargo test -p lab search`.

mod ballots;
mod bisection;
mod maximum;
mod patience;
mod peak;
#[cfg(test)]
mod testing;

pub use bisection::{Bisection, Tolerance};
pub use maximum::{ENOUGH_SESSIONS, MaxSearch, Offers};
pub use peak::PeakSearch;

/// The limits of searches.
pub(crate) fn limits() -> Vec<units::Limit> {
    [ballots::limits(), bisection::limits(), maximum::limits(), peak::limits()].concat()
}

/// Inconclusive trials at a rate before the search tries lower rates.
///
/// Source: if every third trial is inconclusive, four in a row occur at one rate in a hundred.
const REPEATS: u32 = 3;

/// Verdict of one trial on one rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vote {
    /// The rate was sustained, or the target met.
    Pass,
    /// It was not.
    Fail,
    /// The trial says nothing: it was invalid, or its bounds straddle the target. The rate is tried again; after
    /// three such trials the search looks lower, and no end of its answer stands on them.
    Unknown,
    /// The generator had no time left, and the host is not to blame: a higher rate would say no more. The rate counts as one
    /// that failed while the search looks lower, but no end of its answer stands on it.
    Limited,
}

impl Vote {
    /// Whether the trial has no usable figure of the server.
    pub(crate) fn says_nothing(self) -> bool {
        matches!(self, Vote::Unknown | Vote::Limited)
    }
}

/// A trial as a search sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Its vote on its rate.
    pub vote: Vote,
    /// The achieved throughput, for any vote. Units: rps.
    pub achieved_rps: f64,
}

/// The highest rate that held and the lowest that did not.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bracket {
    /// The highest rate that held; `None` if none did.
    pub low: Option<f64>,
    /// The lowest rate that failed; `None` if none did.
    pub high: Option<f64>,
}

/// A search that is fed with one trial after the other.
pub trait Search {
    /// The rate to try next; `None` once the answer is known.
    fn next(&mut self) -> Option<f64>;

    /// Enters the outcome of the trial at the rate that [`Search::next`] returned.
    fn enter(&mut self, outcome: Outcome);

    /// About how many trials are still to come.
    fn trials_left(&self) -> usize;
}
