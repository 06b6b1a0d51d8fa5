//! Agents that are lost in the middle of a load.

use std::time::Duration;

use anyhow::Result;
use launch::Process;
use results::Reason;
use rustix::process::Signal;
use units::Nanos;

use super::{Bench, PATIENCE, Processors, WINDOW, ended, send, taillight, too_few};
use crate::faults::chance::Chance;
use crate::faults::fault::{Fault, Outcome};
use crate::faults::right::Right;

/// A row of the table below: one of two agents is lost.
const fn lost(name: &'static str, planted: &'static str, plant: fn(&mut Chance) -> Result<Outcome>) -> Fault {
    let (doses, right) = ("at a random moment of the window", "invalid (agent lost)");
    Fault { name, planted, doses, right, truth: super::SIMULATION, plant }
}

pub(crate) const FAULTS: &[Fault] = &[
    lost("agent-killed", "one of two agents is killed", |c| without(c, Signal::KILL)),
    lost("agent-silent", "one of two agents is stopped, and says nothing for longer than the lease", |c| {
        without(c, Signal::STOP)
    }),
];

/// The token of both agents. Any token of this length suffices, since they listen on loopback and end with the dose.
const TOKEN: &str = "0123456789abcdef0123456789abcdef";
/// How long a coordinator waits for a silent agent, much less than the window.
const LEASE: &str = "1s";

fn without(chance: &mut Chance, signal: Signal) -> Result<Outcome> {
    let Some(processors) = Processors::two()? else { return Ok(too_few()) };
    let bench = Bench::start(chance, processors)?;
    let mut agents = Vec::new();
    for name in ["a", "b"] {
        agents.push(agent(name, processors)?);
    }
    let addresses: Vec<&str> = agents.iter().map(|(_, address)| address.as_str()).collect();
    let mut words = bench.load(&bench.file().display().to_string());
    let more = ["--live", "--pace", "sleep", "--agents-insecure-token", "--agents-lease", LEASE, "--agents"];
    words.extend(more.map(str::to_owned).into_iter().chain([addresses.join(",")]));
    let mut coordinator = Process::spawn(taillight(&words)?.env("TAILLIGHT_TOKEN", TOKEN))?;
    coordinator.await_line("{\"live\"", PATIENCE)?;
    // Live lines begin with the window; the rest of it is longer than the lease.
    let after = Nanos((chance.unit() * 0.3 * WINDOW.0 as f64) as u64);
    if coordinator.wait(Duration::from(after)).is_err() {
        send(agents[1].0.pid(), signal)?;
    }
    ended(&mut coordinator)?;
    drop(agents);
    let dose = format!("{after} into the window");
    Ok(bench.judged(dose, Right::Invalid(&[Reason::AgentLost]))?.into())
}

/// An agent on the generators' processor, and its address.
fn agent(name: &str, processors: Processors) -> Result<(Process, String)> {
    let words = ["agent", "--listen", "127.0.0.1:0", "--name", name, "--insecure-token"].map(str::to_owned);
    let spec = taillight(&words)?.env("TAILLIGHT_TOKEN", TOKEN).cpus([processors.generator]);
    let mut process = Process::spawn(spec)?;
    let ready = format!("taillight agent {name} ready on ");
    let line = process.await_line(&ready, PATIENCE)?;
    let address = line[ready.len()..].split([',', ' ']).next().unwrap_or_default().to_owned();
    Ok((process, address))
}
