//! Integration tests of `sphinx`, as one program to save linking.
//!
//! Try it: `cargo test -p sphinx --test it`, or with the name of a module behind it.

mod binary;
mod command_line;
mod concurrency;
mod confined;
mod conformance;
mod corpus;
mod debian;
mod differential;
mod drop_in;
mod fair;
mod fences;
mod foreign;
mod large_items;
mod large_values;
mod listing;
mod memory;
mod memory_limit;
mod mixed;
mod operation;
mod programs;
mod resp;
mod restart;
mod sampling;
mod server;
mod sharing;
mod startup;
mod steering;
mod support;
mod tls;
mod transports;
mod watch;
