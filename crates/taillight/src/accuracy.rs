//! `taillight accuracy`: the error of the measured figures, and the figures of other generators on the same servers.

use std::path::PathBuf;
use std::process::ExitCode;

use ::accuracy::{Accuracy, Part};
use anyhow::Result;
use clap::Args;
use units::Nanos;

use crate::selftest;

/// Compare the figures with the kernel's timestamps, with servers of known times and with other generators.
///
/// The tables in docs/reference/accuracy.md are made of `taillight accuracy --tables FILE` on a quiet machine.
/// Exit codes: 0 all bars are met, 1 some not.
#[derive(Args, Debug)]
pub(crate) struct AccuracyArgs {
    /// Only these parts [default: all].
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PART")]
    only: Vec<Part>,
    /// Length of each measurement.
    #[arg(long, default_value = "10s", value_name = "TIME", value_parser = parse_window)]
    window: Nanos,
    /// Seed of arrivals and of service times.
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Also write the tables as text to this file, from which `cargo xtask docs` makes a document's tables.
    #[arg(long, value_name = "FILE")]
    tables: Option<PathBuf>,
}

/// Other generators take their time in whole seconds only.
fn parse_window(text: &str) -> Result<Nanos, String> {
    let window: Nanos = text.parse().map_err(|e: units::ParseError| e.to_string())?;
    let seconds = window.0 / 1_000_000_000;
    if (2..=3600).contains(&seconds) && window == Nanos::from_secs(seconds) {
        Ok(window)
    } else {
        Err("write whole seconds from 2s to 3600s, since other generators take no others".into())
    }
}

pub(crate) fn run(args: &AccuracyArgs, command: Vec<String>) -> Result<ExitCode> {
    let found = ::accuracy::measure(&args.only, args.window, args.seed, command)?;
    selftest::print(args.json, args.tables.as_deref(), &found, Accuracy::report)?;
    Ok(selftest::code(found.missed(), "rows are outside of their bounds"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_whole_seconds() {
        let check = |text: &str, expect: bool| assert_eq!(parse_window(text).is_ok(), expect, "{text}");
        check("10s", true);
        check("2s", true);
        check("1m", true);
        check("1s", false);
        check("1500ms", false);
        check("2h", false);
        check("x", false);
    }
}
