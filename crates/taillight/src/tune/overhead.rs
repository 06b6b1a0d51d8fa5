//! `taillight tune overhead`: how long each mechanism takes to apply.

use std::fmt::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail};
use clap::Args;
use host::Host;
use knobs::overhead::{Overhead, measure};
use knobs::{Engine, Error, Knob, Problem, Subject};
use launch::Interrupt;
use serde::Serialize;

use crate::INTERRUPTED;
use crate::terminal::{say_as, tell};

/// The number of progress lines.
const TELLS: u64 = 10;

#[derive(Args, Debug)]
pub(super) struct OverheadArgs {
    /// Knobs to measure [default: the paper's four mechanisms].
    #[arg(value_name = "KNOB")]
    knobs: Vec<Knob>,
    /// How often each is applied.
    #[arg(long, default_value_t = 10_000, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    times: u64,
    /// Print it as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Row {
    knob: String,
    /// Its name in the paper's table.
    #[serde(skip_serializing_if = "Option::is_none")]
    mechanism: Option<&'static str>,
    /// The paper's means on the Xeon and on the ThunderX. Units: ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    published_ms: Option<[f64; 2]>,
    #[serde(flatten)]
    outcome: Outcome,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    Measured(Overhead),
    Unsupported(String),
}

/// Source: IISWC'17, Table IV.
fn published(knob: &Knob) -> Option<(&'static str, [f64; 2])> {
    match knob {
        Knob::CpuSet(_) => Some(("CPU", [6.5, 11.7])),
        Knob::CacheWays(_) => Some(("Cache", [1.6, 2.0])),
        Knob::MemoryLimit(_) => Some(("Memory", [6.9, 11.9])),
        Knob::NetRate(_) => Some(("Network", [2.4, 3.5])),
        _ => None,
    }
}

pub(super) fn run(args: &OverheadArgs) -> Result<ExitCode> {
    let host = Host::here();
    let knobs = if args.knobs.is_empty() { of_the_paper(&host)? } else { args.knobs.clone() };
    let interrupt = Interrupt::on_signals()?;
    let engine = Engine::here()?;
    let victim = Victim::start()?;
    let mut rows = Vec::new();
    for knob in knobs {
        let (mechanism, published_ms) = published(&knob).unzip();
        if matches!(knob, Knob::NetRate(_)) && !victim.has_namespace {
            bail!(Error::Denied(Problem {
                what: knob.to_string(),
                limit: "no network namespace of its own can be made for it".into(),
                hint: "run it as root, or name other knobs".into(),
            }));
        }
        let outcome = one(&knob, args.times, &host, &victim.subject(), &engine, &interrupt)?;
        rows.push(Row { knob: knob.to_string(), mechanism, published_ms, outcome });
        if interrupt.cause().is_some() {
            break;
        }
    }
    say_as(args.json, &rows, |rows| table(rows))?;
    Ok(if interrupt.cause().is_some() { ExitCode::from(INTERRUPTED) } else { ExitCode::SUCCESS })
}

fn of_the_paper(host: &Host) -> Result<Vec<Knob>> {
    let first = host.cpu.allowed.as_slice().first().context("no processor may be used")?;
    let texts = [
        format!("cpu.set={first}"),
        format!("cache.ways=0-1@{first}"),
        "memory.limit=512MiB".into(),
        "net.rate=1gbit".into(),
    ];
    texts.iter().map(|text| Ok(text.parse()?)).collect()
}

fn one(
    knob: &Knob,
    times: u64,
    host: &Host,
    subject: &Subject,
    engine: &Engine,
    interrupt: &Interrupt,
) -> Result<Outcome> {
    let measured = knobs::plan(std::slice::from_ref(knob), host, subject).and_then(|plan| {
        measure(engine, &plan, times, |done| {
            if done.is_multiple_of(times.div_ceil(TELLS)) {
                tell(&format!("{knob}: {done} of {times}"));
            }
            if interrupt.cause().is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
    });
    match measured {
        Ok(overhead) => Ok(Outcome::Measured(overhead)),
        Err(Error::Unsupported(problem)) => Ok(Outcome::Unsupported(problem.to_string())),
        Err(error) => Err(error.into()),
    }
}

fn table(rows: &[Row]) -> String {
    let mut text = format!(
        "{:<20} {:>8} {:>10} {:>10} {:>10} {:>10}  {}\n",
        "knob", "times", "mean ms", "± ms", "p50 ms", "p99 ms", "IISWC'17 Table IV, Xeon / ThunderX"
    );
    for row in rows {
        let published = row.published_ms.map_or(String::new(), |[xeon, arm]| format!("{xeon} / {arm} ms"));
        let _ = match &row.outcome {
            Outcome::Measured(o) => {
                let p99 = o.p99_us.map_or("–".to_owned(), |us| format!("{:.3}", us / 1e3));
                let (mean, deviation, p50) = (o.mean_us / 1e3, o.deviation_us / 1e3, o.p50_us / 1e3);
                writeln!(
                    text,
                    "{:<20} {:>8} {mean:>10.3} {deviation:>10.3} {p50:>10.3} {p99:>10}  {published}",
                    row.knob, o.times
                )
            }
            Outcome::Unsupported(reason) => writeln!(text, "{:<20} not measured: {reason}", row.knob),
        };
    }
    text
}

/// The confined process: it sleeps, in its own network namespace if this is permitted.
///
/// The namespace's own `lo` is shaped, so that no other process's packets pass there.
struct Victim {
    child: Child,
    has_namespace: bool,
}

impl Victim {
    fn start() -> Result<Victim> {
        let sleeper = |words: &[&str]| -> Result<Child> {
            let mut command = Command::new(words[0]);
            command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
            Ok(launch::spawn_bound(command)?)
        };
        // It says when it is in its namespace.
        let mut child = sleeper(&["unshare", "--net", "sh", "-c", "echo there; exec sleep 86400"])?;
        let mut there = [0; 5];
        let said = child
            .stdout
            .take()
            .is_some_and(|mut out| std::io::Read::read_exact(&mut out, &mut there).is_ok());
        if said {
            return Ok(Victim { child, has_namespace: true });
        }
        let _ = child.wait();
        Ok(Victim { child: sleeper(&["sleep", "86400"])?, has_namespace: false })
    }

    fn subject(&self) -> Subject {
        let namespace = PathBuf::from(format!("/proc/{}/ns/net", self.child.id()));
        Subject {
            name: format!("taillight-overhead-{}", std::process::id()),
            pids: vec![self.child.id()],
            net_device: Some("lo".into()),
            net_namespace: self.has_namespace.then_some(namespace),
            ..Subject::default()
        }
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
