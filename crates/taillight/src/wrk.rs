//! `taillight wrk`: the call and the output that the users of wrk and wrk2 know, on this engine.

mod output;
mod units;

use std::path::PathBuf;
use std::process::ExitCode;

use ::units::{CpuList, Nanos, ParseError, Rate};
use anyhow::Result;
use clap::{ArgAction, Args};
use proto_http::{Header, Url};
use spec::workload::Web;
use spec::{ArrivalSpec, Generator, Load, Pace, Spec, Target, TargetName, Time, Tls, Workload};

use crate::job::misused;
use crate::load::{self, One};
use crate::targets::ServerArgs;
use crate::terminal::say;
use output::{Asked, text};

/// Offer a load to a web server, called as wrk2 is and with its output.
///
/// Requests leave when they are due, whatever the server does (an open loop), and latency counts from then. Arrivals
/// are evenly spaced, as wrk2's are; --arrivals poisson is what many independent users make. See taillight load web for
/// everything else. Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted.
#[derive(Args, Debug)]
#[command(disable_version_flag = true)]
pub(crate) struct WrkArgs {
    /// What to ask for.
    #[arg(value_name = "URL")]
    url: Url,
    /// Threads.
    #[arg(short, long, default_value_t = 2, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: u32,
    /// Connections, in all.
    #[arg(short, long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    connections: u32,
    /// How long: 30s, 2m; a number alone is in seconds.
    #[arg(short, long, default_value = "10s", value_name = "TIME", value_parser = span)]
    duration: Nanos,
    /// Requests per second, in all: 2000, 2k.
    #[arg(short = 'R', long, value_name = "RATE", conflicts_with = "closed")]
    rate: Option<Rate>,
    /// Print the latency distribution.
    #[arg(short = 'L', long)]
    latency: bool,
    /// Print the service times, too: what wrk without -R calls latency, measured from the sending.
    #[arg(short = 'U', long = "u_latency")]
    uncorrected: bool,
    /// A header field, such as 'Accept-Encoding: gzip'. May be given more than once.
    #[arg(short = 'H', long, value_name = "NAME: VALUE")]
    header: Vec<Header>,
    /// A request unanswered for this long has failed.
    #[arg(long, default_value = "2s", value_name = "TIME", value_parser = span)]
    timeout: Nanos,
    /// Not supported: Lua scripts.
    #[arg(short, long, value_name = "FILE", hide = true)]
    script: Option<String>,
    /// Not supported: it makes wrk2 measure less than every request.
    #[arg(short = 'B', long = "batch_latency", action = ArgAction::SetTrue, hide = true)]
    batch_latency: bool,
    /// When requests arrive: constant, poisson, and more; see taillight explain cache.
    #[arg(long, default_value = "constant", value_name = "ARRIVALS")]
    arrivals: ArrivalSpec,
    /// CLOSED LOOP as wrk without -R: each connection asks again once it has its answer.
    #[arg(long)]
    closed: bool,
    /// How a thread waits: sleep, or spin, which is on time to a few µs and takes a whole core for each thread.
    #[arg(long, default_value = "sleep", value_name = "PACE")]
    pace: Pace,
    /// Processors to pin the threads to, such as 1 or 0,2-3.
    #[arg(long, value_name = "LIST")]
    cpus: Option<CpuList>,
    /// Trust the authorities in this PEM file [default: those of this machine].
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    /// Take any certificate, as wrk does.
    #[arg(long, conflicts_with = "tls_ca")]
    tls_insecure: bool,
}

/// Reads a time as wrk does: a number without a unit is in seconds.
fn span(text: &str) -> Result<Nanos, ParseError> {
    let bare = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if bare { format!("{text}s").parse() } else { text.parse() }
}

pub(crate) fn run(args: &WrkArgs) -> Result<ExitCode> {
    args.check()?;
    let asked = Asked {
        url: args.url.to_string(),
        threads: args.threads,
        connections: args.connections,
        seconds: args.duration.as_secs_f64(),
        latency: args.latency,
        uncorrected: args.uncorrected,
    };
    say(&asked.head())?;
    let spec = args.spec();
    load::check(&spec)?;
    let server = ServerArgs::of(&spec);
    let process = load::Process::default();
    let done = load::trial(One { spec, server, one_url: true, process })?;
    say(&text(&asked, &done.recording))?;
    say(&format!("Verdict:      {}\n", done.trial.verdict))?;
    Ok(ExitCode::SUCCESS)
}

impl WrkArgs {
    fn check(&self) -> Result<()> {
        if let Some(script) = &self.script {
            return Err(misused(format!(
                "-s {script}: a script in the generator's loop would delay the requests that it measures; give paths by 'taillight load web --urls FILE', headers by -H"
            )));
        }
        if self.batch_latency {
            return Err(misused("-B: every request is measured here; leave it out"));
        }
        if self.rate.is_none() && !self.closed {
            return Err(misused(
                "no rate: give it with -R, such as -R 2000. Without one, a load follows the server: a slow server is asked less, and its stalls are not seen (coordinated omission). If that is what you want, as wrk without -R does it, say --closed",
            ));
        }
        Ok(())
    }

    /// The same as a specification, but for the target: a URL may hold commas.
    fn spec(&self) -> Spec {
        let load = match self.rate {
            Some(rate) => Load::Rate(rate),
            None => Load::Closed,
        };
        let tls = Tls { tls_ca: self.tls_ca.clone(), tls_insecure: self.tls_insecure, ..Tls::default() };
        Spec {
            target: Target { server: TargetName::External(self.url.to_string()), ..Target::default() },
            workload: Workload::Web(Box::new(Web { header: self.header.clone(), ..Web::default() })),
            load,
            generator: Generator {
                threads: Some(self.threads),
                connections: self.connections,
                timeout: self.timeout,
                arrivals: self.arrivals.clone(),
                pace: Some(self.pace),
                cpus: self.cpus.clone(),
                tls,
                ..Generator::default()
            },
            // All that is sent counts, as with wrk.
            time: Time { warmup: Nanos::ZERO, window: self.duration, ..Time::default() },
            ..Spec::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::{Command, FromArgMatches};

    use super::*;

    fn args(line: &str) -> WrkArgs {
        let command = WrkArgs::augment_args(Command::new("wrk").no_binary_name(true));
        WrkArgs::from_arg_matches(&command.try_get_matches_from(line.split_whitespace()).unwrap()).unwrap()
    }

    #[test]
    fn a_call_of_wrk_is_one_of_load() {
        let spec = |line: &str| {
            let args = args(line);
            args.check().unwrap();
            load::check(&args.spec()).unwrap();
            args.spec()
        };
        let found = spec("-t2 -c100 -d30s -R2000 http://127.0.0.1:80/index.html");
        assert_eq!((found.generator.threads, found.generator.connections), (Some(2), 100));
        assert_eq!(
            (found.time.window, found.load),
            (Nanos::from_secs(30), Load::Rate("2k".parse().unwrap()))
        );
        let found = spec("-R 2k --latency -H A:b http://h");
        let Workload::Web(web) = &found.workload else { panic!() };
        assert_eq!(web.header, ["A: b".parse().unwrap()]);
        assert_eq!(found.generator.arrivals.to_string(), "constant");
        let found = spec("--closed --timeout 5s https://h/x");
        assert_eq!((found.load, found.generator.timeout), (Load::Closed, Nanos::from_secs(5)));
        let found = spec("-d30 --timeout 5 -R1 http://h");
        assert_eq!((found.time.window, found.generator.timeout), (Nanos::from_secs(30), Nanos::from_secs(5)));
        assert_eq!(spec("-d2m -R1 http://h").time.window, Nanos::from_secs(120));
    }

    #[test]
    fn what_is_not_there_says_why() {
        let check = |line: &str, says: &str| {
            let error = args(line).check().unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        };
        check("http://h", "coordinated omission");
        check("http://h", "--closed");
        check("-R 1 -s x.lua http://h", "--urls");
        check("-R 1 -B http://h", "-B");
    }
}
