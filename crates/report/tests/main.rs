//! Integration tests of `report`, as one program to save linking.
//!
//! Try it: `cargo test -p report --test it`, or with the name of a module behind it.

mod browser;
mod html;
mod sample;
mod terminal;
