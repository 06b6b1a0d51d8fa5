//! Validates the ruler against servers with known response times, on the real clock.
//!
//! A queue's response times vary widely from run to run, so a few seconds cannot confirm a formula. Each run is
//! therefore compared with a simulation of the very same arrivals and service times. The remaining difference is the
//! error of the ruler and of the machine: a few tens of µs for the wires, against a service time of 2 ms.

use anyhow::Result;
use dist::{Gap, Process};
use openloop::{Endpoint, Load, Plan};
use reactor::allowed_cpus;
use reference_servers::Stalls;
use reference_servers::null::Service;
use units::{Nanos, Rate};

use crate::known::{SIMULATED, measure, plan, simulate};

/// Mean service time of the queue: the wires and wake-ups, some 20 µs, are 1 % of it.
const SERVICE: Nanos = Nanos::from_millis(2);
/// Tolerances at p50 and p99, on a quiet machine.
const TOLERANCE: (f64, f64) = (0.05, 0.10);
/// A run that the host disturbed is repeated this often.
const TRIES: u32 = 3;

/// Comparison of a measured figure with the known one.
struct Check {
    what: String,
    expect: Nanos,
    got: Nanos,
    tolerance: f64,
}

impl Check {
    fn error(&self) -> f64 {
        self.got.0 as f64 / self.expect.0 as f64 - 1.0
    }

    fn holds(&self) -> bool {
        self.error().abs() <= self.tolerance
    }
}

/// Compares measured response times with known ones, prints each comparison and returns the number of excessive
/// differences.
///
/// Errors: a null server that does not run.
pub fn selftest(window: Nanos, seed: u64) -> Result<usize> {
    let cpus = allowed_cpus()?;
    if cpus.len() < 2 {
        anstream::println!("note: server and generator share one processor; expect errors of some 10 %");
    }
    anstream::println!("{:34} {:>10} {:>10} {:>8} {:>7}", "check", "known", "measured", "error", "allowed");
    let mut failed = 0;
    for utilisation in [0.2, 0.4, 0.6, 0.8] {
        failed += attempt(|| queue(utilisation, window, seed, &cpus))?;
    }
    failed += attempt(|| stall(window, seed, &cpus))?;
    Ok(failed)
}

/// Runs a comparison, repeats it if the host disturbed it, and prints the last one. Returns the number of failed
/// checks.
fn attempt(run: impl Fn() -> Result<(Vec<Check>, u64, String)>) -> Result<usize> {
    for attempt in 1.. {
        let (checks, stalls, remark) = run()?;
        let failed = checks.iter().filter(|check| !check.holds()).count();
        if failed > 0 && stalls > 0 && attempt < TRIES {
            anstream::println!("  (the host stalled {stalls} times; once more)");
            continue;
        }
        for check in &checks {
            anstream::println!(
                "{:34} {:>10} {:>10} {:>+7.1} % {:>5.0} %{}",
                check.what,
                check.expect,
                check.got,
                100.0 * check.error(),
                100.0 * check.tolerance,
                if check.holds() { "" } else { "  FAILED" }
            );
        }
        if !remark.is_empty() {
            anstream::println!("  {remark}");
        }
        if failed > 0 && stalls > 0 {
            anstream::println!(
                "  (the host stalled {stalls} times in the last of {TRIES} tries: is it quiet?)"
            );
        }
        return Ok(failed);
    }
    unreachable!("the last attempt returns");
}

fn queue(utilisation: f64, window: Nanos, seed: u64, cpus: &[usize]) -> Result<(Vec<Check>, u64, String)> {
    let rps = utilisation / SERVICE.as_secs_f64();
    let service_seed = (seed + 1).to_string();
    let arguments = ["--service", "exponential:2ms", "--seed", &service_seed];
    let (measured, _) = measure(&arguments, |server| plan(server, rps, seed, window), cpus)?;
    let time = Gap::Exponential(SERVICE.0 as f64);
    let service = Service::Queue { time, stalls: Stalls::default(), seed: seed + 1 };
    let known = simulate(plan(SIMULATED, rps, seed, window)?, service);
    let (measured_all, known_all) = (measured.all(), known.all());
    let check = |percentile: f64, tolerance: f64| Check {
        what: format!("M/M/1 at {:.0} %, p{percentile} of {}", 100.0 * utilisation, known.tally.intended),
        expect: known_all.response_time.value_at(percentile).unwrap_or_default(),
        got: measured_all.response_time.value_at(percentile).unwrap_or_default(),
        tolerance,
    };
    let checks = vec![check(50.0, TOLERANCE.0), check(99.0, TOLERANCE.1)];
    Ok((checks, measured.stall_count, String::new()))
}

/// A server that stalls for 100 ms in every second, with 1000 requests per second: a tenth of the requests
/// meets the stall and waits uniformly between 0 and 100 ms, so a hundredth waits for more than 90 ms.
fn stall(window: Nanos, seed: u64, cpus: &[usize]) -> Result<(Vec<Check>, u64, String)> {
    let whole_seconds = Nanos::from_secs(window.as_secs_f64().ceil() as u64);
    let (measured, _) = measure(
        &["--stall", "1s:100ms"],
        |server| {
            Ok(Plan {
                endpoints: vec![Endpoint { address: server.into(), connections: 1 }],
                load: Load::steady(Process::Constant, Rate::new(1000.0)?),
                depth: 1,
                ..plan(server, 1000.0, seed, whole_seconds)?
            })
        },
        cpus,
    )?;
    let all = measured.all();
    let closed = all.service_time.value_at(99.0).unwrap_or_default();
    let checks = vec![Check {
        what: "100 ms stall each second, p99".into(),
        expect: Nanos::from_millis(90),
        got: all.response_time.value_at(99.0).unwrap_or_default(),
        tolerance: TOLERANCE.0,
    }];
    Ok((checks, measured.stall_count, format!("a closed loop would have reported a p99 of {closed}")))
}
