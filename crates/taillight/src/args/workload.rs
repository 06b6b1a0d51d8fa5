use anyhow::Result;
use clap::{Args, Command, ValueEnum};
use dist::Popularity;
use proto_http::Url;
use workloads::cache::{CacheConfig, Server};
use workloads::web::{Verify, WebConfig};

use super::{CacheOptions, LoadOptions, WebOptions};

/// The workloads that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WorkloadName {
    /// Gets and sets to a memcached-compatible cache.
    Cache,
    /// Requests to a web server.
    Web,
    /// Lines to a null server, to test the ruler.
    Null,
}

/// What is sent, with every parameter.
#[derive(Clone, Debug)]
pub(crate) enum Sent {
    Cache(Box<CacheConfig>),
    Web(Box<WebConfig>),
    Null,
}

/// What is sent: each workload heeds its own options and those that are shared.
#[derive(Args, Clone, Debug)]
pub(crate) struct WorkloadOptions {
    #[command(flatten)]
    pub shared: SharedOptions,
    #[command(flatten)]
    pub cache: CacheOptions,
    #[command(flatten)]
    pub web: WebOptions,
}

/// What every workload heeds in its way.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Workload")]
pub(crate) struct SharedOptions {
    /// How often each key, or each page, is asked for: uniform, zipf:ALPHA, hotset:KEYS%,ACCESSES%, sequential,
    /// latest:ALPHA and more; see taillight explain cache.
    #[arg(long, default_value_t = Popularity::Uniform, value_name = "POPULARITY")]
    pub popularity: Popularity,
    /// Check what comes back: of a cache every value, by content; of a web server as said, length being the default. What
    /// is wrong makes the run invalid.
    #[arg(long, value_name = "length|checksum|none", num_args = 0..=1, default_missing_value = "checksum")]
    pub verify: Option<Verify>,
    /// Agree to store items in a server that is not on this machine.
    #[arg(long)]
    pub yes: bool,
}

impl WorkloadOptions {
    /// What this workload sends; the servers, as caches or as web servers, where they are known yet.
    ///
    /// Errors: parameters that do not go together; a file or folder that cannot be read.
    pub(crate) fn sent(
        &self,
        workload: WorkloadName,
        seed: u64,
        servers: Option<Vec<Server>>,
        urls: Vec<Url>,
    ) -> Result<Sent> {
        Ok(match workload {
            WorkloadName::Cache => Sent::Cache(Box::new(self.cache.config(&self.shared, seed, servers)?)),
            WorkloadName::Web => Sent::Web(Box::new(self.web.config(&self.shared, seed, urls)?)),
            WorkloadName::Null => Sent::Null,
        })
    }
}

/// A command that takes the options of the generator, and no others.
pub(crate) fn generator_options() -> Command {
    WorkloadOptions::augment_args(LoadOptions::augment_args(Command::new("generator")))
}
