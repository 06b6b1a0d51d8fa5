//! Turns a specification into the workload to send and the plan of the engine.

mod cache;
mod movies;
mod social;
mod video;
mod web;

use std::fs::File;
use std::io::BufReader;
use std::sync::Arc;

use anyhow::{Context, Error, Result, bail};
use dist::{ArrivalSpec, Arrivals, Process, Trace};
use openloop::{Endpoint, Load, Plan};
use proto_http::Url;
use reactor::Address;
use spec::{Spec, Workload};
use units::{Nanos, Rate};
use workloads::cache::{CacheConfig, Server};
use workloads::movies::MoviesConfig;
use workloads::social::SocialConfig;
use workloads::video::VideoConfig;
use workloads::video::playlist::Listing;
use workloads::web::{Pages, WebConfig};

pub use cache::read as read_data_set;
pub(crate) use video::{catalog as catalog_of, most_of, most_sessions};
pub use web::urls;

/// The workload to send, with every parameter filled in.
#[derive(Clone, Debug)]
pub enum Sent {
    /// Gets and sets.
    Cache(Box<CacheConfig>),
    /// HTTP requests.
    Web(Box<WebConfig>),
    /// Sessions of viewers; `None` for a playlist that was not fetched yet.
    Video(Option<Box<VideoConfig>>),
    /// Sessions of users of a social network.
    Social(Box<SocialConfig>),
    /// Visitors of a movie site.
    Movies(Box<MoviesConfig>),
    /// Lines to a null server.
    Null,
}

/// Upper bound of the time for logins before a load; zero for workloads without logins.
pub(crate) fn logins(spec: &Spec) -> Nanos {
    social::logins(spec) + movies::logins(spec)
}

/// The workload of these servers, as caches or as web servers; `servers` may still be unknown. For a playlist, includes
/// its listing if it was fetched.
///
/// Errors: parameters that contradict each other; a file or folder that cannot be read.
pub fn sent(
    spec: &Spec,
    servers: Option<Vec<Server>>,
    urls: Vec<Url>,
    listing: Option<Arc<Listing>>,
) -> Result<Sent> {
    Ok(match &spec.workload {
        Workload::Cache(cache) => Sent::Cache(Box::new(cache::config(cache, spec, servers)?)),
        Workload::Web(web) => Sent::Web(Box::new(web::config(web, spec.seed, urls)?)),
        Workload::Video(video) => Sent::Video(video::config(video, spec, urls, listing)?.map(Box::new)),
        Workload::Social(social) => Sent::Social(Box::new(social::config(social, spec, urls)?)),
        Workload::Movies(movies) => Sent::Movies(Box::new(movies::config(movies, spec, urls)?)),
        Workload::Null(_) => Sent::Null,
    })
}

/// The shortest window: the windowed p99 needs at least this much.
const SHORTEST_WINDOW: Nanos = Nanos::from_millis(100);
/// The longest window: a day.
const LONGEST_WINDOW: Nanos = Nanos::from_secs(86_400);

/// Checks that the parts of a load are consistent.
///
/// Errors: contradictory parts, or a window that is too short or too long.
pub fn check(spec: &Spec) -> Result<()> {
    let (load, threads) = (&spec.generator, spec.generator.threads());
    if spec.workload.has_sessions() {
        check_sessions(spec)?;
    } else if load.connections < threads {
        bail!(
            "{} connections for {threads} threads: each thread needs at least one; use --connections {threads} or more, or fewer --threads",
            load.connections
        );
    }
    let window = spec.time.window;
    if !(SHORTEST_WINDOW..=LONGEST_WINDOW).contains(&window) {
        bail!("window {window}: it must be between {SHORTEST_WINDOW} and 24 h; use --window 5s");
    }
    if let Some(clients) = load.clients.filter(|clients| *clients < threads) {
        bail!(
            "{clients} clients for {threads} threads: each thread needs at least one; use --clients {threads} or more, or fewer --threads"
        );
    }
    if !load.agents.agents.is_empty() {
        load.agents.check_lease().map_err(Error::msg)?;
    }
    if load.timeout == Nanos::ZERO {
        bail!("time-out 0: every request would fail; use --timeout 2s");
    }
    Ok(())
}

/// Errors: a kind of load that sessions do not support.
fn check_sessions(spec: &Spec) -> Result<()> {
    if let Workload::Social(_) = &spec.workload {
        social::check(spec)?;
    } else if spec.load == spec::Load::Closed {
        bail!(
            "--closed: sessions arrive at their own times; use --rate 2 for two a second, and see --pacing for what is closed \
             within a session"
        );
    }
    if spec.generator.clients.is_some() {
        bail!("--clients: each session is a client of its own; leave it out");
    }
    Ok(())
}

/// The specification with values that are only known at run time: the keys of a data set, the files of a folder.
pub fn resolve(mut spec: Spec, sent: &Sent) -> Spec {
    match (sent, &mut spec.workload) {
        (Sent::Cache(config), Workload::Cache(cache)) => cache.keys = config.keys,
        (Sent::Video(Some(config)), Workload::Video(video)) => {
            video.chunk_timeout = Some(config.chunk_timeout);
            if let Ok(catalog) = video::catalog(video) {
                (video.videos, video.videos_seed) = (*catalog.description(), catalog.seed());
            }
        }
        (Sent::Social(config), Workload::Social(social)) => {
            // All operations, unless the mix restricts them.
            let operations = config.mix.operations();
            if operations.fract() == 0.0 {
                social.operations.get_or_insert(operations as u32);
            }
        }
        (Sent::Web(config), Workload::Web(web)) => {
            if let Pages::Files(files) = &config.pages {
                (web.files, web.files_seed) = (Some(files.description().clone()), files.seed());
            }
        }
        _ => {}
    }
    let generator = &mut spec.generator;
    generator.threads.get_or_insert(generator.threads());
    generator.pace.get_or_insert(generator.pace());
    generator.when_absent.get_or_insert(generator.when_absent());
    spec
}

/// The plan of all threads together for these endpoints.
///
/// Errors: a trace that cannot be read, or without an arrival in the window; a missing load.
pub(crate) fn plan(spec: &Spec, endpoints: Vec<Address>) -> Result<Plan> {
    let (load, time) = (&spec.generator, &spec.time);
    let connections = load.connections as usize;
    let offered = match &spec.load {
        spec::Load::Closed => Load::Closed { think: load.think },
        spec::Load::Rate(rate) => open(spec, Some(*rate))?,
        _ => open(spec, None)?,
    };
    Ok(Plan {
        endpoints: endpoints.into_iter().map(|address| Endpoint { address, connections }).collect(),
        load: offered,
        clients: load.clients.map(|clients| clients as usize),
        seed: spec.seed,
        share: 0,
        shares: 1,
        sessions: None,
        depth: load.depth as usize,
        per_connection: None,
        binding: load.binding,
        pace: load.pace(),
        when_absent: load.when_absent(),
        warmup: time.warmup,
        window: time.window,
        drain: load.drain,
        timeout: load.timeout,
    })
}

/// The open loop of the arrivals at a rate.
fn open(spec: &Spec, rate: Option<Rate>) -> Result<Load> {
    let (asked, time) = (&spec.generator.arrivals, &spec.time);
    let trace = match asked {
        ArrivalSpec::Trace { file, .. } => {
            let open = File::open(file).with_context(|| format!("cannot open the trace {file}"))?;
            let trace = Trace::read(BufReader::new(open)).with_context(|| format!("trace {file}"))?;
            Some(Arc::new(trace))
        }
        ArrivalSpec::Drawn { .. } => None,
    };
    if rate.is_none() && trace.is_none() {
        bail!("no offered load: give it with --rate, such as --rate 50k, or replay --arrivals trace:FILE");
    }
    let is_trace = trace.is_some();
    let arrivals = Arrivals::of(asked, rate.unwrap_or(Rate::new(1.0)?), trace)?;
    let (from, to) = (time.warmup.0 as f64, (time.warmup + time.window).0 as f64);
    // The window includes its begin and excludes its end, which matters for a trace of whole seconds.
    let mean = if is_trace && to > from {
        arrivals.expected(from.next_down(), to.next_down()) / (to - from) * 1e9
    } else {
        arrivals.mean_rps(from, to)
    };
    let rate = Rate::new(mean).ok().filter(|_| mean > 0.0);
    let Some(rate) = rate else {
        bail!(
            "--arrivals {}: nothing arrives in the window, from {} to {} after the start; change --warmup or --window",
            asked,
            time.warmup,
            time.warmup + time.window
        );
    };
    let steady = match asked {
        ArrivalSpec::Drawn { process, profile: None } => !matches!(process, Process::Mmpp { .. }),
        _ => false,
    };
    Ok(Load::Open { arrivals, rate, steady })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_load_of_a_trace_is_what_comes_from_the_windows_begin_to_before_its_end() {
        let file = tempfile::NamedTempFile::new().unwrap();
        // Whole seconds, as in a web server's log.
        std::fs::write(file.path(), "0\n0\n1\n1\n1\n2\n").unwrap();
        let check = |warmup: u64, window: u64, expect: f64| {
            let mut spec = Spec::default();
            spec.generator.arrivals =
                ArrivalSpec::Trace { file: file.path().display().to_string(), speed: 1.0 };
            (spec.time.warmup, spec.time.window) = (Nanos::from_secs(warmup), Nanos::from_secs(window));
            let Load::Open { rate, .. } = open(&spec, None).unwrap() else { panic!("it is open") };
            assert_eq!(rate.rps(), expect, "{warmup} {window}");
        };
        check(0, 1, 2.0);
        check(1, 1, 3.0);
        check(0, 2, 2.5);
    }
}
