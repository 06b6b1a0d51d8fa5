//! `taillight wrk`: the call and the output that the users of wrk and wrk2 know, on this engine.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{ArgAction, Args, ValueEnum};
use lab::ServerArgs;
use proto_http::{Header, Url};
use spec::workload::{Verify, Web};
use spec::{ArrivalSpec, Generator, Load, Pace, Spec, Target, TargetName, Time, Tls, Workload};
use trial::wrk;
use units::{CpuList, Nanos, ParseError, Rate};

use crate::gate;
use crate::job::misused;
use crate::load::{self, LocalTrial};
use crate::terminal::say;

/// Offer a load to a web server, called as wrk2 is and with its output.
///
/// Requests leave when they are due, whatever the server does (an open loop), and latency counts from then. Arrivals
/// are evenly spaced, as wrk2's are; --arrivals poisson is what many independent users make. See taillight load web for
/// everything else. Exit codes: 0 done, 1 failed, 2 wrong usage, 75 no request was completed, 130 interrupted.
#[derive(Args, Debug)]
#[command(disable_version_flag = true, args_override_self = true)]
pub(crate) struct WrkArgs {
    /// The URL to request.
    #[arg(value_name = "URL", required_unless_present = "version")]
    url: Option<Url>,
    /// Threads.
    #[arg(short, long, default_value = "2", value_name = "N", value_parser = |text: &str| units::count::<u32>(text, 1..=1024))]
    threads: u32,
    /// Connections, in all: 100, 1k.
    #[arg(short, long, default_value = "10", value_name = "N", value_parser = |text: &str| units::count::<u32>(text, 1..=1_000_000))]
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
    /// Also print the service times, measured from the sending, which wrk without -R calls latency.
    #[arg(short = 'U', long = "u_latency")]
    uncorrected: bool,
    /// A header field, such as 'Accept-Encoding: gzip'. May be given more than once.
    #[arg(short = 'H', long, value_name = "NAME: VALUE")]
    header: Vec<Header>,
    /// A request unanswered for this long has failed.
    #[arg(short = 'T', long, default_value = "2s", value_name = "TIME", value_parser = span)]
    timeout: Nanos,
    /// Print the version.
    #[arg(short = 'v', long)]
    version: bool,
    /// Not supported: Lua scripts.
    #[arg(short, long, value_name = "FILE", hide = true)]
    script: Option<String>,
    /// Not supported: it makes wrk2 measure less than every request.
    #[arg(short = 'B', long = "batch_latency", action = ArgAction::SetTrue, hide = true)]
    batch_latency: bool,
    /// Not supported: further output of DeathStarBench's wrk2, per request or over time.
    #[arg(short = 'P', action = ArgAction::SetTrue, hide = true)]
    print_each: bool,
    #[arg(short = 'p', action = ArgAction::SetTrue, hide = true)]
    print_over_time: bool,
    #[arg(short = 'r', action = ArgAction::SetTrue, hide = true)]
    print_sent: bool,
    #[arg(short = 'S', action = ArgAction::SetTrue, hide = true)]
    print_apart: bool,
    /// When requests arrive: constant, poisson, and more; see taillight explain cache.
    #[arg(long, default_value = "constant", value_name = "ARRIVALS")]
    arrivals: ArrivalSpec,
    /// The same as DeathStarBench's wrk2 names it: fixed or exp.
    #[arg(short = 'D', long = "dist", value_name = "fixed|exp", conflicts_with = "arrivals")]
    distribution: Option<Distribution>,
    /// Arguments of a script.
    #[arg(last = true, hide = true)]
    script_arguments: Vec<String>,
    /// CLOSED LOOP as wrk without -R: each connection sends its next request after the answer to its last.
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

/// How DeathStarBench's wrk2 spaces requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Distribution {
    /// Evenly.
    Fixed,
    /// As independent users do.
    Exp,
    /// By a normal distribution, which no users do.
    #[value(hide = true)]
    Norm,
    /// By Zipf's law, which no users do.
    #[value(hide = true)]
    Zipf,
}

/// Reads a time as wrk does: a number without a unit is in seconds, and units may be in capitals.
fn span(text: &str) -> Result<Nanos, ParseError> {
    let bare = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if bare { format!("{text}s").parse() } else { text.to_ascii_lowercase().parse() }
}

pub(crate) fn run(args: &WrkArgs) -> Result<ExitCode> {
    if args.version {
        say(&format!("taillight wrk {} [open loop]\n", env!("CARGO_PKG_VERSION")))?;
    }
    let Some(url) = &args.url else { return Ok(ExitCode::SUCCESS) };
    args.check()?;
    say(&wrk::head(url.to_string().as_str(), args.threads, args.connections, args.duration.as_secs_f64()))?;
    let spec = args.spec(url);
    load::check(&spec)?;
    let server = ServerArgs::of(&spec);
    let process = load::Process::default();
    let done = load::trial(LocalTrial { spec, server, one_url: true, process })?;
    say(&wrk::text(&done.recording, args.threads, args.latency, args.uncorrected))?;
    say(&format!("Verdict:      {}\n", done.trial.verdict))?;
    let unanswered = (done.trial.arrivals.completed == 0).then(|| "no request was completed".to_owned());
    Ok(gate::judge(&[], unanswered.as_slice()))
}

impl WrkArgs {
    fn check(&self) -> Result<()> {
        if let Some(script) = &self.script {
            return Err(misused(format!(
                "-s {script}: a script in the generator's loop would delay the requests that it measures; give paths by 'taillight load web --urls FILE', headers by -H"
            )));
        }
        if let Some(unlike @ (Distribution::Norm | Distribution::Zipf)) = self.distribution {
            let name = if unlike == Distribution::Norm { "norm" } else { "zipf" };
            return Err(misused(format!(
                "-D {name}: no users come in such intervals; use -D exp, or others with --arrivals (taillight explain cache)"
            )));
        }
        if self.batch_latency {
            return Err(misused("-B: every request is measured here; leave it out"));
        }
        let prints = [
            ('P', self.print_each),
            ('p', self.print_over_time),
            ('r', self.print_sent),
            ('S', self.print_apart),
        ];
        if let Some((letter, _)) = prints.iter().find(|(_, is_given)| *is_given) {
            return Err(misused(format!(
                "-{letter}: it prints more than wrk2's summary, which is not done here; leave it out, or use 'taillight load web', whose result has the response times over time"
            )));
        }
        if self.rate.is_none() && !self.closed {
            return Err(misused(
                "no rate: give it with -R, such as -R 2000. Without one, a load follows the server: a slow server is asked less, and its stalls are not seen (coordinated omission). If that is what you want, as wrk without -R does it, say --closed",
            ));
        }
        Ok(())
    }

    /// The same as a specification, but for the target: a URL may hold commas.
    fn spec(&self, url: &Url) -> Spec {
        let load = match self.rate {
            Some(rate) => Load::Rate(rate),
            None => Load::Closed,
        };
        let arrivals = match self.distribution {
            Some(Distribution::Exp) => ArrivalSpec::default(),
            _ => self.arrivals.clone(),
        };
        let tls = Tls { tls_ca: self.tls_ca.clone(), tls_insecure: self.tls_insecure, ..Tls::default() };
        // wrk measures redirects as well.
        let web = Web { header: self.header.clone(), verify: Some(Verify::None), ..Web::default() };
        Spec {
            target: Target { server: TargetName::External(url.to_string()), ..Target::default() },
            workload: Workload::Web(Box::new(web)),
            load,
            generator: Generator {
                threads: Some(self.threads),
                connections: self.connections,
                timeout: self.timeout,
                arrivals,
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
            let spec = args.spec(args.url.as_ref().unwrap());
            load::check(&spec).unwrap();
            spec
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
        let found = spec("-t 4 -c 1k -d 10 -T 30s -R1k -L http://h -v");
        assert_eq!((found.generator.connections, found.generator.timeout), (1_000, Nanos::from_secs(30)));
        let arrivals = |line: &str| spec(line).generator.arrivals.to_string();
        assert_eq!(arrivals("-D exp -R1 http://h"), "poisson");
        assert_eq!(arrivals("-D fixed -R1 http://h"), "constant");
        let found = spec("-d1M -T 5S -d 2M -R1 -R 2k http://h");
        assert_eq!(
            (found.time.window, found.generator.timeout),
            (Nanos::from_secs(120), Nanos::from_secs(5))
        );
        assert_eq!(found.load, Load::Rate("2k".parse().unwrap()), "the last of several counts");
        let Workload::Web(web) = spec("-R1 -H A:b -H C:d http://h").workload else { panic!() };
        assert_eq!(web.header.len(), 2);
        assert!(args("-v").version && args("--version").url.is_none());
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
        check("-R 1 -s x.lua http://h -- 16", "-s x.lua");
        check("-D zipf -R 1 http://h", "-D exp");
        for letter in ["-P", "-p", "-r", "-S"] {
            check(&format!("{letter} -R 1 http://h"), "leave it out");
        }
    }
}
