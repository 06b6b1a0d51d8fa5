use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Verdict;

/// One measurement of a study: one series at one point in one block.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Cell {
    /// Its series.
    pub series: String,
    /// Its position on the axis of the study.
    pub x: X,
    /// The block, from 0; machines drift from block to block.
    pub block: u32,
    /// Measured figures, named with their unit: `latency_us_p99`, `achieved_rps`, `within_1ms_share`. A figure that
    /// could not be measured is absent, never 0.
    pub metrics: BTreeMap<String, f64>,
    /// The response-time distribution: pairs of percentile (0 to 100) and µs, rising. Empty if not requested.
    #[serde(default)]
    pub curve: Vec<(f64, f64)>,
    /// Whether the figures are trustworthy, and why not.
    pub verdict: Verdict,
    /// Whether generator or host lengthened its response times beyond the uncertainty of a usable figure.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub slowed: bool,
    /// Its trial: the experiment's folder, relative to the study's, and the trial's id, as `FOLDER#0007`.
    pub trial: Option<String>,
    /// The same metrics at the reference point of its block; a ratio to them cancels the drift of the machine.
    pub reference: BTreeMap<String, f64>,
    /// If this trial replaces an earlier one of the same block: the label of the earlier trial's verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead_of: Option<String>,
}

impl Cell {
    /// The metric divided by its value at the block's reference point; `None` if either is absent or 0.
    pub fn ratio(&self, metric: &str) -> Option<f64> {
        let (own, reference) = (self.metrics.get(metric)?, self.reference.get(metric)?);
        (*own > 0.0 && *reference > 0.0).then(|| own / reference)
    }
}

/// A position on an axis: a number, or a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum X {
    /// A number in the unit of the axis.
    Number(f64),
    /// One of the axis' categories.
    Category(String),
}

impl X {
    /// The number; `None` for a category.
    pub fn number(&self) -> Option<f64> {
        match self {
            X::Number(number) => Some(*number),
            X::Category(_) => None,
        }
    }

    /// Total order: numbers by value, then names alphabetically.
    pub fn total_cmp(&self, other: &X) -> Ordering {
        match (self, other) {
            (X::Number(a), X::Number(b)) => a.total_cmp(b),
            (X::Number(_), X::Category(_)) => Ordering::Less,
            (X::Category(_), X::Number(_)) => Ordering::Greater,
            (X::Category(a), X::Category(b)) => a.cmp(b),
        }
    }
}

impl Default for X {
    fn default() -> X {
        X::Number(0.0)
    }
}

impl From<f64> for X {
    fn from(number: f64) -> X {
        X::Number(number)
    }
}

impl From<&str> for X {
    fn from(name: &str) -> X {
        X::Category(name.to_owned())
    }
}

impl fmt::Display for X {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            X::Number(number) => write!(f, "{number}"),
            X::Category(name) => f.pad(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_needs_both_figures() {
        let check = |own: Option<f64>, reference: Option<f64>, expect: Option<f64>| {
            let map = |value: Option<f64>| -> BTreeMap<String, f64> {
                value.into_iter().map(|v| ("latency_us_p99".to_owned(), v)).collect()
            };
            let cell = Cell { metrics: map(own), reference: map(reference), ..Cell::default() };
            assert_eq!(cell.ratio("latency_us_p99"), expect);
            assert_eq!(cell.ratio("latency_us_p50"), None);
        };
        check(Some(30.0), Some(20.0), Some(1.5));
        check(Some(30.0), None, None);
        check(None, Some(20.0), None);
        check(Some(0.0), Some(20.0), None);
        check(Some(1.0), Some(0.0), None);
    }

    #[test]
    fn places_keep_their_kind_and_have_an_order() {
        let check = |x: X, json: &str| {
            assert_eq!(serde_json::to_string(&x).unwrap(), json);
            assert_eq!(serde_json::from_str::<X>(json).unwrap(), x);
        };
        check(X::Number(0.7), "0.7");
        check("4-7".into(), "\"4-7\"");
        let mut mixed: Vec<X> = vec!["b".into(), 10.0.into(), "a".into(), 9.0.into()];
        mixed.sort_by(X::total_cmp);
        let expect: [X; 4] = [9.0.into(), 10.0.into(), "a".into(), "b".into()];
        assert_eq!(mixed, expect);
    }
}
