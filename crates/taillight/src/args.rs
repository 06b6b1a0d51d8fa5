//! The options of a load.

mod workload;

use clap::Args;

pub(crate) use workload::{AnyWorkload, On, Typed};

/// How the load is generated, and for how long.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Load")]
pub(crate) struct LoadOptions {
    #[command(flatten)]
    pub generator: spec::Generator,
    /// A knob of the machine that generates while it does, such as busy-poll=50us, or a profile, such as
    /// profile=cache-client: of this machine, which takes root, or with --agents of each of theirs, which must allow it. May
    /// be given more than once.
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Load")]
    pub client_knob: Vec<spec::Knob>,
    /// CLOSED LOOP instead of a rate: each client asks again once it has its answer, so a slow server is asked less.
    /// Its figures leave out what was not asked meanwhile; for comparison with tools that measure so.
    #[arg(long, help_heading = "Load")]
    pub closed: bool,
    #[command(flatten)]
    pub time: spec::Time,
    /// Seed of arrivals, keys, sizes and operations; the same seed gives the same requests.
    #[arg(long, default_value_t = 1, value_name = "N", help_heading = "Load")]
    pub seed: u64,
}
