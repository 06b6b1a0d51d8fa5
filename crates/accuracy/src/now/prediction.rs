//! The smallest difference that a comparison of two minutes would detect, from pairs of trials of one and the same server.

use serde::Serialize;
use stats::{LEVEL, Looks};

/// The time of the comparison. Units: s.
const TIME_S: f64 = 120.0;
/// The time to find the maxima of both servers. Units: s. Source: two searches of a dozen trials of 1 s window and 0.5 s warm-up each
/// (`taillight compare --live`).
const SEARCH_S: f64 = 40.0;
/// A block: a pair at each of two loads, four trials of 0.5 s warm-up, a window of 1 s, and 0.3 s to start and to drain. Units: s.
const BLOCK_S: f64 = 4.0 * 1.8;
/// The window of its trials. Units: s.
const WINDOW_S: f64 = 1.0;
/// The probability of detecting the difference. Source: the usual 80 % of power analyses (Cohen, *Statistical Power Analysis for the
/// Behavioral Sciences*, 1988).
const POWER: f64 = 0.8;
/// No prediction if only a larger factor is detectable. Source: ours, since such a difference is obvious without a comparison.
const MOST: f64 = 10.0;
/// What most people want to tell. Source: that within which a live comparison calls two servers alike.
const WANTED: f64 = 0.05;
/// The fewest pairs for an estimate of the spread. Source: the relative error of a spread from n pairs is 1/√(2n), which is 35 % for 4.
pub(super) const FEWEST: usize = 4;
/// Seed of the draws, so that the same trials give the same prediction.
const SEED: u64 = 1;

/// The predicted resolution of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Prediction {
    /// How long it takes. Units: s.
    pub(super) time_s: f64,
    /// Pairs of trials at each load.
    pub(super) pairs: usize,
    /// The window of a trial. Units: s.
    pub(super) window_s: f64,
    /// The smallest detectable difference of windowed p99s: 0.12 for 12 %.
    pub(super) difference: f64,
    /// The probability of detecting it, 0 to 1...
    pub(super) power: f64,
    /// ...at this two-sided error.
    pub(super) level: f64,
    /// The time to detect a difference of 5 %, if `time_s` is too short for it. Units: minutes.
    pub(super) minutes_for_5_percent: Option<f64>,
}

/// Predicts the resolution from the windowed p99s of pairs of trials; `None` if there are too few pairs for a spread, or the spread is
/// too large.
pub(super) fn predict(measured: &[[f64; 2]]) -> Option<Prediction> {
    let ratios: Vec<f64> = measured.iter().map(|[a, b]| (a / b).ln()).filter(|log| log.is_finite()).collect();
    if ratios.len() < FEWEST {
        return None;
    }
    let most = ((TIME_S - SEARCH_S) / BLOCK_S) as usize;
    let look =
        Looks::new(LEVEL).take_while(|look| look.pairs <= most).filter(|look| look.level > 0.0).last()?;
    let reach = stats::reach(&ratios, look.pairs, look.level, POWER, SEED)?;
    let times = reach / WANTED.ln_1p();
    let minutes = (SEARCH_S + BLOCK_S * look.pairs as f64 * times * times) / 60.0;
    (reach <= MOST.ln()).then(|| Prediction {
        time_s: TIME_S,
        pairs: look.pairs,
        window_s: WINDOW_S,
        difference: reach.exp_m1(),
        power: POWER,
        level: LEVEL,
        minutes_for_5_percent: (times > 1.0).then_some(minutes),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pairs(logs: &[f64]) -> Vec<[f64; 2]> {
        logs.iter().map(|log| [100.0 * log.exp(), 100.0]).collect()
    }

    #[test]
    fn a_restless_machine_tells_less() {
        let logs = [0.01, -0.03, 0.02, 0.005, -0.015, 0.03];
        let quiet = predict(&pairs(&logs)).unwrap();
        // The last look that fits in.
        assert_eq!(quiet.pairs, 9);
        assert!((0.01..0.05).contains(&quiet.difference), "{quiet:?}");
        assert_eq!(quiet.minutes_for_5_percent, None);
        let restless = predict(&pairs(&logs.map(|log| 10.0 * log))).unwrap();
        assert!(restless.difference > 5.0 * quiet.difference, "{restless:?}");
        assert!(restless.minutes_for_5_percent.is_some_and(|minutes| minutes > 2.0), "{restless:?}");
    }

    #[test]
    fn nothing_is_predicted_from_too_little_or_of_too_much() {
        assert_eq!(predict(&[]), None);
        assert_eq!(predict(&pairs(&[0.01; 3])), None);
        assert_eq!(predict(&pairs(&[3.0, -3.0, 3.0, 3.0, -3.0, 3.0])), None);
        assert_eq!(predict(&[[0.0, 1.0]; 6]), None);
        assert_eq!(predict(&pairs(&[0.0; 6])).unwrap().difference, 0.0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn a_prediction_is_a_difference(logs in prop::collection::vec(-2.0..2.0f64, 4..9)) {
            if let Some(told) = predict(&pairs(&logs)) {
                prop_assert!(told.difference >= 0.0 && told.difference <= MOST - 1.0 + 1e-9);
                prop_assert!(told.pairs >= stats::fewest(LEVEL));
                prop_assert!(told.minutes_for_5_percent.is_none_or(|minutes| minutes.is_finite()));
            }
        }
    }
}
