//! Network faults for requests and responses.

use anyhow::Result;
use reactor::sim::{Faults, StreamFaults};
use results::Reason;
use units::Nanos;

use super::{ERRORS_ALLOWED, RECURSION};
use crate::faults::chance::Chance;
use crate::faults::fault::{Fault, Outcome};
use crate::faults::right::Right;
use crate::faults::scene::Scene;

const FAILED: &[Reason] = &[Reason::ErrorRate];
const FAILED_WORDS: &str =
    "invalid (error rate) well over 0.1 % failures, else that or valid with true figures";

pub(crate) const FAULTS: &[Fault] = &[
    Fault {
        name: "packet-loss",
        planted: "the network loses datagrams",
        doses: "0.001 to 5 %",
        right: FAILED_WORDS,
        truth: RECURSION,
        plant: loss,
    },
    Fault {
        name: "connection-reset",
        planted: "connections are reset when something is sent",
        doses: "0.001 to 5 % of the messages",
        right: FAILED_WORDS,
        truth: RECURSION,
        plant: reset,
    },
];

/// Longer than any response takes, and short enough that each loss ends within the drain.
const TIMEOUT: Nanos = Nanos::from_millis(50);

/// From this share of failures on over the whole run, the failures in the window exceed the limit: 24 of 6 600 requests
/// leave more than the permitted 6 to the 6 000 of the window, except with a probability of 1 in 10⁵.
const SURELY: f64 = 4.0 * ERRORS_ALLOWED;

fn failing(share: f64) -> Right {
    if share > SURELY { Right::Invalid(FAILED) } else { Right::TrueOrInvalid(FAILED) }
}

fn loss(chance: &mut Chance) -> Result<Outcome> {
    let mut scene = Scene::new(chance)?;
    let truth = scene.truth();
    let loss = chance.magnitude(1e-5, 0.05);
    scene.datagrams = true;
    scene.plan.timeout = TIMEOUT;
    scene.faults = Some(Faults { loss, duplication: 0.0, reordering: Nanos::ZERO, seed: chance.seed() });
    let played = scene.play();
    let lost = played.mishaps.lost as f64 / played.recording.datagrams.sent.max(1) as f64;
    let dose = format!("{} datagrams lost", played.mishaps.lost);
    Ok(played.judged(dose, &truth, failing(lost)).into())
}

fn reset(chance: &mut Chance) -> Result<Outcome> {
    let mut scene = Scene::new(chance)?;
    let reset = chance.magnitude(1e-5, 0.05);
    let seed = chance.seed();
    scene.stream_faults = Some(StreamFaults { split: 0.0, short: 0.0, reset, late: Nanos::ZERO, seed });
    // A request is one message, and so is its response.
    let (dose, right) = (format!("{:.3} % of the messages", 100.0 * reset), failing(2.0 * reset));
    Ok(scene.judged(dose, right).into())
}
