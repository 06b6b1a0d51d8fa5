//! Integration tests of `app`, as one program to save linking.
//!
//! Try it: `cargo test -p app --test it`, or with the name of a module behind it.

#[path = "../../taillight/tests/browser/run.rs"]
mod browser;
mod deployment;
mod descriptions;
mod each_value;
mod made;
mod mariadb;
mod movies;
mod nginx;
mod registry;
mod seeds;
mod services;
mod social;
mod video;
mod web;
