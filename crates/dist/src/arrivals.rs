//! When requests arrive: the offered load of the whole generator, arrival by arrival.
//!
//! Try it: `cargo test -p dist arrivals`.

mod trace;
mod walk;

use std::fmt;
use std::sync::Arc;

use spec::{ArrivalSpec, Cursor, Process, Profile};
use units::{ParseError, Rate};

use crate::Rng;
pub use trace::Trace;

/// A cursor over the arrivals of a load: drawn from a process, under a profile if there is one, or out of a trace.
///
/// Cost: 5 ns an arrival for Poisson, constant and traces, 15 ns for Pareto gaps and bursts, 10 more under a profile.
#[derive(Clone, Debug)]
pub struct Arrivals(Source);

#[derive(Clone, Debug)]
enum Source {
    Drawn {
        walk: walk::Walk,
        /// Units: ns between two arrivals at factor 1.
        mean_ns: f64,
        profile: Option<(Profile, Cursor)>,
    },
    Replayed {
        trace: Arc<dyn Recorded>,
        next: Place,
        speed: f64,
    },
}

/// Arrivals that were recorded, in order, wherever they are kept. Units: ns after the start.
pub trait Recorded: fmt::Debug + Send + Sync {
    /// The arrival at `place`, which goes to the one after it. `None` after the last.
    fn next(&self, place: &mut Place) -> Option<u64>;

    /// How many arrivals come up to `ns`, which included. `near`: where a reader is, so that others need not be looked at.
    fn until(&self, ns: u64, near: &Place) -> u64;
}

/// A place in recorded arrivals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The number of the next record, from 0.
    pub index: u64,
    /// How often it began again.
    pub round: u64,
}

impl Arrivals {
    /// The arrivals of a process at a rate, which the profile multiplies.
    pub fn new(process: Process, profile: Option<Profile>, rate: Rate) -> Arrivals {
        let mean_ns = rate.mean_gap_ns();
        let profile = profile.map(|profile| (profile, Cursor::default()));
        Arrivals(Source::Drawn { walk: walk::Walk::new(process, mean_ns), mean_ns, profile })
    }

    /// The arrivals of a specification at a rate. `trace` is the content of a trace file; drawn processes ignore it.
    ///
    /// Errors: the specification names a trace and `trace` is `None`.
    pub fn of(asked: &ArrivalSpec, rate: Rate, trace: Option<Arc<Trace>>) -> Result<Arrivals, ParseError> {
        match (asked, trace) {
            (ArrivalSpec::Drawn { process, profile }, _) => {
                Ok(Arrivals::new(*process, profile.clone(), rate))
            }
            (ArrivalSpec::Trace { speed, .. }, Some(trace)) => Ok(Arrivals::replay(trace, *speed)),
            (ArrivalSpec::Trace { .. }, None) => Err(ParseError {
                what: "arrivals",
                given: asked.to_string(),
                problem: "its file was not read".into(),
                hint: "give the content of the trace",
            }),
        }
    }

    /// Recorded arrivals, `speed` times as fast as they came. Bounds: `speed` over 0; others count as 1.
    pub fn replay(trace: Arc<dyn Recorded>, speed: f64) -> Arrivals {
        let speed = if speed.is_finite() && speed > 0.0 { speed } else { 1.0 };
        Arrivals(Source::Replayed { trace, next: Place::default(), speed })
    }

    /// The next arrival, never before the last. Units: ns after the start. `None` at the end of a trace, or of a
    /// profile that ends with a factor of 0.
    #[inline]
    pub fn next(&mut self, rng: &mut Rng) -> Option<f64> {
        match &mut self.0 {
            Source::Drawn { walk, profile: None, .. } => Some(walk.next(rng)),
            Source::Drawn { walk, profile: Some((profile, cursor)), .. } => {
                profile.reached(walk.next(rng), cursor)
            }
            Source::Replayed { trace, next, speed } => trace.next(next).map(|offset| offset as f64 / *speed),
        }
    }

    /// How many arrivals are expected after `from` and up to `to`; of a trace, how many there are. Units: ns after the
    /// start. The true number for all that is drawn differs by chance: for Poisson by its root.
    pub fn expected(&self, from_ns: f64, to_ns: f64) -> f64 {
        match &self.0 {
            Source::Drawn { mean_ns, profile: None, .. } => (to_ns - from_ns.max(0.0)).max(0.0) / mean_ns,
            Source::Drawn { mean_ns, profile: Some((profile, _)), .. } => {
                (profile.spent(to_ns) - profile.spent(from_ns)).max(0.0) / mean_ns
            }
            Source::Replayed { trace, next, speed } => {
                let by = |t: f64| if t < 0.0 { 0 } else { trace.until((t * speed).floor() as u64, next) };
                by(to_ns).saturating_sub(by(from_ns)) as f64
            }
        }
    }

    /// The mean rate expected after `from` and up to `to`; 0 if the interval is empty. Units: rps.
    pub fn mean_rps(&self, from_ns: f64, to_ns: f64) -> f64 {
        if to_ns > from_ns { self.expected(from_ns, to_ns) / (to_ns - from_ns) * 1e9 } else { 0.0 }
    }
}

#[cfg(test)]
mod tests;
