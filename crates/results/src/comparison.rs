use serde::{Deserialize, Serialize};
use stats::{Interval, MIN_TO_JUDGE, needed};

use crate::Metric;
use crate::study::{Axis, ClaimVerdict, Effort, FigureKind, Point};

/// The version of the schema of a comparison's record.
pub const COMPARISON_SCHEMA: u32 = 1;

/// Two results side by side: two targets, one study on two machines, or a study and its rerun.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Comparison {
    /// The [`COMPARISON_SCHEMA`] of the program that wrote it.
    pub schema: u32,
    /// The first side, the denominator of every ratio.
    pub a: Side,
    /// The second side.
    pub b: Side,
    /// The title of the study that produced both; `None` for results of single commands.
    pub study: Option<String>,
    /// Whether the trials alternated within one run, which cancels the machine's drift.
    pub paired: bool,
    /// Differences between the sides other than the target or the machine, in words; reasons for doubt.
    pub differences: Vec<String>,
    /// The figures that both sides have.
    pub figures: Vec<ComparedFigure>,
    /// The claims of a study that either side judged.
    pub claims: Vec<ComparedClaim>,
    /// Remarks for the reader, such as invalid trials.
    pub notes: Vec<String>,
}

impl Comparison {
    /// Whether any figure has a ratio, or a claim was judged.
    pub fn is_answered(&self) -> bool {
        let points = self.figures.iter().flat_map(|figure| &figure.series).flat_map(|series| &series.points);
        !self.claims.is_empty() || points.into_iter().any(|point| point.ratio.is_some())
    }
}

/// One side of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Side {
    /// Name of the side in tables.
    pub label: String,
    /// The folder of its result.
    pub folder: String,
    /// The name of its target; `None` for a study.
    pub target: Option<String>,
    /// The machine, in a line.
    pub machine: String,
    /// Time of measurement: RFC 3339, UTC.
    pub created: String,
    /// Effort of the study's run.
    pub effort: Option<Effort>,
}

/// A figure of both sides.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ComparedFigure {
    /// The figure's name within the study; [`ComparedFigure::LOADS`], [`ComparedFigure::CPU`] or [`ComparedFigure::PEAK`] for a single command.
    pub id: String,
    /// Heading.
    pub title: String,
    /// Kind of plot.
    pub kind: FigureKind,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The measured series of both sides.
    pub series: Vec<ComparedSeries>,
    /// Series and points that only one side has, in words.
    pub left_out: Vec<String>,
}

/// A series of both sides.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ComparedSeries {
    /// Its name.
    pub name: String,
    /// The points that both sides have.
    pub points: Vec<ComparedPoint>,
}

/// A point of both sides.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ComparedPoint {
    /// Side a; its position is the position of the point.
    pub a: Point,
    /// Side b; its position differs from a's if loads were matched by their share of the maximum.
    pub b: Point,
    /// b over a; `None` if either is missing or not positive.
    pub ratio: Option<Ratio>,
    /// The load as a share of the maximum throughput, if loads were matched by it.
    pub share: Option<f64>,
    /// Invalid trials of either side, left out.
    pub invalid: u32,
    /// Disturbed trials behind a paired ratio, which still count.
    #[serde(default)]
    pub disturbed: u32,
    /// The ratio without pairs that have a disturbed trial, as a check; `None` if no trial was disturbed.
    #[serde(default)]
    pub undisturbed: Option<Ratio>,
    /// Whether at least a quarter of a side's trials were overloaded: their response times depend on the length of the
    /// trial.
    pub overloaded: bool,
}

/// A ratio b/a with its spread over repeats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Ratio {
    /// The Hodges–Lehmann estimate of the ratios of pairs, or the ratio of two medians.
    pub value: f64,
    /// Lower end: of the interval if `judged` (95 %, or the level of the last look in a run until settled), otherwise
    /// the smallest observed ratio; `None` without a bound.
    pub low: Option<f64>,
    /// Upper end, defined the same way.
    pub high: Option<f64>,
    /// Number of pairs (or the smaller number of repeats).
    pub n: u32,
    /// Whether there are enough repeats for an interval, 6 of them at 95 %. Below: too few to judge.
    pub judged: bool,
    /// p-value of the paired test of "no difference"; `None` without pairs, or with too few.
    pub p_value: Option<f64>,
}

/// A claim on both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ComparedClaim {
    /// Its name within the study.
    pub id: String,
    /// The claim.
    pub text: String,
    /// The author of the claim, with the place in the publication.
    pub source: String,
    /// The verdict of side a and its measured figures; `None` if that side did not judge the claim.
    pub a: Option<(ClaimVerdict, String)>,
    /// The same of side b.
    pub b: Option<(ClaimVerdict, String)>,
}

/// The number of side b's figures that lie in the intervals of side a.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Agreement {
    /// Figures that lie in the interval.
    pub agreeing: usize,
    /// Figures with an interval on side a.
    pub all: usize,
    /// The widest half of an interval, as a share of its figure: a wide interval agrees with any figure.
    pub widest: f64,
}

impl Comparison {
    /// The figure with this `id`.
    pub fn figure(&self, id: &str) -> Option<&ComparedFigure> {
        self.figures.iter().find(|figure| figure.id == id)
    }

    /// Whether side b agrees with side a; `None` if a has no interval.
    pub fn agreement(&self) -> Option<Agreement> {
        let points = || self.figures.iter().flat_map(|figure| &figure.series).flat_map(|s| &s.points);
        let agreeing = points().filter(|point| point.agrees() == Some(true)).count();
        let widest = points().filter_map(ComparedPoint::half_width).reduce(f64::max)?;
        Some(Agreement { agreeing, all: points().filter_map(ComparedPoint::agrees).count(), widest })
    }
}

/// The result of a gate on side b.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GateOutcome {
    /// Figures that are shown to be worse than allowed, in words.
    pub worse: Vec<String>,
    /// Figures of which this can be neither shown nor excluded, in words.
    pub open: Vec<String>,
}

impl Comparison {
    /// Whether side b is more than `margin`, a share such as 0.05, worse than side a at any common load: in the windowed p99,
    /// or without one the p99, and in the processor time of its server per request, where that is known.
    pub fn gate(&self, margin: f64) -> GateOutcome {
        let mut outcome = GateOutcome::default();
        for (words, point) in self.gated() {
            let load = match point.share {
                Some(share) => format!("{:.0} % of the maximum", 100.0 * share),
                None => format!("load {}", point.a.x),
            };
            let (a, b, limit) = (&self.a.label, &self.b.label, 1.0 + margin);
            let what = format!("the {words} of {b} at {load}");
            let Some(ratio) = point.ratio else {
                outcome.open.push(format!("{what} was not measured"));
                continue;
            };
            let interval = match (ratio.low, ratio.high) {
                (Some(low), Some(high)) => format!(" ({low:.2} to {high:.2})"),
                _ => String::new(),
            };
            let said = format!(
                "{what} is {:.2}{interval} times that of {a}; the limit is {}",
                ratio.value,
                (1e4 * limit).round() / 1e4
            );
            match ratio.exceeds(margin) {
                Some(true) => outcome.worse.push(said),
                Some(false) => {}
                None => outcome.open.push(format!("{said}: open after {} pairs", ratio.n)),
            }
        }
        if self.gated().next().is_none() {
            outcome.open.push("the two have no load in common".into());
        }
        outcome
    }

    /// The figures that a gate looks at, with their names.
    fn gated(&self) -> impl Iterator<Item = (&str, &ComparedPoint)> {
        let of = |id: &str, name: &str| {
            let series = self.figure(id).and_then(|figure| figure.series.iter().find(|s| s.name == name));
            series.map_or(&[][..], |series| &series.points)
        };
        let [windowed, plain] = [Metric::WindowedP99, Metric::P99];
        let (times, all) =
            (of(ComparedFigure::LOADS, windowed.words()), of(ComparedFigure::LOADS, plain.words()));
        let tail = all.iter().enumerate().map(move |(i, point)| match times.get(i) {
            Some(time) if time.ratio.is_some() => (windowed.words(), time),
            _ => (plain.words(), point),
        });
        let cpu = of(ComparedFigure::CPU, ComparedFigure::CPU_SERIES);
        tail.chain(cpu.iter().map(|point| (ComparedFigure::CPU_SERIES, point)))
    }
}

/// Ratios this close to 1 are reported as "no difference over 5 %".
///
/// Source: this project's choice.
const ALIKE: Interval = Interval { low: 0.95, high: 1.05 };

impl Ratio {
    /// Whether its interval excludes 1.
    pub fn differs(&self) -> bool {
        let excludes = self.low.is_some_and(|low| low > 1.0) || self.high.is_some_and(|high| high < 1.0);
        self.judged && excludes
    }

    /// Whether its interval lies within ±5 % of 1.
    pub fn is_alike(&self) -> bool {
        self.judged
            && self.low.zip(self.high).is_some_and(|(low, high)| ALIKE.contains(low) && ALIKE.contains(high))
    }

    /// Whether it is more than `margin`, a share such as 0.05, above 1; `None` while its interval holds that limit, or without
    /// an interval.
    pub fn exceeds(&self, margin: f64) -> Option<bool> {
        let (low, high) = self.low.zip(self.high).filter(|_| self.judged)?;
        let limit = 1.0 + margin;
        if low > limit { Some(true) } else { (high <= limit).then_some(false) }
    }

    /// Estimated number of further pairs until its interval excludes 1 or lies within ±5 % of it; `None` if it already
    /// does, or if no number of pairs suffices.
    pub fn more(&self) -> Option<u32> {
        if self.differs() || self.is_alike() {
            return None;
        }
        let log = |low: f64, high: f64| Interval { low: low.ln(), high: high.ln() };
        let (n, interval) = (self.n as usize, log(self.low?, self.high?));
        let of = |range: Interval| needed(n, self.value.ln(), interval, range);
        let alike = of(log(ALIKE.low, ALIKE.high)).filter(|_| ALIKE.contains(self.value));
        let all = of(log(1.0, 1.0)).into_iter().chain(alike).min()?.max(MIN_TO_JUDGE).max(n + 1);
        u32::try_from(all - n).ok()
    }
}

impl ComparedFigure {
    /// The response times of two targets, load by load.
    pub const LOADS: &str = "loads";
    /// The processor time of two targets' servers, load by load.
    pub const CPU: &str = "processor-time";
    /// The name of its only series.
    pub const CPU_SERIES: &str = "processor time per request";
    /// The peak throughput under QoS of two targets.
    pub const PEAK: &str = "peak";
}

impl ComparedPoint {
    /// Whether side b's figure lies within side a's interval; `None` if a has no interval.
    pub fn agrees(&self) -> Option<bool> {
        let (low, high) = self.a.low.zip(self.a.high)?;
        Some((low..=high).contains(&self.b.y?))
    }

    /// Half the width of side a's interval, as a share of its figure; `None` without an interval.
    pub fn half_width(&self) -> Option<f64> {
        self.agrees()?;
        Some((self.a.high? - self.a.low?) / 2.0 / self.a.y?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_settled_or_says_how_many_pairs_are_missing() {
        let check = |n: u32, (low, high): (f64, f64), settled: (bool, bool), more: Option<u32>| {
            let value = f64::midpoint(low.ln(), high.ln()).exp();
            let (low, high, judged) = (Some(low), Some(high), n >= 6);
            let ratio = Ratio { value, low, high, n, judged, p_value: None };
            assert_eq!((ratio.differs(), ratio.is_alike(), ratio.more()), (settled.0, settled.1, more));
        };
        check(8, (0.5, 0.8), (true, false), None);
        check(8, (0.97, 1.04), (false, true), None);
        // More than four times as narrow.
        check(10, (0.8, 1.05), (false, false), Some(15));
        // At half the width, it lies within ±5 %; it never excludes 1.
        check(10, (0.9, 1.0 / 0.9), (false, false), Some(37));
        check(3, (0.5, 0.8), (false, false), Some(3));
    }

    #[test]
    fn a_gate_tells_worse_from_open() {
        let point = |(low, high): (f64, f64), n: u32| {
            let ratio = Ratio {
                value: f64::midpoint(low, high),
                low: Some(low),
                high: Some(high),
                n,
                judged: n >= 6,
                p_value: None,
            };
            ComparedPoint { ratio: Some(ratio), share: Some(0.5), ..ComparedPoint::default() }
        };
        let check = |tail: ComparedPoint, cpu: Option<ComparedPoint>, expect: (usize, usize), says: &str| {
            let series = |name: &str, point| ComparedSeries { name: name.into(), points: vec![point] };
            let figure =
                |id: &str, series| ComparedFigure { id: id.into(), series, ..ComparedFigure::default() };
            let times = vec![series("p99", ComparedPoint::default()), series("windowed p99", tail)];
            let cpu =
                cpu.map(|cpu| figure(ComparedFigure::CPU, vec![series(ComparedFigure::CPU_SERIES, cpu)]));
            let figures = [figure(ComparedFigure::LOADS, times)].into_iter().chain(cpu).collect();
            let side = |label: &str| Side { label: label.into(), ..Side::default() };
            let comparison =
                Comparison { a: side("base"), b: side("head"), figures, ..Comparison::default() };
            let GateOutcome { worse, open } = comparison.gate(0.05);
            assert_eq!((worse.len(), open.len()), expect, "{worse:?} {open:?}");
            assert!(worse.iter().chain(&open).all(|words| words.contains(says)), "{worse:?} {open:?}");
        };
        check(point((0.9, 1.04), 9), None, (0, 0), "");
        check(
            point((1.06, 1.2), 9),
            None,
            (1, 0),
            "the windowed p99 of head at 50 % of the maximum is 1.13 (1.06 to 1.20)",
        );
        check(point((1.0, 1.2), 9), None, (0, 1), "the limit is 1.05: open after 9 pairs");
        // Too few pairs judge nothing, however far they are.
        check(point((1.5, 2.0), 5), None, (0, 1), "open after 5 pairs");
        check(
            point((0.9, 1.0), 9),
            Some(point((1.08, 1.12), 9)),
            (1, 0),
            "the processor time per request of head",
        );
        check(ComparedPoint::default(), None, (0, 1), "the p99 of head at load 0 was not measured");
        let GateOutcome { worse, open } = Comparison::default().gate(0.05);
        assert_eq!((worse.len(), &open[..]), (0, &["the two have no load in common".to_owned()][..]));
    }

    #[test]
    fn what_lies_in_the_interval_agrees() {
        let point = |(y, low, high): (f64, Option<f64>, Option<f64>), b: f64| ComparedPoint {
            a: Point { y: Some(y), low, high, ..Point::default() },
            b: Point { y: Some(b), ..Point::default() },
            ..ComparedPoint::default()
        };
        let points = vec![
            point((2.0, Some(1.0), Some(3.0)), 3.0),
            point((4.0, Some(3.9), Some(4.1)), 4.2),
            point((4.0, None, None), 4.0),
        ];
        assert_eq!(
            points.iter().map(ComparedPoint::agrees).collect::<Vec<_>>(),
            [Some(true), Some(false), None]
        );
        let series = vec![ComparedSeries { points, ..ComparedSeries::default() }];
        let mut comparison = Comparison {
            figures: vec![ComparedFigure { series, ..ComparedFigure::default() }],
            ..Comparison::default()
        };
        assert_eq!(comparison.agreement(), Some(Agreement { agreeing: 1, all: 2, widest: 0.5 }));
        comparison.figures.clear();
        assert_eq!(comparison.agreement(), None);
    }
}
