//! Histograms of response times, and the figures that may honestly be read from them.
//!
//! [`Latency`] keeps every sample to three significant digits in bounded memory, so that histograms of
//! many threads merge without loss and no percentile is ever averaged. [`Windows`] keeps the same samples
//! by the 100 ms in which they were *intended*, for the windowed p99 that a single stall of the host does
//! not move. [`hlog`] writes and reads them in the format of the HdrHistogram tools.
//!
//! A percentile with fewer than [`MIN_BEYOND`] samples beyond it is `None` and is printed as "–": such a
//! number is one request's luck.
//!
//! Try it: `cargo test -p hist`.

mod heat;
pub mod hlog;
mod latency;
mod live_point;
mod octave;
mod rank;
mod serial;
mod small;
mod sparse;
mod windows;

pub use heat::{HEAT_CELLS_PER_OCTAVE, heat_cell, heat_start};
pub use latency::Latency;
pub use live_point::LivePoint;
pub use rank::MIN_BEYOND;
pub use small::Small;
pub use windows::{WINDOW, Window, WindowSelection, Windows};

/// The limits of windows, with their reasons.
pub fn limits() -> Vec<units::Limit> {
    windows::limits()
}
