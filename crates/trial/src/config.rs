//! Turns a specification into the plan of the engine.

use std::fs::File;
use std::io::BufReader;
use std::sync::Arc;

use anyhow::{Context, Error, Result, bail};
use dist::{ArrivalSpec, Arrivals, Process, Trace};
use openloop::{Endpoint, Load, Plan};
use proto_http::Url;
use reactor::Address;
use spec::Spec;
use units::{Nanos, Rate};

use crate::workload::{self, Offered};

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

/// Errors: a load that sessions do not support.
fn check_sessions(spec: &Spec) -> Result<()> {
    if let Some(why) = spec.workload.refuses(&spec.load, &spec.generator) {
        bail!(why);
    }
    if spec.generator.clients.is_some() {
        bail!("--clients: each session is a client of its own; leave it out");
    }
    Ok(())
}

/// The specification with all defaults filled in, and with values that only the files that it names tell.
///
/// Errors: parameters that contradict each other; a file or folder that cannot be read.
pub fn resolve(spec: Spec) -> Result<Spec> {
    let offered = workload::of(&spec, None)?;
    Ok(resolved(spec, &*offered))
}

/// The same for a workload whose parameters are known.
pub(crate) fn resolved(mut spec: Spec, offered: &dyn Offered) -> Spec {
    offered.resolve(&mut spec.workload);
    let generator = &mut spec.generator;
    generator.threads.get_or_insert(generator.threads());
    generator.pace.get_or_insert(generator.pace());
    generator.when_absent.get_or_insert(generator.when_absent());
    spec
}

/// The plan of all threads together for these endpoints.
///
/// Errors: a trace that cannot be read, or without an arrival in the window; a missing load.
pub(crate) fn plan(spec: &Spec, endpoints: Vec<Address>, workload: &dyn Offered) -> Result<Plan> {
    let (load, time) = (&spec.generator, &spec.time);
    let connections = load.connections as usize;
    let rate = spec.load.rate();
    let offered = match &spec.load {
        spec::Load::Closed => Load::Closed { think: load.think },
        _ => match workload.arrivals(rate)? {
            Some(arrivals) => recorded(arrivals, time, "--trace")?,
            None => open(spec, rate)?,
        },
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
    let named = format!("--arrivals {asked}");
    if is_trace {
        return recorded(arrivals, time, &named);
    }
    let (from, to) = (time.warmup.0 as f64, (time.warmup + time.window).0 as f64);
    let steady = match asked {
        ArrivalSpec::Drawn { process, profile: None } => !matches!(process, Process::Mmpp { .. }),
        _ => false,
    };
    let rate = window_rate(arrivals.mean_rps(from, to), time, &named)?;
    Ok(Load::Open { arrivals, rate, steady })
}

/// The open loop of recorded arrivals.
///
/// Errors: the window has no arrival.
fn recorded(arrivals: Arrivals, time: &spec::Time, named: &str) -> Result<Load> {
    let (from, to) = (time.warmup.0 as f64, (time.warmup + time.window).0 as f64);
    // The window includes its begin and excludes its end, which matters for a trace of whole seconds.
    let expected = if to > from { arrivals.expected(from.next_down(), to.next_down()) } else { 0.0 };
    let rate = window_rate(expected / (to - from) * 1e9, time, named)?;
    Ok(Load::Open { arrivals, rate, steady: false })
}

/// The rate of a window. Errors: it is 0.
fn window_rate(mean: f64, time: &spec::Time, named: &str) -> Result<Rate> {
    let Some(rate) = Rate::new(mean).ok().filter(|_| mean > 0.0) else {
        bail!(
            "{named}: nothing arrives in the window, from {} to {} after the start; change --warmup or --window",
            time.warmup,
            time.warmup + time.window
        );
    };
    Ok(rate)
}

/// Servers as URLs: anything else is read as HOST:PORT of a server without TLS.
///
/// Errors: an invalid URL, a Unix socket, or a mix of servers with and without TLS.
pub(crate) fn urls(servers: &[&str]) -> Result<Vec<Url>> {
    let url = |one: &str| -> Result<Url> {
        if one.starts_with("unix:") {
            bail!("{one}: web servers are asked over TCP; give http://HOST:PORT");
        }
        Ok(if one.contains("://") { one.parse()? } else { format!("http://{one}").parse()? })
    };
    let urls = servers.iter().copied().map(url).collect::<Result<Vec<_>>>()?;
    if urls.iter().any(|url| url.https != urls[0].https) {
        let all = servers.join(",");
        bail!("{all}: some of these servers want TLS and others do not; measure them apart");
    }
    Ok(urls)
}

#[cfg(test)]
mod tests {
    use spec::TargetName;

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

    #[test]
    fn a_target_is_a_url_or_an_address() {
        let check = |target: &str, expect: &[&str]| {
            let found: Vec<String> =
                urls(&TargetName::each(target)).unwrap().iter().map(ToString::to_string).collect();
            assert_eq!(found, expect, "{target}");
        };
        check("127.0.0.1:8080", &["http://127.0.0.1:8080"]);
        check("http://h/x", &["http://h:80/x"]);
        check("http://h/a,b,http://i", &["http://h:80/a,b", "http://i:80"]);
        check("https://h:8443,https://[::1]", &["https://h:8443", "https://[::1]:443"]);
        for wrong in ["unix:/x", "http://a,https://b", "ftp://h", "http://"] {
            assert!(urls(&TargetName::each(wrong)).is_err(), "{wrong}");
        }
    }
}
