//! Summaries of the repeats of one point.

use results::study::{Cell, Point, X};
use results::{Reason, Verdict};
use stats::Spread;

/// Prefixes of metrics that do not depend on when the requests of their own trial were sent and read: counts of the
/// server's work per request; results of a search before the trial; extra costs of traced requests relative to others
/// of the same trial, chosen at random, so that all other effects hit both alike; one request by two clocks; shares of
/// spans found; and shares of code in a server's own processor time, which excludes time taken by others.
const OF_NO_TIME: [&str; 14] = [
    "achieved_rps",
    "hit_ratio",
    "own_passed_on_per_request",
    "max_rps",
    "trace_cost_",
    "trace_sum_ratio_",
    "trace_joined_share",
    "trace_whole_share",
    "trace_spans_share",
    "cpu_kernel_share",
    "cpu_library_share",
    "cpu_user_share",
    "instruction_",
    "server_cpu_us_per_request",
];

/// Whether a metric does not depend on when the requests of its own trial were sent and read.
pub(super) fn is_of_no_time(metric: &str) -> bool {
    OF_NO_TIME.iter().any(|prefix| metric.starts_with(prefix))
}

/// Whether a metric of an invalid trial is as good as any other: it was only late, which the metric does not depend on; or spans were
/// lost, and the metric says how many.
pub(super) fn stands(metric: &str, verdict: &Verdict) -> bool {
    let of_coverage = ["trace_joined_share", "trace_whole_share", "trace_spans_share"].contains(&metric);
    is_of_no_time(metric)
        && verdict
            .is_invalid_only_by(|reason| reason.is_of_time() || of_coverage && reason == Reason::SpansLost)
}

/// The repeats of one figure at one point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Summary {
    pub(crate) median: f64,
    /// The 95 % interval of the median, or the range if there were too few repeats for an interval.
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Repeats behind it.
    pub(crate) n: u32,
    /// Further repeats that were invalid, left out if any other exists.
    pub(crate) invalid: u32,
    /// Whether the repeats behind it are valid.
    pub(crate) valid: bool,
}

impl Summary {
    /// The point of a figure at `x`.
    pub(crate) fn point(&self, x: X) -> Point {
        let note = match (self.valid, self.invalid) {
            (false, _) => Some("no repeat was valid".to_owned()),
            (true, 0) => None,
            (true, invalid) => Some(format!("{invalid} of {} repeats were invalid", invalid + self.n)),
        };
        Point {
            x,
            y: Some(self.median),
            low: Some(self.low),
            high: Some(self.high),
            n: self.n,
            valid: self.valid,
            note,
            ..Point::default()
        }
    }
}

/// The cells of one study, selected point by point.
#[derive(Clone, Copy)]
pub(crate) struct Cells<'a>(pub(crate) &'a [Cell]);

impl<'a> Cells<'a> {
    pub(crate) fn at(self, series: &'a str, x: &'a X) -> impl Iterator<Item = &'a Cell> {
        self.0.iter().filter(move |cell| cell.series == series && cell.x == *x)
    }

    /// The places measured for `series`, rising.
    pub(crate) fn places(self, series: &str) -> Vec<X> {
        let mut places: Vec<X> = Vec::new();
        for cell in self.0.iter().filter(|cell| cell.series == series) {
            if !places.contains(&cell.x) {
                places.push(cell.x.clone());
            }
        }
        places.sort_by(X::total_cmp);
        places
    }

    /// The repeats of `value` at one point; `None` without repeats.
    pub(crate) fn summary(
        self,
        series: &str,
        x: &X,
        value: impl Fn(&Cell) -> Option<f64>,
    ) -> Option<Summary> {
        self.summarized(series, x, |verdict| verdict.is_usable(), value)
    }

    /// The same of a value that is made of `metric`: repeats that it [`stands`] in count.
    pub(super) fn summary_of(
        self,
        (series, x): (&str, &X),
        metric: &str,
        value: impl Fn(&Cell) -> Option<f64>,
    ) -> Option<Summary> {
        self.summarized(series, x, |verdict| verdict.is_usable() || stands(metric, verdict), value)
    }

    fn summarized(
        self,
        series: &str,
        x: &X,
        usable: impl Fn(&Verdict) -> bool,
        value: impl Fn(&Cell) -> Option<f64>,
    ) -> Option<Summary> {
        let all: Vec<(bool, f64)> =
            self.at(series, x).filter_map(|cell| Some((usable(&cell.verdict), value(cell)?))).collect();
        let usable: Vec<f64> = all.iter().filter(|(usable, _)| *usable).map(|(_, value)| *value).collect();
        let valid = !usable.is_empty();
        let values = if valid { usable } else { all.iter().map(|(_, value)| *value).collect() };
        let spread = Spread::of(&values)?;
        let (low, high) = spread.ends();
        let invalid = all.iter().filter(|(usable, _)| !usable).count() as u32;
        let n = values.len() as u32;
        Some(Summary { median: spread.median, low, high, n, invalid: if valid { invalid } else { 0 }, valid })
    }

    /// The number of overloaded ones among the usable repeats at one point, in words; `None` if 0.
    pub(super) fn overloaded(self, series: &str, x: &X) -> Option<String> {
        let usable: Vec<&Cell> = self.at(series, x).filter(|cell| cell.verdict.is_usable()).collect();
        let overloaded = usable.iter().filter(|cell| is_overloaded(cell)).count();
        (overloaded > 0).then(|| format!("{overloaded} of {} trials overloaded", usable.len()))
    }

    /// The figure of each block at two points, over those blocks in which both were measured, usable and more than nothing.
    pub(super) fn pairs(self, a: (&'a str, &'a X), b: (&'a str, &'a X), metric: &str) -> Vec<(f64, f64)> {
        let mut pairs = self.pairs_with_zeros(a, b, metric);
        pairs.retain(|(a, b)| *a > 0.0 && *b > 0.0);
        pairs
    }

    /// The same, including pairs with a value of 0.
    pub(super) fn pairs_with_zeros(
        self,
        a: (&'a str, &'a X),
        b: (&'a str, &'a X),
        metric: &str,
    ) -> Vec<(f64, f64)> {
        self.blocks(a, b, [metric; 2]).into_iter().map(|(_, a, b)| (a, b)).collect()
    }

    /// The first figure of each block at one point over the second at another, with the number of the block; as [`Cells::pairs`].
    pub(super) fn ratios(
        self,
        a: (&'a str, &'a X),
        b: (&'a str, &'a X),
        metrics: [&str; 2],
    ) -> Vec<(u32, f64)> {
        let mut blocks = self.blocks(a, b, metrics);
        blocks.retain(|(_, a, b)| *a > 0.0 && *b > 0.0);
        blocks.into_iter().map(|(block, a, b)| (block, a / b)).collect()
    }

    fn blocks(self, a: (&'a str, &'a X), b: (&'a str, &'a X), metrics: [&str; 2]) -> Vec<(u32, f64, f64)> {
        let of = |cell: &Cell, metric: &str| cell.metrics.get(metric).copied().filter(|value| *value >= 0.0);
        self.at(a.0, a.1)
            .filter(|cell| cell.verdict.is_usable())
            .filter_map(|cell| {
                let other = self.at(b.0, b.1).find(|other| other.block == cell.block)?;
                if !other.verdict.is_usable() {
                    return None;
                }
                Some((cell.block, of(cell, metrics[0])?, of(other, metrics[1])?))
            })
            .collect()
    }
}

/// Whether the queue of its server grew throughout, so that its response times depend on the trial's length.
pub(super) fn is_overloaded(cell: &Cell) -> bool {
    matches!(cell.verdict, Verdict::Overloaded { .. })
}

#[cfg(test)]
pub(crate) mod tests {
    use results::{Invalid, Reason};

    use super::*;

    /// How a server fares that cannot keep up.
    pub(crate) const OVERLOADED: Verdict =
        Verdict::Overloaded { achieved_share: 0.9, backlog_growth_rps: 100.0, timed_out_share: 0.0 };

    /// Cells of one series: each place, with the figure `m` of each block.
    pub(crate) fn cells(series: &str, points: &[(f64, &[f64])]) -> Vec<Cell> {
        let cell = |x: f64, block: usize, value: f64| Cell {
            series: series.into(),
            x: x.into(),
            block: block as u32,
            metrics: [("m".to_owned(), value)].into(),
            verdict: Verdict::Valid,
            ..Cell::default()
        };
        points
            .iter()
            .flat_map(|(x, values)| values.iter().enumerate().map(move |(block, value)| (*x, block, *value)))
            .map(|(x, block, value)| cell(x, block, value))
            .collect()
    }

    fn metric(cell: &Cell) -> Option<f64> {
        cell.metrics.get("m").copied()
    }

    #[test]
    fn few_repeats_have_a_range_and_many_an_interval() {
        let few = cells("a", &[(10.0, &[3.0, 1.0, 2.0])]);
        let summary = Cells(&few).summary("a", &10.0.into(), metric).unwrap();
        assert_eq!((summary.median, summary.low, summary.high, summary.n), (2.0, 1.0, 3.0, 3));
        let many = cells("a", &[(10.0, &[2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 9.0])]);
        let summary = Cells(&many).summary("a", &10.0.into(), metric).unwrap();
        assert_eq!((summary.median, summary.n, summary.valid), (2.0, 7, true));
        assert_eq!(Cells(&many).summary("b", &10.0.into(), metric), None);
        assert_eq!(Cells(&many).summary("a", &20.0.into(), metric), None);
    }

    #[test]
    fn invalid_repeats_are_left_out_unless_there_is_no_other() {
        let mut all = cells("a", &[(10.0, &[1.0, 2.0, 90.0])]);
        all[2].verdict = Verdict::default();
        let summary = Cells(&all).summary("a", &10.0.into(), metric).unwrap();
        assert_eq!((summary.median, summary.n, summary.invalid, summary.valid), (1.5, 2, 1, true));
        for cell in &mut all {
            cell.verdict = Verdict::default();
        }
        let summary = Cells(&all).summary("a", &10.0.into(), metric).unwrap();
        assert_eq!((summary.median, summary.n, summary.valid), (2.0, 3, false));
    }

    #[test]
    fn what_was_only_late_counts_where_the_figure_does_not_depend_on_it() {
        let mut all = cells("a", &[(10.0, &[1.0, 2.0, 90.0])]);
        let late =
            |reason: Reason| Verdict::Invalid { reasons: vec![Invalid { reason, detail: "1 ms".into() }] };
        (all[1].verdict, all[2].verdict) = (late(Reason::HostDisturbed), late(Reason::VerifyFailed));
        let of = |name: &str| {
            let summary = Cells(&all).summary_of(("a", &10.0.into()), name, metric).unwrap();
            (summary.median, summary.n, summary.invalid)
        };
        assert_eq!(of("trace_cost_share_mean.browse"), (1.5, 2, 1));
        assert_eq!(of("latency_us_p99"), (1.0, 1, 2));
    }

    #[test]
    fn overloads_are_counted_among_what_is_usable() {
        let mut all = cells("a", &[(10.0, &[1.0, 2.0, 3.0])]);
        assert_eq!(Cells(&all).overloaded("a", &10.0.into()), None);
        (all[0].verdict, all[1].verdict) = (OVERLOADED, Verdict::default());
        assert_eq!(Cells(&all).overloaded("a", &10.0.into()).as_deref(), Some("1 of 2 trials overloaded"));
    }

    #[test]
    fn pairs_are_of_the_same_block() {
        let mut all = cells("a", &[(10.0, &[1.0, 2.0, 3.0])]);
        all.extend(cells("b", &[(10.0, &[10.0, 20.0, 30.0])]));
        all.retain(|cell| !(cell.series == "b" && cell.block == 1));
        let x = X::Number(10.0);
        assert_eq!(Cells(&all).pairs(("a", &x), ("b", &x), "m"), [(1.0, 10.0), (3.0, 30.0)]);
        all[0].metrics.insert("m".into(), 0.0);
        assert_eq!(Cells(&all).pairs(("a", &x), ("b", &x), "m"), [(3.0, 30.0)]);
        let with_zeros = Cells(&all).pairs_with_zeros(("a", &x), ("b", &x), "m");
        assert_eq!(with_zeros, [(0.0, 10.0), (3.0, 30.0)]);
        all[0].metrics.insert("m".into(), 1.0);
        all[2].verdict = Verdict::default();
        assert_eq!(Cells(&all).pairs(("a", &x), ("b", &x), "m"), [(1.0, 10.0)]);
    }
}
