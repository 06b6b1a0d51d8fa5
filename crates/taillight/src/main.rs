//! The command line: each subcommand is one step of the pipeline from load to report, or all of it.
//!
//! Try it: `cargo run --release -- demo`.

mod args;
mod generate;
mod host;
mod load;
mod noise;
mod selftest;
mod serve;
mod trial;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// A laboratory for the tail latency of interactive cloud services.
///
/// Exit codes: 0 done, 1 failed, 2 wrong usage, 99 a gate failed, 130 interrupted.
#[derive(Parser, Debug)]
#[command(name = "taillight", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Load(Box<load::LoadArgs>),
    Serve(serve::ServeArgs),
    Selftest(selftest::SelftestArgs),
    Host(host::HostArgs),
}

/// The exit code of a run that Ctrl-C or SIGTERM ended, as shells report it.
const INTERRUPTED: u8 = 130;

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Load(args) => load::run(*args),
        Command::Serve(args) => serve::run(&args),
        Command::Selftest(args) => selftest::run(&args),
        Command::Host(args) => host::run(&args),
    };
    result.unwrap_or_else(|error| {
        anstream::eprintln!("taillight: {}", in_full(&error));
        if error.is::<generate::Interrupted>() { ExitCode::from(INTERRUPTED) } else { ExitCode::FAILURE }
    })
}

/// An error and its causes on one line, each said once.
fn in_full(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |text, cause| {
        if text.is_empty() {
            cause
        } else if text.contains(&cause) {
            text
        } else {
            format!("{text}: {cause}")
        }
    })
}
