//! The options of a load.

mod workload;

use clap::Args;

pub(crate) use workload::{AnyWorkload, Typed, WorkloadCommand};

/// How the load is generated, and for how long.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Load")]
pub(crate) struct LoadOptions {
    #[command(flatten)]
    pub generator: spec::Generator,
    /// A knob of the generator's machine, set during the load, such as busy-poll=50us, or a profile, such as
    /// profile=cache-client. On this machine it needs root; with --agents it is set on each agent's machine, which must
    /// allow it. May be given more than once.
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Load")]
    pub client_knob: Vec<spec::Knob>,
    /// CLOSED LOOP instead of a rate: each client sends its next request after the answer to its last, so a slow server
    /// gets fewer requests. Its figures omit the requests that were not sent because of that; for comparison with tools
    /// that measure this way.
    #[arg(long, help_heading = "Load")]
    pub closed: bool,
    #[command(flatten)]
    pub time: spec::Time,
    /// Seed of arrivals, keys, sizes and operations; the same seed gives the same requests.
    #[arg(long, default_value_t = 1, value_name = "N", help_heading = "Load")]
    pub seed: u64,
}
