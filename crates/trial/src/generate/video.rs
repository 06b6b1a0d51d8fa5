//! What a load of viewers takes besides the load.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Result, bail};
use openloop::{Generator, Load, Plan, Recording};
use proto_http::Url;
use reactor::Address;
use spec::Workload;
use spec::workload::Bandwidth;
use workloads::video::playlist::{Listing, Loader};
use workloads::video::{Known, Probe, ProbeError, Video, VideoConfig, fetch};

use crate::config::most_sessions;
use crate::generate::ask::ask;
use crate::task::Task;
use crate::tls::TlsClient;

/// What the playlist lists that is to be played; `None` where none is.
///
/// Errors: it is on another server than the target; the server does not have it; it cannot be played; `stop` is set.
pub(super) fn listing(
    task: &Task,
    tls: Option<&TlsClient>,
    stop: &Arc<AtomicBool>,
) -> Result<Option<Arc<Listing>>> {
    let Workload::Video(video) = &task.spec.workload else { return Ok(None) };
    let Some(url) = &video.playlist else { return Ok(None) };
    let of = |url: &Url| (url.https, url.authority());
    if let Some(other) = task.urls.first().filter(|target| of(target) != of(url)) {
        bail!(
            "--playlist {url}: it is on another server than the target, {}; name one of both",
            other.authority()
        );
    }
    let mut loader = Loader::new(url);
    while let Some(wanted) = loader.wants().cloned() {
        let bytes = ask(&task.addresses[0], tls, stop, |stream| fetch(&wanted, stream))?;
        loader.take(&bytes).map_err(|problem| playlist(&wanted, problem))?;
    }
    Ok(Some(Arc::new(loader.listing().map_err(|problem| playlist(url, problem))?)))
}

fn playlist(url: &Url, problem: workloads::video::playlist::PlaylistError) -> ProbeError {
    ProbeError::Playlist { url: url.to_string(), problem }
}

/// Makes the plan one of sessions, and has the configuration know its rate. Agents have limits of their own.
///
/// Errors: more sessions than this process can have.
pub(super) fn plan(task: &Task, config: &mut VideoConfig, plan: &mut Plan) -> Result<()> {
    let Workload::Video(video) = &task.spec.workload else { return Ok(()) };
    let is_here = task.spec.generator.agents.agents.is_empty();
    plan.sessions = is_here.then(|| most_sessions(video, plan.endpoints.len())).transpose()?;
    for endpoint in &mut plan.endpoints {
        endpoint.connections = 0;
    }
    let far = plan.endpoints.iter().map(|endpoint| &endpoint.address).find(|address| !is_loopback(address));
    if let (Bandwidth::Pace, Some(address)) = (video.bandwidth, far) {
        bail!(
            "--bandwidth pace: its clients come from addresses of loopback (127.77.0.0/16), which do not lead to {address}; use \
             a server on 127.0.0.1, or --bandwidth read"
        );
    }
    // A viewer's chunks come one after the other.
    (plan.depth, plan.clients) = (1, None);
    // So that of each chunk it is known whether it is a miss.
    plan.drain = plan.drain.max(config.chunk_timeout);
    if let Load::Open { rate, .. } = &plan.load {
        config.viewers_per_s = rate.rps();
    }
    Ok(())
}

/// Whether clients of 127.0.0.0/8 reach it.
fn is_loopback(address: &Address) -> bool {
    matches!(address, Address::Tcp(SocketAddr::V4(at)) if at.ip().is_loopback())
}

/// Asks each server for the beginning of a video; what the first says that it is.
///
/// Errors: one cannot be reached, does not answer within 5 s in all, speaks no HTTP or knows no ranges, or has not the videos
/// that are asked for; `stop` is set.
pub(super) fn probe(
    task: &Task,
    config: &VideoConfig,
    tls: Option<&TlsClient>,
    stop: &Arc<AtomicBool>,
) -> Result<Option<String>> {
    let mut first = None;
    for (server, address) in task.addresses.iter().enumerate() {
        let probe = ask(address, tls, stop, |stream| Probe::ask(config, server, stream))?;
        first.get_or_insert(probe);
    }
    Ok(first.and_then(|probe| probe.server))
}

/// What all threads know, once it is sure that there is room for the viewers of this process, unless fewer were asked for.
///
/// Errors: there are more at a time than it may have.
pub(super) fn known(task: &Task, config: &VideoConfig, most: Option<usize>) -> Result<Arc<Known>> {
    let known = Known::new(config)?;
    let Workload::Video(video) = &task.spec.workload else { return Ok(Arc::new(known)) };
    let here = known.mean_live() / f64::from(task.share.1);
    if let Some(most) = most.filter(|most| video.max_sessions.is_none() && here > *most as f64) {
        bail!(
            "{} viewers a second are {here:.0} at a time here, and this process has descriptors and ports for {most}; use a \
             lower --rate, --agents, or --max-sessions {most} to have the others refused",
            config.viewers_per_s
        );
    }
    Ok(Arc::new(known))
}

/// Generates the load here.
pub(super) fn generate(task: &Task, known: &Arc<Known>, generator: &Generator) -> Result<Recording> {
    let workload = |thread| {
        let seat = task.seat(thread);
        Video::new(known, (seat.thread, seat.threads)).expect("the configuration was checked")
    };
    Ok(generator.run(workload)?)
}
