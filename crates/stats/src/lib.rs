//! What may be concluded from a few repeated measurements.
//!
//! A load point is measured a handful of times on a machine that drifts, and its tail is not a normal
//! distribution. So nothing here assumes one: medians and bootstrap intervals ([`Spread`]), ratios of
//! paired runs with a permutation test ([`Paired`]), rank-based trends ([`Trend`], [`Steadiness`]). Under
//! [`MIN_TO_JUDGE`] repeats there is a range and no judgement. [`holm`] corrects for several comparisons at once. [`ChiSquare`] and [`KolmogorovSmirnov`] hold the
//! generator's draws, and [`Queue`] the whole ruler, to what theory says.
//!
//! Everything is deterministic: what is resampled is resampled with a seed.
//!
//! Try it: `cargo test -p stats`.

mod bootstrap;
mod chi_square;
mod holm;
mod ks;
mod median;
mod paired;
mod queue;
mod spread;
mod steady;
mod trend;

pub use bootstrap::{Interval, bootstrap};
pub use chi_square::ChiSquare;
pub use holm::holm;
pub use ks::KolmogorovSmirnov;
pub use median::median;
pub use paired::{Paired, sign_flip_test};
pub use queue::Queue;
pub use spread::{MIN_TO_JUDGE, Spread};
pub use steady::Steadiness;
pub use trend::Trend;
