//! What a run reports of its progress.

use std::time::Duration;

use results::{Purpose, Trial};

/// An observer of a run.
///
/// Calls are rare, a few for each trial and some each second, so that watching does not disturb the measurement.
pub trait Progress: Send {
    /// Something happened, or time passed.
    fn event(&mut self, event: &Event<'_>, about: &Where);
}

/// What happened.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// A part of the run begins, in words: `block 2 of 3: maximum throughput`.
    Phase(&'a str),
    /// A trial begins.
    Started(&'a Step<'a>),
    /// It still runs, and printed these lines since the last time.
    Tick(&'a [String]),
    /// It is over.
    Ended(&'a Trial),
}

/// A trial that is about to run.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// The target's name.
    pub target: &'a str,
    /// Why.
    pub purpose: Purpose,
    /// The offered load as a share of the maximum.
    pub load_share: Option<f64>,
    /// The offered load; `None` for a closed loop, which has none.
    pub rate_rps: Option<f64>,
}

/// How far the run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Where {
    /// The number of the trial that runs, from 1.
    pub number: usize,
    /// About how many there will be.
    pub about: usize,
    /// About how long it will still take.
    pub left: Duration,
}

/// Ignores all progress.
pub struct Unwatched;

impl Progress for Unwatched {
    fn event(&mut self, _: &Event<'_>, _: &Where) {}
}
