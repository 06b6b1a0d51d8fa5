//! Figures of all rounds side by side, as ratios within a round.

use results::Reading;
use stats::{Paired, median};

use crate::Setting;
use crate::contestant::{Contestant, Kind};
use crate::tables;

/// One figure of every contestant in every round: `figures[contestant][round]`.
pub(crate) type Figures = Vec<Vec<Option<Reading>>>;

/// A figure that stalls of the host do not change: a count, or processor time.
pub(crate) fn exact(value: f64) -> Reading {
    Reading { undisturbed: Some(value), served: Some(value) }
}

/// The median over the rounds.
fn middle(figures: &Figures, of: usize) -> Option<f64> {
    let values: Vec<f64> = figures[of].iter().flatten().filter_map(|reading| reading.claimed()).collect();
    median(&values)
}

/// The memcached with the best median.
fn best_memcached(all: &[Contestant], figures: &Figures, higher_is_better: bool) -> Option<usize> {
    let memcacheds = (0..all.len()).filter(|&i| all[i].kind == Kind::Memcached);
    let rated = memcacheds.filter_map(|i| Some((i, middle(figures, i)?)));
    let sign = if higher_is_better { 1.0 } else { -1.0 };
    rated.max_by(|a, b| (sign * a.1).total_cmp(&(sign * b.1))).map(|(i, _)| i)
}

/// The ratio of one contestant's figure to another's, from the pairs of all rounds, as `lab` compares.
fn ratio(figures: &Figures, of: Option<usize>, to: Option<usize>) -> String {
    let paired = of.zip(to).and_then(|(of, to)| {
        let rounds = figures[of].iter().zip(&figures[to]);
        let (a, b): (Vec<f64>, Vec<f64>) = rounds.filter_map(|(a, b)| Reading::pair((*a)?, (*b)?)).unzip();
        Paired::compare(&a, &b)
    });
    match paired {
        Some(Paired { ratio, interval: Some(interval), .. }) => {
            format!("{ratio:.2} ({:.2}–{:.2})", interval.low, interval.high)
        }
        Some(Paired { ratio, n, .. }) => format!("{ratio:.2} ({n} pairs, no interval)"),
        None => "–".into(),
    }
}

/// Prints each contestant's figure, and its ratio to the best memcached. [`shown`] prints the part that a document shows.
pub(crate) fn print(title: &str, unit: &str, all: &[Contestant], figures: &Figures, higher_is_better: bool) {
    let Some(best) = best_memcached(all, figures, higher_is_better) else { return };
    let rows: Vec<Vec<String>> = (all.iter().enumerate())
        .filter_map(|(i, contestant)| {
            let value = format!("{:.1}", middle(figures, i)?);
            Some(vec![contestant.name.clone(), value, ratio(figures, Some(i), Some(best))])
        })
        .collect();
    tables::print(title, &["server", unit, &format!("ratio to {}", all[best].name)], &rows);
}

/// The first Sphinx in a row of a table over several loads: its median, its ratios to the best memcached and to the floor,
/// and the floor's ratio to the best memcached.
pub(crate) fn in_short(all: &[Contestant], figures: &Figures, higher_is_better: bool) -> [String; 4] {
    let place = |kind| all.iter().position(|contestant| contestant.kind == kind);
    let (ours, floor) = (place(Kind::Sphinx), place(Kind::Floor));
    let best = best_memcached(all, figures, higher_is_better);
    let value =
        ours.and_then(|ours| middle(figures, ours)).map_or("–".into(), |value| format!("{value:.1}"));
    [value, ratio(figures, ours, best), ratio(figures, ours, floor), ratio(figures, floor, best)]
}

/// Of each Sphinx its ratio to the best memcached.
pub(crate) fn ratios(all: &[Contestant], figures: &Figures, higher_is_better: bool) -> Vec<String> {
    let best = best_memcached(all, figures, higher_is_better);
    sphinxes(all).map(|(of, _)| ratio(figures, Some(of), best)).collect()
}

/// Every Sphinx, and its place among the contestants.
pub(crate) fn sphinxes(all: &[Contestant]) -> impl Iterator<Item = (usize, &Contestant)> {
    all.iter().enumerate().filter(|(_, contestant)| contestant.kind == Kind::Sphinx)
}

/// The columns of [`in_short`] after the load's column.
pub(crate) const IN_SHORT: [&str; 5] =
    ["", "krps", "Sphinx to memcached", "Sphinx to floor", "floor to memcached"];

/// Prints and records a table, and below it how many runs failed since the last one.
pub(crate) fn shown(setting: &Setting, title: &str, columns: &[&str], rows: Vec<Vec<String>>) {
    setting.report.table(title, columns, rows);
    setting.report.note(&format!("Runs that failed or whose data are wrong: {}.", setting.failed.take()));
}
