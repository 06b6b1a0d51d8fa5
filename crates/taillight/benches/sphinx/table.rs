//! Figures of all rounds side by side, as ratios within a round.

use crate::Setting;
use crate::contestant::{Contestant, Kind};
use crate::spread::Spread;
use crate::tables;

/// One figure of every contestant in every round: `figures[contestant][round]`.
pub(crate) type Figures = Vec<Vec<Option<f64>>>;

/// Of the memcacheds the one with the best median; `best` picks the better of two.
pub(crate) fn best_memcached(all: &[Contestant], figures: &Figures, higher_is_better: bool) -> Option<usize> {
    let median = |i: &usize| Spread::of(figures[*i].iter().flatten().copied().collect()).map(|s| s.median);
    let memcacheds = (0..all.len()).filter(|&i| all[i].kind == Kind::Memcached);
    let rated = memcacheds.filter_map(|i| Some((i, median(&i)?)));
    let sign = if higher_is_better { 1.0 } else { -1.0 };
    rated.max_by(|a, b| (sign * a.1).total_cmp(&(sign * b.1))).map(|(i, _)| i)
}

/// The spread over the rounds of one contestant's figure over another's.
pub(crate) fn ratio(figures: &Figures, of: usize, to: usize) -> Option<Spread> {
    let pairs = figures[of].iter().zip(&figures[to]);
    Spread::of(pairs.filter_map(|(a, b)| Some((*a)? / (*b)?)).filter(|r| r.is_finite()).collect())
}

/// The spread over the rounds of the share of the possible, where the floor is better at all.
pub(crate) fn share(figures: &Figures, of: usize, memcached: usize, floor: usize) -> Option<Spread> {
    let rounds = figures[of].iter().zip(&figures[memcached]).zip(&figures[floor]);
    let share = rounds.filter_map(|((s, m), f)| Some(((*s)? - (*m)?) / ((*f)? - (*m)?)));
    Spread::of(share.filter(|x| x.is_finite()).collect())
}

/// Prints each contestant's figure, its ratio to the best memcached, and its share of the possible. [`shown`] prints the part that a
/// document shows.
pub(crate) fn print(title: &str, unit: &str, all: &[Contestant], figures: &Figures, higher_is_better: bool) {
    let Some(best) = best_memcached(all, figures, higher_is_better) else { return };
    let floor = all.iter().position(|c| c.kind == Kind::Floor);
    let mut rows = Vec::new();
    for (i, contestant) in all.iter().enumerate() {
        let Some(spread) = Spread::of(figures[i].iter().flatten().copied().collect()) else { continue };
        let ours = contestant.kind == Kind::Sphinx;
        let share = floor.filter(|_| ours).and_then(|floor| share(figures, i, best, floor));
        rows.push(vec![
            contestant.name.clone(),
            format!("{spread:.1}"),
            show(ratio(figures, i, best)),
            show(share),
        ]);
    }
    let ratio = format!("ratio to {}", all[best].name);
    tables::print(title, &["server", unit, &ratio, SHARE], &rows);
}

/// The first Sphinx in a row of a table over several loads: its median, and as ratios to the best memcached its own and the
/// floor's figure, and its share of the possible.
pub(crate) fn in_short(all: &[Contestant], figures: &Figures, higher_is_better: bool) -> [String; 4] {
    let place = |kind| all.iter().position(|contestant| contestant.kind == kind);
    let (ours, floor) = (place(Kind::Sphinx), place(Kind::Floor));
    let best = best_memcached(all, figures, higher_is_better);
    let to_best = |of: Option<usize>| show(of.zip(best).and_then(|(of, best)| ratio(figures, of, best)));
    let median = ours.and_then(|ours| Spread::of(figures[ours].iter().flatten().copied().collect()));
    let share = ours.zip(best).zip(floor).and_then(|((ours, best), floor)| share(figures, ours, best, floor));
    let median = median.map_or("–".into(), |spread| format!("{:.1}", spread.median));
    [median, to_best(ours), to_best(floor), show(share)]
}

/// Of each Sphinx its ratio to the best memcached.
pub(crate) fn ratios(all: &[Contestant], figures: &Figures, higher_is_better: bool) -> Vec<String> {
    let best = best_memcached(all, figures, higher_is_better);
    sphinxes(all).map(|(of, _)| show(best.and_then(|best| ratio(figures, of, best)))).collect()
}

/// Every Sphinx, and its place among the contestants.
pub(crate) fn sphinxes(all: &[Contestant]) -> impl Iterator<Item = (usize, &Contestant)> {
    all.iter().enumerate().filter(|(_, contestant)| contestant.kind == Kind::Sphinx)
}

/// The columns of [`in_short`] after the load's column.
pub(crate) const IN_SHORT: [&str; 5] = ["", "krps", "Sphinx to memcached", "floor to memcached", SHARE];

const SHARE: &str = "share of the possible";

fn show(spread: Option<Spread>) -> String {
    spread.map_or("–".into(), |spread| format!("{spread:.2}"))
}

/// Prints and records a table; below it, prints the notes since the last table.
pub(crate) fn shown(setting: &Setting, title: &str, columns: &[&str], rows: Vec<Vec<String>>) {
    setting.report.table(title, columns, rows);
    for (what, runs) in std::mem::take(&mut *setting.noted.borrow_mut()) {
        setting.report.note(&format!("{what}: {runs}."));
    }
}

/// Prints how many runs of each contestant something is to be said of, and notes how many they are together.
pub(crate) fn note(setting: &Setting, what: &'static str, all: &[Contestant], runs: &[u32]) {
    let some = all.iter().zip(runs).filter(|(_, runs)| **runs > 0);
    let some: Vec<String> = some.map(|(contestant, runs)| format!("{} {runs}", contestant.name)).collect();
    println!("\n{what}: {}.", if some.is_empty() { "none".into() } else { some.join(", ") });
    *setting.noted.borrow_mut().entry(what).or_default() += runs.iter().sum::<u32>();
}

/// Of runs whose figures describe nothing.
pub(crate) const LEFT_OUT: &str = "Runs left out as invalid";
/// Of runs whose requests count and whose response times do not.
pub(crate) const INVALIDATED: &str =
    "Runs in which the generator or the host had no time, so that the server did at least this";
