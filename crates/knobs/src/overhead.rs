//! The time to apply a knob: the paper's Table IV for this host.

use std::ops::ControlFlow;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::{Action, Engine, Entry, Error};

/// The time to apply a knob once, over many applications.
///
/// Units: µs. The journal is written once for all, and reverts are not counted: the paper counts applications only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Overhead {
    /// The number of times it was applied.
    pub times: u64,
    /// The mean.
    pub mean_us: f64,
    /// The standard deviation.
    pub deviation_us: f64,
    /// The fastest.
    pub least_us: f64,
    /// Half of them were faster.
    pub p50_us: f64,
    /// 99 % were faster; `None` with fewer than 1000.
    pub p99_us: Option<f64>,
    /// The slowest.
    pub most_us: f64,
}

/// The fewest samples for a p99: 10 beyond it.
const FEWEST_FOR_P99: usize = 1000;

/// Applies `plan` `times` times, and reverts it each time.
///
/// `progress` gets the number done, and may end it early. Errors: as [`Engine::apply`]; the host is then as before.
pub fn measure(
    engine: &Engine,
    plan: &[Action],
    times: u64,
    mut progress: impl FnMut(u64) -> ControlFlow<()>,
) -> Result<Overhead, Error> {
    if times == 0 {
        return Err(Error::usage("overhead", "nothing is measured 0 times", "write --times 1 or more"));
    }
    // Applied once through the journal, so that an undo can revert a crash in any later pass.
    let applied = engine.apply(plan)?;
    let mut samples = Vec::with_capacity(usize::try_from(times).unwrap_or_default().min(1 << 20));
    let (kernel, lock) = (&*applied.inner.kernel, &applied.inner.lock);
    for done in 0..times {
        // The journal already holds the previous state, so this is not noted.
        for Entry { action, before, .. } in applied.made.iter().rev().filter(|made| !made.action.scratch) {
            let put = action.step.put(kernel, before, lock);
            put.map_err(|e| Error::of_putting_back(action, &e))?;
        }
        let start = Instant::now();
        for action in applied.actions() {
            let put = action.step.put(kernel, &action.step.wanted(), lock);
            put.map_err(|e| Error::of_io(action, "the kernel refused it", &e))?;
        }
        samples.push(start.elapsed().as_secs_f64() * 1e6);
        if progress(done + 1).is_break() {
            break;
        }
    }
    applied.revert()?;
    Ok(summary(&mut samples))
}

fn summary(samples: &mut [f64]) -> Overhead {
    samples.sort_unstable_by(f64::total_cmp);
    let count = samples.len() as f64;
    let mean = samples.iter().sum::<f64>() / count;
    let squares: f64 = samples.iter().map(|us| (us - mean).powi(2)).sum();
    let deviation = if samples.len() > 1 { (squares / (count - 1.0)).sqrt() } else { 0.0 };
    // The smallest sample that at least this share does not exceed.
    let rank = |share: f64| samples[((count * share).ceil() as usize).clamp(1, samples.len()) - 1];
    Overhead {
        times: samples.len() as u64,
        mean_us: mean,
        deviation_us: deviation,
        least_us: samples[0],
        p50_us: rank(0.5),
        p99_us: (samples.len() >= FEWEST_FOR_P99).then(|| rank(0.99)),
        most_us: samples[samples.len() - 1],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_up() {
        let mut samples = vec![3.0, 1.0, 2.0, 6.0];
        let found = summary(&mut samples);
        assert_eq!((found.times, found.mean_us, found.p50_us, found.p99_us), (4, 3.0, 2.0, None));
        assert_eq!((found.least_us, found.most_us), (1.0, 6.0));
        assert!((found.deviation_us - (14.0_f64 / 3.0).sqrt()).abs() < 1e-12);
        let mut many: Vec<f64> = (1..=1000).map(f64::from).collect();
        assert_eq!(summary(&mut many).p99_us, Some(990.0));
        assert_eq!(summary(&mut [5.0]).deviation_us, 0.0);
    }
}
