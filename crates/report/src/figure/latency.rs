use maud::{Markup, PreEscaped, html};
use results::{Metric, Purpose};

use super::load_chart::{Band, Level, LoadChart};
use super::scale::Scale;
use super::series::{Series, State, subject_class};
use super::{Canvas, Size};
use crate::load::LoadUnit;
use crate::measure::{Measure, Target};
use crate::number;
use crate::subject::{Subject, any_closed};

/// Response time against offered load: every percentile of one subject, or the judged figure of several.
pub(crate) fn latency(subjects: &[Subject], target: &Target) -> Markup {
    let single = subjects.len() == 1;
    let title = if single {
        "Response time against offered load".to_owned()
    } else {
        format!("{} against offered load", capitalized(&target.figure()))
    };
    let caption = html! {
        @if is_repeated(subjects) { "Marks and lines: the median over the repeats of a load; shading and whiskers: their range. " }
        @if single && has_p99(subjects) { "Of the two p99 lines the solid one is windowed, the dashed one raw. " }
        @if is_held(subjects) { "Trials of higher loads stand at the right edge. " }
        @if subjects.iter().any(|subject| subject.peak().is_some()) {
            @if single { "Band: " } @else { "Bands: " } "the interval of the peak throughput under QoS. "
        }
        (keys(subjects))
    };
    super::wide(&title, any_closed(subjects), caption, |size| draw(subjects, target, size))
}

/// One panel for each percentile, the subjects over each other.
pub(crate) fn latency_panels(subjects: &[Subject], target: &Target) -> Markup {
    let judged = target.measure().label;
    html! {
        @for measure in Metric::ALL.map(Measure::of_metric) {
            // The judged figure has the large figure above to itself.
            @if measure.label != judged {
                (super::half(&capitalized(&measure.label), any_closed(subjects), html! {}, panel(subjects, &measure)))
            }
        }
    }
}

/// The judged figure of every subject, as small as a stamp.
pub(crate) fn latency_stamp(subjects: &[Subject], target: &Target) -> Markup {
    let judged = target.measure();
    let bare = |subject: &Subject| Series { label: String::new(), ..Series::of_subject(subject, &judged) };
    let limit = |us: f64| Level { y: us, label: String::new(), short: String::new() };
    let levels = target.limit_us().map(limit).into_iter().collect();
    let series = subjects.iter().map(bare).collect();
    let canvas = chart(subjects, series, levels, Vec::new()).draw(Size::Tile).still();
    PreEscaped(canvas.svg("", "Response time against offered load"))
}

fn draw(subjects: &[Subject], target: &Target, size: Size) -> Canvas {
    let judged = target.measure();
    // The steps of the search for the peak show in the figure that they judged.
    let with_search =
        |series: Series, subject: &Subject| series.with(subject, &judged, &[Purpose::PeakSearch]);
    let mut series: Vec<Series> = match subjects {
        [subject] => {
            let mut measures = Measure::latencies();
            if target.is_extra() {
                measures.push(judged.clone());
            }
            let one = |measure: &Measure| {
                let series = Series::of_measure(subject, measure);
                if measure.class == judged.class { with_search(series, subject) } else { series }
            };
            measures.iter().map(one).collect()
        }
        _ => subjects.iter().map(|s| with_search(Series::of_subject(s, &judged), s)).collect(),
    };
    let edge = super::throughput::edge(subjects);
    for series in &mut series {
        series.hold_within(edge, false);
    }
    let level = |us: f64| Level {
        y: us,
        label: format!("QoS: {}", target.words()),
        short: format!("QoS {}", number::micros_short(us)),
    };
    let levels = target.limit_us().map(level).into_iter().collect();
    chart(subjects, series, levels, bands(subjects)).draw(size)
}

fn panel(subjects: &[Subject], measure: &Measure) -> Canvas {
    let series = subjects.iter().map(|subject| Series::of_subject(subject, measure)).collect();
    chart(subjects, series, Vec::new(), Vec::new()).draw(Size::Half)
}

fn chart(
    subjects: &[Subject],
    series: Vec<Series>,
    levels: Vec<Level>,
    bands: Vec<Band>,
) -> LoadChart<'static> {
    let values = series.iter().flat_map(Series::values).chain(levels.iter().map(|level| 1.3 * level.y));
    let y = Scale::log(values);
    LoadChart { levels, bands, ..LoadChart::new(subjects, "response time", y, &number::micros_short, series) }
}

/// The peaks, and for a single subject its maximum throughput too.
pub(super) fn bands(subjects: &[Subject]) -> Vec<Band> {
    let single = subjects.len() == 1;
    let unit = LoadUnit::of_subjects(subjects);
    let mut bands = Vec::new();
    for subject in subjects {
        let what = if single { "peak".to_owned() } else { super::frame::clip(subject.name, 18) };
        let class = if single { "peak".to_owned() } else { subject_class(subject.slot) };
        if let Some(peak) = subject.peak().filter(|peak| peak.low_rps > 0.0) {
            let label = match peak.high_rps {
                Some(high) => format!("{what} {}", unit.range(peak.low_rps, high)),
                None => format!("{what} ≥ {}", unit.rate(Some(peak.low_rps))),
            };
            bands.push(Band { from: peak.low_rps, to: peak.high_rps, label, class });
        }
        if let Some(max) = subject.max_throughput().filter(|_| single) {
            let label = format!("max {}", unit.rate(Some(max.reference)));
            bands.push(Band { from: max.reference, to: None, label, class: "max".into() });
        }
    }
    bands
}

/// Whether any load has a p99.
fn has_p99(subjects: &[Subject]) -> bool {
    let mut trials = subjects.iter().flat_map(|subject| &subject.points).flat_map(|point| &point.trials);
    trials.any(|trial| Metric::P99.of(trial).is_some())
}

/// Whether any load is beyond the edge of the figure.
fn is_held(subjects: &[Subject]) -> bool {
    let edge = super::throughput::edge(subjects);
    subjects.iter().flat_map(|subject| &subject.points).any(|point| point.offered_rps > edge)
}

/// Whether any load was run more than once.
fn is_repeated(subjects: &[Subject]) -> bool {
    subjects.iter().flat_map(|subject| &subject.points).any(|point| point.trials.len() > 1)
}

/// The key of the marks that are drawn: bounds and single trials.
pub(super) fn keys(subjects: &[Subject]) -> Markup {
    let points = || subjects.iter().flat_map(|subject| &subject.points);
    let any = |state: State| {
        points().flat_map(|point| &point.trials).any(|trial| State::of(&trial.verdict) == state)
    };
    let is_bounded = Metric::ALL
        .into_iter()
        .any(|metric| points().filter_map(|point| point.bounds(metric)).any(|bounds| !bounds.is_usable()));
    html! {
        @if is_bounded { "Bars: between what a figure lies without generator and host. " }
        span.keys {
            @if is_repeated(subjects) { span { i.key.dot {} " a trial" } " " }
            @if any(State::Overloaded) { span { i.key.cross { "×" } " overloaded" } " " }
            @if any(State::Invalid) { span { i.key.hatched {} " invalid, not in the median" } }
        }
    }
}

pub(super) fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    // Percentiles keep their small p: "P99" is another word.
    match letters.next() {
        Some('p') if text.chars().nth(1).is_some_and(|c| c.is_ascii_digit()) => text.into(),
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}
