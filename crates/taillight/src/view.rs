//! What one sees of a trial on a terminal while it runs: rates, response times, a strip of heat.
//!
//! The generator knows nothing of it: it prints a line for each 100 ms, and its parent, which sleeps otherwise, draws
//! them five times a second at most.
//!
//! Try it: `cargo run --release -- load cache --rate 20k --window 20s`.

mod heat;
mod picture;
mod screen;
mod time_series;

pub(crate) use picture::{HIGHEST, LOWEST, NARROWEST, Picture, State, WIDEST, one_line};
pub(crate) use screen::{Screen, restore_on_panic};
pub(crate) use time_series::TimeSeries;
