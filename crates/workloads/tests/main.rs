//! Integration tests of `workloads`, as one program to save linking.
//!
//! Try it: `cargo test -p workloads --test it`, or with the name of a module behind it.

mod corpus;
mod memcached;
mod movies;
mod redis;
mod simulated;
mod social;
mod video;
mod web;
