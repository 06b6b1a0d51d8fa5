//! Processors taken from the generator and from the server.

use std::time::Duration;

use anyhow::{Result, bail};
use launch::{Process, Spec};
use results::Reason;
use rustix::process::Signal;
use units::Nanos;

use super::{Bench, Processors, SIMULATION, WINDOW, ended, send, taillight, too_few};
use crate::faults::chance::Chance;
use crate::faults::fault::{Fault, Outcome};
use crate::faults::right::Right;

/// Permitted reasons if processors were taken away.
const TAKEN: &[Reason] = &[
    Reason::HostDisturbed,
    Reason::GeneratorLag,
    Reason::ReceiveLag,
    Reason::GeneratorSaturated,
    Reason::RateMissed,
    Reason::NotSteady,
];

/// A row of the table below.
const fn taken(
    name: &'static str,
    planted: &'static str,
    doses: &'static str,
    right: &'static str,
    plant: fn(&mut Chance) -> Result<Outcome>,
) -> Fault {
    Fault { name, planted, doses, right, truth: SIMULATION, plant }
}

const GENERATOR: &str = "invalid (generator lag, receive lag or host disturbed), or valid with true figures";
const HOST: &str = "invalid (host disturbed), or valid with true figures";
const HOGS: &str = "1 to 3 busy loops, nice 0 or 10";

pub(crate) const FAULTS: &[Fault] = &[
    taken(
        "sigstop-generator",
        "the generator's process is stopped and continued",
        "5 to 40 times, 1 to 50 ms each",
        GENERATOR,
        stopped,
    ),
    taken("hog-generator-core", "busy loops on the generator's processor", HOGS, GENERATOR, |c| {
        hogs(c, false, true)
    }),
    taken("hog-server-core", "busy loops on the server's processor", HOGS, HOST, |c| hogs(c, true, false)),
    taken("hog-both-cores", "busy loops on both processors", HOGS, HOST, |c| hogs(c, true, true)),
];

/// Long enough for the connections to be established before a process is stopped, and shorter than the window.
const BEGINNING: Duration = Duration::from_millis(600);

fn stopped(chance: &mut Chance) -> Result<Outcome> {
    let Some(processors) = Processors::two()? else { return Ok(too_few()) };
    let bench = Bench::start(chance, processors)?;
    let (n, length) = (chance.count(5, 40), chance.span(Nanos::from_millis(1), Nanos::from_millis(50)));
    let mut generator = generator(&bench, processors)?;
    let gap = Duration::from(WINDOW) / n as u32;
    let mut wait = BEGINNING + gap.mul_f64(chance.unit());
    for _ in 0..n {
        // An early end is detected below, when the trial is read.
        if generator.wait(wait).is_ok() {
            break;
        }
        send(generator.pid(), Signal::STOP)?;
        // It may have been about to end when it was stopped; then no process is left to continue.
        if generator.wait(length.into()).is_ok() {
            break;
        }
        send(generator.pid(), Signal::CONT)?;
        wait = gap.saturating_sub(length.into());
    }
    ended(&mut generator)?;
    let right = Right::TrueOrInvalid(TAKEN);
    Ok(bench.judged(format!("{n} times {length}"), right)?.into())
}

fn hogs(chance: &mut Chance, on_server: bool, on_generator: bool) -> Result<Outcome> {
    let Some(processors) = Processors::two()? else { return Ok(too_few()) };
    let bench = Bench::start(chance, processors)?;
    let (each, nice) = (chance.count(1, 3), 10 * chance.count(0, 1));
    let cpus = [(processors.server, on_server), (processors.generator, on_generator)];
    let mut running = Vec::new();
    for (cpu, _) in cpus.into_iter().filter(|(_, hogged)| *hogged) {
        for _ in 0..each {
            running.push(hog(cpu, nice.cast_signed())?);
        }
    }
    let mut generator = generator(&bench, processors)?;
    ended(&mut generator)?;
    for mut hog in running {
        if !hog.is_running() {
            bail!("a busy loop ended before its time: {}", hog.stderr_tail().join(" / "));
        }
    }
    let dose = format!("{each} on each processor, nice {nice}");
    Ok(bench.judged(dose, Right::TrueOrInvalid(TAKEN))?.into())
}

/// The generator of a bench on its processor.
fn generator(bench: &Bench, processors: Processors) -> Result<Process> {
    let mut words = bench.load(&bench.file().display().to_string());
    words.extend(["--cpus".into(), processors.generator.to_string()]);
    Ok(Process::spawn(taillight(&words)?)?)
}

/// A program in a busy loop, until it is dropped.
pub(crate) fn hog(cpu: usize, nice: i64) -> Result<Process> {
    let script = format!("renice -n {nice} -p $$ > /dev/null 2>&1; while :; do :; done");
    Ok(Process::spawn(Spec::new("busy loop", "sh").args(["-c", script.as_str()]).cpus([cpu]))?)
}
