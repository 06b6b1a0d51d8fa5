use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Qos;

use crate::Peak;

/// Two targets side by side: figures at the same load, and their ratios.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// The first side, the denominator of every ratio.
    pub a: Side,
    /// The second side.
    pub b: Side,
    /// Whether the trials alternated within one run, so that the machine's drift cancels.
    pub paired: bool,
    /// The quality-of-service target of both sides.
    #[schemars(with = "crate::schema::Qos")]
    pub qos: Qos,
    /// What differs between the two besides the target, in words; reasons for doubt.
    pub differences: Vec<String>,
    /// One row per load, rising.
    pub points: Vec<ComparisonPoint>,
    /// The two peaks and their ratio.
    pub peaks: Option<PeakPair>,
    /// What the reader must know, such as that trials were invalid.
    pub notes: Vec<String>,
}

/// One side of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Side {
    /// How the tables call it.
    pub label: String,
    /// The folder that it came from.
    pub folder: String,
    /// The name of its target.
    pub target: String,
}

/// The two sides at one load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparisonPoint {
    /// The offered load of both, as a share of the reference maximum where they were run so.
    pub load_share: Option<f64>,
    /// The offered load of side a, median over its trials.
    pub offered_rps_a: f64,
    /// The offered load of side b, median over its trials.
    pub offered_rps_b: f64,
    /// One figure each, with the ratio b/a.
    pub ratios: Vec<RatioInterval>,
    /// Trials left out as invalid, on either side.
    pub invalid_trials: u32,
}

/// Which figure of the response time is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "each variant is its name")]
pub enum Metric {
    Mean,
    P50,
    P99,
    WindowedP99,
    P999,
}

impl Metric {
    /// The name that tables print.
    pub fn words(self) -> &'static str {
        match self {
            Metric::Mean => "mean",
            Metric::P50 => "p50",
            Metric::P99 => "p99",
            Metric::WindowedP99 => "windowed p99",
            Metric::P999 => "p99.9",
        }
    }
}

/// A ratio b/a with its spread over repeats.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RatioInterval {
    /// The figure.
    pub metric: Metric,
    /// Side a: the median over its repeats.
    pub a_us: f64,
    /// Side b: the median over its repeats.
    pub b_us: f64,
    /// The median ratio b/a; below 1 means that b is faster.
    pub ratio: f64,
    /// Lower end: of the 95 % interval where `judged`, else the smallest ratio seen.
    pub low: f64,
    /// Upper end, likewise.
    pub high: f64,
    /// Pairs (or the smaller number of repeats) behind it.
    pub n: u32,
    /// From 6 repeats on: the interval is a bootstrap interval and `p_value` a test. Below: too few to judge.
    pub judged: bool,
    /// Of the paired test of "no difference".
    pub p_value: Option<f64>,
}

/// The two peaks and their ratio.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PeakPair {
    /// Side a.
    pub a: Peak,
    /// Side b.
    pub b: Peak,
    /// b/a of the two lower ends.
    pub ratio: f64,
    /// The smallest ratio that the two intervals allow.
    pub low: f64,
    /// The largest; `None` where a peak has no upper end.
    pub high: Option<f64>,
}
