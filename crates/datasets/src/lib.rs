//! Data sets described by a few words and a seed, for those who make the data, serve them, ask for them and check the answers:
//! the people of a social network, and sets of videos.
//!
//! Try it: `cargo test -p datasets`.

pub mod people;
pub mod videos;
