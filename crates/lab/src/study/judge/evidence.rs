//! Evidence from the cells on one claim, before any correction.

use std::collections::BTreeMap;

use results::Verdict;
use results::study::{Cell, X};
use stats::{Interval, LEVEL, MIN_TO_JUDGE, SignedRank, fewest, median};

use super::super::claim::{Check, Spot};
use super::super::summary::{Cells, Summary, is_of_no_time, is_overloaded, stands};
use super::words::{figure, figures};
use crate::run::ADVICE_USED;

/// The largest step against a rising or falling curve, as a ratio.
///
/// Source: the 5 % of "no difference over 5 %" in comparisons.
const STEP: f64 = 1.05;

pub(super) struct Evidence {
    /// All trials whose data are right, disturbed ones included.
    pub(super) all: SelectionResult,
    /// The same without the disturbed trials; `None` if no trial was disturbed.
    pub(super) undisturbed: Option<SelectionResult>,
    /// Whether the claim is about a figure itself, which a disturbance moves, instead of a comparison.
    pub(super) is_absolute: bool,
    pub(super) words: String,
}

/// The result over one selection of trials.
#[derive(Default)]
pub(super) struct SelectionResult {
    /// The measured quantity, in words.
    subject: String,
    figures: String,
    claimed: String,
    /// Comparisons that must all hold for the claim to hold.
    pub(super) comparisons: Vec<Comparison>,
    /// Hardware or a program that is missing, in words.
    pub(super) missing: Option<String>,
}

/// One figure of each block, and the range that the claim gives its centre.
pub(super) struct Comparison {
    /// `None` if nothing was measured.
    ranks: Option<SignedRank>,
    claimed: Interval,
    /// Whether both are logarithms.
    of_logs: bool,
}

impl Comparison {
    /// A comparison of logarithms, for ratios.
    fn of_ratios(ratios: &[f64], least: Option<f64>, most: Option<f64>) -> Comparison {
        let logs: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
        let claimed = range(least.map(f64::ln), most.map(f64::ln));
        Comparison { ranks: SignedRank::of(&logs), claimed, of_logs: true }
    }

    /// Of values that may be 0 or negative.
    fn of_differences(values: &[f64], least: Option<f64>, most: Option<f64>) -> Comparison {
        Comparison { ranks: SignedRank::of(values), claimed: range(least, most), of_logs: false }
    }

    /// By logarithms if the values allow, as most figures are skewed.
    fn of_values(values: &[f64], least: Option<f64>, most: Option<f64>) -> Comparison {
        let positive = values.iter().all(|value| *value > 0.0);
        let has_logs = positive && least.into_iter().chain(most).all(|bound| bound >= 0.0);
        if has_logs {
            Comparison::of_ratios(values, least, most)
        } else {
            Comparison::of_differences(values, least, most)
        }
    }

    fn n(&self) -> usize {
        self.ranks.as_ref().map_or(0, SignedRank::n)
    }

    /// The figure with its interval, `1.23 (1.1 to 1.3, n = 7)`.
    fn words(&self) -> String {
        let Some(ranks) = &self.ranks else { return "nothing".into() };
        figures(self.plain(ranks.estimate()), ranks.interval(LEVEL).map(|ends| self.ends(ends)), {
            (self.ends(ranks.range()), ranks.n())
        })
    }

    fn plain(&self, value: f64) -> f64 {
        if self.of_logs { value.exp() } else { value }
    }

    fn ends(&self, interval: Interval) -> Interval {
        if self.of_logs { interval.exp() } else { interval }
    }

    fn keeps(&self) -> bool {
        self.ranks.as_ref().is_some_and(|ranks| self.claimed.contains(ranks.estimate()))
    }

    /// The interval at `level` in words, and an estimate of how many more blocks settle it; `None` if no number does.
    fn open(&self, level: f64) -> (String, Option<usize>) {
        let few = |n: usize| {
            let words = format!("{n} blocks are too few for an interval at {}", percent(level));
            (words, Some(fewest(level).saturating_sub(n).max(1)))
        };
        let Some(ranks) = &self.ranks else { return few(0) };
        let Some(interval) = ranks.interval(level) else {
            let (words, least) = few(ranks.n());
            let needed = ranks.needed(self.claimed, level);
            return (words, least.max(needed.map(|all| all.saturating_sub(ranks.n()))));
        };
        let Interval { low, high } = self.ends(interval);
        let words = format!(
            "the interval at {}, {} to {}, reaches across a bound of what is claimed",
            percent(level),
            figure(low),
            figure(high)
        );
        let needed = ranks.needed(self.claimed, level);
        (words, needed.map(|all| all.saturating_sub(ranks.n()).max(1)))
    }
}

/// A level of 0.05 as a confidence: `95 %`.
fn percent(level: f64) -> String {
    format!("{} %", figure(100.0 * (1.0 - level)))
}

fn range(least: Option<f64>, most: Option<f64>) -> Interval {
    Interval { low: least.unwrap_or(f64::NEG_INFINITY), high: most.unwrap_or(f64::INFINITY) }
}

impl SelectionResult {
    fn of(subject: String, claimed: String, comparisons: Vec<Comparison>) -> SelectionResult {
        let figures = comparisons.iter().map(Comparison::words).collect::<Vec<_>>().join("; ");
        SelectionResult { subject, figures, claimed, comparisons, missing: None }
    }

    /// Whether it has a comparison that can be tested.
    pub(super) fn is_tested(&self) -> bool {
        self.blocks() >= MIN_TO_JUDGE
    }

    /// The most blocks behind a comparison.
    pub(super) fn blocks(&self) -> usize {
        self.comparisons.iter().map(Comparison::n).max().unwrap_or(0)
    }

    /// The one-sided p-value for "the claim holds": all comparisons must.
    pub(super) fn p_holds(&self) -> f64 {
        let p = |one: &Comparison| one.ranks.as_ref().map_or(1.0, |ranks| ranks.p_within(one.claimed));
        self.comparisons.iter().map(p).reduce(f64::max).unwrap_or(1.0)
    }

    /// The one-sided p-value for "the claim does not hold": one comparison is enough, corrected for their number.
    pub(super) fn p_fails(&self) -> f64 {
        let p = |one: &Comparison| one.ranks.as_ref().map_or(1.0, |ranks| ranks.p_outside(one.claimed));
        let least = self.comparisons.iter().map(p).fold(1.0, f64::min);
        // Without a comparison nothing was shown.
        (least * self.comparisons.len().max(1) as f64).min(1.0)
    }

    /// Whether its estimates keep to the claim; `None` if there are none.
    pub(super) fn keeps(&self) -> Option<bool> {
        let measured = self.blocks() > 0;
        measured.then(|| self.comparisons.iter().all(Comparison::keeps))
    }

    /// Why it is open at `level`, and about how many more blocks would settle it.
    pub(super) fn open(&self, level: f64) -> (String, Option<usize>) {
        let unsettled = |one: &&Comparison| {
            one.ranks.as_ref().is_none_or(|ranks| ranks.p_within(one.claimed) > level / 2.0)
        };
        // Towards holding, the last comparison decides, otherwise the first that fails.
        let open = |one: &Comparison| one.open(level);
        let rank = |(_, more): &(String, Option<usize>)| more.unwrap_or(usize::MAX);
        let found = if self.comparisons.iter().all(|one| one.keeps() || one.ranks.is_none()) {
            self.comparisons.iter().filter(unsettled).map(open).max_by_key(rank)
        } else {
            let failing = self.comparisons.iter().filter(|one| one.ranks.is_some() && !one.keeps());
            failing.map(open).min_by_key(rank)
        };
        found.unwrap_or_else(|| ("what it compares was not measured".into(), Some(fewest(level))))
    }
}

/// The evidence for or against a claim.
///
/// All trials whose data are right count. The points of a block run in a random order, so a disturbance favours none of them:
/// it widens the interval and pulls a ratio towards 1. The result without the disturbed trials is kept as a check.
pub(super) fn of(check: &Check, cells: Cells<'_>) -> Evidence {
    let metric = check.metric();
    let standing = |counts: &dyn Fn(&Verdict) -> bool| {
        let mut cells = cells.0.to_vec();
        for cell in cells.iter_mut().filter(|cell| !cell.verdict.is_usable() && counts(&cell.verdict)) {
            cell.verdict = Verdict::Valid;
        }
        cells
    };
    let slowed = |cell: &Cell| cell.slowed && !is_of_no_time(metric);
    let (mut disturbed, mut sound) = (0, 0);
    for (series, x) in points(check, cells) {
        for cell in cells.at(series, &x) {
            let is_disturbed = cell.verdict.is_disturbed() && !stands(metric, &cell.verdict);
            sound += usize::from(cell.verdict.is_sound());
            disturbed += usize::from(is_disturbed || slowed(cell));
        }
    }
    let all = standing(&|verdict| verdict.is_disturbed() || stands(metric, verdict));
    let all = Cells(&all);
    let found = found(check, all);
    let undisturbed = (disturbed > 0).then(|| {
        let mut cells = standing(&|verdict| stands(metric, verdict));
        for cell in cells.iter_mut().filter(|cell| slowed(cell)) {
            cell.verdict = Verdict::default();
        }
        self::found(check, Cells(&cells))
    });
    let mut words = Vec::new();
    if !found.subject.is_empty() {
        let figures = if found.figures.is_empty() { String::new() } else { format!(": {}", found.figures) };
        words.push(format!("{}{figures}", found.subject));
    }
    words.extend((!found.claimed.is_empty()).then(|| format!("claimed: {}", found.claimed)));
    words.extend(points(check, cells).into_iter().filter_map(|(series, x)| {
        let trials = all.overloaded(series, &x)?;
        Some(format!("{series} at {x}: {trials}{}", if is_of_waiting(metric) { ", left out" } else { "" }))
    }));
    words.extend(undisturbed.as_ref().map(|found| {
        let figures = if found.blocks() == 0 { "nothing" } else { &found.figures };
        format!("without {disturbed} of {sound} disturbed trials: {figures}")
    }));
    let is_absolute = matches!(check, Check::Within { .. } | Check::UpTo { .. }) && !is_of_no_time(metric);
    Evidence { all: found, undisturbed, is_absolute, words: words.join("; ") }
}

/// The result over the usable cells. Mean waiting times leave out overloaded cells, whose queue grows with the window.
fn found(check: &Check, cells: Cells<'_>) -> SelectionResult {
    if !is_of_waiting(check.metric()) {
        return found_in(check, cells);
    }
    let settled: Vec<Cell> = cells.0.iter().filter(|cell| !is_overloaded(cell)).cloned().collect();
    found_in(check, Cells(&settled))
}

/// Whether a metric describes waits within the server, observed by probes.
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

fn found_in(check: &Check, cells: Cells<'_>) -> SelectionResult {
    match check {
        Check::Ratio { metric, of, to, to_metric, beside, least, most } => {
            let metrics = [metric, to_metric.as_ref().unwrap_or(metric)];
            ratio(cells, metrics, [of, to], beside.as_ref(), (*least, *most))
        }
        Check::Advised { metric, from, predicted, least, most } => {
            advised(cells, metric, from, predicted.as_deref(), (*least, *most))
        }
        Check::Within { metric, of, least, most } => within(cells, metric, of, (*least, *most)),
        Check::Below { metric, series, than, at } => below(cells, metric, series, than, at),
        Check::Monotone { metric, series, rising } => monotone(cells, metric, series, *rising),
        Check::Flat { metric, series, most } => flat(cells, metric, series, *most),
        Check::UpTo { metric, series, limit, from, to } => up_to(cells, metric, series, *limit, *from, *to),
    }
}

type Bounds = (Option<f64>, Option<f64>);

fn asked(bounds: Bounds) -> String {
    match bounds {
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
) -> SelectionResult {
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
    SelectionResult::of(words, asked(bounds), vec![Comparison::of_ratios(&ratios, bounds.0, bounds.1)])
}

/// The resource with the highest utilization at this spot: its name and the share in use.
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

fn advised(
    cells: Cells<'_>,
    metric: &str,
    from: &Spot,
    predicted: Option<&str>,
    bounds: Bounds,
) -> SelectionResult {
    let Some((name, used)) = saturates_first(cells, from) else { return SelectionResult::default() };
    let words =
        format!("{} at {} saturates by {name} first ({} of it used)", from.series, from.x, figure(used));
    let here: Vec<&Cell> = cells.at(&name, &from.x).filter(|cell| cell.verdict.is_usable()).collect();
    if !cells.0.iter().any(|cell| cell.series == name) {
        let missing = Some(format!("no series has one more of what saturates first, {name}"));
        return SelectionResult { missing, ..SelectionResult::of(words, asked(bounds), Vec::new()) };
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
    let to = predicted.map_or("the mean of the others".to_owned(), |figure| format!("{figure}.{name}"));
    let words = format!("{words}; {metric} with one more of it over {to}");
    SelectionResult::of(words, asked(bounds), vec![Comparison::of_ratios(&ratios, bounds.0, bounds.1)])
}

fn within(cells: Cells<'_>, metric: &str, of: &Spot, bounds: Bounds) -> SelectionResult {
    let usable = cells.at(&of.series, &of.x).filter(|cell| cell.verdict.is_usable());
    let values: Vec<f64> = usable.filter_map(|cell| cell.metrics.get(metric).copied()).collect();
    let comparison = Comparison::of_values(&values, bounds.0, bounds.1);
    SelectionResult::of(format!("{metric} of {} at {}", of.series, of.x), asked(bounds), vec![comparison])
}

fn below(cells: Cells<'_>, metric: &str, series: &str, than: &str, at: &[X]) -> SelectionResult {
    let (mut comparisons, mut words) = (Vec::new(), Vec::new());
    for x in at {
        let pairs = cells.pairs_with_zeros((series, x), (than, x), metric);
        // Figures that may be 0, such as misses, have no ratio: their differences are compared instead.
        let have_ratios = pairs.iter().all(|(a, b)| *a > 0.0 && *b > 0.0);
        let comparison = if have_ratios {
            let ratios: Vec<f64> = pairs.iter().map(|(a, b)| a / b).collect();
            // Alike is not below; of the logarithms the next number below 0 is the bound.
            let claimed = range(None, Some(0f64.next_down()));
            Comparison { claimed, ..Comparison::of_ratios(&ratios, None, None) }
        } else {
            let differences: Vec<f64> = pairs.iter().map(|(a, b)| a - b).collect();
            Comparison::of_differences(&differences, None, Some(0f64.next_down()))
        };
        let kind = if have_ratios { "" } else { "difference " };
        words.push(format!("{kind}{} at {x}", comparison.words()));
        comparisons.push(comparison);
    }
    let found =
        SelectionResult::of(format!("{metric} of {series} over that of {than}"), String::new(), comparisons);
    SelectionResult { figures: words.join("; "), ..found }
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

/// The last place over the first lies on the right side of 1, and no step falls short of it by more than [`STEP`].
fn monotone(cells: Cells<'_>, metric: &str, series: &str, rising: bool) -> SelectionResult {
    let curve = curve(cells, metric, series);
    let [first, .., last] = &curve[..] else { return SelectionResult::default() };
    let compare = |from: &(X, Summary), to: &(X, Summary), bound: f64| {
        let (from, to) = if rising { (from, to) } else { (to, from) };
        let claimed = range(Some(bound), None);
        Comparison {
            ranks: SignedRank::of(&steps(cells, metric, series, &from.0, &to.0)),
            claimed,
            of_logs: true,
        }
    };
    let ends = compare(first, last, 0f64.next_up());
    let way = if rising { "the last over the first" } else { "the first over the last" };
    let figures = format!("{}; {way} {}", told(&curve), ends.words());
    let mut comparisons = vec![ends];
    if curve.len() > 2 {
        comparisons.extend(curve.windows(2).map(|step| compare(&step[0], &step[1], -STEP.ln())));
    }
    let found = SelectionResult::of(format!("{metric} of {series}"), String::new(), comparisons);
    SelectionResult { figures, ..found }
}

/// No two places differ by more than a factor.
fn flat(cells: Cells<'_>, metric: &str, series: &str, most: f64) -> SelectionResult {
    let curve = curve(cells, metric, series);
    let by_median = |a: &&(X, Summary), b: &&(X, Summary)| a.1.median.total_cmp(&b.1.median);
    let (Some(low), Some(high)) = (curve.iter().min_by(by_median), curve.iter().max_by(by_median)) else {
        return SelectionResult::default();
    };
    let compare = |from: &X, to: &X| {
        let claimed = range(Some(-most.ln()), Some(most.ln()));
        Comparison { ranks: SignedRank::of(&steps(cells, metric, series, from, to)), claimed, of_logs: true }
    };
    let figures =
        format!("{}; the largest is {} times the smallest", told(&curve), compare(&low.0, &high.0).words());
    // Which two are farthest apart is seen only afterwards: any two might have been.
    let pairs =
        curve.iter().enumerate().flat_map(|(i, from)| curve[i + 1..].iter().map(move |to| (from, to)));
    let comparisons = pairs.map(|(from, to)| compare(&from.0, &to.0)).collect();
    let found = SelectionResult::of(format!("{metric} of {series}"), asked((None, Some(most))), comparisons);
    SelectionResult { figures, ..found }
}

/// The last place up to which the figure keeps to a limit, block by block.
fn up_to(cells: Cells<'_>, metric: &str, series: &str, limit: f64, from: f64, to: f64) -> SelectionResult {
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
                // The limit may have been met at loads that the host hid.
                Some(value) if *value > limit && hidden => return None,
                // If even the lowest load misses the limit, the answer is 0; if the lowest is unknown, so is the
                // answer.
                Some(value) if *value > limit => return last.or((i == 0).then_some(0.0)),
                Some(_) => (last, all_met, hidden) = (x.number(), true, false),
            }
        }
        // If loads above the last one met are unknown, the end may lie anywhere among them.
        last.filter(|_| all_met)
    };
    let ends: Vec<f64> = blocks.iter().filter_map(last_met).collect();
    let words = format!("{metric} of {series} stays within {} up to", figure(limit));
    let comparison = Comparison::of_differences(&ends, Some(from), Some(to));
    SelectionResult::of(words, asked((Some(from), Some(to))), vec![comparison])
}
