//! One trial, as a process of its own: fill, verify, warm up, measure, drain, judge, write.
//!
//! The lab starts it (`taillight load … --trial FILE`) so that a generator never shares a process with its
//! observers, and reads the file that it leaves.

mod stamps;
mod start;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Error, Result, bail};
use openloop::{Generator, Recording, judge};
use reactor::Address;
use results::{TracedRequests, Transport, Trial};

use crate::from_agents::Agents;
use crate::sampled::sampled;
use crate::task::Task;
use crate::workload::{self, Reach, Run};
use crate::{config, live, noise, record};

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
    let tls = tls.as_ref();
    let mut offered = workload::of(&task.spec, Some(Reach { task, tls, stop }))?;
    let replaced = offered.replaced(task, tls)?;
    let task = replaced.as_ref().unwrap_or(task);
    let reach = Reach { task, tls, stop };
    if replaced.is_some() {
        offered = workload::of(&task.spec, Some(reach))?;
    }
    let spec = &task.spec;
    let mut endpoints = task.addresses.clone();
    endpoints.extend(offered.datagram_ports(&task.addresses)?);
    let transport = transport(&endpoints, tls.is_some())?;
    let mut agents = Agents::open(task)?;
    let mut plan = config::plan(spec, endpoints, &*offered)?;
    (plan.share, plan.shares) = task.share;
    offered.plan(task, &mut plan)?;
    let load = plan.load.clone();
    let cpus = spec.generator.cpus.as_ref().filter(|_| reactor::may_pin());
    let cpus: Vec<usize> = cpus.map_or(Vec::new(), |cpus| cpus.as_slice().to_vec());
    let mut generator = Generator::new(plan, spec.generator.threads(), cpus, Arc::clone(stop));
    let io = reactor::choose(spec.generator.io, reactor::Backend::FOR_GENERATORS)?;
    generator.backend = io.backend;
    generator.tls = tls.map(|tls| (Arc::clone(&tls.config), tls.name.clone()));
    let stamped = task.stamps.then(|| stamps::Stamped::begin(&mut generator, task));
    if task.start_on_stdin {
        generator.start_signal = Some(Box::new(start::on_stdin));
    }
    let show = task.live.then(|| live::Show::start(generator.watch()));
    let started = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let resolved = config::resolved(spec.clone(), &*offered);
    let mut found = task.found(io.reason);
    offered.found(&mut found);
    let mut run = Run {
        reach,
        generator: &generator,
        agents: &mut agents,
        workload: &resolved.workload,
        load: load.clone(),
        others: Vec::new(),
        counters: BTreeMap::new(),
        server_version: None,
        unknown: Vec::new(),
    };
    let (mut recording, watch) = offered.run(&mut run)?;
    let Run { mut others, mut counters, server_version, unknown, .. } = run;
    (found.server_version, found.unknown) = (server_version, unknown);
    drop(show);
    // Agents' times start at their own window.
    let opened = agents.as_ref().map_or(Some(recording.window_start), |agents| agents.opened);
    let servers = match (task.server_elsewhere, opened) {
        (true, Some(opened)) => start::of_servers(opened, recording.window).map_err(Error::msg)?,
        _ => Vec::new(),
    };
    let here = watch.seen(opened.unwrap_or_default(), recording.window);
    let (noise, used) = noise::enter(&mut recording, &here, &servers);
    counters.extend(used);
    if let Some(agents) = &agents {
        // A lost agent is the most severe fault and causes the others, so it comes first.
        others.splice(0..0, agents.lost.clone());
        others.extend(agents.drift.clone());
    }
    let cpus = match agents {
        Some(_) => &spec.generator.agents.agents_cpus,
        None if !reactor::may_pin() => &None,
        None => &spec.generator.cpus,
    };
    let verdict = judge(&recording, &load, others);
    let verdict = match noise.worst_quota() {
        Some(quota) => verdict.caused_by(quota),
        None => verdict,
    };
    let about = Trial {
        started,
        transport: Some(transport),
        agents: agents.map_or(Vec::new(), |agents| agents.records),
        generator: results::Generator {
            cpus: cpus.as_ref().map_or(Vec::new(), |cpus| cpus.as_slice().to_vec()),
            io: io.backend.to_string(),
            ..results::Generator::default()
        },
        noise,
        window_opened_monotonic_ns: opened.map(|opened| opened.0),
        probes: stamped.and_then(|stamped| stamped.record(&generator, &recording)),
        counters,
        found,
        verdict,
        ..Trial::default()
    };
    let trial = record::record(&recording, &load, resolved, about);
    let sampled = sampled(spec, &recording);
    Ok(Done { trial, recording, sampled })
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
