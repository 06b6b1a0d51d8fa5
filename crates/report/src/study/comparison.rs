//! The page of one study on two machines.

use maud::{Markup, html};
use results::Study;
use results::study::{
    Axis, ClaimVerdict, ComparedClaim, ComparedFigure, ComparedPoint, ComparedSeries, Figure, FigureKind,
    Point, Scale, Series, StudyComparison, StudySide,
};

use super::claims::class;
use crate::figure;
use crate::number;
use crate::page;
use crate::quantity::quantity;
use crate::tips::Tips;

/// The report of `comparison` as one HTML file; `a` and `b` are the studies of its two sides.
pub fn study_comparison_html(comparison: &StudyComparison, a: &Study, b: &Study) -> String {
    let mut tips = Tips::none();
    let mut drawn = 0;
    let mut draw = |figure: &Figure| {
        drawn += 1;
        figure::study_figure(figure, drawn, &mut tips)
    };
    let figures: Vec<Markup> = comparison
        .figures
        .iter()
        .flat_map(|figure| {
            let both = beside(comparison, figure, [a, b]);
            both.iter().map(&mut draw).collect::<Vec<_>>()
        })
        .collect();
    let (label_a, label_b) = (&comparison.a.label, &comparison.b.label);
    let title = format!("{}: {label_b} over {label_a}", a.title);
    let body = html! {
        (header(comparison, a))
        (claims(comparison))
        @if !figures.is_empty() {
            (page::section("figures", "Figures", html! { div.figures { @for figure in &figures { (figure) } } }))
        }
        (page::section("ratios", "Ratios", html! { @for figure in &comparison.figures { (ratios(comparison, figure)) } }))
        (page::section("host", &format!("Host: {label_a}"), page::host(&a.host)))
        (page::section("host-b", &format!("Host: {label_b}"), page::host(&b.host)))
    };
    page::shell(&title, &body, &tips)
}

fn header(comparison: &StudyComparison, study: &Study) -> Markup {
    let side = |letter: &str, side: &StudySide| {
        html! {
            div { dt { (letter) ": " (side.label) } dd { (side.machine) " · " (side.form.words()) " form · " (side.created) " · " (side.folder) } }
        }
    };
    html! {
        header #summary {
            p.kicker { b { "Taillight" } " comparison of two machines · " (study.source) " · " (comparison.name) }
            h1 { (study.title) ": " (comparison.b.label) " over " (comparison.a.label) }
            p.more { (study.question) }
            dl.facts { (side("a", &comparison.a)) (side("b", &comparison.b)) }
            ul.notes {
                @for difference in &comparison.differences { li { "Differs: " (difference) } }
                @if comparison.differences.is_empty() { li { "Nothing that the results record differs besides the machine." } }
                li { "The two sides were not measured at the same time: what changed besides the machine changed with it." }
            }
        }
    }
}

fn claims(comparison: &StudyComparison) -> Markup {
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

/// The drawings of a figure: both sides in one, and their ratio; of a matrix one after the other.
fn beside(comparison: &StudyComparison, compared: &ComparedFigure, studies: [&Study; 2]) -> Vec<Figure> {
    let labels = [&comparison.a.label, &comparison.b.label];
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
    vec![Figure { series, overloaded: None, ..a.clone() }, ratio_figure(comparison, compared)]
}

fn ratio_figure(comparison: &StudyComparison, compared: &ComparedFigure) -> Figure {
    let point = |point: &ComparedPoint| Point {
        x: point.x.clone(),
        y: point.ratio,
        low: point.low,
        high: point.high,
        valid: point.valid,
        ..Point::default()
    };
    let series = |series: &ComparedSeries| Series {
        name: series.name.clone(),
        points: series.points.iter().map(point).collect(),
        ..Series::default()
    };
    // Bars have no foot on an axis of ratios.
    let kind = if compared.kind == FigureKind::Bars { FigureKind::Lines } else { compared.kind };
    Figure {
        id: format!("{}-ratio", compared.id),
        title: format!("{}: {} over {}", compared.title, comparison.b.label, comparison.a.label),
        kind,
        x: compared.x.clone(),
        y: Axis { label: "ratio".into(), unit: "x".into(), scale: Scale::Log, categories: Vec::new() },
        series: compared.series.iter().map(series).collect(),
        caption: "From the farthest ends of the two intervals.".into(),
        ..Figure::default()
    }
}

fn ratios(comparison: &StudyComparison, compared: &ComparedFigure) -> Markup {
    let cell = |value: Option<f64>, label: &Option<String>| {
        label
            .clone()
            .or_else(|| value.map(|value| quantity(value, &compared.y.unit)))
            .unwrap_or_else(|| figure::nothing_at(compared.kind).into())
    };
    let row = |series: &ComparedSeries, point: &ComparedPoint| {
        let place = point.x.number().map_or_else(|| point.x.to_string(), |x| quantity(x, &compared.x.unit));
        let interval =
            point.low.zip(point.high).map_or_else(|| number::NONE.into(), |(l, h)| number::ratio_range(l, h));
        html! {
            tr.hatched[!point.valid] {
                th.text scope="row" { (series.name) }
                td { (place) }
                td { (cell(point.a, &point.label_a)) }
                td { (cell(point.b, &point.label_b)) }
                td { b { (point.ratio.map_or_else(|| number::NONE.into(), number::ratio)) } }
                td { (interval) }
            }
        }
    };
    html! {
        div.scroll {
            table {
                caption { (compared.title) @for left_out in &compared.left_out { "; " (left_out) } }
                thead { tr {
                    th.text { "series" } th { (compared.x.label) } th { (comparison.a.label) } th { (comparison.b.label) }
                    th { "ratio" } th { "interval" }
                } }
                tbody { @for series in &compared.series { @for point in &series.points { (row(series, point)) } } }
            }
        }
    }
}
