//! The options of the load generator, and the record that they resolve to.

mod cache;
mod tls;
mod web;
mod workload;

use std::fs::File;
use std::io::BufReader;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::Args;
use dist::{ArrivalSpec, Process, Trace};
use openloop::{Binding, Endpoint, Load, Pace, Plan};
use reactor::{Address, Io};
use results::Transport;
use serde::Serialize;
use units::{CpuList, Nanos, Rate};
use workloads::cache::CacheConfig;
use workloads::web::WebConfig;

pub(crate) use cache::{CacheOptions, FillArg, read as read_data_set};
pub(crate) use tls::{TlsClient, TlsOptions, control, encrypted};
pub(crate) use web::{WebOptions, urls};
pub(crate) use workload::{Sent, SharedOptions, WorkloadName, WorkloadOptions, generator_options};

use crate::from_agents::AgentsOptions;

/// How the load is generated.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Load")]
pub(crate) struct LoadOptions {
    /// Connections to each server, shared out evenly among the threads.
    #[arg(long, default_value_t = 64, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub connections: u32,
    /// Requests that may be in flight on one connection (pipelining).
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub depth: u32,
    /// Generator threads [default: one for each processor of --cpus, else 1].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// Processors to pin the threads to, such as 1 or 0,2-3 [default: the last that --server-cpus leaves; with
    /// load --json on a server that runs already, not pinned].
    #[arg(long, value_name = "LIST")]
    pub cpus: Option<CpuList>,
    /// When requests arrive: poisson, constant, pareto:K, etc, mmpp:BURSTx,BURST,CALM, each maybe with a profile over
    /// time behind it as in poisson+ramp:0.1x..1x/60s, or trace:FILE; all are explained by taillight explain cache.
    #[arg(long, default_value = "poisson", value_name = "ARRIVALS")]
    pub arrivals: ArrivalSpec,
    /// Virtual clients, each with connections of its own where there are enough, else sharing them [default: each
    /// connection is one].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub clients: Option<u32>,
    /// CLOSED LOOP instead of a rate: each client asks again once it has its answer, so a slow server is asked less.
    /// Its figures leave out what nobody asked meanwhile; for comparison with tools that measure so.
    #[arg(long)]
    pub closed: bool,
    /// In a closed loop, the pause of a client between an answer and its next request.
    #[arg(long, default_value = "0s", value_name = "TIME", requires = "closed")]
    pub think: Nanos,
    /// The event loop: auto, epoll or uring.
    #[arg(long, default_value_t = Io::Auto, value_name = "IO")]
    pub io: Io,
    /// Report the share of requests answered within this time; may be given more than once.
    #[arg(long, default_value = "1ms", value_name = "TIME")]
    pub target_latency: Vec<Nanos>,
    /// Which connection takes an arrival: random (fixed at the intended time) or idle (any that is free).
    #[arg(long, default_value_t = Binding::Random, value_name = "BINDING")]
    pub binding: Binding,
    /// How a thread waits for the next arrival: spin (on time to a few µs, takes the whole core) or sleep.
    #[arg(long, default_value_t = Pace::Spin, value_name = "PACE")]
    pub pace: Pace,
    /// Load before the window, not recorded.
    #[arg(long, default_value = "500ms", value_name = "TIME")]
    pub warmup: Nanos,
    /// Time in which arrivals are recorded.
    #[arg(long, default_value = "5s", value_name = "TIME")]
    pub window: Nanos,
    /// Longest wait for answers after the window; what is unanswered then counts at its age.
    #[arg(long, default_value = "1s", value_name = "TIME")]
    pub drain: Nanos,
    /// A request unanswered for this long has failed.
    #[arg(long, default_value = "2s", value_name = "TIME")]
    pub timeout: Nanos,
    /// Seed of arrivals, keys, sizes and operations; the same seed gives the same requests.
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub seed: u64,
    #[command(flatten)]
    pub tls: TlsOptions,
    #[command(flatten)]
    pub agents: AgentsOptions,
}

/// What the load is after all defaults were filled in; recorded with every trial.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Resolved {
    pub workload: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub web: Option<WebConfig>,
    /// What the server says of itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_version: Option<String>,
    pub arrivals: String,
    pub binding: String,
    pub pace: String,
    /// How the requests reach the server.
    pub transport: Option<Transport>,
    /// `open` or `closed`.
    pub loop_kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub think_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clients: Option<u32>,
    pub io: String,
    /// Why that event loop.
    pub io_reason: String,
    pub connections: u32,
    pub depth: u32,
    pub threads: u32,
    pub cpus: Vec<usize>,
    pub warmup_s: f64,
    pub window_s: f64,
    pub drain_s: f64,
    pub timeout_s: f64,
    pub seed: u64,
}

/// The shortest window: one in which the windowed p99 can be formed at all.
const SHORTEST_WINDOW: Nanos = Nanos::from_millis(100);
/// The longest window: a day.
const LONGEST_WINDOW: Nanos = Nanos::from_secs(86_400);

impl LoadOptions {
    pub(crate) fn threads(&self) -> u32 {
        self.threads.unwrap_or_else(|| self.cpus.as_ref().map_or(1, |cpus| cpus.len() as u32))
    }

    /// Whether the load is not known without a rate.
    pub(crate) fn needs_rate(&self) -> bool {
        !self.closed && !matches!(self.arrivals, ArrivalSpec::Trace { .. })
    }

    /// Checks that the options go together.
    pub(crate) fn check(&self) -> Result<()> {
        let threads = self.threads();
        if self.connections < threads {
            bail!(
                "{} connections for {threads} threads: each thread needs at least one; use --connections {threads} or more, or fewer --threads",
                self.connections
            );
        }
        if !(SHORTEST_WINDOW..=LONGEST_WINDOW).contains(&self.window) {
            bail!("window {}: it must be between {SHORTEST_WINDOW} and 24 h; use --window 5s", self.window);
        }
        if let Some(clients) = self.clients.filter(|clients| *clients < threads) {
            bail!(
                "{clients} clients for {threads} threads: each thread needs at least one; use --clients {threads} or more, or fewer --threads"
            );
        }
        if self.timeout == Nanos::ZERO {
            bail!("time-out 0: every request would fail; use --timeout 2s");
        }
        Ok(())
    }

    pub(crate) fn resolve(&self, sent: Sent) -> Resolved {
        let (workload, cache, web) = match sent {
            Sent::Cache(config) => ("cache", Some(*config), None),
            Sent::Web(config) => ("web", None, Some(*config)),
            Sent::Null => ("null", None, None),
        };
        Resolved {
            workload,
            cache,
            web,
            server_version: None,
            arrivals: self.arrivals.to_string(),
            binding: self.binding.to_string(),
            pace: self.pace.to_string(),
            transport: None,
            loop_kind: if self.closed { "closed" } else { "open" },
            think_s: self.closed.then(|| self.think.as_secs_f64()),
            clients: self.clients,
            io: self.io.to_string(),
            io_reason: String::new(),
            connections: self.connections,
            depth: self.depth,
            threads: self.threads(),
            cpus: self.cpus.clone().map_or(Vec::new(), |cpus| cpus.as_slice().to_vec()),
            warmup_s: self.warmup.as_secs_f64(),
            window_s: self.window.as_secs_f64(),
            drain_s: self.drain.as_secs_f64(),
            timeout_s: self.timeout.as_secs_f64(),
            seed: self.seed,
        }
    }

    /// The plan of all threads together for these endpoints; `rate` is `None` for a closed loop.
    ///
    /// Errors: a trace that cannot be read, or that has no arrival in the window.
    pub(crate) fn plan(&self, endpoints: Vec<Address>, rate: Option<Rate>) -> Result<Plan> {
        let connections = self.connections as usize;
        let load = if self.closed { Load::Closed { think: self.think } } else { self.open(rate)? };
        Ok(Plan {
            endpoints: endpoints.into_iter().map(|address| Endpoint { address, connections }).collect(),
            load,
            clients: self.clients.map(|clients| clients as usize),
            seed: self.seed,
            share: 0,
            shares: 1,
            depth: self.depth as usize,
            per_connection: None,
            binding: self.binding,
            pace: self.pace,
            warmup: self.warmup,
            window: self.window,
            drain: self.drain,
            timeout: self.timeout,
        })
    }

    /// The open loop of the arrivals at a rate.
    fn open(&self, rate: Option<Rate>) -> Result<Load> {
        let trace = match &self.arrivals {
            ArrivalSpec::Trace { file, .. } => {
                let open = File::open(file).with_context(|| format!("cannot open the trace {file}"))?;
                let trace = Trace::read(BufReader::new(open)).with_context(|| format!("trace {file}"))?;
                Some(Arc::new(trace))
            }
            ArrivalSpec::Drawn { .. } => None,
        };
        if rate.is_none() && trace.is_none() {
            bail!(
                "no offered load: give it with --rate, such as --rate 50k, or replay --arrivals trace:FILE"
            );
        }
        let arrivals = self.arrivals.arrivals(rate.unwrap_or(Rate::new(1.0)?), trace)?;
        let (from, to) = (self.warmup.0 as f64, (self.warmup + self.window).0 as f64);
        let mean = arrivals.mean_rps(from, to);
        let rate = Rate::new(mean).ok().filter(|_| mean > 0.0);
        let Some(rate) = rate else {
            bail!(
                "--arrivals {}: nothing arrives in the window, from {} to {} after the start; change --warmup or --window",
                self.arrivals,
                self.warmup,
                self.warmup + self.window
            );
        };
        let steady = match &self.arrivals {
            ArrivalSpec::Drawn { process, profile: None } => !matches!(process, Process::Mmpp { .. }),
            _ => false,
        };
        Ok(Load::Open { arrivals, rate, steady })
    }
}
