//! Seeded random streams, and the distributions that a load is drawn from.
//!
//! A run is reproducible if every draw comes from a [`Streams`] made from one seed: each purpose and each thread has
//! a stream of its own, so that adding a draw to one moves no other. [`Arrivals`] draws the times of requests,
//! [`KeySampler`] the keys by [`Popularity`] or from a [`DataSet`], [`Size`] the sizes. Their specifications are in
//! `spec`, with the source of each in its `FORMS`. A test over 100 seeds compares each with its configured distribution,
//! since known generators got this wrong: CloudSuite's loader sends half of all requests to one key.
//!
//! Try it: `cargo test -p dist`.

mod arrivals;
mod data_set;
mod draw;
mod gap;
mod item_sizes;
mod key_sampler;
mod lines;
mod scatter;
mod streams;
mod zipf;

pub use arrivals::{Arrivals, Place, Recorded, Trace};
pub use data_set::{DataSet, Line, Population, twitter_like};
pub use draw::Draw;
pub use gap::{Gap, poisson};
pub use item_sizes::ItemSizes;
pub use key_sampler::KeySampler;
pub use scatter::Scatter;
pub use spec::{ArrivalSpec, Notation, Popularity, Process, Scaling, Size};
pub use streams::{Purpose, Rng, Streams, finalize as mixed};
