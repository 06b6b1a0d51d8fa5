use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use dist::{DataSet, Population, Preset, Scaling, Size, twitter_like};
use workloads::cache::{
    CacheConfig, Cluster, Expiry, FillPolicy, Listed, Mix, OnMiss, Placement, Prefix, Protocol, Server,
};
use workloads::web::Verify;

use super::SharedOptions;

/// What the cache workload asks for.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Cache workload")]
pub(crate) struct CacheOptions {
    /// A published load: etc, ycsb-a to ycsb-d, ycsb-f, twitter, memloader, iiswc17, ancs19-read, ancs19-update. It
    /// stands for the options that taillight explain cache lists; those that are typed as well count more.
    #[arg(long, value_name = "NAME")]
    pub preset: Option<Preset>,
    /// Keys in the data set.
    #[arg(long, default_value_t = 100_000, value_name = "N")]
    pub keys: u64,
    /// Length of a key with its prefix, in bytes: 30, uniform:20..40, gev:…, etc-key; see taillight explain cache.
    #[arg(long, default_value = "30", value_name = "SIZE")]
    pub key_size: Size,
    /// Length of a value in bytes: 200, 4KiB, uniform:1..1024, etc-value; see taillight explain cache.
    #[arg(long, default_value = "200", value_name = "SIZE")]
    pub value_size: Size,
    /// Items from a file instead of --keys, --key-size, --value-size and --popularity: CSV with the header
    /// key_size,value_size,popularity; or twitter, which comes with this program.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["keys", "key_size", "value_size", "popularity"])]
    pub data_set: Option<String>,
    /// Copies of the data set, made on the fly without memory: 10x, or 30x,tail:0.915.
    #[arg(long, default_value = "1x", value_name = "COPIES", requires = "data_set")]
    pub scale: Scaling,
    /// Shares of the operations in per cent, such as get:80,mget(10):5,set:10,delete:5.
    #[arg(long, default_value_t = Mix::default(), value_name = "MIX")]
    pub mix: Mix,
    /// How operations are written: ascii (get, set) or meta (mg, ms).
    #[arg(long, default_value_t = Protocol::default(), value_name = "PROTOCOL")]
    pub protocol: Protocol,
    /// Send get and mget over UDP, to the same ports; everything else stays on TCP, as in production.
    #[arg(long)]
    pub udp: bool,
    /// What follows a miss: nothing, or set (read-through: the item is stored at once).
    #[arg(long, default_value_t = OnMiss::default(), value_name = "WHAT")]
    pub on_miss: OnMiss,
    /// After how many seconds what is stored expires: 0 (never), 60, or a distribution such as uniform:30..90.
    #[arg(long, default_value_t = Expiry::never(), value_name = "SECONDS")]
    pub expiry: Expiry,
    /// What several servers hold: replicated (all the same: writes to all, reads to one), ketama or modulo (shards, as
    /// libmemcached places keys).
    #[arg(long, default_value_t = Placement::default(), value_name = "PLACEMENT")]
    pub placement: Placement,
    /// What stands before every key, so that a server's own items are never touched.
    #[arg(long, default_value_t = Prefix::default(), value_name = "TEXT")]
    pub key_prefix: Prefix,
    /// When to store the data set: auto (where it is not there yet), always or never. Nothing is ever flushed.
    #[arg(long, default_value = "auto", value_name = "WHEN")]
    pub fill: FillArg,
}

/// [`FillPolicy`], as typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FillArg {
    Auto,
    Always,
    Never,
}

impl From<FillArg> for FillPolicy {
    fn from(arg: FillArg) -> FillPolicy {
        match arg {
            FillArg::Auto => FillPolicy::Auto,
            FillArg::Always => FillPolicy::Always,
            FillArg::Never => FillPolicy::Never,
        }
    }
}

impl CacheOptions {
    /// The workload on these servers, as they are called; `None` where they are not known yet.
    ///
    /// Errors: parameters that do not go together; a data set that cannot be read.
    pub(crate) fn config(
        &self,
        shared: &SharedOptions,
        seed: u64,
        servers: Option<Vec<Server>>,
    ) -> Result<CacheConfig> {
        let default = CacheConfig::default();
        let data_set = self.listed()?;
        let config = CacheConfig {
            keys: data_set.as_ref().map_or(self.keys, |listed| listed.population.items()),
            key_prefix: self.key_prefix.clone(),
            key_size: self.key_size.clone(),
            value_size: self.value_size.clone(),
            data_set,
            popularity: shared.popularity,
            mix: self.mix.clone(),
            protocol: self.protocol,
            expiry: self.expiry.clone(),
            on_miss: self.on_miss,
            verify: shared.verify.is_some_and(|verify| verify != Verify::None),
            udp: self.udp,
            cluster: servers
                .map_or(default.cluster, |servers| Cluster { servers, placement: self.placement }),
            seed,
            sources: self.sources(),
        };
        config.check()?;
        Ok(config)
    }

    fn listed(&self) -> Result<Option<Listed>> {
        let Some(name) = &self.data_set else { return Ok(None) };
        let set = if name == "twitter" { twitter_like() } else { read(name)? };
        let population = Arc::new(Population::new(&set, self.scale)?);
        Ok(Some(Listed { name: name.clone(), scaling: self.scale, population }))
    }

    /// Where the parameters come from that a preset chose and nobody typed.
    fn sources(&self) -> BTreeMap<String, String> {
        let Some(preset) = &self.preset else { return BTreeMap::new() };
        let typed: Vec<String> = std::env::args().collect();
        let taken = crate::preset::taken(preset, &typed);
        taken.map(|p| (p.option.trim_start_matches('-').replace('-', "_"), p.source.to_owned())).collect()
    }
}

/// Reads a data set from a file.
pub(crate) fn read(file: &str) -> Result<DataSet> {
    let open = File::open(file).with_context(|| format!("cannot open the data set {file}"))?;
    let set = DataSet::read(BufReader::new(open)).with_context(|| format!("data set {file}"))?;
    if set.lines().is_empty() {
        bail!("data set {file}: it has no items");
    }
    Ok(set)
}
