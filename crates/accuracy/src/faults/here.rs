//! Faults that exist only on a real machine: processes of this program on loopback, few doses each.

pub(super) mod agents;
pub(super) mod disk;
pub(super) mod probes;
pub(crate) mod processors;
pub(super) mod store;
mod stored;

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use dist::Gap;
use hist::Latency;
use launch::{Process, Spec};
use reactor::allowed_cpus;
use reference_servers::Stalls;
use reference_servers::null::Service;
use results::{Trial, Verdict};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use units::Nanos;

use crate::faults::chance::Chance;
use crate::faults::fault::{Figures, Judged, Outcome};
use crate::faults::right::{DoseResult, Right};
use crate::known::{self, Server};

/// A server at half of its capacity, with a true p99 of some 5 ms: wires and wake-ups, some 50 µs, are 1 % of it.
const RPS: f64 = 1_000.0;
const SERVICE: Nanos = Nanos::from_micros(500);
/// 3 000 requests: 30 lie beyond p99.
const WINDOW: Nanos = Nanos::from_secs(3);
/// Time limit of a process, in addition to its measurement.
const PATIENCE: Duration = Duration::from_secs(60);
/// Source of the true figures.
const SIMULATION: &str = "the simulation of the same arrivals and service times";

#[derive(Clone, Copy, Debug)]
struct Processors {
    server: usize,
    generator: usize,
}

impl Processors {
    /// The first and the last processor that this process may use; `None` if there are fewer than two.
    fn two() -> Result<Option<Processors>> {
        Ok(match allowed_cpus()?[..] {
            [server, .., generator] => Some(Processors { server, generator }),
            _ => None,
        })
    }
}

/// Outcome on a machine with one processor.
fn too_few() -> Outcome {
    Outcome::Skipped("server and generator take a processor each, and this process may use one".into())
}

/// A null server with known times, and its load.
struct Bench {
    server: Server,
    folder: TempDir,
    seed: u64,
    service_seed: u64,
}

impl Bench {
    fn start(chance: &mut Chance, processors: Processors) -> Result<Bench> {
        // Within the range of the command line.
        let (seed, service_seed) = (chance.count(1, 1 << 32), chance.count(1, 1 << 32));
        let (service, text) = (format!("exponential:{}us", SERVICE.0 / 1_000), service_seed.to_string());
        let server = Server::start(&["--service", &service, "--seed", &text], &[processors.server])?;
        let folder = tempfile::tempdir().context("no temporary folder can be made; set TMPDIR to one")?;
        Ok(Bench { server, folder, seed, service_seed })
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("trial.json")
    }

    /// The arguments that offer the load and write the trial to a file.
    fn load(&self, file: &str) -> Vec<String> {
        let words = format!(
            "load null --target {} --rate {RPS} --connections 16 --depth 4096 --warmup 500ms --window {}s --drain 2s \
             --timeout 10s --seed {} --server-pid {} --trial",
            self.server.address,
            WINDOW.0 / 1_000_000_000,
            self.seed,
            self.server.pid()
        );
        words.split_whitespace().chain([file]).map(str::to_owned).collect()
    }

    /// The true response times.
    fn truth(&self) -> Result<Latency> {
        let service = Service::Queue {
            time: Gap::Exponential(SERVICE.0 as f64),
            stalls: Stalls::default(),
            seed: self.service_seed,
        };
        let recording = known::simulate(known::plan(known::SIMULATED, RPS, self.seed, WINDOW)?, service);
        Ok(recording.all().response_time)
    }

    /// Reads the trial from its file, and compares it with the truth.
    fn judged(self, dose: String, right: Right) -> Result<Judged> {
        let text = fs::read_to_string(self.file()).context("the generator wrote no trial")?;
        let trial: Trial = serde_json::from_str(&text).context("its trial cannot be read")?;
        let truth = Figures::of(&self.truth()?);
        self.server.stop()?;
        let times = trial.claimed();
        let measured = times.p50_us.zip(times.p99_us).map(|(p50_us, p99_us)| Figures { p50_us, p99_us });
        // Figures of a trial that was slowed are bounds, and not claimed to be the server's.
        let verdict = match trial.slowed().cloned() {
            Some(reason) if trial.verdict.is_usable() => Verdict::Invalid { reasons: vec![reason] },
            _ => trial.verdict,
        };
        Ok(Judged { dose, right, given: DoseResult::Verdict(verdict), truth, measured })
    }
}

/// This program with these arguments.
fn taillight(words: &[String]) -> Result<Spec> {
    let exe = std::env::current_exe().context("this program's own file is not known")?;
    Ok(Spec::new("taillight", exe).args(words.iter().cloned()))
}

/// Waits for a generator to exit successfully.
fn ended(generator: &mut Process) -> Result<()> {
    let status = generator.wait(PATIENCE)?;
    if !status.success() {
        bail!("the generator ended with {status}: {}", generator.stderr_tail().join(" / "));
    }
    Ok(())
}

pub(crate) fn send(process: u32, signal: Signal) -> Result<()> {
    let pid = Pid::from_raw(process.cast_signed()).context("it has no process id")?;
    Ok(kill_process(pid, signal)?)
}
