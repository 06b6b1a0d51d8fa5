//! `sphinxd`: the cache server as a program of its own; `taillight serve sphinx` is the same.
//!
//! Try it: `cargo run --release -p sphinx -- --help`.

use std::process::ExitCode;

use clap::Parser;

/// A memcached-compatible cache in which every thread owns its core, its connections and its keys.
///
/// Exit codes: 0 stopped by a signal, 1 failed, 2 wrong usage.
#[derive(Parser, Debug)]
#[command(
    name = "sphinxd",
    // Scripts read the version of memcached from the first line of -h and -V: `memcached 1.6.45`.
    display_name = "memcached",
    version = sphinx::VERSION_LINE,
    before_help = format!("memcached {}", sphinx::VERSION_LINE),
    max_term_width = 100
)]
struct Cli {
    #[command(flatten)]
    options: sphinx::Options,
}

fn main() -> ExitCode {
    match Cli::parse().options.resolve().and_then(sphinx::run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("sphinxd: {error:#}");
            ExitCode::FAILURE
        }
    }
}
