//! What the cells say about one claim, before any correction.

use std::collections::BTreeMap;

use results::Verdict;
use results::study::{Cell, X};
use stats::{MIN_TO_JUDGE, Spread, median, sign_flip_test};

use super::super::claim::{Check, Spot};
use super::super::summary::{Cells, Summary, is_of_no_time, is_overloaded, stands};
use super::words::{figure, spread};
use crate::run::ADVICE_USED;

/// What was found about a claim.
pub(super) struct Evidence {
    pub(super) finding: Finding,
    /// The figures.
    pub(super) words: String,
    /// Blocks behind it.
    pub(super) n: usize,
    /// Places that the claim speaks of and that have too few blocks to be tested, each with their number.
    pub(super) untested: Vec<String>,
    /// What was lost of it.
    pub(super) lost: Lost,
    /// The differences, block by block, of each comparison: their signs are what is tested.
    differences: Vec<Vec<f64>>,
    /// Comparisons among which those were chosen by what they show: they count in the correction, and show nothing.
    passed_over: usize,
}

/// The measurements behind a claim that are invalid.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Lost {
    /// The places where the host disturbed some with their numbers, in words; empty where there are none.
    pub(super) words: String,
    /// Whether too few are left at some place that the claim speaks of, for whatever reason.
    pub(super) too_many: bool,
}

/// Which way the figures point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// There are no figures.
    Nothing,
    /// The medians keep to the claim, which asks for no more.
    Holds,
    /// They keep to it, and it says that a difference is there: every comparison must show it.
    HoldsIfTested,
    /// What they may be by chance does not keep to a bound that the claim has for all of that.
    Wide,
    /// They do not: some comparison must show it.
    Missed,
}

/// The seed of tests with so many blocks that not all signs are tried.
const SEED: u64 = 0x636c_6169_6d73;

impl Evidence {
    fn nothing() -> Evidence {
        Evidence::of(Finding::Nothing, String::new(), 0, Vec::new())
    }

    fn of(finding: Finding, words: String, n: usize, differences: Vec<Vec<f64>>) -> Evidence {
        Evidence {
            finding,
            words,
            n,
            untested: Vec::new(),
            lost: Lost::default(),
            differences,
            passed_over: 0,
        }
    }

    /// The chance of each comparison by accident; none where there are too few blocks.
    pub(super) fn p_values(&self) -> Vec<f64> {
        let mut tested: Vec<f64> = self.differences.iter().filter_map(|d| p_value(d)).collect();
        if !tested.is_empty() {
            tested.resize(tested.len() + self.passed_over, 1.0);
        }
        tested
    }

    /// The fewest blocks behind a comparison that was tested; where none was, behind the figures.
    pub(super) fn blocks(&self) -> usize {
        let tested = self.differences.iter().filter(|differences| p_value(differences).is_some());
        tested.map(Vec::len).min().unwrap_or(self.n)
    }
}

/// The chance of such differences by accident; `None` where there are too few.
fn p_value(differences: &[f64]) -> Option<f64> {
    (differences.len() >= MIN_TO_JUDGE).then(|| sign_flip_test(differences, SEED)).flatten()
}

/// What the cells say of a figure that is not of when requests were sent and read: what was only late is as good as any other, and
/// stands with the figures; likewise what is invalid for spans that were lost, of a figure that says how many. Otherwise as
/// [`of_times`]. With `bound` an interval has to keep to what is claimed.
pub(super) fn of(check: &Check, bound: bool, cells: Cells<'_>) -> Evidence {
    let metric = check.metric();
    if !is_of_no_time(metric) {
        return of_times(check, bound, cells);
    }
    let mut standing = cells.0.to_vec();
    for cell in standing.iter_mut().filter(|cell| stands(metric, &cell.verdict)) {
        cell.verdict = Verdict::Valid;
    }
    let mut evidence = of_times(check, bound, Cells(&standing));
    for (series, x) in points(check, cells) {
        let late = cells.at(series, &x).filter(|cell| cell.verdict.is_only_late()).count();
        if late > 0 {
            let of = cells.at(series, &x).count();
            evidence.words.push_str(&format!(
                "; {series} at {x}: {late} of {of} measurements were not sent or read in time, which this figure does not depend on"
            ));
        }
    }
    evidence
}

/// What the cells say. How many of them were overloaded stands with the figures; where those are means that an overload
/// has not, as its queue grows for as long as it lasts, such cells are left out.
fn of_times(check: &Check, bound: bool, cells: Cells<'_>) -> Evidence {
    let settles = is_of_waiting(check.metric());
    let settled: Vec<Cell> = cells.0.iter().filter(|cell| settles && !is_overloaded(cell)).cloned().collect();
    let mut evidence = asked_of(check, bound, if settles { Cells(&settled) } else { cells });
    let overloaded = points(check, cells).into_iter().filter_map(|(series, x)| {
        let trials = cells.overloaded(series, &x)?;
        Some(format!("{series} at {x}: {trials}{}", if settles { ", left out" } else { "" }))
    });
    let lost = lost(check, cells, evidence.n);
    let left_out = (!lost.words.is_empty()).then(|| format!("{}, left out", lost.words));
    let words = Some(evidence.words).into_iter().filter(|words| !words.is_empty());
    evidence.words = words.chain(overloaded).chain(left_out).collect::<Vec<String>>().join("; ");
    evidence.lost = lost;
    evidence
}

/// What the host disturbed of the cells behind `check`, of which figures of `n` blocks were found.
fn lost(check: &Check, cells: Cells<'_>, n: usize) -> Lost {
    let (mut words, mut too_many, mut any) = (Vec::new(), false, false);
    for (series, x) in points(check, cells) {
        let all: Vec<&Cell> = cells.at(series, &x).collect();
        let left = all.iter().filter(|cell| cell.verdict.is_usable()).count();
        any |= left < all.len();
        too_many |= 2 * left < all.len() && left < MIN_TO_JUDGE;
        let disturbed = all.iter().filter(|cell| cell.verdict.is_of_host()).count();
        if disturbed == 0 {
            continue;
        }
        words.push(format!(
            "{series} at {x}: {disturbed} of {} measurements disturbed by the host",
            all.len()
        ));
    }
    if let Check::UpTo { series, .. } = check {
        // What lies beyond the end of each block is not needed.
        let mut blocks: Vec<u32> = cells.0.iter().filter(|c| c.series == *series).map(|c| c.block).collect();
        blocks.sort_unstable();
        blocks.dedup();
        too_many = any && 2 * n < blocks.len() && n < MIN_TO_JUDGE;
    }
    Lost { words: words.join(", "), too_many }
}

/// Whether a metric is of what a request waits for in the server, as probes see it.
fn is_of_waiting(metric: &str) -> bool {
    metric.starts_with("stage") || metric.starts_with("socket_read_wait")
}

/// The points of the grid that a check is about, each once.
fn points<'a>(check: &'a Check, cells: Cells<'_>) -> Vec<(&'a str, X)> {
    let mut points: Vec<(&str, X)> = Vec::new();
    for point in all_points(check, cells) {
        if !points.contains(&point) {
            points.push(point);
        }
    }
    points
}

fn all_points<'a>(check: &'a Check, cells: Cells<'_>) -> Vec<(&'a str, X)> {
    match check {
        Check::Ratio { of, to, beside, .. } => {
            let all = [of, to].into_iter().chain(beside.iter().flatten());
            all.map(|spot| (spot.series.as_str(), spot.x.clone())).collect()
        }
        Check::Within { of, .. } | Check::Advised { from: of, .. } => {
            vec![(of.series.as_str(), of.x.clone())]
        }
        Check::Below { series, than, at, .. } => {
            at.iter().flat_map(|x| [series, than].map(|name| (name.as_str(), x.clone()))).collect()
        }
        Check::Monotone { series, .. } | Check::Flat { series, .. } | Check::UpTo { series, .. } => {
            cells.places(series).into_iter().map(|x| (series.as_str(), x)).collect()
        }
    }
}

fn asked_of(check: &Check, bound: bool, cells: Cells<'_>) -> Evidence {
    match check {
        Check::Ratio { metric, of, to, to_metric, beside, least, most } => {
            let metrics = [metric, to_metric.as_ref().unwrap_or(metric)];
            ratio(cells, metrics, [of, to], beside.as_ref(), Bounds { least: *least, most: *most, bound })
        }
        Check::Advised { metric, from, predicted, least, most } => {
            advised(cells, metric, from, predicted.as_deref(), Bounds { least: *least, most: *most, bound })
        }
        Check::Within { metric, of, least, most } => {
            within(cells, metric, of, Bounds { least: *least, most: *most, bound })
        }
        Check::Below { metric, series, than, at } => below(cells, metric, series, than, at),
        Check::Monotone { metric, series, rising } => monotone(cells, metric, series, *rising),
        Check::Flat { metric, series, most } => flat(cells, metric, series, *most),
        Check::UpTo { metric, series, limit, from, to } => up_to(cells, metric, series, *limit, *from, *to),
    }
}

/// What is claimed of a figure.
#[derive(Clone, Copy)]
struct Bounds {
    least: Option<f64>,
    most: Option<f64>,
    /// Whether the interval over the blocks has to keep to it, and not their median alone.
    bound: bool,
}

/// Whether values keep to the bounds, and how far each is from the one that is broken.
fn against(
    values: &[f64],
    Bounds { least, most, bound }: Bounds,
    difference: impl Fn(f64, f64) -> f64,
) -> (Finding, Vec<Vec<f64>>) {
    let Some(spread) = Spread::of(values) else { return (Finding::Nothing, Vec::new()) };
    // What must keep to it, and what must break it.
    let (low, high) = if bound { spread.ends() } else { (spread.median, spread.median) };
    let broken = least.filter(|least| high < *least).or(most.filter(|most| low > *most));
    let keeps = least.is_none_or(|least| low >= least) && most.is_none_or(|most| high <= most);
    match broken {
        // Of too few blocks there is no interval.
        None if keeps && (!bound || spread.interval.is_some()) => (Finding::Holds, Vec::new()),
        None => (Finding::Wide, Vec::new()),
        Some(bound) => {
            (Finding::Missed, vec![values.iter().map(|value| difference(*value, bound)).collect()])
        }
    }
}

fn asked(bounds: Bounds) -> String {
    match (bounds.least, bounds.most) {
        (Some(least), Some(most)) => format!("{} to {}", figure(least), figure(most)),
        (Some(least), None) => format!("at least {}", figure(least)),
        (None, Some(most)) => format!("at most {}", figure(most)),
        (None, None) => "anything".into(),
    }
}

fn ratio(
    cells: Cells<'_>,
    metrics: [&String; 2],
    [of, to]: [&Spot; 2],
    beside: Option<&[Spot; 2]>,
    bounds: Bounds,
) -> Evidence {
    let all = |of: &Spot, to: &Spot| {
        cells.ratios((&of.series, &of.x), (&to.series, &to.x), metrics.map(String::as_str))
    };
    let mut ratios: Vec<(u32, f64)> = all(of, to);
    let spots = |of: &Spot, to: &Spot| format!("{} at {} over {} at {}", of.series, of.x, to.series, to.x);
    let [metric, to_metric] = metrics;
    let over = if metric == to_metric { String::new() } else { format!(" (over {to_metric})") };
    let mut words = format!("{metric}{over} of {}", spots(of, to));
    if let Some([of, to]) = beside {
        let others = all(of, to);
        let other = |block: u32| others.iter().find(|(of, _)| *of == block).map(|(_, ratio)| *ratio);
        let against = |(block, ratio): (u32, f64)| Some((block, ratio / other(block)?));
        ratios = ratios.into_iter().filter_map(against).collect();
        words = format!("{words}, set against that of {}", spots(of, to));
    }
    let ratios: Vec<f64> = ratios.into_iter().map(|(_, ratio)| ratio).collect();
    // Logarithms, so that twice and half weigh the same.
    let (finding, differences) = against(&ratios, bounds, |ratio, bound| (ratio / bound).ln());
    let words = format!("{words}: {}; claimed: {}", spread(&ratios), asked(bounds));
    Evidence::of(finding, words, ratios.len(), differences)
}

/// Of all that may saturate, the share that is used at this spot: the name of what is used most, and how much of it.
fn saturates_first(cells: Cells<'_>, from: &Spot) -> Option<(String, f64)> {
    let mut used: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for cell in cells.at(&from.series, &from.x).filter(|cell| cell.verdict.is_usable()) {
        for (name, share) in &cell.metrics {
            if let Some(name) = name.strip_prefix(ADVICE_USED) {
                used.entry(name).or_default().push(*share);
            }
        }
    }
    let medians = used.into_iter().filter_map(|(name, shares)| Some((name.to_owned(), median(&shares)?)));
    medians.max_by(|a, b| a.1.total_cmp(&b.1))
}

fn advised(cells: Cells<'_>, metric: &str, from: &Spot, predicted: Option<&str>, bounds: Bounds) -> Evidence {
    let Some((name, used)) = saturates_first(cells, from) else { return Evidence::nothing() };
    let mut words =
        format!("{} at {} saturates by {name} first ({} of it used)", from.series, from.x, figure(used));
    let here: Vec<&Cell> = cells.at(&name, &from.x).filter(|cell| cell.verdict.is_usable()).collect();
    if here.is_empty() {
        words.push_str(", and no series has one more of it");
        return Evidence::of(Finding::Nothing, words, 0, Vec::new());
    }
    let positive = |cell: &Cell, metric: &str| cell.metrics.get(metric).copied().filter(|value| *value > 0.0);
    let other = |block: u32| match predicted {
        Some(figure) => {
            let at = cells.at(&from.series, &from.x).find(|cell| cell.block == block)?;
            positive(at, &format!("{figure}.{name}")).filter(|_| at.verdict.is_usable())
        }
        None => {
            let is_other = |cell: &&Cell| {
                cell.block == block && cell.x == from.x && ![&from.series, &name].contains(&&cell.series)
            };
            let others = cells.0.iter().filter(is_other).filter(|cell| cell.verdict.is_usable());
            let logs: Vec<f64> = others.filter_map(|cell| positive(cell, metric)).map(f64::ln).collect();
            (!logs.is_empty()).then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
        }
    };
    let ratio = |cell: &&Cell| Some(positive(cell, metric)? / other(cell.block)?);
    let ratios: Vec<f64> = here.iter().filter_map(ratio).collect();
    let (finding, differences) = against(&ratios, bounds, |ratio, bound| (ratio / bound).ln());
    let to = predicted.map_or("the mean of the others".to_owned(), |figure| format!("{figure}.{name}"));
    let words = format!(
        "{words}; {metric} with one more of it over {to}: {}; claimed: {}",
        spread(&ratios),
        asked(bounds)
    );
    Evidence::of(finding, words, ratios.len(), differences)
}

fn within(cells: Cells<'_>, metric: &str, of: &Spot, bounds: Bounds) -> Evidence {
    let usable = cells.at(&of.series, &of.x).filter(|cell| cell.verdict.is_usable());
    let values: Vec<f64> = usable.filter_map(|cell| cell.metrics.get(metric).copied()).collect();
    let (finding, differences) = against(&values, bounds, |value, bound| value - bound);
    let words =
        format!("{metric} of {} at {}: {}; claimed: {}", of.series, of.x, spread(&values), asked(bounds));
    Evidence::of(finding, words, values.len(), differences)
}

fn below(cells: Cells<'_>, metric: &str, series: &str, than: &str, at: &[X]) -> Evidence {
    let mut evidence = Evidence::nothing();
    let mut words = Vec::new();
    let (mut all_below, mut n) = (true, usize::MAX);
    for x in at {
        let pairs = cells.pairs_with_zeros((series, x), (than, x), metric);
        // Of what may be nothing, such as misses, there is no ratio: the differences themselves are compared then.
        let have_ratios = pairs.iter().all(|(a, b)| *a > 0.0 && *b > 0.0);
        let differences: Vec<f64> =
            pairs.iter().map(|(a, b)| if have_ratios { (a / b).ln() } else { a - b }).collect();
        if p_value(&differences).is_none() {
            evidence.untested.push(format!("{x} (n = {})", differences.len()));
        }
        let ratios: Vec<f64> = pairs.iter().map(|(a, b)| a / b).collect();
        let Some(middle) = median(if have_ratios { &ratios } else { &differences }) else { continue };
        all_below &= middle < if have_ratios { 1.0 } else { 0.0 };
        n = n.min(pairs.len());
        words.push(match have_ratios {
            true => format!("{} at {x}", spread(&ratios)),
            false => format!("difference {} at {x}", spread(&differences)),
        });
        evidence.differences.push(differences);
    }
    if words.is_empty() {
        return evidence;
    }
    evidence.finding = if all_below { Finding::HoldsIfTested } else { Finding::Missed };
    if !all_below {
        // Only what points the other way speaks against it.
        evidence.differences.retain(|each| median(each).is_some_and(|middle| middle >= 0.0));
    }
    evidence.n = n;
    evidence.words = format!("{metric} of {series} over that of {than}: {}", words.join("; "));
    evidence
}

/// The repeats of `metric` at every place of `series`, rising.
fn curve(cells: Cells<'_>, metric: &str, series: &str) -> Vec<(X, Summary)> {
    let value = |cell: &Cell| cell.metrics.get(metric).copied();
    let at = |x: X| Some((x.clone(), cells.summary(series, &x, value)?));
    cells.places(series).into_iter().filter_map(at).filter(|(_, summary)| summary.valid).collect()
}

fn told(curve: &[(X, Summary)]) -> String {
    let point = |(x, summary): &(X, Summary)| format!("{} at {x}", figure(summary.median));
    curve.iter().map(point).collect::<Vec<_>>().join(", ")
}

/// The logarithms of what `metric` is at one place over another, block by block.
fn steps(cells: Cells<'_>, metric: &str, series: &str, from: &X, to: &X) -> Vec<f64> {
    cells.pairs((series, to), (series, from), metric).iter().map(|(to, from)| (to / from).ln()).collect()
}

fn monotone(cells: Cells<'_>, metric: &str, series: &str, rising: bool) -> Evidence {
    let curve = curve(cells, metric, series);
    let [first, .., last] = &curve[..] else { return Evidence::nothing() };
    let sign = if rising { 1.0 } else { -1.0 };
    // A step against the claim that the two intervals allow for is none.
    let against = curve.windows(2).filter(|pair| {
        let (from, to) = (&pair[0].1, &pair[1].1);
        if rising { to.high < from.low } else { to.low > from.high }
    });
    let mut differences: Vec<Vec<f64>> =
        against.map(|pair| steps(cells, metric, series, &pair[0].0, &pair[1].0)).collect();
    if sign * (last.1.median - first.1.median) <= 0.0 {
        differences.push(steps(cells, metric, series, &first.0, &last.0));
    }
    let finding = if differences.is_empty() { Finding::Holds } else { Finding::Missed };
    let n = curve.iter().map(|(_, summary)| summary.n as usize).min().unwrap_or(0);
    Evidence::of(finding, format!("{metric} of {series}: {}", told(&curve)), n, differences)
}

fn flat(cells: Cells<'_>, metric: &str, series: &str, most: f64) -> Evidence {
    let curve = curve(cells, metric, series);
    let by_median = |a: &&(X, Summary), b: &&(X, Summary)| a.1.median.total_cmp(&b.1.median);
    let (Some(low), Some(high)) = (curve.iter().min_by(by_median), curve.iter().max_by(by_median)) else {
        return Evidence::nothing();
    };
    if curve.len() < 2 {
        return Evidence::nothing();
    }
    let ratio = high.1.median / low.1.median;
    let logs = steps(cells, metric, series, &low.0, &high.0);
    let words = format!(
        "{metric} of {series}: {}; the largest is {} times the smallest, claimed: at most {}",
        told(&curve),
        figure(ratio),
        figure(most)
    );
    let n = logs.len();
    if ratio <= most {
        return Evidence::of(Finding::Holds, words, n, Vec::new());
    }
    let differences = vec![logs.iter().map(|log| log - most.ln()).collect()];
    // Which two are farthest apart is seen only afterwards: any two might have been.
    let passed_over = curve.len() * (curve.len() - 1) / 2 - 1;
    Evidence { passed_over, ..Evidence::of(Finding::Missed, words, n, differences) }
}

/// The last place up to which the figure keeps to a limit, block by block.
fn up_to(cells: Cells<'_>, metric: &str, series: &str, limit: f64, from: f64, to: f64) -> Evidence {
    let places = cells.places(series);
    let mut blocks: Vec<u32> = cells.0.iter().filter(|c| c.series == series).map(|c| c.block).collect();
    blocks.sort_unstable();
    blocks.dedup();
    let last_met = |block: &u32| {
        let (mut last, mut all_met, mut hidden) = (None, false, false);
        for (i, x) in places.iter().enumerate() {
            let cell = cells.at(series, x).find(|cell| cell.block == *block);
            // An invalid trial says nothing: the next load decides.
            let usable = cell.filter(|cell| cell.verdict.is_usable());
            match usable.and_then(|cell| cell.metrics.get(metric)) {
                None => {
                    all_met = false;
                    hidden |= cell.is_some_and(|cell| cell.verdict.is_of_host());
                }
                // It may have been met up to what the host hid.
                Some(value) if *value > limit && hidden => return None,
                // Not even the lowest is met; if that one is not known, nothing is.
                Some(value) if *value > limit => return last.or((i == 0).then_some(0.0)),
                Some(_) => (last, all_met, hidden) = (x.number(), true, false),
            }
        }
        // Where nothing is known above the last that was met, the end may be anywhere there.
        last.filter(|_| all_met)
    };
    let ends: Vec<f64> = blocks.iter().filter_map(last_met).collect();
    let (finding, differences) =
        against(&ends, Bounds { least: Some(from), most: Some(to), bound: false }, |end, bound| end - bound);
    let words = format!(
        "{metric} of {series} stays within {} up to {}; claimed: {} to {}",
        figure(limit),
        spread(&ends),
        figure(from),
        figure(to)
    );
    Evidence::of(finding, words, ends.len(), differences)
}
