//! A cache: its data set is stored and looked at before the load.

use std::fs::{self, File};
use std::io::BufReader;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result, bail};
use dist::{Arrivals, Population, twitter_like};
use openloop::{Plan, Recording};
use reactor::Address;
use replay::Select;
use results::{Invalid, Reason};
use spec::workload::{Digits, Placement, Protocol, Replay};
use spec::{Spec, Workload, workload};
use units::Rate;
use workloads::cache::{
    Cache, CacheConfig, Cluster, DataSet, FILLED, FillPolicy, Items, Login, Preparation, Server, prepare,
};

use crate::noise::Watch;
use crate::task::Task;
use crate::tls::{TlsClient, control};
use crate::workload::{Reach, Run};

pub(super) struct Offered {
    config: CacheConfig,
}

/// The workload of these options.
///
/// Errors: parameters that contradict each other; a data set that cannot be read.
pub(super) fn offered(options: &workload::Cache, spec: &Spec, reach: Option<Reach<'_>>) -> Result<Offered> {
    Ok(Offered { config: config(options, spec, reach.map(|reach| reach.task.names.clone()))? })
}

impl super::Offered for Offered {
    fn replaced(&self, task: &Task, tls: Option<&TlsClient>) -> Result<Option<Task>> {
        let options = &self.config.options;
        match options.placement {
            Placement::Partitions => partitions(&self.config, task, tls).map(Some),
            Placement::Cluster => nodes(&self.config, task, tls).map(Some),
            Placement::Replicated | Placement::Ketama | Placement::Modulo => Ok(None),
        }
    }

    fn arrivals(&self, rate: Option<Rate>) -> Result<Option<Arrivals>> {
        let Some(replay) = &self.config.replay else { return Ok(None) };
        let header = replay.requests().header();
        if rate.is_none() && !header.is_timed {
            bail!(
                "--trace: {} has no times; give the mean rate with --rate, such as --rate 50k",
                header.name
            );
        }
        let speed = speed(replay, &self.config.options.replay, rate);
        let replay: Arc<dyn dist::Recorded> = Arc::clone(replay) as _;
        Ok(Some(Arrivals::replay(replay, speed)))
    }

    fn plan(&mut self, task: &Task, plan: &mut Plan) -> Result<()> {
        if self.config.options.placement == Placement::Partitions {
            divide(plan, task.spec.generator.threads() as usize);
        }
        Ok(())
    }

    fn resolve(&self, workload: &mut Workload) {
        if let Workload::Cache(options) = workload {
            (options.keys, options.protocol) = (self.config.options.keys, self.config.options.protocol);
        }
    }

    fn datagram_ports(&self, servers: &[Address]) -> Result<Vec<Address>> {
        if self.config.options.udp { datagram_ports(servers) } else { Ok(Vec::new()) }
    }

    fn run(self: Box<Self>, run: &mut Run<'_>) -> Result<(Recording, Watch)> {
        // The requests of a trace fill the cache themselves.
        let policy = if self.config.replay.is_some() { FillPolicy::Never } else { self.config.options.fill };
        let (Reach { task, tls, .. }, config) = (run.reach, &self.config);
        let items = Arc::new(Items::new(config));
        let (data_set, version) = fill(policy, task, config, &items, tls)?;
        if !data_set.is_complete() && policy != FillPolicy::Never {
            run.others.push(incomplete(&data_set));
        }
        if data_set.looked_at > 0 {
            run.counters.insert("fill_hit_ratio".into(), data_set.hit_ratio);
        }
        run.counters.extend(items_held(&data_set));
        if config.verifies() && data_set.wrong > 0 {
            run.others.push(wrong_at_start(&data_set));
        }
        if task.share.1 > 1 {
            // The others' values are equivalent to ours, and may be newer than any of ours.
            items.versions().begin(data_set.run, false);
        }
        let of_thread = |thread| {
            Cache::new(config, Arc::clone(&items), task.seat(thread)).expect("the configuration was checked")
        };
        let (recording, watch) = run.record(|generator| Ok(generator.run(of_thread)?))?;
        run.others.extend(evicted(&recording, policy, config));
        run.refuse_wrong(&recording, "values that were checked had another content than was stored");
        run.unknown.extend(data_set.unknown);
        run.server_version = version;
        Ok((recording, watch))
    }
}

/// The workload of a specification on these servers, by name; `None` if they are not known yet.
///
/// Errors: parameters that contradict each other; a data set that cannot be read.
fn config(cache: &workload::Cache, spec: &Spec, servers: Option<Vec<Server>>) -> Result<CacheConfig> {
    let population = listed(cache)?;
    let replay = recorded(&cache.replay)?;
    // A trace without times tells no speed.
    let timed = replay.as_ref().filter(|replay| replay.requests().header().is_timed);
    let mut options = cache.clone();
    if let Some(population) = &population {
        options.keys = population.items();
    }
    if replay.is_some() {
        // The numbers of a trace's keys have 64 bits, which decimal digits would make longer than most keys are.
        options.key_digits = Digits::Base62;
    }
    if options.protocol == Protocol::Auto && servers.is_some() {
        options.protocol = Protocol::Ascii;
    }
    let mut config = CacheConfig {
        options,
        population,
        replay_speed: timed.map_or(1.0, |replay| speed(replay, &cache.replay, spec.load.rate())),
        replay,
        login: cache.auth_file.as_deref().map(login).transpose()?,
        seed: spec.seed,
        ..CacheConfig::default()
    };
    if let Some(servers) = servers {
        config.cluster = Cluster { servers, placement: cache.placement };
    }
    config.check()?;
    Ok(config)
}

/// The selected requests of a trace. It is compiled if that was not done before.
fn recorded(asked: &Replay) -> Result<Option<Arc<replay::Replay>>> {
    let Some(file) = &asked.trace else { return Ok(None) };
    let requests = replay::open(file, &mut |_| true)?;
    Ok(Some(Arc::new(replay::Replay::new(Arc::new(requests), &selected(asked))?)))
}

/// The speed of a trace's replay, as a multiple of the recorded one.
fn speed(replay: &replay::Replay, asked: &Replay, rate: Option<Rate>) -> f64 {
    rate.map_or(asked.speed.factor(), |rate| rate.rps() / replay.mean_rps())
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
        format!("{}: the first line is not USER:PASSWORD, or :PASSWORD for the default user", file.display())
    })
}

fn listed(cache: &workload::Cache) -> Result<Option<Arc<Population>>> {
    let Some(name) = &cache.data_set else { return Ok(None) };
    let set = if name == "twitter" { twitter_like() } else { read(name)? };
    Ok(Some(Arc::new(Population::new(&set, cache.scale)?)))
}

/// Reads a data set from a file.
///
/// Errors: the file cannot be read, is not a data set, or has no items.
pub fn read(file: &str) -> Result<dist::DataSet> {
    let open = File::open(file).with_context(|| format!("cannot open the data set {file}"))?;
    let set = dist::DataSet::read(BufReader::new(open)).with_context(|| format!("data set {file}"))?;
    if set.lines().is_empty() {
        bail!("data set {file}: it has no items");
    }
    Ok(set)
}

/// Fills the server if requested; returns its item counts and the version that it reports.
///
/// Errors: a server that cannot be reached or refuses to store; one with others' items that a load that stores would put at
/// risk, unless that is agreed to.
fn fill(
    policy: FillPolicy,
    task: &Task,
    config: &CacheConfig,
    items: &Items,
    tls: Option<&TlsClient>,
) -> Result<(DataSet, Option<String>)> {
    let dialect = config.dialect();
    let (first, version) = control(&task.addresses[0], &dialect, tls)?;
    // The connection that read the version is reused: servers that count connections should see as few as possible.
    let first = Mutex::new(Some(first));
    let how = Preparation {
        connect: &|server| match first.lock().expect("no thread panics with it").take_if(|_| server == 0) {
            Some(first) => Ok(first),
            None => Ok(control(&task.addresses[server], &dialect, tls)?.0),
        },
        threads: 2,
        policy,
        agreed: config.options.yes,
        seed: task.spec.seed,
        progress: &|_| {},
    };
    let mut data_set = prepare(config, items, &how)?;
    if version.is_none() {
        data_set.unknown.insert(0, format!("the version of {}: it does not tell", config.cluster.servers[0]));
    }
    Ok((data_set, version))
}

/// The task with the server's threads as its servers, so that each key goes to the thread that owns it.
///
/// Errors: there are several servers, or the server has no ports for its threads.
fn partitions(config: &CacheConfig, task: &Task, tls: Option<&TlsClient>) -> Result<Task> {
    if config.options.udp {
        bail!(
            "--placement partitions: has the client choose the thread, which datagrams leave to the server's --steering key; leave out one of --udp and --placement"
        );
    }
    let [server @ Address::Tcp(socket)] = &task.addresses[..] else {
        bail!(
            "--placement partitions: takes one server, by its HOST:PORT; {} were given",
            task.addresses.len()
        );
    };
    let (mut control, _) = control(server, &config.dialect(), tls)?;
    // A server may listen on all addresses, but be reached at one of them.
    let places = control.partitions()?.into_iter().map(|place| SocketAddr::new(socket.ip(), place.port()));
    let addresses: Vec<Address> = places.map(Address::Tcp).collect();
    let names = addresses.iter().map(Server::from).collect();
    Ok(Task { addresses, names, ..task.clone() })
}

/// The task with the nodes of a Redis Cluster as its servers, which the first given server lists.
///
/// Errors: it is not a node of a whole cluster, or a node has no address.
fn nodes(config: &CacheConfig, task: &Task, tls: Option<&TlsClient>) -> Result<Task> {
    let (mut control, _) = control(&task.addresses[0], &config.dialect(), tls)?;
    let names = control.nodes()?;
    let address = |node: &Server| {
        let found = (node.host.as_str(), node.port).to_socket_addrs().ok().and_then(|mut all| all.next());
        found.map(Address::Tcp).with_context(|| {
            format!("the node {node} of the Redis Cluster has no address here; set its cluster-announce-ip")
        })
    };
    let addresses = names.iter().map(address).collect::<Result<Vec<_>>>()?;
    Ok(Task { addresses, names, ..task.clone() })
}

/// Divides the connections to one server among its threads: at least one to each from each of the `generators`'
/// threads, which may increase the total.
fn divide(plan: &mut Plan, generators: usize) {
    let threads = plan.endpoints.len();
    for (thread, endpoint) in plan.endpoints.iter_mut().enumerate() {
        let share = endpoint.connections / threads + usize::from(thread < endpoint.connections % threads);
        endpoint.connections = share.max(generators);
    }
}

/// The UDP ports that match the TCP ports of the servers.
fn datagram_ports(servers: &[Address]) -> Result<Vec<Address>> {
    let udp = |server: &Address| match server {
        Address::Tcp(socket) => Ok(Address::Udp(*socket)),
        _ => bail!("--udp: {server} has no UDP port; name the servers by HOST:PORT, or leave --udp out"),
    };
    servers.iter().map(udp).collect()
}

/// Items on all servers together, if they report it, and items of the data set.
fn items_held(data_set: &DataSet) -> impl Iterator<Item = (String, f64)> + use<> {
    let sum = |counts: &[Option<u64>]| counts.iter().copied().sum::<Option<u64>>();
    let figures = [
        ("items_before", sum(&data_set.items_before)),
        ("items_after_fill", sum(&data_set.items_after)),
        ("items_expected", Some(data_set.items_expected)),
    ];
    figures.into_iter().filter_map(|(name, count)| Some((name.to_owned(), count? as f64)))
}

fn wrong_at_start(data_set: &DataSet) -> Invalid {
    let detail = format!(
        "{} of {} values looked at before the window had another content than was stored",
        data_set.wrong, data_set.looked_at
    );
    Invalid { reason: Reason::VerifyFailed, detail }
}

fn incomplete(data_set: &DataSet) -> Invalid {
    let detail = format!(
        "after storing all items the server has {:.2} % of the {} looked at; give it more memory or use fewer items",
        100.0 * data_set.hit_ratio,
        data_set.looked_at
    );
    Invalid { reason: Reason::FillFailed, detail }
}

/// Whether items that had been stored were lost during the window.
fn evicted(recording: &Recording, policy: FillPolicy, config: &CacheConfig) -> Option<Invalid> {
    let (_, hits, gets) = recording.counters.iter().find(|(name, _, _)| name == "hit_ratio")?;
    let ratio = *hits as f64 / (*gets).max(1) as f64;
    let lost = *gets > 0 && ratio < FILLED && !config.causes_misses() && policy != FillPolicy::Never;
    lost.then(|| Invalid {
        reason: Reason::FillFailed,
        detail: format!(
            "the hit ratio in the window was {:.2} %; items are being evicted or expire",
            100.0 * ratio
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;

    #[test]
    fn items_of_a_trace_expire_at_the_speed_of_its_requests() {
        let folder = tempfile::tempdir().unwrap();
        let check = |text: &str, options: Replay, load: spec::Load, expect: f64| {
            let file = folder.path().join(text.len().to_string());
            fs::write(&file, text).unwrap();
            let replay = Replay { trace: Some(file), ..options };
            let options = workload::Cache { replay, ..Default::default() };
            let spec = spec::Spec { load, ..Default::default() };
            let speed = offered(&options, &spec, None).unwrap().config.replay_speed;
            assert!((speed / expect - 1.0).abs() < 1e-9, "{speed} {text}");
        };
        // Two requests a second on average.
        let timed = "ts=1.000000 gid=1 type=item_get key=b status=found size=9\n\
                     ts=1.500000 gid=2 type=item_store key=a status=stored cmd=set ttl=60 clsid=1 cfd=26 size=3\n";
        let rate = |text: &str| spec::Load::Rate(text.parse().unwrap());
        check(timed, Replay::default(), spec::Load::Trace, 1.0);
        check(timed, Replay { speed: "4x".parse().unwrap(), ..Replay::default() }, spec::Load::Trace, 4.0);
        check(timed, Replay::default(), rate("6"), 3.0);
        check("key,op,size,ttl\na,GET,9,0\na,SET,9,60\n", Replay::default(), rate("6"), 1.0);
    }

    #[test]
    fn each_thread_of_the_generator_reaches_each_of_the_server() {
        let check = |connections: u32, servers: u16, threads: usize| {
            let mut spec = spec::Spec { load: spec::Load::Rate("1k".parse().unwrap()), ..Default::default() };
            spec.generator.connections = connections;
            let at = |i| Address::Tcp(([127, 0, 0, 1], 7000 + i).into());
            let mut plan =
                config::plan(&spec, (0..servers).map(at).collect(), &super::super::null::Offered).unwrap();
            divide(&mut plan, threads);
            assert!(plan.endpoints.iter().all(|e| e.connections >= threads), "{:?}", plan.endpoints);
        };
        check(4, 4, 2);
        check(64, 128, 8);
        check(64, 4, 2);
    }
}
