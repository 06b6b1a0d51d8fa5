//! Integration tests of `cache-store`, as one program to save linking.
//!
//! Try it: `cargo test -p cache-store --test it`, or with the name of a module behind it.

mod corpus;
mod large;
mod limits;
mod memory;
mod model;
mod pins;
mod policies;
mod readers;
mod reservations;
mod saved;
mod shrinking;
mod store;
