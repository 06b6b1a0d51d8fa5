//! Place of the servers of a calibration: this machine, or a simulated world.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Result;
use dist::Gap;
use openloop::{Footing, Generator, Plan, Recording, WhenAbsent};
use reference_servers::null::{Dialect, NullServer, Service};
use results::Reading;
use trial::Watch;
use units::{Nanos, Time};
use workloads::null::Null;

use super::case::Planted;
use crate::Setting;
use crate::faults::chance::Chance;
use crate::known::{self, Server};
use crate::stalls::{self, Stalled, Stalls};

/// The servers and trials of a world.
struct Shape {
    /// Mean service time of the first server, exponential.
    service: Nanos,
    /// Half of the server's capacity.
    rps: f64,
    warmup: Nanos,
    /// Twenty windows of 1000 requests or more.
    window: Nanos,
    /// Undisturbed pairs behind the true ratio.
    truth: u64,
}

/// On the real clock: as short as wires and event loops permit, which take some 6 µs on each side of a request.
const HERE: Shape = Shape {
    service: Nanos::from_micros(9),
    rps: 55_000.0,
    warmup: Nanos::from_millis(50),
    window: Nanos::from_millis(400),
    truth: 60,
};
const SIMULATED: Shape = Shape {
    service: Nanos::from_micros(4),
    rps: 125_000.0,
    warmup: Nanos::from_millis(20),
    window: Nanos::from_millis(200),
    truth: 30,
};
/// Approximate time of a pair of trials on the real clock, including server starts.
pub(super) const PAIR: Nanos = Nanos::from_millis(1_300);
/// The planted additional service time, as a share.
const MORE_TIME: f64 = 0.1;
const LATER: Nanos = Nanos::from_micros(20);
/// Mean time between the starts of two stalls of each side on the real clock.
const EVERY: Nanos = Nanos::from_millis(150);
/// In a simulated world: lengths of stops, and their number for generator and server in a trial.
const STOPS: (Nanos, Nanos) = (Nanos::from_micros(200), Nanos::from_millis(5));
const COUNT: (u64, u64) = (1, 4);

/// Place of the trials.
#[derive(Clone, Copy)]
pub(super) enum World<'a> {
    /// This machine, on these processors.
    Here(&'a Setting),
    Simulated,
}

impl World<'_> {
    fn shape(self) -> &'static Shape {
        match self {
            World::Here(_) => &HERE,
            World::Simulated => &SIMULATED,
        }
    }

    /// The servers, for the table.
    pub(super) fn about(self) -> String {
        let Shape { service, rps, window, .. } = self.shape();
        format!("service times exponential with a mean of {service}, {rps:.0} requests/s, trials of {window}")
    }

    /// The noise, for the table.
    pub(super) fn noise(self) -> String {
        match self {
            World::Here(_) => format!(
                "the server is stopped, a busy loop takes the generator's processor, and another shares the server's, each for {} every {EVERY} at random",
                stalls::LENGTH
            ),
            World::Simulated => format!(
                "generator and server stop {} to {} times a trial each, for {} to {}",
                COUNT.0, COUNT.1, STOPS.0, STOPS.1
            ),
        }
    }

    fn plan(self, seed: u64, server: SocketAddr) -> Result<Plan> {
        let Shape { rps, warmup, window, .. } = *self.shape();
        let plan = known::plan(server, rps, seed, window)?;
        Ok(Plan { warmup, drain: Nanos::from_millis(100), when_absent: WhenAbsent::Withhold, ..plan })
    }

    /// The mean service time, and the delay of responses.
    fn server(self, planted: Option<Planted>) -> (Nanos, Nanos) {
        let service = self.shape().service;
        match planted {
            Some(Planted::ProcessorTime) => {
                (Nanos((service.0 as f64 * (1.0 + MORE_TIME)) as u64), Nanos::ZERO)
            }
            Some(Planted::Delay) => (service, LATER),
            Some(Planted::Nothing) | None => (service, Nanos::ZERO),
        }
    }

    /// The windowed p99 of a trial of the server with `planted`, by the laboratory's own method. Arrivals follow from
    /// `seed`, everything else from `chance`. Units: µs.
    pub(super) fn trial(
        self,
        planted: Option<Planted>,
        noise: bool,
        seed: u64,
        chance: &mut Chance,
    ) -> Result<Reading> {
        let recording = match self {
            World::Here(setting) => self.here(setting, planted, noise, seed, chance)?,
            World::Simulated => self.simulated(planted, noise, seed, chance)?,
        };
        let footing = Footing::of(&recording);
        let undisturbed = footing.windowed_p99_bounds().filter(|(low, high)| low == high);
        Ok(Reading {
            undisturbed: undisturbed.map(|(_, high)| high.as_micros_f64()),
            served: footing.windowed_p99_of_all().map(Nanos::as_micros_f64),
        })
    }

    /// The true ratio of the windowed p99 of the server with `planted` to the first server's, from undisturbed trials.
    pub(super) fn truth(self, planted: Planted, seed: u64) -> Result<f64> {
        if planted == Planted::Nothing {
            return Ok(1.0);
        }
        let mut chance = Chance::of(seed, "calibration-truth", 0);
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for _ in 0..self.shape().truth {
            let seed = chance.seed();
            let plain = self.trial(None, false, seed, &mut chance)?;
            let other = self.trial(Some(planted), false, seed, &mut chance)?;
            if let Some((a, b)) = Reading::pair(plain, other) {
                first.push(a);
                second.push(b);
            }
        }
        let known = stats::Paired::compare(&second, &first);
        Ok(known.map_or(f64::NAN, |known| known.ratio))
    }

    fn here(
        self,
        setting: &Setting,
        planted: Option<Planted>,
        noise: bool,
        seed: u64,
        chance: &mut Chance,
    ) -> Result<Recording> {
        let (service, delay) = self.server(planted);
        let (service, delay) = (format!("exponential:{}ns", service.0), format!("{}ns", delay.0));
        let service_seed = chance.seed().to_string();
        let arguments = ["--service", &service, "--delay", &delay, "--seed", &service_seed];
        let server = Server::start(&arguments, &setting.cpus)?;
        let plan = self.plan(seed, server.address)?;
        let setting = Setting { seed: chance.seed(), cpus: setting.cpus.clone(), ..*setting };
        let sides: &[Stalled] =
            if noise { &[Stalled::Server, Stalled::Neighbour, Stalled::Generator] } else { &[] };
        let stalls = sides.iter().map(|side| Stalls::start(*side, EVERY, server.pid(), &setting));
        let stalls = stalls.collect::<Result<Vec<_>>>()?;
        let watch = Watch::on(&[server.pid()], &[setting.generator()]);
        let recorded = Generator::new(plan, 1, vec![setting.generator()], Arc::default()).run(|_| Null);
        stalls.into_iter().flatten().try_for_each(Stalls::finish)?;
        let mut recording = recorded?;
        watch.finish(&mut recording);
        server.stop()?;
        Ok(recording)
    }

    fn simulated(
        self,
        planted: Option<Planted>,
        noise: bool,
        seed: u64,
        chance: &mut Chance,
    ) -> Result<Recording> {
        let (service, delay) = self.server(planted);
        let plan = self.plan(seed, known::SIMULATED)?;
        let mut stops = || {
            let (length, count) = (chance.span(STOPS.0, STOPS.1), chance.count(COUNT.0, COUNT.1));
            if noise { chance.spread(Time(0), plan.warmup + plan.window, count, length) } else { Vec::new() }
        };
        let (of_generator, of_server) = (stops(), stops());
        let time = Gap::Exponential(service.0 as f64);
        let service =
            Service::Queue { time, stalls: reference_servers::Stalls::at(of_server), seed: chance.seed() };
        let server = NullServer::new(Dialect::Lines, service, false).delayed(delay);
        Ok(known::simulate_on(plan, server, &of_generator))
    }
}
