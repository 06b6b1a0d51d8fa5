//! Integration tests of `results`, as one program to save linking.
//!
//! Try it: `cargo test -p results --test it`, or with the name of a module behind it.

mod folder;
mod json_schema;
mod pack;
mod schema;
mod study;
mod validator;
