//! The answer of a comparison: names the better side, and never claims more than the repeats allow.

use results::study::Point;
use results::{ComparedFigure, ComparedPoint, Comparison, Metric};

use super::rows::{bounds, place, without};
use crate::headline::Sentence;
use crate::number;
use crate::quantity::{is_time, quantity, quantity_range};

/// The ratio of `point` in words: the faster or higher side, "no difference over 5 %", or "open" with an estimate of how many
/// more pairs settle it. Empty without an interval.
pub(super) fn judgement(comparison: &Comparison, figure: &ComparedFigure, point: &ComparedPoint) -> String {
    let Some(ratio) = point.ratio.filter(|ratio| ratio.low.is_some() || ratio.high.is_some()) else {
        return String::new();
    };
    let p = ratio.p_value.map_or(String::new(), |p| format!(" (p {})", p_words(p)));
    // For a time the lower side is the better one; for any other unit the text says only which is higher.
    let (a, b) = (&comparison.a.label, &comparison.b.label);
    let says = |lower: &str, higher: &str| match is_time(&figure.y.unit) {
        true => format!("{lower} is faster{p}"),
        false => format!("{higher} is higher{p}"),
    };
    if !ratio.judged {
        format!("too few to judge a difference ({})", number::plural(ratio.n as usize, "repeat"))
    } else if ratio.differs() {
        if ratio.value < 1.0 { says(b, a) } else { says(a, b) }
    } else if ratio.is_alike() {
        "no difference over 5 %".into()
    } else if comparison.paired && ratio.p_value.is_some() {
        let more = ratio.more().map(|more| format!(", about {}", number::plural(more as usize, "more pair")));
        format!("open{}", more.unwrap_or_default())
    } else {
        format!("no difference seen{p}")
    }
}

/// `= 0.031`, `< 0.001`.
fn p_words(p: f64) -> String {
    if p < 0.001 {
        "< 0.001".into()
    } else {
        format!("= {}", number::short(format!("{p:.1e}").parse().unwrap_or(p)))
    }
}

/// How to read the ratios of `figure`; `None` if it has no ratio.
pub(crate) fn direction(comparison: &Comparison, figure: &ComparedFigure) -> Option<String> {
    figure.series.iter().flat_map(|series| &series.points).find_map(|point| point.ratio)?;
    let (a, b) = (&comparison.a.label, &comparison.b.label);
    let word = if is_time(&figure.y.unit) { "faster" } else { "lower" };
    Some(format!("ratio = {b} / {a}; below 1× {b} is {word}"))
}

/// The answer. For a study: the compared machines. For two targets: the tail at the highest common load that overloads
/// neither, since peaks are different loads. At least one sentence.
pub(crate) fn answer(comparison: &Comparison) -> Vec<Sentence> {
    let (a, b) = (&comparison.a.label, &comparison.b.label);
    if let Some(study) = &comparison.study {
        return vec![Sentence::new(format!("{study}: {b} over {a}"))];
    }
    let mut words = tails(comparison);
    if words.is_empty() {
        let nothing = || format!("{a} and {b} have no load in common: nothing can be compared");
        words.push(peaks(comparison).unwrap_or_else(nothing));
    }
    words.into_iter().map(Sentence::new).collect()
}

/// The peaks of two sides without a load in common.
fn peaks(comparison: &Comparison) -> Option<String> {
    let figure = comparison.figure(ComparedFigure::PEAK)?;
    let point = figure.series.first()?.points.first()?;
    let words = |peak: &Point| match (peak.y?, peak.high) {
        (low, _) if low <= 0.0 => Some("no load".to_owned()),
        (low, Some(high)) => Some(quantity_range(low, high, &figure.y.unit)),
        (low, None) => Some(format!("at least {}", quantity(low, &figure.y.unit))),
    };
    let (a, b) = (&comparison.a.label, &comparison.b.label);
    Some(format!("Peak throughput under QoS: {b} {}, {a} {}", words(&point.b)?, words(&point.a)?))
}

/// The number of loads with a sentence each: the highest ones.
const ANSWERED: usize = 3;

/// The tail at the highest loads at which both sides have figures without an overload: in an overload a response
/// time depends on the length of the window.
fn tails(comparison: &Comparison) -> Vec<String> {
    let Some(figure) = comparison.figure(ComparedFigure::LOADS) else { return Vec::new() };
    let series = |metric: Metric| figure.series.iter().find(|series| series.name == metric.words());
    let order = [Metric::WindowedP99, Metric::P99, Metric::P50];
    let loads = figure.series.first().map_or(0, |series| series.points.len());
    let at = |load: usize| {
        order.into_iter().find_map(|metric| {
            let point = series(metric)?.points.get(load).filter(|point| !point.overloaded)?;
            tail(comparison, figure, metric, point)
        })
    };
    (0..loads).rev().filter_map(at).take(ANSWERED).collect()
}

fn tail(
    comparison: &Comparison,
    figure: &ComparedFigure,
    metric: Metric,
    point: &ComparedPoint,
) -> Option<String> {
    let ratio = point.ratio?;
    let (a, b) = (&comparison.a.label, &comparison.b.label);
    let load = match point.share {
        Some(share) => format!("{} of the maximum", number::percent(share)),
        None => place(figure, point),
    };
    let (times, range) = (number::ratio(ratio.value), bounds(ratio.low, ratio.high)?);
    let says = judgement(comparison, figure, point);
    let check = point.undisturbed.map(|rest| {
        let range = bounds(rest.low, rest.high).filter(|_| rest.n > 1);
        let range = range.map_or(String::new(), |range| format!(" ({range})"));
        format!("; {} it is {}{range}", without(point), number::ratio(rest.value))
    });
    let check = check.unwrap_or_default();
    Some(format!("At {load} the {} of {b} is {times} ({range}) that of {a}: {says}{check}", metric.words()))
}

#[cfg(test)]
mod tests {
    use results::study::Axis;
    use results::{Ratio, Side};

    use super::*;

    fn comparison() -> Comparison {
        let side = |label: &str| Side { label: label.into(), ..Side::default() };
        Comparison { a: side("memcached"), b: side("sphinx"), paired: true, ..Comparison::default() }
    }

    #[test]
    fn words_follow_the_interval_and_the_test() {
        let check_in = |unit: &str, n: u32, (low, high): (f64, f64), p_value: Option<f64>, expect: &str| {
            let y = Axis { unit: unit.into(), ..Axis::default() };
            let figure = ComparedFigure { y, ..ComparedFigure::default() };
            let (low, high) = (Some(low), Some(high));
            let value = if low > Some(0.9) { 1.0f64.max(low.unwrap()) } else { 0.7 };
            let ratio = Ratio { value, low, high, n, judged: n >= 6, p_value };
            let point = ComparedPoint { ratio: Some(ratio), ..ComparedPoint::default() };
            assert_eq!(judgement(&comparison(), &figure, &point), expect);
        };
        let check = |n, ends, p, expect| check_in("us", n, ends, p, expect);
        check(3, (0.6, 0.8), None, "too few to judge a difference (3 repeats)");
        check(1, (0.7, 0.7), None, "too few to judge a difference (1 repeat)");
        check(8, (0.6, 0.8), Some(0.0312), "sphinx is faster (p = 0.031)");
        check(8, (1.2, 1.8), Some(0.0001), "memcached is faster (p < 0.001)");
        check(8, (0.6, 1.1), Some(0.2), "open, about 5 more pairs");
        check(8, (0.6, 1.1), None, "no difference seen");
        check(8, (0.96, 1.04), Some(0.3), "no difference over 5 %");
        check_in("rps", 8, (0.6, 0.9), None, "memcached is higher");
        check_in("rps", 8, (1.1, 1.2), None, "sphinx is higher");
    }

    #[test]
    fn an_open_end_of_a_peak_is_said() {
        let side = |low, high| Point { y: Some(low), low: Some(low), high, ..Point::default() };
        let check = |a: Point, b: Point, ratio: Option<(f64, Option<f64>, Option<f64>)>, expect: &str| {
            let ratio =
                ratio.map(|(value, low, high)| Ratio { value, low, high, judged: true, ..Ratio::default() });
            let points = vec![ComparedPoint { a, b, ratio, ..ComparedPoint::default() }];
            let series = vec![results::ComparedSeries { points, ..Default::default() }];
            let y = Axis { unit: "rps".into(), ..Axis::default() };
            let figure =
                ComparedFigure { id: ComparedFigure::PEAK.into(), y, series, ..ComparedFigure::default() };
            let comparison = Comparison { figures: vec![figure], ..comparison() };
            let said = answer(&comparison).iter().map(Sentence::to_string).collect::<Vec<_>>().join("; ");
            assert!(said.contains(expect), "{said}");
        };
        let bounded = || side(80.0, Some(100.0));
        check(bounded(), side(250.0, None), Some((3.1, Some(2.5), None)), "sphinx at least 250 rps");
        check(
            side(0.0, Some(1.0)),
            bounded(),
            None,
            "Peak throughput under QoS: sphinx 80.0–100 rps, memcached no load",
        );
    }

    #[test]
    fn nothing_in_common_is_said() {
        let expect = "memcached and sphinx have no load in common: nothing can be compared";
        assert_eq!(answer(&comparison()).iter().map(Sentence::to_string).collect::<Vec<_>>(), [expect]);
    }
}
