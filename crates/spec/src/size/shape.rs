use std::sync::Arc;

use super::law::Law;
use super::{etc, web};

/// A distribution of sizes before they are clipped.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shape {
    /// Uniform from the first to the last; fixed if both are equal.
    Uniform(u64, u64),
    Law(Law),
    EtcKey,
    EtcValue,
    Web,
    List(Arc<[Listed]>),
}

/// One size of a list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Listed {
    pub(crate) size: u64,
    pub(crate) weight: f64,
    /// The share of this and all before it, 0 to 1.
    pub(crate) up_to: f64,
}

impl Shape {
    /// A list from sizes in ascending order and their weights, at least one of them over 0.
    pub(crate) fn list(entries: &[(u64, f64)]) -> Shape {
        let total: f64 = entries.iter().map(|(_, weight)| weight).sum();
        let mut sum = 0.0;
        let listed = entries.iter().map(|&(size, weight)| {
            sum += weight;
            Listed { size, weight, up_to: sum / total }
        });
        Shape::List(listed.collect())
    }

    /// The size that belongs to a share `u`, rounded to the nearest whole one; infinite at an end that is not bounded.
    #[inline]
    pub(crate) fn quantile(&self, u: f64) -> f64 {
        match self {
            Shape::Uniform(min, max) => {
                *min as f64 + (u * ((max - min) as f64 + 1.0)).floor().min((max - min) as f64)
            }
            Shape::Law(law) => law.quantile(u).round(),
            Shape::EtcKey => etc::KEY.quantile(u).round(),
            Shape::EtcValue => etc::value_quantile(u).round(),
            Shape::Web => web::FILE.quantile(u).round(),
            Shape::List(list) => {
                let at = list.partition_point(|listed| listed.up_to <= u);
                // A share of 1 belongs to the last that can be drawn at all.
                let last = list.iter().rposition(|listed| listed.weight > 0.0).unwrap_or(0);
                list[at.min(last)].size as f64
            }
        }
    }
}
