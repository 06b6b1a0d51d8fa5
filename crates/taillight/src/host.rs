//! `taillight host`: what is known about this machine.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

/// Print read-only facts about this machine, as every result records them.
#[derive(Args, Debug)]
pub(crate) struct HostArgs {
    /// Print all of them as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &HostArgs) -> Result<ExitCode> {
    let host = ::host::Host::here();
    if args.json {
        println!("{}", serde_json::to_string_pretty(&host)?);
    } else {
        println!("{host}");
    }
    Ok(ExitCode::SUCCESS)
}
