use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use dist::{DataSet, Population, twitter_like};
use replay::Select;
use spec::Spec;
use spec::workload::{Cache, Digits, Protocol, Replay, Verify};
use workloads::cache::{CacheConfig, Cluster, Listed, Login, Server};

/// The workload of a specification on these servers, by name; `None` if they are not known yet.
///
/// Errors: parameters that contradict each other; a data set that cannot be read.
pub(super) fn config(cache: &Cache, spec: &Spec, servers: Option<Vec<Server>>) -> Result<CacheConfig> {
    let default = CacheConfig::default();
    let data_set = listed(cache)?;
    let replay = recorded(&cache.replay)?;
    let config = CacheConfig {
        keys: data_set.as_ref().map_or(cache.keys, |listed| listed.population.items()),
        key_prefix: cache.key_prefix.clone(),
        // The numbers of a trace's keys have 64 bits, which decimal digits would make longer than most keys are.
        key_digits: if replay.is_some() { Digits::Base62 } else { cache.key_digits },
        replay,
        key_size: cache.key_size.clone(),
        value_size: cache.value_size.clone(),
        data_set,
        popularity: cache.popularity,
        mix: cache.mix.clone(),
        protocol: match (cache.protocol, &servers) {
            (Protocol::Auto, Some(_)) => Protocol::Ascii,
            (protocol, _) => protocol,
        },
        login: cache.auth_file.as_deref().map(login).transpose()?,
        expiry: cache.expiry.clone(),
        on_miss: cache.on_miss,
        verify: cache.verify.is_some_and(|verify| verify != Verify::None),
        udp: cache.udp,
        cluster: servers.map_or(default.cluster, |servers| Cluster { servers, placement: cache.placement }),
        seed: spec.seed,
    };
    config.check()?;
    Ok(config)
}

/// The selected requests of a trace. It is compiled if that was not done before.
fn recorded(asked: &Replay) -> Result<Option<Arc<replay::Replay>>> {
    let Some(file) = &asked.trace else { return Ok(None) };
    let requests = replay::open(file, &mut |_| true)?;
    Ok(Some(Arc::new(replay::Replay::new(Arc::new(requests), &selected(asked))?)))
}

/// The part of a trace that these options select.
pub fn selected(asked: &Replay) -> Select {
    Select {
        one_in: asked.sample.one_in(),
        from_ns: asked.from.map_or(0, |from| from.0),
        to_ns: asked.to.map(|to| to.0),
        loops: asked.is_loop,
    }
}

fn login(file: &Path) -> Result<Login> {
    let text = fs::read_to_string(file)
        .with_context(|| format!("cannot read {}, the file of --auth-file", file.display()))?;
    Login::read(&text).with_context(|| {
        format!("{}: the first line is no USER:PASSWORD, nor :PASSWORD for the default user", file.display())
    })
}

fn listed(cache: &Cache) -> Result<Option<Listed>> {
    let Some(name) = &cache.data_set else { return Ok(None) };
    let set = if name == "twitter" { twitter_like() } else { read(name)? };
    let population = Arc::new(Population::new(&set, cache.scale)?);
    Ok(Some(Listed { name: name.clone(), population }))
}

/// Reads a data set from a file.
///
/// Errors: the file cannot be read, is not a data set, or has no items.
pub fn read(file: &str) -> Result<DataSet> {
    let open = File::open(file).with_context(|| format!("cannot open the data set {file}"))?;
    let set = DataSet::read(BufReader::new(open)).with_context(|| format!("data set {file}"))?;
    if set.lines().is_empty() {
        bail!("data set {file}: it has no items");
    }
    Ok(set)
}
