//! A comparison that is repeated many times.

use anyhow::Result;
use results::{Ratio, Reading};
use serde::Serialize;
use stats::{LEVEL, Looks, Paired};

use super::world::World;
use super::{MISSED, SETTLED};
use crate::faults::chance::Chance;

/// Difference planted in the second server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Planted {
    /// No difference.
    Nothing,
    /// More processor time for each request.
    ProcessorTime,
    /// Each response is sent later.
    Delay,
}

/// A comparison with a known true ratio.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Case {
    pub(super) planted: Planted,
    /// Whether noise is planted, in both servers and the generator.
    pub(super) noise: bool,
    /// The true ratio of the second server's windowed p99 to the first's.
    pub(super) true_ratio: f64,
}

/// Results of a case.
#[derive(Debug, Serialize)]
pub(super) struct CaseResult {
    #[serde(flatten)]
    case: Case,
    comparisons: u64,
    /// Comparisons that ended as "different".
    different: u64,
    /// Comparisons that ended as "no difference".
    alike: u64,
    /// Comparisons whose interval contains the true ratio.
    hold: u64,
    /// Number of pairs of each comparison, ascending.
    pairs: Vec<u32>,
    /// The median over the comparisons of the half width of the interval, as a share of its middle.
    half_width: f64,
}

impl Case {
    /// Runs `comparisons` comparisons of at most `most` pairs each.
    pub(super) fn run(
        self,
        world: &World<'_>,
        seed: u64,
        comparisons: u64,
        most: usize,
        tell: &mut impl FnMut(&str),
    ) -> Result<CaseResult> {
        let (mut different, mut alike, mut hold) = (0, 0, 0);
        let (mut pairs, mut widths) = (Vec::new(), Vec::new());
        for number in 0..comparisons {
            let ended = self.compare(world, seed, number, most)?;
            let (low, high) = ended.low.zip(ended.high).expect("a judged ratio has an interval");
            different += u64::from(ended.differs());
            alike += u64::from(ended.is_alike());
            hold += u64::from((low..=high).contains(&self.true_ratio));
            pairs.push(ended.n);
            widths.push((high - low) / (high + low));
            tell(&format!(
                "{}: comparison {} of {comparisons}: {:.3} ({low:.3} to {high:.3}) after {} pairs",
                self.title(),
                number + 1,
                ended.value,
                ended.n
            ));
        }
        pairs.sort_unstable();
        Ok(CaseResult {
            case: self,
            comparisons,
            different,
            alike,
            hold,
            pairs,
            half_width: stats::median(&widths).unwrap_or(f64::NAN),
        })
    }

    /// Compares the two servers, pair by pair in a random order, until the comparison is settled or the pairs run out.
    /// A pair with a missing figure is measured again.
    fn compare(self, world: &World<'_>, seed: u64, number: u64, most: usize) -> Result<Ratio> {
        let mut chance = Chance::of(seed, &self.title(), number);
        let (mut first, mut second) = (Vec::new(), Vec::new());
        let mut last = None;
        for look in Looks::new(LEVEL) {
            if look.pairs > most && last.is_some() {
                break;
            }
            while first.len() < look.pairs {
                let (seed, swapped) = (chance.seed(), chance.unit() < 0.5);
                let planted = [None, Some(self.planted)];
                let order = if swapped { [1, 0] } else { [0, 1] };
                let mut figures = [Reading::default(); 2];
                for place in order {
                    figures[place] = world.trial(planted[place], self.noise, seed, &mut chance)?;
                }
                if let Some((a, b)) = Reading::pair(figures[0], figures[1]) {
                    first.push(a);
                    second.push(b);
                }
            }
            last = Paired::compare_at(&second, &first, look.level).and_then(judged).or(last);
            if last.is_some_and(|ended| ended.differs() || ended.is_alike()) {
                break;
            }
        }
        Ok(last.expect("the later looks have intervals"))
    }

    fn title(self) -> String {
        let what = match self.planted {
            Planted::Nothing => "alike",
            Planted::ProcessorTime => "+10 % processor time",
            Planted::Delay => "+20 µs",
        };
        format!("{what}{}", if self.noise { ", noise" } else { "" })
    }
}

/// The ratio of a look that has an interval, as the laboratory judges it.
fn judged(found: Paired) -> Option<Ratio> {
    let interval = found.interval?;
    let (low, high) = (Some(interval.low), Some(interval.high));
    Some(Ratio { value: found.ratio, low, high, n: found.n as u32, judged: true, p_value: found.p_value })
}

impl CaseResult {
    /// Whether the case is within its limits, allowing for chance.
    pub(super) fn within(&self) -> bool {
        let few = |count: u64, share: f64| at_least(self.comparisons, share, count) >= 0.05;
        let covered = few(self.comparisons - self.hold, MISSED);
        match self.case.planted {
            Planted::Nothing => covered && few(self.different, MISSED),
            _ => covered && few(self.comparisons - self.different, 1.0 - SETTLED),
        }
    }

    pub(super) fn words(&self) -> String {
        format!(
            "{}: {} of {} different, {} hold the true ratio of {:.3}",
            self.case.title(),
            self.different,
            self.comparisons,
            self.hold,
            self.case.true_ratio,
        )
    }

    pub(super) fn columns() -> Vec<&'static str> {
        vec![
            "second server",
            "true ratio",
            "comparisons",
            "different",
            "no difference",
            "hold the truth",
            "pairs (median, most)",
            "interval (median)",
            "within the bars",
        ]
    }

    pub(super) fn row(&self) -> Vec<String> {
        let of = self.comparisons;
        let share = |count: u64| format!("{:.0} %", 100.0 * count as f64 / of.max(1) as f64);
        let pairs = (self.pairs.get(self.pairs.len() / 2), self.pairs.last());
        vec![
            self.case.title(),
            format!("{:.3}", self.case.true_ratio),
            of.to_string(),
            share(self.different),
            share(self.alike),
            share(self.hold),
            format!("{}, {}", pairs.0.unwrap_or(&0), pairs.1.unwrap_or(&0)),
            format!("± {:.1} %", 100.0 * self.half_width),
            if self.within() { "yes" } else { "NO" }.into(),
        ]
    }
}

/// The probability that at least `k` of `n` trials succeed, each with the probability `p`.
fn at_least(n: u64, p: f64, k: u64) -> f64 {
    let mut term = (1.0 - p).powi(n as i32);
    let mut below = 0.0;
    for i in 0..k {
        below += term;
        term *= (n - i) as f64 / (i + 1) as f64 * p / (1.0 - p);
    }
    (1.0 - below).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_binomial_tail_is_right() {
        assert_eq!(at_least(10, 0.5, 0), 1.0);
        assert!((at_least(10, 0.5, 10) - 0.5f64.powi(10)).abs() < 1e-12);
        assert!((at_least(100, 0.05, 6) - 0.384).abs() < 1e-3);
    }

    /// A short calibration, with noise.
    #[test]
    fn alike_servers_are_seldom_called_different_and_others_are_told_apart() {
        let seed = 1;
        let run = |planted: Planted, comparisons: u64, most: usize| {
            let true_ratio = World::Simulated.truth(planted, seed).unwrap();
            let case = Case { planted, noise: true, true_ratio };
            case.run(&World::Simulated, seed, comparisons, most, &mut |line| println!("{line}")).unwrap()
        };
        for (planted, comparisons, most) in
            [(Planted::Nothing, 4, 9), (Planted::ProcessorTime, 2, 28), (Planted::Delay, 2, 28)]
        {
            let result = run(planted, comparisons, most);
            assert!(result.within(), "seed {seed}: {}", result.words());
        }
    }
}
