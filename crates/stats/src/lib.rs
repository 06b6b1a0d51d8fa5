//! What may be concluded from a few repeated measurements.
//!
//! A load point is measured a handful of times on a machine that drifts, and its tail is not a normal distribution.
//! So nothing here assumes one: medians and bootstrap intervals ([`Spread`]), ratios of paired runs with exact
//! intervals ([`Paired`], [`SignedRank`]) at one look or several ([`Looks`]), the smallest difference that these
//! would detect ([`reach`]), rank-based trends ([`Trend`], [`Steadiness`]), the places where a
//! history changes its level ([`change_points`]). Under [`MIN_TO_JUDGE`] repeats there is a
//! range and no judgement. [`holm`] corrects for several comparisons at once. [`ChiSquare`] and [`KolmogorovSmirnov`]
//! compare the generator's draws with theory, and [`Queue`] the whole ruler.
//!
//! Everything is deterministic: resampling has a fixed seed.
//!
//! Try it: `cargo test -p stats`.

mod bootstrap;
mod change_points;
mod holm;
mod looks;
mod median;
mod paired;
mod queue;
mod reach;
mod signed_rank;
mod spread;
mod steady;
mod testing;
mod trend;

pub use bootstrap::{Interval, bootstrap};
pub use change_points::{ChangePoint, LEAST_LEVEL, LEAST_SERIES, Observation, change_points};
pub use holm::holm;
pub use looks::{Look, Looks};
pub use median::median;
pub use paired::{LEVEL, Paired};
pub use queue::Queue;
pub use reach::reach;
pub use signed_rank::{SignedRank, fewest, needed};
pub use spread::{MIN_TO_JUDGE, Spread};
pub use steady::Steadiness;
pub use testing::{ChiSquare, KolmogorovSmirnov};
pub use trend::Trend;
