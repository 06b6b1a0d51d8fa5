use results::{Experiment, LoadPoint, Metric, TextTable};

use super::grid::{Grid, Tone};
use super::ink::{Ink, harmless, wrapped};
use crate::disturbance::remains;
use crate::headline::headline;
use crate::load::LoadUnit;
use crate::load_point::{met, micros, response_time};
use crate::measure::Target;
use crate::notes::{notes, verdicts_in_all};
use crate::number;
use crate::one_load::OneLoad;
use crate::page::{closed_loop, targets, verdicts, within};
use crate::sessions::{Column, columns};
use crate::subject::{Subject, any_closed};

/// The answer of `experiment`, its loads and notes, for a terminal of `width` columns.
///
/// One row a load, medians over its repeats. Less important columns are left out on a narrow terminal.
pub fn experiment_table(experiment: &Experiment, width: usize, color: bool) -> String {
    let ink = Ink { color };
    let subjects = Subject::of_experiment(experiment);
    let target = Target::new(&experiment.qos, experiment.qos_basis);
    if let Some(one) = OneLoad::of(experiment, &subjects, &target) {
        return super::one_load::one_load(&one, experiment, &target, width, ink);
    }
    let line = |text: &str| wrapped(&harmless(text), width, 2);
    let answers = headline(experiment);
    let mut parts: Vec<String> = answers.iter().map(|said| ink.bold(&line(&said.to_string()))).collect();
    parts.extend(remains(experiment).iter().map(|said| line(&said.to_string())));
    if subjects.iter().any(|subject| !subject.points.is_empty()) {
        parts.push(String::new());
        parts.push(loads(&subjects, &target).render(width, ink));
    }
    parts.extend(super::traces::traces(&subjects, width, ink));
    parts.push(String::new());
    parts.push(verdicts_in_all(experiment.trials.iter().map(|trial| &trial.verdict), "trial"));
    parts.extend(notes(experiment).iter().map(|note| ink.dim(&line(&format!("· {note}")))));
    parts.join("\n") + "\n"
}

pub(super) fn loads(subjects: &[Subject], target: &Target) -> Grid {
    let mut grid = Grid::default();
    if subjects.len() > 1 {
        grid = grid.words("target", 0);
    }
    let shares = has_shares(subjects);
    if shares {
        grid = grid.number("load", 3);
    }
    grid = grid.number("offered", 0).number("achieved", 5);
    let felt = columns(subjects);
    for column in &felt {
        grid = grid.number(column.head, column.spare);
    }
    // The judged p99 is dropped last of the two. Session figures are dropped after response times.
    let (raw, windowed) = if target.figure() == "windowed p99" { (2, 0) } else { (0, 2) };
    for metric in metrics(&felt) {
        let spare = match metric {
            Metric::Mean => 7,
            Metric::P50 if !felt.is_empty() => 6,
            Metric::P50 => 1,
            Metric::P99 if !felt.is_empty() => 3,
            Metric::P99 => raw,
            Metric::WindowedP99 => windowed,
            Metric::P999 => 4,
        };
        grid = grid.number(metric.words(), spare);
    }
    if target.is_extra() {
        grid = grid.number(&target.figure(), 0);
    }
    if any_closed(subjects) {
        grid = grid.number("corr. p50", 3).number("corr. p99", 0).number("corr. p99.9", 4);
    }
    let targets = targets(subjects);
    for us in &targets {
        grid = grid.number(&format!("within {}", number::micros_short(*us)), 2);
    }
    grid = grid.number("lag p99", 6).words("QoS", 0).words("trials", 0);
    for (i, subject) in subjects.iter().enumerate() {
        if i > 0 {
            grid.gap();
        }
        for point in &subject.points {
            let mut cells = if subjects.len() > 1 { vec![subject.name.to_owned()] } else { Vec::new() };
            if shares {
                cells.push(number::or_none(point.share, number::percent));
            }
            cells.extend(row(point, target, any_closed(subjects), &targets, &felt));
            grid.row(tone(point), cells);
        }
    }
    grid
}

/// Whether any load was chosen as a share of the maximum.
fn has_shares(subjects: &[Subject]) -> bool {
    subjects.iter().flat_map(|subject| &subject.points).any(|point| point.share.is_some())
}

/// The response times that have a column. For sessions only two: response times of steps say little about the user
/// experience.
fn metrics(felt: &[&Column]) -> &'static [Metric] {
    if felt.is_empty() { &Metric::ALL } else { &[Metric::P50, Metric::P99] }
}

fn row(point: &LoadPoint, target: &Target, closed: bool, targets: &[f64], felt: &[&Column]) -> Vec<String> {
    let metric = |metric: &Metric| response_time(point, *metric);
    let mut cells = vec![
        LoadUnit::of_point(point).rate(Some(point.offered_rps)),
        number::rate(point.told(|trial| Some(trial.achieved_rps))),
    ];
    cells.extend(felt.iter().map(|column| column.of(point)));
    cells.extend(metrics(felt).iter().map(metric));
    if target.is_extra() {
        let judged = target.measure();
        cells.push(micros(point, |trial| judged.of(trial)));
    }
    if closed {
        for name in ["p50", "p99", "p99.9"] {
            let figure = closed_loop::FIGURES.iter().find(|(known, _)| *known == name);
            let corrected = figure.and_then(|(_, read)| closed_loop::corrected(point, *read));
            cells.push(number::micros(corrected));
        }
    }
    cells.extend(targets.iter().map(|us| number::or_none(within(point, *us), number::percent_of_all)));
    cells.push(number::micros(point.told(|trial| trial.all.generator_lag.p99_us)));
    cells.push(match met(point, target) {
        Some(true) => "met".into(),
        Some(false) => "missed".into(),
        None if point.is_bounded() => "undecided".into(),
        None if point.is_slowed() => "not measurable".into(),
        None => number::NONE.into(),
    });
    cells.push(verdicts(point));
    cells
}

fn tone(point: &LoadPoint) -> Tone {
    if point.usable().count() < point.trials.len() {
        Tone::Bad
    } else if point.overloaded() {
        Tone::Warn
    } else {
        Tone::Plain
    }
}

/// The loads with all columns, as words.
pub(crate) fn loads_as_text(experiment: &Experiment) -> TextTable {
    let target = Target::new(&experiment.qos, experiment.qos_basis);
    loads(&Subject::of_experiment(experiment), &target).into_text("loads", "Response time by load")
}
