//! Viewers of videos.

mod config;

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use openloop::{Generator, Load, Plan, Recording};
use proto_http::Url;
use reactor::Address;
use results::{Invalid, Reason};
use spec::workload::Bandwidth;
use spec::{Spec, Workload, workload};
use workloads::video::playlist::{Listing, Loader};
use workloads::video::{Known, Probe, ProbeError, Video, VideoConfig, fetch};

use crate::noise::Watch;
use crate::task::Task;
use crate::workload::sessions::most_here;
use crate::workload::{Reach, Run, plan_sessions, urls};

/// Sessions of viewers.
pub(super) struct Offered {
    /// `None` for a playlist that was not fetched.
    config: Option<VideoConfig>,
}

/// The workload of these options.
///
/// Errors: parameters that contradict each other; a playlist that cannot be fetched or played.
pub(super) fn offered(options: &workload::Video, spec: &Spec, reach: Option<Reach<'_>>) -> Result<Offered> {
    let listing = reach.map(|reach| listing(options, reach)).transpose()?.flatten();
    Ok(Offered { config: config::config(options, spec, urls(reach), listing)? })
}

impl super::Offered for Offered {
    fn plan(&mut self, task: &Task, plan: &mut Plan) -> Result<()> {
        let config = self.config.as_mut().context("the playlist was not fetched")?;
        let options = &config.options;
        let most = most_here(task, options.max_sessions, plan.endpoints.len())?;
        let far =
            plan.endpoints.iter().map(|endpoint| &endpoint.address).find(|address| !is_loopback(address));
        if let (Bandwidth::Pace, Some(address)) = (options.bandwidth, far) {
            bail!(
                "--bandwidth pace: its clients come from addresses of loopback (127.77.0.0/16), which do not lead to {address}; use \
                 a server on 127.0.0.1, or --bandwidth read"
            );
        }
        // A viewer requests chunks one after the other.
        plan_sessions(plan, most);
        // Long enough to know the outcome of each chunk, and the length of a stall that it ended.
        plan.drain = plan.drain.max(options.longest_chunk());
        if let Load::Open { rate, .. } = &plan.load {
            config.viewers_per_s = rate.rps();
        }
        Ok(())
    }

    fn resolve(&self, workload: &mut Workload) {
        let (Some(config), Workload::Video(options)) = (&self.config, workload) else { return };
        options.chunk_timeout = Some(config.options.timeout());
        if let Ok(catalog) = config::catalog(options) {
            (options.videos, options.videos_seed) = (*catalog.description(), catalog.seed());
        }
    }

    fn run(self: Box<Self>, run: &mut Run<'_>) -> Result<(Recording, Watch)> {
        let (task, config) = (run.reach.task, self.config.as_ref().context("the playlist was not fetched")?);
        let known = Arc::new(Known::new(config)?);
        run.server_version = probe(run.reach, config)?;
        let refused = too_many(run, config, &known);
        let of_thread = |thread| {
            let seat = task.seat(thread);
            Video::new(&known, (seat.thread, seat.threads)).expect("the configuration was checked")
        };
        let here = |generator: &Generator| Ok(generator.run(of_thread)?);
        let nothing = |generator: &Generator| generator.nothing(of_thread(0));
        let (recording, watch) = run.record_unless(refused, here, nothing)?;
        run.refuse_wrong(&recording, "answers that were checked were not what they should be");
        Ok((recording, watch))
    }
}

/// Why this process cannot generate the load. Such a trial is invalid without being run, so that a search continues
/// with a lower rate.
fn too_many(run: &Run<'_>, config: &VideoConfig, known: &Known) -> Option<Invalid> {
    let here = known.mean_live() / f64::from(run.reach.task.share.1);
    let asked = config.options.max_sessions.is_some();
    let detail = refusal(here, run.generator.plan.sessions?, asked)?;
    let rate = config.viewers_per_s;
    let detail = format!("{rate} viewers a second are {here:.0} at a time here, {detail}");
    Some(Invalid { reason: Reason::RateMissed, detail })
}

/// The listing of the playlist to play; `None` if the workload has no playlist.
///
/// Errors: it is on another server than the target; the server does not have it; it cannot be played; a stop is requested.
fn listing(video: &workload::Video, reach: Reach<'_>) -> Result<Option<Arc<Listing>>> {
    let Some(url) = &video.playlist else { return Ok(None) };
    let task = reach.task;
    if let Some(other) = task.urls.first().filter(|target| !target.is_same_server(url)) {
        bail!(
            "--playlist {url}: it is on another server than the target, {}; name one of both",
            other.authority()
        );
    }
    let mut loader = Loader::new(url);
    while let Some(wanted) = loader.wants().cloned() {
        let bytes = reach.ask(&task.addresses[0], |stream| fetch(&wanted, &video.header, stream))?;
        loader.take(&bytes).map_err(|problem| playlist(&wanted, problem))?;
    }
    Ok(Some(Arc::new(loader.listing().map_err(|problem| playlist(url, problem))?)))
}

fn playlist(url: &Url, problem: workloads::video::playlist::PlaylistError) -> ProbeError {
    ProbeError::Playlist { url: url.to_string(), problem }
}

/// Whether clients of 127.0.0.0/8 reach it.
fn is_loopback(address: &Address) -> bool {
    matches!(address, Address::Tcp(SocketAddr::V4(at)) if at.ip().is_loopback())
}

/// Requests the beginning of a video from each server; returns the name that the first server reports.
///
/// Errors: a server cannot be reached, does not answer within 5 s in all, does not speak HTTP, does not support ranges,
/// or lacks the requested videos; a stop is requested.
fn probe(reach: Reach<'_>, config: &VideoConfig) -> Result<Option<String>> {
    let mut first = None;
    for (server, address) in reach.task.addresses.iter().enumerate() {
        let probe = reach.ask(address, |stream| Probe::ask(config, server, stream))?;
        first.get_or_insert(probe);
    }
    Ok(first.and_then(|probe| probe.server))
}

/// Maximum number of sessions drawn as under way when the load begins. Source: ours; at some 300 B each they take 80
/// MB, and sessions for nine times the ports to one address cannot be served from here.
const MOST_DRAWN: usize = 1 << 18;

/// Message for this number of concurrent sessions if it exceeds `most`; `asked`: the user chose to refuse those
/// beyond.
fn refusal(here: f64, most: usize, asked: bool) -> Option<String> {
    let drawn = MOST_DRAWN.max(2 * most);
    if !asked && here > most as f64 {
        return Some(format!(
            "and this process has descriptors and ports for {most}: the generator is the limit; use a lower --rate, --agents, or \
             --max-sessions {most} to have the others refused"
        ));
    }
    (here > drawn as f64).then(|| {
        format!("of which {most} are asked for with --max-sessions, and no more than {drawn} are drawn; use a lower --rate")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_viewers_than_there_is_room_for_are_told_and_no_error() {
        let check = |here: f64, most: usize, asked: bool, says: Option<&str>| {
            let found = refusal(here, most, asked);
            assert_eq!(found.is_some(), says.is_some(), "{here} of {most}: {found:?}");
            assert!(found.is_none_or(|found| found.contains(says.unwrap())), "{here} of {most}");
        };
        check(28_000.0, 28_232, false, None);
        check(33_000.0, 28_232, false, Some("descriptors and ports for 28232: the generator is the limit"));
        // The excess is refused, but must be small enough to be drawn.
        check(33_000.0, 100, true, None);
        check(130e6, 100, true, Some("no more than 262144 are drawn"));
        check(300_000.0, 200_000, true, None);
    }
}
