//! One trial, as a process of its own: fill, verify, warm up, measure, drain, judge, write.
//!
//! The lab starts it (`taillight load … --trial FILE`) so that a generator never shares a process with its
//! observers, and reads the file that it leaves.

mod ask;
mod movies;
mod several;
mod social;
mod stamps;
mod start;
mod video;
mod web;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use anyhow::{Context, Error, Result, bail};
use openloop::{Generator, Plan, Recording, judge};
use reactor::Address;
use results::{Invalid, Reason, TracedRequests, Transport, Trial};
use spec::Workload;
use spec::workload::{Placement, SocialOperation};
use workloads::cache::{
    Cache, CacheConfig, DataSet, FILLED, FillPolicy, Items, Preparation, Server, prepare,
};
use workloads::movies::Movies;
use workloads::null::Null;

pub(crate) use self::ask::LOGIN_MOST;
pub(crate) use self::several::AT_ONCE;
use crate::config::{self, Sent};
use crate::from_agents::{Agents, NotOffered};
use crate::live;
use crate::noise::{self, Watch};
use crate::record::{self, Circumstances};
use crate::sampled::sampled;
use crate::task::Task;
use crate::tls::{TlsClient, control};

/// Result of a trial.
pub struct Done {
    /// The record; the lab adds the experiment that it belongs to.
    pub trial: Trial,
    /// The full recording.
    pub recording: Recording,
    /// The traced requests, if the load traces any.
    pub sampled: Option<TracedRequests>,
}

/// Runs one trial to its end. Changes nothing on the machine and leaves only the data set in the server.
pub fn run(task: &Task, stop: &Arc<AtomicBool>) -> Result<Done> {
    config::check(&task.spec)?;
    let tls = task.tls()?;
    let apart = partitions(task, tls.as_ref())?;
    let task = apart.as_ref().unwrap_or(task);
    let spec = &task.spec;
    let listing = video::listing(task, tls.as_ref(), stop)?;
    let mut sent = config::sent(spec, Some(task.names.clone()), task.urls.clone(), listing)?;
    let mut endpoints = task.addresses.clone();
    if let Sent::Cache(config) = &sent
        && config.udp
    {
        endpoints.extend(datagram_ports(&task.addresses)?);
    }
    let transport = transport(&endpoints, tls.is_some())?;
    let mut agents = Agents::open(task)?;
    let mut plan = config::plan(spec, endpoints)?;
    if apart.is_some() {
        divide(&mut plan, spec.generator.threads() as usize);
    }
    (plan.share, plan.shares) = task.share;
    if let Sent::Web(config) = &sent {
        plan.per_connection = config.requests_per_connection;
    }
    if let Sent::Video(Some(config)) = &mut sent {
        video::plan(task, config, &mut plan)?;
    }
    if let Sent::Social(config) = &mut sent {
        social::plan(task, config, &mut plan)?;
    }
    if let Sent::Movies(_) = &sent {
        movies::plan(task, &mut plan)?;
    }
    let most_sessions = plan.sessions;
    let load = plan.load.clone();
    let cpus = spec.generator.cpus.clone().map_or(Vec::new(), |cpus| cpus.as_slice().to_vec());
    let mut generator = Generator::new(plan, spec.generator.threads(), cpus, Arc::clone(stop));
    let io = reactor::choose(spec.generator.io, reactor::Backend::FOR_GENERATORS)?;
    generator.backend = io.backend;
    generator.tls = tls.as_ref().map(|tls| (Arc::clone(&tls.config), tls.name.clone()));
    let stamped = task.stamps.then(|| stamps::Stamped::begin(&mut generator, task));
    if task.start_on_stdin {
        generator.start_signal = Some(Box::new(start::on_stdin));
    }
    let show = task.live.then(|| live::Show::start(generator.watch()));
    let mut others = Vec::new();
    let mut counters = BTreeMap::new();
    let started = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let resolved = config::resolve(spec.clone(), &sent);
    let mut found = task.found(&sent, io.reason);
    let watched = match sent {
        Sent::Cache(config) => {
            let items = Arc::new(Items::new(&config));
            let (data_set, version) = fill(task, &config, &items, tls.as_ref())?;
            if !data_set.is_complete() && task.fill() != FillPolicy::Never {
                others.push(incomplete(&data_set));
            }
            counters.insert("fill_hit_ratio".into(), data_set.hit_ratio);
            counters.extend(items_held(&data_set));
            if config.verify && data_set.wrong > 0 {
                others.push(wrong_at_start(&data_set));
            }
            if task.share.1 > 1 {
                // The others' values are equivalent to ours, and may be newer than any of ours.
                items.versions().begin(data_set.run, false);
            }
            let watch = watch(task, &generator.cpus);
            let recording = match &mut agents {
                Some(agents) => agents.gather(task, None, &load, stop),
                None => generator
                    .run(|thread| {
                        Cache::new(&config, Arc::clone(&items), task.seat(thread))
                            .expect("the configuration was checked")
                    })
                    .map_err(Into::into),
            };
            let watched = watched(watch, recording, task, stop)?;
            others.extend(evicted(&watched.0, task, &config));
            others.extend(wrong_values(
                &watched.0,
                "values that were checked had another content than was stored",
            ));
            found.server_version = Some(version);
            watched
        }
        Sent::Web(config) => {
            let version = web::probe(task, &config, tls.as_ref(), stop)?;
            let watch = watch(task, &generator.cpus);
            let recording = match &mut agents {
                Some(agents) => agents.gather(task, web::files(&config), &load, stop),
                None => web::generate(task, &config, &generator),
            };
            let watched = watched(watch, recording, task, stop)?;
            others.extend(wrong_values(&watched.0, "answers that were checked were not what they should be"));
            found.server_version = version;
            watched
        }
        Sent::Video(config) => {
            let config = config.context("the playlist was not asked for")?;
            let known = video::known(&config)?;
            let version = video::probe(task, &config, tls.as_ref(), stop)?;
            let watch = watch(task, &generator.cpus);
            let recording = match (&mut agents, video::too_many(task, &config, &known, most_sessions)) {
                (_, Some(invalid)) => Err(NotOffered(invalid).into()),
                (Some(agents), None) => agents.gather(task, None, &load, stop),
                (None, None) => video::generate(task, &known, &generator),
            };
            let nothing = || generator.nothing(video::workload(task, &known, 0));
            let recording = or_nothing(recording, task, &mut others, nothing);
            let watched = watched(watch, recording, task, stop)?;
            others.extend(wrong_values(&watched.0, "answers that were checked were not what they should be"));
            found.server_version = version;
            watched
        }
        Sent::Social(config) => {
            let known = social::known(task, &config)?;
            let too_many = social::too_many(task, &config)?;
            if too_many.is_none() {
                counters.extend(social::primed(task, &known, tls.as_ref(), stop)?);
            }
            // The processor time of earlier logins belongs to no window.
            let ready = match (&agents, &too_many) {
                (None, None) => social::logged_in(task, &known, tls.as_ref(), stop)?,
                _ => Vec::new(),
            };
            let watch = watch(task, &generator.cpus);
            let recording = match (&mut agents, too_many) {
                (_, Some(invalid)) => Err(NotOffered(invalid).into()),
                (Some(agents), None) => agents.gather(task, None, &load, stop),
                (None, None) => social::generate(task, &known, ready, &generator),
            };
            let nothing = || generator.nothing(social::workload(task, &known, 0, Vec::new()));
            let recording = or_nothing(recording, task, &mut others, nothing);
            let mut watched = watched(watch, recording, task, stop)?;
            watched.0.limit(|name| SocialOperation::named(name).map(|known| config.limits.of(known)));
            watched
        }
        Sent::Movies(config) => {
            // The processor time of earlier logins belongs to no window.
            let known = match &agents {
                Some(_) => None,
                None => Some(movies::known(task, &config, tls.as_ref(), stop)?),
            };
            let watch = watch(task, &generator.cpus);
            let recording = match (&mut agents, &known) {
                (Some(agents), _) => agents.gather(task, None, &load, stop),
                (None, Some(known)) => generator.run(|_| Movies::new(known)).map_err(Into::into),
                (None, None) => bail!("visitors are neither here nor at agents"),
            };
            let watched = watched(watch, recording, task, stop)?;
            others.extend(wrong_values(
                &watched.0,
                "answers were of another film, user or search than was asked for",
            ));
            watched
        }
        Sent::Null => {
            let watch = watch(task, &generator.cpus);
            let recording = match &mut agents {
                Some(agents) => agents.gather(task, None, &load, stop),
                None => generator.run(|_| Null).map_err(Into::into),
            };
            watched(watch, recording, task, stop)?
        }
    };
    drop(show);
    let (mut recording, watch) = watched;
    // Agents' times start at their own window.
    let opened = agents.as_ref().map_or(Some(recording.window_start), Agents::window_opened);
    let servers = match (task.server_elsewhere, opened) {
        (true, Some(opened)) => start::of_servers(opened, recording.window).map_err(Error::msg)?,
        _ => Vec::new(),
    };
    let here = watch.seen(opened.unwrap_or_default(), recording.window);
    let (noise, used) = noise::enter(&mut recording, &here, &servers);
    counters.extend(used);
    if let Some(agents) = &agents {
        // A lost agent is the most severe fault and causes the others, so it comes first.
        others.splice(0..0, agents.lost().cloned());
        others.extend(agents.drift().cloned());
    }
    let cpus = match agents {
        Some(_) => &spec.generator.agents.agents_cpus,
        None => &spec.generator.cpus,
    };
    let verdict = judge(&recording, &load, others);
    let about = Circumstances {
        load,
        within: spec.generator.target_latency.clone(),
        started,
        spec: resolved,
        cpus: cpus.as_ref().map_or(Vec::new(), |cpus| cpus.as_slice().to_vec()),
        found,
        transport,
        io: io.backend.to_string(),
        noise,
        verdict,
        counters,
    };
    let mut trial = record::record(&recording, about);
    trial.window_opened_monotonic_ns = opened.map(|opened| opened.0);
    trial.probes = stamped.and_then(|stamped| stamped.record(&generator, &recording));
    trial.agents = agents.map_or(Vec::new(), Agents::records);
    let sampled = sampled(spec, &recording);
    Ok(Done { trial, recording, sampled })
}

/// Watches this machine, which generates the load unless agents do.
fn watch(task: &Task, cpus: &[usize]) -> Watch {
    match task.spec.generator.agents.agents.is_empty() {
        true => Watch::on(&task.server_pids, cpus),
        false => Watch::of_server(&task.server_pids),
    }
}

/// The recording. For a load that cannot be offered, an empty one with the reason, so that a search continues with a
/// lower rate.
///
/// Errors: any other error; also a load that cannot be offered if an agent started this process and waits for it to be
/// ready.
fn or_nothing(
    recording: Result<Recording>,
    task: &Task,
    others: &mut Vec<Invalid>,
    nothing: impl FnOnce() -> Recording,
) -> Result<Recording> {
    match recording.map_err(Error::downcast::<NotOffered>) {
        Err(Ok(NotOffered(invalid))) if !task.start_on_stdin => {
            others.push(invalid);
            Ok(nothing())
        }
        Err(Ok(refused)) => Err(refused.into()),
        Err(Err(error)) => Err(error),
        Ok(recording) => Ok(recording),
    }
}

/// The recording; an interrupted run yields the recording of a shorter window. With several generators, the others stop
/// when one is lost, and keep their data.
///
/// Errors: nothing was recorded, or the run was interrupted before any request of its window was due.
fn watched(
    watch: Watch,
    recording: Result<Recording>,
    task: &Task,
    stop: &AtomicBool,
) -> Result<(Recording, Watch)> {
    let is_empty = !recording.as_ref().is_ok_and(|recording| recording.tally.intended > 0);
    if stop.load(Ordering::Relaxed) && !task.start_on_stdin && is_empty {
        bail!(Interrupted);
    }
    Ok((recording?, watch))
}

/// The run was interrupted.
#[derive(Debug)]
pub struct Interrupted;

impl std::fmt::Display for Interrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "interrupted before its window began; nothing was recorded")
    }
}

impl std::error::Error for Interrupted {}

/// Fills the server if requested; returns its item counts and the version that it reports.
fn fill(
    task: &Task,
    config: &CacheConfig,
    items: &Items,
    tls: Option<&TlsClient>,
) -> Result<(DataSet, String)> {
    let policy = task.fill();
    let stores = policy != FillPolicy::Never || config.writes();
    let foreign = task.addresses.iter().find(|server| !server.is_local());
    if let Some(server) = foreign.filter(|_| stores && !task.agrees()) {
        bail!(
            "{} is not on this machine, and this run may store {} items in it (keys begin with '{}', nothing is flushed); add --yes to agree, or --fill never to only read",
            server,
            items.total(),
            config.key_prefix
        );
    }
    let (first, version) = control(&task.addresses[0], tls)?;
    // The connection that read the version is reused: servers that count connections should see as few as possible.
    let first = Mutex::new(Some(first));
    let how = Preparation {
        connect: &|server| match first.lock().expect("no thread panics with it").take_if(|_| server == 0) {
            Some(first) => Ok(first),
            None => Ok(control(&task.addresses[server], tls)?.0),
        },
        threads: 2,
        policy,
        seed: task.spec.seed,
        progress: &|_| {},
    };
    Ok((prepare(config, items, &how)?, version))
}

/// The task with the server's threads as its servers, so that each key goes to the thread that owns it.
///
/// Errors: there are several servers, or the server has no ports for its threads.
fn partitions(task: &Task, tls: Option<&TlsClient>) -> Result<Option<Task>> {
    let cache = match &task.spec.workload {
        Workload::Cache(cache) if cache.placement == Placement::Partitions => cache,
        _ => return Ok(None),
    };
    if cache.udp {
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
    let (mut control, _) = control(server, tls)?;
    // A server may listen on all addresses, but be reached at one of them.
    let places = control.partitions()?.into_iter().map(|place| SocketAddr::new(socket.ip(), place.port()));
    let addresses: Vec<Address> = places.map(Address::Tcp).collect();
    let names = addresses.iter().map(Server::from).collect();
    Ok(Some(Task { addresses, names, ..task.clone() }))
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

/// Transport of the requests. Errors: TLS with datagrams, or servers of several kinds.
fn transport(endpoints: &[Address], tls: bool) -> Result<Transport> {
    let any = |is: fn(&Address) -> bool| endpoints.iter().any(is);
    let (udp, unix) = (any(Address::is_datagram), any(|address| matches!(address, Address::Unix(_))));
    match (tls, udp, unix) {
        (true, true, _) => bail!("--udp: datagrams cannot be encrypted; leave out --udp or TLS"),
        (true, false, _) => Ok(Transport::Tls),
        (false, true, _) => Ok(Transport::UdpTcp),
        (false, false, true) => Ok(Transport::Unix),
        (false, false, false) => Ok(Transport::Tcp),
    }
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

/// Whether a response had wrong contents, described in these words.
fn wrong_values(recording: &Recording, words: &str) -> Option<Invalid> {
    let (_, wrong, of) = recording.counters.iter().find(|(name, _, _)| name == "verify_failures")?;
    (*wrong > 0).then(|| Invalid { reason: Reason::VerifyFailed, detail: format!("{wrong} of {of} {words}") })
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
fn evicted(recording: &Recording, task: &Task, config: &CacheConfig) -> Option<Invalid> {
    let (_, hits, gets) = recording.counters.iter().find(|(name, _, _)| name == "hit_ratio")?;
    let ratio = *hits as f64 / (*gets).max(1) as f64;
    let lost = *gets > 0 && ratio < FILLED && !config.causes_misses() && task.fill() != FillPolicy::Never;
    lost.then(|| Invalid {
        reason: Reason::FillFailed,
        detail: format!(
            "the hit ratio in the window was {:.2} %; items are being evicted or expire",
            100.0 * ratio
        ),
    })
}

/// Writes the recording to `file`, without loss, with the window's start as time 0.
pub fn write_recording(recording: &Recording, file: &Path) -> Result<()> {
    let mut recording = recording.clone();
    recording.rebase();
    let write = || -> io::Result<()> {
        let mut to = BufWriter::new(File::create(file)?);
        serde_json::to_writer(&mut to, &recording)?;
        to.flush()
    };
    write().with_context(|| format!("cannot write {}", file.display()))
}

/// Writes the trial to `file`, its histograms next to it as `.hlog`, and the traced requests
/// ([`TracedRequests::beside`]).
pub fn write(done: &Done, file: &Path) -> Result<PathBuf> {
    let context = |path: &Path| {
        format!("cannot write {}; choose a folder with room that you may write to", path.display())
    };
    let hlog = file.with_extension("hlog");
    let save = |path: &Path, write: &dyn Fn(&mut dyn Write) -> io::Result<()>| -> Result<()> {
        let mut to = BufWriter::new(File::create(path).with_context(|| context(path))?);
        write(&mut to).and_then(|()| to.flush()).with_context(|| context(path))
    };
    let log = record::log(&done.recording, &done.trial);
    save(&hlog, &|mut to| log.write(&mut to).map_err(io::Error::other))?;
    if let Some(sampled) = &done.sampled {
        save(&TracedRequests::beside(file), &|to| {
            serde_json::to_writer(to, sampled).map_err(io::Error::other)
        })?;
    }
    save(file, &|to| serde_json::to_writer_pretty(to, &done.trial).map_err(io::Error::other))?;
    Ok(hlog)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_of_the_generator_reaches_each_of_the_server() {
        let check = |connections: u32, servers: u16, threads: usize| {
            let mut spec = spec::Spec { load: spec::Load::Rate("1k".parse().unwrap()), ..Default::default() };
            spec.generator.connections = connections;
            let at = |i| Address::Tcp(([127, 0, 0, 1], 7000 + i).into());
            let mut plan = config::plan(&spec, (0..servers).map(at).collect()).unwrap();
            divide(&mut plan, threads);
            assert!(plan.endpoints.iter().all(|e| e.connections >= threads), "{:?}", plan.endpoints);
        };
        check(4, 4, 2);
        check(64, 128, 8);
        check(64, 4, 2);
    }
}
