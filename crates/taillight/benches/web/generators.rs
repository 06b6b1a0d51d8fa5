//! Each generator as hard as it goes.

use std::process::Command;

use results::Trial;

use crate::cpu::timed;
use crate::run::{Generator, Run};

const CONNECTIONS: &str = "64";
/// Several times what any generator here has reached on one core.
const SATURATING_RATE: &str = "600000";

/// Ours.
pub(crate) struct Taillight {
    pub(crate) io: Option<String>,
    /// By HTTP/2.
    pub(crate) streams: bool,
}

impl Generator for Taillight {
    fn name(&self) -> &'static str {
        if self.streams { "taillight by HTTP/2" } else { "taillight" }
    }

    fn run(&self, address: &str, seconds: u32) -> Option<Run> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_taillight"));
        command.args(["load", "web", "--target", &format!("http://{address}/page")]);
        let connections = if self.streams { "8" } else { CONNECTIONS };
        command.args(["--rate", SATURATING_RATE, "--connections", connections, "--warmup", "0s"]);
        if self.streams {
            command.args(["--http", "2", "--depth", "8"]);
        }
        command.args(["--drain", "20ms", "--window", &format!("{seconds}s"), "--json"]);
        if let Some(io) = &self.io {
            command.args(["--io", io]);
        }
        let (text, cpu) = timed(&mut command)?;
        let trial: Trial = serde_json::from_str(&text).expect("it prints a trial");
        Run::new(trial.achieved_rps, trial.achieved_rps * trial.window_s, cpu)
    }
}

/// Another generator: its command line, and the text before the rate in its output.
struct Peer {
    name: &'static str,
    /// `SECONDS` and `URL` are placeholders; words after `sh: ` are a shell command.
    words: &'static str,
    /// Before the number of requests in a second.
    rate: &'static str,
}

impl Generator for Peer {
    fn name(&self) -> &'static str {
        self.name
    }

    fn run(&self, address: &str, seconds: u32) -> Option<Run> {
        let line = self.words.replace("SECONDS", &seconds.to_string());
        let line = line.replace("URL", &format!("http://{address}/page"));
        let mut command = match line.strip_prefix("sh: ") {
            Some(script) => {
                let mut command = Command::new("sh");
                command.args(["-c", script]);
                command
            }
            None => {
                let mut words = line.split_whitespace();
                let mut command = Command::new(words.next()?);
                command.args(words);
                command
            }
        };
        // Their rate and the processor time are over the same run, so the requests are one times the other.
        let (text, cpu) = timed(&mut command)?;
        let (_, rest) = text.split_once(self.rate)?;
        let number = |word: &str| word.parse::<f64>().ok();
        let rps = rest.split([' ', '\t', '\n', ',']).find_map(number)?;
        Run::new(rps, rps * f64::from(seconds), cpu)
    }
}

/// All others that are known.
pub(crate) fn peers() -> impl Iterator<Item = Box<dyn Generator>> {
    let known = [
        ("wrk", "wrk -t1 -c64 -dSECONDSs URL", "Requests/sec:"),
        ("h2load", "h2load --h1 -t1 -c64 -D SECONDS URL", "finished in"),
        ("h2load by HTTP/2", "h2load -t1 -c8 -m8 -D SECONDS URL", "finished in"),
        ("ab", "ab -k -q -c 64 -t SECONDS -n 100000000 URL", "Requests per second:"),
        ("oha", "oha --no-tui --output-format json -c 64 -z SECONDSs URL", "\"requestsPerSec\":"),
        (
            "vegeta",
            "sh: echo GET URL | vegeta attack -rate=0 -workers=64 -max-workers=64 -duration=SECONDSs | vegeta report -type=json",
            "\"throughput\":",
        ),
        ("hey", "hey -c 64 -z SECONDSs URL", "Requests/sec:"),
    ];
    known.into_iter().map(|(name, words, rate)| Box::new(Peer { name, words, rate }) as Box<dyn Generator>)
}
