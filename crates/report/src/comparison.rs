//! A comparison as a page, and the parts that page and terminal share: the answer, and the rows of the tables.

mod answer;
mod markdown;
mod rows;

use maud::{Markup, html};
use results::study::{Axis, ClaimVerdict, Figure, FigureKind, Point, Scale, Series};
use results::{ComparedClaim, ComparedFigure, ComparedPoint, Comparison, Experiment, Side, Study, Verdict};

pub(crate) use answer::{answer, direction};
pub use markdown::comparison_markdown;
pub(crate) use rows::{PlaceRows, RATIO, cells, columns, places};

use crate::experiment::felt;
use crate::figure;
use crate::headline::in_one;
use crate::measure::Target;
use crate::number;
use crate::page;
use crate::study::class;
use crate::subject::{Subject, any_closed};
use crate::tips::Tips;

/// The two results behind a comparison, side a first.
#[derive(Clone, Copy, Debug)]
pub enum Sides<'a> {
    /// Results of single commands; twice the same one if both targets ran interleaved.
    Results(&'a Experiment, &'a Experiment),
    /// Of one study.
    Studies(&'a Study, &'a Study),
}

/// The report of `comparison` of `sides` as one HTML file.
pub fn comparison_html(comparison: &Comparison, sides: Sides<'_>) -> String {
    let body = match sides {
        Sides::Results(a, b) => of_results(comparison, a, b),
        Sides::Studies(a, b) => of_studies(comparison, a, b),
    };
    page::shell(&in_one(&answer(comparison)), &body.0, &body.1)
}

fn of_results(comparison: &Comparison, a: &Experiment, b: &Experiment) -> (Markup, Tips) {
    let side = |side: &'_ Side| side.target.clone().unwrap_or_default();
    let targets = [side(&comparison.a), side(&comparison.b)];
    let subjects = [
        Subject::new(a, &targets[0], &comparison.a.label, 0),
        Subject::new(b, &targets[1], &comparison.b.label, 1),
    ];
    let target = Target::new(&a.qos, a.qos_basis);
    let mut tips = Tips::new(&subjects, &target);
    let experiments: Vec<&Experiment> = if a == b { vec![a] } else { vec![a, b] };
    let trials = subjects.iter().flat_map(|subject| subject.trials.iter().map(|(_, trial)| &trial.verdict));
    let body = html! {
        (header(comparison, trials, &[format!("QoS: {}", target.words())]))
        (felt(&subjects, &target, &mut tips))
        (page::section("latency", "Latency under load", html! {
            div.figures { (figure::latency(&subjects, &target)) (figure::latency_panels(&subjects, &target)) }
        }))
        (ratios(comparison, any_closed(&subjects), &mut tips))
        (page::section("throughput", "Throughput and the shape of the tail", html! {
            div.figures { (figure::throughput(&subjects)) (figure::distribution(&subjects, &target, &mut tips)) }
        }))
        (page::generator(&subjects))
        (page::section("time", "Within a trial", figure::timelines(&subjects, &target, &mut tips)))
        (page::parts(&subjects))
        (page::section("trials", "Trials", html! {
            (page::load_points(&subjects))
            (page::closed_loops(&subjects))
            @for subject in &subjects {
                h3 { (subject.name) }
                (page::every_trial(subject.trials.iter().map(|(_, trial)| *trial)))
            }
        }))
        @for experiment in &experiments {
            @let whose = if experiments.len() > 1 { format!(": {}", experiment.name) } else { String::new() };
            (page::section("repeat", &format!("How it was run{whose}"), page::provenance(experiment)))
            (page::folded("configuration", &format!("Resolved configuration{whose}"), page::configuration(experiment)))
            (page::folded("host", &format!("Host{whose}"), page::host(&experiment.host)))
        }
        (page::folded("reading", "How to read this page", page::reading(&experiments)))
    };
    (body, tips)
}

fn of_studies(comparison: &Comparison, a: &Study, b: &Study) -> (Markup, Tips) {
    let mut tips = Tips::default();
    let labels = [&comparison.a.label, &comparison.b.label];
    let figures = comparison.figures.iter().flat_map(|figure| beside(labels, figure, [a, b]));
    let figures: Vec<Markup> =
        figures.enumerate().map(|(i, figure)| figure::study_figure(&figure, i, false, &mut tips)).collect();
    let cells = a.cells.iter().chain(&b.cells).map(|cell| &cell.verdict);
    let body = html! {
        (header(comparison, cells, &[a.source.clone(), a.name.clone()]))
        (claims(comparison))
        @if !figures.is_empty() {
            (page::section("figures", "Figures", html! { div.figures { @for figure in &figures { (figure) } } }))
        }
        (ratios(comparison, false, &mut tips))
        (page::folded("host", &format!("Host: {}", labels[0]), page::host(&a.host)))
        (page::folded("host-b", &format!("Host: {}", labels[1]), page::host(&b.host)))
    };
    (body, tips)
}

fn header<'a>(
    comparison: &Comparison,
    verdicts: impl Iterator<Item = &'a Verdict>,
    facts: &[String],
) -> Markup {
    let how = if comparison.paired { "interleaved in one run" } else { "from two runs" };
    let facts: Vec<String> = facts.iter().cloned().chain([how.to_owned()]).collect();
    let sentences = answer(comparison);
    let (first, more) = sentences.split_at(1);
    let mut notes: Vec<String> =
        comparison.differences.iter().map(|difference| format!("Differs: {difference}")).collect();
    if notes.is_empty() {
        let but = if comparison.study.is_some() { "machine" } else { "target" };
        notes.push(format!("Nothing that the results record differs besides the {but}."));
    }
    notes.extend(comparison.notes.iter().cloned());
    let side = |letter: &str, side: &Side| {
        let effort = side.effort.map(|effort| format!("{} run", effort.words()));
        let facts =
            [Some(side.machine.clone()), effort, Some(side.created.clone()), Some(side.folder.clone())];
        html! { div { dt { (letter) ": " (side.label) } dd { (facts.into_iter().flatten().collect::<Vec<_>>().join(" · ")) } } }
    };
    html! {
        header #summary {
            p.kicker { b { "Taillight" } " comparison" }
            (page::answer(first, more))
            dl.facts { (side("a", &comparison.a)) (side("b", &comparison.b)) }
            (page::strip(verdicts, &facts, &notes))
        }
    }
}

fn claims(comparison: &Comparison) -> Markup {
    let verdict = |side: &Option<(ClaimVerdict, String)>| {
        html! {
            td.text {
                @match side {
                    Some((verdict, measured)) => { span class=(class(*verdict)) { (verdict.words()) } small { (measured) } },
                    None => (number::NONE),
                }
            }
        }
    };
    let row = |claim: &ComparedClaim| {
        html! {
            tr { td.text.claim { (claim.text) small { (claim.source) } } (verdict(&claim.a)) (verdict(&claim.b)) }
        }
    };
    let body = html! {
        div.scroll {
            table.claims {
                thead { tr { th.text { "claim" } th.text { (comparison.a.label) } th.text { (comparison.b.label) } } }
                tbody { @for claim in &comparison.claims { (row(claim)) } }
            }
        }
    };
    html! { @if !comparison.claims.is_empty() { (page::section("claims", "Claims", body)) } }
}

/// The drawings of a study's figure: both sides in one, except a matrix, which is drawn once for each side.
fn beside(labels: [&String; 2], compared: &ComparedFigure, studies: [&Study; 2]) -> Vec<Figure> {
    let found = studies.map(|study| study.figures.iter().find(|figure| figure.id == compared.id));
    let [Some(a), Some(b)] = found else { return Vec::new() };
    if compared.kind == FigureKind::Matrix {
        let titled = |figure: &Figure, label: &str| Figure {
            title: format!("{} · {label}", figure.title),
            ..figure.clone()
        };
        return vec![titled(a, labels[0]), titled(b, labels[1])];
    }
    let mut series: Vec<Series> = Vec::new();
    for (figure, label) in [(a, labels[0]), (b, labels[1])] {
        let own = figure.series.iter().filter(|series| !series.published);
        series
            .extend(own.map(|series| Series { name: format!("{}, {label}", series.name), ..series.clone() }));
    }
    for published in a.series.iter().chain(&b.series).filter(|series| series.published) {
        if !series.contains(published) {
            series.push(published.clone());
        }
    }
    vec![Figure { series, overloaded: None, ..a.clone() }]
}

/// The ratios of every figure, drawn and as tables.
fn ratios(comparison: &Comparison, closed: bool, tips: &mut Tips) -> Markup {
    // A peak is one point, and a matrix has no ratios.
    let drawn = comparison.figures.iter().filter(|figure| {
        figure.id != ComparedFigure::PEAK && figure.kind != FigureKind::Matrix && !figure.series.is_empty()
    });
    // Indices after the sides' own figures: a matrix has two.
    let first = 2 * comparison.figures.len();
    let mut draw = |(i, figure): (usize, &ComparedFigure)| {
        figure::study_figure(&ratio_figure(comparison, figure), first + i, closed, tips)
    };
    let drawn: Vec<Markup> = drawn.enumerate().map(&mut draw).collect();
    page::section(
        "ratios",
        "Ratios",
        html! {
            div.figures { @for figure in &drawn { (figure) } }
            @for figure in &comparison.figures { (table(comparison, figure)) }
        },
    )
}

fn ratio_figure(comparison: &Comparison, compared: &ComparedFigure) -> Figure {
    let in_slots = compared.kind == FigureKind::Bars;
    let place = |point: &ComparedPoint| {
        if in_slots { rows::place(compared, point).as_str().into() } else { point.a.x.clone() }
    };
    let point = |point: &ComparedPoint| {
        let ratio = point.ratio.unwrap_or_default();
        let side = |side: &Side, point: &Point| format!("{} {}", side.label, rows::value(compared, point));
        let mut note = vec![side(&comparison.a, &point.a), side(&comparison.b, &point.b)];
        note.extend(rows::left_out(point));
        Point {
            x: place(point),
            y: point.ratio.map(|ratio| ratio.value),
            low: ratio.low,
            high: ratio.high,
            n: ratio.n,
            valid: point.a.valid && point.b.valid && point.invalid == 0,
            note: Some(note.join("; ")),
            ..Point::default()
        }
    };
    let series = compared.series.iter().map(|series| Series {
        name: series.name.clone(),
        points: series.points.iter().map(point).collect(),
        ..Series::default()
    });
    let slots = places(compared);
    let categories = slots.iter().filter(|_| in_slots).map(|place| place.name.clone());
    let (label, unit) = (compared.x.label.clone(), if in_slots { "" } else { &compared.x.unit });
    Figure {
        id: format!("{}-ratio", compared.id),
        title: format!("{}: {} over {}", compared.title, comparison.b.label, comparison.a.label),
        kind: compared.kind,
        x: Axis { label, unit: unit.into(), categories: categories.collect(), ..compared.x.clone() },
        y: Axis { label: "ratio".into(), unit: "x".into(), scale: Scale::Log, categories: Vec::new() },
        series: series.collect(),
        caption: direction(comparison, compared).map_or(String::new(), |direction| direction + "."),
        ..Figure::default()
    }
}

fn table(comparison: &Comparison, figure: &ComparedFigure) -> Markup {
    let columns = columns(comparison, figure);
    let cell = |i: usize, cell: String| {
        html! { td.text[columns[i].words] { @if i == RATIO { b { (cell) } } @else { (cell) } } }
    };
    let name = |place: &PlaceRows| html! { (place.name) @if let Some(b) = &place.of_b { " / " (b) } };
    let row = |place: &PlaceRows, i: usize| {
        let (series, point) = &place.points[i];
        let rows = place.points.len() + usize::from(place.left_out.is_some());
        html! {
            tr.hatched[!(point.a.valid && point.b.valid)] {
                @if i == 0 { th.text scope="rowgroup" rowspan=(rows) { (name(place)) } }
                @for (j, text) in cells(comparison, figure, series, point).into_iter().enumerate() { (cell(j + 1, text)) }
            }
        }
    };
    html! {
        div.scroll {
            table.ratios {
                caption {
                    (figure.title)
                    @if let Some(direction) = direction(comparison, figure) { ": " (direction) }
                    @for left_out in &figure.left_out { "; " (left_out) }
                }
                thead { tr { @for column in &columns { th.text[column.words] { (column.head) } } } }
                @for place in &places(figure) {
                    tbody {
                        @for i in 0..place.points.len() { (row(place, i)) }
                        @if let Some(left_out) = &place.left_out {
                            tr.hatched {
                                @if place.points.is_empty() { th.text scope="row" { (name(place)) } }
                                td.text colspan=(columns.len() - 1) { (left_out) }
                            }
                        }
                    }
                }
            }
        }
    }
}
