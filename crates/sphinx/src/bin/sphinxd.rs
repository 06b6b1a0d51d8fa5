//! `sphinxd`: the cache server as a program of its own; `taillight serve sphinx` is the same.
//!
//! Try it: `cargo run --release -p sphinx -- --help`.

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match sphinx::CommandLine::parse().into_options().resolve().and_then(sphinx::run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("sphinxd: {error:#}");
            ExitCode::FAILURE
        }
    }
}
