use results::{Comparison, Experiment, TextTable};

use super::grid::{Grid, Tone};
use super::ink::{Ink, harmless, wrapped};
use crate::judgement::{comparison_headline, judgement};
use crate::number;
use crate::subject::Subject;

/// The answer of `comparison` and its ratios, for a terminal of `width` columns.
pub fn comparison_table(
    comparison: &Comparison,
    a: &Experiment,
    b: &Experiment,
    width: usize,
    color: bool,
) -> String {
    let ink = Ink { color };
    let mut parts = Vec::new();
    if !comparison.points.is_empty() {
        parts.push(ratios(comparison).render(width, ink));
        parts.push(String::new());
        let (a, b) = (harmless(&comparison.a.label), harmless(&comparison.b.label));
        parts.push(ink.dim(&wrapped(&format!("ratio = {b} / {a}; below 1× {b} is faster"), width, 2)));
        parts.push(String::new());
    }
    // The table is long: the answer stands where the eye is when it has scrolled by.
    for sentence in comparison_headline(comparison, &Subject::of_comparison(comparison, a, b)) {
        parts.push(ink.bold(&wrapped(&harmless(&sentence.to_string()), width, 2)));
    }
    for difference in &comparison.differences {
        parts.push(wrapped(&harmless(&format!("· Differs: {difference}")), width, 2));
    }
    for note in &comparison.notes {
        parts.push(ink.dim(&wrapped(&harmless(&format!("· {note}")), width, 2)));
    }
    for (experiment, side) in [(a, &comparison.a), (b, &comparison.b)] {
        if !experiment.complete {
            let line = format!("· {} is a partial result", side.label);
            parts.push(ink.warn(&wrapped(&harmless(&line), width, 2)));
        }
    }
    parts.join("\n") + "\n"
}

/// The ratios with all columns, as words.
pub(crate) fn ratios_as_text(comparison: &Comparison) -> TextTable {
    let (a, b) = (&comparison.a.label, &comparison.b.label);
    let notes = vec![format!("ratio = {b} / {a}; below 1× {b} is faster")];
    TextTable { notes, ..ratios(comparison).into_text("ratios", &format!("{b} over {a}")) }
}

fn ratios(comparison: &Comparison) -> Grid {
    let mut grid = Grid::default().words("load", 0).words("figure", 0);
    grid = grid.number(&comparison.a.label, 2).number(&comparison.b.label, 2).number("ratio", 0);
    grid = grid.number("interval or range", 1).number("n", 3).words("what it says", 0);
    for (i, point) in comparison.points.iter().enumerate() {
        if i > 0 {
            grid.gap();
        }
        let offered = number::rate(Some(point.offered_rps_a));
        let load =
            point.load_share.map_or(offered.clone(), |share| format!("{} {offered}", number::percent(share)));
        for (j, ratio) in point.ratios.iter().enumerate() {
            let cells = vec![
                if j == 0 { load.clone() } else { String::new() },
                ratio.metric.words().into(),
                number::micros(Some(ratio.a_us)),
                number::micros(Some(ratio.b_us)),
                number::ratio(ratio.ratio),
                number::ratio_range(ratio.low, ratio.high),
                ratio.n.to_string(),
                judgement(comparison, ratio),
            ];
            grid.row(Tone::Plain, cells);
        }
        if point.ratios.is_empty() {
            grid.row(Tone::Bad, vec![load, "no valid trials on both sides".into()]);
        }
        if point.invalid_trials > 0 {
            let trials = number::plural(point.invalid_trials as usize, "invalid trial");
            grid.row(Tone::Bad, vec![String::new(), format!("{trials} left out")]);
        }
    }
    grid
}
