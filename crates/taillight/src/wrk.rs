//! `taillight wrk`: the call and the output that the users of wrk and wrk2 know, on this engine.

mod output;
mod units;

use std::process::ExitCode;

use ::units::{Nanos, ParseError, Rate};
use anyhow::{Context, Result, bail};
use clap::{ArgAction, Args, Command, FromArgMatches};
use proto_http::{Header, Url};

use crate::load::{self, LoadArgs};
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
    arrivals: String,
    /// CLOSED LOOP as wrk without -R: each connection asks again once it has its answer.
    #[arg(long)]
    closed: bool,
    /// How a thread waits: sleep, or spin, which is on time to a few µs and takes a whole core for each thread.
    #[arg(long, default_value = "sleep", value_name = "PACE")]
    pace: String,
    /// Processors to pin the threads to, such as 1 or 0,2-3.
    #[arg(long, value_name = "LIST")]
    cpus: Option<String>,
    /// Trust the authorities in this PEM file [default: those of this machine].
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<String>,
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
    let done = load::one(load_args(args)?, args.rate)?;
    say(&text(&asked, &done.recording))?;
    say(&format!("Verdict:      {}\n", done.trial.verdict))?;
    Ok(ExitCode::SUCCESS)
}

impl WrkArgs {
    fn check(&self) -> Result<()> {
        if let Some(script) = &self.script {
            bail!(
                "-s {script}: a script in the generator's loop would delay the requests that it measures; give paths by 'taillight load web --urls FILE', headers by -H"
            );
        }
        if self.batch_latency {
            bail!("-B: every request is measured here; leave it out");
        }
        if self.rate.is_none() && !self.closed {
            bail!(
                "no rate: give it with -R, such as -R 2000. Without one, a load follows the server: who is slow is asked less, and its stalls are not seen (coordinated omission). If that is what you want, as wrk without -R does it, say --closed"
            );
        }
        Ok(())
    }

    /// The same as a `taillight load web` could be typed, but for the target: a URL may hold commas.
    fn words(&self) -> Vec<String> {
        let mut words: Vec<String> = vec!["web".into()];
        let mut option = |name: &str, value: String| words.push(format!("--{name}={value}"));
        option("threads", self.threads.to_string());
        option("connections", self.connections.to_string());
        option("window", format!("{}ns", self.duration.0));
        // All that is sent counts, as with wrk.
        option("warmup", "0s".into());
        option("timeout", format!("{}ns", self.timeout.0));
        option("arrivals", self.arrivals.clone());
        option("pace", self.pace.clone());
        self.header.iter().for_each(|header| option("header", header.to_string()));
        self.cpus.iter().for_each(|cpus| option("cpus", cpus.clone()));
        self.tls_ca.iter().for_each(|file| option("tls-ca", file.clone()));
        if self.tls_insecure {
            words.push("--tls-insecure".into());
        }
        match self.rate {
            Some(rate) => words.push(format!("--rate={}", rate.rps())),
            None => words.push("--closed".into()),
        }
        words
    }
}

fn load_args(wrk: &WrkArgs) -> Result<LoadArgs> {
    let command = LoadArgs::augment_args(Command::new("taillight wrk").no_binary_name(true));
    let matches = command.try_get_matches_from(wrk.words()).map_err(|error| {
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
        anyhow::anyhow!("{first}")
    })?;
    let args =
        LoadArgs::from_arg_matches(&matches).context("the options do not go together")?.on_url(&wrk.url);
    args.check()?;
    Ok(args)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(line: &str) -> WrkArgs {
        let command = WrkArgs::augment_args(Command::new("wrk").no_binary_name(true));
        WrkArgs::from_arg_matches(&command.try_get_matches_from(line.split_whitespace()).unwrap()).unwrap()
    }

    #[test]
    fn a_call_of_wrk_is_one_of_load() {
        let check = |line: &str, says: &[&str]| {
            let args = args(line);
            args.check().unwrap();
            let words = args.words();
            for part in says {
                assert!(words.iter().any(|word| word == part), "{line}: {words:?} lacks {part}");
            }
            load_args(&args).unwrap();
        };
        check(
            "-t2 -c100 -d30s -R2000 http://127.0.0.1:80/index.html",
            &["--threads=2", "--connections=100", "--window=30000000000ns", "--rate=2000"],
        );
        check("-R 2k --latency -H A:b http://h", &["--header=A: b", "--arrivals=constant"]);
        check("--closed --timeout 5s https://h/x", &["--closed", "--timeout=5000000000ns"]);
        check("-d30 --timeout 5 -R1 http://h", &["--window=30000000000ns", "--timeout=5000000000ns"]);
        check("-d2m -R1 http://h", &["--window=120000000000ns"]);
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
