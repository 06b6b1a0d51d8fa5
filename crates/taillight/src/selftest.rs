//! `taillight selftest`: the ruler validated against servers whose response times are known.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use units::Nanos;

/// Hold the load generator against servers of known response time, on the real clock.
///
/// Exit codes: 0 all within tolerance, 1 some not.
#[derive(Args, Debug)]
pub(crate) struct SelftestArgs {
    /// Seed of the arrivals and of the service times.
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Length of each measurement.
    #[arg(long, default_value = "5s", value_name = "TIME")]
    window: Nanos,
}

pub(crate) fn run(args: &SelftestArgs) -> Result<ExitCode> {
    let failed = ::accuracy::selftest(args.window, args.seed)?;
    if failed > 0 {
        anstream::println!("{failed} checks failed");
        return Ok(ExitCode::FAILURE);
    }
    anstream::println!("all checks hold");
    Ok(ExitCode::SUCCESS)
}
