//! The engine's response times against servers with known times.

use anyhow::Result;
use dist::Gap;
use openloop::{Footing, judge_strictly};
use reference_servers::Stalls;
use reference_servers::null::Service;
use results::{Noise, Verdict};
use serde::Serialize;
use units::Nanos;

use crate::known;
use crate::table::Table;
use crate::{Setting, noise_words, us};

/// Mean service time.
const SERVICE: Nanos = Nanos::from_millis(1);
/// Utilisations of the server.
const LOADS: [f64; 2] = [0.2, 0.5];
const PERCENTILES: [f64; 5] = [50.0, 90.0, 95.0, 99.0, 99.9];
/// Two figures from histograms are compared, each exact to 0.1 %.
const HISTOGRAM: f64 = 0.002;
/// Time that the wires and the two event loops may add: a send and a receive of some 5 µs each way on a virtual
/// machine, and the same again until a spinning loop polls, at the far end of their distributions.
const CONSTANT: Nanos = Nanos::from_micros(50);

/// One percentile of one server at one load.
#[derive(Serialize)]
pub(crate) struct ServerRow {
    service: &'static str,
    utilisation: f64,
    offered_rps: f64,
    requests: u64,
    percentile: f64,
    expected_us: Option<f64>,
    /// Bounds of the measured figure without generator and host.
    measured_us: Option<[f64; 2]>,
    allowed_us: Option<f64>,
    verdict: Verdict,
    noise: Noise,
    /// Whether both agree; `None` if too few requests lie beyond the percentile.
    pub(crate) within: Option<bool>,
}

pub(crate) fn run(setting: &Setting) -> Result<Vec<ServerRow>> {
    let mut rows = Vec::new();
    for (name, time) in
        [("constant", Gap::Constant(SERVICE.0 as f64)), ("exponential", Gap::Exponential(SERVICE.0 as f64))]
    {
        for utilisation in LOADS {
            rows.extend(server(name, time, utilisation, setting)?);
        }
    }
    Ok(rows)
}

fn server(name: &'static str, time: Gap, utilisation: f64, setting: &Setting) -> Result<Vec<ServerRow>> {
    let rps = utilisation / SERVICE.as_secs_f64();
    let seed = setting.seed + 1;
    let (service, seed_text) = (format!("{name}:{SERVICE}").replace(' ', ""), seed.to_string());
    let plan = |server| known::plan(server, rps, setting.seed, setting.window);
    let (measured, noise) =
        known::measure(&["--service", &service, "--seed", &seed_text], plan, &setting.cpus)?;
    let simulated = plan(known::SIMULATED)?;
    let verdict = judge_strictly(&measured, &simulated.load, Vec::new());
    let known = known::simulate(simulated, Service::Queue { time, stalls: Stalls::default(), seed });
    let (footing, expected) = (Footing::of(&measured), known.all().response_time);
    let row = |&percentile: &f64| {
        let [bounds] = footing.bounds_of_all([percentile]);
        let (expect, got) = expected.percentile(percentile).zip(bounds).unzip();
        ServerRow {
            service: name,
            utilisation,
            offered_rps: rps,
            requests: measured.tally.completed,
            percentile,
            expected_us: expect.map(Nanos::as_micros_f64),
            measured_us: got.map(|(low, high)| [low, high].map(Nanos::as_micros_f64)),
            allowed_us: expect.map(|expect| allowed(expect).as_micros_f64()),
            verdict: verdict.clone(),
            noise: noise.clone(),
            within: expect.zip(got).map(|(expect, got)| agree(expect, got)),
        }
    };
    Ok(PERCENTILES.iter().map(row).collect())
}

fn allowed(expect: Nanos) -> Nanos {
    Nanos((HISTOGRAM * expect.0 as f64) as u64) + CONSTANT
}

/// Whether the expected figure lies within the bounds of the measured figure, widened by the allowed deviation.
fn agree(expect: Nanos, (low, high): (Nanos, Nanos)) -> bool {
    low <= expect + allowed(expect) && expect <= high + allowed(expect)
}

pub(crate) fn bar() -> String {
    format!("{:.1} % and {CONSTANT} from those of servers of known times", 100.0 * HISTOGRAM)
}

/// The table of these rows; `None` without any.
pub(crate) fn table(rows: &[ServerRow]) -> Option<Table> {
    (!rows.is_empty()).then(|| Table {
        title: "Response times against servers of known times".into(),
        about: vec![
            "A null server with one queue. Expected: the simulation of the very same arrivals and service times, with wires that take no time. In µs.".into(),
        ],
        columns: vec![
            "service", "load", "requests", "percentile", "expected", "measured", "allowed", "within", "verdict",
            "noise",
        ],
        rows: rows.iter().map(|row| {
            vec![
                format!("{} {SERVICE}", row.service),
                format!("{:.0} rps, {:.0} %", row.offered_rps, 100.0 * row.utilisation),
                row.requests.to_string(),
                format!("p{}", row.percentile),
                us(row.expected_us),
                bounds(row.measured_us),
                us(row.allowed_us),
                crate::met(row.within),
                row.verdict.to_string(),
                noise_words(&row.noise),
            ]
        }).collect(),
        notes: vec![
            "—: fewer than 10 requests lie beyond the percentile; p99.9 takes 10 000 requests.".into(),
            "measured: one figure, or its bounds without what generator and host may have added.".into(),
            format!("allowed: {:.1} % of the expected figure for the two histograms, and {CONSTANT} for wires and event loops.", 100.0 * HISTOGRAM),
            "Generator: 16 connections, depth 4096, Poisson arrivals, spinning; the server spins, too.".into(),
        ],
    })
}

/// One figure, or both bounds.
fn bounds(measured: Option<[f64; 2]>) -> String {
    match measured {
        Some([low, high]) if us(Some(low)) != us(Some(high)) => {
            format!("{}–{}", us(Some(low)), us(Some(high)))
        }
        measured => us(measured.map(|[low, _]| low)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_is_bounded_by_the_histogram_and_a_constant() {
        let check = |expect: u64, got: u64, within: bool| {
            let got = Nanos::from_micros(got);
            assert_eq!(agree(Nanos::from_micros(expect), (got, got)), within, "{expect} {got}");
        };
        check(1_000, 1_052, true);
        check(1_000, 1_053, false);
        check(1_000, 948, true);
        check(1_000, 947, false);
        check(100_000, 100_250, true);
        check(100_000, 100_251, false);
        check(0, 50, true);
        let (low, high) = (Nanos::from_micros(800), Nanos::from_micros(2_000));
        let inside =
            [700, 748, 749, 1_500, 2_053, 2_055].map(|us| agree(Nanos::from_micros(us), (low, high)));
        assert_eq!(inside, [false, false, true, true, true, false]);
    }
}
