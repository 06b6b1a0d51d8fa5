//! The view of a running trial on a terminal: rates, response times, a heat strip.
//!
//! The generator is independent of the view: it prints a line for each 100 ms. Its parent, otherwise asleep, draws these lines at most
//! five times a second.

mod heat;
mod picture;
mod screen;
mod time_series;

pub use picture::{HIGHEST, LOWEST, NARROWEST, Picture, State, WIDEST, one_line};
pub use screen::{Screen, restore_on_panic};
pub use time_series::TimeSeries;
