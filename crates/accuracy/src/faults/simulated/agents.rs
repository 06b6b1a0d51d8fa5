//! Generators on several machines that do not start together.

use anyhow::Result;
use results::Reason;
use units::Nanos;

use super::RECURSION;
use crate::faults::chance::Chance;
use crate::faults::fault::{Fault, Outcome};
use crate::faults::right::Right;
use crate::faults::scene::{Generator, START, Scene};
use crate::faults::service::Service;

pub(crate) const FAULTS: &[Fault] = &[
    Fault {
        name: "agent-late",
        planted: "one of two generators is told to start when the start is over",
        doses: "1 to 500 ms late, at a warm-up of 200 ms",
        right: "invalid (generator lag or agent lost), or valid with true figures",
        truth: RECURSION,
        plant: late,
    },
    Fault {
        name: "agent-clock",
        planted: "the clock of one of two generators is not where the coordinator believes",
        doses: "0.001 to 50 ms ahead",
        right: "valid with true figures: each measures by its own clock",
        truth: "each request's own service time, as none waits for another",
        plant: clock,
    },
];

const LATE: &[Reason] =
    &[Reason::GeneratorLag, Reason::ReceiveLag, Reason::HostDisturbed, Reason::NotSteady, Reason::AgentLost];

fn late(chance: &mut Chance) -> Result<Outcome> {
    let mut scene = Scene::new(chance)?;
    let late = chance.span(Nanos::from_millis(1), Nanos::from_millis(500));
    scene.generators.push(Generator { told: START + late, ..Generator::IN_TIME });
    Ok(scene.judged(late.to_string(), Right::TrueOrInvalid(LATE)).into())
}

fn clock(chance: &mut Chance) -> Result<Outcome> {
    let mut scene = Scene::new(chance)?;
    // Without a queue, so that the assignment of requests to servers does not matter.
    let mean = chance.span(Nanos::from_micros(300), Nanos::from_millis(3));
    scene.service = Service { at_once: true, ..Service::queue(mean, chance.seed()) };
    scene.datagrams = true;
    let ahead = chance.span(Nanos::from_micros(1), Nanos::from_millis(50));
    scene.generators.push(Generator { start: START + ahead, ..Generator::IN_TIME });
    Ok(scene.judged(ahead.to_string(), Right::Valid).into())
}
