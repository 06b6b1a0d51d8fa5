//! The workloads: each turns arrivals into requests and answers into outcomes.
//!
//! A workload is resolved from the user's options into a plain record of every parameter (which the result keeps),
//! prepares the server if necessary ([`cache::Control`] fills and verifies the data set), and then serves the engine
//! without ever reading a clock.
//!
//! Try it: `taillight load cache --resolve`.

pub mod cache;
pub mod exchange;
mod json;
pub mod movies;
pub mod null;
mod parsed;
mod peer;
mod places;
mod reference;
pub mod sets;
pub mod social;
pub mod status;
mod unasked;
pub mod video;
pub mod web;

pub use peer::{Family, Peer, Stranger};
