//! Recorded requests to caches: what `taillight load cache --trace FILE` replays.
//!
//! A [`Format`] is read line by line or record by record, [`compile`] writes it in a form that is mapped
//! ([`Requests`]), and a [`Replay`] is the selected part of it: arrivals for the schedule, and the request that belongs
//! to each. [`describe`] summarizes a trace, and [`make`] writes a small one in any format.
//!
//! Text keys are kept as hashes of 64 bits. Two of n keys share one with a probability of n² / 2⁶⁵: 3 in a million for
//! ten million keys.
//!
//! Try it: `cargo test -p replay`.

mod compile;
mod error;
mod fit;
mod format;
pub mod formats;
mod header;
mod key_table;
mod make;
mod op;
mod reader;
mod record;
mod replay;
mod requests;
mod spread;
mod summary;
mod zstd;

pub use compile::{Progress, beside, compile, open};
pub use error::Error;
pub use format::Format;
pub use header::Header;
pub use make::{Recipe, make};
pub use op::{Action, Op};
pub use record::Record;
pub use replay::{Cursor, Replay, Select};
pub use requests::Requests;
pub use summary::{KeyFigures, OpCount, Quantiles, RatePoint, Summary, describe};
