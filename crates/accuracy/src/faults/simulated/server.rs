//! Disturbances inside the server.

use anyhow::Result;
use dist::Process;
use openloop::{Binding, Load};
use reference_servers::Stalls;
use results::Reason;
use units::{Nanos, Rate, Time};

use super::{ERRORS_ALLOWED, OWN_RECURSION, RECURSION};
use crate::faults::chance::Chance;
use crate::faults::fault::{Fault, Outcome};
use crate::faults::peer::{Misdeed, Odd};
use crate::faults::right::Right;
use crate::faults::scene::{START, Scene, WINDOW};

const FAILED: &[Reason] = &[Reason::ErrorRate];
const FAILED_WORDS: &str = "invalid (error rate) over 0.1 % failures, else valid with true figures";

/// A row of the table below: a server that fails some requests.
const fn failing(
    name: &'static str,
    planted: &'static str,
    doses: &'static str,
    plant: fn(&mut Chance) -> Result<Outcome>,
) -> Fault {
    Fault { name, planted, doses, right: FAILED_WORDS, truth: RECURSION, plant }
}

pub(crate) const FAULTS: &[Fault] = &[
    failing(
        "server-closes",
        "the server closes the connection instead of answering",
        "0.01 to 10 % of the requests",
        // Other requests in flight on the connection fail, too.
        |c| fails(c, Misdeed::Closes, Right::TrueOrInvalid(FAILED)),
    ),
    failing(
        "server-answers-wrong",
        "the server answers something else",
        "0.01 to 10 % of the requests",
        |c| fails(c, Misdeed::AnswersWrong, Right::Valid),
    ),
    Fault {
        name: "server-answers-early",
        planted: "the server answers the next request of a connection before that has come",
        doses: "0.02 to 2 % of the requests",
        right: "invalid (error rate)",
        truth: RECURSION,
        plant: early,
    },
    Fault {
        name: "server-ends-many",
        planted: "the server answers over TLS and closes many connections in the same instant",
        doses: "all that were asked on in 10 to 100 ms",
        right: "valid with true figures",
        truth: "the same arrivals and server without TLS",
        plant: ends_many,
    },
    Fault {
        name: "server-throttles",
        planted: "the server runs for a part of each 100 ms, as under a quota",
        doses: "30 to 95 % of the time",
        right: "valid with true figures, or overloaded where the quota is less than the load takes",
        truth: OWN_RECURSION,
        plant: throttles,
    },
    Fault {
        name: "collector-pause",
        planted: "the server's garbage collector stops it",
        doses: "5 to 60 ms each 300 to 700 ms",
        right: "valid with true figures: the pauses are the server's",
        truth: OWN_RECURSION,
        plant: collector,
    },
    Fault {
        name: "warm-up",
        planted: "the server's requests take longer until it has warmed up",
        doses: "2 to 8 times as long, until a moment before the warm-up's end or in the first 60 % of the window",
        right: "invalid (not steady), or valid with true figures",
        truth: RECURSION,
        plant: warm_up,
    },
    Fault {
        name: "overload",
        planted: "the load is more than the server can do",
        doses: "1.05 to 1.5 times",
        right: "overloaded",
        truth: OWN_RECURSION,
        plant: overload,
    },
];

/// A scene whose server commits the misdeed on a share of its requests, which is drawn from this range.
fn odd(chance: &mut Chance, misdeed: Misdeed, (low, high): (f64, f64)) -> Result<Scene> {
    let mut scene = Scene::new(chance)?;
    scene.odd = Some(Odd { misdeed, share: chance.magnitude(low, high), seed: chance.seed() });
    Ok(scene)
}

/// Some requests fail; `few` is right if they are no more than a verdict allows.
fn fails(chance: &mut Chance, misdeed: Misdeed, few: Right) -> Result<Outcome> {
    let scene = odd(chance, misdeed, (1e-4, 0.1))?;
    let (_, failed) = scene.odd_requests();
    let right = if failed > ERRORS_ALLOWED { Right::Invalid(FAILED) } else { few };
    Ok(scene.judged(format!("{:.2} % of the requests", 100.0 * failed), right).into())
}

fn early(chance: &mut Chance) -> Result<Outcome> {
    let scene = odd(chance, Misdeed::AnswersEarly, (2e-4, 0.02))?;
    let (hit, _) = scene.odd_requests();
    // One is enough: from there on, responses and requests of the connection no longer match.
    let right = if hit > 0 { Right::Invalid(FAILED) } else { Right::Valid };
    Ok(scene.judged(format!("{hit} answers"), right).into())
}

/// Fewer requests than elsewhere, since each needs a TLS handshake; up to 30 connections end at once.
const ENDS_RPS: f64 = 300.0;

fn ends_many(chance: &mut Chance) -> Result<Outcome> {
    let mut scene = Scene::new(chance)?;
    let each = chance.span(Nanos::from_millis(10), Nanos::from_millis(100));
    scene.plan.load = Load::steady(Process::Poisson, Rate::new(ENDS_RPS)?);
    (scene.plan.depth, scene.plan.binding) = (1, Binding::Idle);
    // Enough that no request waits for a connection.
    scene.plan.endpoints[0].connections = 128;
    scene.ends_each = Some(each);
    let truth = scene.clone().play().claimed();
    scene.tls = true;
    Ok(scene.play().judged(format!("each {each}"), &truth, Right::Valid).into())
}

/// The period of a quota. Source: the kernel's default for control groups.
const PERIOD: Nanos = Nanos::from_millis(100);
/// Near its limit, both verdicts are right for a server.
const NEAR_LIMIT: f64 = 0.85;

fn throttles(chance: &mut Chance) -> Result<Outcome> {
    let mut scene = Scene::new(chance)?;
    let quota = chance.between(0.3, 0.95);
    let pause = Nanos(((1.0 - quota) * PERIOD.0 as f64) as u64);
    let periods = (scene.closes() + scene.plan.drain).since(START).0 / PERIOD.0;
    scene.service.pauses = Stalls::periodic(START - PERIOD, PERIOD, pause, periods);
    let needs = scene.utilisation() / quota;
    let right = match needs {
        _ if needs > 1.0 / NEAR_LIMIT => Right::Overloaded,
        _ if needs > NEAR_LIMIT => Right::ValidOrOverloaded,
        _ => Right::Valid,
    };
    let dose = format!("{:.0} % of the time, of which {:.0} % are needed", 100.0 * quota, 100.0 * needs);
    Ok(scene.judged(dose, right).into())
}

/// No pause begins this close to the window's end: delayed requests would not be answered in the window, which is
/// overload.
const QUIET_END: Nanos = Nanos::from_millis(300);

fn collector(chance: &mut Chance) -> Result<Outcome> {
    let mut scene = Scene::new(chance)?;
    let pause = chance.span(Nanos::from_millis(5), Nanos::from_millis(60));
    let every = chance.span(Nanos::from_millis(300), Nanos::from_millis(700));
    let first = scene.opens() + Nanos((chance.unit() * every.0 as f64) as u64);
    let last = scene.closes() - QUIET_END;
    let count = last.since(first).0 / every.0 + 1;
    // The stalls begin one period after the given moment.
    scene.service.pauses = Stalls::periodic(first - every, every, pause, count);
    Ok(scene.judged(format!("{pause} each {every}"), Right::Valid).into())
}

fn warm_up(chance: &mut Chance) -> Result<Outcome> {
    let mut scene = Scene::new(chance)?;
    let factor = chance.between(2.0, 8.0);
    let warm: Time =
        START + Nanos((chance.unit() * (scene.plan.warmup.0 as f64 + 0.6 * WINDOW.0 as f64)) as u64);
    scene.service.slow = Some((warm, factor));
    let into = warm.0 as f64 - scene.opens().0 as f64;
    let dose = format!("{factor:.1} times as long until {:+.0} ms from the window's start", into / 1e6);
    Ok(scene.judged(dose, Right::TrueOrInvalid(&[Reason::NotSteady])).into())
}

fn overload(chance: &mut Chance) -> Result<Outcome> {
    let mut scene = Scene::new(chance)?;
    let load = chance.between(1.05, 1.5);
    scene.service.mean = Nanos((scene.service.mean.0 as f64 * load / scene.utilisation()) as u64);
    Ok(scene.judged(format!("{load:.2} times"), Right::Overloaded).into())
}
