//! How the load is generated.

use core::net::IpAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{CpuList, Nanos};

use crate::defaults::default_options;
use crate::text::{count, exact, exact_or_none, list, words};
use crate::{ArrivalSpec, source};

/// How the load is generated.
#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[command(next_help_heading = "Load")]
#[serde(default, rename_all = "kebab-case")]
#[schemars(rename = "GeneratorSpec")]
pub struct Generator {
    /// Connections to each server, shared out evenly among the threads.
    #[arg(short, long, default_value_t = 64, value_name = "N", value_parser = |text: &str| units::count::<u32>(text, 1..=1_000_000))]
    #[serde(deserialize_with = "count::deserialize")]
    #[schemars(extend("x-source" = "ours, because at depth 1 and answers within 1 ms 64 carry 64 krps, and more as answers are faster; ANCS'19 §IV-B has 24 to 384, ISPASS'16 §VI-C 600"))]
    pub connections: u32,
    /// Requests that may be in flight on one connection (pipelining).
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = |text: &str| units::count::<u32>(text, 1..=65_536))]
    #[serde(deserialize_with = "count::deserialize")]
    #[schemars(extend("x-source" = "mutilate's default: a client with one request on each connection (docs/decisions/0003-depth-one-and-random-binding.md)"))]
    pub depth: u32,
    /// Generator threads [default: one for each processor of --cpus, else 1].
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    #[serde(deserialize_with = "count::or_none")]
    #[schemars(extend("x-source" = "ours, because a second thread on one processor would only make the first one late"))]
    pub threads: Option<u32>,
    /// Processors to pin the threads to, such as 1 or 0,2-3 [default: the last that --server-cpus leaves; with
    /// load --json on a server that runs already, not pinned].
    #[arg(long, value_name = "LIST")]
    #[serde(with = "exact_or_none")]
    #[schemars(with = "Option<String>")]
    #[schemars(extend("x-source" = "ours, because the server has the first processors, so that the two share none where there are several"))]
    pub cpus: Option<CpuList>,
    /// When requests arrive: poisson, constant, pareto:K, etc, mmpp:BURSTx,BURST,CALM, each optionally followed by a
    /// profile over time, as in poisson+ramp:0.1x..1x/60s, or trace:FILE; see taillight explain cache.
    #[arg(long, default_value = "poisson", value_name = "ARRIVALS")]
    #[schemars(extend("x-source" = "IISWC'17 §III-C: exponential times between arrivals, a Poisson process"))]
    pub arrivals: ArrivalSpec,
    /// Virtual clients; each has its own connections if there are enough, otherwise clients share them [default: each
    /// connection is one client].
    #[arg(long, value_name = "N", value_parser = |text: &str| units::count::<u32>(text, 1..=10_000_000))]
    #[serde(deserialize_with = "count::or_none")]
    #[schemars(extend("x-source" = "ours, because each connection stands for one client unless more are to share them; ISPASS'16 §IV-C.2 has virtual clients"))]
    pub clients: Option<u32>,
    /// In a closed loop, the pause of a client between an answer and its next request.
    #[arg(long, default_value = "0s", value_name = "TIME")]
    #[serde(with = "exact")]
    #[schemars(with = "String")]
    #[schemars(extend("x-source" = "mutilate's closed loop, which asks again at once"))]
    pub think: Nanos,
    /// The event loop: auto, epoll or uring.
    #[arg(long, default_value_t = Io::Auto, value_name = "IO")]
    #[schemars(extend("x-source" = "ours, because the loop that takes less of the generator's time leaves more of it for load"))]
    pub io: Io,
    /// Report the share of requests answered within this time; may be given more than once.
    #[arg(long, default_value = "1ms", value_name = "TIME")]
    #[serde(with = "list")]
    #[schemars(with = "Vec<String>")]
    #[schemars(extend("x-source" = "ISPASS'16 §VI-C: the share of the requests within 1 ms"))]
    pub target_latency: Vec<Nanos>,
    /// Which connection takes an arrival: random (fixed at the intended time) or idle (any that is free).
    #[arg(long, default_value_t = Binding::Random, value_name = "BINDING")]
    #[schemars(extend("x-source" = "ours, because independent users do not look for a free connection (docs/decisions/0003-depth-one-and-random-binding.md)"))]
    pub binding: Binding,
    /// How a thread waits for the next arrival: spin (on time to a few µs, takes the whole core), sleep, or yield (sleeps,
    /// and the server's threads on its processor go first) [default: spin; yield if the server has threads on the
    /// thread's processor; sleep under a CPU quota].
    #[arg(long, value_name = "PACE")]
    #[schemars(extend("x-source" = "ours, because a thread that sleeps sends some 10 to 60 µs late"))]
    pub pace: Option<Pace>,
    /// Treatment of arrivals that were due while another program or the hypervisor had the thread's processor for more
    /// than 100 µs: withhold (counted and not sent) or send (late, all at once). Sessions are always sent [default:
    /// withhold with --pace spin; send with sleep and yield, because the server itself may have the processor].
    #[arg(long, value_name = "WHAT")]
    #[schemars(extend("x-source" = "ours, because no user would send what an absent generator had to: all that was due, at once"))]
    pub when_absent: Option<WhenAbsent>,
    /// Longest wait for answers after the window; a request still unanswered then counts with its age.
    #[arg(long, default_value = "1s", value_name = "TIME")]
    #[serde(with = "exact")]
    #[schemars(with = "String")]
    #[schemars(extend("x-source" = "ours, because a thousand times the usual QoS target is no answer in time, and the next trial waits for it"))]
    pub drain: Nanos,
    /// A request unanswered for this long has failed.
    #[arg(long, default_value = "2s", value_name = "TIME")]
    #[serde(with = "exact")]
    #[schemars(with = "String")]
    #[schemars(extend("x-source" = "ours, because it is longer than the drain, so that what is unanswered at the end of a trial counts at its age and not as failed"))]
    pub timeout: Nanos,
    /// How the connections are encrypted.
    #[command(flatten)]
    #[serde(flatten)]
    pub tls: Tls,
    /// Which machines generate.
    #[command(flatten)]
    #[serde(flatten)]
    pub agents: Agents,
}

impl Agents {
    /// Permitted leases: a busy machine would break shorter ones; longer ones keep load running without a coordinator.
    pub const LEASES: RangeInclusive<Nanos> = Nanos::from_millis(200)..=Nanos::from_secs(60);

    /// Checks the lease.
    ///
    /// Errors: the lease is outside the limits, which the message names.
    pub fn check_lease(&self) -> Result<(), String> {
        checked(self.agents_lease).map(drop)
    }

    /// Whether the agent at `HOST:PORT` is on this machine: it listens on loopback.
    pub fn is_here(agent: &str) -> bool {
        let host = agent.rsplit_once(':').map_or(agent, |(host, _)| host).trim_matches(['[', ']']);
        host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    }

    /// The first agent on another machine.
    pub fn elsewhere(&self) -> Option<&String> {
        self.agents.iter().find(|agent| !Agents::is_here(agent))
    }
}

/// The lease of agents, as it is written on a command line.
fn lease(text: &str) -> Result<Nanos, String> {
    checked(text.parse().map_err(|error: units::ParseError| error.to_string())?)
}

fn checked(lease: Nanos) -> Result<Nanos, String> {
    if Agents::LEASES.contains(&lease) {
        return Ok(lease);
    }
    let (least, most) = (Agents::LEASES.start(), Agents::LEASES.end());
    Err(format!(
        "--agents-lease {lease}: it must be between {least} and {most}; use --agents-lease 5s, or leave it out"
    ))
}

impl Generator {
    /// Threads that generate.
    pub fn threads(&self) -> u32 {
        self.threads.unwrap_or_else(|| self.cpus.as_ref().map_or(1, |cpus| cpus.len() as u32))
    }

    /// How they wait.
    pub fn pace(&self) -> Pace {
        self.pace.unwrap_or(Pace::Spin)
    }

    /// How arrivals are treated that were due in an absence.
    pub fn when_absent(&self) -> WhenAbsent {
        self.when_absent.unwrap_or(match self.pace() {
            Pace::Spin => WhenAbsent::Withhold,
            Pace::Sleep | Pace::Yield => WhenAbsent::Send,
        })
    }

    /// Whether the arrivals come from a trace, which has a rate of its own.
    pub fn replays(&self) -> bool {
        matches!(self.arrivals, ArrivalSpec::Trace { .. })
    }
}

/// How the connections are encrypted.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[command(next_help_heading = "TLS")]
#[serde(default, rename_all = "kebab-case")]
pub struct Tls {
    /// Encrypt: trust the authorities in this PEM file.
    #[arg(long, value_name = "FILE")]
    #[schemars(extend("x-source" = source::PLAIN))]
    pub tls_ca: Option<PathBuf>,
    /// Encrypt, and take any certificate: for test beds. The identity of the server is unknown then.
    #[arg(long, conflicts_with = "tls_ca")]
    #[schemars(extend("x-source" = source::PLAIN))]
    pub tls_insecure: bool,
    /// The name that the servers' certificates must bear [default: the host of the target].
    #[arg(long, value_name = "NAME")]
    #[schemars(extend("x-source" = source::PLAIN))]
    pub tls_name: Option<String>,
    /// A client certificate, for servers that ask for one: PEM, the client's own first.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    #[schemars(extend("x-source" = source::PLAIN))]
    pub tls_cert: Option<PathBuf>,
    /// The key of --tls-cert: PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    #[schemars(extend("x-source" = source::PLAIN))]
    pub tls_key: Option<PathBuf>,
}

/// Which machines generate the load, and how they are spoken to.
#[derive(Args, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[command(next_help_heading = "Agents")]
#[serde(default, rename_all = "kebab-case")]
pub struct Agents {
    /// Generate the load on these machines together instead of here; 'taillight agent' runs on each.
    #[arg(long, value_name = "HOST:PORT,…", value_delimiter = ',')]
    #[serde(with = "list")]
    #[schemars(with = "Vec<String>")]
    #[schemars(extend("x-source" = "ours, because the load comes from this machine unless others are named; IISWC'17 §III-C has one or several clients"))]
    pub agents: Vec<String>,
    /// Processors to pin each agent's threads to [default: not pinned].
    #[arg(long, value_name = "LIST", requires = "agents")]
    #[serde(with = "exact_or_none")]
    #[schemars(with = "Option<String>")]
    #[schemars(extend("x-source" = "ours, because the processors of another machine are not known here"))]
    pub agents_cpus: Option<CpuList>,
    /// A file that holds the token that the agents want [default: the environment variable TAILLIGHT_TOKEN].
    #[arg(long, value_name = "FILE")]
    #[schemars(extend("x-source" = source::CREDENTIALS))]
    pub agents_token_file: Option<PathBuf>,
    /// Agree to send the token in clear to agents that show no certificate.
    #[arg(long)]
    #[schemars(extend("x-source" = source::CREDENTIALS))]
    pub agents_insecure_token: bool,
    /// This side's certificate for the agents, PEM.
    #[arg(long, value_name = "FILE")]
    #[schemars(extend("x-source" = source::CREDENTIALS))]
    pub agents_tls_cert: Option<PathBuf>,
    /// The key of that certificate, PEM.
    #[arg(long, value_name = "FILE")]
    #[schemars(extend("x-source" = source::CREDENTIALS))]
    pub agents_tls_key: Option<PathBuf>,
    /// The authority whose agents are believed, PEM.
    #[arg(long, value_name = "FILE")]
    #[schemars(extend("x-source" = source::CREDENTIALS))]
    pub agents_tls_ca: Option<PathBuf>,
    /// How long an agent may be silent before it counts as lost, 200ms to 60s.
    #[arg(long, default_value = "5s", value_name = "TIME", value_parser = lease)]
    #[serde(with = "exact")]
    #[schemars(with = "String")]
    #[schemars(extend("x-source" = "ours, because it is several times what a loaded machine keeps a thread waiting"))]
    pub agents_lease: Nanos,
}

default_options! { Generator; Agents; }

words! {
    /// Which event loop is wanted.
    #[derive(Default)]
    pub enum Io: "io", "write auto, epoll or uring" {
        /// The cheapest one available, else `epoll`.
        #[default]
        Auto = "auto",
        /// `epoll`, which every Linux has.
        Epoll = "epoll",
        /// `io_uring`, from Linux 6.0 on unless the system forbids it.
        Uring = "uring",
    }

    /// Which connection takes an arrival.
    pub enum Binding: "binding", "write random or idle" {
        /// Any, with equal chance, fixed at the intended time, busy or not: users who hold a connection each.
        Random = "random",
        /// Any idle one; if all are busy, the arrival waits for the first that becomes idle: a connection pool, one for
        /// each endpoint, so that no arrival waits for another endpoint's connection.
        Idle = "idle",
    }

    /// How a thread waits for the next arrival.
    pub enum Pace: "pace", "write spin, sleep or yield" {
        /// By looking at clock and sockets without pause: sends are on time to a few µs; takes a whole core.
        Spin = "spin",
        /// By sleeping: sends are late by a wake-up, some 10 to 60 µs; for machines that are shared.
        Sleep = "sleep",
        /// By sleeping, with the lowest priority: on processors that it shares with the server, which never waits for it then.
        Yield = "yield",
    }

    /// How arrivals are treated that were due in an absence of the generator's thread.
    pub enum WhenAbsent: "way to treat them", "write withhold or send" {
        /// They are counted and not sent.
        Withhold = "withhold",
        /// They are sent when it runs again, all at once.
        Send = "send",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_its_names() {
        for io in [Io::Auto, Io::Epoll, Io::Uring] {
            assert_eq!(io.to_string().parse(), Ok(io));
        }
        let error = "iocp".parse::<Io>().unwrap_err();
        assert!(error.to_string().contains("auto, epoll or uring"), "{error}");
    }

    #[test]
    fn a_lease_that_agents_do_not_give_is_refused() {
        use clap::Parser;
        #[derive(Parser)]
        struct Line {
            #[command(flatten)]
            agents: Agents,
        }
        let parse = |given: &str| Line::try_parse_from(["x", "--agents-lease", given]);
        assert_eq!(parse("2s").unwrap().agents.agents_lease, Nanos::from_secs(2));
        for given in ["0s", "40ms", "5m"] {
            let error = parse(given).map(|_| ()).unwrap_err();
            assert_eq!(error.exit_code(), 2);
            assert!(error.to_string().contains("between 200 ms and 60 s"), "{error}");
        }
    }
}
